//! Error kinds and levels, as database and log show them.

use gleaner::engine::Readers;
use serde_json::{Value, json};

use super::on_both;
use super::world::{Answer, World};
use crate::support::{Database, dns};

on_both!(
    status_429_maps_to_rate_limited_warn,
    status_403_maps_to_forbidden_warn,
    status_404_maps_to_not_found_warn,
    status_410_maps_to_gone_warn,
    status_5xx_maps_to_upstream_failure_warn,
    other_status_maps_to_unexpected_error,
    network_errors_map_to_network_warn,
    parse_errors_map_to_parse_error_warn,
    status_200_and_304_are_success,
    internal_failure_counts_nothing,
    warn_failures_log_warn_error_failures_log_error,
    last_error_type_is_stored_and_cleared,
    logs_name_sources_by_url,
);

/// The source's first poll failed so: stored, shown by the API, and logged at this level.
async fn check_failed(world: &World, id: i64, kind: &str, level: &str) {
    let source = world.source(id).await;
    assert_eq!(source.health.failing.expect("it failed").kind.name(), kind);
    let shown = world.source_json(id).await;
    assert_eq!(shown["last_error_type"], kind, "{shown:#}");
    let line = world.log_of("poll failed", &source.settings.url);
    assert_eq!((line["level"].as_str(), line["error_type"].as_str()), (Some(level), Some(kind)));
    assert_eq!(line["status_code"], shown["last_status_code"]);
    assert_eq!(line["error"], shown["last_error"]);
}

/// Each answer becomes this kind at this level.
async fn check_each(world: &mut World, answers: Vec<Answer>, kind: &str, level: &str) {
    world.answer("/well", Answer::feed(&["one"]));
    for (n, answer) in answers.into_iter().enumerate() {
        // One that succeeds in between: our own network is well.
        world.add(&format!("well{n}.test"), "/well").await;
        let path = format!("/feed{n}");
        let status = if let Answer::Status(status) = answer { json!(status) } else { Value::Null };
        world.answer(&path, answer);
        let id = world.add(&format!("h{n}.test"), &path).await;
        world.poll_due().await;
        check_failed(world, id, kind, level).await;
        if status != Value::Null {
            assert_eq!(world.source_json(id).await["last_status_code"], status);
        }
    }
}

async fn check(db: Database, answers: Vec<Answer>, kind: &str, level: &str) {
    let mut world = World::new(db, &["source.policy=cooldown"]).await;
    check_each(&mut world, answers, kind, level).await;
}

async fn status_429_maps_to_rate_limited_warn(db: Database) {
    check(db, vec![Answer::Status(429)], "rate_limited", "WARN").await;
}

async fn status_403_maps_to_forbidden_warn(db: Database) {
    check(db, vec![Answer::Status(403)], "forbidden", "WARN").await;
}

async fn status_404_maps_to_not_found_warn(db: Database) {
    check(db, vec![Answer::Status(404)], "not_found", "WARN").await;
}

async fn status_410_maps_to_gone_warn(db: Database) {
    check(db, vec![Answer::Status(410)], "gone", "WARN").await;
}

async fn status_5xx_maps_to_upstream_failure_warn(db: Database) {
    check(db, [500, 502, 503, 599].map(Answer::Status).to_vec(), "upstream_failure", "WARN").await;
}

async fn other_status_maps_to_unexpected_error(db: Database) {
    check(db, vec![Answer::Status(418)], "unexpected", "ERROR").await;
}

async fn network_errors_map_to_network_warn(db: Database) {
    let mut world = World::new(db, &["source.policy=cooldown", "fetch.timeout_seconds=1"]).await;
    let answers = vec![Answer::Never, Answer::Reset, Answer::StopsInTheMiddle];
    check_each(&mut world, answers, "network", "WARN").await;
    for (name, answer, cause) in [
        ("absent.test", dns::Answer::NxDomain, "dns"),
        ("addressless.test", dns::Answer::NoData, "dns"),
        ("unresolved.test", dns::Answer::ServFail, "dns_unavailable"),
    ] {
        let id = world.add(name, "/feed").await;
        world.set_name(name, answer);
        world.poll_due().await;
        check_failed(&world, id, "network", "WARN").await;
        assert_eq!(world.poll_json(id).await["error_cause"], cause);
    }
}

async fn parse_errors_map_to_parse_error_warn(db: Database) {
    let answers =
        vec![Answer::body("<html><body>no feed</body></html>"), Answer::body("{\"a\":1}"), Answer::body("")];
    check(db, answers, "parse_error", "WARN").await;
}

