//! Sign-in by a reverse proxy's header: what the proxy says counts, what anybody else says does not.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use gleaner::clock::Clock as _;
use gleaner::service::{AuditFilter, TokenKind};
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::browser::Browser;
use crate::api::client::Api;
use crate::api::on_both;
use crate::support::Database;

on_both!(
    the_proxy_signs_in_and_nobody_else_does,
    unknown_users_are_created_only_where_that_is_set,
    a_session_ends_when_the_proxy_names_another_or_nobody,
    a_user_has_one_session_however_many_requests_come,
    other_sites_cannot_use_the_sign_in,
    a_reverse_proxy_in_front_cannot_be_talked_over,
);

/// Where the proxy's requests come from.
const PROXY: &str = "127.0.0.7";
const SETTINGS: [&str; 2] = ["api.proxy_auth_header=Remote-User", "api.trusted_proxies=[\"127.0.0.7\"]"];

async fn api(db: Database, more: &[&str]) -> Api {
    let api = Api::with(db, &[&SETTINGS, more].concat()).await;
    api.db.store.create_user("ada", false, api.clock.now()).await.unwrap();
    api
}

fn proxy(user: &str) -> Browser {
    Browser::at(PROXY).with("remote-user", user)
}

fn me(page: &super::browser::Page) -> Value {
    serde_json::from_str(&page.text).unwrap()
}

async fn sessions(api: &Api, user: &str) -> usize {
    let user = api.db.store.user_named(user).await.unwrap();
    api.db.store.tokens(user.id, TokenKind::Session).await.unwrap().len()
}

async fn audited(api: &Api, action: &str) -> Vec<(String, String, i64)> {
    let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
    let rows = api.by().audit_log(&filter, None, 100).await.unwrap();
    rows.into_iter().map(|row| (row.entry.user_name, row.entry.via, row.count)).collect()
}

async fn the_proxy_signs_in_and_nobody_else_does(db: Database) {
    let api = api(db, &[]).await;
    let (page, question) = (format!("{}/settings", api.base), format!("{}/api/v1/me", api.base));
    let mut ada = proxy("ada");
    ada.get(&page).await.is(200).has("<span class=\"me\">ada</span>");
    let answer = proxy("ada").get(&question).await.is(200);
    assert_eq!((&me(&answer)["name"], &me(&answer)["is_admin"]), (&json!("ada"), &json!(false)));
    assert_eq!(me(&answer)["scopes"], json!(["read", "write"]));
    assert_eq!(me(&proxy("admin").get(&question).await.is(200))["is_admin"], true, "an admin stays one");
    // From anywhere else the header says nothing, whatever else is said.
    for (name, value) in [("x-forwarded-for", PROXY), ("forwarded", "for=127.0.0.7"), ("x-real-ip", PROXY)] {
        let mut stranger = Browser::at("127.0.0.8").with("remote-user", "admin").with(name, value);
        assert!(stranger.get(&page).await.is(303).to().unwrap().path().starts_with("/login"));
        stranger.get(&question).await.is(401);
    }
    // A session of the proxy's is of no use without it.
    let stolen = ada.cookie("gleaner_session").unwrap().clone();
    let cookie = format!("gleaner_session={stolen}");
    Browser::at("127.0.0.8").with("cookie", &cookie).get(&page).await.is(303);
    let login = format!("{}/login", api.base);
    Browser::at("127.0.0.8").with("cookie", &cookie).get(&login).await.is(200).has("Password");
    let bearer = format!("Bearer {stolen}");
    Browser::at("127.0.0.8").with("authorization", &bearer).get(&question).await.is(401);
    Browser::at(PROXY).with("authorization", &bearer).get(&question).await.is(401);
    ada.get(&page).await.is(200);
    // What the proxy says is believed only where it says one thing.
    for value in ["ada, admin", "a\u{202e}da", &"x".repeat(101), "\u{200b}"] {
        proxy(value).get(&question).await.is(401);
        proxy(value).get(&page).await.is(401);
    }
    proxy("admin").with("remote-user", "ada").get(&question).await.is(401);
    proxy("admin").with("remote-user", "ada").get(&page).await.is(401);
    proxy("").get(&question).await.is(401);
    // A token is asked for itself.
    let bearer = format!("Bearer {}", api.token);
    let answer = proxy("ada").with("authorization", &bearer).get(&question).await.is(200);
    assert_eq!(me(&answer)["name"], "admin");
    proxy("ada").with("authorization", "Bearer nonsense").get(&question).await.is(401);
    let signed_in = audited(&api, "login").await;
    assert!(signed_in.contains(&("ada".to_owned(), "reverse proxy".to_owned(), 1)), "{signed_in:?}");
}

