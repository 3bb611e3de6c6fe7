//! The processes that share a database.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::Row;
use super::{Sql, ms, opt_ms, opt_time, sql, time};
use crate::store::{Result, Worker, Workers};

const WORKER: &str = "name, role, version, started_at, seen_at, hosts, polls, posts, polls_per_hour, due_lag_ms, \
    network_down_since";

#[async_trait]
impl Workers for Sql {
    async fn beat(&self, worker: &Worker, forget: Time) -> Result<()> {
        self.run(sql!(
            "INSERT INTO workers ({WORKER}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
             ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, hosts = excluded.hosts,
                 polls = excluded.polls, posts = excluded.posts, polls_per_hour = excluded.polls_per_hour,
                 due_lag_ms = excluded.due_lag_ms, network_down_since = excluded.network_down_since",
            worker.name.as_str(),
            worker.role.as_str(),
            worker.version.as_str(),
            ms(worker.started_at),
            ms(worker.seen_at),
            whole(worker.hosts),
            whole(worker.polls),
            whole(worker.posts),
            whole(worker.polls_per_hour),
            worker.due_lag.map(|lag| whole(lag.as_millis())),
            opt_ms(worker.network_down_since),
        ))
        .await?;
        self.run(sql!("DELETE FROM workers WHERE seen_at < $1", ms(forget))).await.map(|_| ())
    }

    async fn workers(&self) -> Result<Vec<Worker>> {
        self.all(sql!("SELECT {WORKER} FROM workers ORDER BY name"), worker).await
    }

    async fn leave(&self, name: &str) -> Result<()> {
        self.run(sql!("DELETE FROM workers WHERE name = $1", name)).await.map(|_| ())
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn worker(row: &Row) -> sqlx::Result<Worker> {
    let count = |column: &str| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or(0));
    let lag: Option<i64> = row.try_get("due_lag_ms")?;
    Ok(Worker {
        name: row.try_get("name")?,
        role: row.try_get("role")?,
        version: row.try_get("version")?,
        started_at: time(row, "started_at")?,
        seen_at: time(row, "seen_at")?,
        hosts: count("hosts")?,
        polls: count("polls")?,
        posts: count("posts")?,
        polls_per_hour: count("polls_per_hour")?,
        due_lag: lag.map(|lag| Span::from_millis(u64::try_from(lag).unwrap_or(0))),
        network_down_since: opt_time(row, "network_down_since")?,
    })
}
