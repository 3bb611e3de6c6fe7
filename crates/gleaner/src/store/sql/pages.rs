//! Article pages that wait, failed or were given up: counted, listed, retried and deleted.
//!
//! Counts on sources and polls change by differences, in the transaction that changes the page. Every such transaction
//! locks the states of the sources first, in the order of their ids.

use std::collections::BTreeMap;

use gleaner_core::follow::{PageState, skipped_sum};
use gleaner_core::identity::Skipped;
use gleaner_core::suspect::{PageRun, Suspected};
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::{ROW_LOCK, Row};
use super::claim::settle_hosts;
use super::{
    Query, Statement, Tx, garbled, id_pieces, ms, opt_time, pieces, push_ids, sql, time, with_values,
};
use crate::store::WaitingPage;

const WAITING: &str = "waiting";
const GIVEN_UP: &str = "given_up";

/// The state of a page, from its columns `state` and `tries`.
pub(super) fn state_of(row: &Row) -> sqlx::Result<PageState> {
    let tries: i64 = row.try_get("tries")?;
    Ok(match row.try_get::<&str, _>("state")? {
        GIVEN_UP => PageState::GivenUp,
        _ if tries > 0 => PageState::Failed,
        _ => PageState::Waiting,
    })
}

/// Differences of a source's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CountChange {
    waiting: i64,
    failed: i64,
    given_up: i64,
}

impl CountChange {
    /// One page more in a state.
    pub(super) fn add(&mut self, state: PageState) {
        *self.of(state) += 1;
    }

    /// One page less in a state.
    pub(super) fn remove(&mut self, state: PageState) {
        *self.of(state) -= 1;
    }

    fn of(&mut self, state: PageState) -> &mut i64 {
        match state {
            PageState::Waiting => &mut self.waiting,
            PageState::Failed => &mut self.failed,
            PageState::GivenUp => &mut self.given_up,
        }
    }
}

/// Differences of a row of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PollChange {
    /// Pages by state.
    pub(super) counts: CountChange,
    /// Pages that it queued.
    pub(super) queued: i64,
    /// Pages that were fetched.
    pub(super) fetched: i64,
    /// Posts that came from them.
    pub(super) new_posts: i64,
    /// What was skipped of them.
    pub(super) skipped: Skipped,
}

/// What is known of a source's pages, read under a lock.
#[derive(Debug, Clone, Default)]
pub(super) struct SourcePages {
    /// The latest pages, and what follows from them.
    pub(super) run: PageRun,
    /// What the source is suspected of for another reason.
    pub(super) other_suspicion: Option<Suspected>,
    /// Differences to be written.
    pub(super) change: CountChange,
}

/// Locks the state of sources and reads what is known of their pages.
pub(super) async fn lock_sources(
    tx: &mut Tx,
    ids: impl Iterator<Item = i64>,
) -> sqlx::Result<BTreeMap<i64, SourcePages>> {
    let mut ids: Vec<i64> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let mut found = BTreeMap::new();
    for piece in id_pieces(&ids) {
        let mut query = Query::new(
            "SELECT source_id, pages_failed_in_a_row, pages_suspect, suspect FROM source_state WHERE source_id IN ",
        );
        push_ids(&mut query, piece);
        query.push(" ORDER BY source_id").push(ROW_LOCK);
        for row in tx.rows(query).await? {
            let failed = u32::try_from(row.try_get::<i64, _>(1)?).unwrap_or(u32::MAX);
            let run = PageRun { failed, suspected: suspicion(&row, "pages_suspect")? };
            let pages =
                SourcePages { run, other_suspicion: suspicion(&row, "suspect")?, ..SourcePages::default() };
            found.insert(row.try_get(0)?, pages);
        }
    }
    Ok(found)
}

fn suspicion(row: &Row, column: &str) -> sqlx::Result<Option<Suspected>> {
    let text: Option<&str> = row.try_get(column)?;
    text.map(|text| serde_json::from_str(text).map_err(|error| garbled(column, error))).transpose()
}

