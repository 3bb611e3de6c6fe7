//! Output feeds: read back by gleaner's own parser, whatever posts say, and closed to who has no token.

use gleaner::service::{NewEvent, TokenKind};
use gleaner_core::time::{Span, Time};
use gleaner_feed::{Feed, Format, Options};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Api};
use super::on_both;
use crate::store_contract::{add, new_post, poll_once};
use crate::support::{Database, feed, minutes, start};

on_both!(
    a_collection_is_read_as_a_feed,
    a_feed_has_all_posts_of_the_last_day,
    hostile_posts_stay_text,
    a_feed_is_sent_once,
    without_a_token_there_is_nothing,
    what_broke_and_what_healed_is_told_in_words,
);

/// An API with a feed's token.
async fn with_token(db: Database) -> (Api, String) {
    let api = Api::new(db).await;
    let made = api.post("/feed-tokens", json!({ "name": "reader" })).await;
    let token = made.is(201)["token"].as_str().unwrap().to_owned();
    (api, token)
}

async fn get(api: &Api, path: &str, headers: &[(&str, &str)]) -> Answer {
    api.ask(Method::GET, path, None, headers).await
}

/// A feed as gleaner itself reads it, without a single repair.
#[track_caller]
fn parsed(answer: &Answer) -> Feed {
    answer.is(200);
    let content_type = answer.header("content-type");
    let options = Options { content_type, ..Options::default() };
    let feed = gleaner_feed::parse(answer.text.as_bytes(), &options).unwrap();
    assert_eq!(feed.repairs, Default::default(), "{}", answer.text);
    feed
}

async fn a_collection_is_read_as_a_feed(db: Database) {
    let (api, token) = with_token(db).await;
    add(&api.db, &[feed("a.example", "1")]).await;
    let texts: Vec<String> = (0..210).map(|n| format!("text {n}")).collect();
    poll_once(&api.db, start(), |commit| {
        commit.new = texts.iter().map(|text| new_post(text)).collect();
        commit.new[209].0.author = Some("Ada & Bo".into());
        commit.new[208].0.title = None;
        commit.new[208].0.raw_content = None;
    })
    .await;
    // What is older than a day is there as far as a feed usually goes.
    api.clock.advance(Span::from_hours(26));
    let atom = get(&api, &format!("/feeds/default.atom?token={token}"), &[]).await;
    assert_eq!(atom.header("content-type"), Some("application/atom+xml; charset=utf-8"));
    let read = parsed(&atom);
    assert_eq!((read.format, read.entries.len()), (Format::Atom, 50));
    assert_eq!(read.title.as_ref().unwrap().plain(), "default");
    let first = &read.entries[0];
    assert_eq!(first.title.as_ref().unwrap().plain(), "Title of text 209");
    assert_eq!(
        (first.author(), first.link.as_deref()),
        (Some("Ada & Bo"), Some("https://a.example/text 209"))
    );
    assert_eq!(first.content.as_ref().unwrap().text.plain(), "text 209");
    assert_eq!(first.published, Some(start().as_millis()));
    assert_eq!(read.entries[1].title.as_ref().unwrap().plain(), "text 208", "its text stands for a title");
    let json = get(&api, &format!("/feeds/default.json?token={token}&limit=500"), &[]).await;
    assert_eq!(json.header("content-type"), Some("application/feed+json; charset=utf-8"));
    let read_too = parsed(&json);
    assert_eq!((read_too.format, read_too.entries.len()), (Format::Json, 210));
    assert_eq!(read_too.entries[0].id, read.entries[0].id, "the same whichever way it is written");
    assert_eq!(json.body["version"], "https://jsonfeed.org/version/1.1");
    assert!(!json.text.contains(&token) && !atom.text.contains(&token));
    // A name is written as URLs write names.
    api.post("/collections", json!({ "name": "my/news & more" })).await.is(201);
    let other = get(&api, &format!("/feeds/my%2Fnews%20%26%20more.atom?token={token}&limit=0"), &[]).await;
    assert_eq!(parsed(&other).title.as_ref().unwrap().plain(), "my/news & more");
    let list = api.get("/feed-tokens").await;
    assert!(list.body["items"][0]["last_used_at"].is_string());
}

