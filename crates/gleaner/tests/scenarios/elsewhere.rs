//! A dead feed whose site now advertises another one: proposed to a person, and never followed by itself.

use gleaner_core::health::Status;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    a_dead_feeds_site_is_looked_at_once_a_day,
    a_page_in_place_of_a_feed_says_where_it_is,
    a_proposal_is_used_by_a_person_and_all_stays,
    a_feed_that_comes_back_needs_no_proposal,
    a_site_that_refuses_robots_is_not_looked_at,
    a_site_in_trouble_is_left_alone,
    the_pause_of_a_host_holds_for_its_site,
    what_a_page_advertises_is_not_believed_blindly,
    a_look_that_an_edit_overtakes_is_dropped,
);

const SITE: &str = "<!doctype html><title>A blog</title>\
    <link rel=alternate type=application/rss+xml href=/old.xml title=Old>\
    <link rel=alternate type=application/rss+xml href=/comments.xml title=Comments>\
    <link rel=alternate type=application/atom+xml href='/new.xml?a=1&amp;b=2' title='The &lt;b&gt; blog'>";

fn page(text: &str) -> Reply {
    Reply::ok(text).header("Content-Type", "text/html")
}

/// A feed that was read once and then answers so, on a host whose first page is that.
async fn dead(world: &mut World, answer: Answer, site: &str) -> i64 {
    world.answer("/old.xml", Answer::feed(&["one"]));
    world.reply("/", page(site));
    world.reply("/robots.txt", Reply::status(404));
    let id = world.add("a.test", "/old.xml").await;
    world.poll_due().await;
    world.answer("/old.xml", answer);
    id
}

/// Polls whatever is due for so many days, an hour at a time.
async fn days(world: &mut World, days: u64) {
    for _ in 0..days * 24 {
        world.advance(Span::from_hours(1));
        world.poll_due().await;
    }
}

async fn proposed(world: &World, id: i64) -> Option<String> {
    let elsewhere = world.source(id).await.elsewhere?;
    let url = url::Url::parse(&elsewhere.proposal?.url).unwrap();
    Some(url[url::Position::BeforePath..].to_owned())
}

async fn told(world: &World) -> usize {
    let store = world.store();
    store.number_events(10_000).await.unwrap();
    let events = store.events(0, 10_000).await.unwrap();
    events.iter().filter(|event| event.event.kind == "source.proposal").count()
}

async fn a_dead_feeds_site_is_looked_at_once_a_day(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = dead(&mut world, Answer::Status(404), SITE).await;
    days(&mut world, 1).await;
    assert_eq!(world.requests("/"), 0, "it may be back within a day");
    days(&mut world, 1).await;
    assert_eq!(world.requests("/"), 1);
    assert_eq!(proposed(&world, id).await.as_deref(), Some("/new.xml?a=1&b=2"));
    let source = world.source(id).await;
    assert_eq!(source.elsewhere.unwrap().proposal.unwrap().title.as_deref(), Some("The blog"));
    assert!(source.settings.url.ends_with("/old.xml"), "never followed by itself");
    assert_eq!(source.health.status(), Status::Quarantined);
    days(&mut world, 10).await;
    let (looks, polls) = (world.requests("/"), world.requests("/old.xml"));
    assert!((2..=12).contains(&looks) && looks < polls, "{looks} looks, {polls} polls");
    assert_eq!(told(&world).await, 1, "the same is told once");
    assert_eq!(world.requests("/new.xml?a=1&b=2"), 0, "nor asked for");
    world.reply("/", page("<title>Another blog</title><p>No feeds."));
    days(&mut world, 10).await;
    assert_eq!(proposed(&world, id).await, None, "what is not advertised any more is not proposed");
}

async fn a_page_in_place_of_a_feed_says_where_it_is(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = dead(&mut world, Answer::body(SITE), SITE).await;
    days(&mut world, 3).await;
    assert_eq!(proposed(&world, id).await.as_deref(), Some("/new.xml?a=1&b=2"));
    assert_eq!(world.requests("/"), 0, "nothing more is asked for");
    let explained = world.service().explain(id).await.unwrap();
    assert!(
        explained.notices.iter().any(|notice| notice.contains("Its site now advertises")),
        "{explained:?}"
    );
    assert!(explained.proposal.unwrap().ends_with("/new.xml?a=1&b=2"));
    assert_eq!(told(&world).await, 1);
}

