//! The engine, alone in its process: each source is polled while it is well, and then while it is not, with one beside
//! it that always is.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gleaner::fetch::NetworkOverrides;
use gleaner::service::SourceSettings;
use gleaner::store::{Poll, Source};
use gleaner_core::time::Span;
use serde_json::{Value, json};

use super::super::world::World;
use super::{Case, cases, rounds};
use crate::support::{new_feed, sqlite, until};

/// Small limits of time; those of size are the usual ones.
const SETTINGS: [&str; 3] =
    ["fetch.timeout_seconds=4", "fetch.connect_timeout_seconds=2", "fetch.dns_timeout_seconds=1"];

fn say(line: &Value) {
    println!("CHILD {line}");
}

/// What the system says about this process, in bytes.
fn memory(name: &str) -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<i64>().unwrap() * 1024
}

/// Has the system measure the peak anew.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

pub(super) async fn run(places: &str) {
    let places: Value = serde_json::from_str(&std::fs::read_to_string(places).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let root: Vec<u8> = serde_json::from_value(places["root"].clone()).unwrap();
    let name_server: SocketAddr = text(&places["name_server"]).parse().unwrap();
    let network_overrides = NetworkOverrides {
        name_server: Some(name_server),
        extra_roots: vec![root.into()],
        ..NetworkOverrides::default()
    };
    let mut world = World::new(sqlite().await, &SETTINGS, &network_overrides).await;
    let beside = world.by().add(&new_feed(text(&places["beside"]))).await.unwrap().id;
    world.poll_due().await;
    let cases = cases();
    let urls: Vec<String> = places["urls"].as_array().unwrap().iter().map(text).collect();
    let first = memory("VmRSS");
    for (number, round) in rounds(&cases).iter().enumerate() {
        let told = run_round(&mut world, round, &cases, &urls, beside).await;
        let growth = told.peak - first;
        say(&json!({
            "round": number, "growth": growth, "growth_in_round": told.peak - told.before, "beside_ms": told.beside_ms,
        }));
    }
}

/// What a round cost.
struct Cost {
    before: i64,
    peak: i64,
    beside_ms: u64,
}

async fn run_round(world: &mut World, round: &[usize], cases: &[Case], urls: &[String], beside: i64) -> Cost {
    let mut sources = Vec::new();
    for number in round {
        let new = SourceSettings { kind: cases[*number].kind, ..new_feed(urls[*number].clone()) };
        sources.push((*number, world.by().add(&new).await.unwrap().id));
    }
    world.poll_due().await;
    let mut due = world.source(beside).await.next_poll_at.unwrap();
    for (number, id) in &sources {
        let (source, poll) = (world.source(*id).await, world.last_poll(*id).await);
        let name = &cases[*number].name;
        assert_eq!(source.memory.etag.as_deref(), Some(&b"\"good\""[..]), "{name}: {poll:?}");
        due = due.max(source.next_poll_at.unwrap());
    }
    world.advance(due.since(world.now()));
    say(&json!({ "ready": round }));
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    let before = memory("VmRSS");
    forget_peak();
    let beside_ms = poll_beside(world, beside).await;
    let peak = memory("VmHWM");
    for (number, id) in sources {
        let (source, poll) = (world.source(id).await, world.last_poll(id).await);
        say(&told(number, &cases[number].name, &source, &poll));
        world.by().delete_source(id).await.unwrap();
    }
    Cost { before, peak, beside_ms }
}

/// Polls all that is due, and says how long it took until the one that is well was done; it must be, and in time.
async fn poll_beside(world: &mut World, beside: i64) -> u64 {
    let (begun, now) = (Instant::now(), world.now());
    world.begin_due().await;
    let polled = |source: &Source| source.health.last_polled_at == Some(now);
    let look = async || Some(world.source(beside).await).filter(polled);
    until(Duration::from_secs(60), look, async || "the source beside is not polled".to_owned()).await;
    let beside_ms = u64::try_from(begun.elapsed().as_millis()).unwrap();
    world.finish().await;
    let source = world.source(beside).await;
    assert_eq!(world.last_poll(beside).await.record.error, None, "the source beside fails");
    assert_eq!(source.next_poll_at, Some(now + Span::from_mins(30)), "and it is on schedule");
    beside_ms
}

fn told(number: usize, name: &str, source: &Source, poll: &Poll) -> Value {
    let (ended, error) = match &poll.record.error {
        Some((kind, error)) => {
            let cause = kind.cause().map(|cause| format!(" {}", cause.name())).unwrap_or_default();
            (format!("{kind}{cause}"), error.clone())
        }
        None => {
            let note = poll.record.note.clone().unwrap_or_default();
            (format!("{} {}", poll.record.outcome, poll.new_posts), note)
        }
    };
    let validators = (source.memory.etag.as_deref(), source.memory.last_modified.as_deref());
    let kept = validators == (Some(b"\"good\""), Some(b"Sat, 14 Nov 2026 00:00:00 GMT"));
    json!({ "case": number, "name": name, "ended": ended, "error": error, "kept": kept, "ms": poll.record.duration.as_millis() })
}
