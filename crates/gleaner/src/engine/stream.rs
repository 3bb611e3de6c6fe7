//! Sends events to a broker, in order, at least once, each message under an id that stays the same.
//!
//! How far it has got is in the database; it moves when the broker has acknowledged. A lease lets one process at a time
//! send, for as long as it lives. Brokers acknowledge before they sync, and may lose the end of what they took, or all of
//! it; that is seen by their own numbers, and what is lost is sent again from what the outbox keeps. Absent on purpose: a
//! queue of its own, and giving up. While the broker is away the outbox grows, for as long as events are kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gleaner_core::time::{Span, Time};
use tokio::sync::{Notify, watch};

use super::broker::{Broker, BrokerError, Found};
use super::message::{Message, messages};
use super::told::tell;
use crate::clock::{Clock, RandomSource};
use crate::config::Nats;
use crate::store::{Event, Store, StoreError, Stream, StreamClaim};

/// What the stream is called in the database.
pub const NATS: &str = "nats";
/// How long a stream is a process's that is not heard from.
const LEASE: Span = Span::from_secs(30);
/// How long it waits at most.
const PAUSE: Span = Span::from_secs(1);
/// How often it is looked whether the broker still has what it took.
const LOOK: Span = Span::from_secs(10);
/// The longest wait after a failure.
const LONGEST: Span = Span::from_secs(30);
/// How many events are read at once.
const EVENTS: u32 = 100;

/// Why nothing is sent.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

/// Sends events to NATS.
pub struct Streamer {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    random: RandomSource,
    config: Nats,
    owner: String,
    origin: String,
    broker: Option<Broker>,
    /// Until when the stream is ours to send to.
    held_until: Time,
    /// When the broker was last asked what it has.
    looked: Option<Time>,
    failures: u32,
}

