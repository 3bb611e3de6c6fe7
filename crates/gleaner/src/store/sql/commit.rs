//! Commits many polls in one transaction, each as a whole or not at all.
//!
//! First stale polls are dropped. Then rows are written in sets, one table after the other; the state last, when the ids of
//! posts and history rows are known.

use std::collections::{BTreeMap, HashMap, HashSet};

use gleaner_core::follow::PageState;
use gleaner_core::health::Health;
use gleaner_core::identity::{Seen, is_another};
use gleaner_core::judgement::Excuse;
use gleaner_core::outcome::Cause;
use gleaner_core::post::NewPost;
use gleaner_core::redirect::Redirect;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::LOCK;
use super::claim::{host_ids, settle_hosts};
use super::host_effects::hold_hosts;
use super::pages::{CountChange, PollChange, count_polls, count_sources, state_of};
use super::state::{HEALTH, MEMORY, assignments, push_health, push_memory};
use super::{Query, Tx, ms, opt_ms, pieces, sql, suspicion, with_values};
use crate::store::types::stored_hash;
use crate::store::{Activity, Commit, CommitOutcome, NewArticleWork, NewEvent, SourceMove, WorkPurpose};

/// A commit that will be written, with the ids it gets.
struct Live<'a> {
    commit: &'a Commit,
    /// The history row that unchanged polls share.
    unchanged_poll_id: Option<i64>,
    /// The history row of this poll alone.
    poll_id: Option<i64>,
    new: Vec<i64>,
    changed: Vec<i64>,
    /// Posts of entries that were forgotten and are back, as they are now.
    back: Vec<(i64, &'a NewPost)>,
}

impl Live<'_> {
    /// How many article pages it queues.
    fn pages(&self) -> usize {
        let pages = self.commit.articles.iter().filter(|work| work.purpose == WorkPurpose::Article);
        pages.map(|work| work.entry_key).collect::<HashSet<_>>().len()
    }
}

pub(super) async fn commit(tx: &mut Tx, commits: &[Commit]) -> sqlx::Result<Vec<CommitOutcome>> {
    let mut live = check(tx, commits).await?;
    let post_ids = store_posts(tx, &mut live).await?;
    change_posts(tx, &mut live).await?;
    remember(tx, &live, &post_ids).await?;
    forget(tx, &live).await?;
    record_polls(tx, &mut live).await?;
    store_article_work(tx, &live).await?;
    add_up(tx, &live).await?;
    store_events(tx, &live).await?;
    store_states(tx, &live).await?;
    suspicion::store(tx, live.iter().map(|live| live.commit)).await?;
    suspicion::store_elsewhere(tx, live.iter().map(|live| live.commit)).await?;
    hold_hosts(tx, live.iter().map(|live| (live.commit.lease, live.commit.host_hold_until))).await?;
    let host_effects = live.iter().filter_map(|live| {
        Some((live.commit.lease, live.commit.poll.at, live.commit.host_effects.as_deref()?))
    });
    super::host_effects::write(tx, host_effects).await?;
    move_sources(tx, &live).await?;
    let mut done: HashMap<i64, CommitOutcome> = live
        .into_iter()
        .map(|live| (live.commit.source_id, CommitOutcome::Stored { new: live.new, changed: live.changed }))
        .collect();
    Ok(commits
        .iter()
        .map(|commit| done.remove(&commit.source_id).unwrap_or(CommitOutcome::Discarded))
        .collect())
}

/// What is wrong on purpose: validators without the posts they stand for.
#[cfg(feature = "test-faults")]
pub(super) async fn store_validators(tx: &mut Tx, commits: &[Commit]) -> sqlx::Result<()> {
    for commit in commits {
        let Some(memory) = &commit.memory else { continue };
        tx.execute(sql!(
            "UPDATE source_state SET etag = $1, reader_version = $2 WHERE source_id = $3",
            memory.etag.as_deref(),
            memory.reader_version,
            commit.source_id,
        ))
        .await?;
    }
    Ok(())
}

