//! Answers as in X's documentation, and invalid answers.

use serde_json::{Value, json};

use super::*;
use crate::read::body_text;

fn page(value: &Value) -> Timeline {
    timeline(value.to_string().as_bytes(), "nasa").unwrap()
}

/// Checks the text of the only post of a page.
#[track_caller]
fn check(tweet: Value, includes: Value, text: &str) {
    let page = page(&json!({ "data": [tweet], "includes": includes, "meta": { "result_count": 1 } }));
    assert_eq!(body_text(&page.entries[0]), text);
}

fn users() -> Value {
    json!([{ "id": "11", "username": "NASA", "name": "NASA" }, { "id": "12", "username": "esa", "name": "ESA" }])
}

#[test]
fn posts_become_entries() {
    let page = page(&json!({
        "data": [
            { "id": "1100", "text": "Newer &amp; larger", "created_at": "2026-11-15T08:00:00.000Z", "author_id": "11" },
            { "id": "999", "text": "Older" },
        ],
        "includes": { "users": users() },
        "meta": { "result_count": 2, "newest_id": "1100", "oldest_id": "999", "next_token": "abc" },
    }));
    let first = &page.entries[0];
    assert_eq!(first.guid.as_deref(), Some("1100"));
    assert_eq!(first.url.as_deref(), Some("https://x.com/NASA/status/1100"));
    assert_eq!(first.author.as_deref(), Some("@NASA"));
    assert_eq!(first.published_at, Time::parse("2026-11-15T08:00:00Z"));
    assert_eq!(body_text(first), "Newer & larger");
    assert_eq!(
        page.entries[1].url.as_deref(),
        Some("https://x.com/nasa/status/999"),
        "who it is, is known anyway"
    );
    assert_eq!((page.newest.as_deref(), page.oldest.as_deref()), (Some("1100"), Some("999")));
    assert_eq!(page.next_token.as_deref(), Some("abc"));
}

#[test]
fn long_posts_are_complete_and_links_are_expanded() {
    let long = "word ".repeat(200);
    check(
        json!({ "id": "1", "text": "word word…", "note_tweet": {
            "text": format!("{long}https://t.co/abc"),
            "entities": { "urls": [{ "url": "https://t.co/abc", "expanded_url": "https://a.example/?a=1&b=2" }] },
        }}),
        json!({}),
        &format!("{long}https://a.example/?a=1&b=2"),
    );
    check(
        json!({ "id": "1", "text": "a &lt;b&gt; https://t.co/one, https://t.co/oneTwo and https://t.co/three",
        "entities": { "urls": [
            { "url": "https://t.co/one", "expanded_url": "https://a.example/1" },
            { "url": "https://t.co/oneTwo", "expanded_url": "https://t.co/one" },
            { "url": "https://t.co/three" },
        ]}}),
        json!({}),
        "a <b> https://a.example/1, https://t.co/one and https://t.co/three",
    );
    let hostile = json!({ "data": [{ "id": "1", "text": "&lt;script&gt; https://t.co/a", "entities": { "urls": [
        { "url": "https://t.co/a", "expanded_url": "https://a.example/\"><script>" }] } }], "meta": {} });
    assert!(!page(&hostile).entries[0].raw_content.as_deref().unwrap().contains("<script>"));
}

#[test]
fn quotes_and_reposts_include_the_other_post() {
    let other = json!({ "id": "7", "text": "Lift-off &amp; more", "author_id": "12" });
    let quote = json!({ "id": "9", "text": "Look: https://t.co/q", "author_id": "11",
        "entities": { "urls": [{ "url": "https://t.co/q", "expanded_url": "https://twitter.com/esa/status/7" }] },
        "referenced_tweets": [{ "type": "quoted", "id": "7" }] });
    check(quote.clone(), json!({ "users": users(), "tweets": [other] }), "Look: @esa: Lift-off & more");
    check(quote.clone(), json!({ "users": users() }), "Look: https://twitter.com/esa/status/7");
    let whole = "whole ".repeat(100);
    let long = json!({ "id": "7", "text": "whole…", "author_id": "12", "note_tweet": { "text": whole } });
    let repost = json!({ "id": "9", "text": "RT @esa: whole…", "author_id": "11",
        "referenced_tweets": [{ "type": "retweeted", "id": "7" }] });
    check(
        repost.clone(),
        json!({ "users": users(), "tweets": [long] }),
        &format!("RT @esa: {}", whole.trim()),
    );
    check(repost, json!({}), "RT @esa: whole…");
    let reply =
        json!({ "id": "9", "text": "@esa yes", "referenced_tweets": [{ "type": "replied_to", "id": "7" }] });
    check(reply, json!({ "users": users(), "tweets": [other] }), "@esa yes");
    let quote_of_9 = json!({ "id": "10", "text": "RT @NASA: Look", "author_id": "12",
        "referenced_tweets": [{ "type": "retweeted", "id": "9" }] });
    check(
        quote_of_9,
        json!({ "users": users(), "tweets": [quote, other] }),
        "RT @NASA: Look: @esa: Lift-off & more",
    );
}

