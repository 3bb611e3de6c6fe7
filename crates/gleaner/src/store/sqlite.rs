//! SQLite: a file, WAL, one writer, readers beside it.

use std::path::Path;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::migrate::{Migration, migrations};
use super::{Options, Result, StoreError};

pub(super) use super::dialect::sqlite::*;

pub(super) type Db = sqlx::Sqlite;
pub(super) type Row = sqlx::sqlite::SqliteRow;

/// No statement is given less: a lock of another process may take [`Options::lock_timeout`], a slow disk longer.
const SHORTEST_LIMIT: Duration = Duration::from_secs(60);
/// Set before the first table is made; posts of the usual size fit into one page.
const PAGE: u32 = 8192;
pub(super) const MIGRATIONS: &[Migration] = migrations!("sqlite");

#[expect(clippy::duplicate_mod, reason = "one body of SQL, compiled for each database")]
#[path = "sql/mod.rs"]
mod sql;

/// The file beside a database that records that it was created, so that a missing database is noticed and not created anew.
pub(super) fn marker(database: &str) -> String {
    format!("{database}.initialized")
}

/// Refuses a database that existed before and is missing or empty.
fn refuse_missing(path: &str) -> Result<()> {
    let (marker, there) = (marker(path), std::fs::metadata(path).is_ok_and(|file| file.len() > 0));
    if !there && Path::new(&marker).exists() {
        return Err(StoreError::Missing { database: path.to_owned(), marker });
    }
    Ok(())
}

/// Creates a file that only its owner can read; SQLite gives the files beside it the same rights. An existing one keeps its
/// rights.
fn keep_private(path: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

pub(super) async fn open(path: &str, options: &Options) -> Result<sql::Sql> {
    let fail = |error| StoreError::from_driver(path, error);
    if path.is_empty() {
        return Err(StoreError::BadUrl { url: String::new(), why: "it is empty; name a file".into() });
    }
    if let Some(directory) = Path::new(path).parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(|error| StoreError::BadUrl {
            url: path.to_owned(),
            why: format!("the directory {} cannot be made: {error}", directory.display()),
        })?;
    }
    refuse_missing(path)?;
    let cannot =
        |error| StoreError::BadUrl { url: path.to_owned(), why: format!("the file cannot be made: {error}") };
    keep_private(path).map_err(cannot)?;
    let mut connect = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .page_size(PAGE)
        .journal_mode(SqliteJournalMode::Wal)
        // A poll counts as done when it is durable, and its validators with it.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(options.lock_timeout)
        .pragma("cache_size", "-32000")
        // Rows come from the connection's own thread, which would otherwise wait after every 50 until they are taken.
        .row_buffer_size(2000)
        .statement_cache_capacity(256);
    if let Some(bytes) = options.max_bytes {
        connect = connect.pragma("max_page_count", (bytes / u64::from(PAGE)).max(1).to_string());
    }
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        // On a full disk SQLite rolls back by itself, which the driver does not notice. Such a connection is not used again.
        .after_release(|connection, _| Box::pin(std::future::ready(Ok(!connection.is_in_transaction()))))
        .connect_with(connect.clone())
        .await
        .map_err(fail)?;
    let connect = connect.create_if_missing(false).read_only(true).pragma("cache_size", "-4000");
    let read = SqlitePoolOptions::new()
        .max_connections(options.max_connections.max(1))
        // A file is not a network: a connection that is there works.
        .test_before_acquire(false)
        .connect_lazy_with(connect);
    let store = sql::Sql::new(read, write, path.to_owned(), options.time_limit.max(SHORTEST_LIMIT));
    store.migrate().await?;
    keep_private(&marker(path)).map_err(cannot)?;
    Ok(store)
}
