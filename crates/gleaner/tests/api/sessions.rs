//! What ends with a password, a token or a user; and what a session has to prove first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner::clock::RandomSource;
use gleaner::config::secret::Secret;
use gleaner::service::{CollectionChange, Scope, Service, TokenKind};
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Api};
use super::on_both;
use super::sources::add;
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    a_changed_password_ends_what_the_former_one_let_in,
    wrong_current_passwords_are_limited_and_written_down,
    an_admin_sets_a_password_and_ends_the_users_sessions,
    an_ended_session_leaves_no_token_behind,
    streams_end_with_their_token,
    streams_end_whoever_ended_their_access,
    streams_end_when_what_they_show_becomes_less,
    a_wait_ends_with_its_token,
    one_user_has_so_many_streams,
    an_old_session_confirms_before_it_does_harm,
);

const WRITE: &[Scope] = &[Scope::Read, Scope::Write];
/// How long the end of a stream may take on a busy machine. It is said to be a second.
const SOON: Duration = Duration::from_secs(5);

async fn log_in(api: &Api, body: Value) -> Answer {
    api.ask(Method::POST, "/api/v1/login", Some(body), &[]).await
}

/// A session of somebody with this password, and the device that it made known.
async fn session(api: &Api, name: &str, password: &str) -> (String, String) {
    let answer = log_in(api, json!({ "name": name, "password": password })).await;
    let text = |field: &str| answer.is(200)[field].as_str().unwrap().to_owned();
    (text("token"), text("device"))
}

async fn token_by(api: &Api, token: &str, name: &str) -> String {
    let body = json!({ "name": name, "scopes": "read write" });
    let made = api.ask_as(token, Method::POST, "/tokens", Some(body)).await;
    made.is(201)["token"].as_str().unwrap().to_owned()
}

async fn status(api: &Api, token: &str) -> u16 {
    api.ask_as(token, Method::GET, "/me", None).await.status
}

async fn a_changed_password_ends_what_the_former_one_let_in(db: Database) {
    let api = Api::new(db).await;
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    let (stays, _) = session(&api, "admin", "correct horse").await;
    let (ends, old_device) = session(&api, "admin", "correct horse").await;
    let kept = token_by(&api, &stays, "kept").await;
    let ended = token_by(&api, &ends, "ended").await;
    let child = token_by(&api, &ended, "made by the ended one").await;
    // One that has logged out since.
    let (out, _) = session(&api, "admin", "correct horse").await;
    let orphan = token_by(&api, &out, "of a session that is over").await;
    api.ask_as(&out, Method::POST, "/logout", None).await.is(204);
    let feed = json!({ "name": "feed" });
    api.ask_as(&ends, Method::POST, "/feed-tokens", Some(feed)).await.is(201);
    let link = api.post("/users/admin/login-code", json!({})).await.is(201)["code"].clone();
    api.clock.advance(Span::from_secs(5));

    let put = async |body: Value| api.ask_as(&stays, Method::PUT, "/users/admin/password", Some(body)).await;
    let without = put(json!({ "password": "another horse" })).await;
    assert_eq!(
        (without.problem(422), &without.body["errors"][0]["field"]),
        ("invalid", &json!("current_password"))
    );
    let wrong = put(json!({ "password": "another horse", "current_password": "wrong horse" })).await;
    wrong.problem(422);
    assert_eq!(wrong.body["errors"][0]["message"], "this is not your current password");
    assert_eq!(status(&api, &ends).await, 200, "nothing has ended yet");
    put(json!({ "password": "another horse", "current_password": "correct horse" })).await.is(204);

    for (token, name, expected) in [
        (&stays, "the session that changed it", 200),
        (&kept, "a token that this session made", 200),
        (&api.token, "a token of the command line", 200),
        (&ends, "another session", 401),
        (&ended, "a token that another session made", 401),
        (&child, "a token that such a token made", 401),
        (&orphan, "a token of a session that was over", 401),
    ] {
        assert_eq!(status(&api, token).await, expected, "{name}");
    }
    assert!(api.by().tokens(TokenKind::Feed).await.unwrap().is_empty());
    log_in(&api, json!({ "code": link })).await.problem(401);
    log_in(&api, json!({ "name": "admin", "password": "correct horse" })).await.problem(401);

    // A device that was known by the former password is a stranger's.
    let (_, device) = session(&api, "admin", "another horse").await;
    let right = |device: &str| json!({ "name": "admin", "password": "another horse", "device": device });
    for _ in 0..5 {
        log_in(&api, json!({ "name": "admin", "password": "wrong horse" })).await.problem(401);
    }
    log_in(&api, right(&old_device)).await.problem(429);
    log_in(&api, right(&device)).await.is(200);
}

