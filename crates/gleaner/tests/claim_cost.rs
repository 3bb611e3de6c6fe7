//! A claim's cost follows what is due, not what exists.

use gleaner::store::Store;
use sqlx::{Connection as _, Executor as _};

use crate::support::{postgres, sqlite};

#[path = "../examples/claim_cost.rs"]
mod example;

/// How many times as long a claim may take among seven times as many sources.
const SLACK: u32 = 3;
const ROUNDS: usize = 5;

async fn check(small: &dyn Store, large: &dyn Store) {
    let small = example::measure(small, ROUNDS).await.unwrap();
    let large = example::measure(large, ROUNDS).await.unwrap();
    println!("1,000 due: {small:?} among 15,000 sources, {large:?} among 100,000");
    assert!(large < small * SLACK, "{large:?} among 100,000 sources, {small:?} among 15,000");
}

/// Each hot query goes by an index; what it does scan is its own list of values, or an empty table.
fn check_plans(plans: &[(&str, String)], is_scan: impl Fn(&str) -> bool) {
    for (name, plan) in plans {
        println!("{name}:\n{plan}\n");
        let scan = plan.lines().find(|line| is_scan(line));
        assert_eq!(scan, None, "{name} scans a table:\n{plan}");
    }
    assert!(plans.len() >= 7);
}

#[tokio::test]
async fn a_claim_on_sqlite_costs_what_is_due() {
    let (small, large) = (sqlite().await, sqlite().await);
    example::fill(small.store.as_ref(), 15_000, ROUNDS).await.unwrap();
    example::fill(large.store.as_ref(), 100_000, ROUNDS).await.unwrap();
    let plans = large.store.query_plans().await.unwrap();
    let tables = ["hosts", "s", "t", "h", "source_state", "article_work", "seen", "posts"];
    check_plans(&plans, |line| tables.iter().any(|table| line.trim() == format!("SCAN {table}")));
    let (_, events) = plans.iter().find(|(name, _)| *name == "list a source's events").unwrap();
    assert!(events.contains("outbox_source"), "{events}");
    check(small.store.as_ref(), large.store.as_ref()).await;
}

#[tokio::test]
async fn a_claim_on_postgres_costs_what_is_due() {
    let (small, large) = (postgres().await, postgres().await);
    example::fill(small.store.as_ref(), 15_000, ROUNDS).await.unwrap();
    example::fill(large.store.as_ref(), 100_000, ROUNDS).await.unwrap();
    // What autovacuum does after a while.
    for db in [&small, &large] {
        sqlx::PgConnection::connect(&db.url).await.unwrap().execute("ANALYZE").await.unwrap();
    }
    let plans = large.store.query_plans().await.unwrap();
    check_plans(&plans, |line| {
        ["hosts", "sources", "source_state"]
            .iter()
            .any(|table| line.contains(&format!("Seq Scan on {table}")))
    });
    check(small.store.as_ref(), large.store.as_ref()).await;
}