/// Writes what has changed of sources' pages.
pub(super) async fn store_sources(tx: &mut Tx, sources: &BTreeMap<i64, SourcePages>) -> sqlx::Result<()> {
    let rows: Vec<(i64, &SourcePages)> = sources.iter().map(|(id, pages)| (*id, pages)).collect();
    for piece in pieces(&rows) {
        let columns = "source_id, waiting, failed, given_up, run, pages_suspect";
        let mut query = with_values(columns, piece, |list, (id, pages)| {
            let suspect = pages.run.suspected.as_ref().and_then(|one| serde_json::to_string(one).ok());
            list.push_bind(*id)
                .push_bind(pages.change.waiting)
                .push_bind(pages.change.failed)
                .push_bind(pages.change.given_up)
                .push_bind(i64::from(pages.run.failed))
                .push_bind(suspect);
        });
        query.push(format!(
            "UPDATE source_state SET {COUNTS}, pages_failed_in_a_row = v.run, pages_suspect = v.pages_suspect
             FROM v WHERE source_state.source_id = v.source_id"
        ));
        tx.execute(query).await?;
    }
    Ok(())
}

const COUNTS: &str = "pages_waiting = pages_waiting + v.waiting, pages_failed = pages_failed + v.failed, \
    pages_given_up = pages_given_up + v.given_up";

/// Adds differences to sources' counts.
pub(super) async fn count_sources(tx: &mut Tx, changes: &BTreeMap<i64, CountChange>) -> sqlx::Result<()> {
    let rows: Vec<(i64, CountChange)> = changes.iter().map(|(id, change)| (*id, *change)).collect();
    for piece in pieces(&rows) {
        let mut query = with_values("source_id, waiting, failed, given_up", piece, |list, (id, change)| {
            list.push_bind(*id).push_bind(change.waiting).push_bind(change.failed).push_bind(change.given_up);
        });
        query.push(format!(
            "UPDATE source_state SET {COUNTS} FROM v WHERE source_state.source_id = v.source_id"
        ));
        tx.execute(query).await?;
    }
    Ok(())
}

/// Adds differences to rows of the history, as far as they are still there.
pub(super) async fn count_polls(tx: &mut Tx, changes: &BTreeMap<i64, PollChange>) -> sqlx::Result<()> {
    let rows: Vec<(i64, PollChange)> = changes.iter().map(|(id, change)| (*id, *change)).collect();
    for piece in pieces(&rows) {
        let columns = "poll_id, queued, fetched, failed, given_up, new_posts";
        let mut query = with_values(columns, piece, |list, (id, change)| {
            list.push_bind(*id)
                .push_bind(change.queued)
                .push_bind(change.fetched)
                .push_bind(change.counts.failed)
                .push_bind(change.counts.given_up)
                .push_bind(change.new_posts);
        });
        query.push(
            "UPDATE polls SET pages = polls.pages + v.queued, pages_fetched = polls.pages_fetched + v.fetched, \
             pages_failed = polls.pages_failed + v.failed, pages_given_up = polls.pages_given_up + v.given_up, \
             new_posts = polls.new_posts + v.new_posts FROM v WHERE polls.id = v.poll_id",
        );
        tx.execute(query).await?;
    }
    // Few pages are skipped, and what a row has skipped is JSON.
    for (id, change) in rows.into_iter().filter(|(_, change)| change.skipped != Skipped::default()) {
        let query = sql!("SELECT skipped FROM polls WHERE id = $1", id);
        let Some(row) = tx.row(query).await? else { continue };
        let before: Option<&str> = row.try_get(0)?;
        let before = before.map_or(Ok(Skipped::default()), |text| {
            serde_json::from_str(text).map_err(|error| garbled("skipped", error))
        })?;
        let skipped = serde_json::to_string(&skipped_sum(before, change.skipped)).unwrap_or_default();
        tx.execute(sql!("UPDATE polls SET skipped = $1 WHERE id = $2", skipped, id)).await?;
    }
    Ok(())
}

