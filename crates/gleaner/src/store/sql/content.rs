//! Posts, articles and the history of polls.

use std::collections::HashMap;

use async_trait::async_trait;
use gleaner_core::follow::PageState;
use gleaner_core::identity::Skipped;
use gleaner_core::judgement::Excuse;
use gleaner_core::post::NewPost;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::{MATCHES, Row, TEXT_ID, text_query};
use super::state::error_kind;
use super::visibility::{push_visible_article, push_visible_source};
use super::{Query, Sql, Tx, garbled, id_pieces, ms, opt_ms, opt_time, pieces, push_ids, sql, time};
use crate::store::tokens;
use crate::store::types::stored_hash;
use crate::store::{
    Activity, Article, Content, NewArticle, Poll, PollPages, PollRecord, Post, PostFilter, Result,
    StoreError, Visibility, WaitingPage,
};

pub(super) const POST: &str = "p.id, p.source_id, p.guid, p.url, p.title, p.author, p.published_at, p.content_hash, \
    p.revision, p.created_at, p.updated_at, p.body, p.raw_content";
/// The same with the beginning of the text alone.
const BRIEF: &str = "p.id, p.source_id, p.guid, p.url, p.title, p.author, p.published_at, p.content_hash, \
    p.revision, p.created_at, p.updated_at, SUBSTR(p.body, 1, 400) AS body, NULL AS raw_content";
const ARTICLE: &str = "id, title, body, url, published_at, is_processed, created_at";
const POLL: &str = "id, first_at, last_at, count, outcome, error_type, error_cause, error, status_code, \
    duration_ms, bytes, new_posts, updated_posts, skipped, note, rule, excused, excused_by, pages, pages_fetched, \
    pages_failed, pages_given_up";

#[async_trait]
impl Content for Sql {
    async fn post(&self, id: i64) -> Result<Post> {
        let row = self.row(sql!("SELECT {POST} FROM posts p WHERE p.id = $1", id)).await?;
        let row = row.ok_or_else(|| StoreError::NotFound { entity: "post", key: id.to_string() })?;
        post(&row).map_err(|error| self.fail(error))
    }

    async fn posts(&self, filter: &PostFilter, before: Option<i64>, limit: u32) -> Result<Vec<Post>> {
        let phrases = filter.text.as_deref().map(tokens::phrases);
        if phrases.as_ref().is_some_and(Vec::is_empty) {
            // Signs without a word are in no post.
            return Ok(Vec::new());
        }
        let query = list_posts(filter, phrases.as_deref(), before, limit);
        self.all(query, post).await
    }

    async fn count_posts(&self, source_ids: &[i64]) -> Result<u64> {
        let mut sum = 0;
        for piece in id_pieces(source_ids) {
            let mut query = Query::new("SELECT COUNT(*) FROM posts WHERE source_id IN ");
            push_ids(&mut query, piece);
            sum += self.all(query, |row| row.try_get::<i64, _>(0)).await?.into_iter().sum::<i64>();
        }
        Ok(u64::try_from(sum).unwrap_or(0))
    }

