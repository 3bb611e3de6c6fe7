//! Where events are sent, how far each target has got, and what became of each.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};

use super::{NewEvent, Result};

/// Webhooks, and the log of what was sent to them.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Adds a webhook; its id is given.
    async fn create_webhook(&self, webhook: &Webhook) -> Result<i64>;

    /// All webhooks.
    async fn webhooks(&self) -> Result<Vec<Webhook>>;

    /// Changes name, target, types and whether it is used; where it starts anew, also how far it has got.
    async fn edit_webhook(&self, webhook: &Webhook, anew: bool) -> Result<()>;

    /// Deletes a webhook with its log.
    async fn delete_webhook(&self, id: i64) -> Result<()>;

    /// Leases a webhook that is used, for one process to send to; none where somebody else has it.
    async fn claim_webhook(&self, id: i64, owner: &str, now: Time, until: Time) -> Result<Option<Webhook>>;

    /// Ends a lease.
    async fn release_webhook(&self, id: i64, owner: &str) -> Result<()>;

    /// Notes that nothing between two numbers was for a webhook, unless somebody has sent to it meanwhile.
    async fn skip_events(&self, id: i64, from: i64, to: i64) -> Result<()>;

    /// Writes what became of sending, how far the webhook has got with it, and events that tell of that, all in one
    /// transaction; whether the lease was still ours, else nothing is written.
    async fn record_sent(&self, sent: &Sent) -> Result<bool>;

    /// Writes a delivery that is no event's; its id is given.
    async fn add_delivery(&self, delivery: &Delivery) -> Result<i64>;

    /// A webhook's log, newest first, before that row.
    async fn deliveries(&self, webhook_id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Delivery>>;

    /// What is known of sending one event to a webhook.
    async fn delivery_of(&self, webhook_id: i64, seq: i64) -> Result<Option<Delivery>>;

    /// The longest due of those that are to be sent again, though the webhook has got past them.
    async fn due_delivery(&self, webhook: &Webhook, now: Time) -> Result<Option<Delivery>>;

    /// Has a delivery sent again at once.
    async fn replay_delivery(&self, webhook_id: i64, id: i64, now: Time) -> Result<Delivery>;
}

/// Where events are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its id.
    pub id: i64,
    /// Whose it is.
    pub owner_id: i64,
    /// What its owner calls it.
    pub name: String,
    /// The target.
    pub url: String,
    /// What signs, encrypted.
    pub secret: Vec<u8>,
    /// Which types of events, separated by commas; empty: all.
    pub events: String,
    /// Whether it is used.
    pub enabled: bool,
    /// How far it has got.
    pub progress: Progress,
    /// When it was made.
    pub created_at: Time,
    /// When a person last changed it.
    pub updated_at: Time,
}

/// How far a webhook has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Events up to here were sent, given up, or not for it.
    pub last_seq: i64,
    /// How often in a row its target failed.
    pub failures: u32,
    /// The first of those.
    pub failing_since: Option<Time>,
    /// The next event is not sent before.
    pub next_try_at: Option<Time>,
    /// Since when events are given up, because its target has failed for so long.
    pub given_up_at: Option<Time>,
}

/// What became of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// It will be tried, or tried again.
    Pending,
    /// The target took it.
    Delivered,
    /// It was tried for long enough.
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

/// An event on its way to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: i64,
    /// Where to.
    pub webhook_id: i64,
    /// Which event; none: a test.
    pub seq: Option<i64>,
    /// The event's type.
    pub kind: String,
    /// What became of it.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub tries: u32,
    /// What the target answered last.
    pub status_code: Option<u16>,
    /// What went wrong last.
    pub error: Option<String>,
    /// How long the last try took.
    pub duration: Option<Span>,
    /// When it was first to be sent.
    pub created_at: Time,
    /// The last try.
    pub tried_at: Option<Time>,
    /// The next try.
    pub next_try_at: Option<Time>,
}

/// What became of sending to a webhook under a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// To which.
    pub webhook_id: i64,
    /// Who sent.
    pub owner: String,
    /// When it ended.
    pub at: Time,
    /// How far it has got.
    pub progress: Progress,
    /// What became of each event.
    pub deliveries: Vec<Delivery>,
    /// What to tell the world.
    pub events: Vec<NewEvent>,
}
