//! The baseline's database: gleaner's own tables for posts, seen entries and polls, and its pragmas. Foreign keys,
//! `RETURNING` and conflict handling are not needed by a single writer that knows what is new.

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, QueryBuilder, Row as _, Sqlite};

use crate::Error;
use crate::child::Counts;

/// gleaner's own schema, so that both have the same columns and indexes.
const SCHEMA: &str = include_str!("../../../crates/gleaner/migrations/sqlite/0001_initial.sql");

/// A post, and the keys of its entry.
pub(crate) struct Post {
    pub(crate) guid: String,
    pub(crate) url: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) published_at: Option<i64>,
    pub(crate) body: String,
    pub(crate) raw_content: Option<String>,
    pub(crate) content_hash: [u8; 32],
    pub(crate) key: i64,
    pub(crate) link: Option<i64>,
    pub(crate) content: i64,
}

pub(crate) struct Poll {
    pub(crate) source_id: i64,
    pub(crate) at: i64,
    pub(crate) status: u16,
    pub(crate) duration_ms: i64,
    pub(crate) bytes: i64,
    pub(crate) posts: Vec<Post>,
}

pub(crate) struct Writer {
    pool: SqlitePool,
    last_post_id: i64,
}

pub(crate) async fn counts(path: &str) -> Result<Counts, Error> {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{path}")).await?;
    let select =
        "SELECT (SELECT COUNT(*) FROM posts), (SELECT COUNT(*) FROM seen), (SELECT SUM(count) FROM polls)";
    let row = connection.fetch_one(select).await?;
    let count = |column: usize| row.try_get::<i64, _>(column).map(|count| count as u64);
    let counts = Counts { posts: count(0)?, seen: count(1)?, polls: count(2)? };
    connection.close().await?;
    Ok(counts)
}

impl Writer {
    /// Creates the file and its tables.
    pub(crate) async fn create(path: &str) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .page_size(8192)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(false)
            .pragma("cache_size", "-32000")
            .statement_cache_capacity(256);
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        let ours = |statement: &&str| {
            ["posts", "seen", "polls"].iter().any(|table| {
                statement.contains(&format!("CREATE TABLE {table} ("))
                    || statement.contains(&format!(" ON {table} ("))
            })
        };
        for statement in SCHEMA.split(';').filter(ours) {
            pool.execute(AssertSqlSafe(statement.to_owned())).await?;
        }
        Ok(Self { pool, last_post_id: 0 })
    }

    /// Writes polls in one durable transaction.
    pub(crate) async fn write(&mut self, polls: &[Poll]) -> Result<(), Error> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let first = self.last_post_id + 1;
        let posts: Vec<(i64, &Poll, &Post)> = polls
            .iter()
            .flat_map(|poll| poll.posts.iter().map(move |post| (poll, post)))
            .zip(first..)
            .map(|((poll, post), id)| (id, poll, post))
            .collect();
        self.last_post_id += posts.len() as i64;
        for piece in pieces(&posts) {
            insert_posts(piece).build().execute(&mut *tx).await?;
        }
        for piece in pieces(&posts) {
            insert_seen(piece).build().execute(&mut *tx).await?;
        }
        for piece in pieces(polls) {
            insert_polls(piece).build().execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// Chunks of a few fixed sizes, the same as gleaner's, so that statements are prepared once.
fn pieces<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = [200, 50, 10, 1].into_iter().find(|size| rest.len() >= *size)?;
        let (piece, left) = rest.split_at(size);
        rest = left;
        Some(piece)
    })
}

fn insert_posts(rows: &[(i64, &Poll, &Post)]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(
        "INSERT INTO posts (id, source_id, guid, url, title, author, published_at, content_hash, entry_key, \
         unique_text, created_at, updated_at, body, raw_content) ",
    );
    query.push_values(rows, |mut list, (id, poll, post)| {
        list.push_bind(*id)
            .push_bind(poll.source_id)
            .push_bind(post.guid.as_str())
            .push_bind(post.url.as_deref())
            .push_bind(post.title.as_deref())
            .push_bind(post.author.as_deref())
            .push_bind(post.published_at)
            .push_bind(post.content_hash.as_slice())
            .push_bind(post.key)
            .push_bind(false)
            .push_bind(poll.at)
            .push_bind(poll.at)
            .push_bind(post.body.as_str())
            .push_bind(post.raw_content.as_deref());
    });
    query
}

fn insert_seen(rows: &[(i64, &Poll, &Post)]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(
        "INSERT INTO seen (source_id, entry_key, link, raw, title, content, published_at, post_id, absent_since) ",
    );
    query.push_values(rows, |mut list, (id, poll, post)| {
        list.push_bind(poll.source_id)
            .push_bind(post.key)
            .push_bind(post.link)
            .push_bind(post.content)
            .push_bind(post.content)
            .push_bind(post.content)
            .push_bind(post.published_at)
            .push_bind(*id)
            .push_bind(None::<i64>);
    });
    query
}

fn insert_polls(polls: &[Poll]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(
        "INSERT INTO polls (source_id, first_at, last_at, count, outcome, error_type, error_cause, error, \
         status_code, duration_ms, bytes, new_posts, updated_posts, skipped, rule) ",
    );
    query.push_values(polls, |mut list, poll| {
        let outcome = if poll.status == 304 { "not_modified" } else { "fetched" };
        list.push_bind(poll.source_id)
            .push_bind(poll.at)
            .push_bind(poll.at)
            .push_bind(1_i64)
            .push_bind(outcome)
            .push_bind(None::<&str>)
            .push_bind(None::<&str>)
            .push_bind(None::<&str>)
            .push_bind(i64::from(poll.status))
            .push_bind(poll.duration_ms)
            .push_bind(poll.bytes)
            .push_bind(poll.posts.len() as i64)
            .push_bind(0_i64)
            .push_bind(None::<&str>)
            .push_bind(None::<&str>);
    });
    query
}
