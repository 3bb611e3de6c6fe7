//! The one body of SQL. This file and its neighbours are compiled once for each database; `super` is that one.
//!
//! Sets, never rows: statements take many rows at once, in a few fixed sizes, so that their plans are reused. Limits
//! stand in the text: SQLite prepares a statement anew whenever a bound limit changes or is merely bound again.

mod access;
mod activity;
mod articles;
mod audit;
mod claim;
mod commit;
mod content;
mod events;
mod hosts;
mod ordered;
mod packed;
mod pages;
mod people;
mod search;
mod sequel;
mod signs;
mod sources;
mod state;
mod streams;
mod upkeep;
mod visibility;
mod webhooks;
mod workers;

use std::time::Duration;

use gleaner_core::time::Time;
use sqlx::{AssertSqlSafe, Executor, Row as _, Transaction};

use super::{BEGIN, Db, MIGRATION_LOCK, MIGRATIONS, Row};
use crate::store::{Result, StoreError};

/// A store in one database.
pub(in crate::store) struct Sql {
    /// For reading alone.
    pub(in crate::store) read: sqlx::Pool<Db>,
    /// For writing, and reading what is written.
    pub(in crate::store) write: sqlx::Pool<Db>,
    /// How people know it.
    pub(in crate::store) database: String,
    /// How long an answer is waited for; none: as long as it takes, where no network is in between.
    pub(in crate::store) patience: Option<Duration>,
}

type Tx = Transaction<'static, Db>;
type Query = sqlx::QueryBuilder<Db>;
type Values<'q> = sqlx::query_builder::Separated<'q, Db, &'static str>;

impl Sql {
    fn fail(&self, error: sqlx::Error) -> StoreError {
        StoreError::from_driver(&self.database, error)
    }

    /// All rows that a query finds.
    async fn rows(&self, mut query: Query) -> Result<Vec<Row>> {
        self.in_time(1, async { query.build().fetch_all(&self.read).await.map_err(|error| self.fail(error)) })
            .await
    }

    /// The one row that a query finds, if any.
    async fn row(&self, mut query: Query) -> Result<Option<Row>> {
        self.in_time(1, async {
            query.build().fetch_optional(&self.read).await.map_err(|error| self.fail(error))
        })
        .await
    }

    /// Gives up waiting after so many times the usual. A connection whose other end is gone without a word would else be
    /// waited for for ever; what becomes of it is the pool's business.
    async fn in_time<T>(&self, times: u32, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let Some(patience) = self.patience else { return work.await };
        let patience = patience.saturating_mul(times);
        tokio::time::timeout(patience, work)
            .await
            .unwrap_or_else(|_| Err(StoreError::Silent { database: self.database.clone() }))
    }

    async fn begin(&self) -> Result<Tx> {
        self.write.begin_with(BEGIN).await.map_err(|error| self.fail(error))
    }

    async fn finish(&self, tx: Tx) -> Result<()> {
        tx.commit().await.map_err(|error| self.fail(error))
    }

    /// Commits what went well, and undoes what did not.
    async fn end<T>(&self, tx: Tx, result: sqlx::Result<T>) -> Result<T> {
        match result {
            Ok(value) => self.finish(tx).await.map(|()| value),
            Err(error) => {
                self.undo(tx).await;
                Err(self.fail(error))
            }
        }
    }

    /// Undoes a transaction at once: one that is only dropped keeps its locks until somebody uses its connection.
    async fn undo(&self, tx: Tx) {
        if let Err(error) = tx.rollback().await {
            tracing::debug!(%error, "a rollback failed; the connection is gone, and its locks with it");
        }
    }

    /// Brings the schema up to date, and refuses one that is newer.
    pub(in crate::store) async fn migrate(&self) -> Result<()> {
        let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
        let mut tx = self.begin().await?;
        let found = self.migrate_in(&mut tx, known).await.map_err(|error| self.fail(error))?;
        if found > known {
            let database = self.database.clone();
            return Err(StoreError::Newer { database, found, known });
        }
        self.finish(tx).await
    }

    /// Applies what is missing and tells the version that was found.
    async fn migrate_in(&self, tx: &mut Tx, known: i64) -> sqlx::Result<i64> {
        tx.execute(MIGRATION_LOCK).await?;
        tx.execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)").await?;
        let row = tx.fetch_one("SELECT MAX(version) AS version FROM schema_version").await?;
        let found: i64 = row.try_get::<Option<i64>, _>("version")?.unwrap_or(0);
        for migration in MIGRATIONS.iter().filter(|migration| migration.version > found && found <= known) {
            tx.execute(sqlx::raw_sql(migration.sql)).await?;
            let mark = format!("INSERT INTO schema_version (version) VALUES ({})", migration.version);
            tx.execute(AssertSqlSafe(mark)).await?;
        }
        Ok(found)
    }
}

/// How many rows one statement takes: few sizes, so that statements are prepared once, and close enough that any
/// number of rows needs few statements.
const SIZES: [usize; 8] = [200, 100, 50, 20, 10, 5, 2, 1];

/// Cuts rows into pieces of a few fixed sizes, so that each statement has one of a few texts.
fn pieces<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| rest.len() >= *size)?;
        let (piece, left) = rest.split_at(size);
        rest = left;
        Some(piece)
    })
}

/// Writes `WITH v(columns) AS (VALUES …)`, a row for each of `rows`, as a table to join.
fn with_values<'r, T>(columns: &str, rows: &'r [T], push: impl Fn(&mut Values<'_>, &'r T)) -> Query {
    let mut query = Query::new(format!("WITH v({columns}) AS ("));
    query.push_values(rows, |mut list, row| push(&mut list, row));
    query.push(") ");
    query
}

/// Cuts ids into pieces for [`push_ids`].
fn id_pieces(ids: &[i64]) -> impl Iterator<Item = &[i64]> {
    ids.chunks(SIZES[0])
}

/// `(id, id, …)`, filled up with the last of them to one of a few sizes, which changes no set.
fn push_ids(query: &mut Query, ids: &[i64]) {
    let size = SIZES.into_iter().rev().find(|size| *size >= ids.len()).unwrap_or(ids.len());
    let filling = ids.last().into_iter().cycle().take(size - ids.len());
    query.push("(");
    let mut list = query.separated(", ");
    for id in ids.iter().chain(filling) {
        list.push_bind(*id);
    }
    list.push_unseparated(")");
}

fn ms(time: Time) -> i64 {
    time.as_millis()
}

fn opt_ms(time: Option<Time>) -> Option<i64> {
    time.map(Time::as_millis)
}

fn time(row: &Row, column: &str) -> sqlx::Result<Time> {
    row.try_get(column).map(Time::from_millis)
}

fn opt_time(row: &Row, column: &str) -> sqlx::Result<Option<Time>> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Time::from_millis))
}

/// An error of the driver for a value that no gleaner has written.
fn garbled(column: &str, error: impl std::error::Error + Send + Sync + 'static) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: Box::new(error) }
}
