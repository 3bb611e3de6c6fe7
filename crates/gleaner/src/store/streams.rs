//! Where events are streamed to, and how far each stream has got.

use async_trait::async_trait;
use gleaner_core::time::Time;

use super::Result;

/// Streams of events to a broker; a lease on each lets one process at a time send.
#[async_trait]
pub trait Streams: Send + Sync {
    /// How far a stream has got; none: nothing was ever sent to it.
    async fn stream(&self, name: &str) -> Result<Option<Stream>>;

    /// Leases a stream, made where it is missing, with `origin` as the beginning of its messages' ids; none where somebody
    /// else has it.
    async fn claim_stream(&self, claim: &StreamClaim) -> Result<Option<Stream>>;

    /// Writes how far a stream has got, where the lease is ours and nobody has sent it back meanwhile; whether that was so.
    async fn record_stream(&self, owner: &str, from: i64, stream: &Stream) -> Result<bool>;

    /// Ends a lease.
    async fn release_stream(&self, name: &str, owner: &str) -> Result<()>;

    /// Sends a stream back to that place, so that all after it is sent again; whoever sends now begins anew.
    async fn rewind_stream(&self, name: &str, to: i64) -> Result<()>;

    /// The number of the first event since then; none: there is none yet.
    async fn first_event_since(&self, since: Time) -> Result<Option<i64>>;
}

/// Who wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamClaim {
    /// To which stream.
    pub name: String,
    /// Who.
    pub owner: String,
    /// What ids of messages begin with, where nothing was ever sent.
    pub origin: String,
    /// The time now.
    pub now: Time,
    /// When the lease ends.
    pub until: Time,
}

/// How far a stream has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name here.
    pub name: String,
    /// What ids of messages begin with, so that two databases do not tell of two things under one id.
    pub origin: String,
    /// Events up to here are with the broker.
    pub last_seq: i64,
    /// When the broker's stream was made, as the broker says it: another time is another stream.
    pub made: Option<i64>,
    /// The last number that the broker gave: one that it does not know any more is a loss.
    pub broker_seq: i64,
    /// How many messages the broker took.
    pub sent: i64,
    /// When it took the last.
    pub sent_at: Option<Time>,
    /// Since when nothing can be sent.
    pub failing_since: Option<Time>,
    /// Why.
    pub error: Option<String>,
    /// Who sends, and until when at least.
    pub lease: Option<(String, Time)>,
}
