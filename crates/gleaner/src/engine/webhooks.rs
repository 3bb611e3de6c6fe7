//! Sends events to webhooks: each one's in order, one request at a time; webhooks side by side.
//!
//! How far each has got is in the database, so that nothing is lost by a restart, and a lease on each lets one process
//! at a time send. A request may come twice, where its answer got lost; its delivery's name tells. Absent on purpose: a
//! queue of its own. What is to be sent is what the outbox holds after a webhook's place in it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gleaner_core::time::{Span, Time};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};

use super::delivery::{self, Tried};
use super::told::{Told, tell};
use crate::clock::{Chance, Clock};
use crate::fetch::Fetcher;
use crate::store::{
    Delivery, DeliveryStatus, Event, EventFilter, KindPattern, NewEvent, Progress, Seek, Sent, Store,
    StoreError, Webhook,
};
use crate::vault::Vault;

/// How long it waits at most, so that what other processes ask for is noticed.
const PAUSE: Span = Span::from_secs(1);
/// How long requests under way have to end when it stops.
const GRACE: Duration = Duration::from_secs(5);
/// Where so many events were not for a webhook, its place is written down.
const SKIPPED: i64 = 100;
/// How many events are given up at once.
const GIVEN_UP: u32 = 500;

/// Sends events to webhooks.
pub struct Sender {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    fetcher: Fetcher,
    vault: Vault,
    clock: Arc<dyn Clock>,
    chance: Chance,
    owner: String,
    lease: Span,
}

/// What to send next.
struct Job {
    event: Event,
    delivery: Delivery,
    /// By hand: the webhook has got past it already.
    again: bool,
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
        let lease = Span::from_millis(timeout.doubled(1).as_millis().saturating_add(60_000));
        let (chance, owner) = (Chance::new(), owner.into());
        Self { inner: Arc::new(Inner { store, fetcher, vault, clock, chance, owner, lease }) }
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
            let pause = tokio::time::sleep(self.inner.clock.real(PAUSE));
            let mut pause = std::pin::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut stop => return sending.end().await,
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
    async fn end(mut self) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, all).await.is_err() {
            self.tasks.shutdown().await;
        }
    }
}

/// Sends all that is due to one webhook; how many requests that were.
async fn drain(inner: Arc<Inner>, webhook: Webhook) -> u64 {
    let (id, name) = (webhook.id, webhook.name.clone());
    let mut sent = 0;
    if let Err(error) = inner.send_all(webhook, &mut sent).await {
        tracing::error!(webhook = name, %error, "events could not be sent on; trying again");
    }
    if sent > 0
        && let Err(error) = inner.store.release_webhook(id, &inner.owner).await
    {
        tracing::warn!(webhook = name, %error, "a webhook's lease could not be ended; it runs out by itself");
    }
    sent
}

impl Inner {
    async fn send_all(&self, mut webhook: Webhook, sent: &mut u64) -> Result<(), StoreError> {
        let mut held_until = Time::from_millis(i64::MIN);
        loop {
            let now = self.clock.now();
            let Some(mut job) = self.next(&webhook, now).await? else { return Ok(()) };
            if held_until <= now + self.lease.half() {
                held_until = now + self.lease;
                let claimed = self.store.claim_webhook(webhook.id, &self.owner, now, held_until).await?;
                let Some(ours) = claimed else { return Ok(()) };
                // Another process may have sent it before it was ours.
                if ours != webhook {
                    webhook = ours;
                    let Some(next) = self.next(&webhook, now).await? else {
                        return self.store.release_webhook(webhook.id, &self.owner).await;
                    };
                    job = next;
                }
            }
            *sent += 1;
            let tried = self.send(&webhook, &job, now).await?;
            if !self.record(&webhook, job, tried).await? {
                return Ok(());
            }
            // It may have been edited or disabled meanwhile.
            let found =
                self.store.webhooks().await?.into_iter().find(|one| one.id == webhook.id && one.enabled);
            let Some(found) = found else { return Ok(()) };
            webhook = found;
        }
    }

