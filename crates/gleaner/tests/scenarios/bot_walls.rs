//! A page that asks to prove that one is human is never content.

use gleaner_core::health::Status;
use gleaner_core::outcome::ErrorKind;
use gleaner_core::source::Kind;
use gleaner_core::suspect::Reason;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(a_wall_is_no_post_of_a_website, a_wall_is_no_article, a_wall_in_place_of_a_feed_is_named);

/// What comes in place of a page.
const WALL: &str = "<!doctype html><html><head><title>Just a moment...</title></head><body><div class='main'>\
    <h1>a.test</h1><p>Verifying you are human. This may take a few seconds.</p></div>\
    <script>(function(){window._cf_chl_opt = {cvId: '3'};})()</script></body></html>";

async fn a_wall_is_no_post_of_a_website(db: Database) {
    let mut world = World::new(db, &[]).await;
    let html = |text: &str| Reply::ok(text).header("Content-Type", "text/html");
    world.reply("/", html("<title>Prices</title><article><p>Ten a piece</p></article>"));
    let id = world.add_with("a.test", "/", |new| new.kind = Kind::Website).await;
    world.poll_due().await;
    world.reply("/", html(WALL));
    let source = world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["Ten a piece"]);
    assert_eq!(source.health.status(), Status::Failing);
    let failing = source.health.failing.unwrap();
    assert_eq!(failing.kind, ErrorKind::ParseError);
    assert!(
        failing.message.contains("a bot wall (Cloudflare) came instead of the page"),
        "{}",
        failing.message
    );
    assert_eq!(source.suspect.unwrap().reason, Reason::BotWall);
    world.reply("/", html("<title>Prices</title><article><p>Eleven a piece</p></article>"));
    let source = world.poll_next(id).await;
    assert_eq!((source.health.status(), source.suspect), (Status::Healthy, None));
    assert_eq!(world.bodies(id).await, ["Eleven a piece", "Ten a piece"]);
}

async fn a_wall_is_no_article(db: Database) {
    let mut world = World::new(db, &[]).await;
    let link = "<h2><a href='/posts/the-story-of-one'>The story of one as it was told</a></h2>";
    world.answer(
        "/",
        Answer::body(&format!("<html><title>News</title><body><main>{link}</main></body></html>")),
    );
    world.answer("/posts/the-story-of-one", Answer::body(WALL));
    let id = world
        .add_with("a.test", "/", |new| {
            new.kind = Kind::Watchlist;
            new.article_selector = Some("h2 a".to_owned());
        })
        .await;
    world.poll_due().await;
    assert!(world.posts(id).await.is_empty(), "the wall is not stored");
    assert_eq!(world.requests("/posts/the-story-of-one"), 1);
    let text = "Some text, with commas, and words enough to be an article of some length. ".repeat(5);
    world.answer(
        "/posts/the-story-of-one",
        Answer::body(&format!(
            "<html><title>One</title><body><article><p>{text}</p></article></body></html>"
        )),
    );
    world.advance(Span::from_hours(2));
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 1, "it is tried again");
    // The index itself behind a wall is a failure, too.
    world.answer("/", Answer::body(WALL));
    let source = world.poll_next(id).await;
    assert_eq!(source.health.failing.unwrap().kind, ErrorKind::ParseError);
}

async fn a_wall_in_place_of_a_feed_is_named(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::body(WALL));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let failing = world.source(id).await.health.failing.unwrap();
    assert_eq!(failing.kind, ErrorKind::ParseError);
    assert!(
        failing.message.contains("a bot wall (Cloudflare) came instead of the feed"),
        "{}",
        failing.message
    );
}
