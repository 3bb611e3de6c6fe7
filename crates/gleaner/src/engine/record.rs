//! The one writer: polls are committed in batches, and count as done when their batch is durable.

use std::sync::Arc;

use gleaner_core::identity::Seen;

use super::batch::Batcher;
use crate::store::{Commit, Committed, Release, Store, StoreError};

/// How many polls one transaction takes.
const COMMITS: usize = 200;
/// How many sources' entries one query loads.
const KNOWN: usize = 50;

/// A store's failure, told to everybody in the batch.
pub(super) type Shared<T> = Result<T, Arc<StoreError>>;

/// What one poll hands over: its verdict, and the end of its host's lease where it was the last.
struct Record {
    commit: Option<Box<Commit>>,
    release: Option<Release>,
}

/// Reads what is known and writes what was decided, for all polls at once.
pub(super) struct Recorder {
    records: Batcher<Record, Shared<Committed>>,
    known: Batcher<i64, Shared<Vec<Seen>>>,
}

impl Recorder {
    pub(super) fn start(store: &Arc<dyn Store>) -> Self {
        let (writer, reader) = (Arc::clone(store), Arc::clone(store));
        Self {
            records: Batcher::start(COMMITS, move |records| write(Arc::clone(&writer), records)),
            known: Batcher::start(KNOWN, move |ids| load(Arc::clone(&reader), ids)),
        }
    }

    /// Commits a poll, and ends its host's lease with it where `release` says so.
    pub(super) async fn commit(&self, commit: Commit, release: Option<Release>) -> Shared<Committed> {
        self.record(Record { commit: Some(Box::new(commit)), release }).await
    }

    /// Ends a lease.
    pub(super) async fn release(&self, release: Release) -> Shared<()> {
        self.record(Record { commit: None, release: Some(release) }).await.map(|_| ())
    }

    /// All that is remembered of a source's entries.
    pub(super) async fn known(&self, source_id: i64) -> Shared<Vec<Seen>> {
        self.known.submit(source_id).await.unwrap_or_else(|| Err(gone()))
    }

    async fn record(&self, record: Record) -> Shared<Committed> {
        self.records.submit(record).await.unwrap_or_else(|| Err(gone()))
    }
}

/// The worker died, which only a bug can do.
fn gone() -> Arc<StoreError> {
    Arc::new(StoreError::NotFound { entity: "worker", key: "that records polls".into() })
}

async fn write(store: Arc<dyn Store>, records: Vec<Record>) -> Vec<Shared<Committed>> {
    let mut commits = Vec::with_capacity(records.len());
    let (mut releases, mut has_commit) = (Vec::new(), Vec::with_capacity(records.len()));
    for record in records {
        has_commit.push(record.commit.is_some());
        commits.extend(record.commit.map(|commit| *commit));
        releases.extend(record.release);
    }
    let results = match store.commit(&commits, &releases).await {
        Ok(committed) => committed.into_iter().map(Ok).collect(),
        // One bad apple must not spoil the batch: each alone, so that only the bad one fails.
        Err(error) if commits.len() > 1 && !error.is_for_all() => {
            one_by_one(&*store, &commits, &releases).await
        }
        Err(error) => {
            let error = Arc::new(error);
            commits.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    };
    let mut results: Vec<Shared<Committed>> = results;
    let mut results = results.drain(..);
    has_commit
        .into_iter()
        .map(|has| if has { results.next().unwrap_or_else(|| Err(gone())) } else { Ok(Committed::Discarded) })
        .collect()
}

async fn one_by_one(store: &dyn Store, commits: &[Commit], releases: &[Release]) -> Vec<Shared<Committed>> {
    let mut results = Vec::with_capacity(commits.len());
    for commit in commits {
        let committed = store.commit(std::slice::from_ref(commit), &[]).await;
        results.push(committed.map(|mut one| one.pop().unwrap_or(Committed::Discarded)).map_err(Arc::new));
    }
    if let Err(error) = store.release(releases).await {
        tracing::error!(%error, "leases could not be ended; they run out by themselves");
    }
    results
}

async fn load(store: Arc<dyn Store>, ids: Vec<i64>) -> Vec<Shared<Vec<Seen>>> {
    match store.known(&ids).await {
        Ok(mut known) => ids.iter().map(|id| Ok(known.remove(id).unwrap_or_default())).collect(),
        Err(error) => {
            let error = Arc::new(error);
            ids.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    }
}
