//! The audit log: changes and logins.

use std::sync::Arc;

use async_trait::async_trait;
use gleaner_core::time::Time;

use super::{Result, Store};

/// Rows are added and listed; only retention deletes them.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Adds a row. If one with the same fold key exists, its count and latest time are raised instead.
    async fn append_audit(&self, entry: &NewAudit) -> Result<()>;

    /// The same store, for one change of users, collections, keys, tokens or webhooks: the row is added in the
    /// transaction of that change, with the id of what the change makes where it has none, and not at all where nothing
    /// changes. Other methods ignore it.
    fn audited(&self, entry: NewAudit) -> Arc<dyn Store>;

    /// Lists rows, newest first, before that one.
    async fn audit(&self, filter: &AuditFilter, before: Option<i64>, limit: u32) -> Result<Vec<AuditEntry>>;
}

/// A row to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    pub at: Time,
    /// None: a failed login.
    pub user_id: Option<i64>,
    /// The user's name at that time.
    pub user_name: String,
    /// `token NAME`, `session`, `command line (OS user NAME)`, …
    pub via: String,
    /// The address of the caller; none: the local command line.
    pub address: Option<String>,
    /// `source.update`, `login.failed`, …
    pub action: String,
    /// `source`, `user`, …
    pub target_kind: String,
    pub target_id: Option<i64>,
    pub target_name: String,
    /// A JSON object of `[before, after]` by field. Never holds a secret.
    pub changes: Option<String>,
    /// Rows with the same key are counted in one row.
    pub fold_key: Option<String>,
}

/// A row as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: i64,
    /// What happened, with the latest time.
    pub entry: NewAudit,
    /// The first time, where it happened several times.
    pub first_at: Time,
    /// How often.
    pub count: i64,
}

/// A filter of rows; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// By this user, by name.
    pub user: Option<String>,
    /// `source.update`, or `source` for all actions on sources.
    pub action: Option<String>,
    /// Of this kind of target.
    pub target_kind: Option<String>,
    /// Of the target with this id.
    pub target_id: Option<i64>,
    /// From this address.
    pub address: Option<String>,
    /// Happened at or after.
    pub from: Option<Time>,
    /// Happened before.
    pub until: Option<Time>,
}
