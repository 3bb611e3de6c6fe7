//! Webhooks: made, changed, tried, and what was sent to them.

use std::sync::Arc;

use gleaner_core::link;
use serde_json::{Value, json};
use url::Url;

use super::access::checked_name;
use super::audit::{Target, differences};
use super::events::kinds;
use super::step_up::SensitiveAction;
use super::{By, Checks, Scope, Service, ServiceError};
use crate::config::secret::Secret;
use crate::engine::{Sender, seal_webhook_secret};
use crate::fetch::guard::{self, AllowedNetworks};
use crate::hex;
use crate::log;
use crate::store::{Delivery, DeliveryStatus, Progress, Webhook};
use crate::vault::{Vault, random};

/// How many webhooks there are at most.
const MOST: usize = 100;
/// How many of the latest are looked through for one that was given up.
const LATELY: u32 = 100;
/// How many types of events one names at most.
const TYPES: usize = 50;

/// A webhook to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// What to call it; none: by its host.
    pub name: Option<String>,
    /// Where events are sent.
    pub url: String,
    /// Which types of events; none given: all.
    pub events: Vec<String>,
    /// Whether it is used.
    pub enabled: bool,
}

/// What to change; what is none stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookEdit {
    /// What to call it.
    pub name: Option<String>,
    /// Where events are sent.
    pub url: Option<String>,
    /// Which types of events; empty: all.
    pub events: Option<Vec<String>>,
    /// Whether it is used.
    pub enabled: Option<bool>,
}

impl Service {
    /// What sends events to webhooks; `owner` names it among processes.
    pub fn sender(&self, owner: &str) -> Result<Sender, ServiceError> {
        let fetcher = self.fetcher()?;
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let vault = Vault::for_store(&self.config.store);
        Ok(Sender::new(store, fetcher, vault, clock, self.config.fetch.timeout, owner))
    }

    /// Sends events to webhooks as they happen, until `stop` is there.
    pub async fn send_events(&self, sender: &Sender, stop: impl Future<Output = ()>) {
        sender.run(self.outbox.latest(), Arc::clone(&self.send), stop).await;
    }

    fn target(&self, text: &str) -> Result<Url, ServiceError> {
        let url = link::source_url(text)?;
        let allow = AllowedNetworks::new(self.config.fetch.allow_private_networks.clone());
        guard::check_url(&url, &allow).map_err(|refused| {
            let message = format!(
                "nothing can be sent to {url}: {refused}; fetch.allow_private_networks opens networks"
            );
            ServiceError::invalid("url", message)
        })?;
        Ok(url)
    }
}

