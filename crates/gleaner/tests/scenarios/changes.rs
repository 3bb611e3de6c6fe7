//! What changes under a source: its entries, its address, its policy.

use gleaner_core::health::Status;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World, rss};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    an_edited_entry_keeps_its_post,
    a_rotated_guid_brings_nothing_new,
    a_source_that_moves_for_good_is_followed,
    a_move_is_an_event,
    a_move_to_a_url_of_the_collection_is_refused_and_said,
    a_temporary_redirect_is_never_followed_for_good,
    a_feed_behind_tls_is_read,
    another_policy_rederives_at_the_next_start,
    a_source_edited_while_polled_discards_the_poll,
);

fn item(guid: &str, text: &str) -> String {
    format!(
        "<item><guid isPermaLink='false'>{guid}</guid><link>https://a.test/{guid}</link><description>{text}</description></item>"
    )
}

async fn an_edited_entry_keeps_its_post(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::body(&rss(&item("1", "Speling"))));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let before = world.posts(id).await.remove(0);
    world.answer("/feed", Answer::body(&rss(&item("1", "Spelling"))));
    world.poll_next(id).await;
    let posts = world.posts(id).await;
    assert_eq!((posts.len(), posts[0].id, posts[0].revision), (1, before.id, 2));
    assert_eq!((posts[0].content.body.as_str(), posts[0].updated_at), ("Spelling", world.now()));
    let store = world.store();
    store.number_events(10).await.unwrap();
    let kinds: Vec<String> =
        store.events(0, 10).await.unwrap().into_iter().map(|event| event.event.kind).collect();
    assert_eq!(kinds, ["post.created", "post.updated"]);
}

async fn a_rotated_guid_brings_nothing_new(db: Database) {
    let mut world = World::new(db, &[]).await;
    let entry = |guid: &str| {
        format!(
            "<item><guid isPermaLink='false'>{guid}</guid><link>https://a.test/1?utm_source={guid}</link><description>one</description></item>"
        )
    };
    world.answer("/feed", Answer::body(&rss(&entry("a"))));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    for guid in ["b", "c", "a"] {
        world.answer("/feed", Answer::body(&rss(&entry(guid))));
        world.poll_next(id).await;
    }
    let posts = world.posts(id).await;
    assert_eq!((posts.len(), posts[0].revision), (1, 1));
}

async fn a_source_that_moves_for_good_is_followed(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=600"]).await;
    world.answer("/old", Answer::body(&rss(&item("1", "one"))));
    let id = world.add("a.test", "/old").await;
    world.add_name("b.test");
    world.poll_due().await;
    let target = world.server().url_of("b.test", "/new");
    world.reply("/old", Reply::redirect(301, target.as_str()));
    world.answer("/new", Answer::body(&rss(&format!("{}{}", item("1", "one"), item("2", "two")))));
    let mut polls = 0;
    while world.source(id).await.host == "a.test" {
        polls += 1;
        assert!(polls < 10, "it is followed in the end");
        world.poll_next(id).await;
    }
    // Ten hours apart: the sixth sighting is the first after 48 hours.
    assert_eq!(polls, 6);
    let source = world.source(id).await;
    assert_eq!((source.settings.url.as_str(), source.host.as_str()), (target.as_str(), "b.test"));
    let asked = world.requests("/old");
    world.poll_next(id).await;
    assert_eq!(world.requests("/old"), asked, "the old address is left alone");
    assert_eq!(world.bodies(id).await, ["two", "one"]);
}

/// A feed that redirects for good to the same path on another host, polled until that is believed.
async fn redirected(world: &mut World) -> (i64, String, String) {
    world.answer("/old", Answer::body(&rss(&item("1", "one"))));
    let id = world.add("a.test", "/old").await;
    world.add_name("b.test");
    world.poll_due().await;
    let (from, to) = (world.server().url_of("a.test", "/old"), world.server().url_of("b.test", "/new"));
    world.reply("/old", Reply::redirect(301, to.as_str()));
    world.answer("/new", Answer::body(&rss(&item("1", "one"))));
    world.poll_times(id, 8).await;
    (id, from.into(), to.into())
}

async fn events_of(world: &World, kind: &str) -> Vec<serde_json::Value> {
    let store = world.store();
    store.number_events(1000).await.unwrap();
    let events = store.events(0, 1000).await.unwrap().into_iter().map(|event| event.event);
    let events = events.filter(|event| event.kind == kind);
    events.map(|event| serde_json::from_str(&event.payload).unwrap()).collect()
}

