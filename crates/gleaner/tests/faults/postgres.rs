//! PostgreSQL restarts, crashes, stands still, and is cut off.

use std::time::{Duration, Instant};

use super::Site;
use super::server::{Line, Postgres, Wire};

#[tokio::test]
async fn a_server_that_restarts_is_found_again() {
    let server = Postgres::start();
    let mut site = Site::new(&server.url()).await;
    // As an administrator does it, and as a crash.
    for mode in ["fast", "immediate"] {
        server.control("restart", mode);
        site.publishes(2).await;
    }
    site.agrees().await;
    assert!(!site.log.text().contains("poll failed"), "no source is blamed for it:\n{}", site.log.text());
}

#[tokio::test]
async fn a_server_that_is_down_for_a_while_is_waited_for() {
    let server = Postgres::start();
    let mut site = Site::new(&server.url()).await;
    server.control("stop", "fast");
    site.log.says("the scheduler cannot reach its database; trying again").await;
    let readiness = site.running().service.readiness().await;
    assert!(!readiness.ready, "{readiness:?}");
    server.control("start", "fast");
    site.agrees().await;
}

#[tokio::test]
async fn a_server_that_stands_still_is_waited_for() {
    let server = Postgres::start();
    let mut site = Site::new(&server.url()).await;
    server.signal("-STOP");
    let begun = Instant::now();
    let readiness = site.running().service.readiness().await;
    assert!(!readiness.ready && begun.elapsed() < Duration::from_secs(8), "{readiness:?}");
    server.signal("-CONT");
    site.agrees().await;
}

#[tokio::test]
async fn a_wire_that_is_cut_is_mended() {
    let server = Postgres::start();
    let line = Line::to(&server).await;
    let mut site = Site::new(&line.url()).await;
    line.set(Wire::Cut);
    site.log.says("the scheduler cannot reach its database; trying again").await;
    line.set(Wire::Whole);
    site.agrees().await;
}

#[tokio::test]
async fn a_wire_that_swallows_everything_is_given_up() {
    let server = Postgres::start();
    let line = Line::to(&server).await;
    let mut site = Site::with(&line.url(), Duration::from_secs(1)).await;
    line.set(Wire::Silent);
    site.log.says("does not answer; is it there, and the network between?").await;
    line.set(Wire::Whole);
    // The old connections stay silent; only new ones lead anywhere.
    site.agrees().await;
}
