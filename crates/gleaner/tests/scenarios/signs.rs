//! What is noticed of a source that answers: that something seems to be wrong all the same. Shown and told, never held
//! against it.

use gleaner_core::health::Status;
use gleaner_core::source::Kind;
use gleaner_core::suspect::Reason;
use gleaner_core::time::Span;
use serde_json::Value;

use super::on_both;
use super::world::{Answer, Item, World, rss};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    a_feed_that_falls_silent_is_suspect_and_nothing_else,
    a_feed_that_only_says_not_modified_is_found_to_be_silent,
    a_feed_that_was_quiet_when_it_was_added_is_suspect_at_once,
    a_feed_that_becomes_empty_is_suspect_until_it_is_not,
    a_feed_that_becomes_a_page_fails_and_is_suspect,
    a_page_behind_a_wall_is_suspect,
    an_index_whose_domain_is_for_sale_is_suspect,
    a_suspicion_ends_with_the_url_that_it_was_of,
    a_calm_source_is_suspected_of_nothing,
    a_feed_that_ends_early_again_is_suspect_until_it_is_whole,
);

/// Ten entries, a day between each, the latest so long before the world's beginning.
fn daily(latest: Span) -> Vec<Item> {
    let mut items: Vec<Item> = (0..10).map(|n| Item::new(&format!("entry {n}"))).collect();
    for (n, item) in items.iter_mut().enumerate() {
        item.published = crate::support::start() - latest - Span::from_days(n as u64);
    }
    items
}

async fn reason(world: &World, id: i64) -> Option<Reason> {
    world.source(id).await.suspect.map(|suspected| suspected.reason)
}

/// What was told of suspicions, with why.
async fn told(world: &World) -> Vec<(String, String)> {
    let store = world.store();
    store.number_events(10_000).await.unwrap();
    let events = store.events(0, 10_000).await.unwrap().into_iter().map(|event| event.event);
    let of_suspicion =
        events.filter(|event| ["source.suspect", "source.cleared"].contains(&event.kind.as_str()));
    of_suspicion
        .map(|event| {
            let payload: Value = serde_json::from_str(&event.payload).unwrap();
            (event.kind, payload["suspect"]["reason"].as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

fn event(kind: &str, reason: &str) -> (String, String) {
    (kind.to_owned(), reason.to_owned())
}

async fn a_feed_that_falls_silent_is_suspect_and_nothing_else(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::items(&daily(Span::ZERO)));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.advance(Span::from_days(29));
    world.poll_due().await;
    assert_eq!(reason(&world, id).await, None, "a month's holiday");
    world.advance(Span::from_days(2));
    world.poll_due().await;
    let source = world.source(id).await;
    let suspected = source.suspect.clone().unwrap();
    assert_eq!((suspected.reason, suspected.since), (Reason::Frozen, world.now()));
    assert!(suspected.evidence.contains("never more than 1 day between entries"), "{}", suspected.evidence);
    assert_eq!(source.health.status(), Status::Healthy);
    assert_eq!(source.next_poll_at, Some(world.now() + Span::from_mins(30)), "polled as ever");
    let explained = world.service().explain(id).await.unwrap();
    assert!(explained.summary.starts_with("It answers, but something seems to be wrong"), "{explained:?}");
    assert!(explained.notices[0].contains("Its publisher may have stopped"), "{explained:?}");
    world.advance(Span::from_days(30));
    world.poll_due().await;
    assert_eq!(world.source(id).await.suspect, Some(suspected), "as it was when it began");
    let mut again = daily(Span::ZERO);
    again.push(Item { published: world.now(), ..Item::new("at last") });
    world.answer("/feed", Answer::items(&again));
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, None);
    assert_eq!(told(&world).await, [event("source.suspect", "frozen"), event("source.cleared", "")]);
}

async fn a_feed_that_only_says_not_modified_is_found_to_be_silent(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::items(&daily(Span::ZERO)));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.answer("/feed", Answer::Status(304));
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, None);
    world.advance(Span::from_days(31));
    world.poll_due().await;
    assert_eq!(reason(&world, id).await, Some(Reason::Frozen));
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, Some(Reason::Frozen));
    assert_eq!(told(&world).await, [event("source.suspect", "frozen")], "once");
}

