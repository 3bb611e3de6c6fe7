//! When the tables or caps in config have changed since the last start, next polls are computed anew; when what counts
//! as one host has, sources go to theirs. Beside the polling: start-up does not wait for it, and what is cut off begins
//! again at the next start.

use gleaner_core::health::rederive;
use gleaner_core::schedule::Situation;

use super::Inner;
use super::host::host_key;
use crate::store::{Source, SourceEdit, SourceFilter, StoreError};

/// Where the hash of what times polls is kept, in the store's `meta`.
const HASH: &str = "schedule_hash";
/// The same for what says which host a source belongs to.
const HOSTS_HASH: &str = "hosts_hash";
/// Sources read at once.
const PAGE: u32 = 500;

/// Computes all next polls anew where that is needed; how many changed.
pub(super) async fn run(inner: &Inner) -> Result<u64, StoreError> {
    let cx = &inner.cx;
    let (mut differs, mut outdated) = (false, Vec::new());
    for (name, hash) in [(HASH, cx.config.schedule_hash()), (HOSTS_HASH, cx.config.hosts_hash())] {
        let before = cx.store.meta(name).await?;
        if before.as_ref() != Some(&hash) {
            // A store without a hash was never polled by other settings.
            differs |= before.is_some();
            outdated.push((name, hash));
        }
    }
    let mut changed = 0;
    if differs {
        tracing::info!(
            "policies or hosts' settings have changed since the last start; next polls are computed anew"
        );
        changed = all(inner).await?;
    }
    for (name, hash) in outdated {
        cx.store.set_meta(name, &hash).await?;
    }
    Ok(changed)
}

async fn all(inner: &Inner) -> Result<u64, StoreError> {
    let (mut after, mut changed) = (None, 0);
    loop {
        let page = inner.cx.store.sources(&SourceFilter::default(), after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(changed) };
        after = Some(last.id);
        for source in page {
            match one(inner, source).await {
                Ok(did) => changed += u64::from(did),
                // Somebody was faster, and has written by the new tables.
                Err(StoreError::Changed { .. } | StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Computes one source anew; whether that changed anything.
async fn one(inner: &Inner, source: Source) -> Result<bool, StoreError> {
    let cx = &inner.cx;
    let now = cx.clock.now();
    let host = host_key(&cx.config, source.settings.kind, &source.settings.url);
    let moves = (&host.name, host.slot) != (&source.host, source.slot);
    if source.health.awaiting_poll {
        // Its first poll was drawn once, and is not drawn again.
        let edit = SourceEdit { host, ..SourceEdit::of(&source) };
        return if moves { cx.store.edit_source(&edit, now).await.map(|()| true) } else { Ok(false) };
    }
    let at = Situation {
        health: &source.health,
        hints: &source.memory.hints,
        interval: inner.interval(&source, &source.memory, now).await,
        policy: cx.policy(&source),
    };
    let decision = rederive(&at, now, cx.random.jitter());
    if !moves && decision.health == source.health && decision.next.map(|next| next.at) == source.next_poll_at
    {
        return Ok(false);
    }
    let edit = SourceEdit { host, ..SourceEdit::of(&source).deciding(decision) };
    cx.store.edit_source(&edit, now).await.map(|()| true)
}
