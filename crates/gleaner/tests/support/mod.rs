//! What the tests share: empty databases of both kinds, sources to put into them, and a small internet: web servers
//! that misbehave, name servers and certificates.

pub(crate) mod ca;
pub(crate) mod dns;
pub(crate) mod encode;
pub(crate) mod http;
pub(crate) mod log;
pub(crate) mod x;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner::store::{HostKey, NewSource, Options, SourceSettings, Store, open};
use gleaner_core::backfill::Backfill;
use gleaner_core::health::Health;
use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};
use sqlx::Connection as _;

/// How long between two looks at what happens elsewhere.
const LOOK: Duration = Duration::from_millis(20);

/// Looks again and again until there is something; who has waited for so long is told what there is instead.
pub(crate) async fn until<T>(
    patience: Duration,
    mut look: impl AsyncFnMut() -> Option<T>,
    otherwise: impl AsyncFn() -> String,
) -> T {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "{}", otherwise().await);
        tokio::time::sleep(LOOK).await;
    }
}

/// An empty database of its own, and the store in it.
pub(crate) struct Database {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) url: String,
    /// Beside each source that a scenario adds, so many more of the same host that answer the same.
    pub(crate) siblings: usize,
    /// Keeps the directory of an SQLite file until the test is over.
    _directory: Option<tempfile::TempDir>,
}

pub(crate) async fn sqlite() -> Database {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = directory.path().join("gleaner.db").display().to_string();
    let store = open(&Options::new(&url)).await.expect("a new SQLite file opens");
    Database { store, url, siblings: 0, _directory: Some(directory) }
}

pub(crate) async fn postgres() -> Database {
    let url = empty_postgres().await;
    let store = open(&Options::new(&url)).await.expect("a new PostgreSQL database opens");
    Database { store, url, siblings: 0, _directory: None }
}

/// The URL of a PostgreSQL database without any table.
pub(crate) async fn empty_postgres() -> String {
    let server = std::env::var("TEST_POSTGRES")
        .expect("TEST_POSTGRES names the server; run `make test`, or `scripts/with-postgres cargo test`");
    // Ids of processes come again in a long run; chance does not.
    let chance = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("test_{chance:x}_{count}");
    let mut admin = sqlx::PgConnection::connect(&server).await.expect("the test server answers");
    let create = format!("CREATE DATABASE {name} TEMPLATE template0");
    sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(&mut admin).await.expect("a database can be made");
    server.replacen("/postgres?", &format!("/{name}?"), 1)
}

impl Database {
    /// Where it is, and what keeps it there; the store is closed.
    #[cfg(feature = "test-faults")]
    pub(crate) fn close(self) -> (String, Option<tempfile::TempDir>) {
        (self.url, self._directory)
    }

    /// Does something to the database behind the store's back.
    pub(crate) async fn behind_its_back(&self, sql: &str) {
        Self::behind_the_back_of(&self.url, sql).await;
    }

    /// The same to a database that nobody has open.
    pub(crate) async fn behind_the_back_of(url: &str, sql: &str) {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        if url.starts_with("postgres:") {
            let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        } else {
            let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        }
    }
}

impl Database {
    /// The same, where sources have so many siblings on their host.
    pub(crate) fn with_siblings(self, siblings: usize) -> Self {
        Self { siblings, ..self }
    }

    /// The same database once more, for as long as this one is there.
    pub(crate) fn share(&self) -> Self {
        let (store, url) = (Arc::clone(&self.store), self.url.clone());
        Self { store, url, siblings: self.siblings, _directory: None }
    }

    /// How many rows a table has.
    pub(crate) async fn count(&self, table: &str) -> i64 {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        if self.url.starts_with("postgres:") {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
        } else {
            let mut connection = sqlx::SqliteConnection::connect(&self.url).await.unwrap();
            sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
        }
    }
}

/// Keeps everybody else from writing to a database until it is released.
pub(crate) enum WriteLock {
    Sqlite(sqlx::SqliteConnection),
    Postgres(sqlx::PgConnection),
}

impl WriteLock {
    /// From now on every write to this database waits; reads do not.
    pub(crate) async fn take(url: &str) -> Self {
        if url.starts_with("postgres:") {
            let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
            let lock = "BEGIN; LOCK TABLE hosts, sources, source_state, posts, polls IN EXCLUSIVE MODE";
            sqlx::raw_sql(lock).execute(&mut connection).await.unwrap();
            Self::Postgres(connection)
        } else {
            let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
            sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
            Self::Sqlite(connection)
        }
    }

    pub(crate) async fn release(self) {
        match self {
            Self::Sqlite(connection) => connection.close().await.unwrap(),
            Self::Postgres(connection) => connection.close().await.unwrap(),
        }
    }
}

static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// The tests' midnight.
pub(crate) fn start() -> Time {
    Time::parse("2026-11-15T00:00:00Z").expect("a time")
}

pub(crate) fn minutes(n: u64) -> Span {
    Span::from_mins(n)
}

/// A feed as a person adds it, with its existing entries.
pub(crate) fn new_feed(url: impl Into<String>) -> SourceSettings {
    new_source(Kind::Feed, url)
}

/// A source as a person adds it, with its existing entries.
pub(crate) fn new_source(kind: Kind, url: impl Into<String>) -> SourceSettings {
    SourceSettings { kind, backfill: Backfill::All, ..SourceSettings::feed(1, url) }
}

/// A feed on that host, due at once.
pub(crate) fn feed(host: &str, path: &str) -> NewSource {
    let url = format!("https://{host}/{path}");
    NewSource {
        canonical_url: gleaner_core::link::canonical(&url),
        host: HostKey { name: host.to_owned(), slot: 0 },
        next_poll_at: Some(start()),
        health: Health::new(),
        settings: SourceSettings::feed(1, url),
    }
}
