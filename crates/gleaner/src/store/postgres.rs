//! PostgreSQL, for when one machine is not enough.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, PgConnection};

use super::migrate::{Migration, migrations};
use super::{Options, Result, StoreError};

pub(super) type Db = sqlx::Postgres;
pub(super) type Row = sqlx::postgres::PgRow;

pub(super) const BEGIN: &str = "BEGIN";
/// Claims of several workers step around each other.
pub(super) const SKIP_LOCKED: &str = " FOR UPDATE SKIP LOCKED";
/// A commit holds what its lease rests on, so that no claim slips in between check and write. Sources before hosts, as
/// everybody locks them.
pub(super) const LOCK: &str = " FOR NO KEY UPDATE OF t, h";
/// The second of two who want the same row waits.
pub(super) const ROW_LOCK: &str = " FOR UPDATE";
/// Holds the states of sources that are read in order to be written.
pub(super) const STATE_LOCK: &str = " FOR NO KEY UPDATE OF t";
/// One process at a time migrates; the number is only a name for the lock.
pub(super) const MIGRATION_LOCK: &str = "SELECT 1 FROM pg_advisory_xact_lock(7214509873)";
pub(super) const JSON_ARRAY: &str = "json_build_array";
/// Around what is JSON already, whatever it went through.
pub(super) const JSON: [&str; 2] = ["", ""];
/// Around bytes that are to be hexadecimal digits.
pub(super) const HEX: [&str; 2] = ["encode(", ", 'hex')"];
/// The host that an event's payload names.
pub(super) const PAYLOAD_HOST: &str = "(CAST(outbox.payload AS json) ->> 'host')";
pub(super) const EXPLAIN: &str = "EXPLAIN ";
/// Where an explained plan's text stands in its row.
pub(super) const PLAN_COLUMN: usize = 0;
/// What an indexed post is found by, what its words are stored under, and how they are written.
pub(super) const TEXT_ID: &str = "post_text.post_id";
pub(super) const TEXT_COLUMNS: &str = "post_id, document";
pub(super) const TEXT_VALUE: &str = "to_tsvector('simple', v.words)";
/// Around the words that are searched for.
pub(super) const MATCHES: [&str; 2] = ["post_text.document @@ to_tsquery('simple', ", ")"];
pub(super) const MIGRATIONS: &[Migration] = migrations!("postgres");

#[expect(clippy::duplicate_mod, reason = "one body of SQL, compiled for each database")]
#[path = "sql/mod.rs"]
mod sql;

/// Phrases that all must be there, as PostgreSQL has them. Words are letters and digits only.
pub(super) fn text_query(phrases: &[String]) -> String {
    let phrase =
        |words: &String| words.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" <-> ");
    phrases.iter().map(phrase).collect::<Vec<_>>().join(" & ")
}

/// How long a connection is waited for.
const ACQUIRE: Duration = Duration::from_secs(30);
/// How long a connection may take to say that it is there.
const PING: Duration = Duration::from_secs(3);

/// Whether a connection still leads somewhere. The pool asks the same, but waits for an answer for ever; and a connection
/// that is being asked counts as one that is in use.
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
        // A client that is gone without a word keeps its locks no longer than it would have waited itself.
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
