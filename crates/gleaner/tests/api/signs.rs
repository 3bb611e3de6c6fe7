//! What is noticed of sources: shown with its evidence, listed, explained and told.

use gleaner_core::time::Span;
use serde_json::json;

use super::client::Api;
use super::on_both;
use super::sources::{add, ids, source};
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    a_suspect_is_shown_listed_explained_and_told,
    a_proposal_is_shown_explained_and_told,
    failing_pages_are_shown_listed_and_retried,
);

async fn poll(api: &Api, id: i64) {
    api.post(&format!("/sources/{id}/poll?wait=true"), json!({})).await.is(200);
}

fn feed(texts: &[&str]) -> Reply {
    let items: String = texts
        .iter()
        .map(|text| format!("<item><guid>{text}</guid><description>{text}</description></item>"))
        .collect();
    Reply::ok(format!("<rss version='2.0'><channel><title>Some feed</title>{items}</channel></rss>"))
}

async fn a_suspect_is_shown_listed_explained_and_told(db: Database) {
    let api = Api::new(db).await;
    let server = Server::start().await;
    server.on("/feed", feed(&["one", "two", "three"]));
    let id = add(&api, server.url("/feed").as_str()).await;
    let other = add(&api, "https://b.example/feed").await;
    poll(&api, id).await;
    assert!(source(&api, id).await["suspect"].is_null());
    server.on("/feed", feed(&[]));
    api.clock.advance(Span::from_hours(1));
    poll(&api, id).await;
    let shown = source(&api, id).await;
    assert_eq!((&shown["status"], &shown["suspect"]["reason"]), (&json!("healthy"), &json!("empty")));
    assert_eq!(shown["suspect"]["since"], shown["last_polled_at"]);
    assert!(shown["suspect"]["evidence"].as_str().unwrap().contains("there were 3 before"), "{shown}");
    let listed = api.get("/sources?suspect=true").await.is(200).clone();
    assert_eq!(ids(&listed), [id]);
    assert_eq!(listed["items"][0], shown);
    assert_eq!(ids(api.get("/sources?suspect=false").await.is(200)), [id, other], "false asks for nothing");
    assert_eq!(ids(api.get("/sources?suspect=true&status=failing").await.is(200)), [0; 0]);
    assert_eq!(api.get("/sources?suspect=perhaps").await.problem(400), "bad_query");
    let explained = api.get(&format!("/sources/{id}/explain")).await.is(200).clone();
    assert!(explained["notices"][0].as_str().unwrap().contains("correct its URL"), "{explained}");
    server.on("/feed", feed(&["one"]));
    api.clock.advance(Span::from_hours(1));
    poll(&api, id).await;
    assert!(source(&api, id).await["suspect"].is_null());
    api.db.store.number_events(100).await.unwrap();
    let told = api.get("/events?type=source.suspect,source.cleared").await.is(200).clone();
    assert_eq!(told["items"][0]["type"], "source.cleared");
    assert_eq!(told["items"][1]["data"]["suspect"], shown["suspect"]);
}

async fn a_proposal_is_shown_explained_and_told(db: Database) {
    let api = Api::new(db).await;
    let server = Server::start().await;
    server.on("/feed", feed(&["one"]));
    let id = add(&api, server.url("/feed").as_str()).await;
    poll(&api, id).await;
    let page = "<html><link rel=alternate type=application/rss+xml href=/new title='The new one'>";
    server.on("/feed", Reply::ok(page));
    for _ in 0..2 {
        poll(&api, id).await;
        assert!(source(&api, id).await["proposal"].is_null());
        api.clock.advance(Span::from_hours(20));
    }
    poll(&api, id).await;
    let shown = source(&api, id).await;
    let url = server.url("/new").to_string();
    assert_eq!(
        shown["proposal"],
        json!({ "url": url, "title": "The new one", "since": shown["last_polled_at"], "reason": "advertised" })
    );
    assert_eq!(api.get("/sources").await.is(200)["items"][0], shown);
    let explained = api.get(&format!("/sources/{id}/explain")).await.is(200).clone();
    assert_eq!(explained["proposal"], url);
    assert!(explained["notices"].to_string().contains("Its site now advertises"), "{explained}");
    api.db.store.number_events(100).await.unwrap();
    let told = api.get("/events?type=source.proposal").await.is(200).clone();
    assert_eq!(told["items"][0]["data"]["proposal"], shown["proposal"]);
    server.on("/new", feed(&["one", "two"]));
    let moved = api.patch(&format!("/sources/{id}"), json!({ "url": url })).await.is(200).clone();
    assert_eq!(
        (&moved["proposal"], &moved["suspect"], &moved["status"]),
        (&json!(null), &json!(null), &json!("pending"))
    );
}