async fn a_move_is_an_event(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=600"]).await;
    let (id, from, to) = redirected(&mut world).await;
    assert_eq!(world.source(id).await.settings.url, to);
    let events = events_of(&world, "source.moved").await;
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["from"], &events[0]["to"]), (&from.as_str().into(), &to.as_str().into()));
    assert!(events[0]["reason"].as_str().unwrap().contains("redirected it there for good"), "{events:?}");
    let line = world.log_of("source moved", &to);
    assert_eq!((&line["from"], &line["to"]), (&from.as_str().into(), &to.as_str().into()));
    let explained = world.service().explain(id).await.unwrap();
    let notice = explained.notices.iter().find(|notice| notice.starts_with("Moved on ")).unwrap();
    assert!(notice.contains(&from) && notice.contains(&to), "{notice}");
    // A person's change of the URL is a move like any other.
    world.answer("/third", Answer::body(&rss(&item("1", "one"))));
    let third = world.server().url_of("b.test", "/third").to_string();
    let fields = gleaner::service::SourceFields { url: Some(third.clone()), ..Default::default() };
    world.service().change_source(id, None, &fields, Default::default()).await.unwrap();
    let events = events_of(&world, "source.moved").await;
    assert_eq!((events.len(), &events[1]["from"], &events[1]["to"]), (2, &to.into(), &third.into()));
}

async fn a_move_to_a_url_of_the_collection_is_refused_and_said(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=600"]).await;
    let other = world.add("b.test", "/new").await;
    let (id, from, to) = redirected(&mut world).await;
    assert_eq!(world.source(id).await.settings.url, from, "it stays");
    let events = events_of(&world, "source.move_refused").await;
    assert_eq!(events.len(), 1, "said once");
    assert_eq!((&events[0]["to"], &events[0]["taken_by"]), (&to.as_str().into(), &other.into()));
    assert_eq!(world.logs_of("source not moved: its collection has the new URL already", &from).len(), 1);
    let explained = world.service().explain(id).await.unwrap();
    let says = |notice: &&String| notice.contains(&format!("source {other} of the same collection"));
    assert!(explained.notices.iter().find(says).is_some(), "{:?}", explained.notices);
    // The other one is deleted: nothing stands in the way any more.
    world.service().delete_source(other).await.unwrap();
    world.poll_next(id).await;
    assert_eq!(world.source(id).await.settings.url, to);
    assert_eq!(events_of(&world, "source.moved").await.len(), 1);
}

async fn a_temporary_redirect_is_never_followed_for_good(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=1440"]).await;
    world.answer("/new", Answer::feed(&["one"]));
    world.reply("/old", Reply::redirect(302, "/new"));
    let id = world.add("a.test", "/old").await;
    world.poll_times(id, 6).await;
    assert!(world.source(id).await.settings.url.ends_with("/old"));
}

async fn a_feed_behind_tls_is_read(db: Database) {
    let ca = crate::support::ca::Ca::new();
    let mut world = World::trusting(db, &[], &ca).await;
    world.add_name("a.test");
    let secure = crate::support::http::Server::start_tls(ca.issue(&["a.test"]).config()).await;
    secure.on("/feed", Reply::ok(rss(&item("1", "one"))));
    let target = secure.url_of("a.test", "/feed");
    world.reply("/feed", Reply::redirect(301, target.as_str()));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["one"]);
    // The ports of the tests differ, so that it is not the same URL on https, and is only watched.
    assert!(world.source(id).await.memory.redirect.unwrap().contains(target.as_str()));
}

async fn another_policy_rederives_at_the_next_start(db: Database) {
    let mut world = World::new(db, &["source.policy=backoff"]).await;
    assert_eq!(
        world.restart_with(&["source.policy=backoff"]).await,
        0,
        "the first start has nothing to compare"
    );
    world.answer("/feed", Answer::Status(404));
    let id = world.add("a.test", "/feed").await;
    world.poll_times(id, 4).await;
    assert_eq!(world.restart_with(&["source.policy=backoff"]).await, 0);
    assert_eq!(world.restart_with(&["source.policy=cooldown"]).await, 1);
    let source = world.source(id).await;
    let last = source.health.last_polled_at.unwrap();
    assert_eq!(
        (source.health.status(), source.next_poll_at),
        (Status::Quarantined, Some(last + Span::from_hours(48)))
    );
    assert_eq!(world.restart_with(&["source.policy=backoff"]).await, 1);
    assert_eq!(world.source(id).await.health.status(), Status::Failing);
}

async fn a_source_edited_while_polled_discards_the_poll(db: Database) {
    let mut world = World::new(db, &["fetch.timeout_seconds=5"]).await;
    world.reply("/feed", Reply::raw("").stall());
    let id = world.add("a.test", "/feed").await;
    world.begin_due().await;
    while world.requests("/feed") == 0 {
        tokio::task::yield_now().await;
    }
    world.service().set_enabled(id, false).await.unwrap();
    world.hang_up();
    world.finish().await;
    let source = world.source(id).await;
    assert_eq!((source.health.failing, source.health.last_polled_at), (None, None));
    assert!(world.polls(id).await.is_empty());
    assert!(world.log().is_empty(), "and nobody is bothered: {}", world.log());
}
