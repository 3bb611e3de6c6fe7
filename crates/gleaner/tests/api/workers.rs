//! The processes that share a database, as the API tells of them.

use std::sync::Arc;
use std::time::Duration;

use gleaner::config::Role;
use gleaner::store::Worker;
use gleaner_core::time::Span;
use reqwest::Method;
use tokio::sync::oneshot;

use super::client::Api;
use crate::support::{Database, start};

super::on_both!(
    a_process_is_listed_until_it_stops,
    an_api_node_knows_what_workers_know_of_the_network,
    workers_are_measured
);

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process in this role, heard from once; it leaves when it is told to.
async fn process(api: &Api, role: Role) -> (oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel();
    let service = Arc::clone(&api.service);
    let before = api.db.store.workers().await.unwrap().len();
    let touching = tokio::spawn(async move {
        service
            .keep_in_touch(role, async {
                let _ = stopped.await;
            })
            .await;
    });
    let heard = async {
        while api.db.store.workers().await.unwrap().len() == before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("a process is heard from");
    (stop, touching)
}

fn down(name: &str) -> Worker {
    Worker {
        name: name.to_owned(),
        role: "worker".to_owned(),
        version: "1".to_owned(),
        started_at: start(),
        seen_at: start(),
        hosts: 0,
        polls: 0,
        posts: 0,
        polls_per_hour: 0,
        due_lag: None,
        network_down_since: Some(start()),
    }
}

async fn a_process_is_listed_until_it_stops(db: Database) {
    let api = Api::new(db).await;
    let (stop, touching) = process(&api, Role::Worker).await;
    let listed = api.get("/workers").await;
    let first = &listed.is(200)["items"][0];
    assert_eq!((&first["role"], &first["silent"]), (&"worker".into(), &false.into()));
    assert_eq!(first["name"], api.service.name());
    api.clock.advance(Span::from_mins(2));
    assert_eq!(api.get("/workers").await.is(200)["items"][0]["silent"], true);
    stop.send(()).unwrap();
    touching.await.unwrap();
    assert_eq!(api.get("/workers").await.is(200)["items"].as_array().unwrap().len(), 0);
}

async fn an_api_node_knows_what_workers_know_of_the_network(db: Database) {
    let api = Api::new(db).await;
    api.db.store.beat(&down("a"), start()).await.unwrap();
    let (_stop, _touching) = process(&api, Role::Api).await;
    let known = async {
        while api.service.metrics().network_down_since().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, known).await.expect("what workers know is known");
    assert_eq!(api.service.metrics().network_down_since(), Some(start()));
}

async fn workers_are_measured(db: Database) {
    let api = Api::new(db).await;
    api.db.store.beat(&down("a"), start()).await.unwrap();
    let bearer = format!("Bearer {}", api.token);
    let text = api.ask(Method::GET, "/metrics", None, &[("authorization", &bearer)]).await;
    for line in ["gleaner_workers{role=\"worker\"} 1", "gleaner_workers_network_down 1"] {
        assert!(text.text.lines().any(|found| found == line), "{line} in\n{}", text.text);
    }
}
