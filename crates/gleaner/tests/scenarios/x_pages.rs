//! How far a timeline on X is read: page by page, and never past what was not.

use gleaner_core::health::Status;
use gleaner_core::time::Span;
use serde_json::Value;

use super::on_both;
use super::world::World;
use super::x::{follow, world_with_key};
use crate::support::Database;
use crate::support::http::Reply;

on_both!(
    x_empty_timeline_keeps_the_accounts_id,
    x_next_poll_asks_for_what_is_newer,
    x_first_poll_reads_the_newest_page_only,
    x_pages_are_followed,
    x_nothing_is_lost_when_a_later_page_fails,
    x_more_pages_than_one_poll_reads_are_read_by_the_next,
    x_a_page_that_fails_again_and_again_is_a_failure,
);

async fn cursor(world: &World, id: i64) -> Value {
    serde_json::from_str(&world.source(id).await.memory.cursor.unwrap()).unwrap()
}

/// The numbers in a source's posts, in order.
async fn numbers(world: &World, id: i64) -> Vec<u64> {
    let mut numbers: Vec<u64> = world
        .bodies(id)
        .await
        .iter()
        .map(|body| body.strip_prefix("Post ").unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    numbers
}

async fn x_empty_timeline_keeps_the_accounts_id(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    world.poll_due().await;
    world.poll_next(id).await;
    assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    assert_eq!(cursor(&world, id).await, serde_json::json!({ "user_id": "11" }));
    assert_eq!((x.lookups(), x.requests().len()), (1, 3));
    x.post(11, 1000, 40, "Post 1");
    world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, [1]);
    world.poll_next(id).await;
    assert_eq!(cursor(&world, id).await["user_id"], "11");
    assert_eq!(x.lookups(), 1, "resolved once and kept");
}

async fn x_next_poll_asks_for_what_is_newer(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    x.post(11, 999, 1, "Post 1");
    x.post(11, 1000, 2, "Post 2");
    world.poll_due().await;
    x.post(11, 1001, 3, "Post 3");
    world.poll_next(id).await;
    world.restart().await;
    world.poll_next(id).await;
    assert_eq!(x.asked("since_id"), [None, Some("1000".into()), Some("1001".into())]);
    assert!(x.asked("max_results").iter().all(|size| size.as_deref() == Some("100")));
    assert_eq!(numbers(&world, id).await, [1, 2, 3]);
}

async fn x_first_poll_reads_the_newest_page_only(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    x.page_size(2);
    (1..=7).for_each(|n| x.post(11, 1000 + n, n, &format!("Post {n}")));
    let id = follow(&world, "@nasa").await;
    world.poll_due().await;
    assert_eq!(numbers(&world, id).await, [6, 7]);
    world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, [6, 7], "what was before it is history");
}

async fn x_pages_are_followed(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    x.post(11, 1000, 0, "Post 0");
    world.poll_due().await;
    x.page_size(3);
    (1..=8).for_each(|n| x.post(11, 1000 + n, n, &format!("Post {n}")));
    world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, (0..=8).collect::<Vec<_>>());
    assert_eq!(x.asked("pagination_token"), [None, None, Some("below1006".into()), Some("below1003".into())]);
    assert_eq!(cursor(&world, id).await["since_id"], "1008");
}

async fn x_nothing_is_lost_when_a_later_page_fails(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    x.post(11, 1000, 0, "Post 0");
    world.poll_due().await;
    x.page_size(3);
    (1..=8).for_each(|n| x.post(11, 1000 + n, n, &format!("Post {n}")));
    let reset = world.now() + Span::from_hours(2);
    let limited = Reply::status(429).header("x-rate-limit-reset", (reset.as_millis() / 1000).to_string());
    x.instead([None, Some(limited)]);
    let source = world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, [0, 6, 7, 8], "what was read is kept");
    assert_eq!(source.health.status(), Status::Healthy);
    assert!(source.next_poll_at >= Some(reset), "and its wish to be left alone is heard");
    let poll = world.polls(id).await.remove(0);
    assert!(poll.record.note.unwrap().starts_with("not all of the timeline was read"));
    assert_eq!(cursor(&world, id).await["since_id"], "1000", "the cursor has not passed what was not read");
    // Meanwhile more is posted, and the process begins anew.
    x.post(11, 1009, 9, "Post 9");
    world.restart().await;
    world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(cursor(&world, id).await, serde_json::json!({ "user_id": "11", "since_id": "1008" }));
    world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, (0..=9).collect::<Vec<_>>());
    assert_eq!(world.polls(id).await.iter().map(|poll| poll.new_posts).sum::<i64>(), 10, "each once");
}

async fn x_more_pages_than_one_poll_reads_are_read_by_the_next(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    x.post(11, 1000, 0, "Post 0");
    world.poll_due().await;
    x.page_size(2);
    (1..=47).for_each(|n| x.post(11, 1000 + n, n, &format!("Post {n}")));
    let before = x.requests().len();
    world.poll_next(id).await;
    assert_eq!(x.requests().len() - before, 10, "a poll has an end");
    assert_eq!(numbers(&world, id).await, std::iter::once(0).chain(28..=47).collect::<Vec<_>>());
    world.poll_next(id).await;
    world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, (0..=47).collect::<Vec<_>>());
    assert_eq!(cursor(&world, id).await["since_id"], "1047");
}

async fn x_a_page_that_fails_again_and_again_is_a_failure(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    x.post(11, 1000, 0, "Post 0");
    world.poll_due().await;
    x.page_size(3);
    (1..=8).for_each(|n| x.post(11, 1000 + n, n, &format!("Post {n}")));
    x.instead([None, Some(Reply::status(503)), Some(Reply::status(503)), Some(Reply::ok("{"))]);
    assert_eq!(world.poll_next(id).await.health.status(), Status::Healthy);
    assert_eq!(world.poll_next(id).await.health.status(), Status::Failing);
    world.poll_next(id).await;
    assert_eq!(world.failures(id).await, 2);
    world.poll_next(id).await;
    assert_eq!(numbers(&world, id).await, (0..=8).collect::<Vec<_>>());
}