async fn unknown_users_are_created_only_where_that_is_set(db: Database) {
    let mut api = api(db, &[]).await;
    let question = format!("{}/api/v1/me", api.base);
    proxy("grace").get(&question).await.is(403).has("has no such user");
    proxy("grace").get(&format!("{}/sources", api.base)).await.is(403).has("has no such user");
    assert_eq!(audited(&api, "login.failed").await, [(String::new(), "reverse proxy".to_owned(), 2)]);
    assert!(api.db.store.user_named("grace").await.is_err());
    api.stop().await;
    assert!(api.by().revoke_token(TokenKind::Api, "all").await.unwrap());
    let creating = [&SETTINGS[..], &["api.proxy_auth_create=true"]].concat();
    let creating = Api::with(api.db.share(), &creating).await;
    let question = format!("{}/api/v1/me", creating.base);
    let mut browsers = [proxy("grace"), proxy("grace"), proxy("grace"), proxy("grace")];
    let pages =
        futures_util::future::join_all(browsers.iter_mut().map(|browser| browser.get(&question))).await;
    for page in pages {
        let me = me(&page.is(200));
        assert_eq!((&me["name"], &me["is_admin"]), (&json!("grace"), &json!(false)));
    }
    assert_eq!(creating.by().users().await.unwrap().iter().filter(|user| user.name == "grace").count(), 1);
    assert_eq!(sessions(&creating, "grace").await, 1);
}

async fn a_session_ends_when_the_proxy_names_another_or_nobody(db: Database) {
    let api = api(db, &[]).await;
    let page = format!("{}/settings", api.base);
    let mut browser = proxy("ada");
    browser.get(&page).await.is(200).has("<span class=\"me\">ada</span>");
    browser.headers[0].1 = "admin".to_owned();
    browser.get(&page).await.is(200).has("<span class=\"me\">admin</span>");
    assert_eq!((sessions(&api, "ada").await, sessions(&api, "admin").await), (0, 1));
    browser.headers.clear();
    assert!(browser.get(&page).await.is(303).to().unwrap().path().starts_with("/login"));
    assert_eq!(sessions(&api, "admin").await, 0);
    // A session that a person began by other means is theirs, whoever the proxy names.
    let code = api.service.login_code("admin").await.unwrap();
    let mut browser = proxy("ada");
    browser.post(&format!("{}/login", api.base), &[("code", code.secret.expose())]).await.is(303);
    browser.get(&page).await.is(200).has("<span class=\"me\">admin</span>");
    browser.headers.clear();
    browser.get(&page).await.is(200).has("<span class=\"me\">admin</span>");
}

async fn a_user_has_one_session_however_many_requests_come(db: Database) {
    let api = api(db, &[]).await;
    let page = format!("{}/settings", api.base);
    let mut browsers: Vec<Browser> = (0..8).map(|_| proxy("ada")).collect();
    let pages = futures_util::future::join_all(browsers.iter_mut().map(|browser| browser.get(&page))).await;
    let pages: Vec<_> = pages.into_iter().map(|page| page.is(200)).collect();
    assert!(pages.iter().all(|page| page.cookies() == pages[0].cookies()), "one cookie for all");
    assert_eq!(sessions(&api, "ada").await, 1);
    // So that a form of any of these pages is good.
    let form = [("form_token", pages[0].form_token()), ("name", "mine".to_owned())];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    browsers[7].post(&format!("{}/settings/collections", api.base), &form).await.is(303);
    let again = browsers[7].get(&page).await.is(200).cookies();
    assert!(!again.iter().any(|cookie| cookie.starts_with("gleaner_session")), "it is set once: {again:?}");
    // When its time is over, the header makes another.
    api.clock.advance(Span::from_days(2));
    let renewed = browsers[7].get(&page).await.is(200);
    assert_ne!(renewed.cookies(), pages[0].cookies());
    assert_eq!(sessions(&api, "ada").await, 1);
}

