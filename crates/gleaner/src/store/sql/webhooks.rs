//! Webhooks, and the log of what was sent to them.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::Row;
use super::commit::insert_events;
use super::people::is_unique_violation;
use super::{Query, Sql, Statement, Tx, audit, ms, opt_ms, opt_time, pieces, sql, time};
use crate::store::{
    Delivery, DeliveryStatus, NewAudit, Progress, Result, StoreError, Webhook, WebhookReport, Webhooks,
};

const WEBHOOK: &str = "id, owner_id, name, url, secret, events, enabled, last_seq, failures, failing_since, \
    next_try_at, given_up_at, created_at, updated_at";
const DELIVERY: &str = "id, webhook_id, event_seq, kind, status, tries, status_code, error, duration_ms, \
    created_at, tried_at, next_try_at";
/// How many rows of its log a webhook keeps at most.
const LOGGED: i64 = 10_000;

#[async_trait]
impl Webhooks for Sql {
    async fn create_webhook(&self, webhook: &Webhook) -> Result<i64> {
        let query = sql!(
            "INSERT INTO webhooks (owner_id, name, url, secret, events, enabled, last_seq, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
            webhook.owner_id,
            webhook.name.as_str(),
            webhook.url.as_str(),
            webhook.secret.as_slice(),
            webhook.events.as_str(),
            webhook.enabled,
            webhook.progress.last_seq,
            ms(webhook.created_at),
            ms(webhook.updated_at),
        );
        self.insert(query, "webhook", &webhook.name).await
    }

    async fn webhooks(&self) -> Result<Vec<Webhook>> {
        self.all(sql!("SELECT {WEBHOOK} FROM webhooks ORDER BY id"), webhook).await
    }

    async fn edit_webhook(&self, webhook: &Webhook, anew: bool) -> Result<()> {
        let mut tx = self.begin().await?;
        let edited = edit(&mut tx, webhook, anew, self.audit_row()).await;
        match self.end(tx, edited).await {
            Ok(0) => Err(StoreError::NotFound { entity: "webhook", key: webhook.id.to_string() }),
            Ok(_) => Ok(()),
            Err(StoreError::Database { source, .. }) if is_unique_violation(&source) => {
                Err(StoreError::Duplicate { entity: "webhook", key: webhook.id.to_string(), id: None })
            }
            Err(error) => Err(error),
        }
    }

    async fn delete_webhook(&self, id: i64) -> Result<()> {
        self.change(sql!("DELETE FROM webhooks WHERE id = $1", id), "webhook", id).await
    }

    async fn claim_webhook(&self, id: i64, owner: &str, now: Time, until: Time) -> Result<Option<Webhook>> {
        let statement = sql!(
            "UPDATE webhooks SET lease_owner = $1, lease_until = $2
             WHERE id = $3 AND enabled AND (lease_until IS NULL OR lease_until <= $4 OR lease_owner = $1)
             RETURNING {WEBHOOK}",
            owner,
            ms(until),
            id,
            ms(now),
        );
        let row = self.execute_returning(statement).await.map_err(|error| self.fail(error))?;
        row.as_ref().map(webhook).transpose().map_err(|error| self.fail(error))
    }

    async fn release_webhook(&self, id: i64, owner: &str) -> Result<()> {
        self.run(sql!(
            "UPDATE webhooks SET lease_owner = NULL, lease_until = NULL WHERE id = $1 AND lease_owner = $2",
            id,
            owner,
        ))
        .await
        .map(|_| ())
    }

    async fn skip_events(&self, id: i64, from: i64, to: i64) -> Result<()> {
        self.run(sql!("UPDATE webhooks SET last_seq = $1 WHERE id = $2 AND last_seq = $3", to, id, from))
            .await
            .map(|_| ())
    }

    async fn record_deliveries(&self, sent: &WebhookReport) -> Result<bool> {
        let mut tx = self.begin().await?;
        let recorded = record_deliveries(&mut tx, sent).await;
        self.end(tx, recorded).await
    }

    async fn add_delivery(&self, delivery: &Delivery) -> Result<i64> {
        let mut query = upsert(std::slice::from_ref(delivery));
        let row = self.execute_returning(query.push(" RETURNING id")).await;
        let id = row.and_then(|row| row.ok_or(sqlx::Error::RowNotFound)?.try_get(0));
        id.map_err(|error| self.fail(error))
    }

