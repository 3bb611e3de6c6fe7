//! Writes, numbers, lists and deletes events.

use std::collections::HashMap;

use async_trait::async_trait;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::{ROW_LOCK, Row};
use super::commit::insert_events;
use super::content::{POST, post};
use super::retention::set_meta;
use super::visibility::push_visible_event;
use super::{Query, Sql, Tx, garbled, id_pieces, ms, opt_time, push_ids, sql, time};
use crate::store::{
    Event, EventCursor, EventFilter, EventRange, Events, KindPattern, NewEvent, Post, PostHead, Result,
    SourceName,
};

/// Whatever is no news of posts has an index of its own; the words are those of the index.
const RARE: &str = " AND kind NOT IN ('post.created', 'post.updated')";

#[async_trait]
impl Events for Sql {
    async fn append_events(&self, events: &[NewEvent], now: Time) -> Result<()> {
        let mut tx = self.begin().await?;
        let rows: Vec<(NewEvent, Time)> = events.iter().map(|event| (event.clone(), now)).collect();
        let appended = insert_events(&mut tx, &rows).await;
        self.end(tx, appended).await
    }

    async fn number_events(&self, limit: u32) -> Result<u64> {
        // Most of the time there is nothing, and nobody's lock is needed to see that.
        let query = sql!("SELECT id FROM outbox WHERE seq IS NULL LIMIT 1");
        if self.all(query, |_| Ok(())).await?.is_empty() {
            return Ok(0);
        }
        let mut tx = self.begin().await?;
        let numbered = number_events(&mut tx, limit).await;
        self.end(tx, numbered).await
    }

    async fn list_events(&self, filter: &EventFilter, from: EventCursor, limit: u32) -> Result<Vec<Event>> {
        self.all(list(filter, from, limit), event).await
    }

    async fn kept_events(&self) -> Result<EventRange> {
        let query =
            sql!("SELECT value, (SELECT MIN(seq) FROM outbox) AS first FROM meta WHERE name = 'last_seq'");
        let kept = |row: &Row| {
            let last: i64 = row.try_get::<&str, _>(0)?.parse().map_err(|error| garbled("last_seq", error))?;
            let first = row.try_get::<Option<i64>, _>(1)?.unwrap_or(last.saturating_add(1));
            Ok(EventRange { first, last })
        };
        let kept = self.all(query, kept).await?.pop();
        Ok(kept.unwrap_or(EventRange { first: 1, last: 0 }))
    }

    async fn post_heads(&self, ids: &[i64]) -> Result<HashMap<i64, PostHead>> {
        let mut heads = HashMap::with_capacity(ids.len());
        for piece in id_pieces(ids) {
            let mut query = Query::new(
                "SELECT id, SUBSTR(title, 1, 500) AS title, SUBSTR(author, 1, 500) AS author, published_at, \
                 revision, CASE WHEN LENGTH(url) <= 4096 THEN url END AS url FROM posts WHERE id IN ",
            );
            push_ids(&mut query, piece);
            let read = self.all(query, head).await?;
            heads.extend(read.into_iter().map(|head| (head.id, head)));
        }
        Ok(heads)
    }

    async fn source_names(&self, ids: &[i64]) -> Result<HashMap<i64, SourceName>> {
        let mut names = HashMap::with_capacity(ids.len());
        for piece in id_pieces(ids) {
            let mut query = Query::new("SELECT id, collection_id, url, name FROM sources WHERE id IN ");
            push_ids(&mut query, piece);
            let name = |row: &Row| {
                let name = SourceName {
                    collection_id: row.try_get("collection_id")?,
                    url: row.try_get("url")?,
                    name: row.try_get("name")?,
                };
                Ok((row.try_get("id")?, name))
            };
            names.extend(self.all(query, name).await?);
        }
        Ok(names)
    }

    async fn latest_posts(&self, collection_id: i64, limit: u32) -> Result<Vec<Post>> {
        let query = sql!(
            "SELECT {POST} FROM posts p WHERE p.source_id IN (SELECT id FROM sources WHERE collection_id = $1)
             ORDER BY id DESC LIMIT {limit}",
            collection_id,
        );
        self.all(query, post).await
    }
}

