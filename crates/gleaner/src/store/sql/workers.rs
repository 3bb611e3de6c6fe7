//! The processes that share a database.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::Row;
use super::{Query, Sql, ms, opt_ms, opt_time, time};
use crate::store::{Result, Worker, Workers};

const WORKER: &str = "name, role, version, started_at, seen_at, hosts, polls, posts, polls_per_hour, due_lag_ms, \
    network_down_since";

#[async_trait]
impl Workers for Sql {
    async fn beat(&self, worker: &Worker, forget: Time) -> Result<()> {
        let mut query = Query::new(format!("INSERT INTO workers ({WORKER}) VALUES ("));
        query
            .separated(", ")
            .push_bind(worker.name.as_str())
            .push_bind(worker.role.as_str())
            .push_bind(worker.version.as_str())
            .push_bind(ms(worker.started_at))
            .push_bind(ms(worker.seen_at))
            .push_bind(whole(worker.hosts))
            .push_bind(whole(worker.polls))
            .push_bind(whole(worker.posts))
            .push_bind(whole(worker.polls_per_hour))
            .push_bind(worker.due_lag.map(|lag| whole(lag.as_millis())))
            .push_bind(opt_ms(worker.network_down_since));
        query.push(
            ") ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, hosts = excluded.hosts, \
             polls = excluded.polls, posts = excluded.posts, polls_per_hour = excluded.polls_per_hour, \
             due_lag_ms = excluded.due_lag_ms, network_down_since = excluded.network_down_since",
        );
        self.run(query).await?;
        let mut query = Query::new("DELETE FROM workers WHERE seen_at < ");
        query.push_bind(ms(forget));
        self.run(query).await.map(|_| ())
    }

    async fn workers(&self) -> Result<Vec<Worker>> {
        self.all(Query::new(format!("SELECT {WORKER} FROM workers ORDER BY name")), worker).await
    }

    async fn leave(&self, name: &str) -> Result<()> {
        let mut query = Query::new("DELETE FROM workers WHERE name = ");
        query.push_bind(name);
        self.run(query).await.map(|_| ())
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
