//! What a server sees of us.

use gleaner::store::SourceEdit;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World, rss};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    validators_are_sent_back_byte_for_byte_and_always,
    validators_of_another_reader_or_url_are_not_sent,
    a_document_that_ends_early_saves_no_validators,
    the_same_bytes_are_not_read_again,
    validators_that_hide_changes_are_found_out,
    validators_are_left_out_once_a_week,
    max_age_is_kept_to_the_second,
    a_hint_is_remembered_across_304s_and_restarts,
    retry_after_is_kept_to_the_second_and_across_restarts,
    a_429_holds_its_host,
    a_restart_brings_no_burst,
    requests_say_who_asks,
    a_connection_is_kept_only_while_more_is_asked_of_its_host,
);

const ITEM: &str = "<item><guid>1</guid><description>one</description></item>";

async fn validators_are_sent_back_byte_for_byte_and_always(db: Database) {
    let mut world = World::new(db, &[]).await;
    let etag = b"W/\"\xfcber, 'all' \"";
    let modified = b"sunday, once upon a time";
    world.reply("/feed", Reply::ok(rss(ITEM)).header("ETag", etag).header("Last-Modified", modified));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.reply("/feed", Reply::status(304));
    world.poll_times(id, 2).await;
    world.reply("/feed", Reply::status(500));
    world.poll_times(id, 2).await;
    world.restart().await;
    world.poll_next(id).await;
    let requests = world.server().requests();
    assert_eq!(requests.len(), 6);
    assert_eq!(requests[0].raw_header("if-none-match"), None);
    for request in &requests[1..] {
        assert_eq!(request.raw_header("if-none-match"), Some(&etag[..]));
        assert_eq!(request.raw_header("if-modified-since"), Some(&modified[..]));
    }
}

async fn validators_of_another_reader_or_url_are_not_sent(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let claimed = world.source(id).await;
    assert_eq!(claimed.memory.reader_version, Some(1));
    // A reader of another version had been at work.
    let edit = SourceEdit { forget: true, ..SourceEdit::of(&claimed) };
    world.store().edit_source(&edit, world.now()).await.unwrap();
    world.poll_next(id).await;
    assert_eq!(world.server().requests()[1].raw_header("if-none-match"), None);
}

async fn a_document_that_ends_early_saves_no_validators(db: Database) {
    let mut world = World::new(db, &[]).await;
    let early = format!("<rss version='2.0'><channel>{ITEM}<item><guid>2</guid><descr");
    world.reply("/feed", Reply::ok(early).header("ETag", "\"early\""));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["one"], "its complete entries are kept");
    assert_eq!(world.source(id).await.memory.etag, None);
    assert!(world.polls(id).await[0].record.note.as_ref().unwrap().starts_with("the document ends early"));
    let whole = format!("{ITEM}<item><guid>2</guid><description>two</description></item>");
    world.reply("/feed", Reply::ok(rss(&whole)).header("ETag", "\"whole\""));
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["two", "one"]);
    assert_eq!(world.source(id).await.memory.etag.as_deref(), Some(&b"\"whole\""[..]));
}

/// A server whose ETag never changes: whoever sends it is told that nothing changed.
fn constant_etag(world: &World, texts: &[&str]) {
    let whole = Answer::feed(texts).reply();
    world.server().on_all(move |request| match request.raw_header("if-none-match") {
        Some(_) => Reply::status(304),
        None => whole.clone(),
    });
}

async fn validators_that_hide_changes_are_found_out(db: Database) {
    let mut world = World::new(db, &[]).await;
    constant_etag(&world, &["one"]);
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    constant_etag(&world, &["one", "two"]);
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["one"], "the server says that nothing changed");
    let found_by = world.now() + Span::from_days(7);
    while world.bodies(id).await.len() < 2 {
        world.poll_next(id).await;
        assert!(world.now() <= found_by, "it is found out within a week");
    }
    let poll = world.poll_json(id).await;
    assert!(poll["note"].as_str().unwrap().contains("from now on the whole document is fetched"), "{poll:#}");
    // Its word is not taken any more.
    constant_etag(&world, &["one", "two", "three"]);
    world.poll_next(id).await;
    world.restart().await;
    constant_etag(&world, &["one", "two", "three", "four"]);
    world.poll_next(id).await;
    assert_eq!(world.bodies(id).await, ["four", "three", "two", "one"]);
}

async fn validators_are_left_out_once_a_week(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=240"]).await;
    constant_etag(&world, &["one"]);
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.poll_times(id, 28 * 6).await;
    let requests = world.server().requests();
    let whole = requests.iter().filter(|request| request.raw_header("if-none-match").is_none()).count();
    assert_eq!((requests.len(), whole), (28 * 6 + 1, 4 + 1), "once a week, and the first");
    let source = world.source_json(id).await;
    assert_eq!((&source["status"], world.posts(id).await.len()), (&"healthy".into(), 1));
    assert!(!world.source(id).await.memory.hints.validators_unreliable, "nothing was hidden");
}

