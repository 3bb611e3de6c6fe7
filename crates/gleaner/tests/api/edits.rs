//! Sources are changed: one by one, by two at once, and many together.

use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::Api;
use super::on_both;
use super::sources::{add, fail, ids, source, wrong};
use crate::support::Database;

on_both!(
    an_edit_changes_what_is_sent_and_null_is_the_usual,
    of_two_editors_the_second_is_told,
    another_url_is_a_clean_sheet,
    enabling_clears_every_failure,
    another_policy_derives_status_anew,
    a_credential_goes_in_and_never_out,
    an_edit_that_changes_nothing_is_none,
    many_are_changed_at_once,
    fields_are_set_of_many_at_once,
);

async fn an_edit_changes_what_is_sent_and_null_is_the_usual(db: Database) {
    let api = Api::new(db).await;
    let said = json!({ "url": "https://a.example/", "name": "A", "policy": "backoff", "poll_interval_minutes": 7,
        "poll_delay_seconds": 2, "ignore_selector": ".ads", "duplicates": "content" });
    let id = api.post("/sources", said).await.is(201)["id"].as_i64().unwrap();
    api.clock.advance(Span::from_mins(1));
    let path = format!("/sources/{id}");
    let edited = api.patch(&path, json!({ "name": "B" })).await;
    assert_eq!((edited.header("etag"), &edited.is(200)["name"]), (Some("\"2\""), &json!("B")));
    assert_eq!((&edited.body["policy"], &edited.body["duplicates"]), (&json!("backoff"), &json!("content")));
    assert_eq!(edited.body["updated_at"], "2026-11-15T00:01:00Z");
    let nulls = json!({ "name": null, "policy": null, "poll_interval_minutes": null, "poll_delay_seconds": null,
        "ignore_selector": null, "duplicates": null });
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
    assert_eq!((&moved.is(200)["status"], &moved.body["next_poll_at"]), (&json!("pending"), &json!(now)));
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
    assert_eq!((&on.is(200)["status"], &on.body["consecutive_failures"]), (&json!("pending"), &json!(0)));
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

async fn fields_are_set_of_many_at_once(db: Database) {
    let api = Api::new(db).await;
    let (a, b) = (add(&api, "https://a.example/").await, add(&api, "https://b.example/").await);
    let fields = json!({
        "poll_interval_minutes": "auto", "policy": "backoff", "poll_delay_seconds": 5, "duplicates": "content",
        "ignore_robots": true, "full_content": true, "backfill": "recent", "article_selector": "h2 a",
    });
    let edit = json!({ "ids": [a, b, 999], "action": "edit", "fields": fields });
    let done = api.post("/sources/bulk", edit).await;
    assert_eq!(done.is(200)["items"][2]["problem"]["code"], "not_found");
    for id in [a, b] {
        let read = source(&api, id).await;
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(&read[name], value, "{name}");
        }
    }
    let back = json!({ "filter": {}, "action": "edit", "fields": { "poll_interval_minutes": null } });
    assert_eq!(ids(api.post("/sources/bulk", back).await.is(200)), [a, b]);
    assert_eq!(source(&api, b).await["poll_interval_minutes"], json!(null));
    for (fields, field) in [
        (json!({}), "fields"),
        (json!({ "name": "both" }), "name"),
        (json!({ "url": "https://c.example/" }), "url"),
        (json!({ "credential": { "basic": { "user": "u", "password": "p" } } }), "credential"),
        (json!({ "disabled_reason": "x" }), "disabled_reason"),
        (json!({ "poll_interval_minutes": 525_601 }), "poll_interval_minutes"),
        (json!({ "poll_delay_seconds": 86_401 }), "poll_delay_seconds"),
        (json!({ "policy": "none such" }), "policy"),
        (json!({ "collection_id": 77 }), "collection_id"),
    ] {
        let refused =
            api.post("/sources/bulk", json!({ "ids": [a], "action": "edit", "fields": fields })).await;
        assert_eq!((refused.problem(422), wrong(&refused.body)), ("invalid", vec![field]), "{fields}");
    }
    assert_eq!(source(&api, a).await["version"], 3, "what is refused changes nothing");
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
    assert_eq!(source(&api, a).await["status"], "pending");
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