async fn a_feed_has_all_posts_of_the_last_day(db: Database) {
    let (api, token) = with_token(db).await;
    add(&api.db, &[feed("a.example", "1")]).await;
    let store = async |at: Time, numbers: std::ops::Range<u32>| {
        poll_once(&api.db, at, |commit| {
            commit.new = numbers.map(|n| new_post(&format!("text {n}"))).collect();
        })
        .await;
    };
    store(start(), 0..60).await;
    let later = start() + Span::from_hours(26);
    store(later, 60..130).await;
    api.clock.set(later);
    let count = async |query: &str| {
        let answer = get(&api, &format!("/feeds/default.atom?token={token}{query}"), &[]).await;
        parsed(&answer).entries.len()
    };
    assert_eq!(count("").await, 70, "all of the second poll");
    assert_eq!(count("&limit=20").await, 20);
    assert_eq!(count("&limit=5000").await, 130);
    api.clock.advance(Span::from_hours(26));
    assert_eq!(count("").await, 50, "as many as usual");
}

async fn hostile_posts_stay_text(db: Database) {
    let (api, token) = with_token(db).await;
    add(&api.db, &[feed("a.example", "1")]).await;
    let titles = [
        "<script>alert(1)</script>",
        "]]></title></entry></feed><feed>",
        "&lt;b&gt; &amp;amp; &#0; &nope;",
        "\u{1}\u{8}\u{1b}[31m\u{7f}\u{85}\u{fffe}\u{ffff} odd",
        "\"' <!-- --> <?xml?> <![CDATA[x",
    ];
    poll_once(&api.db, start(), |commit| {
        for (n, title) in titles.iter().enumerate() {
            let mut post = new_post(&format!("text {n}"));
            post.0.title = Some((*title).to_owned());
            post.0.author = Some((*title).to_owned());
            post.0.url = Some("javascript:alert(1)".into());
            let html = "<p onclick='x()'>fine<script>alert(1)</script><img src=x onerror=y()></p>";
            post.0.raw_content = Some(format!("{html}{}\u{1}", "<b><div>".repeat(5000)));
            commit.new.push(post);
        }
    })
    .await;
    for kind in ["atom", "json"] {
        let answer = get(&api, &format!("/feeds/default.{kind}?token={token}"), &[]).await;
        let read = parsed(&answer);
        assert_eq!(read.entries.len(), titles.len());
        let clean = |text: &str| {
            text.chars().filter(|char| !char.is_control() && *char < '\u{fffe}').collect::<String>()
        };
        for (entry, title) in read.entries.iter().zip(titles.iter().rev()) {
            let shown = entry.title.as_ref().unwrap();
            assert_eq!(shown.value.trim(), clean(title).trim(), "{kind}");
            assert_eq!(entry.link, None, "no code for a link");
            let html = &entry.content.as_ref().unwrap().text.value;
            assert!(html.contains("fine"), "{html:.200}");
            for bad in ["onclick", "onerror", "<script"] {
                assert!(!html.contains(bad), "{kind}: {html:.200}");
            }
        }
        let bad = |char: char| char.is_control() && char != '\n' || ('\u{fffe}'..='\u{ffff}').contains(&char);
        assert!(!answer.text.contains(bad));
    }
}

async fn a_feed_is_sent_once(db: Database) {
    let (api, token) = with_token(db).await;
    add(&api.db, &[feed("a.example", "1")]).await;
    poll_once(&api.db, start(), |commit| commit.new = vec![new_post("one")]).await;
    for kind in ["atom", "json"] {
        let path = format!("/feeds/default.{kind}?token={token}");
        let first = get(&api, &path, &[]).await;
        let etag = first.header("etag").unwrap().to_owned();
        assert_eq!(first.header("last-modified"), Some("Sun, 15 Nov 2026 00:00:00 GMT"));
        for known in [etag.clone(), format!("\"other\", W/{etag}"), "*".to_owned()] {
            let again = get(&api, &path, &[("if-none-match", &known)]).await;
            assert_eq!(
                (again.status, again.text.as_str(), again.header("etag")),
                (304, "", Some(etag.as_str()))
            );
        }
        let dated = |date| [("if-modified-since", date)];
        assert_eq!(get(&api, &path, &dated("Sun, 15 Nov 2026 00:00:00 GMT")).await.status, 304);
        assert_eq!(get(&api, &path, &dated("Sat, 14 Nov 2026 23:59:59 GMT")).await.status, 200);
        let both = [("if-none-match", "\"other\""), ("if-modified-since", "Sun, 15 Nov 2026 00:00:00 GMT")];
        assert_eq!(get(&api, &path, &both).await.status, 200, "the tag knows better");
    }
    let path = format!("/feeds/default.atom?token={token}");
    let etag = get(&api, &path, &[]).await.header("etag").unwrap().to_owned();
    poll_once(&api.db, start() + minutes(30), |commit| commit.new = vec![new_post("two")]).await;
    let changed = get(&api, &path, &[("if-none-match", &etag)]).await;
    assert_eq!(parsed(&changed).entries.len(), 2);
}

