//! Every door is closed: the API's own document is walked, and each route tried with every kind of bad token.

use gleaner::service::Scope;
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::Api;
use super::on_both;
use crate::support::Database;

on_both!(every_route_refuses_who_is_not_let_in, what_is_not_there_is_not_told_to_strangers);

/// Routes that need no token.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/api/v1/login"];

/// Every route of the document: method and path, with something in the place of parameters.
pub(super) fn routes(document: &Value) -> Vec<(Method, String)> {
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let filled = path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
        let filled = filled.collect::<Vec<_>>().join("/");
        for method in item.as_object().unwrap().keys() {
            let Ok(method) = method.to_uppercase().parse::<Method>() else { continue };
            if ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
                routes.push((method, filled.clone()));
            }
        }
    }
    routes
}

async fn every_route_refuses_who_is_not_let_in(db: Database) {
    let api = Api::new(db).await;
    let document = api.get("/openapi.json").await;
    let routes = routes(document.is(200));
    assert!(routes.len() > 15, "{routes:?}");
    let revoked = api.token("revoked", &[Scope::Read, Scope::Write]).await;
    assert!(api.by().revoke_token(gleaner::service::TokenKind::Api, "revoked").await.unwrap());
    let read_only = api.token("read", &[Scope::Read]).await;
    let claims = api.token.split('.').nth(1).unwrap();
    let none = format!("eyJhbGciOiJub25lIn0.{claims}.");
    let tampered = format!("{}x", api.token);
    for (method, path) in routes.iter().filter(|(_, path)| !OPEN.contains(&path.as_str())) {
        let what = format!("{method} {path}");
        let body = (*method != Method::GET && *method != Method::DELETE).then(|| json!({}));
        let ask = async |token: &str| {
            let bearer = format!("Bearer {token}");
            let headers: &[(&str, &str)] = if token.is_empty() { &[] } else { &[("authorization", &bearer)] };
            api.ask(method.clone(), path, body.clone(), headers).await
        };
        for token in ["", "nonsense", &none, &tampered, &revoked] {
            assert_eq!(ask(token).await.problem(401), "unauthenticated", "{what} with '{token}'");
        }
        // Whoever may only read may leave.
        if *method == Method::GET || path == "/api/v1/logout" {
            continue;
        }
        let answer = ask(&read_only).await;
        // Whether the body or the right to send it is looked at first, nothing is done.
        let refused = [400, 403, 404, 415, 422].contains(&answer.status);
        assert!(refused, "{what} with a token that may only read: {}", answer.status);
    }
    // The same tokens, when their time is over.
    api.clock.advance(Span::from_days(31));
    for (method, path) in routes.iter().filter(|(_, path)| !OPEN.contains(&path.as_str())) {
        let bearer = format!("Bearer {}", api.token);
        let answer = api.ask(method.clone(), path, None, &[("authorization", &bearer)]).await;
        assert_eq!(answer.problem(401), "unauthenticated", "{method} {path}");
    }
}

async fn what_is_not_there_is_not_told_to_strangers(db: Database) {
    let api = Api::new(db).await;
    for path in ["/api/v1/nothing", "/api/v2/sources", "/metrics", "/../etc/passwd"] {
        let answer = api.ask(Method::GET, path, None, &[]).await;
        assert!([401, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
    for path in ["/", "/sources", "/settings", "/api", "/live", "/sources/1/edit"] {
        let answer = api.ask(Method::GET, path, None, &[]).await;
        assert_eq!(answer.status, 303, "{path} leads to the page to log in");
        assert!(answer.header("location").unwrap().starts_with("/login"), "{path}");
    }
    assert_eq!(api.get("/nothing").await.problem(404), "no_such_route");
}

#[test]
fn the_committed_document_is_the_one_in_use() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let mut document = gleaner::web::openapi().to_pretty_json().unwrap();
    document.push('\n');
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, &document).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == document, "docs/openapi.json is stale: `make openapi` writes it anew");
}
