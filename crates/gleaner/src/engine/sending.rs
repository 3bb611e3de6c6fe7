//! What is due of one webhook, sent one after the other, each written down before the next.

use std::sync::Arc;

use gleaner_core::time::{Span, Time};

use super::delivery::{self, Tried};
use super::told::tell;
use crate::clock::{Clock, RandomSource};
use crate::fetch::Fetcher;
use crate::store::{
    Delivery, DeliveryStatus, Event, EventCursor, EventFilter, KindPattern, Progress, Store, StoreError,
    Visibility, Webhook, WebhookReport,
};
use crate::vault::Vault;

/// Where so many events were not for a webhook, its place is written down.
const SKIPPED: i64 = 100;
/// How many events are given up at once.
const GIVEN_UP: u32 = 500;

/// What sending needs.
pub(super) struct Inner {
    pub(super) store: Arc<dyn Store>,
    pub(super) fetcher: Fetcher,
    pub(super) vault: Vault,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: RandomSource,
    pub(super) owner: String,
    pub(super) lease: Span,
}

/// What to send next.
struct Job {
    event: Event,
    delivery: Delivery,
    /// By hand: the webhook has got past it already.
    again: bool,
}

/// Sends all that is due to one webhook; how many requests that were.
pub(super) async fn drain(inner: Arc<Inner>, webhook: Webhook) -> u64 {
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
            // What its owner may not see any more is gone for it.
            let filter = EventFilter { kinds: Vec::new(), ..self.filter(webhook).await? };
            let found = self.store.list_events(&filter, EventCursor::After(seq - 1), 1).await?.pop();
            let event = found.filter(|event| event.seq == Some(seq));
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
        let events =
            self.store.list_events(&self.filter(webhook).await?, EventCursor::After(last_seq), 1).await?;
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
        let mut sent = WebhookReport {
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
            Some(_) if again => sent.deliveries.push(delivery::replay_failed(row, now, self.random.jitter())),
            Some(error) => {
                sent.progress = delivery::failed(webhook.progress, now, self.random.jitter());
                if delivery::is_given_up(&sent.progress, &event, now) {
                    self.give_up(webhook, row, error, &mut sent).await?;
                } else {
                    row.next_try_at = sent.progress.next_try_at;
                    sent.deliveries.push(row);
                }
            }
        }
        self.store.record_deliveries(&sent).await
    }

    /// Gives up one event, and with it all after it that have been waiting for as long.
    async fn give_up(
        &self,
        webhook: &Webhook,
        row: Delivery,
        error: &str,
        sent: &mut WebhookReport,
    ) -> Result<(), StoreError> {
        let after = EventCursor::After(row.seq.unwrap_or_default());
        let rest = self.store.list_events(&self.filter(webhook).await?, after, GIVEN_UP).await?;
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

    /// Which events are for a webhook: those of its types that its owner may see. What cannot be read was not written by
    /// this gleaner, and means nothing.
    async fn filter(&self, webhook: &Webhook) -> Result<EventFilter, StoreError> {
        let kinds = webhook.events.split(',').filter_map(KindPattern::parse).collect();
        let users = self.store.users().await?;
        let is_admin = users.iter().any(|user| user.id == webhook.owner_id && user.is_admin);
        let visibility = Visibility { user_id: (!is_admin).then_some(webhook.owner_id), only: None };
        Ok(EventFilter { kinds, source_id: None, visibility })
    }
}
