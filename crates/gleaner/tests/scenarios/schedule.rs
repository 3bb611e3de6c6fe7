//! Who is polled when, and beside whom.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use gleaner::read::{Document, Page, ReadOptions};
use gleaner::service::SourceSettings;
use gleaner_core::classify::Fault;
use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};

use super::api_client::ApiClient;
use super::on_both;
use super::world::{Answer, World};
use crate::support::{Database, WriteLock};

on_both!(
    due_source_is_polled,
    source_not_yet_due_is_skipped,
    disabled_source_is_never_polled,
    hosts_are_polled_in_parallel,
    tick_never_blocks_the_runtime,
    one_host_is_polled_sequentially_with_delay,
    panic_in_one_host_spares_the_others,
    startup_jitter_spreads_first_polls,
);

async fn backoff_world(db: Database) -> (World, i64) {
    let mut world = World::new(db, &["source.policy=backoff", "source.poll_interval_minutes=60"]).await;
    world.answer("/feed", Answer::Status(500));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    (world, id)
}

async fn due_source_is_polled(db: Database) {
    let (mut world, _) = backoff_world(db).await;
    world.advance(Span::from_mins(120));
    assert_eq!(world.poll_due().await, 1);
    assert_eq!(world.requests("/feed"), 2);
}

async fn source_not_yet_due_is_skipped(db: Database) {
    let (mut world, _) = backoff_world(db).await;
    world.advance(Span::from_mins(119));
    assert_eq!(world.poll_due().await, 0);
    assert_eq!(world.requests("/feed"), 1);
}

async fn disabled_source_is_never_polled(db: Database) {
    let (mut world, id) = backoff_world(db).await;
    world.service().set_enabled(id, false).await.unwrap();
    world.advance(Span::from_days(1000));
    assert_eq!(world.poll_due().await, 0);
    assert_eq!(world.requests("/feed"), 1);
}

async fn hosts_are_polled_in_parallel(db: Database) {
    let mut world = World::new(db, &["fetch.timeout_seconds=2"]).await;
    world.answer("/stalled", Answer::Never);
    let stalled = world.add("stalled.test", "/stalled").await;
    let mut others = Vec::new();
    for n in 0..5 {
        let path = format!("/feed{n}");
        world.answer(&path, Answer::feed(&["one"]));
        others.push(world.add(&format!("h{n}.test"), &path).await);
    }
    world.begin_due().await;
    // All others are done while the stalled one is still under way.
    for id in others {
        world.until(id, |source| source.health.last_success_at.is_some()).await;
    }
    assert_eq!(world.source(stalled).await.health.last_polled_at, None);
    world.finish().await;
    assert_eq!(world.source(stalled).await.health.failing.expect("it failed").message, "timeout after 2s");
}

/// The pages that were parsed slowly, by URL.
static PARSED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Parsing that keeps a processor busy for a while.
fn parse_slowly(page: &Page<'_>, rules: &ReadOptions<'_>) -> Result<Document, Fault> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        std::hint::spin_loop();
    }
    PARSED.lock().unwrap().push(page.url.to_string());
    gleaner::read::feed::read(page, rules)
}

/// How the health endpoint answered.
#[derive(Debug, Default)]
struct HealthAnswers {
    count: usize,
    slowest: Duration,
}

impl HealthAnswers {
    async fn request(&mut self, api: &ApiClient) {
        let begun = Instant::now();
        assert_eq!(api.healthz().await, 200);
        self.slowest = self.slowest.max(begun.elapsed());
        self.count += 1;
    }
}

async fn tick_never_blocks_the_runtime(db: Database) {
    let mut world = World::new(db, &[]).await;
    // Too large to be parsed where it arrives.
    world.answer("/feed", Answer::feed(&[&"one ".repeat(50_000)]));
    let id = world.add("a.test", "/feed").await;
    world.readers(|readers| readers.feed = parse_slowly);
    let (api, store, server) = (world.api().await, world.store(), world.share_server());
    let (url, database) = (world.source(id).await.settings.url, world.database().url.clone());
    let is_parsed = || PARSED.lock().unwrap().contains(&url);
    let last_polled_at = async || store.source(id).await.unwrap().health.last_polled_at;
    // All of it on one thread: whatever blocks it holds up the health endpoint, too.
    let claiming = WriteLock::take(&database).await;
    let requests = async {
        // The claim waits for the store.
        let mut answers = HealthAnswers::default();
        while answers.count < 20 {
            answers.request(&api).await;
        }
        assert!(server.requests().is_empty(), "nothing could be claimed");
        claiming.release().await;
        server.until_asked("/feed", 1).await;
        let committing = WriteLock::take(&database).await;
        // The document is being parsed.
        let before = answers.count;
        while !is_parsed() {
            answers.request(&api).await;
        }
        assert!(answers.count > before + 5, "{answers:?}");
        // Its commit waits for the store.
        let before = answers.count;
        while answers.count < before + 20 {
            answers.request(&api).await;
        }
        assert_eq!(last_polled_at().await, None, "nothing could be committed");
        committing.release().await;
        while last_polled_at().await.is_none() {
            answers.request(&api).await;
        }
        answers
    };
    let (sources, answers) = tokio::join!(world.poll_due(), requests);
    assert!(answers.slowest < Duration::from_millis(500), "{answers:?}");
    assert_eq!((sources, world.posts(id).await.len()), (1, 1));
}

