//! The audit log.

use std::sync::Arc;

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::Row;
use super::{Query, Sql, Statement, Tx, ms, sql, time};
use crate::store::{Audit, AuditEntry, AuditFilter, NewAudit, Result, Store};

const COLUMNS: &str = "first_at, last_at, user_id, user_name, via, address, action, target_kind, target_id, \
    target_name, changes, fold_key";

#[async_trait]
impl Audit for Sql {
    async fn append_audit(&self, entry: &NewAudit) -> Result<()> {
        self.run(insert(entry)).await.map(|_| ())
    }

    fn audited(&self, entry: NewAudit) -> Arc<dyn Store> {
        Arc::new(self.with_audit(entry))
    }

    async fn audit(&self, filter: &AuditFilter, before: Option<i64>, limit: u32) -> Result<Vec<AuditEntry>> {
        self.all(list(filter, before, limit), entry).await
    }
}

/// Adds a row in the transaction of the change that it records.
pub(super) async fn append(tx: &mut Tx, entry: &NewAudit) -> sqlx::Result<()> {
    tx.execute(insert(entry)).await?;
    Ok(())
}

/// Deletes old rows; how many.
pub(super) async fn delete_old(tx: &mut Tx, before: Time, batch: i64) -> sqlx::Result<u64> {
    tx.execute(sql!(
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE last_at < $1 ORDER BY last_at LIMIT {batch})",
        ms(before),
    ))
    .await
}

fn insert(entry: &NewAudit) -> Statement {
    sql!(
        "INSERT INTO audit ({COLUMNS}) VALUES ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (fold_key) DO UPDATE SET count = audit.count + 1, last_at = excluded.last_at",
        ms(entry.at),
        entry.user_id,
        entry.user_name.as_str(),
        entry.via.as_str(),
        entry.address.as_deref(),
        entry.action.as_str(),
        entry.target_kind.as_str(),
        entry.target_id,
        entry.target_name.as_str(),
        entry.changes.as_deref(),
        entry.fold_key.as_deref(),
    )
}

/// The query that lists rows.
pub(super) fn list(filter: &AuditFilter, before: Option<i64>, limit: u32) -> Query {
    let mut query = Query::new(format!("SELECT id, count, {COLUMNS} FROM audit WHERE id < "));
    query.push_bind(before.unwrap_or(i64::MAX));
    if let Some(user) = &filter.user {
        query.push(" AND user_name = ").push_bind(user.clone());
    }
    if let Some(action) = &filter.action {
        let start = format!("{action}.");
        let length = i32::try_from(start.chars().count()).unwrap_or(i32::MAX);
        query.push(" AND (action = ").push_bind(action.clone()).push(" OR SUBSTR(action, 1, ");
        query.push_bind(length).push(") = ").push_bind(start).push(")");
    }
    if let Some(kind) = &filter.target_kind {
        query.push(" AND target_kind = ").push_bind(kind.clone());
    }
    if let Some(id) = filter.target_id {
        query.push(" AND target_id = ").push_bind(id);
    }
    if let Some(address) = &filter.address {
        query.push(" AND address = ").push_bind(address.clone());
    }
    if let Some(from) = filter.from {
        query.push(" AND last_at >= ").push_bind(ms(from));
    }
    if let Some(until) = filter.until {
        query.push(" AND first_at < ").push_bind(ms(until));
    }
    query.push(" ORDER BY id DESC LIMIT ").push(i64::from(limit));
    query
}

fn entry(row: &Row) -> sqlx::Result<AuditEntry> {
    Ok(AuditEntry {
        id: row.try_get("id")?,
        first_at: time(row, "first_at")?,
        count: row.try_get("count")?,
        entry: NewAudit {
            at: time(row, "last_at")?,
            user_id: row.try_get("user_id")?,
            user_name: row.try_get("user_name")?,
            via: row.try_get("via")?,
            address: row.try_get("address")?,
            action: row.try_get("action")?,
            target_kind: row.try_get("target_kind")?,
            target_id: row.try_get("target_id")?,
            target_name: row.try_get("target_name")?,
            changes: row.try_get("changes")?,
            fold_key: row.try_get("fold_key")?,
        },
    })
}
