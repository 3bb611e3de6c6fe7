//! Webhooks, and the log of what was sent to them.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::Row;
use super::commit::insert_events;
use super::{Query, Sql, Tx, ms, opt_ms, opt_time, pieces, time};
use crate::store::{Delivery, DeliveryStatus, Progress, Result, Sent, StoreError, Webhook, Webhooks};

const WEBHOOK: &str = "id, owner_id, name, url, secret, events, enabled, last_seq, failures, failing_since, \
    next_try_at, given_up_at, created_at, updated_at";
const DELIVERY: &str = "id, webhook_id, event_seq, kind, status, tries, status_code, error, duration_ms, \
    created_at, tried_at, next_try_at";
/// How many rows of its log a webhook keeps at most.
const LOGGED: i64 = 10_000;

#[async_trait]
impl Webhooks for Sql {
    async fn create_webhook(&self, webhook: &Webhook) -> Result<i64> {
        let mut query = Query::new(
            "INSERT INTO webhooks (owner_id, name, url, secret, events, enabled, last_seq, created_at, \
             updated_at) VALUES (",
        );
        query
            .separated(", ")
            .push_bind(webhook.owner_id)
            .push_bind(webhook.name.as_str())
            .push_bind(webhook.url.as_str())
            .push_bind(webhook.secret.as_slice())
            .push_bind(webhook.events.as_str())
            .push_bind(webhook.enabled)
            .push_bind(webhook.progress.last_seq)
            .push_bind(ms(webhook.created_at))
            .push_bind(ms(webhook.updated_at));
        self.insert(query, "webhook", &webhook.name).await
    }

    async fn webhooks(&self) -> Result<Vec<Webhook>> {
        self.all(Query::new(format!("SELECT {WEBHOOK} FROM webhooks ORDER BY id")), webhook).await
    }

    async fn edit_webhook(&self, webhook: &Webhook, anew: bool) -> Result<()> {
        let mut query = Query::new("UPDATE webhooks SET name = ");
        query.push_bind(webhook.name.as_str()).push(", url = ").push_bind(webhook.url.as_str());
        query.push(", events = ").push_bind(webhook.events.as_str());
        query.push(", enabled = ").push_bind(webhook.enabled);
        query.push(", updated_at = ").push_bind(ms(webhook.updated_at));
        if anew {
            // Whoever is sending now has begun from another place, and is not to write that down.
            query.push(", lease_owner = NULL, lease_until = NULL");
            push_progress(&mut query, &webhook.progress);
        }
        query.push(" WHERE id = ").push_bind(webhook.id);
        self.change(query, "webhook", webhook.id).await
    }

    async fn delete_webhook(&self, id: i64) -> Result<()> {
        let mut query = Query::new("DELETE FROM webhooks WHERE id = ");
        query.push_bind(id);
        self.change(query, "webhook", id).await
    }

    async fn claim_webhook(&self, id: i64, owner: &str, now: Time, until: Time) -> Result<Option<Webhook>> {
        let mut query = Query::new("UPDATE webhooks SET lease_owner = ");
        query.push_bind(owner).push(", lease_until = ").push_bind(ms(until));
        query
            .push(" WHERE id = ")
            .push_bind(id)
            .push(" AND enabled AND (lease_until IS NULL OR lease_until <= ");
        query.push_bind(ms(now)).push(" OR lease_owner = ").push_bind(owner);
        query.push(format!(") RETURNING {WEBHOOK}"));
        let row = self.execute_returning(query).await.map_err(|error| self.fail(error))?;
        row.as_ref().map(webhook).transpose().map_err(|error| self.fail(error))
    }

    async fn release_webhook(&self, id: i64, owner: &str) -> Result<()> {
        let mut query = Query::new("UPDATE webhooks SET lease_owner = NULL, lease_until = NULL WHERE id = ");
        query.push_bind(id).push(" AND lease_owner = ").push_bind(owner);
        self.run(query).await.map(|_| ())
    }

    async fn skip_events(&self, id: i64, from: i64, to: i64) -> Result<()> {
        let mut query = Query::new("UPDATE webhooks SET last_seq = ");
        query.push_bind(to).push(" WHERE id = ").push_bind(id).push(" AND last_seq = ").push_bind(from);
        self.run(query).await.map(|_| ())
    }

