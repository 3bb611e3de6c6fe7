//! The processes that share a database.

use super::*;

super::on_both!(a_process_is_known_until_it_leaves, one_that_is_silent_for_long_is_forgotten);

fn worker(name: &str, seen_at: Time) -> Worker {
    Worker {
        name: name.to_owned(),
        role: "worker".to_owned(),
        version: "1".to_owned(),
        started_at: start(),
        seen_at,
        hosts: 3,
        polls: 100,
        posts: 7,
        polls_per_hour: 1200,
        due_lag: Some(Span::from_millis(1500)),
        network_down_since: None,
    }
}

async fn a_process_is_known_until_it_leaves(db: Database) {
    let first = worker("a", start());
    db.store.beat(&first, start()).await.unwrap();
    db.store.beat(&worker("b", start()), start()).await.unwrap();
    let later = Worker {
        seen_at: start() + minutes(1),
        hosts: 0,
        polls: 120,
        due_lag: None,
        network_down_since: Some(start()),
        ..first
    };
    db.store.beat(&later, start()).await.unwrap();
    assert_eq!(db.store.workers().await.unwrap(), [later, worker("b", start())]);
    db.store.leave("a").await.unwrap();
    db.store.leave("nobody").await.unwrap();
    assert_eq!(db.store.workers().await.unwrap(), [worker("b", start())]);
}

async fn one_that_is_silent_for_long_is_forgotten(db: Database) {
    db.store.beat(&worker("a", start()), start()).await.unwrap();
    let now = start() + minutes(10);
    db.store.beat(&worker("b", now), start() + minutes(5)).await.unwrap();
    assert_eq!(db.store.workers().await.unwrap(), [worker("b", now)]);
}