async fn wrong_current_passwords_are_limited_and_written_down(db: Database) {
    let api = Api::new(db).await;
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    let (token, _) = session(&api, "admin", "correct horse").await;
    let put = async |current: &str| {
        let body = json!({ "password": "another horse", "current_password": current });
        api.ask_as(&token, Method::PUT, "/users/admin/password", Some(body)).await
    };
    for _ in 0..5 {
        put("wrong horse").await.problem(422);
    }
    let limited = put("correct horse").await;
    assert_eq!((limited.problem(429), limited.header("retry-after")), ("too_many_requests", Some("60")));
    session(&api, "admin", "correct horse").await;
    let rows = api.get("/audit?action=login.failed").await;
    let row = &rows.is(200)["items"][0];
    assert_eq!((&row["count"], &row["target_name"]), (&json!(5), &json!("admin")));
    assert_eq!(row["via"], "password of a session");
    api.clock.advance(Span::from_mins(1));
    put("correct horse").await.is(204);
}

async fn an_admin_sets_a_password_and_ends_the_users_sessions(db: Database) {
    let api = Api::new(db).await;
    api.post("/users", json!({ "name": "ada" })).await.is(201);
    api.put("/users/ada/password", json!({ "password": "correct horse" })).await.is(204);
    let (ada, _) = session(&api, "ada", "correct horse").await;
    let token = token_by(&api, &ada, "hers").await;
    api.put("/users/ada/password", json!({ "password": "another horse" })).await.is(204);
    assert_eq!((status(&api, &ada).await, status(&api, &token).await), (401, 401));
    session(&api, "ada", "another horse").await;
}

/// Another process remembers for a second who was let in; what was made in that second ends, too.
async fn an_ended_session_leaves_no_token_behind(db: Database) {
    let api = Api::new(db).await;
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    let (session, _) = session(&api, "admin", "correct horse").await;
    assert_eq!(status(&api, &session).await, 200, "it is remembered from here on");
    another(&api).by(&api.actor).set_password("admin", None, &Secret::new("another horse")).await.unwrap();
    for scopes in ["read", "read write"] {
        let body = json!({ "name": "late", "scopes": scopes });
        api.ask_as(&session, Method::POST, "/tokens", Some(body)).await.problem(401);
    }
    let late = api.ask_as(&session, Method::POST, "/users/admin/login-code", Some(json!({}))).await;
    late.problem(401);
    let names = api.by().tokens(TokenKind::Api).await.unwrap();
    assert!(names.iter().all(|token| token.token.name != "late"));
}

/// A stream of somebody with this token.
async fn stream(api: &Api, token: &str) -> reqwest::Response {
    let response = api.open_as(token, "/events/stream").await;
    assert_eq!(response.status(), 200);
    response
}

/// Reads until the end, and fails where that does not come soon.
async fn ends_soon(mut stream: reqwest::Response, why: &str) {
    let begun = Instant::now();
    let read = async { while let Ok(Some(_)) = stream.chunk().await {} };
    assert!(tokio::time::timeout(SOON, read).await.is_ok(), "{why}: it is still open after {SOON:?}");
    assert!(begun.elapsed() < SOON);
}