async fn a_feed_that_was_quiet_when_it_was_added_is_suspect_at_once(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::items(&daily(Span::from_days(400))));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    assert_eq!(reason(&world, id).await, Some(Reason::Frozen));
}

async fn a_feed_that_becomes_empty_is_suspect_until_it_is_not(db: Database) {
    let mut world = World::new(db, &[]).await;
    let full = Answer::feed(&["one", "two", "three"]);
    world.answer("/feed", full.clone());
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.answer("/feed", Answer::body(&rss("")));
    let source = world.poll_next(id).await;
    let suspected = source.suspect.unwrap();
    assert_eq!(suspected.reason, Reason::Empty);
    assert!(suspected.evidence.ends_with("there were 3 before"), "{}", suspected.evidence);
    assert_eq!(source.health.status(), Status::Healthy);
    // Another document that is as empty, and one that is the same.
    world.answer("/feed", Answer::body(&rss("<description>Soon</description>")));
    world.poll_times(id, 2).await;
    assert_eq!(reason(&world, id).await, Some(Reason::Empty));
    world.answer("/feed", Answer::Status(500));
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, Some(Reason::Empty), "a failure says nothing about it");
    world.answer("/feed", full);
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, None);
    assert_eq!(told(&world).await, [event("source.suspect", "empty"), event("source.cleared", "")]);
}

async fn a_feed_that_becomes_a_page_fails_and_is_suspect(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let id = world.add("a.test", "/feed").await;
    let never = world.add("b.test", "/never").await;
    let page = |title: &str| Answer::body(&format!("<!doctype html><title>{title}</title><p>Hello"));
    world.answer("/never", page("Welcome"));
    world.poll_due().await;
    assert_eq!(reason(&world, never).await, None, "it never was a feed: its URL is wrong");
    world.answer("/feed", page("Welcome"));
    let source = world.poll_next(id).await;
    let suspected = source.suspect.unwrap();
    assert_eq!(suspected.reason, Reason::BecameHtml);
    assert!(suspected.evidence.contains("a page called \"Welcome\""), "{}", suspected.evidence);
    assert_eq!(source.health.failing.unwrap().kind.name(), "parse_error");
    world.answer("/feed", page("Just a moment..."));
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, Some(Reason::BotWall));
    world.answer("/feed", Answer::feed(&["one", "two"]));
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, None);
    let expected = [
        event("source.suspect", "became_html"),
        event("source.suspect", "bot_wall"),
        event("source.cleared", ""),
    ];
    assert_eq!(told(&world).await, expected);
}

async fn a_page_behind_a_wall_is_suspect(db: Database) {
    let mut world = World::new(db, &[]).await;
    let page = |text: &str| Reply::ok(text).header("Content-Type", "text/html");
    let menu = "<nav>Please log in</nav>";
    world.reply("/", page(&format!("<title>News</title>{menu}<article>All is well today.</article>")));
    let id = world.add_with("a.test", "/", |new| new.kind = Kind::Website).await;
    world.poll_due().await;
    assert_eq!(reason(&world, id).await, None, "a menu is no wall");
    world.reply("/", page("<title>News</title><main>Please sign in to read on.</main>"));
    let source = world.poll_next(id).await;
    assert_eq!(source.suspect.unwrap().reason, Reason::LoginWall);
    assert_eq!(source.health.status(), Status::Healthy);
    // What has no text fails, and its title still gives it away.
    world.reply("/", page("<title>Just a moment...</title><script>go()</script>"));
    assert_eq!(world.poll_next(id).await.suspect.unwrap().reason, Reason::BotWall);
    world.reply("/", page("<title>News</title><article>All is well again.</article>"));
    assert_eq!(world.poll_next(id).await.suspect, None);
}

