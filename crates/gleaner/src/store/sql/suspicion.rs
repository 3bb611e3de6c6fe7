//! Writes suspicions and relocations of sources. Both are rare, and have statements of their own, which most polls never run.

use std::collections::HashSet;

use gleaner_core::elsewhere::Elsewhere;
use sqlx::Row as _;

use super::commit::insert_events;
use super::{Tx, pieces, with_values};
use crate::store::{ArticleCommit, ArticleOutcome, Commit, RelocationChange};

/// Writes suspicions that began or ended.
pub(super) async fn store(tx: &mut Tx, commits: impl Iterator<Item = &Commit>) -> sqlx::Result<()> {
    let changed: Vec<(i64, Option<String>)> = commits
        .filter_map(|commit| {
            let suspected = commit.suspect.as_ref()?.suspected();
            Some((commit.source_id, suspected.and_then(|one| serde_json::to_string(one).ok())))
        })
        .collect();
    for piece in pieces(&changed) {
        let mut query = with_values("source_id, suspect", piece, |list, (id, suspect)| {
            list.push_bind(*id).push_bind(suspect.as_deref());
        });
        query.push(
            "UPDATE source_state SET suspect = v.suspect FROM v WHERE source_state.source_id = v.source_id",
        );
        tx.execute(query).await?;
    }
    Ok(())
}

fn as_json(elsewhere: &Elsewhere) -> Option<String> {
    serde_json::to_string(elsewhere).ok()
}

/// Writes what is known about new addresses of dead feeds.
pub(super) async fn store_elsewhere(tx: &mut Tx, commits: impl Iterator<Item = &Commit>) -> sqlx::Result<()> {
    let changed: Vec<(i64, Option<String>)> = commits
        .filter_map(|commit| match commit.elsewhere.as_ref()? {
            RelocationChange::Now(elsewhere) => Some((commit.source_id, as_json(elsewhere))),
            RelocationChange::Ended => Some((commit.source_id, None)),
        })
        .collect();
    for piece in pieces(&changed) {
        let mut query = with_values("source_id, relocation", piece, |list, (id, elsewhere)| {
            list.push_bind(*id).push_bind(elsewhere.as_deref());
        });
        query.push(
            "UPDATE source_state SET relocation = v.relocation FROM v WHERE source_state.source_id = v.source_id",
        );
        tx.execute(query).await?;
    }
    Ok(())
}

/// Writes what relocation work found, for feeds that are still dead and were not edited meanwhile.
pub(super) async fn store_looks<'a>(
    tx: &mut Tx,
    commits: impl Iterator<Item = (&'a ArticleCommit, i64)>,
) -> sqlx::Result<()> {
    let looks: Vec<_> = commits
        .filter_map(|(commit, source_id)| match &commit.outcome {
            ArticleOutcome::Looked { elsewhere, event } => {
                Some((source_id, as_json(elsewhere), event, commit.at))
            }
            _ => None,
        })
        .collect();
    let mut kept = HashSet::new();
    for piece in pieces(&looks) {
        let mut query = with_values("source_id, relocation", piece, |list, (id, elsewhere, ..)| {
            list.push_bind(*id).push_bind(elsewhere.as_deref());
        });
        query.push(
            "UPDATE source_state SET relocation = v.relocation FROM v
             WHERE source_state.source_id = v.source_id AND source_state.relocation IS NOT NULL
             RETURNING source_state.source_id",
        );
        for row in tx.rows(query).await? {
            kept.insert(row.try_get::<i64, _>(0)?);
        }
    }
    let events = looks.iter().filter(|(id, ..)| kept.contains(id));
    let events = events.filter_map(|(_, _, event, at)| Some(((*event).clone()?, *at)));
    insert_events(tx, &events.collect::<Vec<_>>()).await
}
