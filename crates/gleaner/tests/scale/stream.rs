//! Events on their way to a real NATS: in order, under ids that stay, and none lost while it is away.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::stream::Config as StreamConfig;
use gleaner::clock::{RandomSource, SystemClock};
use gleaner::config::{Config, Flag, Inputs, Role};
use gleaner::service::{NewEvent, Service, ServiceError};
use gleaner_core::time::Time;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::nats::Nats;
use crate::support::{Database, sqlite, until};

/// How long something that is to happen may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Site {
    nats: Nats,
    db: Database,
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Site {
    async fn new(nats: Nats) -> Self {
        let db = sqlite().await;
        let settings = [format!("store.url={}", db.url), format!("nats.url={}", nats.url())];
        let flags = settings.map(|assignment| Flag { name: "test".into(), assignment }).into();
        let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
        let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
        let config = Config::load(&inputs).unwrap_or_else(|errors| panic!("{errors}")).config;
        let service =
            Service::new(Arc::clone(&db.store), config, Arc::new(SystemClock), RandomSource::seeded(1));
        let (service, stop) = (Arc::new(service), watch::Sender::new(false));
        let until = || {
            let mut stopped = stop.subscribe();
            async move {
                let _ = stopped.wait_for(|stopped| *stopped).await;
            }
        };
        let (telling, told) = (Arc::clone(&service), until());
        let (streaming, streamed) = (Arc::clone(&service), until());
        let tasks = vec![
            tokio::spawn(async move { telling.dispatch(told).await }),
            tokio::spawn(async move { streaming.stream_events(Role::Worker, streamed).await }),
        ];
        Self { nats, db, service, stop, tasks }
    }

    async fn tell(&self, kind: &str) {
        let event = NewEvent { kind: kind.to_owned(), source_id: None, payload: "{\"a\":1}".to_owned() };
        self.service.tell(event).await.unwrap();
    }

    /// Waits until the stream holds so many messages; the subject and id of each.
    async fn holds(&self, count: u64) -> Vec<(String, String)> {
        let look = async || {
            let stream = self.nats.stream().await;
            stream.filter(|stream| stream.cached_info().state.messages >= count)
        };
        let kept = async || format!("{count} messages never came: {:?}", self.db.store.stream("nats").await);
        let stream = until(PATIENCE, look, kept).await;
        let state = &stream.cached_info().state;
        assert_eq!(state.messages, count, "and no more");
        let mut found = Vec::new();
        for number in state.first_sequence..=state.last_sequence {
            let message = stream.get_raw_message(number).await.unwrap();
            let id = message.headers.get("Nats-Msg-Id").unwrap().to_string();
            found.push((message.subject.to_string(), id));
        }
        found
    }

    /// Waits until it is told how the stream is.
    async fn says(&self, words: &str) {
        let actor = self.service.local().await.unwrap();
        let told = async || {
            let stream = self.service.by(&actor).stream().await.unwrap();
            stream.filter(|stream| stream.in_words(self.service.now()).contains(words))
        };
        until(PATIENCE, told, async || format!("nobody was told '{words}'")).await;
    }

    async fn stop(self) -> Database {
        self.stop.send_replace(true);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.db
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_wait_for_a_broker_that_is_away_and_are_sent_again_when_it_lost_them() {
    let mut site = Site::new(Nats::start().await).await;
    site.tell("source.failing").await;
    site.tell("source.healthy").await;
    let first = site.holds(2).await;
    let subjects: Vec<&str> = first.iter().map(|(subject, _)| subject.as_str()).collect();
    assert_eq!(subjects, ["gleaner._.source.failing", "gleaner._.source.healthy"]);
    site.nats.kill();
    site.tell("source.failing").await;
    site.says("1 event waits for NATS, which cannot be used").await;
    site.nats.run().await;
    let all = site.holds(3).await;
    assert_eq!(all[..2], first, "what was there is not sent again");
    site.says("all events are with NATS").await;
    // All is gone, and nothing new happens.
    site.nats.kill();
    site.nats.wipe();
    site.nats.run().await;
    assert_eq!(site.holds(3).await, all, "under the same ids, in the same order");
    let db = site.stop().await;
    assert_eq!(db.store.stream("nats").await.unwrap().unwrap().lease, None, "the next may begin at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_sent_again_by_hand_and_the_broker_knows_them() {
    let site = Site::new(Nats::start().await).await;
    let actor = site.service.local().await.unwrap();
    for _ in 0..3 {
        site.tell("source.failing").await;
    }
    let all = site.holds(3).await;
    let resent = site.service.by(&actor).replay_events(Time::from_millis(0)).await.unwrap();
    assert_eq!((resent.first, resent.events), (1, 3));
    site.tell("source.healthy").await;
    let after = site.holds(4).await;
    assert_eq!(after[..3], all, "what comes twice within minutes is dropped by its id");
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_there_is_left_as_it_is() {
    let nats = Nats::start().await;
    let client = async_nats::connect(nats.url()).await.unwrap();
    let made = StreamConfig {
        name: "gleaner".into(),
        subjects: vec!["gleaner.>".into()],
        max_messages: 2,
        ..StreamConfig::default()
    };
    async_nats::jetstream::new(client).create_stream(made).await.unwrap();
    let site = Site::new(nats).await;
    for _ in 0..2 {
        site.tell("source.failing").await;
    }
    site.holds(2).await;
    assert_eq!(site.nats.stream().await.unwrap().cached_info().config.max_messages, 2);
    site.stop().await;
}

#[tokio::test]
async fn without_a_stream_nothing_is_sent_again() {
    let db = sqlite().await;
    let service = Service::open(config(&db.url)).await.unwrap();
    let actor = service.local().await.unwrap();
    let refused = service.by(&actor).replay_events(Time::from_millis(0)).await;
    assert!(matches!(refused, Err(ServiceError::Conflict { .. })), "{refused:?}");
    assert_eq!(service.by(&actor).stream().await.unwrap(), None);
}

fn config(url: &str) -> Config {
    let flags = vec![Flag { name: "test".into(), assignment: format!("store.url={url}") }];
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).unwrap_or_else(|errors| panic!("{errors}")).config
}
