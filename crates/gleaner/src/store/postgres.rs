//! Connects to PostgreSQL.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, PgConnection};

use super::migrate::{Migration, migrations};
use super::{Options, Result, StoreError};

pub(super) use super::dialect::postgres::*;

pub(super) type Db = sqlx::Postgres;
pub(super) type Row = sqlx::postgres::PgRow;

pub(super) const MIGRATIONS: &[Migration] = migrations!("postgres");

#[expect(clippy::duplicate_mod, reason = "one body of SQL, compiled for each database")]
#[path = "sql/mod.rs"]
mod sql;

/// How long to wait for a free connection.
const ACQUIRE: Duration = Duration::from_secs(30);
/// The time limit of a test of a connection.
const PING: Duration = Duration::from_secs(3);

/// Tests a connection. The pool can do the same, but without a time limit, and a connection that is being tested counts as in
/// use.
async fn answers(connection: &mut PgConnection) -> sqlx::Result<bool> {
    match tokio::time::timeout(PING, connection.ping()).await {
        Ok(answered) => answered.map(|()| true),
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

pub(super) async fn open(options: &Options) -> Result<sql::Sql> {
    let connect = PgConnectOptions::from_str(&options.url)
        .map_err(|error| StoreError::BadUrl { url: "postgres://…".into(), why: error.to_string() })?;
    let database =
        format!("postgres://{}/{}", connect.get_host(), connect.get_database().unwrap_or_default());
    let time_limit = format!("{}ms", options.time_limit.as_millis());
    let lock_timeout = format!("{}ms", options.lock_timeout.as_millis());
    let connect = connect
        .application_name("gleaner")
        // A client that has disappeared keeps its locks no longer than its own time limit.
        .options([
            ("lock_timeout", lock_timeout.as_str()),
            ("idle_in_transaction_session_timeout", time_limit.as_str()),
        ])
        .statement_cache_capacity(256);
    let pool = PgPoolOptions::new()
        .max_connections(options.max_connections.max(1))
        .acquire_timeout(options.time_limit.min(ACQUIRE))
        .test_before_acquire(false)
        .before_acquire(|connection, _| Box::pin(answers(connection)))
        .after_release(|connection, _| Box::pin(answers(connection)))
        .connect_with(connect)
        .await
        .map_err(|error| StoreError::from_driver(&database, error))?;
    let store = sql::Sql::new(pool.clone(), pool, database, options.time_limit);
    store.migrate().await?;
    Ok(store)
}
