//! Whether gleaner itself is all right, and what it measures.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use gleaner_core::health::Status;
use serde::Serialize;

use super::{By, Scope, Service, ServiceError};
use crate::metrics::Metrics;

/// A scheduler that was not alive for so long is stuck.
const STUCK: Duration = Duration::from_secs(60);
/// How old the counts of sources may be: counting a million takes a while.
const COUNTED_FOR: Duration = Duration::from_secs(10);

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it is all right.
    pub ok: bool,
    /// What was found.
    pub detail: String,
}

/// Whether it can do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// Whether all is well.
    pub ready: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// How many sources there are of each status.
type Counts = Vec<(Status, u64)>;

/// The counts of sources, and when they were made.
#[derive(Default)]
pub(super) struct Counted(Mutex<Option<(Instant, Counts)>>);

impl Service {
    /// Looks at the database and the scheduler.
    pub async fn readiness(&self) -> Readiness {
        let database = match self.store.meta("last_seq").await {
            Ok(_) => {
                Check { name: "database", ok: true, detail: "it answers, and its schema is ours".into() }
            }
            Err(error) => Check { name: "database", ok: false, detail: error.to_string() },
        };
        let scheduler = self.metrics.tick_age().map(|age| Check {
            name: "scheduler",
            ok: age < STUCK,
            detail: format!("last alive {} s ago", age.as_secs()),
        });
        let checks: Vec<Check> = [Some(database), scheduler].into_iter().flatten().collect();
        Readiness { ready: checks.iter().all(|check| check.ok), checks }
    }

    /// What is counted and measured.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl By<'_> {
    /// How many sources there are of each status; up to ten seconds old.
    pub async fn status_counts(&self) -> Result<Counts, ServiceError> {
        self.actor.must(Scope::Read)?;
        let lock = || self.counted.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((at, counts)) = &*lock()
            && at.elapsed() < COUNTED_FOR
        {
            return Ok(counts.clone());
        }
        let counts = self.store.count_by_status().await?;
        *lock() = Some((Instant::now(), counts.clone()));
        Ok(counts)
    }

    /// All that is measured, for Prometheus.
    pub async fn metrics_text(&self) -> Result<String, ServiceError> {
        let counts = self.status_counts().await?;
        let named: Vec<(&str, u64)> = counts.iter().map(|(status, count)| (status.name(), *count)).collect();
        Ok(self.metrics.render(&named))
    }
}
