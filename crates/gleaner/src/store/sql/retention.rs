//! Retention in batches, key-value storage, and plans of queries.

use async_trait::async_trait;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::SKIP_LOCKED;
use super::claim::{claim_hosts, due_articles, due_sources};
use super::events::delete_events;
use super::source_json::select_sources;
use super::webhooks::trim_deliveries;
use super::{Limit, Query, Sql, Statement, Tx, id_pieces, ms, push_ids, sorting, sql};
use crate::store::{
    ClaimRequest, ClaimScope, Cleanup, CleanupCounts, EventCursor, EventFilter, HostOrder, Maintenance,
    PagePosition, Result, SortKey, SortOrder, SortPosition, SourceFilter, SourceOrder, Spread, Visibility,
};

/// The id up to which the poll history was swept, in `meta`.
const POLLS_SWEPT: &str = "polls_swept_to";
/// The row of `meta` that a worker locks while it cleans up.
const CLEANING: &str = "cleaning";

#[async_trait]
impl Maintenance for Sql {
    async fn clean_up(&self, cleanup: &Cleanup) -> Result<CleanupCounts> {
        let mut tx = self.begin_within(Limit::Bulk).await?;
        let cleaned = clean_up(&mut tx, cleanup).await;
        self.end(tx, cleaned).await
    }

    async fn index_posts(&self, limit: u32) -> Result<u64> {
        if self.all(super::search::waiting(), |_| Ok(())).await?.is_empty() {
            return Ok(0);
        }
        let mut tx = self.begin_within(Limit::Bulk).await?;
        let indexed = super::search::index(&mut tx, limit).await;
        self.end(tx, indexed).await
    }

    async fn spread(&self, spread: &Spread) -> Result<u64> {
        self.spread_polls(spread).await
    }

    async fn meta(&self, name: &str) -> Result<Option<String>> {
        let row = self.row(sql!("SELECT value FROM meta WHERE name = $1", name)).await?;
        row.map(|row| row.try_get(0)).transpose().map_err(|error| self.fail(error))
    }

    async fn set_meta(&self, name: &str, value: &str) -> Result<()> {
        self.run(set_meta(name, value)).await.map(|_| ())
    }

    async fn query_plans(&self) -> Result<Vec<(&'static str, String)>> {
        let mut plans = Vec::new();
        for (name, query) in hot_queries() {
            let plan = self.explain(query).await.map_err(|error| self.fail(error))?;
            plans.push((name, plan));
        }
        Ok(plans)
    }
}

