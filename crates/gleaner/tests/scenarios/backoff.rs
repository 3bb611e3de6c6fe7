//! The `backoff` policy: doubling, and disabling after permanent failures.

use gleaner_core::health::Status;
use gleaner_core::time::Span;
use serde_json::{Value, json};

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

/// `consecutive_failures`, `last_failure_type` and `disabled_reason`, as the API shows them.
async fn tracking(world: &World, id: i64) -> Value {
    let source = world.source_json(id).await;
    json!([source["consecutive_failures"], source["last_failure_type"], source["disabled_reason"]])
}

async fn first_failure_sets_counter_to_one(db: Database) {
    let (mut world, id) = world(db, Answer::Status(500), &[]).await;
    assert_eq!(tracking(&world, id).await, json!([0, null, null]));
    world.poll_due().await;
    assert_eq!(tracking(&world, id).await, json!([1, "transient", null]));
    let source = world.source_json(id).await;
    assert_eq!((&source["status"], &source["enabled"]), (&json!("failing"), &json!(true)));
    assert_eq!(source["failing_since"], json!(world.now()));
}

async fn repeated_failure_increments_counter(db: Database) {
    let (mut world, id) = world(db, Answer::Status(500), &[]).await;
    for count in 1..=3 {
        world.poll_next(id).await;
        assert_eq!(tracking(&world, id).await, json!([count, "transient", null]));
    }
    world.poll_next(id).await;
    assert_eq!(tracking(&world, id).await, json!([4, "transient", null]));
}

async fn success_resets_failure_tracking(db: Database) {
    let (mut world, id) = world(db, Answer::Status(500), &[]).await;
    world.poll_times(id, 3).await;
    assert_eq!(tracking(&world, id).await, json!([3, "transient", null]));
    world.answer("/feed", Answer::feed(&["one"]));
    world.poll_next(id).await;
    assert_eq!(tracking(&world, id).await, json!([0, null, null]));
    let source = world.source_json(id).await;
    assert_eq!(source["status"], "healthy");
    for field in ["last_error", "last_error_type", "last_status_code", "failing_since"] {
        assert_eq!(source[field], Value::Null, "{field}");
    }
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
    assert_eq!(source.next_poll_at, None);
    let shown = world.source_json(id).await;
    assert_eq!((&shown["enabled"], &shown["status"]), (&json!(false), &json!("disabled")));
    assert_eq!(shown["disabled_reason"], "Auto-disabled after 5 consecutive 404 errors");
    world.advance(Span::from_days(365));
    assert_eq!((world.poll_due().await, world.requests("/feed")), (0, 5));
}

async fn transient_failures_never_disable(db: Database) {
    let (mut world, id) = world(db, Answer::Never, &["fetch.timeout_seconds=0.05"]).await;
    world.poll_times(id, 10).await;
    let source = world.source(id).await;
    assert_eq!((source.health.status(), world.failures(id).await), (Status::Failing, 10));
    let shown = world.source_json(id).await;
    assert_eq!(shown["enabled"], true);
    assert!(shown["last_error"].as_str().unwrap().starts_with("timeout after 50ms"), "{shown:#}");
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
    let reason = "Auto-disabled after 5 consecutive 404 errors";
    assert_eq!(tracking(&world, id).await, json!([5, "permanent", reason]));
    let enabled = json!({ "enabled": true });
    let shown = world.api().await.patch(&format!("/sources/{id}"), enabled).await;
    assert_eq!(shown["enabled"], true);
    assert_eq!(tracking(&world, id).await, json!([0, null, null]));
    assert_eq!(shown["next_poll_at"], json!(world.now()), "and it is due at once");
}

async fn custom_max_failures(db: Database) {
    let (mut world, id) = world(db, Answer::Status(404), &["source.max_failures=3"]).await;
    world.poll_times(id, 2).await;
    assert_eq!(world.source(id).await.health.status(), Status::Failing);
    assert_eq!(world.poll_next(id).await.health.status(), Status::Disabled);
}
