//! A database as a whole, from outside: what state it is in, and copies of it. Nothing here makes or migrates one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gleaner_core::time::Time;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _, SqliteConnection};

use super::{Result, StoreError, postgres, sqlite};

/// How long a look at a database waits for its writer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time limit of all questions that a look asks.
const LOOK: Duration = Duration::from_secs(60);
/// How long whoever wants a database for themselves waits for others to leave.
const SHORT: Duration = Duration::from_millis(500);
/// The time limit of a check or a copy of a whole database.
const WHOLE: Duration = Duration::from_hours(1);
/// The version of the schema; none where there is no table that says so.
const VERSION: &str = "SELECT MAX(version) FROM schema_version";
/// When the latest of what is recorded happened.
const LATEST: &str = "SELECT MAX(at) FROM (SELECT MAX(created_at) AS at FROM outbox UNION ALL \
    SELECT MAX(last_polled_at) AS at FROM source_state) AS latest";
/// How many secrets it holds that only the vault's key opens.
const SEALED: &str = "SELECT (SELECT COUNT(*) FROM credentials) + \
    (SELECT COUNT(*) FROM sources WHERE secret IS NOT NULL)";

/// What state a database is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The version of its schema; 0: it is empty.
    pub version: i64,
    /// The newest version that this gleaner knows.
    pub known: i64,
    /// When the latest of what is recorded happened.
    pub latest: Option<Time>,
    /// How many secrets it holds that only the vault's key opens.
    pub sealed: i64,
    /// What time it is by the database's clock.
    pub clock: Time,
}

/// Looks at a database, and whether it can be written; it is left as it was.
pub async fn look(url: &str) -> Result<State> {
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        return look_at_postgres(url).await;
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
        let mut state = State { version, known, latest: None, sealed: 0, clock };
        if (1..=known).contains(&state.version) {
            let latest = connection.fetch_one(LATEST).await?.try_get::<Option<i64>, _>(0)?;
            state.latest = latest.map(Time::from_millis);
            state.sealed = connection.fetch_one(SEALED).await?.try_get(0)?;
        }
        connection.execute("ROLLBACK").await?;
        Ok(state)
    };
    let state = within(LOOK, state).await.map_err(fail);
    let _ = connection.close().await;
    state
}

/// Fails where the limit is over before the work is done.
async fn within<T>(limit: Duration, work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let late = || sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}

async fn look_at_postgres(url: &str) -> Result<State> {
    let shown = "postgres://…";
    let fail = |error| StoreError::from_driver(shown, error);
    let mut connection = within(PATIENCE, PgConnection::connect(url)).await.map_err(fail)?;
    let state = async {
        let known = postgres::MIGRATIONS.last().map_or(0, |migration| migration.version);
        let now = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
        let clock = Time::from_millis(connection.fetch_one(now).await?.try_get(0)?);
        let is_ours = "SELECT to_regclass('schema_version') IS NOT NULL";
        let mut state = State { version: 0, known, latest: None, sealed: 0, clock };
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
    within(LOOK, state).await.map_err(fail)
}

/// The file beside an SQLite database that says that it was there.
pub fn marker(database: &Path) -> PathBuf {
    sqlite::marker(&database.display().to_string()).into()
}

/// Writes a consistent copy of an SQLite database, while others use it, to a file that is not there yet or is empty.
pub async fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut connection = connect(from, PATIENCE).await?;
    let copying = sqlx::query("VACUUM INTO $1").bind(to.display().to_string()).execute(&mut connection);
    let copied = within(WHOLE, copying).await;
    let _ = connection.close().await;
    copied.map(|_| ()).map_err(|error| StoreError::from_driver(&from.display().to_string(), error))
}

/// An SQLite file, as its own check finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// What is wrong with it, in the check's words; nothing: it is sound.
    pub damage: Vec<String>,
    /// The version of its schema; 0: it is not gleaner's.
    pub version: i64,
    /// The newest version that this gleaner knows.
    pub known: i64,
}

/// Checks an SQLite file that nobody uses, from end to end.
pub async fn examine(path: &Path) -> Result<Examined> {
    let fail = |error| StoreError::from_driver(&path.display().to_string(), error);
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fail)?;
    let examined = async {
        let rows = connection.fetch_all("PRAGMA integrity_check(10)").await?;
        let mut damage: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
        damage.retain(|line| line != "ok");
        let known = sqlite::MIGRATIONS.last().map_or(0, |migration| migration.version);
        Ok(Examined { damage, version: sqlite_version(&mut connection).await?, known })
    };
    let examined = within(WHOLE, examined).await.map_err(fail);
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

/// Makes an SQLite database one file, without a log beside it. This fails with [`StoreError::Locked`] while anybody else
/// has it open.
pub async fn settle(path: &Path) -> Result<()> {
    let fail = |error| StoreError::from_driver(&path.display().to_string(), error);
    let mut connection = connect(path, SHORT).await?;
    // Only whoever is alone with a database may end its log.
    let settled = within(WHOLE, connection.execute("PRAGMA journal_mode = DELETE")).await;
    let _ = connection.close().await;
    settled.map(|_| ()).map_err(fail)
}

async fn connect(path: &Path, patience: Duration) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(false).busy_timeout(patience);
    let connection = SqliteConnection::connect_with(&options).await;
    connection.map_err(|error| StoreError::from_driver(&path.display().to_string(), error))
}
