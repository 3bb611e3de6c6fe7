//! Sources: made, listed, deleted.

use gleaner_core::time::Span;
use serde_json::{Value, json};

use super::client::Api;
use super::on_both;
use crate::support::Database;

on_both!(
    a_source_shows_what_was_said_and_what_is_known,
    kinds_of_other_programs_are_understood,
    the_same_url_is_refused_with_the_id_that_has_it,
    every_wrong_field_is_named_at_once,
    a_source_can_be_made_disabled,
    lists_are_filtered,
    pages_stay_true_while_sources_are_added,
    wrong_parameters_are_named,
    a_deleted_source_is_gone,
);

pub(super) async fn add(api: &Api, url: &str) -> i64 {
    api.post("/sources", json!({ "url": url })).await.is(201)["id"].as_i64().unwrap()
}

pub(super) async fn source(api: &Api, id: i64) -> Value {
    api.get(&format!("/sources/{id}")).await.is(200).clone()
}

/// The ids on a list.
pub(super) fn ids(page: &Value) -> Vec<i64> {
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

/// The fields that a problem names.
pub(super) fn wrong(body: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> =
        body["errors"].as_array().unwrap().iter().map(|error| error["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    fields
}

/// Writes failures into a source's state, as so many polls would have.
pub(super) async fn fail(api: &Api, id: i64, times: u32) {
    use gleaner::store::SourceEdit;
    use gleaner_core::health::{Failing, Health};
    use gleaner_core::outcome::{ErrorKind, Failure};
    let now = gleaner::clock::Clock::now(&*api.clock);
    let since = now - Span::from_days(2);
    let read = api.db.store.source(id).await.unwrap();
    let message = "404 Not Found".into();
    let failure = Failure { kind: ErrorKind::NotFound, status: Some(404), message, retry_after: None };
    let row = Failing::repeated(&failure, times, since);
    let health = Health { failing: Some(row), last_polled_at: Some(now), ..Health::default() };
    let edit = SourceEdit { health, next_poll_at: Some(now + Span::from_days(1)), ..SourceEdit::of(&read) };
    api.db.store.edit_source(&edit, now).await.unwrap();
}

async fn a_source_shows_what_was_said_and_what_is_known(db: Database) {
    let api = Api::new(db).await;
    let said = json!({
        "url": "https://a.example/blog?utm_source=x",
        "kind": "watchlist",
        "name": " A blog ",
        "collection_id": 1,
        "poll_interval_minutes": 90,
        "poll_delay_seconds": 3,
        "article_selector": "article h2 a",
        "ignore_selector": ".ads",
        "full_content": true,
        "backfill": true,
        "ignore_robots": true,
        "policy": "cooldown",
        "duplicates": "content",
        "enabled": true,
    });
    let made = api.post("/sources", said).await;
    let id = made.is(201)["id"].as_i64().unwrap();
    assert_eq!(made.header("location"), Some(format!("/api/v1/sources/{id}").as_str()));
    assert_eq!(made.header("etag"), Some("\"1\""));
    let now = "2026-11-15T00:00:00Z";
    let expected = json!({
        "id": id,
        "url": "https://a.example/blog?utm_source=x",
        "kind": "watchlist",
        "name": "A blog",
        "collection_id": 1,
        "enabled": true,
        "status": "pending",
        "poll_interval_minutes": 90,
        "poll_delay_seconds": 3,
        "article_selector": "article h2 a",
        "ignore_selector": ".ads",
        "full_content": true,
        "backfill": true,
        "ignore_robots": true,
        "policy": "cooldown",
        "duplicates": "content",
        "has_credential": false,
        "consecutive_failures": 0,
        "last_failure_type": null,
        "last_error_type": null,
        "last_error": null,
        "last_status_code": null,
        "failing_since": null,
        "excused_by": null,
        "disabled_reason": null,
        "quarantined_at": null,
        "quarantine_reason": null,
        "retry_at": null,
        "last_polled_at": null,
        "last_success_at": null,
        "next_poll_at": now,
        "created_at": now,
        "updated_at": now,
        "host": "a.example",
        "version": 1,
        "suspect": null,
        "proposal": null,
        "pages_waiting": 0,
        "pages_failed": 0,
        "pages_given_up": 0,
    });
    assert_eq!(source(&api, id).await, expected);
    let mut created = expected;
    created["also_in"] = json!([]);
    assert_eq!(made.body, created);
    assert_eq!(api.get("/sources/999").await.problem(404), "not_found");
}

async fn kinds_of_other_programs_are_understood(db: Database) {
    let api = Api::new(db).await;
    let url = "https://a.example/";
    for (given, kind, url) in [
        ("rss", "feed", format!("{url}1")),
        ("atom", "feed", format!("{url}2")),
        ("twitter", "x", "@ada".into()),
    ] {
        let made = api.post("/sources", json!({ "url": url, "kind": given })).await;
        assert_eq!(made.is(201)["kind"], kind);
    }
    let auto = api.post("/sources", json!({ "url": url, "poll_interval_minutes": "auto" })).await;
    assert_eq!(auto.is(201)["poll_interval_minutes"], "auto");
}

async fn the_same_url_is_refused_with_the_id_that_has_it(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/feed").await;
    let again = api.post("/sources", json!({ "url": "https://A.example/feed?utm_source=x#top" })).await;
    assert_eq!(again.problem(409), "duplicate");
    assert_eq!(again.body["id"], id);
    let other = api.post("/collections", json!({ "name": "other" })).await.is(201)["id"].clone();
    let there = json!({ "url": "https://a.example/feed", "collection_id": other });
    let there = api.post("/sources", there).await.is(201)["id"].as_i64().unwrap();
    let moved = api.patch(&format!("/sources/{there}"), json!({ "collection_id": 1 })).await;
    assert_eq!((moved.problem(409), &moved.body["id"]), ("duplicate", &json!(id)));
}

async fn every_wrong_field_is_named_at_once(db: Database) {
    let api = Api::new(db).await;
    let all = json!({
        "url": "ftp://a.example",
        "kind": "podcast",
        "name": "x".repeat(2000),
        "collection_id": 77,
        "poll_interval_minutes": 0,
        "poll_delay_seconds": -1,
        "article_selector": "a[",
        "ignore_selector": ">>",
        "full_content": "yes",
        "backfill": 1,
        "ignore_robots": null,
        "policy": "strict",
        "duplicates": "none",
        "enabled": "no",
        "credential": { "basic": { "user": "ada" } },
        "colour": "red",
    });
    let fields: Vec<String> = all.as_object().unwrap().keys().cloned().collect();
    let refused = api.post("/sources", all).await;
    assert_eq!(refused.problem(422), "invalid");
    assert_eq!(wrong(&refused.body), fields, "{}", refused.text);
    for (body, field) in [
        (json!({}), "url"),
        (json!({ "url": "http://10.0.0.1/feed" }), "url"),
        (json!({ "url": "https://me:secret@a.example/" }), "url"),
        (json!({ "url": "https://a.example/", "kind": "x" }), "url"),
        (
            json!({ "url": "https://a.example/", "poll_interval_minutes": 10_000_000 }),
            "poll_interval_minutes",
        ),
        (json!({ "url": "https://a.example/", "poll_interval_minutes": 1.5 }), "poll_interval_minutes"),
        (
            json!({ "url": "https://a.example/", "credential": { "header": { "name": "Host", "value": "x" } } }),
            "credential",
        ),
    ] {
        let refused = api.post("/sources", body.clone()).await;
        assert_eq!((refused.problem(422), wrong(&refused.body)), ("invalid", vec![field]), "{body}");
    }
    assert_eq!(api.post("/sources", json!([1])).await.status, 422);
    assert!(ids(api.get("/sources").await.is(200)).is_empty(), "nothing was made");
    let id = add(&api, "https://a.example/").await;
    let refused = api.patch(&format!("/sources/{id}"), json!({ "url": "x", "policy": "y", "z": 1 })).await;
    assert_eq!(wrong(&refused.body), ["policy", "url", "z"]);
}

async fn a_source_can_be_made_disabled(db: Database) {
    let api = Api::new(db).await;
    let made = api.post("/sources", json!({ "url": "https://a.example/", "enabled": false })).await;
    assert_eq!((&made.is(201)["status"], &made.body["next_poll_at"]), (&json!("disabled"), &Value::Null));
    let id = made.body["id"].as_i64().unwrap();
    let poll = api.post(&format!("/sources/{id}/poll"), json!({})).await;
    assert_eq!(poll.problem(409), "source_disabled");
}

async fn lists_are_filtered(db: Database) {
    let api = Api::new(db).await;
    let other = api.post("/collections", json!({ "name": "other" })).await.is(201)["id"].as_i64().unwrap();
    let a = add(&api, "https://a.example/feed").await;
    let b = add(&api, "https://b.example/feed").await;
    let page = json!({ "url": "https://b.example/page", "kind": "website", "name": "Grüne Wiese" });
    let c = api.post("/sources", page).await.is(201)["id"].as_i64().unwrap();
    let there = json!({ "url": "https://b.example/there", "collection_id": other, "enabled": false });
    let d = api.post("/sources", there).await.is(201)["id"].as_i64().unwrap();
    fail(&api, b, 1).await;
    let list = async |query: &str| ids(api.get(&format!("/sources?{query}")).await.is(200));
    assert_eq!(list("").await, [a, b, c, d]);
    assert_eq!(list("status=failing").await, [b]);
    assert_eq!(list("status=disabled").await, [d]);
    assert_eq!(list("kind=website").await, [c]);
    assert_eq!(list("kind=rss").await, [a, b, d]);
    assert_eq!(list("host=b.example").await, [b, c, d]);
    assert_eq!(list(&format!("collection_id={other}")).await, [d]);
    assert_eq!(list("q=wiese").await, [c]);
    assert_eq!(list("q=%25").await, [0_i64; 0]);
    assert_eq!(list("feed_active=true").await, [a, b, c]);
    assert_eq!(list("feed_active=false").await, [a, b, c, d]);
    assert_eq!(list("host=b.example&kind=feed&feed_active=true").await, [b]);
}

async fn pages_stay_true_while_sources_are_added(db: Database) {
    let api = Api::new(db).await;
    let mut all = Vec::new();
    for n in 0..5 {
        all.push(add(&api, &format!("https://a.example/{n}")).await);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("/sources?limit=2{cursor}")).await;
        seen.extend(ids(page.is(200)));
        if seen.len() < 5 {
            all.push(add(&api, &format!("https://a.example/more{}", seen.len())).await);
        }
        let Some(next) = page.body["next_cursor"].as_i64() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, all, "each once, and what came meanwhile at the end");
}

async fn wrong_parameters_are_named(db: Database) {
    let api = Api::new(db).await;
    let query =
        "status=ill&kind=podcast&collection_id=x&feed_active=1&limit=many&cursor=x&colour=red&host=a&host=b";
    let answer = api.get(&format!("/sources?{query}")).await;
    assert_eq!(answer.problem(400), "bad_query");
    let fields = ["collection_id", "colour", "cursor", "feed_active", "host", "kind", "limit", "status"];
    assert_eq!(wrong(&answer.body), fields);
    api.get("/sources?q=%00&host=%ff").await.is(200);
}

async fn a_deleted_source_is_gone(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/").await;
    api.delete(&format!("/sources/{id}")).await.is(204);
    assert_eq!(api.delete(&format!("/sources/{id}")).await.problem(404), "not_found");
    for path in ["", "/explain", "/polls"] {
        assert_eq!(api.get(&format!("/sources/{id}{path}")).await.problem(404), "not_found", "{path}");
    }
}