async fn an_index_whose_domain_is_for_sale_is_suspect(db: Database) {
    let mut world = World::new(db, &[]).await;
    let links: String = (1..6)
        .map(|n| {
            format!(
                "<h2><a href='/2026/a-long-enough-title-number-{n}'>A long enough title number {n}</a></h2>"
            )
        })
        .collect();
    let page = |text: &str| Reply::ok(text).header("Content-Type", "text/html");
    world.reply("/blog", page(&format!("<title>Blog</title><main>{links}</main>")));
    let id = world
        .add_with("a.test", "/blog", |new| {
            new.kind = Kind::Watchlist;
            new.article_selector = Some("h2 a".into());
        })
        .await;
    world.poll_due().await;
    assert_eq!(reason(&world, id).await, None);
    world.reply("/blog", page("<title>a.test</title><p>This domain is for sale!"));
    assert_eq!(world.poll_next(id).await.suspect.unwrap().reason, Reason::Parked);
    world.reply("/blog", page("<title>Blog</title><p>We are rebuilding."));
    assert_eq!(world.poll_next(id).await.suspect.unwrap().reason, Reason::Empty);
}

async fn a_suspicion_ends_with_the_url_that_it_was_of(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::items(&daily(Span::from_days(400))));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    assert_eq!(reason(&world, id).await, Some(Reason::Frozen));
    let url = world.source(id).await.settings.url.replace("/feed", "/other");
    let fields = gleaner::service::SourceFields { url: Some(url), ..Default::default() };
    world.service().change_source(id, None, &fields, Default::default()).await.unwrap();
    assert_eq!(reason(&world, id).await, None);
    assert_eq!(told(&world).await.last(), Some(&event("source.cleared", "")));
}

async fn a_calm_source_is_suspected_of_nothing(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::items(&daily(Span::ZERO)));
    let id = world.add("a.test", "/feed").await;
    world.answer("/dated", Answer::feed(&["undated", "as well", "and that", "too", "five", "six"]));
    let undated = world.add("b.test", "/dated").await;
    for _ in 0..20 {
        world.poll_next(id).await;
        world.poll_next(undated).await;
    }
    world.advance(Span::from_days(500));
    world.poll_due().await;
    assert_eq!(reason(&world, undated).await, None, "without dates there is no habit");
    assert_eq!(told(&world).await, [event("source.suspect", "frozen")]);
}

async fn a_feed_that_ends_early_again_is_suspect_until_it_is_whole(db: Database) {
    let mut world = World::new(db, &[]).await;
    let feed = |texts: &[&str], end: &str| {
        let item = |text: &&str| format!("<item><guid>{text}</guid><description>{text}</description></item>");
        let items: String = texts.iter().map(item).collect();
        Answer::Body(format!("<rss version='2.0'><channel><title>Some feed</title>{items}{end}"))
    };
    let (early, whole) = ("<item><guid>late</guid><descr", "</channel></rss>");
    world.answer("/feed", feed(&["one"], early));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    assert_eq!(reason(&world, id).await, None, "it may have been an accident");
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, Some(Reason::EndsEarly));
    let shown = world.source_json(id).await;
    assert_eq!(shown["suspect"]["reason"], "ends_early");
    let evidence = shown["suspect"]["evidence"].as_str().unwrap();
    assert!(
        evidence.starts_with("two documents in a row end early; the latest after 1 entries"),
        "{evidence}"
    );
    world.answer("/feed", feed(&["one", "two"], whole));
    world.poll_next(id).await;
    assert_eq!((reason(&world, id).await, world.bodies(id).await.len()), (None, 2));
    world.answer("/feed", feed(&["one", "two"], early));
    world.poll_next(id).await;
    assert_eq!(reason(&world, id).await, None);
    assert_eq!(
        told(&world).await,
        [event("source.suspect", "ends_early"), event("source.cleared", "")],
        "told once each"
    );
}
