//! Websites, watchlists, and the pages of entries.

use gleaner::service::SourceSettings;
use gleaner::store::Cleanup;
use gleaner_core::source::Kind;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World, rss};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    website_new_content_is_a_post,
    website_unchanged_is_no_post,
    unchanged_website_survives_cleanup,
    a_website_ignores_what_always_changes,
    scraped_post_from_watchlist,
    watchlist_uses_css_selector,
    a_selector_that_takes_too_long_fails_its_poll,
    readability_fallback,
    a_watchlist_without_links_says_so,
    a_page_that_fails_is_tried_five_times_and_its_source_is_healthy,
    the_first_look_at_an_index_follows_twenty,
    later_looks_follow_the_rest_in_turn,
    pages_of_one_host_keep_its_delay,
    a_429_of_a_page_holds_its_host,
    a_page_that_is_too_old_is_no_post,
    full_content_stores_the_page,
    full_content_keeps_what_the_feed_says_where_its_page_fails,
    a_page_that_cannot_be_recorded_is_tried_again_and_holds_up_no_other,
    what_is_no_page_is_no_post,
);

/// A page with this head and content.
pub(super) fn page(head: &str, content: &str) -> Answer {
    Answer::Body(format!(
        "<!doctype html><html><head>{head}</head><body><nav><a href=/about>About</a></nav>{content}\
         <footer>All rights reserved</footer></body></html>"
    ))
}

/// An article long enough to be told from what is around it.
pub(super) fn article(title: &str, text: &str) -> Answer {
    let paragraph =
        format!("<p>{text}, and so on and so forth, with commas, and a good number of words.</p>");
    page(
        &format!("<title>{title}</title><meta name=author content='Ada'>"),
        &format!("<article><h1>{title}</h1>{}</article>", paragraph.repeat(5)),
    )
}

/// An index of these pages.
pub(super) fn index(paths: &[String]) -> Answer {
    let items: String = paths
        .iter()
        .map(|path| {
            let words = path.trim_matches('/').replace(['-', '/'], " ");
            format!("<article><h2><a href='{path}'>The story of {words} as it was told</a></h2></article>")
        })
        .collect();
    page("<title>News</title>", &format!("<main>{items}</main>"))
}

pub(super) fn paths(numbers: std::ops::Range<u32>) -> Vec<String> {
    // The newest first.
    numbers.rev().map(|n| format!("/posts/story-number-{n}")).collect()
}

pub(super) fn kind(kind: Kind) -> impl FnOnce(&mut SourceSettings) {
    move |new| new.kind = kind
}

async fn website_new_content_is_a_post(db: Database) {
    let mut world = World::new(db, &[]).await;
    let both =
        "<title>Prices</title><meta property='article:author' content='Bo'><meta name=author content='Ada'>";
    world.answer("/", page(both, "<article><p>Ten a piece</p></article>"));
    let id = world.add_with("a.test", "/", kind(Kind::Website)).await;
    world.poll_due().await;
    let only =
        "<title>Prices</title><meta name=author content=' '><meta property='article:author' content='Bo'>";
    world.answer("/", page(only, "<article><p>Nine a piece</p></article>"));
    world.poll_next(id).await;
    let posts = world.posts(id).await;
    assert_eq!(world.bodies(id).await, ["Nine a piece", "Ten a piece"]);
    assert!(posts.iter().all(|post| post.content.title.as_deref() == Some("Prices")));
    let authors: Vec<_> = posts.iter().map(|post| post.content.author.as_deref()).collect();
    assert_eq!(authors, [Some("Bo"), Some("Ada")]);
    assert_eq!(posts[0].content.url.as_deref(), Some(world.server().url_of("a.test", "/").as_str()));
}

