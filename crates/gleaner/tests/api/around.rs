//! Hosts, policies, keys, and requests that are carried out once.

use gleaner::store::{ClaimRequest, IdempotencyState};
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Api};
use super::on_both;
use super::sources::{add, fail, ids, source};
use crate::support::Database;

on_both!(
    hosts_show_who_is_asked_and_by_whom,
    policies_show_their_tables_and_who_goes_by_them,
    keys_are_set_by_their_owner_and_read_by_none,
    a_new_key_wakes_who_waits_for_it,
    a_request_with_a_key_is_carried_out_once,
    what_failed_may_be_sent_again,
    a_request_that_is_under_way_is_not_begun_again,
    old_answers_are_forgotten,
);

async fn hosts_show_who_is_asked_and_by_whom(db: Database) {
    let api = Api::new(db).await;
    let a = add(&api, "https://a.example/1").await;
    let two = add(&api, "https://a.example/2").await;
    add(&api, "https://b.example/").await;
    fail(&api, two, 1).await;
    let now = api.service.now();
    let request = ClaimRequest::all(now, Span::from_mins(1), "me", 1, 1);
    api.db.store.claim_source(a, &request).await.unwrap().expect("it is free");
    let hosts = api.get("/hosts").await;
    let first = &hosts.is(200)["items"][0];
    let expected = json!({ "id": first["id"], "name": "a.example", "slot": 0, "sources": 2, "failing": 1,
        "hold_until": null, "next_due": "2026-11-15T00:01:00Z", "leased_by": "me",
        "incident": null, "paced_seconds": null });
    assert_eq!(*first, expected);
    let second = &hosts.body["items"][1];
    assert_eq!((&second["name"], &second["leased_by"]), (&json!("b.example"), &Value::Null));
    let page = api.get("/hosts?limit=1").await;
    let rest = api.get(&format!("/hosts?cursor={}", page.is(200)["next_cursor"])).await;
    assert_eq!(rest.is(200)["items"][0]["name"], "b.example");
    assert_eq!(api.get("/hosts?q=B.EX").await.is(200)["items"].as_array().unwrap().len(), 1);
    assert_eq!(api.get("/hosts?q=%25").await.is(200)["items"].as_array().unwrap().len(), 0);
    api.clock.advance(Span::from_mins(2));
    assert_eq!(api.get("/hosts").await.is(200)["items"][0]["leased_by"], Value::Null, "the lease ran out");
    assert_eq!(api.get("/hosts?name=a").await.problem(400), "bad_query");
}

async fn policies_show_their_tables_and_who_goes_by_them(db: Database) {
    let api = Api::with(db, &["source.policy=backoff", "policies.gentle.base=cooldown"]).await;
    add(&api, "https://a.example/").await;
    let own = json!({ "url": "https://b.example/", "policy": "gentle" });
    let own = api.post("/sources", own).await.is(201)["id"].as_i64().unwrap();
    let list = api.get("/policies").await;
    let shown: Vec<(&str, bool, u64)> = list.is(200)["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let name = one["name"].as_str().unwrap();
            (name, one["default"].as_bool().unwrap(), one["sources"].as_u64().unwrap())
        })
        .collect();
    let expected = [
        ("standard", false, 0),
        ("backoff", true, 1),
        ("cooldown", false, 0),
        ("quarantine", false, 0),
        ("gentle", false, 1),
    ];
    assert_eq!(shown, expected);
    let gentle = api.get("/policies/gentle").await;
    assert_eq!(gentle.is(200)["table"]["on"]["gone"]["threshold"], 1, "{}", gentle.text);
    assert_eq!(api.get("/policies/strict").await.problem(404), "not_found");
    // A policy that config no longer has stands for the default.
    api.db.behind_its_back(&format!("UPDATE sources SET policy = 'gone' WHERE id = {own}")).await;
    assert_eq!(api.get("/policies/backoff").await.is(200)["sources"], 2);
}

async fn keys_are_set_by_their_owner_and_read_by_none(db: Database) {
    let api = Api::new(db).await;
    assert_eq!(api.get("/keys").await.is(200)["items"], json!([]));
    let secret = "a-very-secret-key";
    let set = api.put("/keys/x", json!({ "key": secret })).await;
    assert_eq!(set.is(200)["woken"], 0);
    let list = api.get("/keys").await;
    assert_eq!(list.is(200)["items"], json!([{ "service": "x", "updated_at": "2026-11-15T00:00:00Z" }]));
    assert!(!list.text.contains(secret) && !set.text.contains(secret));
    assert_eq!(api.get("/keys/x").await.status, 405);
    for body in [json!({ "key": "" }), json!({ "key": "with spaces" }), json!({}), json!({ "key": "ü" })] {
        assert_eq!(api.put("/keys/x", body).await.problem(422), "invalid");
    }
    assert_eq!(api.put("/keys/y", json!({ "key": "k" })).await.problem(422), "invalid");
    api.delete("/keys/x").await.is(204);
    assert_eq!(api.delete("/keys/x").await.problem(404), "not_found");
}

