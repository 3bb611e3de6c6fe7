//! The end of article work: a post, another try, or given up. Sets, like polls.

use std::collections::{BTreeMap, HashMap};

use gleaner_core::post::NewPost;
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::super::LOCK;
use super::commit::{PostRow, insert_events, insert_posts, posts_events};
use super::sequel::hold_hosts;
use super::{Query, Tx, id_pieces, ms, pieces, push_ids, signs, with_values};
use crate::store::{Activity, ArticleCommit, ArticleOutcome, Committed};

/// The source and the entry that a piece of work is for.
type Target = (i64, i64);

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

pub(super) async fn commit(tx: &mut Tx, commits: &[ArticleCommit]) -> sqlx::Result<Vec<Committed>> {
    let live = check(tx, commits).await?;
    let ours = || commits.iter().filter_map(|commit| Some((commit, *live.get(&commit.work_id)?)));
    let made: Vec<Made<'_>> = ours()
        .filter_map(|(commit, target)| match &commit.outcome {
            ArticleOutcome::Post(post) => {
                Some(Made { target, unique_text: commit.unique_text, post, at: commit.at })
            }
            _ => None,
        })
        .collect();
    let mut new = store_posts(tx, &made).await?;
    if let Some((first, _)) = ours().next() {
        let posts = i64::try_from(new.len()).unwrap_or(0);
        let done = Activity { hour: first.at, posts, ..Activity::default() };
        super::activity::add(tx, first.lease.host_id, std::iter::once(done)).await?;
    }
    signs::store_looks(tx, ours().map(|(commit, (source_id, _))| (commit, source_id))).await?;
    try_again(tx, &ours().map(|(commit, _)| commit).collect::<Vec<_>>()).await?;
    let done = ours().filter(|(commit, _)| !matches!(commit.outcome, ArticleOutcome::Retry { .. }));
    for piece in id_pieces(&done.map(|(commit, _)| commit.work_id).collect::<Vec<_>>()) {
        let mut query = Query::new("DELETE FROM article_work WHERE id IN ");
        push_ids(&mut query, piece);
        query.build().execute(&mut **tx).await?;
    }
    hold_hosts(tx, ours().map(|(commit, _)| (commit.lease, commit.host_hold_until))).await?;
    let told = ours().flat_map(|(commit, _)| commit.events.iter().map(|event| (event.clone(), commit.at)));
    insert_events(tx, &told.collect::<Vec<_>>()).await?;
    let sequels = ours().filter_map(|(commit, _)| Some((commit.lease, commit.at, commit.sequel.as_deref()?)));
    super::sequel::write(tx, sequels).await?;
    let committed = commits.iter().map(|commit| match live.get(&commit.work_id) {
        Some(target) => {
            Committed::Stored { new: new.remove(target).into_iter().collect(), changed: Vec::new() }
        }
        None => Committed::Discarded,
    });
    Ok(committed.collect())
}

/// Which pieces of work are still there and ours; a deleted source took its work with it.
async fn check(tx: &mut Tx, commits: &[ArticleCommit]) -> sqlx::Result<HashMap<i64, Target>> {
    let mut live = HashMap::with_capacity(commits.len());
    for piece in pieces(commits) {
        let mut query = with_values("work_id, host_id, host_fence", piece, |list, commit| {
            list.push_bind(commit.work_id).push_bind(commit.lease.host_id).push_bind(commit.lease.fence);
        });
        query.push(
            "SELECT t.id, t.source_id, t.entry_key FROM v \
             JOIN hosts h ON h.id = v.host_id AND h.fence = v.host_fence \
             JOIN article_work t ON t.id = v.work_id AND t.host_id = v.host_id",
        );
        query.push(LOCK);
        for row in query.build().fetch_all(&mut **tx).await? {
            live.insert(row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?));
        }
    }
    Ok(live)
}

/// Stores pages as posts of their sources, ties their entries to them and tells of them; returns the ids of those
/// that are new.
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
    let events = told
        .into_iter()
        .flat_map(|(source_id, (ids, at))| {
            posts_events("post.created", source_id, &ids).map(|event| (event, at)).collect::<Vec<_>>()
        })
        .collect::<Vec<_>>();
    insert_events(tx, &events).await?;
    Ok(stored.into_iter().map(|(made, id)| (made.target, id)).collect())
}

async fn tie_entries(tx: &mut Tx, stored: &[(&Made<'_>, i64)]) -> sqlx::Result<()> {
    for piece in pieces(stored) {
        let mut query = with_values("source_id, entry_key, post_id", piece, |list, (made, id)| {
            list.push_bind(made.target.0).push_bind(made.target.1).push_bind(*id);
        });
        query.push("UPDATE seen SET post_id = v.post_id FROM v ");
        query.push("WHERE seen.source_id = v.source_id AND seen.entry_key = v.entry_key");
        query.build().execute(&mut **tx).await?;
    }
    Ok(())
}

async fn try_again(tx: &mut Tx, commits: &[&ArticleCommit]) -> sqlx::Result<()> {
    let failed: Vec<(i64, Time, &str, bool)> = commits
        .iter()
        .filter_map(|commit| match &commit.outcome {
            ArticleOutcome::Retry { at, error, counts } => {
                Some((commit.work_id, *at, error.as_str(), *counts))
            }
            _ => None,
        })
        .collect();
    for piece in pieces(&failed) {
        let columns = "work_id, next_try_at, last_error, tries";
        let mut query = with_values(columns, piece, |list, (id, at, error, counts)| {
            list.push_bind(*id).push_bind(ms(*at)).push_bind(*error).push_bind(i64::from(*counts));
        });
        query.push("UPDATE article_work SET tries = article_work.tries + v.tries, ");
        query.push("next_try_at = v.next_try_at, ");
        query.push("last_error = v.last_error FROM v WHERE article_work.id = v.work_id");
        query.build().execute(&mut **tx).await?;
    }
    Ok(())
}