/// The query that lists a source's pages by id.
pub(super) fn list(source_id: i64, state: Option<PageState>, after: Option<i64>, limit: u32) -> Statement {
    let state = match state {
        Some(PageState::Waiting) => "AND state = 'waiting' AND tries = 0",
        Some(PageState::Failed) => "AND state = 'waiting' AND tries > 0",
        Some(PageState::GivenUp) => "AND state = 'given_up'",
        None => "",
    };
    sql!(
        "SELECT id, url, state, tries, last_error, failed_at, next_try_at, created_at FROM article_work
         WHERE source_id = $1 AND purpose = 'article' AND id > $2 {state} ORDER BY id LIMIT {limit}",
        source_id,
        after.unwrap_or(0),
    )
}

/// A page from a row of [`list`].
pub(super) fn page(row: &Row) -> sqlx::Result<WaitingPage> {
    Ok(WaitingPage {
        id: row.try_get("id")?,
        url: row.try_get("url")?,
        state: state_of(row)?,
        tries: row.try_get("tries")?,
        error: row.try_get("last_error")?,
        failed_at: opt_time(row, "failed_at")?,
        next_try_at: opt_time(row, "next_try_at")?,
        created_at: time(row, "created_at")?,
    })
}

/// The query for the latest failure among a source's pages.
pub(super) fn latest_failure(source_id: i64) -> Statement {
    sql!(
        "SELECT url, last_error FROM article_work
         WHERE source_id = $1 AND purpose = 'article' AND last_error IS NOT NULL
         ORDER BY failed_at DESC, id DESC LIMIT 1",
        source_id,
    )
}

/// Makes a source's given-up pages due, as if they were new; returns how many.
pub(super) async fn retry(tx: &mut Tx, source_id: i64, now: Time) -> sqlx::Result<u64> {
    lock_sources(tx, std::iter::once(source_id)).await?;
    let statement = sql!(
        "UPDATE article_work SET state = $1, tries = 0, next_try_at = $2
         WHERE source_id = $3 AND state = $4 RETURNING host_id, poll_id",
        WAITING,
        ms(now),
        source_id,
        GIVEN_UP,
    );
    let (mut hosts, mut change) = (Vec::new(), CountChange::default());
    let mut polls: BTreeMap<i64, PollChange> = BTreeMap::new();
    let rows = tx.rows(statement).await?;
    for row in &rows {
        hosts.push(row.try_get::<i64, _>(0)?);
        change.remove(PageState::GivenUp);
        change.add(PageState::Waiting);
        if let Some(poll_id) = row.try_get::<Option<i64>, _>(1)? {
            polls.entry(poll_id).or_default().counts.remove(PageState::GivenUp);
        }
    }
    if rows.is_empty() {
        return Ok(0);
    }
    count_sources(tx, &BTreeMap::from([(source_id, change)])).await?;
    count_polls(tx, &polls).await?;
    hosts.sort_unstable();
    hosts.dedup();
    settle_hosts(tx, &hosts).await?;
    Ok(rows.len() as u64)
}

/// The query that finds pages that were given up before.
pub(super) fn old(before: Time, batch: i64) -> Statement {
    sql!(
        "SELECT id, source_id FROM article_work WHERE state = 'given_up' AND failed_at < $1
         ORDER BY failed_at LIMIT {batch}",
        ms(before),
    )
}

/// Forgets pages that were given up before; returns how many.
pub(super) async fn clean_up(tx: &mut Tx, before: Time, batch: i64) -> sqlx::Result<u64> {
    let rows = tx.rows(old(before, batch)).await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let (mut ids, mut sources) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for row in &rows {
        ids.push(row.try_get::<i64, _>(0)?);
        sources.push(row.try_get::<i64, _>(1)?);
    }
    lock_sources(tx, sources.into_iter()).await?;
    let mut changes: BTreeMap<i64, CountChange> = BTreeMap::new();
    for piece in id_pieces(&ids) {
        let mut query = Query::new("DELETE FROM article_work WHERE state = 'given_up' AND id IN ");
        push_ids(&mut query, piece);
        for row in tx.rows(query.push(" RETURNING source_id")).await? {
            changes.entry(row.try_get(0)?).or_default().remove(PageState::GivenUp);
        }
    }
    count_sources(tx, &changes).await?;
    Ok(ids.len() as u64)
}
