//! What was noticed of sources beside their health. Rare, so that it has statements of its own, which calm polls never
//! run.

use super::{Tx, pieces, with_values};
use crate::store::Commit;

/// Keeps suspicions that began or ended.
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
        query.push("UPDATE source_state SET suspect = v.suspect FROM v ");
        query.push("WHERE source_state.source_id = v.source_id");
        query.build().execute(&mut **tx).await?;
    }
    Ok(())
}
