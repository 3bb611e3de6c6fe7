//! One event on its way to one webhook: signed, sent, and what follows from the answer.
//!
//! Pure but for the sending itself. A target that fails is asked more and more rarely; what it has not taken for a
//! day is given up. Absent on purpose: skipping ahead. A webhook hears of things in the order in which they happened.

use std::time::Instant;

use gleaner_core::link;
use gleaner_core::time::{Jitter, Span, Time};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;
use url::Url;

use super::told::Told;
use crate::config::secret::Secret;
use crate::fetch::{Fetcher, PostRequest};
use crate::hex;
use crate::store::{Delivery, DeliveryStatus, Event, NewEvent, Progress, Webhook};
use crate::vault::{Vault, VaultError};

/// The pause after a first failure; it doubles with each further one.
const FIRST_PAUSE: Span = Span::from_secs(30);
/// The longest pause.
const LONGEST_PAUSE: Span = Span::from_hours(1);
/// An event is tried for so long.
const PATIENCE: Span = Span::from_days(1);
/// What is sent again by hand is tried so often: about a day, too.
const REPLAY_TRIES: u32 = 30;

/// Seals what a webhook's requests are signed with.
pub fn seal_webhook_secret(vault: &Vault, owner_id: i64, secret: &Secret) -> Result<Vec<u8>, VaultError> {
    vault.seal(&purpose(owner_id), secret.expose().as_bytes())
}

fn purpose(owner_id: i64) -> String {
    format!("webhook secret of user {owner_id}")
}

/// How one try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tried {
    pub(super) status_code: Option<u16>,
    /// None: the target took it.
    pub(super) error: Option<String>,
    pub(super) duration: Span,
}

/// Sends an event, once. `delivery` names it, the same at every try, so that a receiver can tell doubles.
pub(super) async fn send(
    fetcher: &Fetcher,
    vault: &Vault,
    webhook: &Webhook,
    delivery: &str,
    told: &Told,
    now: Time,
) -> Tried {
    let began = Instant::now();
    let sent = match post(vault, webhook, delivery, told, now) {
        Ok(post) => fetcher.post(&post, now).await.map_err(|failed| (failed.status, failed.to_string())),
        Err(error) => Err((None, error)),
    };
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (status_code, error) = match sent {
        Ok(status) => (Some(status), None),
        Err((status, error)) => (status, Some(error)),
    };
    Tried { status_code, error, duration: Span::from_millis(millis) }
}

fn post(
    vault: &Vault,
    webhook: &Webhook,
    delivery: &str,
    told: &Told,
    now: Time,
) -> Result<PostRequest, String> {
    let url = Url::parse(&webhook.url).map_err(|error| format!("the target is no URL: {error}"))?;
    let opened = vault.open(&purpose(webhook.owner_id), &webhook.secret);
    let secret = opened.map_err(|error| format!("the webhook's secret cannot be used: {error}"))?;
    let body = told.to_json();
    let headers = vec![
        ("gleaner-event", told.kind.clone()),
        ("gleaner-delivery", delivery.to_owned()),
        ("gleaner-signature", signature(&secret, now, &body)),
    ];
    Ok(PostRequest { url, content_type: "application/json", headers, body: body.into() })
}

/// `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`.
fn signature(secret: &[u8], now: Time, body: &str) -> String {
    let seconds = now.as_millis().div_euclid(1000);
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return String::new() };
    mac.update(format!("{seconds}.{body}").as_bytes());
    format!("t={seconds},v1={}", hex::encode(&mac.finalize().into_bytes()))
}

/// A delivery that nobody has tried yet.
pub(super) fn fresh(webhook: &Webhook, event: &Event) -> Delivery {
    Delivery {
        id: 0,
        webhook_id: webhook.id,
        seq: event.seq,
        kind: event.event.kind.clone(),
        status: DeliveryStatus::Pending,
        tries: 0,
        status_code: None,
        error: None,
        duration: None,
        created_at: event.created_at,
        tried_at: None,
        next_try_at: None,
    }
}

/// The delivery after a try; what is next is for the caller to say.
pub(super) fn after_try(delivery: Delivery, tried: &Tried, now: Time) -> Delivery {
    let taken = tried.error.is_none();
    Delivery {
        status: if taken { DeliveryStatus::Delivered } else { DeliveryStatus::Pending },
        tries: delivery.tries.saturating_add(1),
        status_code: tried.status_code,
        error: tried.error.clone(),
        duration: Some(tried.duration),
        tried_at: Some(now),
        next_try_at: None,
        ..delivery
    }
}

/// What was sent again by hand failed: it is tried again by itself, or given up.
pub(super) fn replay_failed(delivery: Delivery, now: Time, jitter: Jitter) -> Delivery {
    if delivery.tries >= REPLAY_TRIES {
        return Delivery { status: DeliveryStatus::GivenUp, ..delivery };
    }
    let next_try_at = Some(now + pause(delivery.tries, jitter));
    Delivery { next_try_at, ..delivery }
}

/// The target has failed once more.
pub(super) fn failed(progress: Progress, now: Time, jitter: Jitter) -> Progress {
    let failures = progress.failures.saturating_add(1);
    Progress {
        failures,
        failing_since: progress.failing_since.or(Some(now)),
        next_try_at: Some(now + pause(failures, jitter)),
        ..progress
    }
}

/// The target took something.
pub(super) fn succeeded(progress: Progress) -> Progress {
    Progress { last_seq: progress.last_seq, ..Progress::default() }
}

fn pause(failures: u32, jitter: Jitter) -> Span {
    let pause = FIRST_PAUSE.doubled(failures.saturating_sub(1)).min(LONGEST_PAUSE);
    pause.scale(jitter.around_one(0.1))
}

/// Whether an event is given up on a target that has failed until now: it is a day old, and so is the failing. What
/// became old while nobody was there to send it is still tried for a day.
pub(super) fn is_given_up(progress: &Progress, event: &Event, now: Time) -> bool {
    let long = |since: Time| now.since(since) >= PATIENCE;
    progress.failing_since.is_some_and(long) && long(event.created_at)
}

/// A webhook whose target has failed for so long that events are given up, or that has taken one again. Its URL is
/// not told: it may well be a secret by itself.
pub(super) fn status_event(kind: &str, webhook: &Webhook, error: Option<&str>) -> NewEvent {
    let payload = json!({
        "webhook_id": webhook.id,
        "name": webhook.name,
        "host": link::host(&webhook.url),
        "failing_since": webhook.progress.failing_since,
        "error": error,
    });
    NewEvent { kind: kind.to_owned(), source_id: None, payload: payload.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour() {
        let half = Jitter::new(0.5);
        let pauses: Vec<u64> = (1..=9).map(|n| pause(n, half).as_millis() / 1000).collect();
        assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(pause(u32::MAX, half), LONGEST_PAUSE);
        assert_eq!(pause(0, half), FIRST_PAUSE);
    }

    #[test]
    fn a_signature_is_over_the_time_and_the_body() {
        let at = Time::from_millis(1_700_000_000_999);
        let signed = signature(b"secret", at, "{}");
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac secret
        assert_eq!(
            signed,
            "t=1700000000,v1=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
        );
    }
}