impl Streamer {
    /// One that has sent nothing yet. `owner` names it among processes; `origin` begins the ids of messages where nothing
    /// was ever sent from this database.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: Nats,
        owner: impl Into<String>,
        origin: impl Into<String>,
    ) -> Self {
        Self {
            store,
            clock,
            random: RandomSource::new(),
            config,
            owner: owner.into(),
            origin: origin.into(),
            broker: None,
            held_until: Time::from_millis(i64::MIN),
            looked: None,
            failures: 0,
        }
    }

    /// Sends for ever, until `stop` is there. `latest` grows with events, and `asked` says that a person wants some again.
    pub async fn run(
        mut self,
        mut latest: watch::Receiver<i64>,
        asked: Arc<Notify>,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = std::pin::pin!(stop);
        loop {
            // What is numbered from here on wakes the wait below.
            latest.borrow_and_update();
            let sending = self.send_all();
            let pause = tokio::select! {
                sent = sending => match sent {
                    Ok(()) => {
                        self.failures = 0;
                        self.clock.real_duration(PAUSE)
                    }
                    Err(error) => self.failed(&error).await,
                },
                // What was not written down is sent again, under the same ids.
                () = &mut stop => break,
            };
            let mut pause = std::pin::pin!(tokio::time::sleep(pause));
            tokio::select! {
                () = &mut stop => break,
                () = &mut pause => {}
                () = asked.notified() => {}
                Ok(()) = latest.changed(), if self.failures == 0 => {}
            }
        }
        // What was committed last is numbered now; it goes out with whoever holds the stream next.
        if let Err(error) = self.store.release_stream(NATS, &self.owner).await {
            tracing::warn!(%error, "the stream's lease could not be ended; it runs out by itself");
        }
    }

    /// Sends all that there is, where it is ours to send.
    async fn send_all(&mut self) -> Result<(), StreamError> {
        let Some(mut stream) = self.hold().await? else { return Ok(()) };
        self.look(&mut stream).await?;
        loop {
            let kept = self.store.kept_events().await?;
            if stream.last_seq + 1 < kept.first {
                let missed = kept.first - 1 - stream.last_seq;
                tracing::error!(
                    missed,
                    "events were not sent to NATS while they were kept, and are not any more"
                );
            }
            let events = self.store.events(stream.last_seq, EVENTS).await?;
            if events.is_empty() {
                return Ok(());
            }
            if !self.send(&mut stream, &events).await? {
                return Ok(());
            }
            // Whoever sent it back, or took it over, is right.
            match self.hold().await? {
                Some(now) if now.last_seq == stream.last_seq => stream = now,
                _ => return Ok(()),
            }
        }
    }

    /// The stream, where it is ours.
    async fn hold(&mut self) -> Result<Option<Stream>, StreamError> {
        let now = self.clock.now();
        let found = self.store.stream(NATS).await?;
        if let Some(stream) = found {
            let (owner, until) = stream.lease.clone().unwrap_or_default();
            if owner == self.owner && until > now + self.clock.span_of_real(LEASE).half() {
                return Ok(Some(stream));
            }
            if owner != self.owner && until > now {
                return Ok(None);
            }
        }
        self.held_until = now + self.clock.span_of_real(LEASE);
        let claim = StreamClaim {
            name: NATS.to_owned(),
            owner: self.owner.clone(),
            origin: self.origin.clone(),
            now,
            until: self.held_until,
        };
        Ok(self.store.claim_stream(&claim).await?)
    }

    /// Makes sure now and then that the broker is there and has what it took; what it lost is to be sent again.
    async fn look(&mut self, stream: &mut Stream) -> Result<(), StreamError> {
        let now = self.clock.now();
        let lately = |at: Time| at <= now && now.since(at) < self.clock.span_of_real(LOOK);
        if self.looked.is_some_and(lately) && self.broker.is_some() && stream.failing_since.is_none() {
            return Ok(());
        }
        let broker = match self.broker.take() {
            Some(broker) => broker,
            None => Broker::connect(&self.config, &self.owner).await?,
        };
        let broker = self.broker.insert(broker);
        let found = broker.stream().await?;
        let from = stream.last_seq;
        let lost = lost(broker, stream, found).await;
        if let Some(to) = lost {
            self.tell_loss(to);
            stream.last_seq = to;
        }
        let was = (stream.made, stream.broker_seq, stream.failing_since.is_some());
        stream.made = Some(found.made);
        stream.broker_seq = found.last;
        if stream.failing_since.take().is_some() {
            tracing::info!("NATS is back; what has waited is sent");
        }
        stream.error = None;
        if from != stream.last_seq || was != (stream.made, stream.broker_seq, false) {
            self.store.record_stream(&self.owner, from, stream).await?;
        }
        self.looked = Some(now);
        Ok(())
    }

    /// Sends events and writes down how far that went; whether the stream is still ours.
    async fn send(&mut self, stream: &mut Stream, events: &[Event]) -> Result<bool, StreamError> {
        let Some(broker) = &self.broker else { return Ok(false) };
        let all = self.messages(stream, events).await?;
        let taken = broker.send(&all, stream.broker_seq).await;
        let from = stream.last_seq;
        if let Some(number) = taken.went_back {
            let to = last_there(broker, stream, number - 1).await;
            self.tell_loss(to);
            (stream.last_seq, stream.broker_seq) = (to, taken.last);
            return Ok(self.store.record_stream(&self.owner, from, stream).await?);
        }
        let last = events.last().and_then(|event| event.seq).unwrap_or(from);
        // Up to the event before the first that is not all with the broker.
        stream.last_seq = all.get(taken.count).map_or(last, |message| message.seq - 1).max(from);
        stream.broker_seq = stream.broker_seq.max(taken.last);
        stream.sent += i64::try_from(taken.count).unwrap_or(0);
        if taken.count > 0 {
            stream.sent_at = Some(self.clock.now());
        }
        let ours = self.store.record_stream(&self.owner, from, stream).await?;
        match taken.error {
            Some(error) => Err(error.into()),
            None => Ok(ours),
        }
    }

    fn tell_loss(&self, after: i64) {
        let stream = &self.config.stream;
        tracing::warn!(stream, after, "NATS does not have all that it took; what is kept is sent again");
    }

    async fn messages(&self, stream: &Stream, events: &[Event]) -> Result<Vec<Message>, StoreError> {
        let mut sources: Vec<i64> = events.iter().filter_map(|event| event.event.source_id).collect();
        sources.sort_unstable();
        sources.dedup();
        let names = self.store.source_names(&sources).await?;
        let collections: HashMap<i64, i64> =
            names.into_iter().map(|(id, name)| (id, name.collection_id)).collect();
        let told = tell(&*self.store, events).await?;
        let prefix = &self.config.subject;
        Ok(told.into_iter().flat_map(|told| messages(prefix, &stream.origin, told, &collections)).collect())
    }

    /// Writes down and logs what went wrong; how long to wait before another try. The stream is let go, since another
    /// process may reach the broker that this one does not.
    async fn failed(&mut self, error: &StreamError) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.looked = None;
        if self.failures == 1 {
            tracing::warn!(%error, "events cannot be sent to NATS; they wait, and polling goes on");
        } else {
            tracing::debug!(%error, "events still cannot be sent to NATS");
        }
        if let StreamError::Broker(error) = error {
            let noted = self.note(&error.to_string()).await;
            if let Err(error) = noted {
                tracing::debug!(%error, "that could not be written down");
            }
        }
        let wait = PAUSE.doubled(self.failures.saturating_sub(1).min(10)).min(LONGEST);
        self.clock.real_duration(wait.scale(self.random.jitter().around_one(0.3)))
    }

    async fn note(&self, error: &str) -> Result<(), StoreError> {
        let Some(stream) = self.store.stream(NATS).await? else { return Ok(()) };
        let from = stream.last_seq;
        let failing_since = stream.failing_since.or(Some(self.clock.now()));
        let stream = Stream { failing_since, error: Some(error.to_owned()), ..stream };
        self.store.record_stream(&self.owner, from, &stream).await?;
        self.store.release_stream(NATS, &self.owner).await
    }
}

/// Where to go on from where the broker has lost something; none: it has not. Another stream than before, or one whose
/// end is gone.
async fn lost(broker: &Broker, stream: &Stream, found: Found) -> Option<i64> {
    let before = stream.made?;
    if before != found.made {
        return (stream.last_seq > 0).then_some(0);
    }
    if found.last >= stream.broker_seq {
        return None;
    }
    Some(last_there(broker, stream, found.last).await)
}

/// The last event that is whole with the broker, whose last message has that number.
async fn last_there(broker: &Broker, stream: &Stream, number: i64) -> i64 {
    let latest = broker.latest_event(&stream.origin, number).await;
    // Its other messages may be among what was lost.
    latest.map_or(0, |seq| seq - 1).clamp(0, stream.last_seq)
}
