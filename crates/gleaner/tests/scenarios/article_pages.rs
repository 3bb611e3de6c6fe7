//! Article pages that fail: counted, reported, given up, retried; and what they mean for their source and its history.

use gleaner::service::poll_in_words;
use gleaner_core::health::Status;
use gleaner_core::source::Kind;
use gleaner_core::suspect::Reason;
use gleaner_core::time::Span;
use serde_json::Value;

use super::on_both;
use super::pages::{article, index, kind, paths};
use super::world::{Answer, World, rss};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    failing_pages_are_reported,
    pages_count_in_the_history,
    a_given_up_page_is_retried_by_hand,
    half_of_the_pages_failing_is_no_suspicion,
    pages_of_a_host_that_is_down_wait,
    full_content_is_a_post_at_once_and_replaced_by_its_page,
    a_changed_entry_of_full_content_is_fetched_again,
    a_retry_after_of_a_page_is_a_floor,
    a_wall_is_no_article,
    pages_of_a_disabled_source_are_not_fetched,
);

/// Events of these types, oldest first, as type and payload.
async fn events(world: &World, kinds: &[&str]) -> Vec<(String, Value)> {
    let store = world.store();
    store.number_events(10_000).await.unwrap();
    let events = store.events(0, 10_000).await.unwrap().into_iter().map(|event| event.event);
    let events = events.filter(|event| kinds.contains(&event.kind.as_str()));
    events.map(|event| (event.kind, serde_json::from_str(&event.payload).unwrap())).collect()
}

/// Lets pages be tried until nothing is left to try.
async fn exhaust(world: &mut World) {
    for _ in 0..5 {
        world.advance(Span::from_days(4));
        world.poll_due().await;
    }
}

async fn failing_pages_are_reported(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    let list = paths(0..12);
    world.answer("/", index(&list));
    list.iter().for_each(|path| world.answer(path, Answer::Status(403)));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!((source.pages.waiting, source.pages.failed, source.pages.given_up), (0, 12, 0));
    let explained = world.service().explain(id).await.unwrap();
    let notice = explained.notices.iter().find(|notice| notice.starts_with("Article pages: ")).unwrap();
    assert!(notice.contains("0 waiting, 12 failed and tried again, 0 given up"), "{notice}");
    assert!(notice.contains("403 Forbidden"), "{notice}");
    // All of the latest ten failed: the source is suspect, though its index can be read.
    let suspect = source.pages_suspect.expect("suspect");
    assert_eq!(suspect.reason, Reason::PagesFailing);
    assert!(explained.summary.contains("something seems to be wrong"), "{}", explained.summary);
    assert!(
        explained.notices.iter().any(|notice| notice.contains("pages failing")),
        "{:?}",
        explained.notices
    );
    world.poll_next(id).await;
    assert!(world.source(id).await.pages_suspect.is_some(), "an index that can be read does not end it");
    exhaust(&mut world).await;
    let source = world.source(id).await;
    assert_eq!((source.pages.waiting, source.pages.failed, source.pages.given_up), (0, 0, 12));
    assert_eq!(source.health.status(), Status::Healthy, "its index answers");
    let given_up = events(&world, &["page.given_up"]).await;
    assert_eq!(given_up.len(), 12);
    let (_, event) = &given_up[0];
    assert_eq!(event["url"], source.settings.url);
    assert!(event["page"].as_str().unwrap().contains("/posts/story-number-"), "{event}");
    assert_eq!((&event["error"], &event["tries"]), (&"403 Forbidden".into(), &5.into()));
    assert_eq!(world.logs_of("page given up", event["page"].as_str().unwrap()).len(), 1);
    let explained = world.service().explain(id).await.unwrap();
    assert!(explained.notices.iter().any(|notice| notice.contains("12 given up")), "{:?}", explained.notices);
    assert!(
        explained.changes.iter().any(|change| change.contains("Retrying the pages")),
        "{:?}",
        explained.changes
    );
    assert_eq!(events(&world, &["source.suspect"]).await.len(), 1, "reported once");
    // One page that can be fetched ends the suspicion.
    world.answer(&list[3], article("At last", "It is there"));
    assert_eq!(world.service().retry_pages(id).await.unwrap(), 12);
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!((source.pages_suspect, source.pages.failed, source.pages.given_up), (None, 11, 0));
    assert_eq!(events(&world, &["source.cleared"]).await.len(), 1);
    assert_eq!(world.posts(id).await.len(), 1);
}

