//! The `cooldown` policy: set aside for a time that fits the kind.

use gleaner_core::health::Status;
use gleaner_core::time::Span;
use serde_json::{Value, json};

use super::on_both_with_siblings;
use super::world::{Answer, World};
use crate::support::Database;

on_both_with_siblings!(
    forbidden_quarantined_after_5_for_24h,
    not_found_quarantined_after_3_for_48h,
    gone_quarantined_after_1_for_72h,
    upstream_quarantined_after_10_for_6h,
    network_quarantined_after_10_for_12h,
    parse_error_quarantined_after_5_for_24h,
    any_kind_counts_against_newest_threshold,
    rate_limited_is_never_quarantined,
    error_level_failures_are_never_quarantined,
    unauthorized_is_never_quarantined_under_cooldown,
    quarantine_is_logged_once,
    cooling_sources_are_excluded_from_feed_active,
    success_after_cooldown_reenables,
    failure_after_cooldown_starts_a_new_cooldown,
);

async fn world(db: Database, answer: Answer) -> (World, i64) {
    let mut world = World::new(db, &["source.policy=cooldown"]).await;
    world.answer("/feed", answer);
    let id = world.add("a.test", "/feed").await;
    (world, id)
}

/// Set aside at the n-th failure in a row, not the one before; not polled until so many hours later, and then polled.
async fn check(db: Database, answer: Answer, failures: u32, hours: u64) {
    let (mut world, id) = world(db, answer).await;
    if failures > 1 {
        world.poll_times(id, failures - 1).await;
        assert_eq!(world.source(id).await.health.status(), Status::Failing);
        world.poll_next(id).await;
    } else {
        world.poll_due().await;
    }
    let source = world.source(id).await;
    assert_eq!((source.health.status(), world.failures(id).await), (Status::Quarantined, failures));
    let asked = world.requests("/feed");
    world.advance(Span::from_mins(60 * hours - 1));
    world.poll_due().await;
    assert_eq!(world.requests("/feed"), asked, "not before it is over");
    world.advance(Span::from_mins(1));
    world.poll_due().await;
    assert_eq!(world.requests("/feed"), asked + 1);
}

async fn forbidden_quarantined_after_5_for_24h(db: Database) {
    check(db, Answer::Status(403), 5, 24).await;
}

async fn not_found_quarantined_after_3_for_48h(db: Database) {
    check(db, Answer::Status(404), 3, 48).await;
}

async fn gone_quarantined_after_1_for_72h(db: Database) {
    check(db, Answer::Status(410), 1, 72).await;
}

async fn upstream_quarantined_after_10_for_6h(db: Database) {
    check(db, Answer::Status(503), 10, 6).await;
}

async fn network_quarantined_after_10_for_12h(db: Database) {
    check(db, Answer::Reset, 10, 12).await;
}

async fn parse_error_quarantined_after_5_for_24h(db: Database) {
    check(db, Answer::body("no feed"), 5, 24).await;
}

async fn any_kind_counts_against_newest_threshold(db: Database) {
    let (mut world, id) = world(db, Answer::Status(500)).await;
    world.poll_times(id, 2).await;
    assert_eq!(world.source(id).await.health.status(), Status::Failing);
    world.answer("/feed", Answer::Status(404));
    let source = world.poll_next(id).await;
    assert_eq!(source.health.quarantine.expect("set aside at the third").reason, "not_found");
}

/// Fifty in a row: each is logged at this level, and the next poll comes after the backoff and not before.
async fn never_quarantined(db: Database, status: u16, level: &str) {
    let (mut world, id) = world(db, Answer::Status(status)).await;
    for count in 1..=50_u32 {
        let source = world.poll_next(id).await;
        assert_eq!((source.health.status(), world.failures(id).await), (Status::Failing, count));
        let minutes = 30_u64.saturating_mul(1 << count.min(20)).min(24 * 60);
        let next = source.next_poll_at.unwrap();
        assert_eq!(next.since(world.now()), Span::from_mins(minutes), "after failure {count}");
        world.clock().set(next - Span::from_millis(1));
        assert_eq!(world.poll_due().await, 0, "not before");
    }
    assert_eq!(world.requests("/feed"), 50);
    let shown = world.source_json(id).await;
    assert_eq!((&shown["status"], &shown["quarantined_at"]), (&json!("failing"), &Value::Null));
    let url = world.source(id).await.settings.url;
    let lines = world.logs_of("poll failed", &url);
    assert_eq!(lines.len(), 50);
    assert!(lines.iter().all(|line| line["level"] == level), "{}", lines[0]);
    assert!(world.logs_of("feed disabled", &url).is_empty());
}