    async fn neighbours(&self, source_id: i64, id: i64) -> Result<(Option<i64>, Option<i64>)> {
        // One pass over the source's own posts: by id alone, a planner might walk past everybody else's.
        let query = sql!(
            "SELECT MAX(CASE WHEN id < $1 THEN id END), MIN(CASE WHEN id > $1 THEN id END)
             FROM posts WHERE source_id = $2",
            id,
            source_id,
        );
        let found = self.all(query, |row| Ok((row.try_get(0)?, row.try_get(1)?))).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    async fn activity(&self, from: Time) -> Result<Vec<Activity>> {
        self.all(super::activity::since(from), super::activity::activity).await
    }

    async fn polls(&self, source_id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Poll>> {
        let query = sql!(
            "SELECT {POLL} FROM polls WHERE source_id = $1 AND id < $2 ORDER BY id DESC LIMIT {limit}",
            source_id,
            before.unwrap_or(i64::MAX),
        );
        self.all(query, poll).await
    }

    async fn waiting_pages(
        &self,
        source_id: i64,
        state: Option<PageState>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<WaitingPage>> {
        self.all(super::pages::list(source_id, state, after, limit), super::pages::page).await
    }

    async fn latest_page_failure(&self, source_id: i64) -> Result<Option<(String, String)>> {
        let found = self
            .all(super::pages::latest_failure(source_id), |row| Ok((row.try_get(0)?, row.try_get(1)?)))
            .await?;
        Ok(found.into_iter().next())
    }

    async fn latest_polls(&self, source_ids: &[i64]) -> Result<HashMap<i64, Poll>> {
        let mut latest = HashMap::with_capacity(source_ids.len());
        for piece in id_pieces(source_ids) {
            let mut query = Query::new(format!(
                "SELECT source_id, {POLL} FROM polls WHERE id IN (SELECT (SELECT MAX(p.id) FROM polls p \
                 WHERE p.source_id = t.source_id) FROM source_state t WHERE t.source_id IN "
            ));
            push_ids(&mut query, piece);
            query.push(")");
            for row in &self.rows(query).await? {
                let read = poll(row).and_then(|poll| Ok((row.try_get("source_id")?, poll)));
                let (source_id, poll) = read.map_err(|error| self.fail(error))?;
                latest.insert(source_id, poll);
            }
        }
        Ok(latest)
    }

    async fn posts_by_time(&self, source_id: i64, since: Time, limit: u32) -> Result<Vec<(Time, u64)>> {
        let query = sql!(
            "SELECT created_at, COUNT(*) FROM posts WHERE source_id = $1 AND created_at >= $2
             GROUP BY created_at ORDER BY created_at DESC LIMIT {limit}",
            source_id,
            ms(since),
        );
        self.all(query, |row| {
            let count: i64 = row.try_get(1)?;
            Ok((time(row, "created_at")?, u64::try_from(count).unwrap_or(0)))
        })
        .await
    }

    async fn create_article(&self, article: &NewArticle, now: Time) -> Result<i64> {
        let mut tx = self.begin().await?;
        let made = create_article(&mut tx, article, now).await.map_err(|error| self.fail(error))?;
        let id = made.map_err(|missing| StoreError::NotFound { entity: "post", key: missing.to_string() })?;
        self.finish(tx).await?;
        Ok(id)
    }

    async fn article(&self, id: i64) -> Result<Article> {
        let rows = self.rows(sql!("SELECT {ARTICLE} FROM articles WHERE id = $1", id)).await?;
        let articles = self.with_posts(&rows).await?;
        articles
            .into_iter()
            .next()
            .ok_or_else(|| StoreError::NotFound { entity: "article", key: id.to_string() })
    }

    async fn articles(
        &self,
        visibility: &Visibility,
        processed: Option<bool>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Article>> {
        let mut query = Query::new(format!("SELECT {ARTICLE} FROM articles WHERE id < "));
        query.push_bind(before.unwrap_or(i64::MAX));
        if let Some(processed) = processed {
            query.push(" AND is_processed = ").push_bind(processed);
        }
        push_visible_article(&mut query, visibility);
        query.push(" ORDER BY id DESC LIMIT ").push(i64::from(limit));
        let rows = self.rows(query).await?;
        self.with_posts(&rows).await
    }

    async fn may_see_article(&self, id: i64, visibility: &Visibility) -> Result<bool> {
        let mut query = Query::new("SELECT 1 FROM articles WHERE id = ");
        query.push_bind(id);
        push_visible_article(&mut query, visibility);
        Ok(self.row(query).await?.is_some())
    }

    async fn visible_posts(&self, ids: &[i64], visibility: &Visibility) -> Result<Vec<i64>> {
        let mut found = Vec::with_capacity(ids.len());
        for piece in id_pieces(ids) {
            let mut query = Query::new("SELECT p.id FROM posts p WHERE p.id IN ");
            push_ids(&mut query, piece);
            push_visible_source(&mut query, "p.source_id", visibility);
            found.extend(self.all(query, |row| row.try_get::<i64, _>(0)).await?);
        }
        Ok(found)
    }

    async fn set_processed(&self, id: i64, processed: bool) -> Result<()> {
        let statement = sql!("UPDATE articles SET is_processed = $1 WHERE id = $2", processed, id);
        match self.execute(statement).await.map_err(|error| self.fail(error))? {
            0 => Err(StoreError::NotFound { entity: "article", key: id.to_string() }),
            _ => Ok(()),
        }
    }
}

/// The query that lists posts, newest first.
pub(super) fn list_posts(
    filter: &PostFilter,
    phrases: Option<&[String]>,
    before: Option<i64>,
    limit: u32,
) -> Query {
    // Ids first: what has to be sorted is small then, and texts are read only for the page itself.
    let columns = if filter.brief { BRIEF } else { POST };
    let mut query = Query::new(format!("SELECT {columns} FROM posts p JOIN ("));
    let id = match phrases {
        Some(phrases) => {
            query.push("SELECT p.id FROM post_text CROSS JOIN posts p ");
            query.push(format!("WHERE p.id = {TEXT_ID} AND {}", MATCHES[0]));
            query.push_bind(text_query(phrases)).push(MATCHES[1]).push(" AND ");
            TEXT_ID
        }
        None => {
            query.push("SELECT p.id FROM posts p WHERE ");
            "p.id"
        }
    };
    query.push(format!("{id} < ")).push_bind(before.unwrap_or(i64::MAX));
    if !filter.source_ids.is_empty() {
        query.push(" AND p.source_id IN ");
        push_ids(&mut query, &filter.source_ids);
    }
    if let Some(collection_id) = filter.collection_id {
        query.push(" AND p.source_id IN (SELECT id FROM sources WHERE collection_id = ");
        query.push_bind(collection_id).push(")");
    }
    push_visible_source(&mut query, "p.source_id", &filter.visibility);
    if filter.unlinked {
        query.push(" AND NOT p.linked");
    }
    if let Some(from) = filter.from {
        query.push(" AND p.created_at >= ").push_bind(ms(from));
    }
    if let Some(until) = filter.until {
        query.push(" AND p.created_at < ").push_bind(ms(until));
    }
    query.push(format!(" ORDER BY {id} DESC LIMIT ")).push(i64::from(limit));
    query.push(") page ON page.id = p.id ORDER BY p.id DESC");
    query
}

impl Sql {
    /// The articles of these rows, each with the posts it is made from.
    async fn with_posts(&self, rows: &[Row]) -> Result<Vec<Article>> {
        let ids = rows.iter().map(|row| row.try_get("id")).collect::<sqlx::Result<Vec<i64>>>();
        let mut posts: HashMap<i64, Vec<i64>> = HashMap::new();
        for piece in id_pieces(&ids.map_err(|error| self.fail(error))?) {
            let mut query = Query::new("SELECT article_id, post_id FROM article_posts WHERE article_id IN ");
            push_ids(&mut query, piece);
            query.push(" ORDER BY article_id, post_id");
            let found = self.all(query, |row| Ok((row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?)));
            for (article_id, post_id) in found.await? {
                posts.entry(article_id).or_default().push(post_id);
            }
        }
        let articles = rows.iter().map(|row| article(row, &mut posts)).collect::<sqlx::Result<_>>();
        articles.map_err(|error| self.fail(error))
    }
}

/// Creates an article, or returns the first of its posts that is missing.
async fn create_article(
    tx: &mut Tx,
    article: &NewArticle,
    now: Time,
) -> sqlx::Result<std::result::Result<i64, i64>> {
    let mut ids = article.post_ids.clone();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::with_capacity(ids.len());
    for piece in id_pieces(&ids) {
        let mut query = Query::new("UPDATE posts SET linked = TRUE WHERE id IN ");
        push_ids(&mut query, piece);
        let rows = tx.rows(query.push(" RETURNING id")).await?;
        found.extend(rows.iter().map(|row| row.get::<i64, _>(0)));
    }
    if let Some(missing) = ids.iter().find(|id| !found.contains(id)) {
        return Ok(Err(*missing));
    }
    let statement = sql!(
        "INSERT INTO articles (title, body, url, published_at, is_processed, created_at)
         VALUES ($1, $2, $3, $4, FALSE, $5) RETURNING id",
        article.title.as_str(),
        article.body.as_str(),
        article.url.as_deref(),
        opt_ms(article.published_at),
        ms(now),
    );
    let id: i64 = tx.one(statement).await?.try_get(0)?;
    for piece in pieces(&ids) {
        let mut query = Query::new("INSERT INTO article_posts (article_id, post_id) ");
        query.push_values(piece, |mut list, post_id| {
            list.push_bind(id).push_bind(*post_id);
        });
        tx.execute(query).await?;
    }
    Ok(Ok(id))
}

pub(super) fn post(row: &Row) -> sqlx::Result<Post> {
    Ok(Post {
        id: row.try_get("id")?,
        source_id: row.try_get("source_id")?,
        content: NewPost {
            guid: row.try_get("guid")?,
            url: row.try_get("url")?,
            title: row.try_get("title")?,
            body: row.try_get("body")?,
            raw_content: row.try_get("raw_content")?,
            author: row.try_get("author")?,
            published_at: opt_time(row, "published_at")?,
            content_hash: stored_hash(row.try_get("content_hash")?),
        },
        revision: row.try_get("revision")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

fn article(row: &Row, posts: &mut HashMap<i64, Vec<i64>>) -> sqlx::Result<Article> {
    let id = row.try_get("id")?;
    Ok(Article {
        id,
        content: NewArticle {
            title: row.try_get("title")?,
            body: row.try_get("body")?,
            url: row.try_get("url")?,
            published_at: opt_time(row, "published_at")?,
            post_ids: posts.remove(&id).unwrap_or_default(),
        },
        is_processed: row.try_get("is_processed")?,
        created_at: time(row, "created_at")?,
    })
}

fn poll(row: &Row) -> sqlx::Result<Poll> {
    let unsigned = |column| row.try_get::<i64, _>(column).map(|n| u64::try_from(n).unwrap_or(0));
    let skipped = match row.try_get::<Option<&str>, _>("skipped")? {
        Some(text) => serde_json::from_str(text).map_err(|error| garbled("skipped", error))?,
        None => Skipped::default(),
    };
    let message = row.try_get::<Option<String>, _>("error")?.unwrap_or_default();
    Ok(Poll {
        id: row.try_get("id")?,
        first_at: time(row, "first_at")?,
        count: row.try_get("count")?,
        new_posts: row.try_get("new_posts")?,
        updated_posts: row.try_get("updated_posts")?,
        pages: PollPages {
            queued: row.try_get("pages")?,
            fetched: row.try_get("pages_fetched")?,
            failed: row.try_get("pages_failed")?,
            given_up: row.try_get("pages_given_up")?,
        },
        record: PollRecord {
            at: time(row, "last_at")?,
            outcome: row.try_get("outcome")?,
            error: error_kind(row, "error_type", "error_cause")?.map(|kind| (kind, message)),
            status_code: row
                .try_get::<Option<i64>, _>("status_code")?
                .and_then(|code| u16::try_from(code).ok()),
            duration: Span::from_millis(unsigned("duration_ms")?),
            bytes: unsigned("bytes")?,
            skipped,
            note: row.try_get("note")?,
            rule: row.try_get("rule")?,
            excused: row.try_get::<Option<&str>, _>("excused")?.and_then(Excuse::from_name),
            excused_by: row.try_get("excused_by")?,
        },
    })
}