async fn pages_count_in_the_history(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    let list = paths(0..4);
    world.answer("/", index(&list));
    list.iter().for_each(|path| world.answer(path, article(path, path)));
    world.answer(&list[1], Answer::Status(404));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    let poll = world.polls(id).await.remove(0);
    assert_eq!((poll.new_posts, poll.pages.queued, poll.pages.fetched, poll.pages.failed), (3, 4, 3, 1));
    assert_eq!(poll_in_words(&poll), "3 new posts, 4 article pages: 3 fetched, 1 failed");
    let hour = world.service().overview().await.unwrap().activity.pop().unwrap();
    assert_eq!((hour.polls, hour.posts), (1, 3), "they count in the activity of the hour, too");
    // Unchanged polls share a row, but not with one that queued pages.
    world.poll_times(id, 3).await;
    let first = world.polls(id).await.pop().unwrap();
    assert_eq!((first.count, first.new_posts), (1, 3));
    world.answer(&list[1], article("Late", "It came late"));
    world.answer("/", index(&paths(0..5)));
    world.answer(&paths(4..5)[0], article("Fifth", "The fifth"));
    for _ in 0..3 {
        world.advance(Span::from_days(1));
        world.poll_due().await;
    }
    let polls = world.polls(id).await;
    assert_eq!(polls.iter().map(|poll| poll.new_posts).sum::<i64>(), 5);
    let first = polls.last().unwrap();
    assert_eq!(
        (first.new_posts, first.pages.fetched, first.pages.failed),
        (4, 4, 0),
        "the late one is its own"
    );
    assert_eq!(world.posts(id).await.len(), 5);
}

async fn a_given_up_page_is_retried_by_hand(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=1440"]).await;
    let list = paths(0..3);
    world.answer("/", index(&list));
    list.iter().for_each(|path| world.answer(path, article(path, path)));
    world.answer(&list[0], Answer::Status(500));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    exhaust(&mut world).await;
    let asked = world.requests(&list[0]);
    assert_eq!(asked, 5);
    let pages = world.service().waiting_pages(id, None, None, 10).await.unwrap();
    assert_eq!((pages.len(), pages[0].state.name(), pages[0].tries), (1, "given_up", 5));
    assert_eq!((pages[0].error.as_deref(), pages[0].next_try_at), (Some("500 Internal Server Error"), None));
    world.answer(&list[0], article("There it is", "After all"));
    assert_eq!(world.service().retry_pages(id).await.unwrap(), 1);
    assert_eq!(world.service().retry_pages(id).await.unwrap(), 0);
    world.poll_due().await;
    assert_eq!((world.requests(&list[0]), world.posts(id).await.len()), (asked + 1, 3));
    assert!(world.service().waiting_pages(id, None, None, 10).await.unwrap().is_empty());
    assert!(world.service().retry_pages(999).await.is_err(), "there is no such source");
}

async fn half_of_the_pages_failing_is_no_suspicion(db: Database) {
    let mut world = World::new(db, &[]).await;
    let list = paths(0..20);
    world.answer("/", index(&list));
    for (n, path) in list.iter().enumerate() {
        world.answer(path, if n % 2 == 0 { Answer::Status(403) } else { article(path, path) });
    }
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!((source.pages.waiting, source.pages.failed), (0, 10));
    assert_eq!(source.pages_suspect, None);
    assert_eq!(world.posts(id).await.len(), 10);
}

async fn pages_of_a_host_that_is_down_wait(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    let port = world.server().address().port();
    world.add_name("b.test");
    world.answer(
        "/",
        Answer::body(&format!("<article><h2><a href='http://b.test:{port}/away'>Away</a></h2></article>")),
    );
    world.answer("/away", Answer::Reset);
    let id = world
        .add_with("a.test", "/", |new| {
            new.kind = Kind::Watchlist;
            new.article_selector = Some("h2 a".into());
        })
        .await;
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!((source.health.status(), source.pages.waiting + source.pages.failed), (Status::Healthy, 1));
    world.answer("/away", article("Back", "It is back"));
    for _ in 0..48 {
        world.advance(Span::from_hours(1));
        world.poll_due().await;
    }
    assert_eq!(world.posts(id).await.len(), 1);
    assert!(world.source(id).await.pages.is_empty());
}

/// A feed of one entry with this title and summary, whose page is there.
fn entry(world: &World, title: &str, summary: &str) -> Answer {
    let port = world.server().address().port();
    Answer::Body(rss(&format!(
        "<item><guid>1</guid><title>{title}</title><link>http://a.test:{port}/one</link>\
         <description>{summary}</description></item>"
    )))
}

