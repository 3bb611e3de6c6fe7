//! SQLite's connections for reading.
//!
//! Not sqlx's own pool: that asks a connection whether it is there before each use and after it. Both are journeys to the
//! thread of the connection and back, beside the one that brings the rows, and tell nothing where no network is in between:
//! a sixth of what a list costs.
//! What was used last goes first, as its pages are in the cache; few connections are ever opened. Absent on purpose:
//! closing what is idle. A connection that failed, or that nobody waited for, is not used again.

use std::sync::{Mutex, PoisonError};

use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions as _, QueryBuilder};
use tokio::sync::Semaphore;

use super::Show;
use super::in_place::InPlace;

/// Connections, opened when they are needed.
pub(super) struct Readers {
    connect: SqliteConnectOptions,
    /// As many as may be in use at once.
    places: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
    in_place: InPlace,
}

impl Readers {
    /// So many at most, and at least one.
    pub(super) fn new(connect: SqliteConnectOptions, most: u32) -> Self {
        let in_place = InPlace::new(connect.get_filename().to_owned());
        Self { connect, places: Semaphore::new(most.max(1) as usize), idle: Mutex::default(), in_place }
    }

    /// All rows that a query finds.
    pub(super) async fn fetch_all(&self, query: &mut QueryBuilder<Sqlite>) -> sqlx::Result<Vec<SqliteRow>> {
        self.with(async |connection| query.build().fetch_all(connection).await).await
    }

    /// The first row that a query finds.
    pub(super) async fn fetch_optional(
        &self,
        query: &mut QueryBuilder<Sqlite>,
    ) -> sqlx::Result<Option<SqliteRow>> {
        self.with(async |connection| query.build().fetch_optional(connection).await).await
    }

    /// Shows the sources that a query for those after an id finds; false: it failed, and the rest is to be read in the
    /// usual way.
    pub(super) fn in_place(&self, query: impl FnOnce() -> String, after: i64, show: Show<'_>) -> bool {
        self.in_place.page(&query(), after, show)
    }

    async fn with<T>(
        &self,
        read: impl AsyncFnOnce(&mut SqliteConnection) -> sqlx::Result<T>,
    ) -> sqlx::Result<T> {
        let _place = self.places.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect.connect().await?,
        };
        let found = read(&mut connection).await?;
        self.idle().push(connection);
        Ok(found)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