/// Another process over the same database, which shares nothing else.
fn another(api: &Api) -> Service {
    let (store, clock) = (Arc::clone(&api.db.store), Arc::clone(&api.clock));
    Service::new(store, api.service.config().clone(), clock, RandomSource::seeded(3))
}

async fn streams_end_with_their_token(db: Database) {
    let api = Api::new(db).await;
    let token = api.token("mine", WRITE).await;
    let open = stream(&api, &token).await;
    let other = stream(&api, &api.token).await;
    api.delete("/tokens/mine").await.is(204);
    ends_soon(open, "revoked over the API").await;
    let still = tokio::time::timeout(Duration::from_millis(1500), async {
        let mut other = other;
        while let Ok(Some(_)) = other.chunk().await {}
    });
    assert!(still.await.is_err(), "nobody else's stream ends");
    // One that has its end in itself.
    let lasts = Span::from_days(1);
    let granted = api.by().create_token("short", WRITE, lasts).await.unwrap();
    let open = stream(&api, granted.secret.expose()).await;
    api.clock.advance(lasts);
    ends_soon(open, "over").await;
}

async fn streams_end_whoever_ended_their_access(db: Database) {
    let api = Api::new(db).await;
    let other = another(&api);
    let by = other.by(&api.actor);
    let token = api.token("mine", WRITE).await;
    let open = stream(&api, &token).await;
    by.revoke_token(TokenKind::Api, "mine").await.unwrap();
    ends_soon(open, "revoked by another process").await;

    let token = api.token_of("ada", "hers", WRITE, None).await;
    let open = stream(&api, &token).await;
    by.delete_user("ada").await.unwrap();
    ends_soon(open, "the user is deleted").await;

    by.set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    let (token, _) = session(&api, "admin", "correct horse").await;
    let open = stream(&api, &token).await;
    by.set_password("admin", None, &Secret::new("another horse")).await.unwrap();
    ends_soon(open, "the password is another").await;

    let (token, _) = session(&api, "admin", "another horse").await;
    let live = |token: &str| {
        let request = super::client::http_client().get(format!("{}/live", api.base));
        request.header("cookie", format!("gleaner_session={token}")).send()
    };
    let open = live(&token).await.unwrap();
    assert_eq!(open.status(), 200);
    let actor = other.actor(&token).await.unwrap();
    other.by(&actor).log_out().await.unwrap();
    ends_soon(open, "a page of the dashboard whose session has ended").await;
}

async fn streams_end_when_what_they_show_becomes_less(db: Database) {
    let api = Api::new(db).await;
    let other = another(&api);
    let by = other.by(&api.actor);
    let collection = by.create_collection("news").await.unwrap();
    let token = api.token_of("ada", "hers", WRITE, None).await;
    let open = stream(&api, &token).await;
    let hide = CollectionChange { private: Some(true), ..CollectionChange::default() };
    by.edit_collection(collection.id, &hide).await.unwrap();
    ends_soon(open, "a collection is private").await;

    by.set_admin("ada", true).await.unwrap();
    let open = stream(&api, &token).await;
    by.set_admin("ada", false).await.unwrap();
    ends_soon(open, "no admin any more").await;
}

async fn a_wait_ends_with_its_token(db: Database) {
    let (api, server) = (Api::new(db).await, Server::start().await);
    server.on("/feed", Reply::raw("").stall());
    let id = add(&api, server.url("/feed").as_str()).await;
    let token = api.token("mine", WRITE).await;
    let path = format!("/sources/{id}/poll?wait=true");
    let revoke = async {
        server.until_asked("/feed", 1).await;
        another(&api).by(&api.actor).revoke_token(TokenKind::Api, "mine").await.unwrap();
    };
    let waiting = async {
        let (answer, ()) = tokio::join!(api.ask_as(&token, Method::POST, &path, None), revoke);
        answer
    };
    let answer = tokio::time::timeout(SOON * 2, waiting).await.expect("nobody waits for the poll");
    assert_eq!(answer.problem(401), "unauthenticated");
}

