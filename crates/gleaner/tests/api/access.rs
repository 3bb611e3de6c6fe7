//! Logging in, tokens, users and collections.

use gleaner::config::secret::Secret;
use gleaner::service::{Scope, TokenKind};
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::json;

use super::client::Api;
use super::on_both;
use crate::support::Database;

on_both!(
    a_password_lets_in_and_a_wrong_one_does_not,
    guessing_passwords_is_slowed_down,
    a_link_lets_in_once,
    starts_print_a_link_until_somebody_has_logged_in,
    starts_print_no_link_where_there_is_a_password,
    tokens_are_listed_and_revoked_by_name,
    a_token_grants_no_more_than_its_maker_has,
    only_admins_manage_users,
    collections_are_made_renamed_and_deleted,
);

/// A login without any token.
async fn log_in(api: &Api, body: serde_json::Value) -> super::client::Answer {
    api.ask(Method::POST, "/api/v1/login", Some(body), &[]).await
}

async fn a_password_lets_in_and_a_wrong_one_does_not(db: Database) {
    let api = Api::new(db).await;
    api.put("/users/admin/password", json!({ "password": "correct horse" })).await.is(204);
    let wrong = log_in(&api, json!({ "name": "admin", "password": "wrong horse" })).await;
    assert_eq!(wrong.problem(401), "unauthenticated");
    let nobody = log_in(&api, json!({ "name": "nobody", "password": "wrong horse" })).await;
    assert_eq!(nobody.body, wrong.body, "nobody learns which names there are");
    let answer = log_in(&api, json!({ "name": "admin", "password": "correct horse" })).await;
    let bearer = format!("Bearer {}", answer.is(200)["token"].as_str().unwrap());
    let me = api.ask(Method::GET, "/api/v1/me", None, &[("authorization", &bearer)]).await;
    assert_eq!(me.is(200)["name"], "admin");
    api.ask(Method::POST, "/api/v1/logout", None, &[("authorization", &bearer)]).await.is(204);
    let out = api.ask(Method::GET, "/api/v1/me", None, &[("authorization", &bearer)]).await;
    assert_eq!(out.problem(401), "unauthenticated");
    let short = api.put("/users/admin/password", json!({ "password": "short" })).await;
    assert_eq!(short.problem(422), "invalid");
    assert_eq!(short.body["errors"][0]["field"], "password");
}

async fn guessing_passwords_is_slowed_down(db: Database) {
    let api = Api::new(db).await;
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    for _ in 0..5 {
        log_in(&api, json!({ "name": "admin", "password": "wrong horse" })).await.problem(401);
    }
    let right = json!({ "name": "admin", "password": "correct horse" });
    let locked = log_in(&api, right.clone()).await;
    assert_eq!((locked.problem(429), locked.header("retry-after")), ("too_many_requests", Some("60")));
    api.clock.advance(Span::from_mins(1));
    log_in(&api, right).await.is(200);
}

async fn a_link_lets_in_once(db: Database) {
    let api = Api::new(db).await;
    let code = api.service.login_code("admin").await.unwrap().secret;
    let answer = log_in(&api, json!({ "code": code.expose() })).await;
    assert!(answer.is(200)["token"].is_string());
    let again = log_in(&api, json!({ "code": code.expose() })).await;
    assert!(again.body["detail"].as_str().unwrap().contains("gleaner user link"));
    again.problem(401);
    let late = api.post("/users/admin/login-code", json!({})).await;
    let late = late.is(201)["code"].clone();
    api.clock.advance(Span::from_hours(24));
    log_in(&api, json!({ "code": late })).await.problem(401);
}

async fn starts_print_a_link_until_somebody_has_logged_in(db: Database) {
    let mut api = Api::new(db).await;
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(api.service.first_login_code().await.unwrap().expect("nobody has logged in yet"));
        api.stop().await;
        api.start_again().await;
    }
    // Whoever copied the first one gets in, whatever was started since.
    log_in(&api, json!({ "code": codes[0].expose() })).await.is(200);
    for code in &codes {
        log_in(&api, json!({ "code": code.expose() })).await.problem(401);
    }
    assert_eq!(api.service.first_login_code().await.unwrap(), None, "although nobody has a password");
    api.stop().await;
    api.start_again().await;
    assert_eq!(api.service.first_login_code().await.unwrap(), None);
    let code = api.service.login_code("admin").await.unwrap();
    log_in(&api, json!({ "code": code.secret.expose() })).await.is(200);
}

async fn starts_print_no_link_where_there_is_a_password(db: Database) {
    let api = Api::new(db).await;
    for _ in 0..30 {
        assert!(api.service.first_login_code().await.unwrap().is_some());
    }
    let links = api.db.store.tokens(1, TokenKind::Link).await.unwrap();
    assert_eq!(links.len(), 10, "many starts leave few links");
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    assert_eq!(api.service.first_login_code().await.unwrap(), None);
}

