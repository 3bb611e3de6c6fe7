//! The `backoff` policy: doubling, and disabling after permanent failures.

use gleaner_core::health::Status;
use gleaner_core::outcome::Class;
use gleaner_core::time::Span;

use super::on_both_with_siblings;
use super::world::{Answer, World};
use crate::support::Database;

on_both_with_siblings!(
    first_failure_sets_counter_to_one,
    repeated_failure_increments_counter,
    success_resets_failure_tracking,
    backoff_first_failure_doubles,
    backoff_third_failure_is_eightfold,
    backoff_is_capped,
    no_failures_no_backoff,
    five_permanent_failures_disable,
    transient_failures_never_disable,
    transient_breaks_permanent_run,
    reenable_clears_failure_state,
    custom_max_failures,
    custom_max_backoff_hours,
    two_failures_wait_240_minutes,
);

/// A source every 60 minutes under `backoff`, that answers so.
async fn world(db: Database, answer: Answer, settings: &[&str]) -> (World, i64) {
    let mut all = vec!["source.policy=backoff", "source.poll_interval_minutes=60"];
    all.extend(settings);
    let mut world = World::new(db, &all).await;
    world.answer("/feed", answer);
    let id = world.add("a.test", "/feed").await;
    (world, id)
}

async fn first_failure_sets_counter_to_one(db: Database) {
    let (mut world, id) = world(db, Answer::Status(500), &[]).await;
    world.poll_due().await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!((row.count, row.class()), (1, Class::Transient));
}

async fn repeated_failure_increments_counter(db: Database) {
    let (mut world, id) = world(db, Answer::Status(500), &[]).await;
    world.poll_times(id, 3).await;
    assert_eq!(world.failures(id).await, 3);
    world.poll_next(id).await;
    assert_eq!(world.failures(id).await, 4);
}

async fn success_resets_failure_tracking(db: Database) {
    let (mut world, id) = world(db, Answer::Status(500), &[]).await;
    world.poll_times(id, 3).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let source = world.poll_next(id).await;
    assert_eq!((source.health.failing, source.health.quarantine), (None, None));
}

/// After so many failures the next poll is so many minutes after the last.
async fn waits(db: Database, failures: u32, minutes: u64, settings: &[&str]) {
    let (mut world, id) = world(db, Answer::Status(500), settings).await;
    world.poll_times(id, failures).await;
    let source = world.source(id).await;
    let (last, next) = (source.health.last_polled_at.unwrap(), source.next_poll_at.unwrap());
    assert_eq!((world.failures(id).await, next.since(last)), (failures, Span::from_mins(minutes)));
}

async fn backoff_first_failure_doubles(db: Database) {
    waits(db, 1, 120, &[]).await;
}

async fn two_failures_wait_240_minutes(db: Database) {
    waits(db, 2, 240, &[]).await;
}

async fn backoff_third_failure_is_eightfold(db: Database) {
    waits(db, 3, 480, &[]).await;
}

async fn backoff_is_capped(db: Database) {
    waits(db, 5, 1440, &[]).await;
}

async fn custom_max_backoff_hours(db: Database) {
    waits(db, 10, 360, &["source.max_backoff_hours=6"]).await;
}

async fn no_failures_no_backoff(db: Database) {
    let (mut world, id) = world(db, Answer::feed(&["one"]), &[]).await;
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!(source.next_poll_at.unwrap().since(world.now()), Span::from_mins(60));
}

async fn five_permanent_failures_disable(db: Database) {
    let (mut world, id) = world(db, Answer::Status(404), &[]).await;
    world.poll_times(id, 4).await;
    assert_eq!(world.source(id).await.health.status(), Status::Failing);
    let source = world.poll_next(id).await;
    let reason = source.health.disabled.expect("it is disabled").reason;
    assert_eq!(reason.as_deref(), Some("Auto-disabled after 5 consecutive 404 errors"));
    assert_eq!(source.next_poll_at, None);
}

async fn transient_failures_never_disable(db: Database) {
    let (mut world, id) = world(db, Answer::Never, &["fetch.timeout_seconds=0.05"]).await;
    world.poll_times(id, 10).await;
    let source = world.source(id).await;
    assert_eq!((source.health.status(), world.failures(id).await), (Status::Failing, 10));
}

async fn transient_breaks_permanent_run(db: Database) {
    let (mut world, id) = world(db, Answer::Status(404), &[]).await;
    world.poll_times(id, 3).await;
    world.answer("/feed", Answer::Status(500));
    world.poll_next(id).await;
    assert_eq!(world.failures(id).await, 4);
    world.answer("/feed", Answer::Status(404));
    for _ in 0..4 {
        assert_eq!(world.poll_next(id).await.health.status(), Status::Failing);
    }
    assert_eq!(
        world.poll_next(id).await.health.status(),
        Status::Disabled,
        "the last five are all permanent"
    );
}

async fn reenable_clears_failure_state(db: Database) {
    let (mut world, id) = world(db, Answer::Status(404), &[]).await;
    world.poll_times(id, 5).await;
    assert_eq!(world.source(id).await.health.status(), Status::Disabled);
    world.service().set_enabled(id, true).await.unwrap();
    let source = world.source(id).await;
    assert_eq!((source.health.failing, source.health.disabled), (None, None));
    assert_eq!(source.next_poll_at, Some(world.now()), "and it is due at once");
}

async fn custom_max_failures(db: Database) {
    let (mut world, id) = world(db, Answer::Status(404), &["source.max_failures=3"]).await;
    world.poll_times(id, 2).await;
    assert_eq!(world.source(id).await.health.status(), Status::Failing);
    assert_eq!(world.poll_next(id).await.health.status(), Status::Disabled);
}