async fn website_unchanged_is_no_post(db: Database) {
    let mut world = World::new(db, &[]).await;
    let version = |advert: &str, price: &str| {
        page("", &format!("<aside>{advert}</aside><article>{price} a piece</article>"))
    };
    world.answer("/", version("Buy!", "Ten"));
    let id = world.add_with("a.test", "/", kind(Kind::Website)).await;
    world.poll_due().await;
    world.answer("/", version("Buy now!", "Ten"));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await.len(), 1, "what is around the content is no content");
    world.answer("/", version("Buy now!", "Nine"));
    world.poll_next(id).await;
    world.answer("/", version("Buy now!", "Ten"));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["Nine a piece", "Ten a piece"], "it had said that before");
}

async fn unchanged_website_survives_cleanup(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=1440"]).await;
    world.reply("/", Reply::ok("<html><article>Always the same</article></html>"));
    let id = world.add_with("a.test", "/", kind(Kind::Website)).await;
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 1);
    for week in 0..52 {
        world.advance(Span::from_days(7));
        // Other bytes, the same content.
        world
            .reply("/", Reply::ok(format!("<html><!-- {week} --><article>Always the same</article></html>")));
        world.poll_due().await;
    }
    assert!(world.posts(id).await.is_empty(), "its post was cleaned up, and no other came");
    assert_eq!(world.failures(id).await, 0);
    let cleanup = Cleanup {
        articles_before: None,
        posts_before: Some(world.now()),
        seen_before: world.now(),
        polls_before: world.now(),
        polls_per_source: 1,
        activity_before: world.now(),
        pages_before: world.now(),
        events_before: world.now(),
        audit_before: world.now(),
        batch: 1000,
    };
    world.store().clean_up(&cleanup).await.unwrap();
    world.reply("/", Reply::ok("<html><!-- once more --><article>Always the same</article></html>"));
    world.poll_next(id).await;
    assert!(world.posts(id).await.is_empty());
}

async fn a_website_ignores_what_always_changes(db: Database) {
    let mut world = World::new(db, &[]).await;
    let version =
        |visits: u32| page("", &format!("<article>Text<p class=visits>{visits} visits</p></article>"));
    world.answer("/", version(1));
    let id = world
        .add_with("a.test", "/", |new| {
            new.kind = Kind::Website;
            new.ignore_selector = Some(".visits".into());
        })
        .await;
    world.poll_due().await;
    world.answer("/", version(2));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["Text"]);
}

