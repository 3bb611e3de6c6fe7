//! The processes that share a database, as they tell of themselves.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};

use super::Result;

/// Who serves from this database.
#[async_trait]
pub trait Workers: Send + Sync {
    /// A process tells how it is; those that were silent since before `forget` are forgotten.
    async fn beat(&self, worker: &Worker, forget: Time) -> Result<()>;

    /// All of them, by name.
    async fn workers(&self) -> Result<Vec<Worker>>;

    /// A process has stopped, and is not missed.
    async fn leave(&self, name: &str) -> Result<()>;
}

/// A process that serves from this database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What it is called; no other ever is.
    pub name: String,
    /// What it does: `all`, `worker` or `api`.
    pub role: String,
    /// Its version.
    pub version: String,
    /// When it started.
    pub started_at: Time,
    /// When it last told of itself.
    pub seen_at: Time,
    /// How many hosts it holds.
    pub hosts: u64,
    /// How many polls it has made.
    pub polls: u64,
    /// How many posts it has found.
    pub posts: u64,
    /// How fast it has polled lately.
    pub polls_per_hour: u64,
    /// How late its polls have begun lately; none: there were none.
    pub due_lag: Option<Span>,
    /// Since when its own network is down.
    pub network_down_since: Option<Time>,
}
