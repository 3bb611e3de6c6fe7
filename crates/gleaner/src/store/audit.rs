//! The audit log: who changed what, and who logged in.

use std::sync::Arc;

use async_trait::async_trait;
use gleaner_core::time::Time;

use super::{Result, Store};

/// Rows are added and listed; only clean-up deletes them.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Adds a row. Where one of the same fold key is there, that one's count and latest time grow instead.
    async fn append_audit(&self, entry: &NewAudit) -> Result<()>;

    /// The same store, for one change of users, collections, keys, tokens or webhooks: the row is added in the
    /// transaction of that change, with the id of what the change makes where it has none, and not at all where nothing
    /// changes. Other methods ignore it.
    fn audited(&self, entry: NewAudit) -> Arc<dyn Store>;

    /// Rows, newest first, before that one.
    async fn audit(&self, filter: &AuditFilter, before: Option<i64>, limit: u32) -> Result<Vec<AuditEntry>>;
}

/// A row to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    /// When.
    pub at: Time,
    /// None: nobody was let in.
    pub user_id: Option<i64>,
    /// The user's name then.
    pub user_name: String,
    /// `token NAME`, `session`, `command line (OS user NAME)`, …
    pub via: String,
    /// Where the request came from; none: this machine, without a network in between.
    pub address: Option<String>,
    /// `source.update`, `login.failed`, …
    pub action: String,
    /// `source`, `user`, …
    pub target_kind: String,
    /// Its id.
    pub target_id: Option<i64>,
    /// Its name then.
    pub target_name: String,
    /// A JSON object of `[before, after]` by field. Never holds a secret.
    pub changes: Option<String>,
    /// Rows of the same key are one row that counts.
    pub fold_key: Option<String>,
}

/// A row as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its id.
    pub id: i64,
    /// The latest time and what happened.
    pub entry: NewAudit,
    /// The first time, where it happened several times.
    pub first_at: Time,
    /// How often.
    pub count: i64,
}

/// Which rows; all conditions hold at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// By this user, by name.
    pub user: Option<String>,
    /// `source.update`, or `source` for all actions on sources.
    pub action: Option<String>,
    /// Done to such a thing.
    pub target_kind: Option<String>,
    /// Done to the thing with this id.
    pub target_id: Option<i64>,
    /// From this address.
    pub address: Option<String>,
    /// Happened at or after.
    pub from: Option<Time>,
    /// Happened before.
    pub until: Option<Time>,
}
