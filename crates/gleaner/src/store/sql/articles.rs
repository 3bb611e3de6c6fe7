//! The end of article work: a post, another try, or given up.

use std::collections::HashMap;

use gleaner_core::post::NewPost;
use sqlx::Row as _;

use super::super::LOCK;
use super::commit::{insert_events, insert_posts, posts_event};
use super::{Query, Tx, id_pieces, ms, pieces, push_ids, with_values};
use crate::store::{ArticleCommit, ArticleOutcome, Committed};

/// The source and the entry that a piece of work is for.
type Target = (i64, i64);

pub(super) async fn commit(tx: &mut Tx, commits: &[ArticleCommit]) -> sqlx::Result<Vec<Committed>> {
    let live = check(tx, commits).await?;
    let mut results = Vec::with_capacity(commits.len());
    let mut done = Vec::new();
    for commit in commits {
        let Some(target) = live.get(&commit.work_id) else {
            results.push(Committed::Discarded);
            continue;
        };
        let mut new = Vec::new();
        match &commit.outcome {
            ArticleOutcome::Post(post) => {
                new.extend(store_post(tx, *target, post, commit).await?);
                done.push(commit.work_id);
            }
            ArticleOutcome::GivenUp => done.push(commit.work_id),
            ArticleOutcome::Retry { at, error } => {
                let mut query = Query::new("UPDATE article_work SET tries = tries + 1, next_try_at = ");
                query.push_bind(ms(*at)).push(", last_error = ").push_bind(error.as_str());
                query.push(" WHERE id = ").push_bind(commit.work_id);
                query.build().execute(&mut **tx).await?;
            }
        }
        results.push(Committed::Stored { new, changed: Vec::new() });
    }
    for piece in id_pieces(&done) {
        let mut query = Query::new("DELETE FROM article_work WHERE id IN ");
        push_ids(&mut query, piece);
        query.build().execute(&mut **tx).await?;
    }
    Ok(results)
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

/// Stores one article as a post of its source, and ties its entry to it.
async fn store_post(
    tx: &mut Tx,
    (source_id, key): Target,
    post: &NewPost,
    commit: &ArticleCommit,
) -> sqlx::Result<Option<i64>> {
    let row = insert_posts(&[(source_id, post, commit.at)]).build().fetch_optional(&mut **tx).await?;
    let Some(row) = row else { return Ok(None) };
    let id: i64 = row.try_get("id")?;
    let mut query = Query::new("UPDATE seen SET post_id = ");
    query.push_bind(id).push(", content = ").push_bind(post.content_hash.key());
    query.push(" WHERE source_id = ").push_bind(source_id).push(" AND entry_key = ").push_bind(key);
    query.build().execute(&mut **tx).await?;
    let event = posts_event("post.created", source_id, &[id]);
    insert_events(tx, &event.into_iter().map(|event| (event, commit.at)).collect::<Vec<_>>()).await?;
    Ok(Some(id))
}