async fn scraped_post_from_watchlist(db: Database) {
    let mut world = World::new(db, &[]).await;
    let old = paths(0..4);
    world.answer("/blog/", index(&old));
    for path in &old {
        world.answer(path, article(path, path));
    }
    let id = world.add_with("a.test", "/blog/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 4);
    let all = paths(0..5);
    world.answer("/blog/", index(&all));
    world.answer(&all[0], article("The newest", "Fresh news"));
    world.poll_next(id).await;
    let posts = world.posts(id).await;
    assert_eq!(posts.len(), 5);
    let post = &posts[0].content;
    assert_eq!(post.title.as_deref(), Some("The newest"));
    assert_eq!(post.url.as_deref(), Some(world.server().url_of("a.test", &all[0]).as_str()));
    assert_eq!(post.author.as_deref(), Some("Ada"));
    assert!(post.body.starts_with("Fresh news, and so on"), "{}", post.body);
    assert!(!post.body.contains("All rights reserved"));
    assert!(post.raw_content.as_deref().unwrap().contains("<p>Fresh news"));
    assert_eq!(world.requests(&old[0]), 1, "what is known is not fetched again");
}

async fn watchlist_uses_css_selector(db: Database) {
    let mut world = World::new(db, &[]).await;
    let links = "<article><h2><a href=/one>One</a></h2><p><a href=/not-this>A link with a longer text</a></p></article>\
         <article><h2><a href='http://a.test/two#comments'>Two</a></h2></article>\
         <article><h2><a href=/three#comments>Three</a></h2></article>";
    world.answer("/", page("", links));
    world.answer("/one", article("The first", "One story"));
    world.answer("/three", article("The third", "Another story"));
    world.answer("/not-this", article("Not this", "No story"));
    let id = world
        .add_with("a.test", "/", |new| {
            new.kind = Kind::Watchlist;
            new.article_selector = Some("article h2 a".into());
        })
        .await;
    world.poll_due().await;
    assert_eq!(
        world.asked_paths(),
        ["/robots.txt", "/", "/one", "/three"],
        "the other one is another port's"
    );
    assert_eq!(world.failures(id).await, 0);
    let mut posts: Vec<_> = world
        .posts(id)
        .await
        .into_iter()
        .map(|post| (post.content.title.unwrap(), post.content.url.unwrap(), post.content.body))
        .collect();
    posts.sort();
    assert_eq!(posts.len(), 2, "{posts:?}");
    for ((title, url, body), (path, expected, text)) in
        posts.iter().zip([("/one", "The first", "One story"), ("/three", "The third", "Another story")])
    {
        assert_eq!(
            (title.as_str(), url.as_str()),
            (expected, world.server().url_of("a.test", path).as_str())
        );
        assert!(body.contains(text), "{body}");
    }
}

async fn readability_fallback(db: Database) {
    let mut world = World::new(db, &[]).await;
    let path = &paths(0..1)[0];
    let list = paths(0..6);
    world.answer("/", index(&list));
    let words = "word ".repeat(200);
    let app = format!("<title>No article</title><body><button>{words}</button></body>");
    world.answer(path, Answer::body(&app));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    let posts = world.posts(id).await;
    assert_eq!(posts.len(), 1, "{posts:#?}");
    assert_eq!(posts[0].content.title.as_deref(), Some("No article"));
    let raw = posts[0].content.raw_content.as_deref().unwrap();
    assert_eq!(raw, words[..500].trim());
}

async fn a_watchlist_without_links_says_so(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/", page("", "<p>Nothing here yet</p>"));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    assert_eq!(world.failures(id).await, 0);
    let note = world.polls(id).await[0].record.note.clone().unwrap();
    assert!(note.contains("article_selector may help"), "{note}");
}

async fn a_page_that_fails_is_tried_five_times_and_its_source_is_healthy(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=1440"]).await;
    let list = paths(0..5);
    world.answer("/", index(&list));
    for path in &list {
        world.answer(path, article(path, path));
    }
    world.answer(&list[2], Answer::Status(500));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    assert_eq!((world.posts(id).await.len(), world.requests(&list[2])), (4, 1));
    for (hours, tries) in [(1, 1), (2, 2), (5, 2), (7, 3), (20, 3), (27, 4), (60, 4), (80, 5), (1000, 5)] {
        world.advance(Span::from_hours(hours));
        world.poll_due().await;
        assert_eq!(world.requests(&list[2]), tries, "after {hours} more hours");
    }
    let given_up = world.server().url_of("a.test", &list[2]);
    let line = world.log_of("page given up", given_up.as_str());
    assert_eq!(
        (&line["level"], &line["tries"], &line["error_type"]),
        (&"WARN".into(), &5.into(), &"upstream_failure".into())
    );
    // Given up means seen, also when the index changes.
    world.answer("/", index(&paths(0..6)));
    world.poll_next(id).await;
    assert_eq!(world.requests(&list[2]), 5);
    let source = world.source(id).await;
    assert_eq!((source.health.failing, source.health.quarantine), (None, None));
}

async fn the_first_look_at_an_index_follows_twenty(db: Database) {
    let mut world = World::new(db, &[]).await;
    let list = paths(0..30);
    world.answer("/", index(&list));
    for path in &list {
        world.answer(path, article(path, path));
    }
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 20);
    world.answer("/", index(&paths(0..31)));
    world.answer(&paths(30..31)[0], article("new", "new"));
    world.poll_next(id).await;
    world.poll_next(id).await;
    assert_eq!(world.posts(id).await.len(), 21, "what was beyond counts as seen");
}