async fn one_user_has_so_many_streams(db: Database) {
    let api = Api::with(db, &["api.max_streams_per_user=2"]).await;
    let (second, ada) = (api.token("second", WRITE).await, api.token_of("ada", "hers", WRITE, None).await);
    let first = stream(&api, &api.token).await;
    let _second = stream(&api, &second).await;
    let beyond = api.send(Method::GET, "/events/stream", None, &[]).await;
    assert_eq!((beyond.problem(429), beyond.header("retry-after")), ("too_many_streams", Some("30")));
    assert!(beyond.body["detail"].as_str().unwrap().contains("api.max_streams_per_user"), "{}", beyond.text);
    let _hers = stream(&api, &ada).await;
    drop(first);
    let again = async {
        while api.status_of("/api/v1/events/stream", Some(&api.token)).await != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, again).await.expect("a place is free again");
}

/// Every action that needs a proof, as a request that is carried out once it is there.
async fn sensitive(api: &Api) -> Vec<(Method, String, Option<Value>)> {
    let collection = api.by().create_collection("old").await.unwrap().id;
    let hers = api.token_of("ada", "hers", WRITE, None).await;
    let hook = json!({ "name": "hook", "url": "https://b.example/hook" });
    let hook = api.ask_as(&hers, Method::POST, "/webhooks", Some(hook)).await.is(201)["id"].clone();
    let source = add(api, "https://a.example/feed").await;
    let bulk = json!({ "ids": [source], "action": "delete" });
    vec![
        (Method::POST, "/users".into(), Some(json!({ "name": "bo", "is_admin": true }))),
        (Method::PUT, "/users/ada/password".into(), Some(json!({ "password": "correct horse" }))),
        (Method::POST, "/users/admin/login-code".into(), Some(json!({}))),
        (Method::POST, "/tokens".into(), Some(json!({ "name": "all of it", "scopes": "read write" }))),
        (Method::PATCH, format!("/webhooks/{hook}"), Some(json!({ "enabled": false }))),
        (Method::DELETE, format!("/webhooks/{hook}"), None),
        (Method::DELETE, format!("/collections/{collection}"), None),
        (Method::POST, "/sources/bulk".into(), Some(bulk)),
        (Method::DELETE, "/users/ada".into(), None),
    ]
}

async fn an_old_session_confirms_before_it_does_harm(db: Database) {
    let api = Api::new(db).await;
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    let requests = sensitive(&api).await;
    let (old, _) = session(&api, "admin", "correct horse").await;
    api.clock.advance(Span::from_mins(15));
    for (method, path, body) in &requests {
        let refused = api.ask_as(&old, method.clone(), path, body.clone()).await;
        assert_eq!(refused.problem(403), "step_up_required", "{method} {path}");
        assert!(refused.body["detail"].as_str().unwrap().contains("POST /api/v1/login"), "{}", refused.text);
    }
    // What harms nobody is done as ever.
    api.ask_as(&old, Method::POST, "/collections", Some(json!({ "name": "new" }))).await.is(201);
    api.ask_as(&old, Method::POST, "/tokens", Some(json!({ "name": "reads" }))).await.is(201);
    let (fresh, _) = session(&api, "admin", "correct horse").await;
    for (method, path, body) in &requests {
        let done = api.ask_as(&fresh, method.clone(), path, body.clone()).await;
        assert!(done.status < 300, "{method} {path}: {}", done.text);
    }
    // A token of a program has nobody to ask.
    api.clock.advance(Span::from_hours(1));
    api.post("/users", json!({ "name": "eve" })).await.is(201);
    // A proof that is recorded makes an old session as good as a new one.
    let id = api.by().tokens(TokenKind::Session).await.unwrap().into_iter().map(|token| token.id).max();
    api.service.record_proof(id.unwrap()).await.unwrap();
    api.ask_as(&fresh, Method::DELETE, "/users/eve", None).await.is(204);
}
