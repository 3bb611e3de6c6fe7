//! Databases that are newer, read-only, locked, full or no databases: a clear word each, and nothing written.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use gleaner::store::{Options, StoreError, open};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::support::{empty_postgres, feed, postgres, sqlite, start};

/// Opening must fail; the error comes back.
async fn refused(options: Options) -> StoreError {
    match open(&options).await {
        Ok(_) => panic!("{} opened", options.url),
        Err(error) => error,
    }
}

async fn on_postgres(url: &str, sql: &str) {
    let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
}

async fn on_sqlite(path: &str) -> sqlx::SqliteConnection {
    sqlx::SqliteConnection::connect(path).await.unwrap()
}

#[tokio::test]
async fn a_new_file_is_read_by_nobody_else() {
    let db = sqlite().await;
    for end in ["", "-wal", "-shm"] {
        let mode = std::fs::metadata(format!("{}{end}", db.url)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{end}: {mode:o}");
    }
}

#[tokio::test]
async fn a_newer_sqlite_schema_is_refused() {
    let db = sqlite().await;
    drop(db.store);
    let mut connection = on_sqlite(&db.url).await;
    connection.execute("INSERT INTO schema_version (version) VALUES (999)").await.unwrap();
    let error = refused(Options::new(&db.url)).await.to_string();
    assert!(
        error.starts_with(&format!(
            "the database {} has schema version 999, but this gleaner knows only",
            db.url
        )),
        "{error}"
    );
}

#[tokio::test]
async fn a_newer_postgres_schema_is_refused() {
    let db = postgres().await;
    on_postgres(&db.url, "INSERT INTO schema_version (version) VALUES (999)").await;
    let error = refused(Options::new(&db.url)).await.to_string();
    assert!(error.contains("has schema version 999, but this gleaner knows only"), "{error}");
    assert!(error.contains("use the gleaner that wrote it, or a newer one"), "{error}");
}

#[tokio::test]
async fn a_read_only_sqlite_file_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gleaner.db");
    let url = path.display().to_string();
    // An older schema: opening it would have to write.
    let mut connection = on_sqlite(&format!("sqlite://{url}?mode=rwc")).await;
    connection.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)").await.unwrap();
    connection.close().await.unwrap();
    let _lock = ReadOnly::new(&path);
    let error = refused(Options::new(&url)).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(
        error.to_string().starts_with(&format!("the database {url} is read-only; check the permissions")),
        "{error}"
    );
}

/// A file that cannot be written while this lives. Root may write any file but an immutable one.
struct ReadOnly<'a>(&'a Path);

impl<'a> ReadOnly<'a> {
    fn new(path: &'a Path) -> Self {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let writable = || std::fs::OpenOptions::new().append(true).open(path).is_ok();
        if writable() {
            Command::new("chattr").arg("+i").arg(path).status().unwrap();
            assert!(!writable(), "as root this test needs a file system that knows immutable files");
        }
        Self(path)
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        let _ = Command::new("chattr").arg("-i").arg(self.0).stderr(Stdio::null()).status();
    }
}

#[tokio::test]
async fn a_read_only_postgres_is_told() {
    let url = empty_postgres().await;
    let name = url.rsplit('/').find(|part| part.starts_with("test_")).unwrap_or(&url);
    let name = name.split('?').next().unwrap();
    on_postgres(&url, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    let error = refused(Options::new(&url)).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

#[tokio::test]
async fn a_locked_sqlite_is_told() {
    let db = sqlite().await;
    let mut other = on_sqlite(&db.url).await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let impatient = Options { lock_timeout: Duration::from_millis(20), ..Options::new(&db.url) };
    let error = refused(impatient).await;
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    let told = format!("the database {} is locked by another process; stop that one, or wait", db.url);
    assert!(error.to_string().starts_with(&told), "{error}");
    other.execute("ROLLBACK").await.unwrap();
    open(&Options::new(&db.url)).await.unwrap();
}

#[tokio::test]
async fn a_locked_postgres_is_told() {
    let db = postgres().await;
    let mut other = sqlx::PgConnection::connect(&db.url).await.unwrap();
    other.execute("BEGIN; LOCK TABLE schema_version IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let impatient = Options { lock_timeout: Duration::from_millis(20), ..Options::new(&db.url) };
    let error = refused(impatient).await;
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
}

#[tokio::test]
async fn a_full_sqlite_is_told_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let url = directory.path().join("gleaner.db").display().to_string();
    drop(open(&Options::new(&url)).await.unwrap());
    let file = std::fs::metadata(&url).unwrap().len();
    let store = open(&Options { max_bytes: Some(file + 40_000), ..Options::new(&url) }).await.unwrap();
    let sources: Vec<_> = (0..10_000).map(|n| feed(&format!("h{n}.example"), "feed")).collect();
    let error = store.create_sources(&sources, start()).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!("the database {url} has no room left to write; free some disk space")
    );
    assert!(store.sources(&Default::default(), None, 10).await.unwrap().is_empty());
    store.create_sources(&sources[..1], start()).await.expect("what fits still goes in");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    std::fs::write(&path, "Milk, bread, and other things that are no database at all.\n".repeat(100))
        .unwrap();
    let error = refused(Options::new(path.display().to_string())).await.to_string();
    assert!(error.contains("notes.txt") && error.contains("not a database"), "{error}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("Milk"), "and it was left alone");
}

#[tokio::test]
async fn urls_that_name_no_database_are_told() {
    let error = refused(Options::new("mysql://root:secret@localhost/x")).await.to_string();
    assert_eq!(error, "'mysql://…' names no database: it must be a file's path, sqlite:PATH or postgres://…");
    let error = refused(Options::new("postgres://me:secret@localhost:notaport/x")).await.to_string();
    assert!(error.starts_with("'postgres://…' names no database") && !error.contains("secret"), "{error}");
    assert_eq!(refused(Options::new("")).await.to_string(), "'' names no database: it is empty; name a file");
    let error = refused(Options::new("/proc/nowhere/gleaner.db")).await.to_string();
    assert!(error.contains("the directory /proc/nowhere cannot be made"), "{error}");
}

#[tokio::test]
async fn an_unreachable_postgres_is_told_without_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("postgres://me:secret@localhost/news?host={}", directory.path().display());
    let error = refused(Options::new(url)).await.to_string();
    assert!(error.starts_with("the database postgres://") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn opening_twice_changes_nothing() {
    for db in [sqlite().await, postgres().await] {
        db.store.create_sources(&[feed("a.example", "feed")], start()).await.unwrap();
        let again = open(&Options::new(&db.url)).await.unwrap();
        assert_eq!(again.sources(&Default::default(), None, 10).await.unwrap().len(), 1);
        assert_eq!(again.collections().await.unwrap().len(), 1);
    }
}
