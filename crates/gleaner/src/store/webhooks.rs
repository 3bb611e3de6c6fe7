//! Webhooks, their progress, and the log of deliveries.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};

use super::{NewEvent, Result};

/// Webhooks and their deliveries.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Adds a webhook; returns its id.
    async fn create_webhook(&self, webhook: &Webhook) -> Result<i64>;

    async fn webhooks(&self) -> Result<Vec<Webhook>>;

    /// Changes name, URL, event types and whether it is enabled; with `anew`, also its progress.
    async fn edit_webhook(&self, webhook: &Webhook, anew: bool) -> Result<()>;

    /// Deletes a webhook with its log.
    async fn delete_webhook(&self, id: i64) -> Result<()>;

    /// Leases an enabled webhook; none where another process has leased it.
    async fn claim_webhook(&self, id: i64, owner: &str, now: Time, until: Time) -> Result<Option<Webhook>>;

    /// Ends a lease.
    async fn release_webhook(&self, id: i64, owner: &str) -> Result<()>;

    /// Records that no event between two numbers was for a webhook, unless its progress has changed meanwhile.
    async fn skip_events(&self, id: i64, from: i64, to: i64) -> Result<()>;

    /// Records deliveries, the webhook's progress and events about it in one transaction; returns whether the lease was still
    /// ours, else nothing is written.
    async fn record_deliveries(&self, sent: &WebhookReport) -> Result<bool>;

    /// Records a delivery without an event; returns its id.
    async fn add_delivery(&self, delivery: &Delivery) -> Result<i64>;

    /// Lists a webhook's deliveries, newest first, before that row.
    async fn deliveries(&self, webhook_id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Delivery>>;

    /// Returns the delivery of one event to a webhook.
    async fn delivery_of(&self, webhook_id: i64, seq: i64) -> Result<Option<Delivery>>;

    /// Returns the longest due delivery that is to be sent again, of those before the webhook's progress.
    async fn due_delivery(&self, webhook: &Webhook, now: Time) -> Result<Option<Delivery>>;

    /// Makes a delivery due at once.
    async fn replay_delivery(&self, webhook_id: i64, id: i64, now: Time) -> Result<Delivery>;
}

/// A target of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: i64,
    pub owner_id: i64,
    /// Chosen by its owner.
    pub name: String,
    /// The target URL.
    pub url: String,
    /// The encrypted signing key.
    pub secret: Vec<u8>,
    /// Event types, separated by commas; empty: all.
    pub events: String,
    /// Whether events are sent.
    pub enabled: bool,
    /// Its progress.
    pub progress: Progress,
    pub created_at: Time,
    /// When a person last changed it.
    pub updated_at: Time,
}

/// The progress of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// The last event that was sent, given up, or not for it.
    pub last_seq: i64,
    /// Consecutive failures of its target.
    pub failures: u32,
    /// The first of those.
    pub failing_since: Option<Time>,
    /// No event is sent before.
    pub next_try_at: Option<Time>,
    /// Since when events are given up, because its target has failed for too long.
    pub given_up_at: Option<Time>,
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// To be tried, or tried again.
    Pending,
    /// The target accepted it.
    Delivered,
    /// Tried for too long.
    GivenUp,
}

impl DeliveryStatus {
    /// The name in database and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
        }
    }

    /// The status of that name.
    pub(super) fn named(name: &str) -> Self {
        let all = [Self::Pending, Self::Delivered];
        all.into_iter().find(|status| status.name() == name).unwrap_or(Self::GivenUp)
    }
}

/// A delivery of an event to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: i64,
    pub webhook_id: i64,
    /// The number of the event; none: a test.
    pub seq: Option<i64>,
    /// The type of the event.
    pub kind: String,
    pub status: DeliveryStatus,
    /// Number of tries.
    pub tries: u32,
    /// The latest response status.
    pub status_code: Option<u16>,
    /// The latest error.
    pub error: Option<String>,
    /// The duration of the latest try.
    pub duration: Option<Span>,
    /// When it was first due.
    pub created_at: Time,
    /// The last try.
    pub tried_at: Option<Time>,
    /// The next try.
    pub next_try_at: Option<Time>,
}

/// Deliveries to a webhook under a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookReport {
    pub webhook_id: i64,
    pub owner: String,
    /// When it ended.
    pub at: Time,
    /// Its progress.
    pub progress: Progress,
    /// One for each event.
    pub deliveries: Vec<Delivery>,
    /// Events to write with it.
    pub events: Vec<NewEvent>,
}