async fn one_host_is_polled_sequentially_with_delay(db: Database) {
    let settings = [
        "source.poll_delay_seconds.feed=5",
        "source.poll_delay_seconds.website=7",
        "source.host_overrides.\"host.test\".poll_delay_seconds=20",
        "source.host_overrides.\"none.test\".poll_delay_seconds=0",
        "source.host_overrides.\"own.test\".poll_delay_seconds=20",
        "source.host_overrides.\"mixed.test\".poll_delay_seconds=20",
    ];
    let mut world = World::new(db, &settings).await;
    let seconds = |n| Some(Span::from_secs(n));
    // Each source's own delay, in the order in which they are polled.
    let hosts = [
        ("kind.test", Kind::Feed, vec![None, None, None]),
        ("website.test", Kind::Website, vec![None, None]),
        ("host.test", Kind::Feed, vec![None, None]),
        ("none.test", Kind::Feed, vec![None, None, None]),
        ("own.test", Kind::Feed, vec![seconds(60), seconds(60)]),
        ("mixed.test", Kind::Feed, vec![seconds(0), seconds(2), None, None]),
    ];
    for (host, kind, delays) in hosts {
        for (n, delay) in delays.into_iter().enumerate() {
            let path = format!("/{host}/{n}");
            let reply = Answer::feed(&["one"]).reply();
            // Long enough that a second request at once would be seen.
            world.reply(&path, reply.after(Duration::from_millis(20)));
            let change = |new: &mut SourceSettings| {
                (new.kind, new.poll_delay, new.ignore_robots) = (kind, delay, true)
            };
            world.add_with(host, &path, change).await;
        }
    }
    let begun = world.now();
    let mut times: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut before = 0;
    for second in 0..=65 {
        world.clock().set(begun + Span::from_secs(second));
        world.poll_due().await;
        let paths = world.asked_paths();
        for path in &paths[before..] {
            let host = path.split('/').nth(1).unwrap();
            times.entry(host.to_owned()).or_default().push(second);
        }
        before = paths.len();
    }
    let expected: [(&str, &[u64]); 6] = [
        ("host.test", &[0, 20]),
        ("kind.test", &[0, 5, 10]),
        ("mixed.test", &[0, 0, 2, 22]),
        ("none.test", &[0, 0, 0]),
        ("own.test", &[0, 60]),
        ("website.test", &[0, 7]),
    ];
    let times: Vec<(&str, &[u64])> =
        times.iter().map(|(host, times)| (host.as_str(), times.as_slice())).collect();
    assert_eq!(times, expected);
    assert_eq!(world.server().most_at_once(), 1);
}

async fn panic_in_one_host_spares_the_others(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.readers(|readers| {
        readers.feed = |page, rules| {
            assert!(!page.url.path().starts_with("/panics"), "a bug");
            gleaner::read::feed::read(page, rules)
        };
    });
    for path in ["/panics", "/well"] {
        world.answer(path, Answer::feed(&["one"]));
    }
    let panics = world.add("a.test", "/panics").await;
    let well = world.add("b.test", "/well").await;
    world.poll_due().await;
    assert_eq!(world.posts(well).await.len(), 1);
    let poll = world.polls(panics).await.remove(0);
    let (kind, message) = poll.record.error.expect("it failed");
    assert_eq!((kind.name(), message.as_str()), ("internal", "panicked: a bug"));
    assert_eq!(world.source(panics).await.health.failing, None);
}

async fn startup_jitter_spreads_first_polls(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    let mut first: Vec<Time> = Vec::new();
    for n in 0..1000 {
        let new = SourceSettings::feed(1, format!("https://h{n}.test/feed"));
        let id = world.service().add_spread(&new).await.unwrap().id;
        let source = world.source(id).await;
        assert_eq!(source.health.last_polled_at, None);
        first.push(source.next_poll_at.unwrap());
    }
    let minutes: Vec<u64> = first.iter().map(|at| at.since(world.now()).as_mins()).collect();
    assert!(minutes.iter().all(|minute| *minute < 60));
    for quarter in 0..4 {
        let count = minutes.iter().filter(|minute| **minute / 15 == quarter).count();
        assert!((150..350).contains(&count), "{count} of 1,000 in quarter {quarter}");
    }
    // A restart draws none again, whatever it looks at when it begins.
    world.restart().await;
    world.run_until(std::future::ready(())).await;
    world.engine_reschedule().await;
    let after: Vec<Time> =
        world.all_sources().await.into_iter().map(|source| source.next_poll_at.unwrap()).collect();
    assert_eq!(after, first);
}
