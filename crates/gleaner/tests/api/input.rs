//! What is accepted, what is refused with a hint, and what is said beside a success.

use reqwest::Method;
use serde_json::json;

use super::client::Api;
use super::on_both;
use crate::support::Database;

on_both!(
    names_of_other_systems_are_accepted,
    backfill_is_none_recent_or_all,
    an_import_says_what_comes_of_it,
    a_feed_of_another_collection_is_named,
    event_types_that_do_not_exist_are_refused,
);

async fn names_of_other_systems_are_accepted(db: Database) {
    let api = Api::new(db).await;
    let made = api
        .post("/sources", json!({ "url": "https://a.example/", "type": "rss", "pollIntervalMinutes": 60, "fullContent": true }))
        .await;
    let made = made.is(201);
    assert_eq!((&made["kind"], &made["poll_interval_minutes"]), (&"feed".into(), &60.into()));
    assert_eq!(made["full_content"], true);
    let path = format!("/sources/{}", made["id"]);
    let edited = api.patch(&path, json!({ "type": "website", "articleSelector": "h2 a" })).await;
    assert_eq!(
        (&edited.is(200)["kind"], &edited.body["article_selector"]),
        (&"website".into(), &"h2 a".into())
    );
    let twice = api.patch(&path, json!({ "type": "feed", "kind": "website" })).await;
    assert_eq!(twice.problem(422), "invalid");
    assert!(twice.text.contains("kind is given twice: 'type' is another name of it"), "{}", twice.text);
    for (field, own) in [
        ("lastPolled", "last_polled_at"),
        ("consecutive_errors", "consecutive_failures"),
        ("feed_disabled_at", "quarantined_at"),
    ] {
        let refused = api.patch(&path, json!({ field: null })).await;
        assert_eq!(refused.problem(422), "invalid");
        assert!(refused.text.contains(&format!("a source's {own} cannot be set")), "{}", refused.text);
    }
    let line = json!({
        "url": "https://b.example/", "type": "twitter", "consecutiveFailures": 3, "lastPolled": "2026-01-01T00:00:00Z",
        "pollIntervalMinutes": 15, "feed_disable_reason": "gone",
    });
    let line = line.to_string().replace("https://b.example/", "@somebody");
    let told = api.send_file(Method::POST, "/import", "application/x-ndjson", line.into_bytes()).await;
    assert_eq!((&told.is(200)["added"], &told.body["bad"]), (&1.into(), &0.into()), "{}", told.text);
    let listed = api.get("/sources?kind=x").await;
    assert_eq!(listed.is(200)["items"][0]["poll_interval_minutes"], 15);
}

async fn backfill_is_none_recent_or_all(db: Database) {
    let api = Api::new(db).await;
    let made = api.post("/sources", json!({ "url": "https://a.example/" })).await;
    assert_eq!(made.is(201)["backfill"], false, "off unless it is asked for");
    let path = format!("/sources/{}", made.body["id"]);
    for (given, shown) in [
        (json!("recent"), json!("recent")),
        (json!(true), json!(true)),
        (json!("none"), json!(false)),
        (json!("all"), json!(true)),
        (json!(false), json!(false)),
    ] {
        assert_eq!(api.patch(&path, json!({ "backfill": given })).await.is(200)["backfill"], shown);
    }
    for wrong in [json!("some"), json!(1), json!(null), json!("true")] {
        assert_eq!(api.patch(&path, json!({ "backfill": wrong })).await.problem(422), "invalid");
    }
}

async fn an_import_says_what_comes_of_it(db: Database) {
    let api = Api::new(db).await;
    let import = async |query: &str, host: &str| {
        let lines: String = (0..50).map(|n| format!("{{\"url\": \"https://{host}/{n}\"}}\n")).collect();
        api.send_file(Method::POST, &format!("/import{query}"), "", lines.into_bytes()).await
    };
    let told = import("?backfill=recent", "a.example").await;
    assert_eq!(
        (&told.is(200)["backfill"], &told.body["first_polls_within_seconds"]),
        (&"recent".into(), &300.into())
    );
    let told = import("", "b.example").await;
    assert_eq!(told.is(200)["backfill"], "none", "the plain default of the API");
    assert_eq!(import("?backfill=some", "c.example").await.problem(422), "invalid");
    let listed = api.get("/sources?limit=200").await;
    let sources = listed.is(200)["items"].as_array().unwrap().clone();
    assert_eq!(sources.iter().filter(|source| source["backfill"] == "recent").count(), 50);
    assert_eq!(sources.iter().filter(|source| source["backfill"] == false).count(), 50);
    let mut times: Vec<&str> =
        sources.iter().map(|source| source["next_poll_at"].as_str().unwrap()).collect();
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 90, "spread");
    assert!(times.iter().all(|time| *time <= "2026-11-15T00:05:00Z"), "{times:?}");
}

async fn a_feed_of_another_collection_is_named(db: Database) {
    let api = Api::new(db).await;
    let other = api.post("/collections", json!({ "name": "Other" })).await.is(201)["id"].clone();
    let url = "https://a.example/feed";
    let first = api.post("/sources", json!({ "url": url })).await;
    assert_eq!(first.is(201)["also_in"], json!([]));
    let second = api.post("/sources", json!({ "url": url, "collection_id": other })).await;
    let expected = json!([{ "source_id": first.body["id"], "collection_id": 1, "collection": "default" }]);
    assert_eq!(second.is(201)["also_in"], expected);
    assert_eq!(api.post("/sources", json!({ "url": url })).await.problem(409), "duplicate");
}

async fn event_types_that_do_not_exist_are_refused(db: Database) {
    let api = Api::new(db).await;
    let hook = |events: &str| json!({ "url": "http://127.0.0.1:8080/", "events": [events] });
    let refused = api.post("/webhooks", hook("psot.*")).await;
    assert_eq!(refused.problem(422), "invalid");
    assert!(refused.text.contains("'psot.*' is no type of events; did you mean post.*?"), "{}", refused.text);
    let refused = api.get("/events?type=source.failling").await;
    assert!(refused.text.contains("did you mean source.failing?"), "{}", refused.text);
    api.post("/webhooks", hook("post.*")).await.is(201);
}
