//! Transient or permanent: each failure provoked for real.

use gleaner_core::outcome::Class;

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;

on_both!(
    http_404_is_permanent,
    http_410_is_permanent,
    http_401_is_permanent,
    http_403_is_permanent,
    http_429_is_transient,
    http_500_is_transient,
    connect_timeout_is_transient,
    connection_refused_is_transient,
    socket_timeout_is_transient,
    unknown_host_is_permanent,
    feed_parse_failure_is_transient,
    unknown_failure_is_transient,
);

/// One poll with this answer ends in a failure of this class.
async fn check(db: Database, answer: Answer, class: Class) {
    let mut world = World::new(db, &["fetch.timeout_seconds=0.4"]).await;
    world.answer("/feed", answer);
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!(row.class(), class, "{}", row.message);
}

async fn http_404_is_permanent(db: Database) {
    check(db, Answer::Status(404), Class::Permanent).await;
}

async fn http_410_is_permanent(db: Database) {
    check(db, Answer::Status(410), Class::Permanent).await;
}

async fn http_401_is_permanent(db: Database) {
    check(db, Answer::Status(401), Class::Permanent).await;
}

async fn http_403_is_permanent(db: Database) {
    check(db, Answer::Status(403), Class::Permanent).await;
}

async fn http_429_is_transient(db: Database) {
    check(db, Answer::Status(429), Class::Transient).await;
}

async fn http_500_is_transient(db: Database) {
    check(db, Answer::Status(500), Class::Transient).await;
}

async fn connect_timeout_is_transient(db: Database) {
    check(db, Answer::Never, Class::Transient).await;
}

async fn socket_timeout_is_transient(db: Database) {
    check(db, Answer::StopsInTheMiddle, Class::Transient).await;
}

async fn feed_parse_failure_is_transient(db: Database) {
    check(db, Answer::body("<?xml version='1.0'?><recipe><egg/></recipe>"), Class::Transient).await;
}

async fn unknown_failure_is_transient(db: Database) {
    check(db, Answer::Status(418), Class::Transient).await;
}

async fn connection_refused_is_transient(db: Database) {
    let mut world = World::new(db, &[]).await;
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let id = world.add_url(&format!("http://a.test:{port}/feed")).await;
    world.poll_due().await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!(
        (row.class(), row.kind.cause()),
        (Class::Transient, Some(gleaner_core::outcome::Cause::Connect))
    );
}

async fn unknown_host_is_permanent(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = world.add_url("http://nowhere.invalid/feed").await;
    world.poll_due().await;
    let row = world.source(id).await.health.failing.expect("it failed");
    assert_eq!(
        (row.class(), row.message.as_str()),
        (Class::Permanent, "the name nowhere.invalid does not exist")
    );
}
