//! Runs statements, each under a time limit.
//!
//! The pools and the driver's transaction are private to this file, so that no statement can be run without a limit. A
//! connection whose other end is gone would otherwise be waited for without end.

use std::borrow::BorrowMut;
use std::io::ErrorKind;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor as _, Row as _, Transaction};
use tokio::time::Instant;

use super::super::{BEGIN, Db, EXPLAIN, PLAN_COLUMN, Row};
use super::{Arguments, Query};
use crate::store::{NewAudit, Result, StoreError};

/// The time limit of a transaction, in multiples of the usual one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    Usual = 1,
    /// For what touches very many rows.
    Bulk = 10,
    /// For changes of the schema, which may rewrite whole tables.
    Migration = 60,
}

/// A store in one database.
pub(in crate::store) struct Sql {
    read: sqlx::Pool<Db>,
    write: sqlx::Pool<Db>,
    database: String,
    time_limit: Duration,
    /// Added in the transaction of each change of users, collections, keys, tokens and webhooks; see
    /// [`crate::store::Audit::audited`].
    audit: Option<NewAudit>,
}

/// A statement with its values.
pub(super) struct Statement(Query);

impl Statement {
    /// A fixed text with values for `$1`, `$2`, …; see [`super::sql`].
    pub(super) fn new(text: String, arguments: Arguments) -> Self {
        Self(Query::with_arguments(text, arguments))
    }
}

impl<Q: BorrowMut<Query>> From<Q> for Statement {
    fn from(mut query: Q) -> Self {
        Self(std::mem::replace(query.borrow_mut(), Query::new("")))
    }
}

/// Fails where the limit is over before the work is done.
async fn within<T>(until: Instant, work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let late = || sqlx::Error::Io(ErrorKind::TimedOut.into());
    tokio::time::timeout_at(until, work).await.unwrap_or_else(|_| Err(late()))
}

impl Sql {
    pub(in crate::store) fn new(
        read: sqlx::Pool<Db>,
        write: sqlx::Pool<Db>,
        database: String,
        time_limit: Duration,
    ) -> Self {
        Self { read, write, database, time_limit, audit: None }
    }

    /// The same store, which adds this row to the audit log.
    pub(super) fn with_audit(&self, entry: NewAudit) -> Self {
        let (read, write) = (self.read.clone(), self.write.clone());
        let (database, time_limit) = (self.database.clone(), self.time_limit);
        Self { read, write, database, time_limit, audit: Some(entry) }
    }

    pub(super) fn audit_row(&self) -> Option<&NewAudit> {
        self.audit.as_ref()
    }

    fn until(&self, limit: Limit) -> Instant {
        Instant::now() + self.time_limit.saturating_mul(limit as u32)
    }

    /// The name of the database, as people know it.
    pub(super) fn database(&self) -> &str {
        &self.database
    }

    pub(super) fn fail(&self, error: sqlx::Error) -> StoreError {
        StoreError::from_driver(&self.database, error)
    }

    /// Reads all rows that a query finds.
    pub(super) async fn rows(&self, query: impl Into<Statement>) -> Result<Vec<Row>> {
        let mut query = query.into().0;
        let rows = within(self.until(Limit::Usual), query.build().fetch_all(&self.read)).await;
        rows.map_err(|error| self.fail(error))
    }

    /// Reads the first row that a query finds.
    pub(super) async fn row(&self, query: impl Into<Statement>) -> Result<Option<Row>> {
        let mut query = query.into().0;
        let row = within(self.until(Limit::Usual), query.build().fetch_optional(&self.read)).await;
        row.map_err(|error| self.fail(error))
    }

    /// Runs a statement that writes; returns how many rows it touched.
    pub(super) async fn execute(&self, statement: impl Into<Statement>) -> sqlx::Result<u64> {
        let mut statement = statement.into().0;
        let done = within(self.until(Limit::Usual), statement.build().execute(&self.write)).await?;
        Ok(done.rows_affected())
    }

    /// Runs a statement that writes; returns the first row that it returns. Also for reads that must see what this process
    /// wrote last.
    pub(super) async fn execute_returning(
        &self,
        statement: impl Into<Statement>,
    ) -> sqlx::Result<Option<Row>> {
        let mut statement = statement.into().0;
        within(self.until(Limit::Usual), statement.build().fetch_optional(&self.write)).await
    }

