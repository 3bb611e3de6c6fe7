//! What is kept and for how long.

use gleaner::store::NewArticle;
use gleaner_core::time::{Span, Time};
use reqwest::Method;
use serde_json::json;

use super::on_both;
use super::world::{Answer, Item, World, rss};
use crate::support::Database;

on_both!(
    old_post_is_skipped,
    post_without_date_is_kept,
    first_poll_skips_posts_older_than_source,
    first_poll_keeps_newer_posts,
    later_polls_ignore_created_at,
    skipped_on_first_poll_stays_skipped,
    old_unprocessed_articles_are_deleted,
    old_processed_articles_are_kept,
    old_unlinked_posts_are_deleted_linked_kept,
    failed_first_poll_does_not_flood,
    the_epoch_of_a_clock_is_no_date,
);

/// An entry published so long before the world's beginning.
fn aged(world: &World, text: &str, age: Span) -> Item {
    Item { published: world.now() - age, ..Item::new(text) }
}

async fn old_post_is_skipped(db: Database) {
    let mut world = World::new(db, &["source.max_article_age_days=7"]).await;
    world.answer("/feed", Answer::feed(&["first"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.advance(Span::from_hours(1));
    let items = [aged(&world, "old", Span::from_days(8)), aged(&world, "young", Span::from_days(6))];
    world.answer("/feed", Answer::items(&items));
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["young", "first"]);
    assert_eq!(world.polls(id).await[0].record.skipped.too_old, 1);
}

async fn the_epoch_of_a_clock_is_no_date(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["first"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let dates = ["Thu, 01 Jan 1970 00:00:00 GMT", "1969-12-31T19:00:00-05:00", "0001-01-01T00:00:00Z"];
    let items: String = dates
        .iter()
        .map(|date| {
            format!(
                "<item><guid>{date}</guid><description>{date}</description><pubDate>{date}</pubDate></item>"
            )
        })
        .collect();
    world.answer("/feed", Answer::body(&rss(&items)));
    world.poll_next(id).await;
    let posts = world.posts(id).await;
    assert_eq!(posts.len(), 4, "software without a date writes it");
    assert!(posts.iter().all(|post| post.content.published_at.is_none()));
}

async fn post_without_date_is_kept(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["undated one"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.answer("/feed", Answer::feed(&["undated one", "undated two"]));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["undated two", "undated one"]);
}

async fn first_poll_skips_posts_older_than_source(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::items(&[aged(&world, "before", Span::from_hours(2))]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    assert!(world.posts(id).await.is_empty());
    assert_eq!(world.polls(id).await[0].record.skipped.before_source, 1);
}

async fn first_poll_keeps_newer_posts(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = world.add("a.test", "/feed").await;
    world.advance(Span::from_hours(1));
    world.answer("/feed", Answer::items(&[aged(&world, "after", Span::from_mins(10))]));
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["after"]);
}

async fn later_polls_ignore_created_at(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["first"]));
    let id = world.add("a.test", "/feed").await;
    let before = aged(&world, "before the source", Span::from_hours(2));
    world.poll_due().await;
    world.answer("/feed", Answer::items(&[before]));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["before the source", "first"]);
}

async fn skipped_on_first_poll_stays_skipped(db: Database) {
    let mut world = World::new(db, &[]).await;
    let before = aged(&world, "before", Span::from_hours(2));
    world.answer("/feed", Answer::items(std::slice::from_ref(&before)));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.answer("/feed", Answer::items(&[before, Item::new("new")]));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["new"]);
}

async fn failed_first_poll_does_not_flood(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::Status(500));
    let id = world.add("a.test", "/feed").await;
    let before = aged(&world, "before", Span::from_hours(2));
    world.poll_due().await;
    world.answer("/feed", Answer::items(&[before, Item::new("new")]));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["new"]);
}

/// An article published so long ago.
fn article(world: &World, age: Span, post_ids: Vec<i64>) -> NewArticle {
    let published_at = Some(world.now() - age);
    NewArticle { title: "An article".into(), body: String::new(), url: None, published_at, post_ids }
}

async fn old_unprocessed_articles_are_deleted(db: Database) {
    let settings = ["source.max_article_age_days=7", "fetch.timeout_seconds=2"];
    let mut world = World::new(db, &settings).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let (api, post) = (world.api().await, world.posts(id).await[0].id);
    let create = async |published_at: Option<Time>| {
        let body = json!({ "title": "An article", "published_at": published_at, "post_ids": [post] });
        api.send(Method::POST, "/articles", Some(body)).await.is(201)["id"].as_i64().unwrap()
    };
    // All made at the same time: only their dates of publication tell them apart.
    let later = world.now() + Span::from_mins(30);
    let old = create(Some(later - Span::from_days(7) - Span::from_millis(1))).await;
    let young = create(Some(later - Span::from_days(7) + Span::from_millis(1))).await;
    let undated = create(None).await;
    world.clock().set(later);
    // The old one is gone while the server has yet to answer.
    world.answer("/feed", Answer::Never);
    world.begin_due().await;
    world.server().until_asked("/feed", 2).await;
    assert_eq!(world.source(id).await.health.last_polled_at, Some(later - Span::from_mins(30)));
    let status =
        async |article: i64| api.send(Method::GET, &format!("/articles/{article}"), None).await.status;
    assert_eq!((status(old).await, status(young).await, status(undated).await), (404, 200, 200));
    world.finish().await;
    assert_eq!(world.posts(id).await.len(), 1, "its post stays");
}

async fn old_processed_articles_are_kept(db: Database) {
    let mut world = World::new(db, &[]).await;
    let store = world.store();
    let old =
        store.create_article(&article(&world, Span::from_days(900), vec![]), world.now()).await.unwrap();
    store.set_processed(old, true).await.unwrap();
    world.poll_due().await;
    assert!(store.article(old).await.unwrap().is_processed);
}

async fn old_unlinked_posts_are_deleted_linked_kept(db: Database) {
    let mut world = World::new(db, &["source.keep_unlinked_posts_days=90"]).await;
    world.answer("/feed", Answer::feed(&["linked", "unlinked"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let store = world.store();
    let linked = world.posts(id).await.into_iter().find(|post| post.content.body == "linked").unwrap().id;
    let article =
        store.create_article(&article(&world, Span::ZERO, vec![linked]), world.now()).await.unwrap();
    store.set_processed(article, true).await.unwrap();
    world.answer("/feed", Answer::Status(304));
    world.advance(Span::from_days(89));
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 2);
    world.advance(Span::from_days(2));
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["linked"]);
}
