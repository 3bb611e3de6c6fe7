//! A month of a hundred sources with faults, on a clock that runs by hand.

use std::sync::Arc;

use crate::support::{Database, postgres, sqlite};

#[path = "../examples/long_run.rs"]
mod example;

async fn month(db: Database, seed: u64) {
    let plan = example::Plan { sources: 100, days: 30, seed };
    println!("{plan:?}");
    let report = example::run(Arc::clone(&db.store), plan, |_| {})
        .await
        .unwrap_or_else(|wrong| panic!("{plan:?}: {wrong}"));
    println!("{report:?}");
    assert!(report.polls > 3000 && report.failed > 300 && report.posts > 1000, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_of_faults_loses_nothing_on_sqlite() {
    month(sqlite().await, 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_of_faults_loses_nothing_on_postgres() {
    month(postgres().await, 8).await;
}
