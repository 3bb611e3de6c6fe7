//! Lists of sources, in and out, over the API.

use reqwest::Method;
use serde_json::json;

use super::client::{Answer, Api};
use super::on_both;
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    lists_go_in_and_out,
    a_json_list_keeps_every_field,
    a_source_of_the_api_is_a_line,
    what_is_there_is_skipped,
    lists_are_fetched_behind_the_guard,
    what_is_no_list_is_refused,
);

async fn import(api: &Api, query: &str, kind: &str, list: &str) -> Answer {
    api.send_file(Method::POST, &format!("/import{query}"), kind, list.as_bytes().to_vec()).await
}

const LIST: &str = "<opml><outline text='News'>\n<outline text='A' xmlUrl='https://a.example/'/>\n\
    <outline text='B' xmlUrl='not a url'/></outline></opml>";

async fn lists_go_in_and_out(db: Database) {
    let api = Api::new(db).await;
    let told = import(&api, "?format=opml", "text/x-opml", LIST).await;
    let expected = json!({
        "added": 1, "duplicates": 0, "bad": 1, "collections": 1, "backfill": "none",
        "first_polls_within_seconds": 300,
        "report": [{
            "line": 3, "url": "not a url", "outcome": "bad", "id": null,
            "message": "'not a url' is no URL to poll: it must begin with http:// or https://; it was left out",
        }],
    });
    assert_eq!(told.is(200), &expected);
    let opml = api.get("/export").await;
    assert_eq!(opml.header("content-type"), Some("text/x-opml; charset=utf-8"));
    assert!(opml.text.contains("<outline text=\"News\">"), "{}", opml.text);
    let json = api.get("/export?format=json").await;
    assert_eq!(json.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(
        json.is(200),
        &json!({
            "url": "https://a.example/", "kind": "feed", "name": "A", "collection": "News", "backfill": false,
        })
    );
    let one = import(&api, "?collection_id=1", "application/x-ndjson", &json.text).await;
    assert_eq!(one.is(200)["added"], 1, "another collection is another source");
    let only = api.get("/export?format=json&collection_id=1").await;
    assert_eq!(only.is(200)["collection"], "default");
}

/// Deletes everything, and imports what was exported before.
async fn again(api: &Api) -> (String, String) {
    let before = api.get("/export?format=json").await.text;
    api.post("/sources/bulk", json!({ "filter": {}, "action": "delete" })).await.is(200);
    let told = import(api, "?backfill=recent", "application/x-ndjson", &before).await;
    assert_eq!(told.is(200)["bad"], 0, "{}", told.text);
    (before, api.get("/export?format=json").await.text)
}

async fn a_json_list_keeps_every_field(db: Database) {
    let api = Api::new(db).await;
    api.post("/collections", json!({ "name": "Blogs" })).await.is(201);
    let all = json!({
        "url": "https://a.example/", "kind": "watchlist", "name": "A", "collection_id": 2,
        "poll_interval_minutes": 525_600, "poll_delay_seconds": 86_400, "article_selector": "h2 a",
        "ignore_selector": ".ads", "full_content": true, "backfill": true, "ignore_robots": true,
        "policy": "backoff", "duplicates": "content", "enabled": false,
        "credential": { "basic": { "user": "ada", "password": "hidden-word" } },
    });
    assert_eq!(api.post("/sources", all).await.is(201)["has_credential"], true);
    let plain = api.post("/sources", json!({ "url": "https://b.example/" })).await.is(201)["id"].clone();
    let spam = json!({ "reason": "too much noise" });
    api.patch(&format!("/sources/{plain}/feed-disable"), spam).await.is(200);
    let line = r#"{"url":"https://c.example/","enabled":false,"disabled_reason":"404 five times"}"#;
    assert_eq!(import(&api, "", "", line).await.is(200)["added"], 1);
    let (before, after) = again(&api).await;
    assert_eq!(after, before, "what is written is read again");
    assert!(!before.contains("hidden-word") && !before.contains("ada"), "{before}");
    let sources = api.get("/sources").await.is(200)["items"].clone();
    let of = |url: &str| sources.as_array().unwrap().iter().find(|one| one["url"] == url).unwrap();
    let (full, held, off) = (of("https://a.example/"), of("https://b.example/"), of("https://c.example/"));
    assert_eq!((&full["status"], &full["ignore_robots"]), (&json!("disabled"), &json!(true)));
    assert_eq!((&full["poll_interval_minutes"], &full["has_credential"]), (&json!(525_600), &json!(false)));
    assert_eq!((&held["status"], &held["backfill"]), (&json!("quarantined"), &json!(false)));
    assert_eq!((&held["quarantine_reason"], &held["next_poll_at"]), (&json!("too much noise"), &json!(null)));
    assert_eq!((&off["status"], &off["disabled_reason"]), (&json!("disabled"), &json!("404 five times")));
    let long = format!(r#"{{"url":"https://d.example/","manual_quarantine":"{}"}}"#, "x".repeat(501));
    assert_eq!(import(&api, "", "", &long).await.is(200)["bad"], 1, "a reason has a limit");
}

/// Whatever the API says of a source, a list may say, too.
async fn a_source_of_the_api_is_a_line(db: Database) {
    let api = Api::new(db).await;
    let made = api.post("/sources", json!({ "url": "https://a.example/", "name": "A" })).await;
    let line = made.is(201).to_string();
    let path = format!("/sources/{}", made.body["id"]);
    assert_eq!(api.delete(&path).await.status, 204);
    let told = import(&api, "", "application/x-ndjson", &line).await;
    assert_eq!((&told.is(200)["added"], &told.body["bad"]), (&json!(1), &json!(0)), "{}", told.text);
    assert_eq!(api.get("/sources").await.is(200)["items"][0]["name"], "A");
}

async fn what_is_there_is_skipped(db: Database) {
    let api = Api::new(db).await;
    import(&api, "", "", LIST).await.is(200);
    let again = import(&api, "", "", LIST).await;
    assert_eq!((&again.is(200)["added"], &again.body["duplicates"]), (&0.into(), &1.into()));
    let line = &again.body["report"][0];
    assert!(line["id"].is_i64(), "{line}");
    assert!(line["message"].as_str().unwrap().contains("is there already, as source"), "{line}");
    let lines: String = (0..1200).map(|n| format!("{{\"url\": \"https://a.example/{n}\"}}\n")).collect();
    let twice = import(&api, "", "", &format!("{lines}{lines}")).await;
    assert_eq!((&twice.is(200)["added"], &twice.body["duplicates"]), (&1200.into(), &1200.into()));
}

async fn lists_are_fetched_behind_the_guard(db: Database) {
    let (api, server) = (Api::new(db).await, Server::start().await);
    server.on("/list", Reply::ok(LIST));
    let told = api.post("/import", json!({ "url": server.url("/list").as_str() })).await;
    assert_eq!(told.is(200)["added"], 1);
    let private = api.post("/import", json!({ "url": "http://192.168.0.1/list" })).await;
    assert_eq!(private.problem(422), "unreadable");
    let missing = api.post("/import", json!({ "url": server.url("/none").as_str() })).await;
    assert_eq!(missing.problem(422), "unreachable");
    assert_eq!(api.post("/import", json!({ "uri": "x" })).await.problem(422), "invalid");
}

async fn what_is_no_list_is_refused(db: Database) {
    let api = Api::new(db).await;
    assert_eq!(import(&api, "", "", "<html></html>").await.problem(422), "invalid");
    assert_eq!(import(&api, "?format=yaml", "", LIST).await.problem(422), "invalid");
    assert_eq!(import(&api, "?collection_id=99", "", LIST).await.problem(404), "not_found");
    assert_eq!(api.get("/export?format=yaml").await.problem(422), "invalid");
    assert_eq!(api.get("/export?collection_id=99").await.problem(404), "not_found");
    let large = import(&api, "", "", &" ".repeat((50 << 20) + 1)).await;
    assert_eq!(large.problem(413), "too_large");
    let fits = import(&api, "", "", &format!("{}<opml/>", " ".repeat(20 << 20))).await;
    assert_eq!(fits.is(200)["added"], 0);
}
