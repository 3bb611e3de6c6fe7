//! Commits article work: a post, a new text of one, another try, or given up. In sets, like polls.

use std::collections::{BTreeMap, HashMap, HashSet};

use gleaner_core::follow::{PageState, skipped_sum};
use gleaner_core::identity::Skipped;
use gleaner_core::post::NewPost;
use gleaner_core::suspect::Change;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::LOCK;
use super::commit::{PostRow, insert_events, insert_posts};
use super::host_effects::hold_hosts;
use super::pages::{PollChange, SourcePages, count_polls, lock_sources, state_of, store_sources};
use super::{Query, Tx, id_pieces, ms, opt_ms, pieces, push_ids, sql, suspicion, with_values};
use crate::store::{Activity, ArticleCommit, ArticleOutcome, CommitOutcome, NewEvent, WorkPurpose};

/// The source and the entry that a piece of work is for.
type Target = (i64, i64);

/// A piece of work as it is before its end.
struct Live {
    target: Target,
    url: String,
    purpose: WorkPurpose,
    state: PageState,
    poll_id: Option<i64>,
}

impl Live {
    /// Whether it is the article of an entry.
    const fn is_page(&self) -> bool {
        matches!(self.purpose, WorkPurpose::Article)
    }
}

/// A page that became a post.
struct Made<'a> {
    target: Target,
    unique_text: bool,
    post: &'a NewPost,
    at: Time,
}

impl<'a> Made<'a> {
    fn row(&self) -> PostRow<'a> {
        let ((source_id, entry_key), unique_text) = (self.target, self.unique_text);
        PostRow { source_id, entry_key, unique_text, post: self.post, at: self.at }
    }
}

pub(super) async fn commit(tx: &mut Tx, commits: &[ArticleCommit]) -> sqlx::Result<Vec<CommitOutcome>> {
    // Sources before hosts, like polls do: else a poll that queues pages of these hosts and this would wait for each other.
    let mut sources = lock_sources(tx, commits.iter().map(|commit| commit.source_id)).await?;
    let live = check(tx, commits).await?;
    let ours = || commits.iter().filter_map(|commit| Some((commit, live.get(&commit.work_id)?.target)));
    let made: Vec<Made<'_>> = ours()
        .filter_map(|(commit, target)| match &commit.outcome {
            ArticleOutcome::Post(post) => {
                Some(Made { target, unique_text: commit.unique_text, post, at: commit.at })
            }
            _ => None,
        })
        .collect();
    let mut new = store_posts(tx, &made).await?;
    let mut replaced = replace_texts(tx, commits, &live).await?;
    let (polls, mut events) = count(tx, commits, &live, &new, &mut sources).await?;
    store_sources(tx, &sources).await?;
    count_polls(tx, &polls).await?;
    if let Some((first, _)) = ours().next() {
        let posts = i64::try_from(new.len()).unwrap_or(0);
        let done = Activity { hour: first.at, posts, ..Activity::default() };
        super::activity::add(tx, first.lease.host_id, std::iter::once(done)).await?;
    }
    suspicion::store_looks(tx, ours().map(|(commit, (source_id, _))| (commit, source_id))).await?;
    try_again(tx, &ours().map(|(commit, _)| commit).collect::<Vec<_>>()).await?;
    let stays = |outcome: &ArticleOutcome| {
        matches!(outcome, ArticleOutcome::Retry { .. } | ArticleOutcome::GivenUp { .. })
    };
    let done = ours().filter(|(commit, _)| !stays(&commit.outcome));
    for piece in id_pieces(&done.map(|(commit, _)| commit.work_id).collect::<Vec<_>>()) {
        let mut query = Query::new("DELETE FROM article_work WHERE id IN ");
        push_ids(&mut query, piece);
        tx.execute(query).await?;
    }
    hold_hosts(tx, ours().map(|(commit, _)| (commit.lease, commit.host_hold_until))).await?;
    let told = ours().flat_map(|(commit, _)| commit.events.iter().map(|event| (event.clone(), commit.at)));
    events.extend(told);
    insert_events(tx, &events).await?;
    let host_effects =
        ours().filter_map(|(commit, _)| Some((commit.lease, commit.at, commit.host_effects.as_deref()?)));
    super::host_effects::write(tx, host_effects).await?;
    let committed = commits.iter().map(|commit| match live.get(&commit.work_id) {
        Some(Live { target, .. }) => CommitOutcome::Stored {
            new: new.remove(target).into_iter().collect(),
            changed: replaced.remove(target).into_iter().collect(),
        },
        None => CommitOutcome::Discarded,
    });
    Ok(committed.collect())
}

