//! A database that is full, or gone and back: a clear answer each time, and nothing lost.

use gleaner::store::{Options, open};
use reqwest::Method;
use serde_json::json;

use super::client::Api;
use crate::support::{postgres, sqlite};

#[tokio::test]
async fn a_full_disk_is_told_and_reading_goes_on() {
    let mut db = sqlite().await;
    let room = std::fs::metadata(&db.url).unwrap().len() + 60_000;
    db.store = open(&Options { max_bytes: Some(room), ..Options::new(&db.url) }).await.unwrap();
    let api = Api::new(db).await;
    let mut made = 0;
    let refused = loop {
        let url = format!("https://h{made}.example/{}", "x".repeat(2000));
        let answer = api.post("/sources", json!({ "url": url })).await;
        if answer.status != 201 {
            break answer;
        }
        made += 1;
        assert!(made < 1000, "it is never full");
    };
    assert_eq!(refused.problem(503), "database_unavailable");
    assert!(refused.body["detail"].as_str().unwrap().contains("free some disk space"), "{}", refused.text);
    assert!(refused.header("retry-after").is_some());
    let list = api.get("/sources?limit=500").await;
    assert_eq!(list.is(200)["items"].as_array().unwrap().len(), made, "what was answered with 201 is there");
}

#[tokio::test]
async fn a_database_that_was_gone_is_used_again() {
    let api = Api::new(postgres().await).await;
    let before = api.post("/sources", json!({ "url": "https://a.example/feed" })).await;
    let id = before.is(201)["id"].as_i64().unwrap();
    let thrown_out = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    api.db.behind_its_back(thrown_out).await;
    api.ask(Method::GET, "/healthz", None, &[]).await.is(200);
    let mut answer = api.get(&format!("/sources/{id}")).await;
    // Connections that died are found out one by one.
    for _ in 0..20 {
        if answer.status == 200 {
            break;
        }
        assert_eq!(answer.problem(503), "database_unavailable");
        answer = api.get(&format!("/sources/{id}")).await;
    }
    assert_eq!(answer.is(200)["url"], "https://a.example/feed");
}
