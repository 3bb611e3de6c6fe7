//! robots.txt, as pages heed it and feeds do not.

use gleaner::read::Document;
use gleaner::store::SourceEdit;
use gleaner_core::health::Status;
use gleaner_core::outcome::{Cause, ErrorKind};
use gleaner_core::post::Entry;
use gleaner_core::source::Kind;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    robots_txt_refuses_pages_and_not_feeds,
    robots_txt_is_ignored_where_a_source_says_so,
    robots_txt_is_asked_once_a_day,
    robots_txt_that_cannot_be_read_is_no_refusal,
);

/// A world that reads pages: all that is on one is an entry.
async fn world(db: Database) -> World {
    let mut world = World::new(db, &["fetch.timeout_seconds=1"]).await;
    world.readers(|readers| {
        readers.website = |page, _| {
            let text = String::from_utf8_lossy(page.body).into_owned();
            let entry = Entry { guid: Some(text.clone()), raw_content: Some(text), ..Entry::default() };
            Ok(Document { entries: vec![entry], ..Document::default() })
        };
        readers.watchlist = readers.website;
    });
    world
}

async fn robots_txt_refuses_pages_and_not_feeds(db: Database) {
    let mut world = world(db).await;
    world.answer(
        "/robots.txt",
        Answer::body("User-agent: *\nDisallow: /\n\nUser-agent: Gleaner\nDisallow: /private\n"),
    );
    world.answer("/private", Answer::feed(&["one"]));
    world.answer("/public", Answer::body("hello"));
    let website = world.add_with("a.test", "/private", |new| new.kind = Kind::Website).await;
    let watchlist = world.add_with("b.test", "/private", |new| new.kind = Kind::Watchlist).await;
    let public = world.add_with("c.test", "/public", |new| new.kind = Kind::Website).await;
    let feed = world.add("d.test", "/private").await;
    world.poll_due().await;
    for (id, host) in [(website, "a.test"), (watchlist, "b.test")] {
        let row = world.source(id).await.health.failing.expect("it failed");
        assert_eq!(row.kind, ErrorKind::Blocked);
        assert_eq!(
            row.message,
            format!(
                "blocked: robots.txt of {host} disallows it; set ignore_robots on the source to fetch it anyway"
            )
        );
    }
    assert_eq!(world.bodies(public).await, ["hello"]);
    assert_eq!(world.bodies(feed).await, ["one"], "feeds are for programs");
    assert_eq!((world.requests("/private"), world.requests("/robots.txt")), (1, 3));
}

async fn robots_txt_is_ignored_where_a_source_says_so(db: Database) {
    let mut world = world(db).await;
    world.answer("/robots.txt", Answer::body("User-agent: *\nDisallow: /"));
    world.answer("/page", Answer::body("hello"));
    let id = world.add_with("a.test", "/page", |new| new.kind = Kind::Website).await;
    let mut edit = SourceEdit::of(&world.source(id).await);
    edit.settings.ignore_robots = true;
    world.store().edit_source(&edit, world.now()).await.unwrap();
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["hello"]);
    assert_eq!(world.requests("/robots.txt"), 0);
}

async fn robots_txt_is_asked_once_a_day(db: Database) {
    let mut world = world(db).await;
    world.answer("/robots.txt", Answer::body("User-agent: *\nDisallow: /other"));
    world.answer("/page", Answer::body("hello"));
    let id = world.add_with("a.test", "/page", |new| new.kind = Kind::Website).await;
    world.poll_times(id, 48).await;
    assert_eq!((world.requests("/page"), world.requests("/robots.txt")), (48, 1));
    world.answer("/robots.txt", Answer::body("User-agent: *\nDisallow: /page"));
    world.advance(Span::from_mins(30));
    world.poll_next(id).await;
    assert_eq!((world.requests("/page"), world.requests("/robots.txt")), (48, 2));
    assert_eq!(world.source(id).await.health.failing.unwrap().kind, ErrorKind::Blocked);
}

async fn robots_txt_that_cannot_be_read_is_no_refusal(db: Database) {
    let mut world = world(db).await;
    world.reply("/robots.txt", Reply::status(503));
    world.answer("/page", Answer::body("hello"));
    let id = world.add_with("a.test", "/page", |new| new.kind = Kind::Website).await;
    world.poll_due().await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!(
        (row.kind, row.message.as_str()),
        (ErrorKind::UpstreamFailure, "robots.txt of a.test: 503 Service Unavailable")
    );
    world.reply("/robots.txt", Reply::raw("").stall());
    world.poll_next(id).await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!(row.kind, ErrorKind::Network(Cause::Timeout), "as any server that is down");
    assert_eq!(world.requests("/page"), 0, "and the page is not fetched");
    world.reply("/robots.txt", Reply::status(404));
    world.poll_next(id).await;
    assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    assert_eq!(world.bodies(id).await, ["hello"]);
}