async fn rate_limited_is_never_quarantined(db: Database) {
    never_quarantined(db, 429, "WARN").await;
}

async fn error_level_failures_are_never_quarantined(db: Database) {
    never_quarantined(db, 418, "ERROR").await;
}

async fn unauthorized_is_never_quarantined_under_cooldown(db: Database) {
    never_quarantined(db, 401, "ERROR").await;
}

async fn quarantine_is_logged_once(db: Database) {
    let (mut world, id) = world(db, Answer::Status(404)).await;
    world.poll_times(id, 5).await;
    let url = world.source(id).await.settings.url;
    let lines = world.logs_of("feed disabled", &url);
    assert_eq!(lines.len(), 1, "and no second one while it lasts: {lines:?}");
    assert_eq!((lines[0]["level"].as_str(), lines[0]["count"].as_u64()), (Some("WARN"), Some(3)));
    assert_eq!(lines[0]["error_type"], "not_found");
    assert!(lines[0]["reason"].as_str().unwrap().starts_with("404 Not Found"));
    // A new quarantine is a new line, with its own kind.
    world.answer("/feed", Answer::feed(&["one"]));
    world.poll_next(id).await;
    world.answer("/feed", Answer::Status(410));
    world.poll_next(id).await;
    let lines = world.logs_of("feed disabled", &url);
    assert_eq!((lines.len(), &lines[1]["error_type"]), (2, &json!("gone")));
}

/// Which of these the API lists as active.
async fn active(world: &World, of: [i64; 2]) -> Vec<i64> {
    let page = world.api().await.get("/sources?feed_active=true").await;
    let ids = page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap());
    ids.filter(|id| of.contains(id)).collect()
}

async fn cooling_sources_are_excluded_from_feed_active(db: Database) {
    let (mut world, id) = world(db, Answer::Status(404)).await;
    world.answer("/well", Answer::feed(&["one"]));
    let well = world.add("b.test", "/well").await;
    for _ in 0..2 {
        world.poll_next(id).await;
        assert_eq!(active(&world, [id, well]).await, [id, well], "it fails, and is polled");
    }
    world.poll_next(id).await;
    assert_eq!(active(&world, [id, well]).await, [well], "the third failure began its cooldown");
    let shown = world.source_json(id).await;
    assert_eq!((&shown["status"], &shown["quarantine_reason"]), (&json!("quarantined"), &json!("not_found")));
    let over = world.now() + Span::from_hours(48);
    assert_eq!(shown["retry_at"], json!(over));
    world.clock().set(over - Span::from_millis(1));
    assert_eq!(active(&world, [id, well]).await, [well]);
    world.clock().set(over);
    assert_eq!(active(&world, [id, well]).await, [id, well], "the cooldown is over");
    // It fails again, and a new cooldown begins.
    world.poll_due().await;
    assert_eq!(active(&world, [id, well]).await, [well]);
}

async fn success_after_cooldown_reenables(db: Database) {
    let (mut world, id) = world(db, Answer::Status(410)).await;
    world.poll_due().await;
    world.answer("/feed", Answer::feed(&["one"]));
    let source = world.poll_next(id).await;
    assert_eq!((source.health.quarantine, source.health.failing), (None, None));
    let shown = world.source_json(id).await;
    assert_eq!(shown["status"], "healthy");
    for field in ["quarantined_at", "quarantine_reason", "retry_at"] {
        assert_eq!(shown[field], Value::Null, "{field}");
    }
}

async fn failure_after_cooldown_starts_a_new_cooldown(db: Database) {
    let (mut world, id) = world(db, Answer::Status(410)).await;
    world.poll_due().await;
    let source = world.poll_next(id).await;
    let held = source.health.quarantine.expect("set aside again");
    assert_eq!((held.at, held.retry_at), (world.now(), Some(world.now() + Span::from_hours(72))));
}