/// The query that lists events.
pub(super) fn list(filter: &EventFilter, from: EventCursor, limit: u32) -> Query {
    let mut query = Query::new("SELECT id, seq, kind, source_id, payload, created_at FROM outbox WHERE seq ");
    match from {
        EventCursor::After(seq) => query.push("> ").push_bind(seq),
        EventCursor::Before(seq) => query.push("< ").push_bind(seq),
    };
    if let Some(source_id) = filter.source_id {
        query.push(" AND source_id = ").push_bind(source_id);
    }
    push_visible_event(&mut query, &filter.visibility);
    if !filter.kinds.is_empty() {
        let tells_posts = |pattern: &KindPattern| {
            ["post.created", "post.updated"].into_iter().any(|kind| pattern.fits(kind))
        };
        if !filter.kinds.iter().any(tells_posts) {
            query.push(RARE);
        }
        query.push(" AND (");
        let mut list = query.separated(" OR ");
        for pattern in &filter.kinds {
            match pattern {
                KindPattern::Is(kind) => {
                    list.push("kind = ").push_bind_unseparated(kind.as_str());
                }
                KindPattern::Begins(start) => {
                    let length = i32::try_from(start.len()).unwrap_or(i32::MAX);
                    list.push("SUBSTR(kind, 1, ").push_bind_unseparated(length);
                    list.push_unseparated(") = ").push_bind_unseparated(start.as_str());
                }
            }
        }
        query.push(")");
    }
    let order = if matches!(from, EventCursor::After(_)) { "" } else { " DESC" };
    query.push(format!(" ORDER BY seq{order} LIMIT ")).push(i64::from(limit));
    query
}

async fn number_events(tx: &mut Tx, limit: u32) -> sqlx::Result<u64> {
    // Two dispatchers at once would give one number twice; the second waits here.
    let row = tx.one(sql!("SELECT value FROM meta WHERE name = 'last_seq'{ROW_LOCK}")).await?;
    let last: i64 = row.try_get::<&str, _>(0)?.parse().map_err(|error| garbled("last_seq", error))?;
    let numbered = tx
        .execute(sql!(
            "WITH fresh AS (
                 SELECT id, ROW_NUMBER() OVER (ORDER BY id) + $1 AS seq
                 FROM (SELECT id FROM outbox WHERE seq IS NULL ORDER BY id LIMIT {limit}) first
             )
             UPDATE outbox SET seq = fresh.seq FROM fresh WHERE outbox.id = fresh.id",
            last,
        ))
        .await?;
    if numbered > 0 {
        let next = last.saturating_add(i64::try_from(numbered).unwrap_or(0));
        tx.execute(set_meta("last_seq", &next.to_string())).await?;
    }
    Ok(numbered)
}

/// Deletes the oldest events, of the first `batch`, up to the first that is to stay, so that what is kept has no
/// holes; how many.
pub(super) async fn delete_events(tx: &mut Tx, before: Time, batch: i64) -> sqlx::Result<u64> {
    tx.execute(sql!(
        "WITH old AS (SELECT seq, created_at FROM outbox WHERE seq IS NOT NULL ORDER BY seq LIMIT {batch})
         DELETE FROM outbox WHERE seq < COALESCE(
             (SELECT MIN(seq) FROM old WHERE created_at >= $1),
             (SELECT MAX(seq) + 1 FROM old)
         )",
        ms(before),
    ))
    .await
}

fn event(row: &Row) -> sqlx::Result<Event> {
    Ok(Event {
        id: row.try_get("id")?,
        seq: row.try_get("seq")?,
        event: NewEvent {
            kind: row.try_get("kind")?,
            source_id: row.try_get("source_id")?,
            payload: row.try_get("payload")?,
        },
        created_at: time(row, "created_at")?,
    })
}

fn head(row: &Row) -> sqlx::Result<PostHead> {
    Ok(PostHead {
        id: row.try_get("id")?,
        title: row.try_get("title")?,
        url: row.try_get("url")?,
        author: row.try_get("author")?,
        published_at: opt_time(row, "published_at")?,
        revision: row.try_get("revision")?,
    })
}