    /// Returns how the database would run a query, one step a line.
    pub(super) async fn explain(&self, query: impl Into<Statement>) -> sqlx::Result<String> {
        let mut query = query.into().0;
        let explained = format!("{EXPLAIN}{}", query.sql().as_str());
        // Explaining writes nothing, but the connections for reading refuse even to explain a write.
        let arguments = sqlx::Execute::take_arguments(&mut query.build()).map_err(sqlx::Error::Encode)?;
        let explained = sqlx::query_with(AssertSqlSafe(explained), arguments.unwrap_or_default());
        let rows = within(self.until(Limit::Usual), explained.fetch_all(&self.write)).await?;
        let lines: Vec<String> =
            rows.iter().map(|row| row.try_get(PLAN_COLUMN)).collect::<sqlx::Result<_>>()?;
        Ok(lines.join("\n"))
    }

    /// Begins a transaction. The limit is for the transaction as a whole.
    pub(super) async fn begin(&self) -> Result<Tx> {
        self.begin_within(Limit::Usual).await
    }

    pub(super) async fn begin_within(&self, limit: Limit) -> Result<Tx> {
        self.begin_until(self.until(limit)).await.map_err(|error| self.fail(error))
    }

    /// [`Self::begin`], for callers that tell errors of the driver apart.
    pub(super) async fn try_begin(&self) -> sqlx::Result<Tx> {
        self.begin_until(self.until(Limit::Usual)).await
    }

    async fn begin_until(&self, until: Instant) -> sqlx::Result<Tx> {
        let transaction = within(until, self.write.begin_with(BEGIN)).await?;
        Ok(Tx { transaction, until })
    }

    pub(super) async fn finish(&self, tx: Tx) -> Result<()> {
        within(tx.until, tx.transaction.commit()).await.map_err(|error| self.fail(error))
    }

    /// Commits if the work succeeded, and rolls back if it did not.
    pub(super) async fn end<T>(&self, tx: Tx, result: sqlx::Result<T>) -> Result<T> {
        self.try_end(tx, result).await.map_err(|error| self.fail(error))
    }

    /// [`Self::end`], for callers that tell errors of the driver apart.
    pub(super) async fn try_end<T>(&self, tx: Tx, result: sqlx::Result<T>) -> sqlx::Result<T> {
        match result {
            Ok(value) => within(tx.until, tx.transaction.commit()).await.map(|()| value),
            Err(error) => {
                self.undo(tx).await;
                Err(error)
            }
        }
    }

    /// Rolls back at once: a transaction that is only dropped keeps its locks until its connection is used again.
    pub(super) async fn undo(&self, tx: Tx) {
        if let Err(error) = within(tx.until, tx.transaction.rollback()).await {
            tracing::debug!(%error, "a rollback failed; the connection is gone, and its locks with it");
        }
    }
}

/// A transaction with the time by which it must be over.
pub(super) struct Tx {
    transaction: Transaction<'static, Db>,
    until: Instant,
}

impl Tx {
    /// Runs a statement; returns how many rows it touched.
    pub(super) async fn execute(&mut self, statement: impl Into<Statement>) -> sqlx::Result<u64> {
        let mut statement = statement.into().0;
        let done = within(self.until, statement.build().execute(&mut *self.transaction)).await?;
        Ok(done.rows_affected())
    }

    /// Runs a statement; returns all rows.
    pub(super) async fn rows(&mut self, statement: impl Into<Statement>) -> sqlx::Result<Vec<Row>> {
        let mut statement = statement.into().0;
        within(self.until, statement.build().fetch_all(&mut *self.transaction)).await
    }

    /// Runs a statement; returns the first row.
    pub(super) async fn row(&mut self, statement: impl Into<Statement>) -> sqlx::Result<Option<Row>> {
        let mut statement = statement.into().0;
        within(self.until, statement.build().fetch_optional(&mut *self.transaction)).await
    }

    /// Runs a statement; returns its one row, and fails where there is none.
    pub(super) async fn one(&mut self, statement: impl Into<Statement>) -> sqlx::Result<Row> {
        let mut statement = statement.into().0;
        within(self.until, statement.build().fetch_one(&mut *self.transaction)).await
    }

    /// Runs many statements without values.
    pub(super) async fn script(&mut self, sql: &'static str) -> sqlx::Result<()> {
        within(self.until, self.transaction.execute(sqlx::raw_sql(sql))).await.map(|_| ())
    }
}
