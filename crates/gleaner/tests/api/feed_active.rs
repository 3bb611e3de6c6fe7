//! Which sources are to be read from: those that are enabled and not cooling down; and setting them aside by hand.

use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::Api;
use super::on_both;
use super::sources::{add, ids, source};
use crate::support::Database;

on_both!(
    manually_quarantined_sources_are_excluded_from_feed_active,
    disabled_sources_are_excluded_from_feed_active,
    feed_disable_and_feed_enable_endpoints,
    feed_disable_requires_a_token,
    a_disabled_source_is_not_lifted,
    a_reason_is_needed,
);

async fn active(api: &Api) -> Vec<i64> {
    ids(api.get("/sources?feed_active=true").await.is(200))
}

async fn set_aside(api: &Api, id: i64, reason: &str) -> Value {
    let path = format!("/sources/{id}/feed-disable");
    api.patch(&path, json!({ "reason": reason })).await.is(200).clone()
}

async fn manually_quarantined_sources_are_excluded_from_feed_active(db: Database) {
    let api = Api::with(db, &["source.policy=cooldown"]).await;
    let (a, b) = (add(&api, "https://a.example/").await, add(&api, "https://b.example/").await);
    set_aside(&api, a, "not_found").await;
    assert_eq!(active(&api).await, [b]);
    api.clock.advance(Span::from_millis(48 * 3_600_000 - 1));
    assert_eq!(active(&api).await, [b]);
    api.clock.advance(Span::from_millis(1));
    assert_eq!(active(&api).await, [a, b], "the cooldown is over");
    set_aside(&api, b, "it repeats itself").await;
    api.clock.advance(Span::from_days(20));
    assert_eq!(active(&api).await, [a], "until a person comes");
}

async fn disabled_sources_are_excluded_from_feed_active(db: Database) {
    let api = Api::new(db).await;
    let (a, b) = (add(&api, "https://a.example/").await, add(&api, "https://b.example/").await);
    api.patch(&format!("/sources/{a}"), json!({ "enabled": false })).await.is(200);
    assert_eq!(active(&api).await, [b]);
    api.patch(&format!("/sources/{a}"), json!({ "enabled": true })).await.is(200);
    assert_eq!(active(&api).await, [a, b]);
}

async fn feed_disable_and_feed_enable_endpoints(db: Database) {
    let api = Api::with(db, &["source.policy=cooldown"]).await;
    let id = add(&api, "https://a.example/").await;
    let aside = set_aside(&api, id, "forbidden").await;
    assert_eq!(aside["status"], "quarantined");
    assert_eq!(aside["quarantined_at"], "2026-11-15T00:00:00Z");
    assert_eq!(aside["quarantine_reason"], "forbidden");
    assert_eq!(aside["retry_at"], "2026-11-16T00:00:00Z");
    let lifted = api.patch(&format!("/sources/{id}/feed-enable"), json!({})).await;
    assert_eq!(lifted.is(200)["status"], "pending");
    for field in ["quarantined_at", "quarantine_reason", "retry_at"] {
        assert_eq!(lifted.body[field], Value::Null, "{field}");
    }
    let words = set_aside(&api, id, "  it repeats itself ").await;
    assert_eq!(
        (&words["quarantine_reason"], &words["retry_at"]),
        (&json!("it repeats itself"), &Value::Null)
    );
    assert_eq!(words["next_poll_at"], Value::Null);
    assert_eq!(api.patch("/sources/999/feed-enable", json!({})).await.problem(404), "not_found");
}

async fn feed_disable_requires_a_token(db: Database) {
    let api = Api::with(db, &["source.policy=cooldown"]).await;
    let id = add(&api, "https://a.example/").await;
    let ask = async |what: &str, headers: &[(&str, &str)]| {
        let path = format!("/api/v1/sources/{id}/{what}");
        api.ask(Method::PATCH, &path, Some(json!({ "reason": "forbidden" })), headers).await
    };
    let bad = format!("Bearer {}x", api.token);
    for headers in [&[][..], &[("authorization", bad.as_str())]] {
        assert_eq!(ask("feed-disable", headers).await.problem(401), "unauthenticated");
    }
    assert_eq!(source(&api, id).await["status"], "pending", "nothing was changed");
    set_aside(&api, id, "forbidden").await;
    for headers in [&[][..], &[("authorization", bad.as_str())]] {
        assert_eq!(ask("feed-enable", headers).await.problem(401), "unauthenticated");
    }
    assert_eq!(source(&api, id).await["status"], "quarantined", "nothing was changed");
}

async fn a_disabled_source_is_not_lifted(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/").await;
    api.patch(&format!("/sources/{id}"), json!({ "enabled": false })).await.is(200);
    let refused = api.patch(&format!("/sources/{id}/feed-enable"), json!({})).await;
    assert_eq!(refused.problem(409), "source_disabled");
    assert!(refused.body["detail"].as_str().unwrap().contains("{\"enabled\": true}"));
}

async fn a_reason_is_needed(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api, "https://a.example/").await;
    for body in
        [json!({}), json!({ "reason": " " }), json!({ "reason": "x".repeat(501) }), json!({ "reason": 1 })]
    {
        let refused = api.patch(&format!("/sources/{id}/feed-disable"), body.clone()).await;
        assert_eq!(refused.problem(422), "invalid", "{body}");
    }
    assert_eq!(source(&api, id).await["status"], "pending");
}
