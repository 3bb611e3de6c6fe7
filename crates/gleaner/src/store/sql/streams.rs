//! Streams of events to a broker.

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::{Sql, ms, opt_ms, opt_time, sql};
use crate::store::{Result, Stream, StreamClaim, Streams};

const STREAM: &str = "name, origin, last_seq, made, broker_seq, sent, sent_at, failing_since, error, lease_owner, \
    lease_until";

#[async_trait]
impl Streams for Sql {
    async fn stream(&self, name: &str) -> Result<Option<Stream>> {
        let query = sql!("SELECT {STREAM} FROM streams WHERE name = $1", name);
        Ok(self.all(query, stream).await?.pop())
    }

    async fn claim_stream(&self, claim: &StreamClaim) -> Result<Option<Stream>> {
        self.run(sql!(
            "INSERT INTO streams (name, origin) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
            claim.name.as_str(),
            claim.origin.as_str(),
        ))
        .await?;
        let statement = sql!(
            "UPDATE streams SET lease_owner = $1, lease_until = $2
             WHERE name = $3 AND (lease_until IS NULL OR lease_until <= $4 OR lease_owner = $1)
             RETURNING {STREAM}",
            claim.owner.as_str(),
            ms(claim.until),
            claim.name.as_str(),
            ms(claim.now),
        );
        let row = self.execute_returning(statement).await.map_err(|error| self.fail(error))?;
        row.as_ref().map(stream).transpose().map_err(|error| self.fail(error))
    }

    async fn record_stream(&self, owner: &str, from: i64, stream: &Stream) -> Result<bool> {
        let statement = sql!(
            "UPDATE streams SET last_seq = $1, made = $2, broker_seq = $3, sent = $4, sent_at = $5,
                 failing_since = $6, error = $7
             WHERE name = $8 AND lease_owner = $9 AND last_seq = $10",
            stream.last_seq,
            stream.made,
            stream.broker_seq,
            stream.sent,
            opt_ms(stream.sent_at),
            opt_ms(stream.failing_since),
            stream.error.as_deref(),
            stream.name.as_str(),
            owner,
            from,
        );
        Ok(self.run(statement).await? > 0)
    }

    async fn release_stream(&self, name: &str, owner: &str) -> Result<()> {
        self.run(sql!(
            "UPDATE streams SET lease_owner = NULL, lease_until = NULL WHERE name = $1 AND lease_owner = $2",
            name,
            owner,
        ))
        .await
        .map(|_| ())
    }

    async fn rewind_stream(&self, name: &str, to: i64) -> Result<()> {
        // Whoever is sending now began from another place, and must not record that.
        self.run(sql!(
            "UPDATE streams SET lease_owner = NULL, lease_until = NULL, last_seq = $1
             WHERE name = $2 AND last_seq > $1",
            to,
            name,
        ))
        .await
        .map(|_| ())
    }

    async fn first_event_since(&self, since: Time) -> Result<Option<i64>> {
        let query = sql!("SELECT MIN(seq) FROM outbox WHERE seq IS NOT NULL AND created_at >= $1", ms(since));
        Ok(self.all(query, |row: &Row| row.try_get::<Option<i64>, _>(0)).await?.pop().flatten())
    }
}

fn stream(row: &Row) -> sqlx::Result<Stream> {
    let owner: Option<String> = row.try_get("lease_owner")?;
    Ok(Stream {
        name: row.try_get("name")?,
        origin: row.try_get("origin")?,
        last_seq: row.try_get("last_seq")?,
        made: row.try_get("made")?,
        broker_seq: row.try_get("broker_seq")?,
        sent: row.try_get("sent")?,
        sent_at: opt_time(row, "sent_at")?,
        failing_since: opt_time(row, "failing_since")?,
        error: row.try_get("error")?,
        lease: owner.zip(opt_time(row, "lease_until")?),
    })
}
