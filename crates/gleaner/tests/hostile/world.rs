//! The real engine and the real client in a world where 127.1.0.0/16 is the internet, and all else is inside.

use std::sync::Arc;

use gleaner::clock::{Clock as _, ManualClock, RandomSource};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::engine::{Context, Engine, Readers};
use gleaner::fetch::{Fetcher, NetworkOverrides};
use gleaner::service::{Actor, By, Service};
use gleaner::store::{Poll, Source, Store};
use gleaner_core::time::{Span, Time};
use serde_json::Value;

use crate::support::log::Captured;
use crate::support::{Database, start};

/// What is open.
pub(super) const INTERNET: &str = "fetch.allow_private_networks=[\"127.1.0.0/16\"]";

pub(super) struct World {
    db: Database,
    clock: Arc<ManualClock>,
    engine: Engine,
    service: Service,
    actor: Actor,
    log: Captured,
    _logging: tracing::subscriber::DefaultGuard,
}

impl World {
    /// A world with these settings, `key=value` each.
    pub(super) async fn new(db: Database, settings: &[&str], network_overrides: &NetworkOverrides) -> Self {
        let (log, logging) = Captured::json();
        let config = config(settings);
        let clock = Arc::new(ManualClock::new(start()));
        let context = Context {
            store: Arc::clone(&db.store),
            fetcher: Fetcher::new(&config.fetch, network_overrides).unwrap(),
            config: config.clone(),
            clock: Arc::clone(&clock) as _,
            random: RandomSource::seeded(1),
            readers: Readers::default(),
            metrics: Default::default(),
            committed: Default::default(),
        };
        let service =
            Service::new(Arc::clone(&db.store), config, Arc::clone(&clock) as _, RandomSource::seeded(1));
        let actor = service.local().await.unwrap();
        Self { db, clock, engine: Engine::new(context, "test"), service, actor, log, _logging: logging }
    }

    pub(super) fn by(&self) -> By<'_> {
        self.service.by(&self.actor)
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.db.store
    }

    pub(super) fn database(&self) -> &Database {
        &self.db
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    /// Polls all that is due, and waits for it.
    pub(super) async fn poll_due(&mut self) {
        self.engine.run_due(self.clock.now()).await.unwrap();
    }

    /// Begins what is due, and does not wait for it.
    pub(super) async fn begin_due(&mut self) {
        self.engine.tick(self.clock.now()).await.unwrap();
    }

    /// Waits for what was begun.
    pub(super) async fn finish(&mut self) {
        self.engine.idle().await;
    }

    pub(super) async fn source(&self, id: i64) -> Source {
        self.db.store.source(id).await.unwrap()
    }

    /// A source's latest poll.
    pub(super) async fn last_poll(&self, id: i64) -> Poll {
        self.db.store.polls(id, None, 1).await.unwrap().pop().expect("it was polled")
    }

    /// Lines with this message.
    pub(super) fn logged(&self, message: &str) -> Vec<Value> {
        let text = self.log.text();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["message"] == message).collect()
    }
}

/// Each source is asked and judged by itself: a host whose sources all fail would be asked for one of them only.
fn config(settings: &[&str]) -> Config {
    let flags = [INTERNET, "judgement.host_incidents=false", "judgement.own_network=false"]
        .iter()
        .chain(settings)
        .map(|set| Flag { name: "test".into(), assignment: (*set).into() })
        .collect();
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).unwrap_or_else(|errors| panic!("{errors}")).config
}
