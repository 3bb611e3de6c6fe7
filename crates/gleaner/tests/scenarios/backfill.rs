//! Existing entries at the first poll: none, recent or all.

use gleaner_core::backfill::Backfill;
use gleaner_core::source::Kind;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, Item, World};
use crate::support::Database;

on_both!(
    a_first_poll_stores_the_ten_newest,
    recent_entries_are_not_older_than_the_maximum_age,
    a_first_poll_that_failed_before_stores_the_ten_newest,
    an_index_is_followed_by_its_newest_ten,
);

/// Entries of the last hours, the newest first.
fn hourly(world: &World, hours: std::ops::RangeInclusive<u64>) -> Vec<Item> {
    hours
        .map(|hours| Item {
            published: world.now() - Span::from_hours(hours),
            ..Item::new(&format!("{hours} h ago"))
        })
        .collect()
}

async fn a_first_poll_stores_the_ten_newest(db: Database) {
    let mut world = World::new(db, &[]).await;
    // Oldest first, as some feeds have it.
    let mut items = hourly(&world, 1..=30);
    items.reverse();
    world.answer("/feed", Answer::items(&items));
    let id = world.add_with("a.test", "/feed", |new| new.backfill = Backfill::Recent).await;
    world.poll_due().await;
    let mut bodies = world.bodies(id).await;
    bodies.sort();
    let mut expected: Vec<String> = (1..=10).map(|hours| format!("{hours} h ago")).collect();
    expected.sort();
    assert_eq!(bodies, expected);
    assert_eq!(world.polls(id).await[0].record.skipped.beyond_recent, 20);
    // The rest counts as seen, and what comes later has no limit.
    items.extend(hourly(&world, 0..=0));
    world.answer("/feed", Answer::items(&items));
    world.poll_next(id).await;
    assert_eq!(world.posts(id).await.len(), 11);
}

async fn recent_entries_are_not_older_than_the_maximum_age(db: Database) {
    let mut world = World::new(db, &["source.max_article_age_days=1"]).await;
    world.answer("/feed", Answer::items(&hourly(&world, 20..=40)));
    let id = world.add_with("a.test", "/feed", |new| new.backfill = Backfill::Recent).await;
    world.poll_due().await;
    let skipped = world.polls(id).await[0].record.skipped;
    assert_eq!((world.posts(id).await.len(), skipped.too_old, skipped.beyond_recent), (5, 16, 0));
}

async fn a_first_poll_that_failed_before_stores_the_ten_newest(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.reply("/feed", crate::support::http::Reply::status(503));
    let id = world.add_with("a.test", "/feed", |new| new.backfill = Backfill::Recent).await;
    world.poll_due().await;
    world.answer("/feed", Answer::items(&hourly(&world, 1..=30)));
    world.poll_next(id).await;
    assert_eq!(world.posts(id).await.len(), 10);
}

async fn an_index_is_followed_by_its_newest_ten(db: Database) {
    let mut world = World::new(db, &[]).await;
    let link = |n: u32| {
        format!("<h2><a href='/posts/story-number-{n}'>The story of number {n} as it was told</a></h2>")
    };
    let index: String = (1..=15).rev().map(link).collect();
    world.answer(
        "/",
        Answer::body(&format!("<html><title>News</title><body><main>{index}</main></body></html>")),
    );
    for n in 1..=15 {
        let text = "Some text, with commas, and words enough to be an article of some length. ".repeat(5);
        let page = format!(
            "<html><title>Story {n}</title><body><article><p>{n}: {text}</p></article></body></html>"
        );
        world.answer(&format!("/posts/story-number-{n}"), Answer::body(&page));
    }
    let id = world
        .add_with("a.test", "/", |new| {
            new.kind = Kind::Watchlist;
            new.backfill = Backfill::Recent;
        })
        .await;
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 10);
    assert_eq!((world.requests("/posts/story-number-6"), world.requests("/posts/story-number-5")), (1, 0));
    world.poll_next(id).await;
    assert_eq!(world.posts(id).await.len(), 10, "the rest counts as seen");
}
