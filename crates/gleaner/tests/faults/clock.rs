//! Clocks that jump by a day, there and back, at work and while nothing runs.

use super::Site;
use crate::support::{empty_postgres, sqlite};

const DAY: i64 = 86_400_000;

#[tokio::test]
async fn a_clock_that_jumps_at_work_on_sqlite() {
    let db = sqlite().await;
    jumps_at_work(&db.url).await;
}

#[tokio::test]
async fn a_clock_that_jumps_at_work_on_postgres() {
    jumps_at_work(&empty_postgres().await).await;
}

/// There and back, and back further than it ever was.
async fn jumps_at_work(url: &str) {
    let mut site = Site::new(url).await;
    for day in [DAY, -DAY, -DAY] {
        site.clock.jump(day);
        site.publishes(1).await;
    }
    assert_eq!(site.log.text().matches("the clock has jumped").count(), 3, "{}", site.log.text());
    site.agrees().await;
}

#[tokio::test]
async fn a_clock_that_jumps_over_a_restart_on_sqlite() {
    let db = sqlite().await;
    jumps_over_a_restart(&db.url).await;
}

#[tokio::test]
async fn a_clock_that_jumps_over_a_restart_on_postgres() {
    jumps_over_a_restart(&empty_postgres().await).await;
}

async fn jumps_over_a_restart(url: &str) {
    let mut site = Site::new(url).await;
    for day in [DAY, -DAY, -DAY] {
        site.stop().await;
        site.clock.jump(day);
        site.start().await;
        site.publishes(1).await;
    }
    site.agrees().await;
}