impl By<'_> {
    /// One's own webhooks; for an admin, all.
    pub async fn webhooks(&self) -> Result<Vec<Webhook>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.actor.must_be_unlimited()?;
        let mut webhooks = self.store.webhooks().await?;
        webhooks.retain(|webhook| self.actor.is_admin || webhook.owner_id == self.actor.user_id);
        Ok(webhooks)
    }

    /// One webhook.
    pub async fn webhook(&self, id: i64) -> Result<Webhook, ServiceError> {
        let found = self.webhooks().await?.into_iter().find(|webhook| webhook.id == id);
        found.ok_or_else(|| ServiceError::missing("webhook", &id.to_string()))
    }

    /// Makes a webhook for what happens from now on. What signs its requests is shown this once.
    pub async fn create_webhook(&self, new: &NewWebhook) -> Result<(Webhook, Secret), ServiceError> {
        self.actor.must(Scope::Write)?;
        self.actor.must_be_unlimited()?;
        let mut checks = Checks::default();
        let url = checks.take("url", self.target(&new.url));
        let host = url.as_ref().and_then(Url::host_str).unwrap_or("webhook").to_owned();
        let name = checks.take("name", checked_name("name", new.name.as_deref().unwrap_or(&host)));
        let events = checks.take("events", checked_events(&new.events));
        checks.done()?;
        if self.store.webhooks().await?.len() >= MOST {
            let message = format!("there are {MOST} webhooks already; delete one that is not needed");
            return Err(ServiceError::conflict("too_many_webhooks", message));
        }
        let (now, secret) = (self.clock.now(), Secret::new(hex::encode(&random::<32>()?)));
        let webhook = Webhook {
            id: 0,
            owner_id: self.actor.user_id,
            name: name.unwrap_or_default(),
            url: url.map(String::from).unwrap_or_default(),
            secret: seal_webhook_secret(&self.vault, self.actor.user_id, &secret)?,
            events: events.unwrap_or_default(),
            enabled: new.enabled,
            progress: self.as_of_now().await?,
            created_at: now,
            updated_at: now,
        };
        let target = Target::new("webhook", None, &webhook.name);
        let store = self.audited("webhook.create", target, Some(about(&webhook)));
        let id = store.create_webhook(&webhook).await?;
        Ok((Webhook { id, ..webhook }, secret))
    }

    /// Changes a webhook. One that is enabled again hears of what happens from then on.
    pub async fn edit_webhook(&self, id: i64, edit: &WebhookEdit) -> Result<Webhook, ServiceError> {
        self.actor.must(Scope::Write)?;
        let was = self.webhook(id).await?;
        self.must_prove_for(&was).await?;
        let mut checks = Checks::default();
        let mut webhook = was.clone();
        if let Some(name) = &edit.name {
            webhook.name = checks.take("name", checked_name("name", name)).unwrap_or_default();
        }
        if let Some(url) = &edit.url {
            webhook.url = checks.take("url", self.target(url)).map(String::from).unwrap_or_default();
        }
        if let Some(events) = &edit.events {
            webhook.events = checks.take("events", checked_events(events)).unwrap_or_default();
        }
        checks.done()?;
        webhook.enabled = edit.enabled.unwrap_or(was.enabled);
        webhook.updated_at = self.clock.now();
        let (woken, moved) = (webhook.enabled && !was.enabled, webhook.url != was.url);
        if woken {
            webhook.progress = self.as_of_now().await?;
        } else if moved {
            // What the old target did is not held against the new one.
            webhook.progress = Progress { last_seq: was.progress.last_seq, ..Progress::default() };
        }
        let changes = differences(&about(&was), &about(&webhook));
        let store = self.audited("webhook.update", Target::webhook(&was), Some(changes.into()));
        store.edit_webhook(&webhook, woken || moved).await?;
        self.send.notify_one();
        self.webhook(id).await
    }

    async fn as_of_now(&self) -> Result<Progress, ServiceError> {
        // What is committed by now belongs to the time before.
        let last_seq = self.outbox.number().await?;
        Ok(Progress { last_seq, ..Progress::default() })
    }

    /// Deletes a webhook with its log.
    pub async fn delete_webhook(&self, id: i64) -> Result<(), ServiceError> {
        self.actor.must(Scope::Write)?;
        let webhook = self.webhook(id).await?;
        self.must_prove_for(&webhook).await?;
        self.audited("webhook.delete", Target::webhook(&webhook), None).delete_webhook(id).await?;
        Ok(())
    }

    async fn must_prove_for(&self, webhook: &Webhook) -> Result<(), ServiceError> {
        if webhook.owner_id == self.actor.user_id {
            return Ok(());
        }
        self.must_prove(SensitiveAction::ChangeWebhookOfOthers).await
    }

    /// Sends a test to a webhook, enabled or not, and waits for what becomes of it.
    pub async fn test_webhook(&self, id: i64) -> Result<Delivery, ServiceError> {
        self.actor.must(Scope::Write)?;
        let webhook = self.webhook(id).await?;
        Ok(self.sender("test")?.test(&webhook).await?)
    }

    /// Tries a webhook again at once, without waiting any longer: what is next, and the latest that was given up.
    pub async fn retry_webhook(&self, id: i64) -> Result<(), ServiceError> {
        self.actor.must(Scope::Write)?;
        let mut webhook = self.webhook(id).await?;
        if !webhook.enabled {
            let message = format!("the webhook {} is disabled; enable it first", webhook.name);
            return Err(ServiceError::conflict("webhook_disabled", message));
        }
        webhook.progress.next_try_at = None;
        self.store.edit_webhook(&webhook, true).await?;
        let kept = self.store.kept_events().await?;
        let lately = self.store.deliveries(id, None, LATELY).await?;
        let given_up = lately.into_iter().find(|row| {
            row.status == DeliveryStatus::GivenUp && row.seq.is_some_and(|seq| seq >= kept.first)
        });
        if let Some(row) = given_up {
            self.store.replay_delivery(id, row.id, self.clock.now()).await?;
        }
        self.send.notify_one();
        Ok(())
    }

    /// What was sent to a webhook, newest first, before that row.
    pub async fn deliveries(
        &self,
        id: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Delivery>, ServiceError> {
        self.webhook(id).await?;
        Ok(self.store.deliveries(id, before, limit).await?)
    }

    /// Has something sent to a webhook again, as soon as can be.
    pub async fn replay_delivery(&self, id: i64, delivery: i64) -> Result<Delivery, ServiceError> {
        self.actor.must(Scope::Write)?;
        let webhook = self.webhook(id).await?;
        let missing = || ServiceError::missing("delivery", &delivery.to_string());
        let found = self.store.deliveries(id, Some(delivery.saturating_add(1)), 1).await?.pop();
        let found = found.filter(|found| found.id == delivery).ok_or_else(missing)?;
        let Some(seq) = found.seq else {
            let message = "this was a test, and tells of nothing; send another one";
            return Err(ServiceError::conflict("is_test", message));
        };
        if !webhook.enabled {
            let message = format!("the webhook {} is disabled; enable it first", webhook.name);
            return Err(ServiceError::conflict("webhook_disabled", message));
        }
        if self.store.kept_events().await?.first > seq {
            let message = format!(
                "event {seq} is not kept any more, and cannot be sent again; store.keep_events_days keeps longer"
            );
            return Err(ServiceError::conflict("event_gone", message));
        }
        let replayed = self.store.replay_delivery(id, delivery, self.clock.now()).await?;
        self.send.notify_one();
        Ok(replayed)
    }
}

/// What the audit log says of a webhook.
fn about(webhook: &Webhook) -> Value {
    json!({
        "name": webhook.name,
        "url": log::Redacted(&webhook.url).to_string(),
        "events": webhook.events,
        "enabled": webhook.enabled,
    })
}

fn checked_events(events: &[String]) -> Result<String, ServiceError> {
    if events.len() > TYPES {
        return Err(ServiceError::invalid(
            "events",
            format!("name {TYPES} types of events at most, or none for all"),
        ));
    }
    kinds("events", events.iter().map(String::as_str))?;
    let names: Vec<&str> = events.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    Ok(names.join(","))
}
