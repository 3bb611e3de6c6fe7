//! Sends events to webhooks: each one's in order, one request at a time; webhooks side by side.
//!
//! How far each has got is in the database, so that nothing is lost by a restart, and a lease on each lets one process
//! at a time send. A request may come twice, where its answer got lost; its delivery's name tells. Absent on purpose: a
//! queue of its own. What is to be sent is what the outbox holds after a webhook's place in it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gleaner_core::time::Span;
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};

use super::delivery;
use super::sending::{Inner, drain};
use super::told::Told;
use crate::clock::{Clock, RandomSource};
use crate::fetch::Fetcher;
use crate::store::{Delivery, DeliveryStatus, Event, NewEvent, Store, StoreError, Webhook};
use crate::vault::Vault;

/// How long it waits at most, so that what other processes ask for is noticed.
const PAUSE: Span = Span::from_secs(1);
/// How long requests under way have to end when it stops.
const GRACE: Duration = Duration::from_secs(5);

/// Sends events to webhooks.
pub struct Sender {
    inner: Arc<Inner>,
}

impl Sender {
    /// A sender that has sent nothing yet; `owner` names it among processes, and `timeout` is the fetcher's.
    pub fn new(
        store: Arc<dyn Store>,
        fetcher: Fetcher,
        vault: Vault,
        clock: Arc<dyn Clock>,
        timeout: Span,
        owner: impl Into<String>,
    ) -> Self {
        // Longer than any request, so that a lease does not end while one is under way.
        let lease =
            clock.span_of_real(Span::from_millis(timeout.doubled(1).as_millis().saturating_add(60_000)));
        let (random, owner) = (RandomSource::new(), owner.into());
        Self { inner: Arc::new(Inner { store, fetcher, vault, clock, random, owner, lease }) }
    }

    /// Sends all that is due now, and waits for it; how many requests that were.
    pub async fn send_due(&self) -> Result<u64, StoreError> {
        let mut sending = JoinSet::new();
        for webhook in self.inner.store.webhooks().await?.into_iter().filter(|webhook| webhook.enabled) {
            sending.spawn(drain(Arc::clone(&self.inner), webhook));
        }
        Ok(sending.join_all().await.into_iter().sum())
    }

    /// Sends a test, once, and writes down what became of it.
    pub async fn test(&self, webhook: &Webhook) -> Result<Delivery, StoreError> {
        let Inner { store, fetcher, vault, clock, .. } = &*self.inner;
        let now = clock.now();
        let (kind, data) = ("webhook.test".to_owned(), serde_json::json!({ "webhook_id": webhook.id }));
        let told = Told { id: 0, kind, created_at: now, source: None, data };
        let name = format!("{}-test-{}", webhook.id, now.as_millis());
        let tried = delivery::send(fetcher, vault, webhook, &name, &told, now).await;
        let event = Event { id: 0, seq: None, event: told_as_new(&told), created_at: now };
        let mut row = delivery::after_try(delivery::fresh(webhook, &event), &tried, clock.now());
        if row.status == DeliveryStatus::Pending {
            row.status = DeliveryStatus::GivenUp;
        }
        row.id = store.add_delivery(&row).await?;
        Ok(row)
    }

    /// Sends for ever, until `stop` is there. `latest` grows with events, and `asked` says that a person wants
    /// something sent.
    pub async fn run(
        &self,
        mut latest: watch::Receiver<i64>,
        asked: Arc<Notify>,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = std::pin::pin!(stop);
        let mut sending = Sending::default();
        loop {
            sending.begin(&self.inner).await;
            let pause = tokio::time::sleep(self.inner.clock.real_duration(PAUSE));
            let mut pause = std::pin::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut stop => return sending.end(&self.inner).await,
                    () = &mut pause => break,
                    Ok(()) = latest.changed() => break,
                    () = asked.notified() => break,
                    // One that was busy may have missed what came meanwhile.
                    missed = sending.one_done(), if !sending.tasks.is_empty() => if missed { break },
                }
            }
        }
    }
}

/// The webhooks that are being sent to.
#[derive(Default)]
struct Sending {
    tasks: JoinSet<u64>,
    ids: HashMap<Id, i64>,
    /// Webhooks that were busy when something may have come for them.
    missed: Vec<i64>,
}

impl Sending {
    /// Begins with every webhook that is not busy.
    async fn begin(&mut self, inner: &Arc<Inner>) {
        let webhooks = match inner.store.webhooks().await {
            Ok(webhooks) => webhooks,
            Err(error) => {
                tracing::error!(%error, "webhooks cannot be read; trying again");
                return;
            }
        };
        self.missed.clear();
        for webhook in webhooks.into_iter().filter(|webhook| webhook.enabled) {
            if self.ids.values().any(|id| *id == webhook.id) {
                self.missed.push(webhook.id);
                continue;
            }
            let id = webhook.id;
            let task = self.tasks.spawn(drain(Arc::clone(inner), webhook));
            self.ids.insert(task.id(), id);
        }
    }

    /// Waits until one is done; whether it may have missed something.
    async fn one_done(&mut self) -> bool {
        let id = match self.tasks.join_next_with_id().await {
            Some(Ok((id, _))) => id,
            Some(Err(error)) => {
                tracing::error!(%error, "sending to a webhook was interrupted; it goes on when its lease runs out");
                error.id()
            }
            None => return false,
        };
        self.ids.remove(&id).is_some_and(|webhook| self.missed.contains(&webhook))
    }

    /// Lets requests under way end, for a while; what was not recorded is sent again at the next start.
    async fn end(mut self, inner: &Inner) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, all).await.is_ok() {
            return;
        }
        self.tasks.shutdown().await;
        for id in self.ids.into_values() {
            if let Err(error) = inner.store.release_webhook(id, &inner.owner).await {
                tracing::warn!(%error, "a webhook's lease could not be ended; it runs out by itself");
            }
        }
    }
}

fn told_as_new(told: &Told) -> NewEvent {
    NewEvent { kind: told.kind.clone(), source_id: None, payload: told.data.to_string() }
}
