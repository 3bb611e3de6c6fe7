//! The full text, filled behind the polls: never in their transaction, and never in their way.

use gleaner_core::time::Span;

use super::Context;
use crate::store::StoreError;

/// How often it looks for what is new.
const EVERY: Span = Span::from_secs(1);
/// How many events one transaction takes; a poll has one for all its posts.
const BATCH: u32 = 100;
/// How many events are numbered at once.
const NUMBERED: u32 = 1000;

/// Indexes for ever.
pub(super) async fn run(cx: &Context) {
    loop {
        if let Err(error) = all(cx).await {
            tracing::error!(%error, "new posts could not be made searchable; trying again");
        }
        tokio::time::sleep(cx.clock.real_duration(EVERY)).await;
    }
}

/// Indexes all that is there; how many events told of it.
pub(super) async fn all(cx: &Context) -> Result<u64, StoreError> {
    let mut indexed = 0;
    while cx.store.number_events(NUMBERED).await? == u64::from(NUMBERED) {}
    loop {
        let events = cx.store.index_posts(BATCH).await?;
        indexed += events;
        if events < u64::from(BATCH) {
            return Ok(indexed);
        }
    }
}