    /// What is to be sent to a webhook at this time.
    async fn next(&self, webhook: &Webhook, now: Time) -> Result<Option<Job>, StoreError> {
        if let Some(delivery) = self.store.due_delivery(webhook, now).await? {
            let seq = delivery.seq.unwrap_or_default();
            let event = self.store.events(seq - 1, 1).await?.pop().filter(|event| event.seq == Some(seq));
            if let Some(event) = event {
                return Ok(Some(Job { event, delivery, again: true }));
            }
            let gone = Some("the event is not kept any more".to_owned());
            let row =
                Delivery { status: DeliveryStatus::GivenUp, error: gone, next_try_at: None, ..delivery };
            self.store.add_delivery(&row).await?;
        }
        if webhook.progress.next_try_at.is_some_and(|at| at > now) {
            return Ok(None);
        }
        let (last_seq, last) = (webhook.progress.last_seq, self.store.kept_events().await?.last);
        let events = self.store.list_events(&filter(webhook), Seek::After(last_seq), 1).await?;
        let Some(event) = events.into_iter().next() else {
            if last - last_seq >= SKIPPED {
                self.store.skip_events(webhook.id, last_seq, last).await?;
            }
            return Ok(None);
        };
        let known = self.store.delivery_of(webhook.id, event.seq.unwrap_or_default()).await?;
        let delivery = known.unwrap_or_else(|| delivery::fresh(webhook, &event));
        Ok(Some(Job { event, delivery, again: false }))
    }

    async fn send(&self, webhook: &Webhook, job: &Job, now: Time) -> Result<Tried, StoreError> {
        let told = tell(&*self.store, std::slice::from_ref(&job.event)).await?;
        let name = format!("{}-{}", webhook.id, job.event.seq.unwrap_or_default());
        Ok(match told.first() {
            Some(told) => delivery::send(&self.fetcher, &self.vault, webhook, &name, told, now).await,
            None => Tried {
                status_code: None,
                error: Some("there is nothing to tell".into()),
                duration: Span::ZERO,
            },
        })
    }

    /// Writes down what became of a try; whether the webhook is still ours.
    async fn record(&self, webhook: &Webhook, job: Job, tried: Tried) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let Job { event, delivery: row, again } = job;
        let mut row = delivery::after_try(row, &tried, now);
        let mut sent = Sent {
            webhook_id: webhook.id,
            owner: self.owner.clone(),
            at: now,
            progress: webhook.progress,
            deliveries: Vec::new(),
            events: Vec::new(),
        };
        match &tried.error {
            None => {
                let last_seq = webhook.progress.last_seq.max(event.seq.unwrap_or_default());
                sent.progress = Progress { last_seq, ..delivery::succeeded(webhook.progress) };
                if webhook.progress.given_up_at.is_some() {
                    sent.events.push(delivery::status_event("webhook.recovered", webhook, None));
                }
                sent.deliveries.push(row);
            }
            Some(_) if again => sent.deliveries.push(delivery::replay_failed(row, now, self.chance.jitter())),
            Some(error) => {
                sent.progress = delivery::failed(webhook.progress, now, self.chance.jitter());
                if delivery::is_given_up(&sent.progress, &event, now) {
                    self.give_up(webhook, row, error, &mut sent).await?;
                } else {
                    row.next_try_at = sent.progress.next_try_at;
                    sent.deliveries.push(row);
                }
            }
        }
        self.store.record_sent(&sent).await
    }

    /// Gives up one event, and with it all after it that have been waiting for as long.
    async fn give_up(
        &self,
        webhook: &Webhook,
        row: Delivery,
        error: &str,
        sent: &mut Sent,
    ) -> Result<(), StoreError> {
        let after = Seek::After(row.seq.unwrap_or_default());
        let rest = self.store.list_events(&filter(webhook), after, GIVEN_UP).await?;
        let old = rest.iter().take_while(|event| delivery::is_given_up(&sent.progress, event, sent.at));
        let all = std::iter::once(row).chain(old.map(|event| delivery::fresh(webhook, event)));
        let given_up =
            |row| Delivery { status: DeliveryStatus::GivenUp, error: Some(error.to_owned()), ..row };
        sent.deliveries.extend(all.map(given_up));
        let last = sent.deliveries.last().and_then(|row| row.seq);
        sent.progress.last_seq = last.unwrap_or(sent.progress.last_seq);
        if sent.progress.given_up_at.is_none() {
            sent.progress.given_up_at = Some(sent.at);
            tracing::warn!(
                webhook = webhook.name,
                error,
                "a webhook has failed for a day; events are given up"
            );
            sent.events.push(delivery::status_event("webhook.failing", webhook, Some(error)));
        }
        Ok(())
    }
}

/// Which events are for a webhook. What cannot be read was not written by this gleaner, and means nothing.
fn filter(webhook: &Webhook) -> EventFilter {
    let kinds = webhook.events.split(',').filter_map(KindPattern::parse).collect();
    EventFilter { kinds, source_id: None }
}

fn told_as_new(told: &Told) -> NewEvent {
    NewEvent { kind: told.kind.clone(), source_id: None, payload: told.data.to_string() }
}