    async fn deliveries(&self, webhook_id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Delivery>> {
        let query = sql!(
            "SELECT {DELIVERY} FROM webhook_deliveries WHERE webhook_id = $1 AND id < $2
             ORDER BY id DESC LIMIT {limit}",
            webhook_id,
            before.unwrap_or(i64::MAX),
        );
        self.all(query, delivery).await
    }

    async fn delivery_of(&self, webhook_id: i64, seq: i64) -> Result<Option<Delivery>> {
        let query = sql!(
            "SELECT {DELIVERY} FROM webhook_deliveries WHERE webhook_id = $1 AND event_seq = $2",
            webhook_id,
            seq,
        );
        Ok(self.all(query, delivery).await?.pop())
    }

    async fn due_delivery(&self, webhook: &Webhook, now: Time) -> Result<Option<Delivery>> {
        let query = sql!(
            "SELECT {DELIVERY} FROM webhook_deliveries
             WHERE webhook_id = $1 AND status = 'pending' AND next_try_at <= $2 AND event_seq <= $3
             ORDER BY next_try_at LIMIT 1",
            webhook.id,
            ms(now),
            webhook.progress.last_seq,
        );
        Ok(self.all(query, delivery).await?.pop())
    }

    async fn replay_delivery(&self, webhook_id: i64, id: i64, now: Time) -> Result<Delivery> {
        let mut tx = self.begin().await?;
        let replayed = replay(&mut tx, webhook_id, id, now).await;
        let replayed = self.end(tx, replayed).await?;
        replayed.ok_or_else(|| StoreError::NotFound { entity: "delivery", key: id.to_string() })
    }
}

/// Returns how many webhooks were changed. The audit row is added only if one was.
async fn edit(tx: &mut Tx, webhook: &Webhook, anew: bool, entry: Option<&NewAudit>) -> sqlx::Result<u64> {
    let edited = tx
        .execute(sql!(
            "UPDATE webhooks SET name = $1, url = $2, events = $3, enabled = $4, updated_at = $5 WHERE id = $6",
            webhook.name.as_str(),
            webhook.url.as_str(),
            webhook.events.as_str(),
            webhook.enabled,
            ms(webhook.updated_at),
            webhook.id,
        ))
        .await?;
    if anew {
        // Whoever is sending now began from another place, and must not record that.
        let statement =
            sql!("UPDATE webhooks SET lease_owner = NULL, lease_until = NULL WHERE id = $1", webhook.id);
        tx.execute(statement).await?;
        tx.execute(progress(webhook.id, None, &webhook.progress)).await?;
    }
    if let Some(entry) = entry.filter(|_| edited > 0) {
        audit::append(tx, entry).await?;
    }
    Ok(edited)
}

async fn replay(tx: &mut Tx, webhook_id: i64, id: i64, now: Time) -> sqlx::Result<Option<Delivery>> {
    let statement = sql!(
        "UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_try_at = $1
         WHERE id = $2 AND webhook_id = $3 AND event_seq IS NOT NULL RETURNING {DELIVERY}",
        ms(now),
        id,
        webhook_id,
    );
    let row = tx.row(statement).await?;
    let Some(replayed) = row.as_ref().map(delivery).transpose()? else { return Ok(None) };
    // One that the webhook waits for goes out with it.
    let statement = sql!(
        "UPDATE webhooks SET next_try_at = NULL WHERE id = $1 AND last_seq < $2",
        webhook_id,
        replayed.seq
    );
    tx.execute(statement).await?;
    Ok(Some(replayed))
}

/// The statement that writes how far a webhook has got; with an owner, only where the lease is still theirs.
fn progress(webhook_id: i64, owner: Option<&str>, progress: &Progress) -> Statement {
    sql!(
        "UPDATE webhooks SET last_seq = $1, failures = $2, failing_since = $3, next_try_at = $4, given_up_at = $5
         WHERE id = $6 AND ($7 IS NULL OR lease_owner = $7)",
        progress.last_seq,
        i64::from(progress.failures),
        opt_ms(progress.failing_since),
        opt_ms(progress.next_try_at),
        opt_ms(progress.given_up_at),
        webhook_id,
        owner,
    )
}

async fn record_deliveries(tx: &mut Tx, sent: &WebhookReport) -> sqlx::Result<bool> {
    if tx.execute(progress(sent.webhook_id, Some(&sent.owner), &sent.progress)).await? == 0 {
        return Ok(false);
    }
    for piece in pieces(&sent.deliveries) {
        tx.execute(upsert(piece)).await?;
    }
    let events: Vec<_> = sent.events.iter().map(|event| (event.clone(), sent.at)).collect();
    insert_events(tx, &events).await?;
    Ok(true)
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
    let mut deleted = tx
        .execute(sql!(
            "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries
                 WHERE created_at < $1 AND status <> 'pending' ORDER BY created_at LIMIT {batch})",
            ms(before),
        ))
        .await?;
    for row in tx.rows(sql!("SELECT id FROM webhooks")).await? {
        let id: i64 = row.try_get(0)?;
        deleted += tx
            .execute(sql!(
                "DELETE FROM webhook_deliveries WHERE status <> 'pending' AND webhook_id = $1
                 AND id <= (SELECT id FROM webhook_deliveries WHERE webhook_id = $1
                     ORDER BY id DESC LIMIT 1 OFFSET {LOGGED})",
                id,
            ))
            .await?;
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