async fn the_same_bytes_are_not_read_again(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.reply("/feed", Reply::ok(rss(ITEM)));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.readers(|readers| readers.feed = |_, _| panic!("there is no need to read it"));
    world.poll_next(id).await;
    let polls = world.polls(id).await;
    assert_eq!((polls[0].record.outcome.as_str(), polls[0].record.status_code), ("not_modified", Some(200)));
    assert_eq!(world.source(id).await.health.failing, None);
}

/// Not asked a second before, and asked at that second.
async fn is_due_exactly(world: &mut World, path: &str, after: Span) {
    let (asked, begun) = (world.requests(path), world.now());
    world.clock().set(begun + after - Span::from_secs(1));
    world.poll_due().await;
    assert_eq!(world.requests(path), asked, "a second too early");
    world.clock().set(begun + after);
    world.poll_due().await;
    assert_eq!(world.requests(path), asked + 1, "it is time");
}

async fn max_age_is_kept_to_the_second(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.reply("/feed", Reply::ok(rss(ITEM)).header("Cache-Control", "max-age=5401"));
    world.add("a.test", "/feed").await;
    world.poll_due().await;
    is_due_exactly(&mut world, "/feed", Span::from_secs(5401)).await;
}

async fn a_hint_is_remembered_across_304s_and_restarts(db: Database) {
    let mut world = World::new(db, &[]).await;
    let feed = format!("<rss version='2.0'><channel><ttl>120</ttl>{ITEM}</channel></rss>");
    world.reply("/feed", Reply::ok(feed).header("ETag", "\"1\""));
    world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.reply("/feed", Reply::status(304));
    is_due_exactly(&mut world, "/feed", Span::from_hours(2)).await;
    world.restart().await;
    is_due_exactly(&mut world, "/feed", Span::from_hours(2)).await;
}

async fn retry_after_is_kept_to_the_second_and_across_restarts(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.reply("/feed", Reply::status(503).header("Retry-After", "7201"));
    world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.restart().await;
    world.reply("/feed", Reply::status(429).header("Retry-After", "Sun, 15 Nov 2026 05:00:00 GMT"));
    is_due_exactly(&mut world, "/feed", Span::from_secs(7201)).await;
    let until = gleaner_core::time::Time::parse("2026-11-15T05:00:00Z").unwrap();
    let after = until.since(world.now());
    is_due_exactly(&mut world, "/feed", after).await;
}

async fn a_429_holds_its_host(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.reply("/limited", Reply::status(429).header("Retry-After", "1800"));
    world.answer("/other", Answer::feed(&["one"]));
    world.add("a.test", "/limited").await;
    world.advance(Span::from_millis(1));
    world.add("a.test", "/other").await;
    world.poll_due().await;
    assert_eq!(world.requests("/other"), 0, "its neighbour waits, too");
    world.advance(Span::from_mins(29));
    world.poll_due().await;
    assert_eq!(world.requests("/other"), 0);
    world.advance(Span::from_mins(1));
    world.poll_due().await;
    assert_eq!(world.requests("/other"), 1);
}

async fn a_restart_brings_no_burst(db: Database) {
    let mut world = World::new(db, &[]).await;
    for n in 0..20 {
        let path = format!("/feed{n}");
        world.answer(&path, Answer::feed(&["one"]));
        world.add(&format!("h{n}.test"), &path).await;
    }
    world.poll_due().await;
    for _ in 0..3 {
        world.advance(Span::from_mins(5));
        world.restart().await;
    }
    assert_eq!(world.asked_paths().len(), 20);
}

async fn requests_say_who_asks(db: Database) {
    let mut world = World::new(db, &["fetch.contact=https://me.example/bot"]).await;
    world.answer("/feed", Answer::feed(&["one"]));
    world.add("a.test", "/feed").await;
    world.poll_due().await;
    let request = world.server().requests().remove(0);
    let agent = request.header("user-agent").unwrap();
    assert!(agent.starts_with("gleaner/") && agent.contains("https://me.example/bot"), "{agent}");
    assert!(request.header("accept").unwrap().contains("application/atom+xml"));
    assert_eq!((request.header("cookie"), request.header("referer")), (None, None));
}

async fn a_connection_is_kept_only_while_more_is_asked_of_its_host(db: Database) {
    let mut world = World::new(db, &[]).await;
    for (host, path) in [("a.test", "/1"), ("a.test", "/2"), ("a.test", "/3"), ("b.test", "/4")] {
        world.answer(path, Answer::feed(&[path]));
        world.add(host, path).await;
    }
    world.poll_due().await;
    world.advance(Span::from_hours(1));
    world.poll_due().await;
    let requests = world.server().requests();
    let of = |path: &str| -> Vec<usize> {
        requests.iter().filter(|request| request.path == path).map(|request| request.connection).collect()
    };
    assert_eq!((of("/1")[0], of("/2")[0]), (of("/2")[0], of("/3")[0]), "three in a row share one");
    assert_ne!(of("/4")[0], of("/4")[1], "one alone leaves nothing open");
}
