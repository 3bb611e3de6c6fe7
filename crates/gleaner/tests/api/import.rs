//! Lists of sources, in and out, over the API.

use reqwest::Method;
use serde_json::json;

use super::client::{Answer, Api};
use super::on_both;
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    lists_go_in_and_out,
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
        &json!({ "url": "https://a.example/", "kind": "feed", "name": "A", "collection": "News" })
    );
    let one = import(&api, "?collection_id=1", "application/x-ndjson", &json.text).await;
    assert_eq!(one.is(200)["added"], 1, "another collection is another source");
    let only = api.get("/export?format=json&collection_id=1").await;
    assert_eq!(only.is(200)["collection"], "default");
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