async fn later_looks_follow_the_rest_in_turn(db: Database) {
    let mut world = World::new(db, &["source.max_articles_per_poll=3"]).await;
    let list = paths(0..12);
    for path in &list {
        world.answer(path, article(path, path));
    }
    world.answer("/", index(&list[8..]));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 3);
    // Eight more at once, and then the page does not change any more.
    world.answer("/", index(&list));
    let mut counts = Vec::new();
    for _ in 0..4 {
        world.poll_next(id).await;
        counts.push(world.posts(id).await.len());
    }
    assert_eq!(counts, [6, 9, 11, 11]);
    let notes: Vec<_> = world.polls(id).await.into_iter().filter_map(|poll| poll.record.note).collect();
    assert_eq!(notes.last().unwrap(), "3 pages are fetched now, 5 more at the next polls");
}

async fn pages_of_one_host_keep_its_delay(db: Database) {
    let mut world = World::new(db, &["source.poll_delay_seconds.watchlist=10"]).await;
    let list = paths(0..4);
    world.answer("/", index(&list));
    for path in &list {
        world.answer(path, article(path, path));
    }
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    for expected in 0..=4 {
        assert_eq!(world.posts(id).await.len(), expected);
        world.advance(Span::from_secs(9));
        world.poll_due().await;
        assert_eq!(world.posts(id).await.len(), expected, "not before its time");
        world.advance(Span::from_secs(1));
        world.poll_due().await;
    }
}

async fn a_429_of_a_page_holds_its_host(db: Database) {
    let mut world = World::new(db, &[]).await;
    let list = paths(0..4);
    world.answer("/", index(&list));
    for path in &list {
        world.reply(path, Reply::status(429).header("Retry-After", "1200"));
    }
    world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    let asked = world.asked_paths().len();
    assert_eq!(asked, 3, "robots.txt, the index and one page: {:?}", world.asked_paths());
    world.advance(Span::from_secs(1199));
    world.poll_due().await;
    assert_eq!(world.asked_paths().len(), asked);
    world.advance(Span::from_secs(1));
    world.poll_due().await;
    assert_eq!(world.asked_paths().len(), asked + 1);
}

async fn a_page_that_is_too_old_is_no_post(db: Database) {
    let mut world = World::new(db, &[]).await;
    let list = paths(0..4);
    world.answer("/", index(&list));
    for (path, date) in list.iter().zip(["2026-11-15T00:01:00Z", "2026-11-01", "2020-01-01", "2031-01-01"]) {
        let meta = format!("<title>{path}</title><meta property='article:published_time' content='{date}'>");
        let text =
            "<p>Some text, with commas, and words enough to be an article of some length.</p>".repeat(5);
        world.answer(path, page(&meta, &format!("<article><h1>{path}</h1>{path} {text}</article>")));
    }
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    let dates: Vec<_> = world.posts(id).await.into_iter().map(|post| post.content.published_at).collect();
    assert_eq!(dates.len(), 2, "{dates:?}");
    assert!(dates.contains(&None), "a date in the far future is none");
    let poll = &world.polls(id).await[0];
    let skipped = &poll.record.skipped;
    assert_eq!((skipped.before_source, skipped.too_old), (2, 0), "on the first poll");
    assert_eq!((poll.new_posts, poll.pages.queued, poll.pages.fetched), (2, 4, 4));
    let older = "/posts/an-older-story-that-came-late";
    world.answer("/", index(&[vec![older.to_owned()], list.clone()].concat()));
    let meta = "<title>Late</title><meta property='article:published_time' content='2026-01-01'>";
    let text = "<p>Late text, with commas, and words enough to be an article of some length.</p>".repeat(5);
    world.answer(older, page(meta, &format!("<article><h1>Late</h1>{text}</article>")));
    world.poll_next(id).await;
    let poll = &world.polls(id).await[0];
    assert_eq!((poll.record.skipped.too_old, poll.new_posts, poll.pages.fetched), (1, 0, 1));
    world.advance(Span::from_days(1));
    world.poll_due().await;
    assert_eq!(world.requests(&list[1]), 1, "and it is not fetched again");
}

/// A feed with one entry that has but a summary.
fn summary(text: &str) -> Answer {
    Answer::Body(rss(&format!(
        "<item><guid>1</guid><title>One</title><link>http://a.test/{text}</link>\
         <description>{text}</description></item>"
    )))
}

