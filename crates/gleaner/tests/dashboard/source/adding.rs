//! Adding what is pasted.

use super::{FEED, Person, Seen, on_both};
use crate::support::Database;
use crate::support::http::Reply;
use gleaner_core::backfill::Backfill;

on_both!(
    a_feed_is_shown_before_it_is_added,
    a_page_offers_its_feeds_and_itself,
    an_index_page_offers_its_links,
    a_timeline_is_known_by_its_name,
    what_cannot_be_reached_can_be_added_all_the_same,
    what_can_never_be_polled_is_refused,
    what_is_wrong_is_told_beside_its_field,
);

fn page(text: &str) -> Reply {
    Reply::ok(text).header("content-type", "text/html")
}

impl Person {
    async fn look(&self, url: &str) -> Seen {
        let seen = self.send("/add", &[("url", url)]).await;
        seen.is(200);
        assert_eq!(self.api.db.count("sources").await, 0, "nothing is stored by looking");
        seen
    }

    /// Saves what was found, chosen so.
    async fn save(&self, found: &Seen, choice: &str, more: &[(&str, &str)]) -> Seen {
        let names = ["kind", "url", "title"];
        let all: Vec<(String, String)> = (0..20)
            .filter(|n| found.text.contains(&format!("name=\"kind_{n}\"")))
            .flat_map(|n| names.map(|name| format!("{name}_{n}")))
            .map(|name| (name.clone(), found.hidden(&name)))
            .chain([("choice".to_owned(), choice.to_owned()), ("collection_id".to_owned(), "1".to_owned())])
            .collect();
        let fields: Vec<(&str, &str)> = all
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(more.iter().copied())
            .collect();
        self.send("/add/save", &fields).await
    }
}

async fn a_feed_is_shown_before_it_is_added(db: Database) {
    let me = Person::new(db).await;
    let url = me.world.url("/feed").to_string();
    let found = me.look(&url).await;
    found.shows(&["It is a feed", "The letter", "1 post in it", "https://a.example/1", "Text one"]);
    found.shows(&["Its entries have no dates", "Its entries are short", "value=\"The letter\""]);
    let saved =
        me.save(&found, "0", &[("name", "Mine"), ("poll_interval_minutes", "10"), ("backfill", "all")]);
    let saved = saved.await;
    assert_eq!((saved.status, saved.location.as_deref()), (303, Some("/sources/1")));
    let source = me.api.by().source(1).await.unwrap();
    assert_eq!((source.settings.name.as_deref(), source.settings.url.as_str()), (Some("Mine"), url.as_str()));
    assert_eq!(source.settings.interval, gleaner_core::source::Interval::Minutes(10));
    assert!(source.settings.backfill == Backfill::All && !source.settings.full_content);
    let other = me.api.by().create_collection("Other").await.unwrap();
    let elsewhere = [("collection_id", other.id.to_string())];
    let elsewhere: Vec<(&str, &str)> =
        elsewhere.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let asked = me.save(&found, "0", &elsewhere).await;
    asked.is(200);
    asked.shows(&["The collection default has it already", "Use the existing one", "Add it here too"]);
    assert!(me.api.by().source(2).await.is_err(), "nothing is stored before it is chosen");
    let both = me.save(&found, "0", &[elsewhere[0], ("also", "true")]).await;
    assert_eq!((both.status, both.location.as_deref()), (303, Some("/sources/2")));
    let twice = me.save(&found, "0", &[]).await;
    twice.is(409);
    twice.shows(&["That collection has it already", "/sources/1\">source 1</a>"]);
}