    async fn record_sent(&self, sent: &Sent) -> Result<bool> {
        let mut tx = self.begin().await?;
        let recorded = record_sent(&mut tx, sent).await;
        self.end(tx, recorded).await
    }

    async fn add_delivery(&self, delivery: &Delivery) -> Result<i64> {
        let mut query = upsert(std::slice::from_ref(delivery));
        let row = self.execute_returning(query.push(" RETURNING id")).await;
        let id = row.and_then(|row| row.ok_or(sqlx::Error::RowNotFound)?.try_get(0));
        id.map_err(|error| self.fail(error))
    }

    async fn deliveries(&self, webhook_id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Delivery>> {
        let mut query = Query::new(format!("SELECT {DELIVERY} FROM webhook_deliveries WHERE webhook_id = "));
        query.push_bind(webhook_id).push(" AND id < ").push_bind(before.unwrap_or(i64::MAX));
        query.push(" ORDER BY id DESC LIMIT ").push(i64::from(limit));
        self.all(query, delivery).await
    }

    async fn delivery_of(&self, webhook_id: i64, seq: i64) -> Result<Option<Delivery>> {
        let mut query = Query::new(format!("SELECT {DELIVERY} FROM webhook_deliveries WHERE webhook_id = "));
        query.push_bind(webhook_id).push(" AND event_seq = ").push_bind(seq);
        Ok(self.all(query, delivery).await?.pop())
    }

    async fn due_delivery(&self, webhook: &Webhook, now: Time) -> Result<Option<Delivery>> {
        let mut query = Query::new(format!("SELECT {DELIVERY} FROM webhook_deliveries WHERE webhook_id = "));
        query.push_bind(webhook.id).push(" AND status = 'pending' AND next_try_at <= ").push_bind(ms(now));
        query.push(" AND event_seq <= ").push_bind(webhook.progress.last_seq);
        query.push(" ORDER BY next_try_at LIMIT 1");
        Ok(self.all(query, delivery).await?.pop())
    }

    async fn replay_delivery(&self, webhook_id: i64, id: i64, now: Time) -> Result<Delivery> {
        let mut tx = self.begin().await?;
        let replayed = replay(&mut tx, webhook_id, id, now).await;
        let replayed = self.end(tx, replayed).await?;
        replayed.ok_or_else(|| StoreError::NotFound { entity: "delivery", key: id.to_string() })
    }
}

async fn replay(tx: &mut Tx, webhook_id: i64, id: i64, now: Time) -> sqlx::Result<Option<Delivery>> {
    let mut query = Query::new("UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_try_at = ");
    query.push_bind(ms(now)).push(" WHERE id = ").push_bind(id);
    query.push(" AND webhook_id = ").push_bind(webhook_id).push(" AND event_seq IS NOT NULL RETURNING ");
    let row = tx.row(query.push(DELIVERY)).await?;
    let Some(replayed) = row.as_ref().map(delivery).transpose()? else { return Ok(None) };
    // One that the webhook waits for goes out with it.
    let mut query = Query::new("UPDATE webhooks SET next_try_at = NULL WHERE id = ");
    query.push_bind(webhook_id).push(" AND last_seq < ").push_bind(replayed.seq);
    tx.execute(query).await?;
    Ok(Some(replayed))
}

async fn record_sent(tx: &mut Tx, sent: &Sent) -> sqlx::Result<bool> {
    let mut query = Query::new("UPDATE webhooks SET lease_owner = lease_owner");
    push_progress(&mut query, &sent.progress);
    query.push(" WHERE id = ").push_bind(sent.webhook_id);
    query.push(" AND lease_owner = ").push_bind(sent.owner.as_str());
    if tx.execute(query).await? == 0 {
        return Ok(false);
    }
    for piece in pieces(&sent.deliveries) {
        tx.execute(upsert(piece)).await?;
    }
    let events: Vec<_> = sent.events.iter().map(|event| (event.clone(), sent.at)).collect();
    insert_events(tx, &events).await?;
    Ok(true)
}

fn push_progress(query: &mut Query, progress: &Progress) {
    query.push(", last_seq = ").push_bind(progress.last_seq);
    query.push(", failures = ").push_bind(i64::from(progress.failures));
    query.push(", failing_since = ").push_bind(opt_ms(progress.failing_since));
    query.push(", next_try_at = ").push_bind(opt_ms(progress.next_try_at));
    query.push(", given_up_at = ").push_bind(opt_ms(progress.given_up_at));
}

fn upsert(deliveries: &[Delivery]) -> Query {
    let mut query = Query::new(
        "INSERT INTO webhook_deliveries (webhook_id, event_seq, kind, status, tries, status_code, error, \
         duration_ms, created_at, tried_at, next_try_at) ",
    );
    query.push_values(deliveries, |mut list, delivery| {
        let millis = |span: Span| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        list.push_bind(delivery.webhook_id)
            .push_bind(delivery.seq)
            .push_bind(delivery.kind.as_str())
            .push_bind(delivery.status.name())
            .push_bind(i64::from(delivery.tries))
            .push_bind(delivery.status_code.map(i64::from))
            .push_bind(delivery.error.as_deref())
            .push_bind(delivery.duration.map(millis))
            .push_bind(ms(delivery.created_at))
            .push_bind(opt_ms(delivery.tried_at))
            .push_bind(opt_ms(delivery.next_try_at));
    });
    query.push(
        " ON CONFLICT (webhook_id, event_seq) DO UPDATE SET status = excluded.status, tries = excluded.tries, \
         status_code = excluded.status_code, error = excluded.error, duration_ms = excluded.duration_ms, \
         tried_at = excluded.tried_at, next_try_at = excluded.next_try_at",
    );
    query
}

/// Deletes what is old of the logs, and what is too much of them; how many rows.
pub(super) async fn trim_deliveries(tx: &mut Tx, before: Time, batch: i64) -> sqlx::Result<u64> {
    let mut query = Query::new(
        "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE created_at < ",
    );
    query.push_bind(ms(before)).push(" AND status <> 'pending' ORDER BY created_at LIMIT ").push(batch);
    let mut deleted = tx.execute(query.push(")")).await?;
    let webhooks = tx.rows(Query::new("SELECT id FROM webhooks")).await?;
    for row in webhooks {
        let id: i64 = row.try_get(0)?;
        let mut query =
            Query::new("DELETE FROM webhook_deliveries WHERE status <> 'pending' AND webhook_id = ");
        query.push_bind(id).push(" AND id <= (SELECT id FROM webhook_deliveries WHERE webhook_id = ");
        query.push_bind(id).push(" ORDER BY id DESC LIMIT 1 OFFSET ").push(LOGGED).push(")");
        deleted += tx.execute(query).await?;
    }
    Ok(deleted)
}

fn webhook(row: &Row) -> sqlx::Result<Webhook> {
    Ok(Webhook {
        id: row.try_get("id")?,
        owner_id: row.try_get("owner_id")?,
        name: row.try_get("name")?,
        url: row.try_get("url")?,
        secret: row.try_get("secret")?,
        events: row.try_get("events")?,
        enabled: row.try_get("enabled")?,
        progress: Progress {
            last_seq: row.try_get("last_seq")?,
            failures: u32::try_from(row.try_get::<i64, _>("failures")?).unwrap_or(u32::MAX),
            failing_since: opt_time(row, "failing_since")?,
            next_try_at: opt_time(row, "next_try_at")?,
            given_up_at: opt_time(row, "given_up_at")?,
        },
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

fn delivery(row: &Row) -> sqlx::Result<Delivery> {
    let millis = row.try_get::<Option<i64>, _>("duration_ms")?;
    let code = row.try_get::<Option<i64>, _>("status_code")?;
    Ok(Delivery {
        id: row.try_get("id")?,
        webhook_id: row.try_get("webhook_id")?,
        seq: row.try_get("event_seq")?,
        kind: row.try_get("kind")?,
        status: DeliveryStatus::named(row.try_get("status")?),
        tries: u32::try_from(row.try_get::<i64, _>("tries")?).unwrap_or(u32::MAX),
        status_code: code.and_then(|code| u16::try_from(code).ok()),
        error: row.try_get("error")?,
        duration: millis.map(|millis| Span::from_millis(u64::try_from(millis).unwrap_or(0))),
        created_at: time(row, "created_at")?,
        tried_at: opt_time(row, "tried_at")?,
        next_try_at: opt_time(row, "next_try_at")?,
    })
}