async fn full_content_is_a_post_at_once_and_replaced_by_its_page(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    world.answer("/feed", entry(&world, "One", "A summary"));
    world.answer("/one", Answer::Status(503));
    let id = world.add_with("a.test", "/feed", |new| new.full_content = true).await;
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["A summary"]);
    let poll = world.polls(id).await.remove(0);
    assert_eq!((poll.new_posts, poll.pages.queued, poll.pages.failed), (1, 1, 1));
    world.answer("/one", article("Another title", "The whole story"));
    world.advance(Span::from_hours(2));
    world.poll_due().await;
    let posts = world.posts(id).await;
    assert_eq!((posts.len(), posts[0].revision), (1, 1), "the publisher changed nothing");
    assert_eq!(posts[0].content.title.as_deref(), Some("One"));
    assert!(posts[0].content.body.starts_with("The whole story"), "{}", posts[0].content.body);
    let kinds: Vec<String> =
        events(&world, &["post.created", "post.updated"]).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["post.created", "post.updated"]);
    let poll = world.polls(id).await.pop().unwrap();
    assert_eq!((poll.new_posts, poll.pages.fetched, poll.pages.failed), (1, 1, 0), "the post counts once");
    world.poll_times(id, 3).await;
    assert_eq!(world.posts(id).await[0].revision, 1);
    assert_eq!(world.requests("/one"), 2, "it is not fetched again");
}

async fn a_changed_entry_of_full_content_is_fetched_again(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    world.answer("/feed", entry(&world, "One", "A summary"));
    world.answer("/one", article("A page", "The whole story"));
    let id = world.add_with("a.test", "/feed", |new| new.full_content = true).await;
    world.poll_due().await;
    // Its title is another one at once; its text stays until its page is there.
    world.answer("/feed", entry(&world, "One, corrected", "A summary"));
    world.answer("/one", Answer::Status(503));
    world.poll_next(id).await;
    let post = world.posts(id).await.remove(0);
    assert_eq!((post.content.title.as_deref(), post.revision), (Some("One, corrected"), 2));
    assert!(post.content.body.starts_with("The whole story"), "{}", post.content.body);
    world.answer("/one", article("A page", "The story, corrected"));
    world.advance(Span::from_hours(2));
    world.poll_due().await;
    let post = world.posts(id).await.remove(0);
    assert!(post.content.body.starts_with("The story, corrected"), "{}", post.content.body);
    assert_eq!(post.revision, 3);
    // The summary changes, the page does not: no revision.
    world.answer("/feed", entry(&world, "One, corrected", "Another summary"));
    world.poll_next(id).await;
    assert_eq!(world.requests("/one"), 4);
    assert_eq!(world.posts(id).await[0].revision, 3);
    assert_eq!(world.posts(id).await.len(), 1);
}

async fn a_retry_after_of_a_page_is_a_floor(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=1440"]).await;
    let list = paths(0..1);
    world.answer("/", index(&paths(0..3)));
    world.reply(&list[0], Reply::status(503).header("Retry-After", "36000"));
    world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    world.advance(Span::from_hours(9));
    world.poll_due().await;
    assert_eq!(world.requests(&list[0]), 1, "ten hours were asked for");
    world.advance(Span::from_hours(2));
    world.poll_due().await;
    assert_eq!(world.requests(&list[0]), 2);
}

async fn a_wall_is_no_article(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=1440"]).await;
    let list = paths(0..3);
    world.answer("/", index(&list));
    list.iter().for_each(|path| world.answer(path, article(path, path)));
    let wall = "<html><title>Just a moment...</title><p>Verify you are human by completing the action below.</p></html>";
    world.answer(&list[1], Answer::body(wall));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    assert_eq!((world.posts(id).await.len(), world.source(id).await.pages.failed), (2, 1));
    let page = world.service().waiting_pages(id, None, None, 10).await.unwrap().remove(0);
    assert!(page.error.as_deref().unwrap().contains("just a moment"), "{page:?}");
    world.answer(&list[1], article("It is there", "After all"));
    world.advance(Span::from_hours(2));
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 3, "and once it lets us in, its page is a post");
}

async fn pages_of_a_disabled_source_are_not_fetched(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=1440"]).await;
    let list = paths(0..3);
    world.answer("/", index(&list));
    list.iter().for_each(|path| world.answer(path, Answer::Status(500)));
    let id = world.add_with("a.test", "/", kind(Kind::Watchlist)).await;
    world.poll_due().await;
    world.service().set_enabled(id, false).await.unwrap();
    list.iter().for_each(|path| world.answer(path, article(path, path)));
    for _ in 0..5 {
        world.advance(Span::from_hours(30));
        world.poll_due().await;
    }
    assert!(list.iter().all(|path| world.requests(path) == 1));
    world.service().set_enabled(id, true).await.unwrap();
    for _ in 0..2 {
        world.advance(Span::from_hours(30));
        world.poll_due().await;
    }
    assert_eq!(world.posts(id).await.len(), 3, "nothing is lost by it");
}
