//! The dispatcher: gives committed events their numbers, and wakes who tells them on.
//!
//! Events are written in the transaction of what they tell, and ids commit out of order: whoever resumed after an id
//! would miss what committed late. So numbers are given after the commit, by one at a time. Absent on purpose:
//! sending anything; whoever is woken reads the database at a pace of its own.

use std::sync::Arc;

use gleaner_core::time::Span;
use tokio::sync::{Notify, watch};

use crate::clock::Clock;
use crate::store::{Store, StoreError};

/// How long it waits at most, so that what other processes commit is told, too.
const PAUSE: Span = Span::from_secs(1);
/// How long it waits at least: numbering is a transaction of its own, and many commits are numbered in one.
const GATHER: Span = Span::from_millis(50);
/// How many events one transaction numbers.
const BATCH: u32 = 1000;

/// The outbox of this process.
pub struct Outbox {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    committed: Arc<Notify>,
    latest: watch::Sender<i64>,
    ended: watch::Sender<bool>,
}

impl Outbox {
    /// One that numbers nothing until it is [run](Self::run).
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            committed: Arc::default(),
            latest: watch::Sender::new(0),
            ended: watch::Sender::new(false),
        }
    }

    /// What is to be notified when something was committed that may tell of something.
    pub fn committed(&self) -> Arc<Notify> {
        Arc::clone(&self.committed)
    }

    /// The latest number, as it grows.
    pub fn latest(&self) -> watch::Receiver<i64> {
        self.latest.subscribe()
    }

    /// Whether nobody is to wait for more, because this process stops.
    pub fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Says that this process stops.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Numbers all that is committed, and says what the latest number is, whoever gave it.
    pub async fn number(&self) -> Result<i64, StoreError> {
        while self.store.number_events(BATCH).await? >= u64::from(BATCH) {}
        let last = self.store.kept_events().await?.last;
        self.latest.send_if_modified(|latest| std::mem::replace(latest, last) != last);
        Ok(last)
    }

    /// Numbers for ever, until `stop` is there; then once more what was committed last.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            if let Err(error) = self.number().await {
                tracing::error!(%error, "events could not be numbered; trying again");
            }
            tokio::select! {
                () = &mut stop => break,
                () = tokio::time::sleep(self.clock.real_duration(GATHER)) => {}
            }
            tokio::select! {
                () = &mut stop => break,
                () = self.committed.notified() => {}
                () = tokio::time::sleep(self.clock.real_duration(PAUSE)) => {}
            }
        }
        if let Err(error) = self.number().await {
            tracing::warn!(%error, "the last events could not be numbered; the next start does it");
        }
    }
}
