//! Our own troubles: stopped in the middle, a database that is locked or comes back.

use std::sync::Arc;

use gleaner_core::time::Span;
use tokio::sync::Notify;

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    a_stop_lets_polls_end_and_gives_leases_back,
    a_poll_that_cannot_be_recorded_is_made_again,
    the_loop_polls_what_is_added_while_it_runs,
);

async fn a_stop_lets_polls_end_and_gives_leases_back(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.reply("/slow", Reply::head("Content-Length: 1000").send("<rss>").stall());
    let slow = world.add("a.test", "/slow").await;
    // A second source of the same host, which must not be begun any more.
    world.answer("/next", Answer::feed(&["one"]));
    world.advance(Span::from_millis(1));
    let next = world.add("a.test", "/next").await;
    let server = world.share_server();
    let stop = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        // Told to stop while the first is under way, which ends only then.
        let server = Arc::clone(&server);
        tokio::spawn(async move { server.hang_up() });
    };
    world.run_until(stop).await;
    let row = world.source(slow).await.health.failing.expect("it was recorded");
    assert_eq!(row.kind.name(), "network");
    assert_eq!(world.source(next).await.health.last_polled_at, None);
    // The lease was given back: the host is due at once.
    assert_eq!(world.poll_due().await, 1);
}

async fn a_poll_that_cannot_be_recorded_is_made_again(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let id = world.add("a.test", "/feed").await;
    world.database().behind_its_back("ALTER TABLE outbox RENAME TO hidden").await;
    world.poll_due().await;
    assert_eq!(world.source(id).await.health.last_polled_at, None);
    assert!(world.log().contains("a poll could not be recorded"), "{}", world.log());
    world.database().behind_its_back("ALTER TABLE hidden RENAME TO outbox").await;
    assert_eq!(world.poll_due().await, 0, "its lease holds for a while");
    world.advance(Span::from_secs(61));
    assert_eq!(world.poll_due().await, 1);
    assert_eq!(world.bodies(id).await, ["one"]);
}

async fn the_loop_polls_what_is_added_while_it_runs(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let added = Arc::new(Notify::new());
    let (store, seen) = (world.store(), Arc::clone(&added));
    let stop = async move {
        seen.notified().await;
        let one_post = || async { store.posts(&Default::default(), None, 10).await.unwrap().len() == 1 };
        while !one_post().await {
            tokio::task::yield_now().await;
        }
    };
    let id = world.add("a.test", "/feed").await;
    added.notify_one();
    world.run_until(stop).await;
    assert_eq!(world.bodies(id).await, ["one"]);
}
