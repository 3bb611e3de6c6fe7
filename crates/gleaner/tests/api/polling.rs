//! Polling by hand, the history of polls, and explanations.

use gleaner::store::{ClaimRequest, Release};
use gleaner_core::time::Span;
use serde_json::{Value, json};

use super::client::Api;
use super::on_both;
use super::sources::{add, ids, source};
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    a_poll_by_hand_tells_its_outcome,
    a_poll_by_hand_goes_on_by_itself,
    a_poll_by_hand_heeds_retry_after_unless_forced,
    the_hosts_retry_after_holds_all_its_sources,
    a_poll_by_hand_ends_a_quarantine,
    a_host_that_is_being_asked_is_not_asked_twice,
    a_poll_that_an_edit_overtakes_is_told,
    history_is_listed_newest_first,
    an_explanation_has_its_evidence,
);

const FEED: &str = "<rss version='2.0'><channel><title>F</title><item><guid>1</guid><title>One</title>\
    <description>Text one</description></item></channel></rss>";

async fn set_up(db: Database) -> (Api, Server, i64) {
    let (api, server) = (Api::new(db).await, Server::start().await);
    server.on("/feed", Reply::ok(FEED).header("Cache-Control", "max-age=7200"));
    let id = add(&api, server.url("/feed").as_str()).await;
    (api, server, id)
}

async fn poll(api: &Api, id: i64, how: &str) -> super::client::Answer {
    api.post(&format!("/sources/{id}/poll?{how}"), json!({})).await
}

async fn a_poll_by_hand_tells_its_outcome(db: Database) {
    let (api, server, id) = set_up(db).await;
    let first = poll(&api, id, "wait=true").await;
    assert_eq!((&first.is(200)["outcome"], &first.body["new_posts"]), (&json!("fetched"), &json!(1)));
    assert_eq!(first.body["status_code"], 200);
    // Neither its interval nor its server's hints are heeded.
    let second = poll(&api, id, "wait=true").await;
    assert_eq!((&second.is(200)["outcome"], &second.body["new_posts"]), (&json!("not_modified"), &json!(0)));
    server.on("/feed", Reply::status(404));
    let third = poll(&api, id, "wait=true").await;
    assert_eq!(
        (&third.is(200)["error_type"], &third.body["error"]),
        (&json!("not_found"), &json!("404 Not Found"))
    );
    assert_eq!(source(&api, id).await["status"], "failing");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(poll(&api, 999, "").await.problem(404), "not_found");
    assert_eq!(poll(&api, id, "wait=perhaps").await.problem(400), "bad_query");
}

async fn a_poll_by_hand_goes_on_by_itself(db: Database) {
    let (api, _server, id) = set_up(db).await;
    let answer = poll(&api, id, "").await;
    assert!(answer.is(202)["poll_id"].is_string());
    while source(&api, id).await["last_success_at"].is_null() {
        tokio::task::yield_now().await;
    }
}

async fn a_poll_by_hand_heeds_retry_after_unless_forced(db: Database) {
    let (api, server, id) = set_up(db).await;
    server.on("/feed", Reply::status(503).header("Retry-After", "7200"));
    poll(&api, id, "wait=true").await.is(200);
    for how in ["", "wait=true"] {
        let refused = poll(&api, id, how).await;
        assert_eq!(
            (refused.problem(409), &refused.body["at"]),
            ("retry_after", &json!("2026-11-15T02:00:00Z"))
        );
    }
    assert_eq!(server.requests().len(), 1);
    server.on("/feed", Reply::ok(FEED));
    let forced = poll(&api, id, "wait=true&force=true").await;
    assert_eq!(forced.is(200)["outcome"], "fetched");
    poll(&api, id, "wait=true").await.is(200);
}

async fn the_hosts_retry_after_holds_all_its_sources(db: Database) {
    let (api, server, id) = set_up(db).await;
    server.on("/other", Reply::status(429).header("Retry-After", "86400"));
    let other = add(&api, server.url("/other").as_str()).await;
    poll(&api, other, "wait=true").await.is(200);
    let refused = poll(&api, id, "wait=true").await;
    assert_eq!((refused.problem(409), &refused.body["at"]), ("retry_after", &json!("2026-11-15T01:00:00Z")));
    api.clock.advance(Span::from_hours(1));
    poll(&api, id, "wait=true").await.is(200);
}