/// Which commits still hold their lease and their source's fence; locks both.
async fn check<'a>(tx: &mut Tx, commits: &'a [Commit]) -> sqlx::Result<Vec<Live<'a>>> {
    let mut found = HashMap::with_capacity(commits.len());
    // By id, like the pages of sources are committed: else the two would wait for each other.
    let mut sorted: Vec<&Commit> = commits.iter().collect();
    sorted.sort_by_key(|commit| commit.source_id);
    for piece in pieces(&sorted) {
        let mut query = with_values("source_id, fence, host_id, host_fence", piece, |list, commit| {
            list.push_bind(commit.source_id).push_bind(commit.fence);
            list.push_bind(commit.lease.host_id).push_bind(commit.lease.fence);
        });
        query.push(
            "SELECT t.source_id, t.unchanged_poll_id FROM v \
             JOIN hosts h ON h.id = v.host_id AND h.fence = v.host_fence \
             JOIN source_state t ON t.source_id = v.source_id AND t.fence = v.fence AND t.host_id = v.host_id \
             ORDER BY t.source_id",
        );
        query.push(LOCK);
        for row in tx.rows(query).await? {
            found.insert(row.try_get::<i64, _>(0)?, row.try_get::<Option<i64>, _>(1)?);
        }
    }
    let live = commits.iter().filter_map(|commit| {
        let unchanged_poll_id = found.remove(&commit.source_id)?;
        Some(Live {
            commit,
            unchanged_poll_id,
            poll_id: None,
            new: Vec::new(),
            changed: Vec::new(),
            back: Vec::new(),
        })
    });
    Ok(live.collect())
}