async fn other_sites_cannot_use_the_sign_in(db: Database) {
    let api = api(db, &[]).await;
    let (base, body) = (&api.base, Some(json!({ "name": "foreign" }).to_string()));
    let collections = format!("{base}/api/v1/collections");
    let json = ("content-type", "application/json");
    let origin = ("origin", "https://evil.example");
    let foreign: [&[(&str, &str)]; 6] = [
        &[("sec-fetch-site", "cross-site"), json],
        &[("sec-fetch-site", "same-site"), json],
        &[origin, json],
        &[origin, ("content-type", "text/plain")],
        &[("content-type", "text/plain")],
        &[("content-type", "multipart/form-data; boundary=x")],
    ];
    for headers in foreign {
        let answer = proxy("ada").send(Method::POST, &collections, body.clone(), headers).await.is(403);
        assert!(answer.text.contains("another site"), "{}", answer.text);
    }
    proxy("ada").with("sec-fetch-site", "cross-site").get(&collections).await.is(403);
    let part = proxy("ada").with("sec-fetch-site", "cross-site").with("sec-fetch-mode", "no-cors");
    let mut part = part;
    part.get(&format!("{base}/sources")).await.is(303);
    let link = proxy("ada").with("sec-fetch-site", "cross-site").with("sec-fetch-mode", "navigate");
    let mut link = link;
    link.get(&format!("{base}/sources")).await.is(200);
    // A form of another site has no token of ours.
    proxy("ada").post(&format!("{base}/settings/collections"), &[("name", "foreign")]).await.is(403);
    assert!(api.by().collections().await.unwrap().iter().all(|one| one.name != "foreign"));
    let own: [&[(&str, &str)]; 2] = [&[json], &[("sec-fetch-site", "same-origin"), json]];
    for (n, headers) in own.into_iter().enumerate() {
        let body = json!({ "name": format!("own {n}") }).to_string();
        proxy("ada").send(Method::POST, &collections, Some(body), headers).await.is(201);
    }
}

/// A reverse proxy as administrators set them up: it asks for a name, and clears what clients send in its place.
async fn reverse_proxy(upstream: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a proxy of the dashboard, not of the world")]
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let client = client.local_address(Some(PROXY.parse().unwrap())).build().unwrap();
    let router = Router::new().fallback(forward).with_state((client, upstream));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn forward(State((client, upstream)): State<(reqwest::Client, String)>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let user = parts.headers.remove("x-name");
    parts.headers.remove("remote-user");
    parts.headers.remove("host");
    match user {
        Some(user) => parts.headers.insert("remote-user", user),
        None if parts.uri.path() == "/healthz" => None,
        None => return StatusCode::UNAUTHORIZED.into_response(),
    };
    parts.headers.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.77"));
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let request = client.request(parts.method, format!("{upstream}{}", parts.uri)).headers(parts.headers);
    let answer = request.body(body).send().await.unwrap();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    response.headers_mut().remove("transfer-encoding");
    *response.body_mut() = Body::from(answer.bytes().await.unwrap());
    response
}

async fn a_reverse_proxy_in_front_cannot_be_talked_over(db: Database) {
    let api = api(db, &[]).await;
    let front = format!("http://{}", reverse_proxy(api.base.clone()).await);
    Browser::new().with("remote-user", "admin").get(&format!("{front}/settings")).await.is(401);
    let mut ada =
        Browser::new().with("x-name", "ada").with("remote-user", "admin").with("Remote_User", "admin");
    let page = ada.get(&format!("{front}/settings")).await.is(200).has("<span class=\"me\">ada</span>");
    let form = [("form_token", page.form_token()), ("name", "by ada".to_owned())];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    ada.post(&format!("{front}/settings/collections"), &form).await.is(303);
    assert!(api.by().collections().await.unwrap().iter().any(|one| one.name == "by ada"));
    let answer = ada.get(&format!("{front}/api/v1/me")).await.is(200);
    assert_eq!(me(&answer)["name"], "ada");
    let rows = api.by().audit_log(&AuditFilter::default(), None, 100).await.unwrap();
    let login = rows.iter().find(|row| row.entry.action == "login").unwrap();
    assert_eq!(login.entry.address.as_deref(), Some("192.0.2.77"), "the client's address, not the proxy's");
}
