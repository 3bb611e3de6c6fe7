//! Streams of events to a broker, and the progress of each.

use async_trait::async_trait;
use gleaner_core::time::Time;

use super::Result;

/// Streams of events to a broker; a lease on each lets one process at a time send.
#[async_trait]
pub trait Streams: Send + Sync {
    /// Returns a stream's progress; none: nothing was ever sent to it.
    async fn stream(&self, name: &str) -> Result<Option<Stream>>;

    /// Leases a stream, created if it is missing, with `origin` as the prefix of its message ids; none where another process has
    /// leased it.
    async fn claim_stream(&self, claim: &StreamClaim) -> Result<Option<Stream>>;

    /// Records a stream's progress, if the lease is still ours and it was not rewound meanwhile; returns whether it was recorded.
    async fn record_stream(&self, owner: &str, from: i64, stream: &Stream) -> Result<bool>;

    /// Ends a lease.
    async fn release_stream(&self, name: &str, owner: &str) -> Result<()>;

    /// Rewinds a stream, so that all later events are sent again; a process that is sending begins anew.
    async fn rewind_stream(&self, name: &str, to: i64) -> Result<()>;

    /// Returns the number of the first event since then, if any.
    async fn first_event_since(&self, since: Time) -> Result<Option<i64>>;
}

/// A claim of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamClaim {
    /// To which stream.
    pub name: String,
    pub owner: String,
    /// The prefix of message ids, if nothing was ever sent.
    pub origin: String,
    pub now: Time,
    /// When the lease ends.
    pub until: Time,
}

/// The progress of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    pub name: String,
    /// The prefix of message ids, so that two databases never use the same id.
    pub origin: String,
    /// The last event that the broker accepted.
    pub last_seq: i64,
    /// When the broker's stream was created, by the broker's clock: another time means another stream.
    pub made: Option<i64>,
    /// The last sequence number from the broker: if it no longer knows it, messages were lost.
    pub broker_seq: i64,
    /// Number of messages that the broker accepted.
    pub sent: i64,
    /// When it accepted the last one.
    pub sent_at: Option<Time>,
    /// Since when sending fails.
    pub failing_since: Option<Time>,
    pub error: Option<String>,
    /// The owner of the lease, and its end.
    pub lease: Option<(String, Time)>,
}