async fn a_poll_by_hand_ends_a_quarantine(db: Database) {
    let (api, _server, id) = set_up(db).await;
    api.patch(&format!("/sources/{id}/feed-disable"), json!({ "reason": "odd" })).await.is(200);
    poll(&api, id, "wait=true").await.is(200);
    assert_eq!(source(&api, id).await["status"], "healthy");
}

async fn a_host_that_is_being_asked_is_not_asked_twice(db: Database) {
    let (api, server, id) = set_up(db).await;
    poll(&api, id, "wait=true").await.is(200);
    let now = api.service.now();
    let request = ClaimRequest::all(now, Span::from_mins(1), "another", 1, 1);
    let claim = api.db.store.claim_source(id, &request).await.unwrap().expect("the host is free");
    let answer = poll(&api, id, "").await;
    let running = format!("{}-{}", claim.lease.host_id, claim.lease.fence);
    assert_eq!(answer.is(202)["poll_id"], running);
    assert_eq!(poll(&api, id, "").await.is(202)["poll_id"], running, "the same for everybody");
    assert_eq!(server.requests().len(), 1);
    // When the other is done, the source is due: nobody's wish is lost.
    assert_eq!(source(&api, id).await["next_poll_at"], now.to_string());
    api.db.store.release(&[Release::of(claim.lease)]).await.unwrap();
    let due = api.db.store.claim(&request).await.unwrap();
    assert_eq!(due[0].sources[0].id, id);
}

async fn a_poll_that_an_edit_overtakes_is_told(db: Database) {
    let (api, server, id) = set_up(db).await;
    server.on("/feed", Reply::head("Content-Length: 10").send("half ").stall());
    let (answer, ()) = tokio::join!(poll(&api, id, "wait=true"), async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        api.patch(&format!("/sources/{id}"), json!({ "name": "new" })).await.is(200);
        server.hang_up();
    });
    assert_eq!(answer.problem(409), "poll_discarded");
    assert_eq!(source(&api, id).await["last_polled_at"], Value::Null);
}

async fn history_is_listed_newest_first(db: Database) {
    let (api, server, id) = set_up(db).await;
    server.on_each("/feed", [404, 500, 410].map(Reply::status));
    for _ in 0..3 {
        poll(&api, id, "wait=true").await.is(200);
    }
    let path = format!("/sources/{id}/polls");
    let all = api.get(&path).await;
    let types = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|poll| poll["error_type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(types(all.is(200)), ["gone", "upstream_failure", "not_found"]);
    assert_eq!(all.body["items"][0]["source_id"], id);
    let page = api.get(&format!("{path}?limit=2")).await;
    assert_eq!(ids(page.is(200)), ids(&all.body)[..2]);
    let rest = api.get(&format!("{path}?limit=2&cursor={}", page.body["next_cursor"])).await;
    assert_eq!((ids(rest.is(200)), &rest.body["next_cursor"]), (ids(&all.body)[2..].to_vec(), &Value::Null));
}

async fn an_explanation_has_its_evidence(db: Database) {
    let (api, server, id) = set_up(db).await;
    poll(&api, id, "wait=true").await.is(200);
    server.on("/feed", Reply::status(404));
    poll(&api, id, "wait=true").await.is(200);
    let told = api.get(&format!("/sources/{id}/explain")).await;
    assert_eq!(told.is(200)["status"], "failing");
    assert_eq!(told.body["summary"], "Failing: 404 Not Found.");
    assert!(told.body["rule"].as_str().unwrap().starts_with("standard, not_found: "), "{}", told.text);
    assert_eq!(
        told.body["evidence"],
        json!(["2026-11-15 00:00 UTC: 404 Not Found", "2026-11-15 00:00 UTC: 1 new post"])
    );
    assert!(told.body["next"].as_str().unwrap().starts_with("In "), "{}", told.text);
    assert!(!told.body["changes"].as_array().unwrap().is_empty());
}