async fn failing_pages_are_shown_listed_and_retried(db: Database) {
    let api = Api::new(db).await;
    let server = Server::start().await;
    let links: String =
        (0..12).map(|n| format!("<article><h2><a href=/p{n}>Story {n}</a></h2></article>")).collect();
    server.on("/index", Reply::ok(links).header("Content-Type", "text/html"));
    (0..12).for_each(|n| server.on(&format!("/p{n}"), Reply::status(403)));
    let new =
        json!({ "url": server.url("/index").as_str(), "kind": "watchlist", "article_selector": "h2 a" });
    let id = api.post("/sources", new).await.is(201)["id"].as_i64().unwrap();
    let other = add(&api, "https://b.example/feed").await;
    let mut engine = api.service.engine("test").unwrap();
    let due = async |engine: &mut gleaner::engine::Engine| {
        engine.run_due(gleaner::clock::Clock::now(&*api.clock)).await.unwrap();
    };
    poll(&api, id).await;
    let shown = source(&api, id).await;
    assert_eq!((&shown["pages_waiting"], &shown["pages_failed"]), (&json!(12), &json!(0)));
    let first = api.get(&format!("/sources/{id}/polls")).await.is(200)["items"][0].clone();
    assert_eq!((&first["pages"], &first["pages_fetched"]), (&json!(12), &json!(0)));
    api.clock.advance(Span::from_secs(1));
    due(&mut engine).await;
    let shown = source(&api, id).await;
    assert_eq!((&shown["pages_waiting"], &shown["pages_failed"]), (&json!(0), &json!(12)));
    assert_eq!((&shown["status"], &shown["suspect"]["reason"]), (&json!("healthy"), &json!("pages_failing")));
    assert_eq!(api.get("/sources").await.is(200)["items"][0], shown, "lists say the same");
    assert_eq!(ids(api.get("/sources?suspect=true").await.is(200)), [id]);
    let path = format!("/sources/{id}/pages");
    let all = api.get(&path).await.is(200).clone();
    assert_eq!(all["items"].as_array().unwrap().len(), 12);
    let page = &all["items"][0];
    assert_eq!(
        (&page["state"], &page["tries"], &page["error"]),
        (&json!("failed"), &json!(1), &json!("403 Forbidden"))
    );
    assert!(page["next_try_at"].is_string() && page["url"].as_str().unwrap().contains("/p"), "{page}");
    let some = api.get(&format!("{path}?limit=5&state=failed")).await.is(200).clone();
    assert_eq!(some["items"].as_array().unwrap()[..], all["items"].as_array().unwrap()[..5]);
    let rest = api.get(&format!("{path}?limit=50&cursor={}", some["next_cursor"])).await.is(200).clone();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (7, &json!(null)));
    assert_eq!(api.get(&format!("{path}?state=lost")).await.problem(400), "bad_query");
    assert_eq!(api.get("/sources/999/pages").await.status, 404);
    assert_eq!(api.get(&format!("/sources/{other}/pages")).await.is(200)["items"], json!([]));
    for _ in 0..4 {
        api.clock.advance(Span::from_days(4));
        due(&mut engine).await;
    }
    assert_eq!(source(&api, id).await["pages_given_up"], 12);
    let explained = api.get(&format!("/sources/{id}/explain")).await.is(200).clone();
    assert!(explained["notices"].to_string().contains("12 given up"), "{explained}");
    api.db.store.number_events(1000).await.unwrap();
    let told = api.get("/events?type=page.given_up").await.is(200).clone();
    assert_eq!(told["items"].as_array().unwrap().len(), 12);
    assert_eq!(told["items"][0]["data"]["tries"], 5);
    let retry = format!("{path}/retry");
    assert_eq!(api.post(&retry, json!({})).await.is(200), &json!({ "source_id": id, "retried": 12 }));
    assert_eq!(api.post(&retry, json!({})).await.is(200)["retried"], 0);
    assert_eq!(api.post("/sources/999/pages/retry", json!({})).await.status, 404);
    let shown = source(&api, id).await;
    assert_eq!((&shown["pages_waiting"], &shown["pages_given_up"]), (&json!(12), &json!(0)));
}
