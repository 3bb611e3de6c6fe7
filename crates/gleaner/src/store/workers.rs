//! The processes that share a database, as they report themselves.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};

use super::Result;

/// The processes that share a database.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Records a process's report; deletes those of processes that were silent since before `forget`.
    async fn beat(&self, worker: &Worker, forget: Time) -> Result<()>;

    /// Lists all of them, by name.
    async fn workers(&self) -> Result<Vec<Worker>>;

    /// Deletes the report of a process that has stopped.
    async fn leave(&self, name: &str) -> Result<()>;
}

/// A process that serves from this database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Unique among all processes.
    pub name: String,
    /// What it does: `all`, `worker` or `api`.
    pub role: String,
    pub version: String,
    pub started_at: Time,
    /// Its latest report.
    pub seen_at: Time,
    /// Hosts that it has leased.
    pub hosts: u64,
    /// Polls since its start.
    pub polls: u64,
    /// New posts since its start.
    pub posts: u64,
    /// Its recent rate.
    pub polls_per_hour: u64,
    /// How late its recent polls began; none: there were none.
    pub due_lag: Option<Span>,
    /// Since when the local network is down.
    pub network_down_since: Option<Time>,
}