/// Which pieces of work are still there and ours; a deleted source took its work with it.
async fn check(tx: &mut Tx, commits: &[ArticleCommit]) -> sqlx::Result<HashMap<i64, Live>> {
    let mut live = HashMap::with_capacity(commits.len());
    for piece in pieces(commits) {
        let mut query = with_values("work_id, host_id, host_fence", piece, |list, commit| {
            list.push_bind(commit.work_id).push_bind(commit.lease.host_id).push_bind(commit.lease.fence);
        });
        query.push(
            "SELECT t.id, t.source_id, t.entry_key, t.url, t.purpose, t.state, t.tries, t.poll_id FROM v \
             JOIN hosts h ON h.id = v.host_id AND h.fence = v.host_fence \
             JOIN article_work t ON t.id = v.work_id AND t.host_id = v.host_id AND t.state = 'waiting'",
        );
        query.push(LOCK);
        for row in tx.rows(query).await? {
            let found = Live {
                target: (row.try_get(1)?, row.try_get(2)?),
                url: row.try_get(3)?,
                purpose: WorkPurpose::from_name(row.try_get("purpose")?),
                state: state_of(&row)?,
                poll_id: row.try_get("poll_id")?,
            };
            live.insert(row.try_get(0)?, found);
        }
    }
    Ok(live)
}

