//! Inspects, checks and copies whole databases, for `doctor`, `backup` and `restore`. Creates and migrates none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gleaner_core::time::Time;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _, SqliteConnection};

use super::{NewAudit, Result, StoreError, postgres, sqlite};

/// How long an inspection waits for the writer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time limit of an inspection.
const INSPECTION: Duration = Duration::from_secs(60);
/// How long exclusive access waits for other processes.
const SHORT: Duration = Duration::from_millis(500);
/// The time limit of a check or a copy of a whole database.
const WHOLE_DATABASE: Duration = Duration::from_hours(1);
/// The version of the schema; none where there is no table that says so.
const VERSION: &str = "SELECT MAX(version) FROM schema_version";
/// The latest recorded time.
const LATEST: &str = "SELECT MAX(at) FROM (SELECT MAX(created_at) AS at FROM outbox UNION ALL \
    SELECT MAX(last_polled_at) AS at FROM source_state) AS latest";
/// Number of secrets encrypted with the vault's key.
const SEALED: &str = "SELECT (SELECT COUNT(*) FROM credentials) + \
    (SELECT COUNT(*) FROM sources WHERE secret IS NOT NULL)";

/// The name in `meta` of a copy's time.
const TAKEN_AT: &str = "backup_taken_at";

/// The state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseState {
    /// The version of its schema; 0: it is empty.
    pub version: i64,
    /// The newest version that this gleaner knows.
    pub known: i64,
    /// The latest recorded time.
    pub latest: Option<Time>,
    /// Number of secrets encrypted with the vault's key.
    pub sealed: i64,
    /// The time by the database's clock.
    pub clock: Time,
}

/// Inspects a database, and whether it can be written; leaves it as it was.
pub async fn inspect(url: &str) -> Result<DatabaseState> {
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        return inspect_postgres(url).await;
    }
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let fail = |error| StoreError::from_driver(path, error);
    let mut connection = connect(Path::new(path), PATIENCE).await?;
    let state = async {
        connection.execute("BEGIN IMMEDIATE").await?;
        let known = sqlite::MIGRATIONS.last().map_or(0, |migration| migration.version);
        let row = connection.fetch_one("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)").await?;
        let clock = Time::from_millis(row.try_get(0)?);
        let version = sqlite_version(&mut connection).await?;
        let mut state = DatabaseState { version, known, latest: None, sealed: 0, clock };
        if (1..=known).contains(&state.version) {
            let latest = connection.fetch_one(LATEST).await?.try_get::<Option<i64>, _>(0)?;
            state.latest = latest.map(Time::from_millis);
            state.sealed = connection.fetch_one(SEALED).await?.try_get(0)?;
        }
        connection.execute("ROLLBACK").await?;
        Ok(state)
    };
    let state = within(INSPECTION, state).await.map_err(fail);
    let _ = connection.close().await;
    state
}

/// Fails where the limit is over before the work is done.
async fn within<T>(limit: Duration, work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let late = || sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}

async fn inspect_postgres(url: &str) -> Result<DatabaseState> {
    let shown = "postgres://…";
    let fail = |error| StoreError::from_driver(shown, error);
    let mut connection = within(PATIENCE, PgConnection::connect(url)).await.map_err(fail)?;
    let state = async {
        let known = postgres::MIGRATIONS.last().map_or(0, |migration| migration.version);
        let now = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
        let clock = Time::from_millis(connection.fetch_one(now).await?.try_get(0)?);
        let is_ours = "SELECT to_regclass('schema_version') IS NOT NULL";
        let mut state = DatabaseState { version: 0, known, latest: None, sealed: 0, clock };
        if connection.fetch_one(is_ours).await?.try_get::<bool, _>(0)? {
            state.version = connection.fetch_one(VERSION).await?.try_get::<Option<i64>, _>(0)?.unwrap_or(0);
        }
        if (1..=known).contains(&state.version) {
            let latest = connection.fetch_one(LATEST).await?.try_get::<Option<i64>, _>(0)?;
            state.latest = latest.map(Time::from_millis);
            state.sealed = connection.fetch_one(SEALED).await?.try_get(0)?;
        }
        // A standby, or a role without rights, says so here.
        connection.execute("BEGIN").await?;
        connection.execute("CREATE TABLE gleaner_doctor (at BIGINT)").await?;
        connection.execute("ROLLBACK").await?;
        Ok(state)
    };
    within(INSPECTION, state).await.map_err(fail)
}

/// The file beside an SQLite database that records that it was created.
pub fn marker(database: &Path) -> PathBuf {
    sqlite::marker(&database.display().to_string()).into()
}

/// Writes a consistent copy of an SQLite database, while others use it, to a file that is not there yet or is empty.
pub async fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut connection = connect(from, PATIENCE).await?;
    let copying = sqlx::query("VACUUM INTO $1").bind(to.display().to_string()).execute(&mut connection);
    let copied = within(WHOLE_DATABASE, copying).await;
    let _ = connection.close().await;
    copied.map(|_| ()).map_err(|error| StoreError::from_driver(&from.display().to_string(), error))
}

