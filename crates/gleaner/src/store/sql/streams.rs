//! Streams of events to a broker.

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::{Query, Sql, ms, opt_ms, opt_time};
use crate::store::{Result, Stream, StreamClaim, Streams};

const STREAM: &str = "name, origin, last_seq, made, broker_seq, sent, sent_at, failing_since, error, lease_owner, \
    lease_until";

#[async_trait]
impl Streams for Sql {
    async fn stream(&self, name: &str) -> Result<Option<Stream>> {
        let mut query = Query::new(format!("SELECT {STREAM} FROM streams WHERE name = "));
        query.push_bind(name);
        Ok(self.all(query, stream).await?.pop())
    }

    async fn claim_stream(&self, claim: &StreamClaim) -> Result<Option<Stream>> {
        let mut query = Query::new("INSERT INTO streams (name, origin) VALUES (");
        query.separated(", ").push_bind(claim.name.as_str()).push_bind(claim.origin.as_str());
        query.push(") ON CONFLICT (name) DO NOTHING");
        self.run(query).await?;
        let mut query = Query::new("UPDATE streams SET lease_owner = ");
        query.push_bind(claim.owner.as_str()).push(", lease_until = ").push_bind(ms(claim.until));
        query.push(" WHERE name = ").push_bind(claim.name.as_str());
        query.push(" AND (lease_until IS NULL OR lease_until <= ").push_bind(ms(claim.now));
        query.push(" OR lease_owner = ").push_bind(claim.owner.as_str());
        query.push(format!(") RETURNING {STREAM}"));
        let row = self.execute_returning(query).await.map_err(|error| self.fail(error))?;
        row.as_ref().map(stream).transpose().map_err(|error| self.fail(error))
    }

    async fn record_stream(&self, owner: &str, from: i64, stream: &Stream) -> Result<bool> {
        let mut query = Query::new("UPDATE streams SET last_seq = ");
        query.push_bind(stream.last_seq).push(", made = ").push_bind(stream.made);
        query.push(", broker_seq = ").push_bind(stream.broker_seq);
        query.push(", sent = ").push_bind(stream.sent).push(", sent_at = ").push_bind(opt_ms(stream.sent_at));
        query.push(", failing_since = ").push_bind(opt_ms(stream.failing_since));
        query.push(", error = ").push_bind(stream.error.as_deref());
        query.push(" WHERE name = ").push_bind(stream.name.as_str());
        query.push(" AND lease_owner = ").push_bind(owner).push(" AND last_seq = ").push_bind(from);
        Ok(self.run(query).await? > 0)
    }

    async fn release_stream(&self, name: &str, owner: &str) -> Result<()> {
        let mut query = Query::new("UPDATE streams SET lease_owner = NULL, lease_until = NULL WHERE name = ");
        query.push_bind(name).push(" AND lease_owner = ").push_bind(owner);
        self.run(query).await.map(|_| ())
    }

    async fn rewind_stream(&self, name: &str, to: i64) -> Result<()> {
        // Whoever is sending now has begun from another place, and is not to write that down.
        let mut query = Query::new("UPDATE streams SET lease_owner = NULL, lease_until = NULL, last_seq = ");
        query.push_bind(to).push(" WHERE name = ").push_bind(name).push(" AND last_seq > ").push_bind(to);
        self.run(query).await.map(|_| ())
    }

    async fn first_event_since(&self, since: Time) -> Result<Option<i64>> {
        let mut query = Query::new("SELECT MIN(seq) FROM outbox WHERE seq IS NOT NULL AND created_at >= ");
        query.push_bind(ms(since));
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
