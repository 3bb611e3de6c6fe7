//! The one writer: polls and pages are committed in batches, and count as done when their batch is durable.

use std::sync::Arc;
use std::time::Instant;

use super::Context;
use super::batch::Batcher;
use crate::store::{self, ArticleCommit, Commit, CommitOutcome, Release, Store, StoreError};
use async_trait::async_trait;
use gleaner_core::identity::Seen;

/// How many polls one transaction takes.
const COMMITS: usize = 200;
/// How many sources' entries one query loads.
const KNOWN: usize = 50;

/// A store's failure, told to everybody in the batch.
pub(super) type Shared<T> = Result<T, Arc<StoreError>>;

/// What one poll or page hands over: its verdict, and the end of its host's lease where it was the last.
struct Record<V> {
    verdict: Option<Box<V>>,
    release: Option<Release>,
}

/// What can be committed, many in one transaction.
#[async_trait]
trait Verdict: Sized + Send + Sync + 'static {
    async fn commit(
        store: &dyn Store,
        all: &[Self],
        releases: &[Release],
    ) -> store::Result<Vec<CommitOutcome>>;
}

#[async_trait]
impl Verdict for Commit {
    async fn commit(
        store: &dyn Store,
        all: &[Self],
        releases: &[Release],
    ) -> store::Result<Vec<CommitOutcome>> {
        store.commit(all, releases).await
    }
}

#[async_trait]
impl Verdict for ArticleCommit {
    async fn commit(
        store: &dyn Store,
        all: &[Self],
        releases: &[Release],
    ) -> store::Result<Vec<CommitOutcome>> {
        store.commit_articles(all, releases).await
    }
}

/// Reads what is known and writes what was decided, for all polls at once.
pub(super) struct Recorder {
    polls: Batcher<Record<Commit>, Shared<CommitOutcome>>,
    articles: Batcher<Record<ArticleCommit>, Shared<CommitOutcome>>,
    known: Batcher<i64, Shared<Vec<Seen>>>,
}

impl Recorder {
    pub(super) fn start(cx: &Context) -> Self {
        let reader = Arc::clone(&cx.store);
        Self {
            polls: writer(cx),
            articles: writer(cx),
            known: Batcher::start(KNOWN, move |ids| load(Arc::clone(&reader), ids)),
        }
    }

    /// Hands over a poll to be committed, and its host's lease to be ended with it where `release` says so. Polls are
    /// written in the order in which they are handed over; what became of one is told later.
    pub(super) async fn commit(
        &self,
        commit: Commit,
        release: Option<Release>,
    ) -> impl Future<Output = Shared<CommitOutcome>> + use<> {
        let answer = self.polls.hand_over(Record { verdict: Some(Box::new(commit)), release }).await;
        async move {
            match answer {
                Some(answer) => answer.await.unwrap_or_else(|_| Err(gone())),
                None => Err(gone()),
            }
        }
    }

    /// The same for a page.
    pub(super) async fn commit_article(
        &self,
        commit: ArticleCommit,
        release: Option<Release>,
    ) -> Shared<CommitOutcome> {
        submit(&self.articles, Record { verdict: Some(Box::new(commit)), release }).await
    }

    /// Ends a lease.
    pub(super) async fn release(&self, release: Release) -> Shared<()> {
        submit(&self.polls, Record { verdict: None, release: Some(release) }).await.map(|_| ())
    }

    /// All that is remembered of a source's entries.
    pub(super) async fn known(&self, source_id: i64) -> Shared<Vec<Seen>> {
        submit(&self.known, source_id).await
    }
}

/// Gathers verdicts, and writes what has gathered.
fn writer<V: Verdict>(cx: &Context) -> Batcher<Record<V>, Shared<CommitOutcome>> {
    let (store, metrics) = (Arc::clone(&cx.store), Arc::clone(&cx.metrics));
    let committed = Arc::clone(&cx.committed);
    Batcher::start(COMMITS, move |records| {
        let (store, metrics, committed) = (Arc::clone(&store), Arc::clone(&metrics), Arc::clone(&committed));
        async move {
            metrics.batch_size.observe(records.len() as f64);
            let begun = Instant::now();
            let written = write(store, records).await;
            metrics.commit_seconds.observe(begun.elapsed().as_secs_f64());
            committed.notify_one();
            written
        }
    })
}

async fn submit<I: Send + 'static, T: Send + 'static>(to: &Batcher<I, Shared<T>>, item: I) -> Shared<T> {
    to.submit(item).await.unwrap_or_else(|| Err(gone()))
}

/// The worker died, which only a bug can do.
fn gone() -> Arc<StoreError> {
    Arc::new(StoreError::NotFound { entity: "worker", key: "that records polls".into() })
}

async fn write<V: Verdict>(store: Arc<dyn Store>, records: Vec<Record<V>>) -> Vec<Shared<CommitOutcome>> {
    let mut verdicts = Vec::with_capacity(records.len());
    let (mut with, mut releases) = (Vec::with_capacity(records.len()), Vec::new());
    let mut has_verdict = Vec::with_capacity(records.len());
    for record in records {
        has_verdict.push(record.verdict.is_some());
        if let Some(verdict) = record.verdict {
            verdicts.push(*verdict);
            with.push(record.release);
        }
        releases.extend(record.release);
    }
    let results: Vec<Shared<CommitOutcome>> = match V::commit(&*store, &verdicts, &releases).await {
        Ok(committed) => committed.into_iter().map(Ok).collect(),
        // One bad apple must not spoil the batch: each alone, so that only the bad one fails.
        Err(error) if verdicts.len() > 1 && !error.is_for_all() => {
            one_by_one(&*store, &verdicts, &with, &releases).await
        }
        Err(error) => {
            let error = Arc::new(error);
            verdicts.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    };
    let mut results = results.into_iter();
    has_verdict
        .into_iter()
        .map(
            |has| {
                if has { results.next().unwrap_or_else(|| Err(gone())) } else { Ok(CommitOutcome::Discarded) }
            },
        )
        .collect()
}

/// Each verdict with the end of its lease. The lease of one that fails goes on: a host that is free again while its
/// source is still due would be asked at once, and again, and again.
async fn one_by_one<V: Verdict>(
    store: &dyn Store,
    verdicts: &[V],
    with: &[Option<Release>],
    releases: &[Release],
) -> Vec<Shared<CommitOutcome>> {
    let mut results = Vec::with_capacity(verdicts.len());
    for (verdict, release) in verdicts.iter().zip(with) {
        let committed = V::commit(store, std::slice::from_ref(verdict), release.as_slice()).await;
        results
            .push(committed.map(|mut one| one.pop().unwrap_or(CommitOutcome::Discarded)).map_err(Arc::new));
    }
    let alone: Vec<Release> =
        releases.iter().filter(|release| !with.contains(&Some(**release))).copied().collect();
    if let Err(error) = store.release(&alone).await {
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