/// The queries that run at every tick, with arguments of the usual size.
fn hot_queries() -> Vec<(&'static str, Statement)> {
    let request = ClaimRequest {
        now: Time::from_millis(0),
        lease: Span::from_mins(1),
        owner: String::new(),
        hosts: 100,
        slow_hosts: 75,
        per_host: 50,
        scope: ClaimScope::All,
    };
    let probe =
        ClaimRequest { hosts: 1, slow_hosts: 1, per_host: 1, scope: ClaimScope::Probe, ..request.clone() };
    let hosts: Vec<i64> = (1..=50).collect();
    let mut known = Query::new("SELECT * FROM seen WHERE source_id IN ");
    push_ids(&mut known, &hosts);
    let all = SourceFilter::default();
    let collection = SourceFilter { collection_id: Some(1), ..SourceFilter::default() };
    let kind = SourceFilter { kind: Some(gleaner_core::source::Kind::Feed), ..SourceFilter::default() };
    let failing =
        SourceFilter { status: Some(gleaner_core::health::Status::Failing), ..SourceFilter::default() };
    let suspect = SourceFilter { suspect: true, ..SourceFilter::default() };
    let (address, name) = (
        SortOrder { by: SourceOrder::Address, descending: false },
        SortOrder { by: HostOrder::Name, descending: false },
    );
    let newest = SortOrder { by: SourceOrder::Added, descending: true };
    let text = PagePosition::After(SortPosition { key: SortKey::Text("https://b".to_owned()), id: 1000 });
    let number = PagePosition::After(SortPosition { key: SortKey::Number(1000), id: 1000 });
    let visibility = Visibility { user_id: Some(1), only: None };
    let visible = SourceFilter { visibility: visibility.clone(), ..SourceFilter::default() };
    let seen = EventFilter { visibility, ..EventFilter::default() };
    let of_source = EventFilter { source_id: Some(1), ..EventFilter::default() };
    vec![
        ("claim hosts", claim_hosts(&request)),
        ("claim a host as a probe", claim_hosts(&probe)),
        ("claim their sources", due_sources(&hosts, &request).into()),
        ("claim their pages", due_articles(&hosts, None, &request).into()),
        ("known entries", known.into()),
        ("posts to clean up", old_posts(Time::from_millis(0), 100)),
        ("pages to clean up", super::pages::old(Time::from_millis(0), 100)),
        ("list a source's pages", super::pages::list(1, None, None, 50)),
        ("list sources", super::sources::list(select_sources(), &all, Some(1000), 50).into()),
        (
            "list a collection's sources",
            super::sources::list(select_sources(), &collection, Some(1000), 50).into(),
        ),
        ("list sources of a kind", super::sources::list(select_sources(), &kind, Some(1000), 50).into()),
        ("list failing sources", super::sources::list(select_sources(), &failing, Some(1000), 50).into()),
        ("list suspect sources", super::sources::list(select_sources(), &suspect, Some(1000), 50).into()),
        ("count suspect sources", sorting::count(&suspect, 1000).into()),
        ("list a source's events", super::events::list(&of_source, EventCursor::Before(1000), 50).into()),
        ("list sources by address", sorting::sources(&all, address, &text, 50).into()),
        ("list feeds by address", sorting::sources(&kind, address, &text, 50).into()),
        ("list failing sources by address", sorting::sources(&failing, address, &text, 50).into()),
        ("list suspect sources by address", sorting::sources(&suspect, address, &text, 50).into()),
        ("list the newest suspect sources", sorting::sources(&suspect, newest, &number, 50).into()),
        ("list the newest sources", sorting::sources(&all, newest, &number, 50).into()),
        ("list hosts by name", sorting::hosts(&Visibility::default(), None, name, &text, 50).into()),
        ("list visible sources", super::sources::list(select_sources(), &visible, Some(1000), 50).into()),
        ("list visible sources by address", sorting::sources(&visible, address, &text, 50).into()),
        ("list visible events", super::events::list(&seen, EventCursor::Before(1000), 50).into()),
    ]
}

async fn clean_up(tx: &mut Tx, cleanup: &Cleanup) -> sqlx::Result<CleanupCounts> {
    let batch = i64::from(cleanup.batch);
    let mut cleaned = CleanupCounts::default();
    if !is_alone(tx).await? {
        return Ok(cleaned);
    }
    if let Some(before) = cleanup.articles_before {
        cleaned.articles = delete_articles(tx, before, batch).await?;
    }
    if let Some(before) = cleanup.posts_before {
        cleaned.posts = tx
            .execute(sql!(
                "DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE NOT linked AND created_at < $1
                     ORDER BY created_at LIMIT {batch})",
                ms(before),
            ))
            .await?;
    }
    cleaned.seen = tx
        .execute(sql!(
            "WITH old AS (SELECT source_id, entry_key FROM seen WHERE absent_since < $1
                 ORDER BY absent_since LIMIT {batch})
             DELETE FROM seen WHERE (source_id, entry_key) IN (SELECT source_id, entry_key FROM old)",
            ms(cleanup.seen_before),
        ))
        .await?;
    cleaned.polls = sweep_polls(tx, cleanup).await?;
    super::search::sweep(tx, STRETCH * batch).await?;
    super::activity::forget(tx, cleanup.activity_before).await?;
    cleaned.events = delete_events(tx, cleanup.events_before, batch).await?;
    cleaned.deliveries = trim_deliveries(tx, cleanup.events_before, batch).await?;
    cleaned.audit = super::audit::delete_old(tx, cleanup.audit_before, batch).await?;
    cleaned.pages = super::pages::clean_up(tx, cleanup.pages_before, batch).await?;
    let full = |count: u64| count >= u64::from(cleanup.batch);
    let CleanupCounts { articles, posts, seen, polls, events, deliveries, audit, pages, .. } = cleaned;
    cleaned.more = [articles, posts, seen, polls, events, deliveries, audit, pages].into_iter().any(full);
    Ok(cleaned)
}

