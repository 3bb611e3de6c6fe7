//! Fills the full-text index of posts behind the polls, by the events of new and changed posts, up to a remembered number.

use sqlx::Row as _;

use super::super::{SKIP_LOCKED, TEXT_COLUMNS, TEXT_ID, TEXT_VALUE};
use super::retention::set_meta;
use super::{Query, Statement, Tx, garbled, id_pieces, pieces, push_ids, sql, with_values};
use crate::store::NewEvent;
use crate::store::tokens::tokenize;

/// How far the outbox was read, in `meta`.
const INDEXED: &str = "posts_indexed_seq";
/// Where the sweep for what is gone goes on, in `meta`.
const SWEPT: &str = "post_text_swept_to";

/// Asks whether there is anything to index, without anybody's lock.
pub(super) fn waiting() -> Statement {
    sql!(
        "SELECT 1 FROM outbox WHERE seq > (SELECT CAST(value AS BIGINT) FROM meta WHERE name = $1) LIMIT 1",
        INDEXED,
    )
}

/// Indexes what the next events tell of; how many events that were.
pub(super) async fn index(tx: &mut Tx, limit: u32) -> sqlx::Result<u64> {
    let query = sql!("SELECT value FROM meta WHERE name = $1{SKIP_LOCKED}", INDEXED);
    // Another worker is at it.
    let Some(row) = tx.row(query).await? else { return Ok(0) };
    let from: i64 = row.try_get::<&str, _>(0)?.parse().map_err(|error| garbled(INDEXED, error))?;
    let query = sql!("SELECT seq, kind, payload FROM outbox WHERE seq > $1 ORDER BY seq LIMIT {limit}", from);
    let rows = tx.rows(query).await?;
    let Some(last) = rows.last() else { return Ok(0) };
    let mut ids = Vec::new();
    for row in &rows {
        if matches!(row.try_get("kind")?, "post.created" | "post.updated") {
            ids.extend(NewEvent::post_ids(row.try_get("payload")?));
        }
    }
    ids.sort_unstable();
    ids.dedup();
    for piece in id_pieces(&ids) {
        index_posts(tx, piece).await?;
    }
    tx.execute(set_meta(INDEXED, &last.try_get::<i64, _>("seq")?.to_string())).await?;
    Ok(rows.len() as u64)
}

/// Indexes posts anew; those that are gone drop out.
async fn index_posts(tx: &mut Tx, ids: &[i64]) -> sqlx::Result<()> {
    let mut query = Query::new(format!("DELETE FROM post_text WHERE {TEXT_ID} IN "));
    push_ids(&mut query, ids);
    tx.execute(query).await?;
    let mut query = Query::new("SELECT id, title, body FROM posts WHERE id IN ");
    push_ids(&mut query, ids);
    let mut texts = Vec::with_capacity(ids.len());
    for row in tx.rows(query).await? {
        let title = row.try_get::<Option<&str>, _>("title")?.unwrap_or_default();
        let text = format!("{title}\n{}", row.try_get::<&str, _>("body")?);
        texts.push((row.try_get::<i64, _>("id")?, tokenize(&text)));
    }
    for piece in pieces(&texts) {
        let mut query = with_values("id, words", piece, |list, (id, words)| {
            list.push_bind(*id).push_bind(words.as_str());
        });
        query.push(format!("INSERT INTO post_text ({TEXT_COLUMNS}) SELECT v.id, {TEXT_VALUE} FROM v"));
        tx.execute(query).await?;
    }
    Ok(())
}

/// Takes out what is gone, in the next stretch of the index: a source may have been deleted with all its posts. Until
/// then nobody finds it either, since a search reads the posts themselves.
pub(super) async fn sweep(tx: &mut Tx, stretch: i64) -> sqlx::Result<()> {
    let row = tx.row(sql!("SELECT value FROM meta WHERE name = $1", SWEPT)).await?;
    let from: i64 = row.and_then(|row| row.get::<String, _>(0).parse().ok()).unwrap_or(0);
    let query = sql!(
        "SELECT MAX(id) FROM (SELECT {TEXT_ID} AS id FROM post_text WHERE {TEXT_ID} > $1
         ORDER BY {TEXT_ID} LIMIT {stretch}) stretch",
        from,
    );
    let to: Option<i64> = tx.one(query).await?.try_get(0)?;
    if let Some(to) = to {
        tx.execute(sql!(
            "DELETE FROM post_text WHERE {TEXT_ID} > $1 AND {TEXT_ID} <= $2
             AND NOT EXISTS (SELECT 1 FROM posts p WHERE p.id = {TEXT_ID})",
            from,
            to,
        ))
        .await?;
    }
    let next = to.unwrap_or(0);
    if next != from {
        tx.execute(set_meta(SWEPT, &next.to_string())).await?;
    }
    Ok(())
}
