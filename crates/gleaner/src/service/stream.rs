//! The stream of events to a broker: how far it has got, and sent again.

use std::sync::Arc;

use gleaner_core::time::Time;

use super::{By, Scope, Service, ServiceError, Stream};
use crate::config::Role;
use crate::engine::{NATS, Streamer};
use crate::hex;
use crate::metrics;
use crate::vault::random;

/// The stream, seen from now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamNow {
    /// How far it has got.
    pub stream: Stream,
    /// How many events wait.
    pub waiting: u64,
}

/// What is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resent {
    /// From this event on.
    pub first: i64,
    /// How many events that are.
    pub events: u64,
}

impl Service {
    /// Streams events as they happen, where there is a broker and this process polls, until `stop` is there.
    pub async fn stream_events(&self, role: Role, stop: impl Future<Output = ()>) {
        if !role.polls() || self.config.nats.url.is_none() {
            return;
        }
        // Ids that begin alike in two databases would be one message to a broker that both use.
        let origin = random::<6>().map(|bytes| hex::encode(&bytes)).unwrap_or_else(|_| self.name.clone());
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let streamer = Streamer::new(store, clock, self.config.nats.clone(), &self.name, origin);
        streamer.run(self.outbox.latest(), Arc::clone(&self.resend), stop).await;
    }
}

impl By<'_> {
    /// The stream to NATS; none: nothing was ever sent there.
    pub async fn stream(&self) -> Result<Option<StreamNow>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.actor.must_be_unlimited()?;
        let Some(stream) = self.store.stream(NATS).await? else { return Ok(None) };
        let kept = self.store.kept_events().await?;
        let after = stream.last_seq.max(kept.first - 1);
        Ok(Some(StreamNow { waiting: u64::try_from(kept.last - after).unwrap_or(0), stream }))
    }

    /// Sends events since then again, under the ids that they had.
    pub async fn replay_events(&self, since: Time) -> Result<Resent, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.actor.must_be_unlimited()?;
        if !self.actor.is_admin {
            let why = format!("{} is no admin, and only admins send events again", self.actor.name);
            return Err(ServiceError::Forbidden(why));
        }
        if self.store.stream(NATS).await?.is_none() {
            let why = "nothing was ever streamed from here; set nats.url, and all that is kept is";
            return Err(ServiceError::conflict("no_stream", why));
        }
        let last = self.store.kept_events().await?.last;
        let Some(first) = self.store.first_event_since(since).await? else {
            return Ok(Resent { first: last + 1, events: 0 });
        };
        self.store.rewind_stream(NATS, first - 1).await?;
        self.resend.notify_one();
        let about = serde_json::json!({ "since": since });
        self.audit("stream.replay", super::audit::Target::new("stream", None, NATS), Some(about)).await;
        Ok(Resent { first, events: u64::try_from(last + 1 - first).unwrap_or(0) })
    }
}

impl StreamNow {
    /// How it is, for people.
    pub fn in_words(&self, now: Time) -> String {
        let waiting = match self.waiting {
            0 => "all events are with NATS".to_owned(),
            1 => "1 event waits for NATS".to_owned(),
            many => format!("{many} events wait for NATS"),
        };
        match (&self.stream.failing_since, &self.stream.error) {
            (Some(since), Some(error)) => {
                format!(
                    "{waiting}, which cannot be used for {}: {error}. Polling goes on.",
                    now.since(*since)
                )
            }
            _ => format!("{waiting}; {} messages were sent.", self.stream.sent),
        }
    }

    /// The same for Prometheus.
    pub(super) fn measured(&self) -> String {
        let sent = u64::try_from(self.stream.sent).unwrap_or(0);
        metrics::render_stream(sent, self.waiting, self.stream.failing_since.is_some())
    }
}