#[test]
fn empty_timelines_are_valid() {
    assert_eq!(page(&json!({ "meta": { "result_count": 0 } })), Timeline::default());
    assert_eq!(page(&json!({ "data": [], "meta": {} })), Timeline::default());
}

#[test]
fn errors_are_classified() {
    let check = |value: Value, kind: ErrorKind, words: &str| {
        let body = value.to_string();
        for found in [user_id(body.as_bytes()).unwrap_err(), timeline(body.as_bytes(), "nasa").unwrap_err()] {
            assert_eq!((found.kind, found.message.as_str()), (kind, words));
        }
    };
    let missing = "https://api.twitter.com/2/problems/resource-not-found";
    check(
        json!({ "errors": [{ "title": "Not Found Error", "type": missing, "resource_type": "user",
            "detail": "Could not find user with username: [nasa].", "parameter": "username", "value": "nasa" }] }),
        ErrorKind::NotFound,
        "X says: Could not find user with username: [nasa].",
    );
    check(
        json!({ "errors": [{ "title": "Forbidden", "type": missing, "detail": "User has been suspended: [nasa]." }] }),
        ErrorKind::Forbidden,
        "X says: User has been suspended: [nasa].",
    );
    check(
        json!({ "errors": [{ "title": "Authorization Error",
            "type": "https://api.twitter.com/2/problems/not-authorized-for-resource",
            "detail": "Sorry, you are not authorized to see the user with id: [1]." }] }),
        ErrorKind::Forbidden,
        "X says: Sorry, you are not authorized to see the user with id: [1].",
    );
    check(
        json!({ "errors": [{ "title": "Odd", "status": 503 }] }),
        ErrorKind::UpstreamFailure,
        "X says: Odd",
    );
    check(json!({ "errors": [{}] }), ErrorKind::Unexpected, "X gives no reason");
    check(
        json!({}),
        ErrorKind::ParseError,
        "X sent an unexpected answer: neither posts nor a reason for none",
    );
}

#[test]
fn errors_about_referenced_posts_are_ignored() {
    let page = page(&json!({
        "data": [{ "id": "1", "text": "Still here" }],
        "errors": [{ "title": "Not Found Error", "detail": "Could not find tweet with referenced_tweets.id: [7]." }],
        "meta": { "result_count": 1 },
    }));
    assert_eq!(page.entries.len(), 1);
}

#[test]
fn broken_answers_are_parse_errors() {
    let deep = "[".repeat(100_000);
    for body in
        ["", "{", "null", "[]", "<html>", "{\"data\":{\"id\":1}}", "{\"data\":[{\"text\":\"a\"}]}", &deep]
    {
        assert_eq!(timeline(body.as_bytes(), "nasa").unwrap_err().kind, ErrorKind::ParseError, "{body:.20}");
    }
    for id in ["", "../1", "1/2", "01", "-1", "1e3", "123456789012345678901"] {
        let user = json!({ "data": { "id": id, "username": "nasa" } }).to_string();
        assert_eq!(user_id(user.as_bytes()).unwrap_err().kind, ErrorKind::ParseError, "{id}");
        let posts = json!({ "data": [{ "id": id, "text": "a" }], "meta": {} }).to_string();
        assert!(timeline(posts.as_bytes(), "nasa").is_err(), "{id}");
    }
    assert_eq!(user_id(br#"{"data":{"id":"11","username":"NASA","name":"NASA"}}"#).as_deref(), Ok("11"));
}