async fn full_content_stores_the_page(db: Database) {
    let mut world = World::new(db, &[]).await;
    let port = world.server().address().port();
    let item = format!(
        "<item><guid>1</guid><title>One</title><link>http://a.test:{port}/one</link><author>Bo</author>\
         <description>Summary</description></item><item><guid>2</guid><description>No link</description></item>"
    );
    world.answer("/feed", Answer::Body(rss(&item)));
    world.answer("/one", article("Its page's title", "The whole story"));
    let id = world.add_with("a.test", "/feed", |new| new.full_content = true).await;
    world.poll_due().await;
    let mut posts = world.posts(id).await;
    posts.sort_by_key(|post| post.content.guid.clone());
    let one = &posts[0].content;
    assert_eq!(
        (one.title.as_deref(), one.author.as_deref(), one.guid.as_str()),
        (Some("One"), Some("Bo"), "1")
    );
    assert!(one.body.starts_with("The whole story"), "{}", one.body);
    assert_eq!(posts[1].content.body, "No link");
}

async fn full_content_keeps_what_the_feed_says_where_its_page_fails(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", summary("gone"));
    let id = world.add_with("a.test", "/feed", |new| new.full_content = true).await;
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["gone"], "it is a post at once");
    for _ in 0..5 {
        world.advance(Span::from_days(4));
        world.poll_due().await;
    }
    let posts = world.posts(id).await;
    assert_eq!((posts.len(), posts[0].content.body.as_str(), posts[0].revision), (1, "gone", 1));
    assert_eq!(world.failures(id).await, 0);
    assert_eq!(world.source(id).await.pages.given_up, 1);
}

async fn a_page_that_cannot_be_recorded_is_tried_again_and_holds_up_no_other(db: Database) {
    let mut world = World::new(db, &[]).await;
    let list = paths(0..2);
    world.answer("/", index(&list));
    list.iter().for_each(|path| world.answer(path, article(path, path)));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    // One post a source, so that the second page is refused.
    world.database().behind_its_back("CREATE UNIQUE INDEX trap ON posts (source_id)").await;
    world.poll_due().await;
    assert!(world.log().contains("a page could not be recorded; nothing of it is kept"), "{}", world.log());
    world.answer("/feed", Answer::feed(&["one"]));
    let other = world.add("a.test", "/feed").await;
    world.advance(Span::from_secs(1));
    world.poll_due().await;
    assert_eq!(world.bodies(other).await, ["one"], "the host was given back");
    assert_eq!((world.posts(id).await.len(), world.failures(id).await), (1, 0));
    world.database().behind_its_back("DROP INDEX trap").await;
    world.advance(Span::from_hours(2));
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 2);
    let source = world.source(id).await;
    assert!(source.pages.is_empty(), "{:?}", source.pages);
}

async fn what_is_no_page_is_no_post(db: Database) {
    let mut world = World::new(db, &[]).await;
    let list = paths(0..3);
    world.answer("/", index(&list));
    world.reply(&list[0], Reply::ok("%PDF-1.7").header("Content-Type", "application/pdf"));
    world.reply(&list[1], Reply::ok(vec![0_u8; 1000]).header("Content-Type", "image/png"));
    world.answer(&list[2], article("A page", "Text"));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 1);
}

async fn a_selector_that_takes_too_long_fails_its_poll(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/", page("", &"<h2><a href=/one>One</a></h2>".repeat(20_000)));
    let selector = "h2:has(~ z) a";
    let id = world
        .add_with("a.test", "/", |new| {
            new.kind = Kind::Watchlist;
            new.article_selector = Some(selector.into());
        })
        .await;
    world.poll_due().await;
    let health = world.source(id).await.health;
    let failing = health.failing.unwrap();
    assert_eq!(failing.kind.name(), "parse_error");
    assert!(
        failing.message.contains(selector) && failing.message.contains("given up"),
        "{}",
        failing.message
    );
}
