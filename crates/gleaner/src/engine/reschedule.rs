//! When the tables or caps in config have changed since the last start, next polls are computed anew, beside the
//! polling: start-up does not wait for it, and one that is cut off begins again at the next start.

use gleaner_core::health::rederive;
use gleaner_core::schedule::{HostState, Situation};

use super::Context;
use crate::store::{Source, SourceEdit, SourceFilter, StoreError};

/// Where the hash of what times polls is kept, in the store's `meta`.
const HASH: &str = "schedule_hash";
/// Sources read at once.
const PAGE: u32 = 500;

/// Computes all next polls anew where that is needed; how many changed.
pub(super) async fn run(cx: &Context) -> Result<u64, StoreError> {
    let hash = cx.config.schedule_hash();
    let before = cx.store.meta(HASH).await?;
    if before.as_deref() == Some(hash.as_str()) {
        return Ok(0);
    }
    let mut changed = 0;
    // A store without a hash was never polled by other tables.
    if before.is_some() {
        tracing::info!("the policies have changed since the last start; next polls are computed anew");
        changed = all(cx).await?;
    }
    cx.store.set_meta(HASH, &hash).await?;
    Ok(changed)
}

async fn all(cx: &Context) -> Result<u64, StoreError> {
    let (mut after, mut changed) = (None, 0);
    loop {
        let page = cx.store.sources(&SourceFilter::default(), after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(changed) };
        after = Some(last.id);
        for source in page {
            match one(cx, source).await {
                Ok(did) => changed += u64::from(did),
                // Somebody was faster, and has written by the new tables.
                Err(StoreError::Changed { .. } | StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Computes one source anew; whether that changed anything.
async fn one(cx: &Context, source: Source) -> Result<bool, StoreError> {
    let now = cx.clock.now();
    if source.health.last_polled_at.is_none() {
        // Its first poll was drawn once, and is not drawn again.
        return Ok(false);
    }
    let at = Situation {
        health: &source.health,
        hints: &source.memory.hints,
        host: &HostState::default(),
        interval: cx.interval(&source),
        policy: cx.policy(&source),
    };
    let decision = rederive(&at, now, cx.chance.jitter());
    if decision.health == source.health && decision.next.map(|next| next.at) == source.next_poll_at {
        return Ok(false);
    }
    cx.store.edit_source(&SourceEdit::of(&source).deciding(decision), now).await.map(|()| true)
}