async fn without_a_token_there_is_nothing(db: Database) {
    let (api, token) = with_token(db).await;
    let good = format!("/feeds/default.atom?token={token}");
    assert_eq!(get(&api, &good, &[]).await.status, 200);
    let access = &api.token;
    let bearer = format!("Bearer {access}");
    let nothing = get(&api, "/feeds/default.atom?token=wrong", &[]).await;
    assert_eq!(nothing.problem(404), "no_such_route");
    for path in [
        "/feeds/default.atom".to_owned(),
        "/feeds/default.atom?token=".to_owned(),
        format!("/feeds/default.atom?token={access}"),
        format!("/feeds/default.atom?tok={token}"),
    ] {
        let answer = get(&api, &path, &[("authorization", &bearer)]).await;
        assert_eq!((answer.status, &answer.body), (404, &nothing.body), "{path}");
    }
    for file in ["nothing.atom", "default", "default.rss", "default.", ".atom", "events.json"] {
        let answers = [format!("/feeds/{file}?token={token}"), format!("/feeds/{file}?token=wrong")]
            .map(|path| (path, file));
        for (path, file) in answers {
            let answer = get(&api, &path, &[]).await;
            assert_eq!(answer.problem(404), "no_such_route", "{file}");
        }
    }
    // A feed's token is none of the API's.
    let bearer = format!("Bearer {token}");
    assert_eq!(get(&api, "/api/v1/me", &[("authorization", &bearer)]).await.problem(401), "unauthenticated");
    assert!(api.by().revoke_token(TokenKind::Feed, "reader").await.unwrap());
    assert_eq!(get(&api, &good, &[]).await.body, nothing.body, "revoked at once");
    let late = api.post("/feed-tokens", json!({ "name": "late" })).await.is(201)["token"].clone();
    let path = format!("/feeds/default.atom?token={}", late.as_str().unwrap());
    assert_eq!(get(&api, &path, &[]).await.status, 200);
    api.clock.advance(Span::from_days(3650));
    assert_eq!(get(&api, &path, &[]).await.status, 404);
}

async fn what_broke_and_what_healed_is_told_in_words(db: Database) {
    let (api, token) = with_token(db).await;
    let source = add(&api.db, &[feed("a.example", "1")]).await[0];
    let told = async |kind: &str, source_id, payload: Value| {
        let event = NewEvent { kind: kind.into(), source_id, payload: payload.to_string() };
        api.service.tell(event).await.unwrap();
    };
    let payload = json!({ "reason": "404 <b>Not Found</b>", "next_poll_at": start() });
    told("source.failing", Some(source), payload).await;
    told("post.created", Some(source), json!({ "post_ids": [1] })).await;
    told("source.recovered", Some(source), json!({ "reason": "" })).await;
    told("webhook.failing", None, json!({ "name": "mine", "error": "timeout after 30s" })).await;
    told("import.finished", None, json!({})).await;
    api.db.store.number_events(100).await.unwrap();
    let path = format!("/feeds/events.atom?token={token}");
    let answer = get(&api, &path, &[]).await;
    let read = parsed(&answer);
    let titles: Vec<String> =
        read.entries.iter().map(|entry| entry.title.as_ref().unwrap().value.to_string()).collect();
    let expected = [
        "An import has finished",
        "The webhook mine fails, and events are given up: timeout after 30s",
        "https://a.example/1 works again",
        "https://a.example/1 fails: 404 <b>Not Found</b>",
    ];
    assert_eq!(titles, expected);
    let last = read.entries[3].content.as_ref().unwrap().text.value.to_string();
    assert!(last.contains("asked again at 2026-11-15T00:00:00Z"), "{last}");
    let etag = answer.header("etag").unwrap();
    assert_eq!(get(&api, &path, &[("if-none-match", etag)]).await.status, 304);
}