async fn tokens_are_listed_and_revoked_by_name(db: Database) {
    let api = Api::new(db).await;
    let made = api.post("/tokens", json!({ "name": "podcast", "scopes": "read", "days": 7 })).await;
    let bearer = format!("Bearer {}", made.is(201)["token"].as_str().unwrap());
    let twice = api.post("/tokens", json!({ "name": "podcast" })).await;
    assert_eq!(twice.problem(409), "duplicate");
    api.ask(Method::GET, "/api/v1/me", None, &[("authorization", &bearer)]).await.is(200);
    let list = api.get("/tokens").await;
    let podcast =
        list.is(200)["items"].as_array().unwrap().iter().find(|one| one["name"] == "podcast").unwrap();
    assert_eq!(podcast["scopes"], "read");
    assert!(podcast["last_used_at"].is_string());
    assert!(!list.text.contains(made.body["token"].as_str().unwrap()), "it is shown once");
    api.delete("/tokens/podcast").await.is(204);
    api.ask(Method::GET, "/api/v1/me", None, &[("authorization", &bearer)]).await.problem(401);
    assert_eq!(api.delete("/tokens/podcast").await.problem(404), "not_found");
    for wrong in
        [json!({ "name": "" }), json!({ "name": "a", "scopes": "all" }), json!({ "name": "a", "days": 0 })]
    {
        assert_eq!(api.post("/tokens", wrong.clone()).await.problem(422), "invalid", "{wrong}");
    }
}

async fn a_token_grants_no_more_than_its_maker_has(db: Database) {
    let api = Api::new(db).await;
    let read_only = api.token("read", &[Scope::Read]).await;
    let bearer = format!("Bearer {read_only}");
    let body = Some(json!({ "name": "more", "scopes": "read write" }));
    let answer = api.ask(Method::POST, "/api/v1/tokens", body, &[("authorization", &bearer)]).await;
    assert_eq!(answer.problem(403), "forbidden");
}

async fn only_admins_manage_users(db: Database) {
    let api = Api::new(db).await;
    api.post("/users", json!({ "name": "ada" })).await.is(201);
    assert_eq!(api.post("/users", json!({ "name": "ada" })).await.problem(409), "duplicate");
    let code = api.post("/users/ada/login-code", json!({})).await.is(201)["code"].clone();
    let token = log_in(&api, json!({ "code": code })).await.is(200)["token"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {token}");
    let as_ada = async |method: Method, path: &str, body| {
        api.ask(method, &format!("/api/v1{path}"), body, &[("authorization", &bearer)]).await
    };
    let password = Some(json!({ "password": "correct horse" }));
    as_ada(Method::PUT, "/users/ada/password", password.clone()).await.is(204);
    assert_eq!(as_ada(Method::PUT, "/users/admin/password", password).await.problem(403), "forbidden");
    assert_eq!(as_ada(Method::POST, "/users", Some(json!({ "name": "bo" }))).await.problem(403), "forbidden");
    assert_eq!(as_ada(Method::DELETE, "/users/admin", None).await.problem(403), "forbidden");
    as_ada(Method::POST, "/collections", Some(json!({ "name": "hers" }))).await.is(201);
    assert_eq!(api.delete("/users/ada").await.problem(409), "in_use");
    assert_eq!(api.delete("/users/admin").await.problem(409), "last_admin");
}

async fn collections_are_made_renamed_and_deleted(db: Database) {
    let api = Api::new(db).await;
    let made = api.post("/collections", json!({ "name": " news " })).await;
    let id = made.is(201)["id"].as_i64().unwrap();
    assert_eq!(made.body["name"], "news");
    assert_eq!(api.post("/collections", json!({ "name": "news" })).await.problem(409), "duplicate");
    let edited = api.patch(&format!("/collections/{id}"), json!({ "name": "old news" })).await;
    assert_eq!(edited.is(200)["name"], "old news");
    let wrong = api.patch(&format!("/collections/{id}"), json!({ "name": "", "owner": "nobody" })).await;
    wrong.problem(422);
    assert_eq!(
        wrong.body["errors"].as_array().unwrap().len(),
        2,
        "every wrong field is named: {}",
        wrong.text
    );
    let unknown = api.patch(&format!("/collections/{id}"), json!({ "nmae": "x" })).await;
    assert!(unknown.body["detail"].as_str().unwrap().contains("nmae"));
    api.delete(&format!("/collections/{id}")).await.is(204);
    assert_eq!(api.get(&format!("/collections/{id}")).await.problem(404), "not_found");
    assert_eq!(api.get("/collections/x").await.problem(404), "not_found");
}