async fn a_new_key_wakes_who_waits_for_it(db: Database) {
    let api = Api::new(db).await;
    let made = api.post("/sources", json!({ "url": "@ada", "kind": "x" })).await;
    let id = made.is(201)["id"].as_i64().unwrap();
    let polled = api.post(&format!("/sources/{id}/poll?wait=true"), json!({})).await;
    assert_eq!(polled.is(200)["error_type"], "unauthorized");
    assert_eq!(api.put("/keys/x", json!({ "key": "k" })).await.is(200)["woken"], 1);
    assert_eq!(source(&api, id).await["next_poll_at"], "2026-11-15T00:00:00Z");
}

async fn send(api: &Api, path: &str, key: &str, body: Value) -> Answer {
    api.send(Method::POST, path, Some(body), &[("idempotency-key", key)]).await
}

async fn a_request_with_a_key_is_carried_out_once(db: Database) {
    let api = Api::new(db).await;
    let body = json!({ "url": "https://a.example/" });
    let first = send(&api, "/sources", "one", body.clone()).await;
    first.is(201);
    let again = send(&api, "/sources", "one", body.clone()).await;
    assert_eq!((again.is(201), again.header("idempotent-replayed")), (&first.body, Some("true")));
    assert_eq!(send(&api, "/sources", "two", body.clone()).await.problem(409), "duplicate");
    assert_eq!(
        send(&api, "/sources", "one", json!({ "url": "https://b.example/" })).await.problem(422),
        "key_reused"
    );
    assert_eq!(send(&api, "/collections", "one", json!({ "name": "c" })).await.problem(422), "key_reused");
    assert_eq!(ids(api.get("/sources").await.is(200)).len(), 1);
    // The key is its user's own.
    api.post("/users", json!({ "name": "ada" })).await.is(201);
    let code = api.post("/users/ada/login-code", json!({})).await.is(201)["code"].clone();
    let login = api.ask(Method::POST, "/api/v1/login", Some(json!({ "code": code })), &[]).await;
    let bearer = format!("Bearer {}", login.is(200)["token"].as_str().unwrap());
    let headers = [("idempotency-key", "one"), ("authorization", bearer.as_str())];
    let hers = api.ask(Method::POST, "/api/v1/collections", Some(json!({ "name": "hers" })), &headers).await;
    hers.is(201);
    for bad in ["", &"x".repeat(201)] {
        assert_eq!(send(&api, "/sources", bad, body.clone()).await.problem(400), "bad_key");
    }
}

async fn what_failed_may_be_sent_again(db: Database) {
    let api = Api::new(db).await;
    assert_eq!(send(&api, "/sources", "key", json!({ "url": "nonsense" })).await.problem(422), "invalid");
    send(&api, "/sources", "key", json!({ "url": "https://a.example/" })).await.is(201);
}

async fn a_request_that_is_under_way_is_not_begun_again(db: Database) {
    let api = Api::new(db).await;
    let body = json!({ "name": "news" });
    let fingerprint = api.by().fingerprint(&[b"/api/v1/collections", body.to_string().as_bytes()]).unwrap();
    let begun = api.by().begin_request("key", &fingerprint).await.unwrap();
    assert_eq!(begun, IdempotencyState::First);
    assert_eq!(send(&api, "/collections", "key", body.clone()).await.problem(409), "under_way");
    api.by().end_request("key", None).await.unwrap();
    send(&api, "/collections", "key", body).await.is(201);
}

async fn old_answers_are_forgotten(db: Database) {
    let api = Api::new(db).await;
    let id =
        send(&api, "/sources", "key", json!({ "url": "https://a.example/" })).await.is(201)["id"].clone();
    api.delete(&format!("/sources/{id}")).await.is(204);
    api.clock.advance(Span::from_hours(25));
    let mut engine = api.service.engine("test").unwrap();
    engine.tick(api.service.now()).await.unwrap();
    send(&api, "/sources", "key", json!({ "url": "https://b.example/" })).await.is(201);
}