async fn a_proposal_is_used_by_a_person_and_all_stays(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = dead(&mut world, Answer::Status(410), SITE).await;
    world.answer("/new.xml?a=1&b=2", Answer::feed(&["one", "two"]));
    days(&mut world, 2).await;
    let proposal = world.source(id).await.elsewhere.unwrap().proposal.unwrap();
    let refused = world.service().use_proposal(id, "https://evil.example/").await.unwrap_err();
    assert!(refused.to_string().contains("look again"), "{refused}");
    world.service().use_proposal(id, &proposal.url).await.unwrap();
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!((source.settings.url, source.elsewhere), (proposal.url, None));
    assert_eq!(source.health.status(), Status::Healthy);
    assert_eq!(world.bodies(id).await, ["two", "one"]);
    assert!(world.polls(id).await.len() > 3, "its history stays");
}

async fn a_feed_that_comes_back_needs_no_proposal(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = dead(&mut world, Answer::Status(404), SITE).await;
    days(&mut world, 2).await;
    assert!(proposed(&world, id).await.is_some());
    world.answer("/old.xml", Answer::feed(&["one", "two"]));
    days(&mut world, 3).await;
    assert_eq!(world.source(id).await.elsewhere, None);
}

async fn a_site_that_refuses_robots_is_not_looked_at(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = dead(&mut world, Answer::Status(404), SITE).await;
    world.answer("/robots.txt", Answer::body("User-agent: *\nDisallow: /\n"));
    days(&mut world, 4).await;
    assert_eq!((world.requests("/"), proposed(&world, id).await), (0, None));
    assert!(world.source(id).await.elsewhere.is_some(), "it was tried, and is again the next day");
}

async fn a_site_in_trouble_is_left_alone(db: Database) {
    let mut world = World::new(db, &["fetch.timeout_seconds=1"]).await;
    let id = dead(&mut world, Answer::Status(500), SITE).await;
    days(&mut world, 5).await;
    world.answer("/old.xml", Answer::Reset);
    days(&mut world, 5).await;
    assert_eq!((world.requests("/"), proposed(&world, id).await), (0, None));
    // The feed is gone and its site fails: nothing is known, and nothing is held against anybody.
    world.answer("/old.xml", Answer::Status(404));
    world.reply("/", Reply::status(500));
    days(&mut world, 5).await;
    assert!((1..=5).contains(&world.requests("/")), "once a day, and not again: {}", world.requests("/"));
    assert_eq!(proposed(&world, id).await, None);
}

async fn the_pause_of_a_host_holds_for_its_site(db: Database) {
    let mut world = World::new(db, &["source.poll_delay_seconds.feed=60"]).await;
    let id = dead(&mut world, Answer::Status(404), SITE).await;
    world.advance(Span::from_days(2));
    world.poll_due().await;
    world.advance(Span::from_mins(30));
    world.poll_next(id).await;
    while world.source(id).await.elsewhere.is_none() {
        world.poll_next(id).await;
    }
    assert_eq!(world.requests("/"), 0, "the host is left alone for a minute");
    world.advance(Span::from_secs(61));
    world.poll_due().await;
    assert_eq!(world.requests("/"), 1);
}

async fn what_a_page_advertises_is_not_believed_blindly(db: Database) {
    let mut world = World::new(db, &[]).await;
    let long = "x".repeat(3000);
    let hostile = format!(
        "<html><link rel=alternate type=application/rss+xml href='javascript:alert(1)'>\
         <link rel=alternate type=application/rss+xml href='file:///etc/passwd'>\
         <link rel=alternate type=application/rss+xml href='/{long}'>\
         <link rel=alternate type=application/rss+xml href='/old.xml#again'>{}",
        "<div>".repeat(50_000)
    );
    let id = dead(&mut world, Answer::Status(404), &hostile).await;
    days(&mut world, 3).await;
    assert!(world.requests("/") >= 1);
    assert_eq!((proposed(&world, id).await, told(&world).await), (None, 0));
}

async fn a_look_that_an_edit_overtakes_is_dropped(db: Database) {
    let mut world = World::new(db, &["source.poll_delay_seconds.feed=60"]).await;
    let id = dead(&mut world, Answer::Status(404), SITE).await;
    world.advance(Span::from_days(2));
    world.poll_due().await;
    while world.source(id).await.elsewhere.is_none() {
        world.poll_next(id).await;
    }
    world.answer("/else.xml", Answer::feed(&["one"]));
    let url = world.source(id).await.settings.url.replace("/old.xml", "/else.xml");
    let fields = gleaner::service::SourceFields { url: Some(url), ..Default::default() };
    world.service().change_source(id, None, &fields, Default::default()).await.unwrap();
    for _ in 0..3 {
        world.advance(Span::from_secs(61));
        world.poll_due().await;
    }
    assert_eq!(world.requests("/"), 1, "it was under way");
    assert_eq!((world.source(id).await.elsewhere, told(&world).await), (None, 0));
}
