//! The `quarantine` policy: the interval stays, and a person decides.

use gleaner_core::health::Status;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;

on_both!(default_interval_is_30_minutes, inactive_and_quarantined_are_skipped, fetch_timeout_is_30_seconds,);

mod failures {
    use super::*;
    use crate::scenarios::on_both_with_siblings;

    on_both_with_siblings!(fifth_failure_quarantines, recovery_returns_to_healthy);
}

async fn default_interval_is_30_minutes(db: Database) {
    let mut world = World::new(db, &["source.policy=quarantine"]).await;
    let mut ids = Vec::new();
    for n in 0..3 {
        let path = format!("/feed{n}");
        world.answer(&path, Answer::feed(&["one"]));
        ids.push(world.add(&format!("h{n}.test"), &path).await);
    }
    world.poll_due().await;
    world.advance(Span::from_mins(29));
    assert_eq!(world.poll_due().await, 0);
    world.advance(Span::from_mins(1));
    assert_eq!(world.poll_due().await, 3);
    for id in ids {
        assert_eq!(world.source(id).await.health.last_polled_at, Some(world.now()));
    }
}

async fn inactive_and_quarantined_are_skipped(db: Database) {
    let mut world = World::new(db, &["source.policy=quarantine"]).await;
    let mut ids = Vec::new();
    for n in 0..13 {
        let path = format!("/feed{n}");
        world.answer(&path, Answer::feed(&["one"]));
        ids.push(world.add(&format!("h{n}.test"), &path).await);
    }
    for id in &ids[..2] {
        world.service().set_enabled(*id, false).await.unwrap();
    }
    world.service().set_aside(ids[2], "too noisy").await.unwrap();
    assert_eq!(world.poll_due().await, 10);
    for n in 0..13 {
        assert_eq!(world.requests(&format!("/feed{n}")), usize::from(n >= 3));
    }
}

async fn fifth_failure_quarantines(db: Database) {
    let mut world = World::new(db, &["source.policy=quarantine"]).await;
    world.answer("/feed", Answer::Status(500));
    let id = world.add("a.test", "/feed").await;
    world.poll_times(id, 4).await;
    assert_eq!(world.source(id).await.health.status(), Status::Failing);
    let source = world.poll_next(id).await;
    assert_eq!(source.health.status(), Status::Quarantined);
    assert_eq!(source.health.quarantine.unwrap().at, world.now());
    assert_eq!(source.health.failing.unwrap().message, "500 Internal Server Error");
    assert_eq!(source.next_poll_at, None, "until a person comes");
}

async fn recovery_returns_to_healthy(db: Database) {
    let mut world = World::new(db, &["source.policy=quarantine"]).await;
    world.answer("/feed", Answer::Status(500));
    let id = world.add("a.test", "/feed").await;
    world.poll_times(id, 3).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let source = world.poll_next(id).await;
    assert_eq!((source.health.status(), source.health.failing), (Status::Healthy, None));
}

async fn fetch_timeout_is_30_seconds(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::StopsInTheMiddle);
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!((row.message.as_str(), row.count), ("timeout after 30s", 1));
}
