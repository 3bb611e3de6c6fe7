//! The `quarantine` policy: the interval stays, and a person decides.

use gleaner_core::health::Status;
use gleaner_core::time::Span;
use serde_json::json;

use super::on_both;
use super::world::{Answer, World};
use crate::support::{Database, until};

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
    // Quarantined by five failures, although it would answer again.
    world.answer("/broken", Answer::Status(500));
    let broken = world.add("broken.test", "/broken").await;
    world.poll_times(broken, 5).await;
    assert_eq!(world.source(broken).await.health.status(), Status::Quarantined);
    world.answer("/broken", Answer::feed(&["one"]));
    let mut ids = Vec::new();
    for n in 0..12 {
        let path = format!("/feed{n}");
        world.answer(&path, Answer::feed(&["one"]));
        ids.push(world.add(&format!("h{n}.test"), &path).await);
    }
    for id in &ids[..2] {
        world.service().set_enabled(*id, false).await.unwrap();
    }
    for cycle in 1..=2 {
        assert_eq!(world.poll_due().await, 10);
        for n in 0..12 {
            assert_eq!(world.requests(&format!("/feed{n}")), if n >= 2 { cycle } else { 0 });
        }
        assert_eq!(world.requests("/broken"), 5);
        world.advance(Span::from_mins(30));
    }
}

async fn fifth_failure_quarantines(db: Database) {
    let mut world = World::new(db, &["source.policy=quarantine", "fetch.timeout_seconds=0.5"]).await;
    world.answer("/feed", Answer::Never);
    let id = world.add("a.test", "/feed").await;
    for count in 1..=4 {
        world.poll_next(id).await;
        let shown = world.source_json(id).await;
        assert_eq!((&shown["status"], &shown["consecutive_failures"]), (&json!("failing"), &json!(count)));
        assert_eq!(shown["quarantined_at"], json!(null));
        assert_eq!(shown["next_poll_at"], json!(world.now() + Span::from_mins(30)), "its interval stays");
    }
    world.poll_next(id).await;
    let shown = world.source_json(id).await;
    assert_eq!((&shown["status"], &shown["consecutive_failures"]), (&json!("quarantined"), &json!(5)));
    assert_eq!(shown["quarantined_at"], json!(world.now()));
    assert_eq!(shown["last_error"], "timeout after 500ms");
    assert_eq!(shown["next_poll_at"], json!(null), "until a person comes");
    world.advance(Span::from_days(365));
    assert_eq!((world.poll_due().await, world.requests("/feed")), (0, 5));
}

async fn recovery_returns_to_healthy(db: Database) {
    let mut world = World::new(db, &["source.policy=quarantine"]).await;
    world.answer("/feed", Answer::Status(500));
    let id = world.add("a.test", "/feed").await;
    world.poll_times(id, 3).await;
    world.answer("/feed", Answer::feed(&["one"]));
    assert_eq!(world.failures(id).await, 3);
    world.poll_next(id).await;
    let shown = world.source_json(id).await;
    assert_eq!((&shown["status"], &shown["consecutive_failures"]), (&json!("healthy"), &json!(0)));
}

async fn fetch_timeout_is_30_seconds(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::StopsInTheMiddle);
    let id = world.add("a.test", "/feed").await;
    let begun = std::time::Instant::now();
    world.poll_due().await;
    let took = begun.elapsed().as_secs_f64();
    assert!((30.0..40.0).contains(&took), "{took} s");
    let shown = world.source_json(id).await;
    assert_eq!(
        (&shown["last_error"], &shown["consecutive_failures"]),
        (&json!("timeout after 30s"), &json!(1))
    );
    // The client left: the server's answer ended with the connection.
    let patience = std::time::Duration::from_secs(10);
    let left = async || (world.server().under_way() == 0).then_some(());
    until(patience, left, async || "the request is still under way".to_owned()).await;
}