/// Records in a copy when it was made.
pub async fn mark_copy(path: &Path, at: Time) -> Result<()> {
    change(path, async |connection| {
        let query = sqlx::query("INSERT OR REPLACE INTO meta (name, value) VALUES ($1, $2)");
        query.bind(TAKEN_AT).bind(at.as_millis().to_string()).execute(connection).await.map(|_| ())
    })
    .await
    .map(|_| ())
}

/// Deletes that record from a copy that is to be used again; returns when the copy was made, where it is known.
pub async fn take_mark(path: &Path) -> Result<Option<Time>> {
    let taken = change(path, async |connection| {
        let query = sqlx::query("DELETE FROM meta WHERE name = $1 RETURNING value").bind(TAKEN_AT);
        let row = query.fetch_optional(connection).await?;
        row.map(|row| row.try_get::<String, _>(0)).transpose()
    });
    let millis = taken.await?.flatten().and_then(|text| text.parse().ok());
    Ok(millis.map(Time::from_millis))
}

/// Adds a row to the audit log of an SQLite database that is not open here, in the name of its first admin.
pub async fn append_audit(path: &Path, entry: &NewAudit) -> Result<()> {
    change(path, async |connection| {
        let query = sqlx::query(
            "INSERT INTO audit (first_at, last_at, user_id, user_name, via, action, target_kind, target_name, changes) \
             SELECT $1, $1, id, name, $2, $3, $4, $5, $6 FROM users WHERE is_admin ORDER BY id LIMIT 1",
        );
        let query = query.bind(entry.at.as_millis()).bind(&entry.via).bind(&entry.action);
        let query = query.bind(&entry.target_kind).bind(&entry.target_name).bind(&entry.changes);
        query.execute(connection).await.map(|_| ())
    })
    .await
    .map(|_| ())
}

/// Changes an SQLite database that has the newest schema; any other is left as it is, and none returned.
async fn change<T>(
    path: &Path,
    work: impl AsyncFnOnce(&mut SqliteConnection) -> sqlx::Result<T>,
) -> Result<Option<T>> {
    let fail = |error| StoreError::from_driver(&path.display().to_string(), error);
    let mut connection = connect(path, PATIENCE).await?;
    let known = sqlite::MIGRATIONS.last().map_or(0, |migration| migration.version);
    let done = async {
        if sqlite_version(&mut connection).await? != known {
            return Ok(None);
        }
        work(&mut connection).await.map(Some)
    };
    let done = within(INSPECTION, done).await.map_err(fail);
    let _ = connection.close().await;
    done
}

/// The result of a check of an SQLite file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCheck {
    /// The errors that SQLite reports; empty: none.
    pub damage: Vec<String>,
    /// The version of its schema; 0: it is not gleaner's.
    pub version: i64,
    /// The newest version that this gleaner knows.
    pub known: i64,
}

/// Checks an SQLite file that nobody uses, from end to end.
pub async fn check_file(path: &Path) -> Result<FileCheck> {
    let fail = |error| StoreError::from_driver(&path.display().to_string(), error);
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fail)?;
    let examined = async {
        let rows = connection.fetch_all("PRAGMA integrity_check(10)").await?;
        let mut damage: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
        damage.retain(|line| line != "ok");
        let known = sqlite::MIGRATIONS.last().map_or(0, |migration| migration.version);
        Ok(FileCheck { damage, version: sqlite_version(&mut connection).await?, known })
    };
    let examined = within(WHOLE_DATABASE, examined).await.map_err(fail);
    let _ = connection.close().await;
    examined
}

async fn sqlite_version(connection: &mut SqliteConnection) -> sqlx::Result<i64> {
    let tables = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'schema_version'";
    if connection.fetch_one(tables).await?.try_get::<i64, _>(0)? == 0 {
        return Ok(0);
    }
    Ok(connection.fetch_one(VERSION).await?.try_get::<Option<i64>, _>(0)?.unwrap_or(0))
}

/// Merges the write-ahead log of an SQLite database into its file. Fails with [`StoreError::Locked`] while another process
/// has it open.
pub async fn merge_log(path: &Path) -> Result<()> {
    let fail = |error| StoreError::from_driver(&path.display().to_string(), error);
    let mut connection = connect(path, SHORT).await?;
    // Needs exclusive access.
    let settled = within(WHOLE_DATABASE, connection.execute("PRAGMA journal_mode = DELETE")).await;
    let _ = connection.close().await;
    settled.map(|_| ()).map_err(fail)
}

async fn connect(path: &Path, patience: Duration) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(false).busy_timeout(patience);
    let connection = SqliteConnection::connect_with(&options).await;
    connection.map_err(|error| StoreError::from_driver(&path.display().to_string(), error))
}
