//! Sources: made, listed, changed, deleted.

use gleaner_core::time::Span;
use reqwest::Method;
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
    an_edit_changes_what_is_sent_and_null_is_the_usual,
    of_two_editors_the_second_is_told,
    another_url_is_a_clean_sheet,
    enabling_clears_every_failure,
    another_policy_derives_status_anew,
    a_credential_goes_in_and_never_out,
    an_edit_that_changes_nothing_is_none,
    many_are_changed_at_once,
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
fn wrong(body: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> =
        body["errors"].as_array().unwrap().iter().map(|error| error["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    fields
}

/// Writes failures into a source's state, as so many polls would have.
pub(super) async fn fail(api: &Api, id: i64, times: u32) {
    use gleaner::store::SourceEdit;
    use gleaner_core::health::{Failing, Health, PermanentRun};
    use gleaner_core::outcome::ErrorKind;
    let now = gleaner::clock::Clock::now(&*api.clock);
    let since = now - Span::from_days(2);
    let read = api.db.store.source(id).await.unwrap();
    let row = Failing {
        count: times,
        since,
        kind: ErrorKind::NotFound,
        status: Some(404),
        message: "404 Not Found".into(),
        kind_run: times,
        kind_since: since,
        permanent: Some(PermanentRun { count: times, since, kinds: Default::default() }),
    };
    let health = Health { failing: Some(row), last_polled_at: Some(now), ..Health::new() };
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
        "status": "healthy",
        "poll_interval_minutes": 90,
        "poll_delay_seconds": 3,
        "article_selector": "article h2 a",
        "ignore_selector": ".ads",
        "full_content": true,
        "backfill": true,
        "policy": "cooldown",
        "consecutive_failures": 0,
        "last_failure_type": null,
        "last_error_type": null,
        "last_error": null,
        "last_status_code": null,
        "failing_since": null,
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
    });
    assert_eq!(made.body, expected);
    assert_eq!(source(&api, id).await, expected);
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

async fn an_edit_changes_what_is_sent_and_null_is_the_usual(db: Database) {
    let api = Api::new(db).await;
    let said = json!({ "url": "https://a.example/", "name": "A", "policy": "backoff", "poll_interval_minutes": 7,
        "poll_delay_seconds": 2, "ignore_selector": ".ads" });
    let id = api.post("/sources", said).await.is(201)["id"].as_i64().unwrap();
    api.clock.advance(Span::from_mins(1));
    let path = format!("/sources/{id}");
    let edited = api.patch(&path, json!({ "name": "B" })).await;
    assert_eq!((edited.header("etag"), &edited.is(200)["name"]), (Some("\"2\""), &json!("B")));
    assert_eq!(edited.body["policy"], "backoff");
    assert_eq!(edited.body["updated_at"], "2026-11-15T00:01:00Z");
    let nulls = json!({ "name": null, "policy": null, "poll_interval_minutes": null, "poll_delay_seconds": null,
        "ignore_selector": null });
    let edited = api.patch(&path, nulls.clone()).await;
    for field in nulls.as_object().unwrap().keys() {
        assert_eq!(edited.is(200)[field], Value::Null, "{field}");
    }
    assert_eq!(api.patch("/sources/999", json!({})).await.problem(404), "not_found");
}

async fn of_two_editors_the_second_is_told(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/").await;
    let path = format!("/sources/{id}");
    let tag = api.get(&path).await.header("etag").unwrap().to_owned();
    let edit = async |tag: &str, name: &str| {
        api.send(Method::PATCH, &path, Some(json!({ "name": name })), &[("if-match", tag)]).await
    };
    let first = edit(&tag, "first").await;
    first.is(200);
    assert_eq!(edit(&tag, "second").await.problem(412), "changed");
    assert_eq!(source(&api, id).await["name"], "first");
    for none in ["W/\"2\"", "2", "\"x\"", ""] {
        assert_eq!(edit(none, "none").await.problem(412), "changed", "{none}");
    }
    let first = first.header("etag").unwrap();
    edit(&format!("\"77\", {first}"), "second").await.is(200);
    edit("*", "third").await.is(200);
    assert_eq!(source(&api, id).await["name"], "third");
}

async fn another_url_is_a_clean_sheet(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/").await;
    fail(&api, id, 4).await;
    let moved = api.patch(&format!("/sources/{id}"), json!({ "url": "https://b.example/" })).await;
    let now = "2026-11-15T00:00:00Z";
    assert_eq!((&moved.is(200)["status"], &moved.body["next_poll_at"]), (&json!("healthy"), &json!(now)));
    assert_eq!((&moved.body["consecutive_failures"], &moved.body["host"]), (&json!(0), &json!("b.example")));
    // What a person disabled stays so under another URL, and no failure of the old one is left.
    fail(&api, id, 4).await;
    api.patch(&format!("/sources/{id}"), json!({ "enabled": false })).await.is(200);
    let moved = api.patch(&format!("/sources/{id}"), json!({ "url": "https://c.example/" })).await;
    assert_eq!((&moved.is(200)["enabled"], &moved.body["last_error"]), (&json!(false), &Value::Null));
}

async fn enabling_clears_every_failure(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/").await;
    let path = format!("/sources/{id}");
    fail(&api, id, 5).await;
    let off = api.patch(&path, json!({ "enabled": false })).await;
    assert_eq!((&off.is(200)["status"], &off.body["next_poll_at"]), (&json!("disabled"), &Value::Null));
    assert_eq!(off.body["consecutive_failures"], 5, "why it was disabled can still be seen");
    let on = api.patch(&path, json!({ "enabled": true })).await;
    assert_eq!((&on.is(200)["status"], &on.body["consecutive_failures"]), (&json!("healthy"), &json!(0)));
    for field in ["last_failure_type", "last_error_type", "last_error", "last_status_code", "failing_since"] {
        assert_eq!(on.body[field], Value::Null, "{field}");
    }
    assert_eq!(on.body["next_poll_at"], "2026-11-15T00:00:00Z");
}

async fn another_policy_derives_status_anew(db: Database) {
    let api = Api::with(db, &["source.policy=backoff"]).await;
    let id = add(&api, "https://a.example/").await;
    fail(&api, id, 9).await;
    let path = format!("/sources/{id}");
    assert_eq!(source(&api, id).await["status"], "failing");
    let cooling = api.patch(&path, json!({ "policy": "cooldown" })).await;
    assert_eq!(cooling.is(200)["status"], "quarantined");
    assert_eq!(cooling.body["quarantine_reason"], "not_found");
    assert_eq!(cooling.body["retry_at"], "2026-11-17T00:00:00Z");
    let back = api.patch(&path, json!({ "policy": null })).await;
    assert_eq!(back.is(200)["status"], "failing", "a policy that would disable does not by itself");
    assert_eq!(back.body["retry_at"], Value::Null);
}

async fn a_credential_goes_in_and_never_out(db: Database) {
    let api = Api::new(db).await;
    let secret = "correct-horse-battery";
    let basic = json!({ "basic": { "user": "ada", "password": secret } });
    let made = api.post("/sources", json!({ "url": "https://a.example/", "credential": basic })).await;
    let id = made.is(201)["id"].as_i64().unwrap();
    assert!(made.body.get("credential").is_none());
    let stored = api.db.store.source(id).await.unwrap().settings.secret.expect("it is kept");
    assert!(!String::from_utf8_lossy(&stored).contains(secret), "and encrypted");
    let header = json!({ "header": { "name": "X-Key", "value": secret } });
    let edited = api.patch(&format!("/sources/{id}"), json!({ "credential": header })).await;
    edited.is(200);
    let list = api.get("/sources").await;
    assert!(![&made.text, &edited.text, &list.text].iter().any(|text| text.contains(secret)));
    let wrong = json!({ "credential": { "basic": { "user": "a:b", "password": secret } } });
    let wrong = api.patch(&format!("/sources/{id}"), wrong).await;
    assert!(wrong.status == 422 && !wrong.text.contains(secret), "{}", wrong.text);
    api.patch(&format!("/sources/{id}"), json!({ "credential": null })).await.is(200);
    assert_eq!(api.db.store.source(id).await.unwrap().settings.secret, None);
}

async fn an_edit_that_changes_nothing_is_none(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/").await;
    let path = format!("/sources/{id}");
    for same in [json!({}), json!({ "url": "https://a.example/", "enabled": true, "name": null })] {
        assert_eq!(api.patch(&path, same).await.is(200)["version"], 1, "a poll under way is not disturbed");
    }
}

async fn many_are_changed_at_once(db: Database) {
    let api = Api::new(db).await;
    let (a, b) = (add(&api, "https://a.example/").await, add(&api, "https://b.example/").await);
    let off = api.post("/sources/bulk", json!({ "ids": [a, 999, b], "action": "disable" })).await;
    let ok: Vec<bool> =
        off.is(200)["items"].as_array().unwrap().iter().map(|one| one["ok"].as_bool().unwrap()).collect();
    assert_eq!(ok, [true, false, true]);
    assert_eq!(off.body["items"][1]["problem"]["code"], "not_found");
    assert_eq!(source(&api, b).await["status"], "disabled");
    let poll = api.post("/sources/bulk", json!({ "ids": [a], "action": "poll" })).await;
    assert_eq!(poll.is(200)["items"][0]["problem"]["code"], "source_disabled");
    let on = json!({ "filter": { "status": "disabled" }, "action": "enable" });
    assert_eq!(ids(api.post("/sources/bulk", on).await.is(200)), [a, b]);
    assert_eq!(source(&api, a).await["status"], "healthy");
    let other = api.post("/collections", json!({ "name": "other" })).await.is(201)["id"].clone();
    let twin = json!({ "url": "https://b.example/", "collection_id": other });
    api.post("/sources", twin).await.is(201);
    let moved = json!({ "ids": [a, b], "action": "move", "collection_id": other });
    let moved = api.post("/sources/bulk", moved).await;
    assert_eq!(moved.is(200)["items"][1]["problem"]["code"], "duplicate");
    assert_eq!(source(&api, a).await["collection_id"], other);
    let gone = json!({ "filter": { "collection_id": other }, "action": "delete" });
    assert_eq!(ids(api.post("/sources/bulk", gone).await.is(200)).len(), 2);
    assert_eq!(ids(api.get("/sources").await.is(200)), [b]);
    for (body, field) in [
        (json!({ "ids": [a], "action": "move" }), "collection_id"),
        (json!({ "ids": [a], "action": "move", "collection_id": 77 }), "collection_id"),
        (json!({ "action": "poll" }), "ids"),
        (json!({ "ids": [a], "filter": {}, "action": "poll" }), "ids"),
        (json!({ "ids": vec![a; 1001], "action": "poll" }), "ids"),
    ] {
        let refused = api.post("/sources/bulk", body).await;
        assert_eq!((refused.problem(422), wrong(&refused.body)), ("invalid", vec![field]));
    }
    assert_eq!(api.post("/sources/bulk", json!({ "ids": [a], "action": "boil" })).await.status, 422);
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