async fn status_200_and_304_are_success(db: Database) {
    let mut world = World::new(db, &["source.policy=cooldown"]).await;
    let id = world.add("a.test", "/feed").await;
    world.answer("/feed", Answer::feed(&["one"]));
    world.poll_due().await;
    world.answer("/feed", Answer::Status(500));
    world.poll_next(id).await;
    assert_eq!(world.failures(id).await, 1);
    world.answer("/feed", Answer::Status(304));
    let source = world.poll_next(id).await;
    assert_eq!((source.health.failing, source.health.last_success_at), (None, Some(world.now())));
    world.answer("/feed", Answer::Status(500));
    world.poll_next(id).await;
    world.answer("/feed", Answer::feed(&["one"]));
    assert_eq!(world.poll_next(id).await.health.failing, None);
}

async fn internal_failure_counts_nothing(db: Database) {
    let mut world = World::new(db, &["source.policy=cooldown"]).await;
    let id = world.add("a.test", "/feed").await;
    world.answer("/feed", Answer::Status(500));
    world.poll_due().await;
    let before = world.source(id).await;
    world.answer("/feed", Answer::feed(&["one"]));
    world.readers(|readers| readers.feed = |_, _| panic!("a bug"));
    let after = world.poll_next(id).await;
    assert_eq!(after.health.failing, before.health.failing);
    assert_eq!(after.health.status(), before.health.status());
    let line = world.log_of("poll failed", &after.settings.url);
    assert_eq!(
        (line["level"].as_str(), line["error_type"].as_str()),
        (Some("ERROR"), Some("internal")),
        "{line}"
    );
    // A database that fails is no fault of the source either.
    world.readers(|readers| *readers = Readers::default());
    let id = world.add("b.test", "/feed").await;
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["one"]);
    world.answer("/feed", Answer::feed(&["one", "two"]));
    world.database().behind_its_back("ALTER TABLE seen RENAME TO hidden").await;
    let source = world.poll_next(id).await;
    assert_eq!((source.health.failing.clone(), source.health.last_polled_at), (None, Some(world.now())));
    let line = world.log_of("poll failed", &source.settings.url);
    assert_eq!(
        (line["level"].as_str(), line["error_type"].as_str()),
        (Some("ERROR"), Some("internal")),
        "{line}"
    );
    world.database().behind_its_back("ALTER TABLE hidden RENAME TO seen").await;
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["two", "one"], "and nothing is lost");
}

async fn warn_failures_log_warn_error_failures_log_error(db: Database) {
    let mut world = World::new(db, &["source.policy=cooldown"]).await;
    for (n, (status, level)) in
        [(404, "WARN"), (418, "ERROR"), (401, "ERROR"), (503, "WARN")].into_iter().enumerate()
    {
        let path = format!("/feed{n}");
        world.answer(&path, Answer::Status(status));
        let id = world.add(&format!("h{n}.test"), &path).await;
        world.poll_due().await;
        let source = world.source(id).await;
        let row = source.health.failing.expect("it failed");
        let line = world.log_of("poll failed", &source.settings.url);
        assert_eq!(line["level"], level);
        assert_eq!(line["error_type"], row.kind.name());
        assert_eq!(line["status_code"], status);
        assert_eq!(line["error"], row.message);
    }
}

async fn last_error_type_is_stored_and_cleared(db: Database) {
    let mut world = World::new(db, &["source.policy=cooldown"]).await;
    let id = world.add("a.test", "/feed").await;
    world.answer("/feed", Answer::Status(404));
    world.poll_due().await;
    let last_error = async |world: &World| {
        let source = world.source_json(id).await;
        json!([source["last_error_type"], source["last_error"], source["last_status_code"]])
    };
    assert_eq!(last_error(&world).await, json!(["not_found", "404 Not Found", 404]));
    world.answer("/feed", Answer::Status(503));
    world.poll_next(id).await;
    assert_eq!(last_error(&world).await, json!(["upstream_failure", "503 Service Unavailable", 503]));
    world.answer("/feed", Answer::feed(&[]));
    world.poll_next(id).await;
    assert_eq!(last_error(&world).await, json!([null, null, null]));
}

async fn logs_name_sources_by_url(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = world.add("a.test", "/feed?token=hush").await;
    world.answer("/feed?token=hush", Answer::Status(410));
    world.poll_due().await;
    let url = world.source(id).await.settings.url.replace("hush", "…");
    assert!(world.log().lines().count() >= 2, "a failed poll, and a feed set aside");
    for line in world.log().lines() {
        assert!(line.contains(&url), "{line}");
        assert!(!line.contains("hush"), "{line}");
    }
}
