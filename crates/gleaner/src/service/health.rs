//! Whether gleaner itself is all right, and what it measures.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gleaner_core::health::Status;
use gleaner_core::time::Time;
use serde::Serialize;

use super::explain::network_down;
use super::{By, Scope, Service, ServiceError, Source, SourceFilter};
use crate::metrics::Metrics;
use crate::store::Visibility;

/// A scheduler that was not alive for so long is stuck.
const STUCK: Duration = Duration::from_secs(60);
/// A database that takes longer to say that it is there is not there: whoever asks does not wait for ever, either.
const ANSWERS: Duration = Duration::from_secs(5);
/// How old the counts of sources may be: counting a million takes a while.
const COUNTED_FOR: Duration = Duration::from_secs(10);
/// Counts are good for so many times as long as they took: few sources are counted anew almost every time.
const COUNTED_TIMES: u32 = 100;

/// How many of those that wait for a person are named.
const WAITING: u32 = 8;
/// Suspects are counted up to so many.
const MOST_SUSPECTS: u32 = 1_000_000;

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
    /// Since when there is a local network outage; null: there is none.
    pub network_outage_since: Option<Time>,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// The latest answer on readiness, and when it was begun. Whoever waits while it is looked for takes the next one.
pub(super) type LatestReadiness = tokio::sync::Mutex<Option<(Instant, Readiness)>>;

/// How many sources there are of each status.
pub(super) type Counts = Vec<(Status, u64)>;

/// How sources stand, counted lately.
pub(super) type Counted = Kept<SourceCounts>;

/// Something that takes a while to count, until when it is good, and for whom.
pub(super) struct Kept<T>(Mutex<HashMap<Visibility, (Instant, Arc<T>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// What was counted lately, or is now.
    pub(super) async fn or_count<F>(&self, visibility: &Visibility, count: F) -> Result<Arc<T>, ServiceError>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let lock = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let begun = Instant::now();
        if let Some((until, counted)) = lock().get(visibility)
            && begun < *until
        {
            return Ok(Arc::clone(counted));
        }
        let counted = Arc::new(count.await?);
        let good_for = COUNTED_FOR.min(begun.elapsed() * COUNTED_TIMES);
        let (mut kept, now) = (lock(), Instant::now());
        kept.retain(|_, (until, _)| now < *until);
        kept.insert(visibility.clone(), (now + good_for, Arc::clone(&counted)));
        Ok(counted)
    }
}

/// How sources stand.
pub(super) struct SourceCounts {
    /// How many there are of each status.
    pub(super) counts: Counts,
    /// The first of those that wait for a person.
    pub(super) waiting: Vec<Source>,
    /// How many are suspect.
    pub(super) suspects: u64,
}

impl Service {
    /// Looks at the database and the scheduler. However many ask at once, the database is asked one at a time.
    pub async fn readiness(&self) -> Readiness {
        let asked = Instant::now();
        let mut latest = self.ready.lock().await;
        if let Some((begun, readiness)) = &*latest
            && *begun >= asked
        {
            return readiness.clone();
        }
        let begun = Instant::now();
        let readiness = self.look_whether_ready().await;
        *latest = Some((begun, readiness.clone()));
        readiness
    }

    async fn look_whether_ready(&self) -> Readiness {
        let (ok, detail) = match tokio::time::timeout(ANSWERS, self.store.meta("last_seq")).await {
            Ok(Ok(_)) => (true, "it answers, and its schema is ours".to_owned()),
            Ok(Err(error)) => (false, error.to_string()),
            Err(_) => (false, format!("it has not answered for {} s", ANSWERS.as_secs())),
        };
        let database = Check { name: "database", ok, detail };
        let scheduler = self.metrics.tick_age().map(|age| Check {
            name: "scheduler",
            ok: age < STUCK,
            detail: format!("last alive {} s ago", age.as_secs()),
        });
        let network_outage_since = self.metrics.network_down_since();
        let network = match network_outage_since {
            Some(since) => Some(Check { name: "network", ok: false, detail: network_down(since) }),
            None => self.metrics.tick_age().map(|_| Check {
                name: "network",
                ok: true,
                detail: "no local network outage is known".into(),
            }),
        };
        let checks: Vec<Check> = [Some(database), scheduler, network].into_iter().flatten().collect();
        Readiness { ready: checks.iter().all(|check| check.ok), network_outage_since, checks }
    }

    /// What is counted and measured.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl By<'_> {
    /// How many sources there are of each status; up to ten seconds old where there are many.
    pub async fn status_counts(&self) -> Result<Counts, ServiceError> {
        Ok(self.counted().await?.counts.clone())
    }

    /// How many sources are suspect; as old as [`By::status_counts`].
    pub async fn suspects(&self) -> Result<u64, ServiceError> {
        Ok(self.counted().await?.suspects)
    }

    /// How sources stand.
    pub(super) async fn counted(&self) -> Result<Arc<SourceCounts>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let visibility = self.visibility().await?;
        let visible = SourceFilter { visibility: visibility.clone(), ..SourceFilter::default() };
        let waits = SourceFilter { waits_for_person: true, ..visible.clone() };
        let suspect = SourceFilter { suspect: true, ..visible };
        let count = async {
            Ok(SourceCounts {
                counts: self.store.count_by_status(&visibility).await?,
                waiting: self.store.sources(&waits, None, WAITING).await?,
                suspects: self.store.count_sources(&suspect, MOST_SUSPECTS).await?,
            })
        };
        self.service.counted.or_count(&visibility, count).await
    }

    /// All that is measured, for Prometheus.
    pub async fn metrics_text(&self) -> Result<String, ServiceError> {
        let counts = self.status_counts().await?;
        let named: Vec<(&str, u64)> = counts.iter().map(|(status, count)| (status.name(), *count)).collect();
        let workers = self.workers().await?;
        let stream = self.stream().await?.map(|stream| stream.measured()).unwrap_or_default();
        let workers = super::workers::measured(&workers);
        Ok(format!("{}{workers}{stream}", self.metrics.render(&named)))
    }
}