/// Whether no other worker cleans up at this moment: two would only wait for each other's rows.
async fn is_alone(tx: &mut Tx) -> sqlx::Result<bool> {
    tx.execute(sql!("INSERT INTO meta (name, value) VALUES ($1, '') ON CONFLICT DO NOTHING", CLEANING))
        .await?;
    Ok(tx.row(sql!("SELECT 1 FROM meta WHERE name = $1{SKIP_LOCKED}", CLEANING)).await?.is_some())
}

/// The query that finds posts to delete.
fn old_posts(before: Time, batch: i64) -> Statement {
    sql!(
        "SELECT id FROM posts WHERE NOT linked AND created_at < $1 ORDER BY created_at LIMIT {batch}",
        ms(before),
    )
}

/// Deletes unprocessed articles; posts that no other article uses are unlinked by it.
async fn delete_articles(tx: &mut Tx, before: Time, batch: i64) -> sqlx::Result<u64> {
    let query = sql!(
        "SELECT id FROM articles WHERE NOT is_processed AND published_at < $1 ORDER BY published_at LIMIT {batch}",
        ms(before),
    );
    let rows = tx.rows(query).await?;
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    for piece in id_pieces(&ids) {
        let mut query = Query::new(
            "UPDATE posts SET linked = FALSE WHERE id IN (SELECT post_id FROM article_posts a WHERE a.article_id IN ",
        );
        push_ids(&mut query, piece);
        query.push(" AND NOT EXISTS (SELECT 1 FROM article_posts b WHERE b.post_id = a.post_id AND b.article_id NOT IN ");
        push_ids(&mut query, piece);
        tx.execute(query.push("))")).await?;
        let mut query = Query::new("DELETE FROM articles WHERE id IN ");
        push_ids(&mut query, piece);
        tx.execute(query).await?;
    }
    Ok(ids.len() as u64)
}

/// How many times as long as a batch a stretch of the history is: most of it only is looked at.
const STRETCH: i64 = 20;

/// Looks at the next stretch of the history: old rows go, and those past what a source may keep. A row of
/// unchanged polls may be old by its id and young by its time, so that the sweep goes round and round.
async fn sweep_polls(tx: &mut Tx, cleanup: &Cleanup) -> sqlx::Result<u64> {
    let row = tx.row(sql!("SELECT value FROM meta WHERE name = $1", POLLS_SWEPT)).await?;
    let from: i64 = row.and_then(|row| row.get::<String, _>(0).parse().ok()).unwrap_or(0);
    let stretch = STRETCH * i64::from(cleanup.batch);
    let query = sql!(
        "SELECT MAX(id) FROM (SELECT id FROM polls WHERE id > $1 ORDER BY id LIMIT {stretch}) stretch",
        from,
    );
    let to: Option<i64> = tx.one(query).await?.try_get(0)?;
    let mut deleted = 0;
    if let Some(to) = to {
        let before = ms(cleanup.polls_before);
        let statement =
            sql!("DELETE FROM polls WHERE id > $1 AND id <= $2 AND last_at < $3", from, to, before);
        deleted = tx.execute(statement).await?;
        deleted += trim_sources(tx, cleanup.polls_per_source, from, to).await?;
    }
    let next = to.unwrap_or(0);
    if next != from {
        tx.execute(set_meta(POLLS_SWEPT, &next.to_string())).await?;
    }
    Ok(deleted)
}

/// Cuts the history of sources in a stretch that have more rows than they may keep; hardly any has.
async fn trim_sources(tx: &mut Tx, keep: u32, from: i64, to: i64) -> sqlx::Result<u64> {
    let query = sql!(
        "SELECT source_id FROM polls WHERE source_id IN (SELECT source_id FROM polls WHERE id > $1 AND id <= $2)
         GROUP BY source_id HAVING COUNT(*) > $3",
        from,
        to,
        i64::from(keep),
    );
    let mut deleted = 0;
    for row in tx.rows(query).await? {
        let source_id: i64 = row.try_get(0)?;
        deleted += tx
            .execute(sql!(
                "DELETE FROM polls WHERE source_id = $1
                 AND id <= (SELECT id FROM polls WHERE source_id = $1 ORDER BY id DESC LIMIT 1 OFFSET {keep})",
                source_id,
            ))
            .await?;
    }
    Ok(deleted)
}

/// Stores a value under a name.
pub(super) fn set_meta(name: &str, value: &str) -> Statement {
    sql!(
        "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )
}