async fn a_page_offers_its_feeds_and_itself(db: Database) {
    let me = Person::new(db).await;
    me.world.on("/second", Reply::ok(FEED));
    let head = "<title>A site</title><link rel=alternate type=application/rss+xml href=/feed title=All>\
        <link rel=alternate type=application/rss+xml href=/second title=Second>\
        <link rel=alternate type=application/rss+xml href=/comments/feed title=Comments>";
    me.world.on("/", page(&format!("{head}<article><p>Some text to be read.</p></article>")));
    let found = me.look(me.world.url("/").as_str()).await;
    found.shows(&[
        "It is a page that names feeds",
        "The letter",
        "1 post in it",
        "Second",
        "It carries readers",
    ]);
    found.shows(&["a page whose text changes", "Some text to be read.", "Look into this one"]);
    let asked: Vec<String> = me.world.requests().into_iter().map(|request| request.path).collect();
    assert!(!asked.contains(&"/second".to_owned()), "only the first is looked into: {asked:?}");
    let second = me.world.url("/second").to_string();
    me.send("/add", &[("url", "https://ignored.example/"), ("look", &second)]).await.shows(&["It is a feed"]);
    // The name of the first stays with the first.
    let saved = me.save(&found, "1", &[("name", "The letter")]).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let source = me.api.by().source(1).await.unwrap();
    assert_eq!(source.settings.name.as_deref(), Some("Second"));
    assert_eq!(source.settings.url, me.world.url("/second").to_string());
}

async fn an_index_page_offers_its_links(db: Database) {
    let me = Person::new(db).await;
    let item = |n: u32| {
        format!(
            "<article><h2><a href='/2026/11/{n}-a-story-of-its-own'>A story of its own, number {n}</a></h2>\
             <time datetime='2026-11-0{n}'>{n} Nov</time><p>How it begins.</p></article>"
        )
    };
    let items: String = (1..9).map(item).collect();
    me.world.on(
        "/blog",
        page(&format!("<title>A blog</title><nav><a href=/>Home</a></nav><main>{items}</main>")),
    );
    me.world.on("/robots.txt", Reply::ok("User-agent: *\nDisallow: /blog"));
    let found = me.look(me.world.url("/blog").as_str()).await;
    found.shows(&["It is an index page", "0 links would be followed, of 8", "A story of its own, number 3"]);
    found.shows(&["As a page it is not polled", "robots.txt"]);
    assert_eq!(me.save(&found, "0", &[("name", "A blog")]).await.status, 303);
    assert_eq!(me.api.by().source(1).await.unwrap().settings.kind.name(), "watchlist");
}

async fn a_timeline_is_known_by_its_name(db: Database) {
    let me = Person::new(db).await;
    let found = me.look("@RustLang").await;
    found.shows(&["It is a timeline on X", "https://x.com/rustlang", "has no key for X yet"]);
    assert!(me.world.requests().is_empty());
    assert_eq!(me.save(&found, "0", &[]).await.status, 303);
    assert_eq!(me.api.by().source(1).await.unwrap().settings.kind.name(), "x");
}

async fn what_cannot_be_reached_can_be_added_all_the_same(db: Database) {
    let me = Person::new(db).await;
    me.world.on("/down", Reply::status(503));
    let found = me.look(me.world.url("/down").as_str()).await;
    found.shows(&["It could not be read", "503", "it can be added all the same", "a feed", "an index page"]);
    assert_eq!(me.save(&found, "2", &[]).await.status, 303);
    assert_eq!(me.api.by().source(1).await.unwrap().settings.kind.name(), "website");
}

async fn what_can_never_be_polled_is_refused(db: Database) {
    let me = Person::new(db).await;
    me.world.on("/file", Reply::ok("%PDF").header("content-type", "application/pdf"));
    let file = me.world.url("/file").to_string();
    for (url, why) in [
        ("http://10.0.0.1/", "10.0.0.1"),
        ("javascript:alert(1)", "javascript"),
        ("", "it must begin with http"),
        (file.as_str(), "application/pdf"),
    ] {
        let refused = me.look(url).await;
        refused.shows(&["class=\"wrong\"", why]);
        refused.lacks(&["/add/save"]);
    }
}

async fn what_is_wrong_is_told_beside_its_field(db: Database) {
    let me = Person::new(db).await;
    let found = me.look(me.world.url("/feed").as_str()).await;
    let wrong = me.save(&found, "0", &[("poll_interval_minutes", "now and then"), ("name", "kept")]).await;
    wrong.is(422);
    wrong.shows(&["whole number of minutes", "value=\"now and then\"", "value=\"kept\"", "The letter"]);
    assert_eq!(me.save(&found, "7", &[]).await.status, 422, "there is no such offer");
    assert_eq!(me.api.db.count("sources").await, 0);
    // Without a script, and from another page: only the field is filled.
    me.get("/add?url=https%3A%2F%2Fa.example%2F").await.shows(&["value=\"https://a.example/\""]);
}
