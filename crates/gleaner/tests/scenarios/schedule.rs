//! Who is polled when, and beside whom.

use std::collections::HashSet;
use std::time::Duration;

use gleaner_core::time::{Span, Time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;

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

async fn tick_never_blocks_the_runtime(db: Database) {
    let mut world = World::new(db, &[]).await;
    // Too large to be read where it arrives.
    world.answer("/feed", Answer::feed(&[&"one ".repeat(50_000)]));
    let id = world.add("a.test", "/feed").await;
    // Parsing that keeps a processor busy for a while.
    world.readers(|readers| {
        readers.feed = |page, rules| {
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_millis(500) {
                std::hint::spin_loop();
            }
            gleaner::read::feed::read(page, rules)
        };
    });
    // Something else on the same thread of the same runtime.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let echo = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut byte = [0];
        while stream.read_exact(&mut byte).await.is_ok() {
            stream.write_all(&byte).await.unwrap();
        }
    });
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    world.begin_due().await;
    let (mut slowest, mut answered) = (Duration::ZERO, 0);
    while world.source(id).await.health.last_polled_at.is_none() {
        let begun = std::time::Instant::now();
        client.write_all(b"?").await.unwrap();
        client.read_exact(&mut [0]).await.unwrap();
        slowest = slowest.max(begun.elapsed());
        answered += 1;
    }
    assert!(
        answered > 10 && slowest < Duration::from_millis(400),
        "{answered} answers, the slowest in {slowest:?}"
    );
    world.finish().await;
    echo.abort();
}

async fn one_host_is_polled_sequentially_with_delay(db: Database) {
    let settings =
        ["source.poll_delay_seconds.feed=5", "source.host_overrides.\"b.test\".poll_delay_seconds=20"];
    let mut world = World::new(db, &settings).await;
    for path in ["/a1", "/a2", "/a3", "/b1", "/b2", "/c1", "/c2"] {
        world.answer(path, Answer::feed(&["one"]));
    }
    for path in ["/a1", "/a2", "/a3"] {
        world.add("a.test", path).await;
    }
    for path in ["/b1", "/b2"] {
        world.add("b.test", path).await;
    }
    // A source's own delay goes before its host's and its kind's.
    for path in ["/c1", "/c2"] {
        world.add_with("c.test", path, |new| new.poll_delay = Some(Span::from_secs(60))).await;
    }
    let begun = world.now();
    let mut asked: Vec<(u64, String)> = Vec::new();
    let mut before = HashSet::new();
    for second in 0..=65 {
        world.clock().set(begun + Span::from_secs(second));
        world.poll_due().await;
        for path in world.asked_paths() {
            if before.insert(path.clone()) {
                asked.push((second, path));
            }
        }
    }
    let times = |host: char| -> Vec<u64> {
        asked
            .iter()
            .filter(|(_, path)| path.starts_with(&format!("/{host}")))
            .map(|(second, _)| *second)
            .collect()
    };
    assert_eq!((times('a'), times('b'), times('c')), (vec![0, 5, 10], vec![0, 20], vec![0, 60]));
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
        let id = world.add_with(&format!("h{n}.test"), "/feed", |new| new.at_once = false).await;
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
    // A restart draws none again.
    world.restart().await;
    let after: Vec<Time> =
        world.all_sources().await.into_iter().map(|source| source.next_poll_at.unwrap()).collect();
    assert_eq!(after, first);
}