/// Adds to what was done this hour.
async fn add_up(tx: &mut Tx, live: &[Live<'_>]) -> sqlx::Result<()> {
    let Some(first) = live.first() else { return Ok(()) };
    let done = live.iter().map(|live| Activity {
        hour: live.commit.poll.at,
        polls: 1,
        failed: i64::from(live.commit.poll.error.is_some()),
        posts: i64::try_from(live.new.len()).unwrap_or(0),
    });
    super::activity::add(tx, first.commit.lease.host_id, done).await
}

/// Where each source's commit stands.
fn places(live: &[Live<'_>]) -> HashMap<i64, usize> {
    live.iter().enumerate().map(|(place, live)| (live.commit.source_id, place)).collect()
}

/// A post to be inserted.
pub(super) struct PostRow<'a> {
    pub(super) source_id: i64,
    pub(super) entry_key: i64,
    pub(super) unique_text: bool,
    pub(super) post: &'a NewPost,
    pub(super) at: Time,
}

/// Ids of posts by the source and key of the entries that they were made from.
type PostIds = HashMap<(i64, i64), i64>;

/// Stores new posts, and returns their ids.
async fn store_posts(tx: &mut Tx, live: &mut [Live<'_>]) -> sqlx::Result<PostIds> {
    let places = places(live);
    let rows: Vec<PostRow<'_>> = live
        .iter()
        .map(|live| live.commit)
        .flat_map(|commit| {
            commit.new.iter().map(|(post, seen)| PostRow {
                source_id: commit.source_id,
                entry_key: seen.key,
                unique_text: commit.unique_text,
                post,
                at: commit.poll.at,
            })
        })
        .collect();
    let mut ids = insert_posts(tx, &rows).await?;
    let mut new: Vec<(i64, i64)> = ids.iter().map(|((source_id, _), id)| (*id, *source_id)).collect();
    if ids.len() < rows.len() {
        let there: Vec<&PostRow<'_>> =
            rows.iter().filter(|row| !ids.contains_key(&(row.source_id, row.entry_key))).collect();
        new.extend(meet_again(tx, &there, &mut ids, live, &places).await?);
    }
    new.sort_unstable();
    for (id, source_id) in new {
        if let Some(place) = places.get(&source_id) {
            live[*place].new.push(id);
        }
    }
    Ok(ids)
}

/// Entries that were forgotten and are back, while their posts are still kept: the posts are theirs again, and may have to be
/// revised. One that has nothing in common with its post but the guid becomes a new post; returns those, with their sources.
async fn meet_again<'a>(
    tx: &mut Tx,
    rows: &[&PostRow<'a>],
    ids: &mut PostIds,
    live: &mut [Live<'a>],
    places: &HashMap<i64, usize>,
) -> sqlx::Result<Vec<(i64, i64)>> {
    let mut others: Vec<PostRow<'a>> = Vec::new();
    for piece in pieces(rows) {
        let mut query = with_values("source_id, entry_key", piece, |list, row| {
            list.push_bind(row.source_id).push_bind(row.entry_key);
        });
        query.push(
            "SELECT p.id, p.source_id, p.entry_key, p.url, p.title, p.content_hash, p.published_at FROM v \
             JOIN posts p ON p.source_id = v.source_id AND p.entry_key = v.entry_key",
        );
        for found in tx.rows(query).await? {
            let target: (i64, i64) = (found.try_get(1)?, found.try_get(2)?);
            let Some(row) = piece.iter().find(|row| (row.source_id, row.entry_key) == target) else {
                continue;
            };
            let (url, title) = (found.try_get::<Option<&str>, _>(3)?, found.try_get::<Option<&str>, _>(4)?);
            let hash = stored_hash(found.try_get(5)?);
            let date = found.try_get::<Option<i64>, _>(6)?.map(Time::from_millis);
            if is_another(row.post, url, title, hash, date) {
                others.push(PostRow { entry_key: hash_key(row.post), ..**row });
                continue;
            }
            let id = found.try_get(0)?;
            ids.insert(target, id);
            if let Some(place) = places.get(&target.0) {
                live[*place].back.push((id, row.post));
            }
        }
    }
    let inserted = insert_posts(tx, &others).await?;
    for row in rows {
        if let Some(id) = inserted.get(&(row.source_id, hash_key(row.post))) {
            ids.insert((row.source_id, row.entry_key), *id);
        }
    }
    Ok(inserted.into_iter().map(|((source_id, _), id)| (id, source_id)).collect())
}

const fn hash_key(post: &NewPost) -> i64 {
    post.content_hash.key()
}

/// Inserts posts unless their source has one of the same entry, or of the same text where that is to be unique; returns the
/// ids of those that are new.
pub(super) async fn insert_posts(tx: &mut Tx, rows: &[PostRow<'_>]) -> sqlx::Result<PostIds> {
    let mut ids = HashMap::with_capacity(rows.len());
    let (unique, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.unique_text);
    for (piece, target) in pieces(&unique)
        .map(|piece| (piece, ""))
        .chain(pieces(&others).map(|piece| (piece, "(source_id, entry_key)")))
    {
        let mut query = Query::new(
            "INSERT INTO posts (source_id, guid, url, title, author, published_at, content_hash, entry_key, \
             unique_text, created_at, updated_at, body, raw_content) ",
        );
        query.push_values(piece, |mut list, row| {
            let post = row.post;
            list.push_bind(row.source_id)
                .push_bind(post.guid.as_str())
                .push_bind(post.url.as_deref())
                .push_bind(post.title.as_deref())
                .push_bind(post.author.as_deref())
                .push_bind(opt_ms(post.published_at))
                .push_bind(post.content_hash.0.as_slice())
                .push_bind(row.entry_key)
                .push_bind(row.unique_text)
                .push_bind(ms(row.at))
                .push_bind(ms(row.at))
                .push_bind(post.body.as_str())
                .push_bind(post.raw_content.as_deref());
        });
        query.push(" ON CONFLICT ").push(target).push(" DO NOTHING RETURNING id, source_id, entry_key");
        for row in tx.rows(query).await? {
            ids.insert((row.try_get(1)?, row.try_get(2)?), row.try_get(0)?);
        }
    }
    Ok(ids)
}

/// Changes posts whose entry changed, where title or text really did. Where texts are unique, not into that of another post.
async fn change_posts(tx: &mut Tx, live: &mut [Live<'_>]) -> sqlx::Result<()> {
    let places = places(live);
    let changes: Vec<(&Commit, i64, &NewPost, bool)> = live
        .iter()
        .flat_map(|live| {
            // Its page is fetched again, and has the word on its text.
            let refetched: HashSet<i64> = live.commit.articles.iter().map(|work| work.entry_key).collect();
            let changed = live.commit.changed.iter();
            let changed = changed.map(move |(id, post, seen)| (*id, post, refetched.contains(&seen.key)));
            let all = changed.chain(live.back.iter().map(|(id, post)| (*id, *post, false)));
            all.map(|(id, post, refetched)| (live.commit, id, post, refetched))
        })
        .collect();
    for piece in pieces(&changes) {
        let columns = "post_id, source_id, at, url, title, author, published_at, content_hash, body, raw_content, \
            refetched";
        let mut query = with_values(columns, piece, |list, (commit, id, post, refetched)| {
            list.push_bind(*id)
                .push_bind(commit.source_id)
                .push_bind(ms(commit.poll.at))
                .push_bind(post.url.as_deref())
                .push_bind(post.title.as_deref())
                .push_bind(post.author.as_deref())
                .push_bind(opt_ms(post.published_at))
                .push_bind(post.content_hash.0.as_slice())
                .push_bind(post.body.as_str())
                .push_bind(post.raw_content.as_deref())
                .push_bind(*refetched);
        });
        query.push(
            "UPDATE posts SET url = v.url, title = v.title, author = v.author, \
                 body = CASE WHEN posts.from_page AND v.refetched THEN posts.body ELSE v.body END, \
                 raw_content = CASE WHEN posts.from_page AND v.refetched THEN posts.raw_content \
                     ELSE v.raw_content END, \
                 content_hash = CASE WHEN posts.from_page AND v.refetched THEN posts.content_hash \
                     ELSE v.content_hash END, \
                 from_page = (posts.from_page AND v.refetched), revision = revision + 1, \
                 published_at = COALESCE(posts.published_at, v.published_at), updated_at = v.at \
             FROM v WHERE posts.id = v.post_id AND posts.source_id = v.source_id \
                 AND (posts.title IS DISTINCT FROM v.title \
                     OR (posts.content_hash <> v.content_hash AND NOT (posts.from_page AND v.refetched))) \
                 AND NOT (posts.unique_text AND EXISTS (SELECT 1 FROM posts p WHERE p.source_id = v.source_id \
                     AND p.content_hash = v.content_hash AND p.unique_text AND p.id <> v.post_id)) \
             RETURNING posts.id, posts.source_id",
        );
        for row in tx.rows(query).await? {
            if let Some(place) = places.get(&row.try_get(1)?) {
                live[*place].changed.push(row.try_get(0)?);
            }
        }
    }
    Ok(())
}

/// Writes what is remembered of entries that appeared, changed or came back.
async fn remember(tx: &mut Tx, live: &[Live<'_>], post_ids: &PostIds) -> sqlx::Result<()> {
    let rows: Vec<(i64, Seen)> = live
        .iter()
        .map(|live| live.commit)
        .flat_map(|commit| {
            let id = |key: i64| post_ids.get(&(commit.source_id, key)).copied();
            let new = commit.new.iter().map(move |(_, seen)| Seen { post_id: id(seen.key), ..*seen });
            let copies = commit.copies.iter().map(move |(of, seen)| Seen { post_id: id(*of), ..*seen });
            let changed = commit.changed.iter().map(|(_, _, seen)| *seen);
            let all = new.chain(copies).chain(changed).chain(commit.remember.iter().copied());
            all.map(|seen| (commit.source_id, seen))
        })
        .collect();
    for piece in pieces(&rows) {
        let mut query = Query::new(
            "INSERT INTO seen (source_id, entry_key, link, raw, title, content, published_at, post_id, absent_since) ",
        );
        query.push_values(piece, |mut list, (source_id, seen)| {
            list.push_bind(*source_id)
                .push_bind(seen.key)
                .push_bind(seen.link)
                .push_bind(seen.raw)
                .push_bind(seen.title)
                .push_bind(seen.content)
                .push_bind(opt_ms(seen.published_at))
                .push_bind(seen.post_id)
                .push_bind(opt_ms(seen.absent_since));
        });
        query.push(
            " ON CONFLICT (source_id, entry_key) DO UPDATE SET link = excluded.link, raw = excluded.raw, \
             title = excluded.title, content = excluded.content, published_at = excluded.published_at, \
             post_id = excluded.post_id, absent_since = excluded.absent_since",
        );
        tx.execute(query).await?;
    }
    Ok(())
}

/// Marks entries that the document no longer has.
async fn forget(tx: &mut Tx, live: &[Live<'_>]) -> sqlx::Result<()> {
    let rows: Vec<(&Commit, i64)> = live
        .iter()
        .map(|live| live.commit)
        .flat_map(|commit| commit.vanished.iter().map(move |key| (commit, *key)))
        .collect();
    for piece in pieces(&rows) {
        let mut query = with_values("source_id, entry_key, at", piece, |list, (commit, key)| {
            list.push_bind(commit.source_id).push_bind(*key).push_bind(ms(commit.poll.at));
        });
        query.push(
            "UPDATE seen SET absent_since = v.at FROM v
             WHERE seen.source_id = v.source_id AND seen.entry_key = v.entry_key",
        );
        tx.execute(query).await?;
    }
    Ok(())
}

/// Queues pages to fetch, as work of their own hosts. One that is queued already, for an entry that has changed since,
/// begins anew.
async fn store_article_work(tx: &mut Tx, live: &[Live<'_>]) -> sqlx::Result<()> {
    let mut met = HashSet::new();
    let rows: Vec<(&Live<'_>, &NewArticleWork)> = live
        .iter()
        .flat_map(|live| live.commit.articles.iter().map(move |work| (live, work)))
        .filter(|(live, work)| met.insert((live.commit.source_id, work.purpose, work.entry_key)))
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let pages: Vec<(i64, i64)> = rows
        .iter()
        .filter(|(_, work)| work.purpose == WorkPurpose::Article)
        .map(|(live, work)| (live.commit.source_id, work.entry_key))
        .collect();
    let mut sources: BTreeMap<i64, CountChange> = BTreeMap::new();
    remove_article_work(tx, &pages, &mut sources).await?;
    for (source_id, _) in &pages {
        sources.entry(*source_id).or_default().add(PageState::Waiting);
    }
    count_sources(tx, &sources).await?;
    let hosts = host_ids(tx, rows.iter().map(|(_, work)| &work.host)).await?;
    for piece in pieces(&rows) {
        let mut query = Query::new(
            "INSERT INTO article_work (source_id, host_id, purpose, entry_key, url, draft, tries, next_try_at, poll_id, \
             created_at) ",
        );
        query.push_values(piece, |mut list, (live, work)| {
            list.push_bind(live.commit.source_id)
                .push_bind(hosts.get(&work.host).copied())
                .push_bind(work.purpose.name())
                .push_bind(work.entry_key)
                .push_bind(work.url.as_str())
                .push_bind(work.draft.as_str())
                .push_bind(0_i64)
                .push_bind(ms(work.next_try_at))
                .push_bind(live.poll_id.filter(|_| work.purpose == WorkPurpose::Article))
                .push_bind(ms(live.commit.poll.at));
        });
        query.push(" ON CONFLICT (source_id, entry_key, purpose) DO NOTHING");
        tx.execute(query).await?;
    }
    settle_hosts(tx, &hosts.into_values().collect::<Vec<_>>()).await
}

/// Removes pages that are queued already, with what their polls count of them.
async fn remove_article_work(
    tx: &mut Tx,
    pages: &[(i64, i64)],
    sources: &mut BTreeMap<i64, CountChange>,
) -> sqlx::Result<()> {
    let mut polls: BTreeMap<i64, PollChange> = BTreeMap::new();
    for piece in pieces(pages) {
        let mut query = with_values("source_id, entry_key", piece, |list, (source_id, key)| {
            list.push_bind(*source_id).push_bind(*key);
        });
        query.push(
            "DELETE FROM article_work
             WHERE purpose = 'article' AND (source_id, entry_key) IN (SELECT source_id, entry_key FROM v)
             RETURNING source_id, state, tries, poll_id",
        );
        for row in tx.rows(query).await? {
            let state = state_of(&row)?;
            sources.entry(row.try_get(0)?).or_default().remove(state);
            if let Some(poll_id) = row.try_get::<Option<i64>, _>("poll_id")? {
                let poll = polls.entry(poll_id).or_default();
                poll.counts.remove(state);
                poll.queued -= 1;
            }
        }
    }
    count_polls(tx, &polls).await
}

/// Whether a poll found nothing worth a row of its own.
fn is_quiet(live: &Live<'_>) -> bool {
    let poll = &live.commit.poll;
    poll.error.is_none()
        && poll.note.is_none()
        && live.new.is_empty()
        && live.changed.is_empty()
        && live.pages() == 0
        && poll.skipped.not_known() == 0
}

/// Writes the history: a quiet poll adds to the quiet row before it, any other gets a row.
async fn record_polls(tx: &mut Tx, live: &mut [Live<'_>]) -> sqlx::Result<()> {
    let quiet: Vec<&Live<'_>> =
        live.iter().filter(|live| live.unchanged_poll_id.is_some() && is_quiet(live)).collect();
    let mut rest = places(live);
    for piece in pieces(&quiet) {
        for row in tx.rows(join_quiet_polls(piece)).await? {
            rest.remove(&row.try_get(0)?);
        }
    }
    let mut new: Vec<usize> = rest.values().copied().collect();
    new.sort_unstable();
    for piece in pieces(&new) {
        for row in tx.rows(insert_polls(piece, live)).await? {
            if let Some(place) = rest.get(&row.try_get("source_id")?) {
                let id = row.try_get("id")?;
                live[*place].unchanged_poll_id = is_quiet(&live[*place]).then_some(id);
                live[*place].poll_id = Some(id);
            }
        }
    }
    Ok(())
}

/// Adds quiet polls to the rows before them, where those had the same outcome; returns their sources.
fn join_quiet_polls(quiet: &[&Live<'_>]) -> Query {
    let mut query =
        with_values("poll_id, at, outcome, duration_ms, bytes, status_code", quiet, |list, live| {
            let poll = &live.commit.poll;
            list.push_bind(live.unchanged_poll_id)
                .push_bind(ms(poll.at))
                .push_bind(poll.outcome.as_str())
                .push_bind(poll.duration.as_millis() as i64)
                .push_bind(poll.bytes as i64)
                .push_bind(poll.status_code.map(i64::from));
        });
    query.push(
        "UPDATE polls SET last_at = v.at, count = count + 1, duration_ms = v.duration_ms, bytes = v.bytes, \
             status_code = v.status_code \
         FROM v WHERE polls.id = v.poll_id AND polls.outcome = v.outcome RETURNING polls.source_id",
    );
    query
}

fn insert_polls(places: &[usize], live: &[Live<'_>]) -> Query {
    let mut query = Query::new(
        "INSERT INTO polls (source_id, first_at, last_at, count, outcome, error_type, error_cause, error, \
         status_code, duration_ms, bytes, new_posts, updated_posts, skipped, note, rule, excused, excused_by, \
         pages) ",
    );
    query.push_values(places, |mut list, place| {
        let (live, poll) = (&live[*place], &live[*place].commit.poll);
        let kind = poll.error.as_ref().map(|(kind, _)| *kind);
        let skipped = (poll.skipped != gleaner_core::identity::Skipped::default())
            .then(|| serde_json::to_string(&poll.skipped).unwrap_or_default());
        list.push_bind(live.commit.source_id)
            .push_bind(ms(poll.at))
            .push_bind(ms(poll.at))
            .push_bind(1_i64)
            .push_bind(poll.outcome.as_str())
            .push_bind(kind.map(|kind| kind.name()))
            .push_bind(kind.and_then(|kind| kind.cause()).map(Cause::name))
            .push_bind(poll.error.as_ref().map(|(_, message)| message.as_str()))
            .push_bind(poll.status_code.map(i64::from))
            .push_bind(poll.duration.as_millis() as i64)
            .push_bind(poll.bytes as i64)
            .push_bind(live.new.len() as i64)
            .push_bind(live.changed.len() as i64)
            .push_bind(skipped)
            .push_bind(poll.note.as_deref())
            .push_bind(poll.rule.as_deref())
            .push_bind(poll.excused.map(Excuse::name))
            .push_bind(poll.excused_by.as_deref())
            .push_bind(live.pages() as i64);
    });
    query.push(" RETURNING id, source_id");
    query
}

/// Writes events; posts of a poll share one, or one for each hundred.
async fn store_events(tx: &mut Tx, live: &[Live<'_>]) -> sqlx::Result<()> {
    let mut rows: Vec<(NewEvent, Time)> = Vec::new();
    for live in live {
        let (commit, at) = (live.commit, live.commit.poll.at);
        rows.extend(NewEvent::of_posts("post.created", commit.source_id, &live.new).map(|event| (event, at)));
        rows.extend(
            NewEvent::of_posts("post.updated", commit.source_id, &live.changed).map(|event| (event, at)),
        );
        rows.extend(commit.events.iter().map(|event| (event.clone(), at)));
    }
    insert_events(tx, &rows).await
}

pub(super) async fn insert_events(tx: &mut Tx, rows: &[(NewEvent, Time)]) -> sqlx::Result<()> {
    for piece in pieces(rows) {
        let mut query =
            Query::new("INSERT INTO outbox (kind, source_id, collection_id, payload, created_at) ");
        query.push_values(piece, |mut list, (event, at)| {
            list.push_bind(event.kind.as_str())
                .push_bind(event.source_id)
                .push("COALESCE((SELECT collection_id FROM sources WHERE id = ")
                .push_bind_unseparated(event.source_id)
                .push_unseparated("), ")
                .push_bind_unseparated(event.named_collection())
                .push_unseparated(")")
                .push_bind(event.payload.as_str())
                .push_bind(ms(*at));
        });
        tx.execute(query).await?;
    }
    Ok(())
}

/// Nothing is or was held against it, so that only times change.
fn is_calm(health: &Health) -> bool {
    let Health { disabled, quarantine, failing, hold_until, awaiting_poll, .. } = health;
    disabled.is_none() && quarantine.is_none() && failing.is_none() && hold_until.is_none() && !awaiting_poll
}

async fn store_states(tx: &mut Tx, live: &[Live<'_>]) -> sqlx::Result<()> {
    let (mut calm, mut health, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for live in live {
        match live.commit {
            Commit { memory: Some(memory), .. } => whole.push((live, memory)),
            Commit { health: now, was, .. } if is_calm(now) && is_calm(was) => calm.push(live),
            _ => health.push(live),
        }
    }
    for piece in pieces(&calm) {
        let columns = "source_id, unchanged_poll_id, next_poll_at, last_polled_at, last_success_at";
        let query = with_values(columns, piece, |list, live| {
            let health = &live.commit.health;
            list.push_bind(live.commit.source_id)
                .push_bind(live.unchanged_poll_id)
                .push_bind(opt_ms(live.commit.next_poll_at))
                .push_bind(opt_ms(health.last_polled_at))
                .push_bind(opt_ms(health.last_success_at));
        });
        update_states(tx, query, columns).await?;
    }
    for piece in pieces(&health) {
        let columns = format!("source_id, unchanged_poll_id, {HEALTH}");
        let query = with_values(&columns, piece, |list, live| {
            list.push_bind(live.commit.source_id).push_bind(live.unchanged_poll_id);
            push_health(list, &live.commit.health, live.commit.next_poll_at);
        });
        update_states(tx, query, &columns).await?;
    }
    for piece in pieces(&whole) {
        let columns = format!("source_id, unchanged_poll_id, {HEALTH}, {MEMORY}");
        let query = with_values(&columns, piece, |list, (live, memory)| {
            list.push_bind(live.commit.source_id).push_bind(live.unchanged_poll_id);
            push_health(list, &live.commit.health, live.commit.next_poll_at);
            push_memory(list, memory);
        });
        update_states(tx, query, &columns).await?;
    }
    Ok(())
}

async fn update_states(tx: &mut Tx, mut query: Query, columns: &str) -> sqlx::Result<()> {
    let columns = columns.strip_prefix("source_id, ").unwrap_or(columns);
    query.push(format!(
        "UPDATE source_state SET {} FROM v WHERE source_state.source_id = v.source_id",
        assignments(columns)
    ));
    tx.execute(query).await?;
    Ok(())
}

/// Changes the URL of sources that have moved permanently, with an event. If their collection has the new URL already they
/// stay, with one event. Rare, so one by one.
async fn move_sources(tx: &mut Tx, live: &[Live<'_>]) -> sqlx::Result<()> {
    for commit in live.iter().map(|live| live.commit) {
        let Some(moved) = &commit.moved else { continue };
        let statement = sql!(
            "UPDATE sources SET version = version + 1, url = $1, canonical_url = $2 WHERE id = $3
             AND NOT EXISTS (SELECT 1 FROM sources o WHERE o.collection_id = sources.collection_id
                 AND o.id <> sources.id AND o.canonical_url = $2)",
            moved.url.as_str(),
            moved.canonical_url.as_str(),
            commit.source_id,
        );
        if tx.execute(statement).await? == 0 {
            refuse_move(tx, commit, moved).await?;
            continue;
        }
        let event = NewEvent::of_move(commit.source_id, &moved.from, &moved.url, &moved.reason);
        insert_events(tx, &[(event, commit.poll.at)]).await?;
        let hosts = host_ids(tx, std::iter::once(&moved.host)).await?;
        tx.execute(sql!(
            "UPDATE source_state SET redirect = NULL, fence = fence + 1, host_id = $1 WHERE source_id = $2",
            hosts.get(&moved.host).copied(),
            commit.source_id,
        ))
        .await?;
        settle_hosts(tx, &hosts.into_values().collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// Keeps which source of the collection has the new URL.
async fn refuse_move(tx: &mut Tx, commit: &Commit, moved: &SourceMove) -> sqlx::Result<()> {
    let query = sql!(
        "SELECT o.id FROM sources s JOIN sources o ON o.collection_id = s.collection_id AND o.id <> s.id
         WHERE s.id = $1 AND o.canonical_url = $2",
        commit.source_id,
        moved.canonical_url.as_str(),
    );
    let Some(row) = tx.row(query).await? else { return Ok(()) };
    let taken_by: i64 = row.try_get(0)?;
    if moved.redirect.taken_by == Some(taken_by) {
        return Ok(());
    }
    let redirect = Redirect { taken_by: Some(taken_by), ..moved.redirect.clone() };
    tx.execute(sql!(
        "UPDATE source_state SET redirect = $1 WHERE source_id = $2",
        serde_json::to_string(&redirect).unwrap_or_default(),
        commit.source_id,
    ))
    .await?;
    let event = NewEvent::of_refused_move(commit.source_id, &moved.from, &moved.url, taken_by);
    insert_events(tx, &[(event, commit.poll.at)]).await
}
