//! Whether gleaner itself is all right, and what it measures.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gleaner_core::health::Status;
use serde::Serialize;

use super::explain::network_down;
use super::{By, Scope, Service, ServiceError, Source, SourceFilter};
use crate::metrics::Metrics;

/// A scheduler that was not alive for so long is stuck.
const STUCK: Duration = Duration::from_secs(60);
/// How old the counts of sources may be: counting a million takes a while.
const COUNTED_FOR: Duration = Duration::from_secs(10);
/// Counts are good for so many times as long as they took: few sources are counted anew almost every time.
const COUNTED_TIMES: u32 = 100;

/// How many of those that wait for a person are named.
const WAITING: u32 = 8;

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
pub(super) type Counts = Vec<(Status, u64)>;

/// The counts of sources with those that wait for a person.
pub(super) type Counted = Kept<CountsAndWaiting>;

/// Something that takes a while to count, and until when it is good.
pub(super) struct Kept<T>(Mutex<Option<(Instant, Arc<T>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Kept<T> {
    /// What was counted lately, or is now.
    pub(super) async fn or_count<F>(&self, count: F) -> Result<Arc<T>, ServiceError>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let lock = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let begun = Instant::now();
        if let Some((until, counted)) = &*lock()
            && begun < *until
        {
            return Ok(Arc::clone(counted));
        }
        let counted = Arc::new(count.await?);
        let good_for = COUNTED_FOR.min(begun.elapsed() * COUNTED_TIMES);
        *lock() = Some((Instant::now() + good_for, Arc::clone(&counted)));
        Ok(counted)
    }
}

pub(super) type CountsAndWaiting = (Counts, Vec<Source>);

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
        // Not a fault of this process: whoever restarts it for that would only lose time.
        let network = self.metrics.tick_age().map(|_| match self.metrics.network_down_since() {
            Some(since) => Check { name: "own network", ok: true, detail: network_down(since) },
            None => Check {
                name: "own network",
                ok: true,
                detail: "something answers, or nothing was asked".into(),
            },
        });
        let checks: Vec<Check> = [Some(database), scheduler, network].into_iter().flatten().collect();
        Readiness { ready: checks.iter().all(|check| check.ok), checks }
    }

    /// What is counted and measured.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl By<'_> {
    /// How many sources there are of each status; up to ten seconds old where there are many.
    pub async fn status_counts(&self) -> Result<Counts, ServiceError> {
        Ok(self.counted().await?.0.clone())
    }

    /// Counts, with the first sources that wait for a person.
    pub(super) async fn counted(&self) -> Result<Arc<CountsAndWaiting>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let filter = SourceFilter { waits_for_person: true, ..SourceFilter::default() };
        let count = async {
            Ok((self.store.count_by_status().await?, self.store.sources(&filter, None, WAITING).await?))
        };
        self.service.counted.or_count(count).await
    }

    /// All that is measured, for Prometheus.
    pub async fn metrics_text(&self) -> Result<String, ServiceError> {
        let counts = self.status_counts().await?;
        let named: Vec<(&str, u64)> = counts.iter().map(|(status, count)| (status.name(), *count)).collect();
        Ok(self.metrics.render(&named))
    }
}