/// Stores pages as posts of their sources, links their entries to them and writes events; returns the ids of new posts.
async fn store_posts(tx: &mut Tx, made: &[Made<'_>]) -> sqlx::Result<HashMap<Target, i64>> {
    let rows: Vec<PostRow<'_>> = made.iter().map(Made::row).collect();
    let ids = insert_posts(tx, &rows).await?;
    let stored: Vec<(&Made<'_>, i64)> =
        made.iter().filter_map(|made| Some((made, *ids.get(&made.target)?))).collect();
    tie_entries(tx, &stored).await?;
    let mut told: BTreeMap<i64, (Vec<i64>, Time)> = BTreeMap::new();
    for (made, id) in &stored {
        told.entry(made.target.0).or_insert_with(|| (Vec::new(), made.at)).0.push(*id);
    }
    insert_events(tx, &events_of_posts("post.created", told)).await?;
    Ok(stored.into_iter().map(|(made, id)| (made.target, id)).collect())
}

/// Counts what became of pages: on their sources, whose latest pages may make them suspect, and on their polls. Returns
/// what changes of polls, and events of suspicions that begin or end.
async fn count(
    tx: &mut Tx,
    commits: &[ArticleCommit],
    live: &HashMap<i64, Live>,
    new: &HashMap<Target, i64>,
    sources: &mut BTreeMap<i64, SourcePages>,
) -> sqlx::Result<(BTreeMap<i64, PollChange>, Vec<(NewEvent, Time)>)> {
    let mut polls: BTreeMap<i64, PollChange> = BTreeMap::new();
    let mut events = Vec::new();
    for commit in commits {
        let Some(page) = live.get(&commit.work_id).filter(|page| page.is_page()) else { continue };
        let Some(source) = sources.get_mut(&page.target.0) else { continue };
        let (state, failure) = match &commit.outcome {
            ArticleOutcome::Retry { counts: false, .. } => continue,
            ArticleOutcome::Retry { error, .. } => (Some(PageState::Failed), Some(error)),
            ArticleOutcome::GivenUp { error } => (Some(PageState::GivenUp), Some(error)),
            _ => (None, None),
        };
        source.change.remove(page.state);
        state.iter().for_each(|state| source.change.add(*state));
        let suspicion = match failure {
            None => source.run.fetched(),
            Some(error) if page.state == PageState::Waiting => source.run.failed(&page.url, error, commit.at),
            Some(_) => None,
        };
        if let Some(change) = suspicion {
            // What the source is suspected of from now on.
            let other = source.other_suspicion.clone().map(Change::Suspected);
            let change = if change == Change::Cleared { other.unwrap_or(change) } else { change };
            events.push((suspicion_event(tx, page.target.0, &change).await?, commit.at));
        }
        let Some(poll_id) = page.poll_id else { continue };
        let poll = polls.entry(poll_id).or_default();
        poll.counts.remove(page.state);
        state.iter().for_each(|state| poll.counts.add(*state));
        poll.fetched += i64::from(failure.is_none());
        match &commit.outcome {
            ArticleOutcome::Post(_) if new.contains_key(&page.target) => poll.new_posts += 1,
            ArticleOutcome::Post(_) => {
                poll.skipped = skipped_sum(poll.skipped, Skipped { duplicate: 1, ..Skipped::default() });
            }
            ArticleOutcome::Unused(skipped) => poll.skipped = skipped_sum(poll.skipped, *skipped),
            _ => {}
        }
    }
    Ok((polls, events))
}

/// A suspicion begins or ends, which is rare.
async fn suspicion_event(tx: &mut Tx, source_id: i64, change: &Change) -> sqlx::Result<NewEvent> {
    let row = tx.one(sql!("SELECT url FROM sources WHERE id = $1", source_id)).await?;
    Ok(NewEvent::of_suspicion(source_id, row.try_get(0)?, change))
}

/// Another text for the post of an entry.
struct Replacement<'a> {
    target: Target,
    post_id: i64,
    post: &'a NewPost,
    revises: bool,
    at: Time,
}

/// Replaces texts of posts by those of their pages, with events; returns the posts that changed. Where texts must be unique, one
/// that another post of the source has is not used.
async fn replace_texts(
    tx: &mut Tx,
    commits: &[ArticleCommit],
    live: &HashMap<i64, Live>,
) -> sqlx::Result<HashMap<Target, i64>> {
    let mut texts: Vec<(&ArticleCommit, Target, &NewPost, bool)> = Vec::new();
    for commit in commits {
        if let (ArticleOutcome::Text { post, revises }, Some(page)) =
            (&commit.outcome, live.get(&commit.work_id))
        {
            texts.push((commit, page.target, post, *revises));
        }
    }
    if texts.is_empty() {
        return Ok(HashMap::new());
    }
    let ids = post_ids(tx, &texts.iter().map(|(_, target, ..)| *target).collect::<Vec<_>>()).await?;
    let mut met = HashSet::new();
    let rows: Vec<Replacement<'_>> = texts
        .into_iter()
        .filter_map(|(commit, target, post, revises)| {
            let post_id = *ids.get(&target)?;
            let is_first = !commit.unique_text || met.insert((target.0, post.content_hash.0));
            is_first.then_some(Replacement { target, post_id, post, revises, at: commit.at })
        })
        .collect();
    let mut changed = HashSet::new();
    for piece in pieces(&rows) {
        for row in tx.rows(replace(piece)).await? {
            changed.insert(row.try_get::<i64, _>(0)?);
        }
    }
    let rows: Vec<&Replacement<'_>> = rows.iter().filter(|row| changed.contains(&row.post_id)).collect();
    let mut told: BTreeMap<i64, (Vec<i64>, Time)> = BTreeMap::new();
    for row in &rows {
        told.entry(row.target.0).or_insert_with(|| (Vec::new(), row.at)).0.push(row.post_id);
    }
    insert_events(tx, &events_of_posts("post.updated", told)).await?;
    Ok(rows.into_iter().map(|row| (row.target, row.post_id)).collect())
}

/// The posts that entries became.
async fn post_ids(tx: &mut Tx, targets: &[Target]) -> sqlx::Result<HashMap<Target, i64>> {
    let mut ids = HashMap::with_capacity(targets.len());
    for piece in pieces(targets) {
        let mut query = with_values("source_id, entry_key", piece, |list, (source_id, key)| {
            list.push_bind(*source_id).push_bind(*key);
        });
        query.push(
            "SELECT e.source_id, e.entry_key, e.post_id FROM v
             JOIN seen e ON e.source_id = v.source_id AND e.entry_key = v.entry_key
             WHERE e.post_id IS NOT NULL",
        );
        for row in tx.rows(query).await? {
            ids.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
        }
    }
    Ok(ids)
}

fn replace(rows: &[Replacement<'_>]) -> Query {
    let columns =
        "post_id, source_id, at, title, author, published_at, content_hash, body, raw_content, revises";
    let mut query = with_values(columns, rows, |list, row| {
        list.push_bind(row.post_id)
            .push_bind(row.target.0)
            .push_bind(ms(row.at))
            .push_bind(row.post.title.as_deref())
            .push_bind(row.post.author.as_deref())
            .push_bind(opt_ms(row.post.published_at))
            .push_bind(row.post.content_hash.0.as_slice())
            .push_bind(row.post.body.as_str())
            .push_bind(row.post.raw_content.as_deref())
            .push_bind(i64::from(row.revises));
    });
    query.push(
        "UPDATE posts SET title = COALESCE(posts.title, v.title), author = COALESCE(posts.author, v.author), \
             published_at = COALESCE(posts.published_at, v.published_at), body = v.body, \
             raw_content = v.raw_content, content_hash = v.content_hash, from_page = TRUE, \
             revision = revision + v.revises, updated_at = v.at \
         FROM v WHERE posts.id = v.post_id AND posts.source_id = v.source_id \
             AND posts.content_hash <> v.content_hash \
             AND NOT (posts.unique_text AND EXISTS (SELECT 1 FROM posts p WHERE p.source_id = v.source_id \
                 AND p.content_hash = v.content_hash AND p.unique_text AND p.id <> v.post_id)) \
         RETURNING posts.id",
    );
    query
}

/// Events of posts, by source.
fn events_of_posts(kind: &str, told: BTreeMap<i64, (Vec<i64>, Time)>) -> Vec<(NewEvent, Time)> {
    told.into_iter()
        .flat_map(|(source_id, (ids, at))| {
            NewEvent::of_posts(kind, source_id, &ids).map(|event| (event, at)).collect::<Vec<_>>()
        })
        .collect()
}

async fn tie_entries(tx: &mut Tx, stored: &[(&Made<'_>, i64)]) -> sqlx::Result<()> {
    for piece in pieces(stored) {
        let mut query = with_values("source_id, entry_key, post_id", piece, |list, (made, id)| {
            list.push_bind(made.target.0).push_bind(made.target.1).push_bind(*id);
        });
        query.push(
            "UPDATE seen SET post_id = v.post_id FROM v
             WHERE seen.source_id = v.source_id AND seen.entry_key = v.entry_key",
        );
        tx.execute(query).await?;
    }
    Ok(())
}

/// A page that failed.
struct FailedPage<'a> {
    work_id: i64,
    at: Time,
    /// None: it is given up.
    next_try_at: Option<Time>,
    error: &'a str,
    /// Whether that was one of its tries.
    counts: bool,
}

async fn try_again(tx: &mut Tx, commits: &[&ArticleCommit]) -> sqlx::Result<()> {
    let failed: Vec<FailedPage<'_>> = commits
        .iter()
        .filter_map(|commit| {
            let (next_try_at, error, counts) = match &commit.outcome {
                ArticleOutcome::Retry { at, error, counts } => (Some(*at), error, *counts),
                ArticleOutcome::GivenUp { error } => (None, error, true),
                _ => return None,
            };
            Some(FailedPage { work_id: commit.work_id, at: commit.at, next_try_at, error, counts })
        })
        .collect();
    for piece in pieces(&failed) {
        let columns = "work_id, next_try_at, last_error, failed_at, tries, state";
        let mut query = with_values(columns, piece, |list, page| {
            list.push_bind(page.work_id)
                .push_bind(opt_ms(page.next_try_at))
                .push_bind(page.error)
                .push_bind(ms(page.at))
                .push_bind(i64::from(page.counts))
                .push_bind(if page.next_try_at.is_some() { "waiting" } else { "given_up" });
        });
        query.push(
            "UPDATE article_work SET tries = article_work.tries + v.tries, state = v.state,
                 next_try_at = v.next_try_at, failed_at = v.failed_at, last_error = v.last_error
             FROM v WHERE article_work.id = v.work_id",
        );
        tx.execute(query).await?;
    }
    Ok(())
}
