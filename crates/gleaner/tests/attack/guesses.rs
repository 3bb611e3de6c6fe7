//! Guessing passwords: many at once, by strangers, from one address and from many.

use std::time::Duration;

use futures_util::future::join_all;
use gleaner::config::secret::Secret;
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};

use crate::api::client::{Answer, Api};
use crate::api::on_both;
use crate::support::Database;

on_both!(
    guesses_at_once_are_counted_before_they_are_looked_at,
    many_strangers_wait_in_a_short_queue,
    strangers_lock_nobody_out_who_was_here_before,
);

/// A login, from an address that a trusted proxy names.
async fn log_in(api: &Api, from: &str, body: Value) -> Answer {
    api.ask(Method::POST, "/api/v1/login", Some(body), &[("x-forwarded-for", from)]).await
}

async fn with_password(db: Database) -> Api {
    let api = Api::with(db, &["api.trusted_proxies=[\"127.0.0.1\"]"]).await;
    api.by().set_password("admin", None, &Secret::new("correct horse")).await.unwrap();
    api
}

async fn guesses_at_once_are_counted_before_they_are_looked_at(db: Database) {
    let api = with_password(db).await;
    let guess = |n: usize| json!({ "name": "admin", "password": format!("guess {n}") });
    let answers = join_all((0..100).map(|n| log_in(&api, "192.0.2.1", guess(n)))).await;
    let with = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((with(401), with(429)), (5, 95), "five guesses for a name from an address");
    // Another name from the same address: twenty in all.
    let other = |n: usize| json!({ "name": format!("user {n}"), "password": "guess" });
    let answers = join_all((0..15).map(|n| log_in(&api, "192.0.2.1", other(n)))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 401).count(), 15);
    log_in(&api, "192.0.2.1", other(99)).await.problem(429);
    // Whoever is elsewhere is not held up, and right guesses do not count.
    for _ in 0..10 {
        let right = json!({ "name": "admin", "password": "correct horse" });
        log_in(&api, "192.0.2.2", right).await.is(200);
    }
    api.clock.advance(Span::from_mins(1));
    log_in(&api, "192.0.2.1", json!({ "name": "admin", "password": "correct horse" })).await.is(200);
}

async fn many_strangers_wait_in_a_short_queue(db: Database) {
    let api = with_password(db).await;
    let from = |n: usize| format!("192.0.2.{n}");
    let answers = join_all((1..=100).map(async |n| {
        log_in(&api, &from(n), json!({ "name": format!("user {n}"), "password": "guess" })).await
    }))
    .await;
    let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status != 401).collect();
    assert!(refused.len() >= 50, "most are sent away: {}", refused.len());
    for answer in refused {
        assert_eq!((answer.problem(503), answer.header("retry-after")), ("busy", Some("2")));
    }
    // Being sent away is no guess.
    let again = log_in(&api, &from(100), json!({ "name": "user 100", "password": "guess" })).await;
    again.problem(401);
}

async fn strangers_lock_nobody_out_who_was_here_before(db: Database) {
    let api = with_password(db).await;
    let right = json!({ "name": "admin", "password": "correct horse" });
    let device = log_in(&api, "192.0.2.1", right.clone()).await.is(200)["device"].clone();
    // From many addresses, one after another, until the name is locked for strangers.
    let wrong = json!({ "name": "admin", "password": "wrong horse" });
    let mut tried = 0;
    while log_in(&api, &format!("198.51.100.{tried}"), wrong.clone()).await.status == 401 {
        tried += 1;
    }
    assert_eq!(tried, 50);
    log_in(&api, "203.0.113.9", right.clone()).await.problem(429);
    // The same person on a known device, from anywhere; and by a link.
    let known =
        |device: &Value, password: &str| json!({ "name": "admin", "password": password, "device": device });
    log_in(&api, "203.0.113.9", known(&device, "correct horse")).await.is(200);
    let code = api.post("/users/admin/login-code", json!({})).await.is(201)["code"].clone();
    log_in(&api, "203.0.113.9", json!({ "code": code })).await.is(200);
    // A device is no way around the limit, and is bound to its name.
    let text = device.as_str().unwrap();
    let (rest, last) = text.split_at(text.len() - 1);
    let forged = json!(format!("{rest}{}", if last == "0" { "1" } else { "0" }));
    log_in(&api, "203.0.113.9", known(&forged, "correct horse")).await.problem(429);
    let other = json!({ "name": "ada", "password": "guess", "device": device });
    log_in(&api, "203.0.113.10", other).await.problem(401);
    for _ in 0..10 {
        log_in(&api, "203.0.113.9", known(&device, "wrong horse")).await.problem(401);
    }
    log_in(&api, "203.0.113.9", known(&device, "correct horse")).await.problem(429);
    api.clock.advance(Span::from_days(366));
    for _ in 0..5 {
        log_in(&api, "203.0.113.9", wrong.clone()).await.problem(401);
    }
    let late = log_in(&api, "203.0.113.9", known(&device, "correct horse")).await;
    assert_eq!(late.problem(429), "too_many_requests", "a device is known for a year");
}

#[tokio::test]
async fn a_browser_is_known_after_a_login() {
    let api = with_password(crate::support::sqlite().await).await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    #[expect(clippy::disallowed_methods, reason = "a browser, not a client of the world")]
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(30))
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let send = async |password: &str, cookie: &str| {
        let request = client.post(format!("{}/login", api.base)).header("cookie", cookie);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.body(format!("name=admin&password={password}")).send().await.unwrap()
    };
    let first = send("correct+horse", "").await;
    assert_eq!(first.status(), 303);
    let mut cookies = first.headers().get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let device = cookies.find(|cookie| cookie.starts_with("gleaner_device=")).unwrap().to_owned();
    assert!(device.contains("HttpOnly") && device.contains("Max-Age=31536000"), "{device}");
    for _ in 0..5 {
        assert_eq!(send("wrong+horse", "").await.status(), 401);
    }
    let locked = send("correct+horse", "").await;
    assert_eq!((locked.status().as_u16(), locked.headers()["retry-after"].to_str().unwrap()), (429, "60"));
    let cookie = device.split(';').next().unwrap();
    assert_eq!(send("correct+horse", cookie).await.status(), 303);
}
