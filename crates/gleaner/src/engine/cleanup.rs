//! What is too old goes, a batch at the start of each tick until nothing is left, so that it holds nobody up.

use gleaner_core::time::{Span, Time};

use super::Context;
use crate::store::{Cleanup, CleanupCounts, StoreError};

/// How long after one clean-up the next begins.
const EVERY: Span = Span::from_mins(10);
/// Rows of each kind in one transaction.
const BATCH: u32 = 1000;
/// An entry is forgotten so long after the first document that no longer has it.
const KEEP_SEEN: Span = Span::from_days(90);

/// An article page that was given up can be retried for so long.
const KEEP_PAGES: Span = Span::from_days(90);

/// Sums of hours are kept longer than any page looks back.
const KEEP_ACTIVITY: Span = Span::from_days(40);
/// Answers to requests that must not be carried out twice are kept so long.
const KEEP_ANSWERS: Span = Span::from_days(1);

/// Remembers when it last cleaned up; nothing while more is waiting.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    last: Option<Time>,
}

impl Cleaner {
    /// Cleans up where it is time to.
    pub(super) async fn run(&mut self, cx: &Context, now: Time) -> Result<(), StoreError> {
        if self.last.is_some_and(|last| last <= now && now.since(last) < EVERY) {
            return Ok(());
        }
        self.last = Some(now);
        let source = &cx.config.source;
        let cleanup = Cleanup {
            articles_before: source.max_article_age.map(|age| now - age),
            posts_before: source.keep_unlinked_posts.map(|age| now - age),
            seen_before: now - KEEP_SEEN,
            polls_before: now - source.keep_polls,
            polls_per_source: source.keep_polls_per_source,
            activity_before: now - KEEP_ACTIVITY,
            pages_before: now - KEEP_PAGES,
            events_before: now - cx.config.store.keep_events,
            audit_before: now - cx.config.store.keep_audit,
            batch: BATCH,
        };
        cx.store.forget_access(now, now - KEEP_ANSWERS).await?;
        let cleaned = cx.store.clean_up(&cleanup).await?;
        if cleaned != CleanupCounts::default() {
            tracing::debug!(?cleaned, "cleaned up");
        }
        self.last = self.last.filter(|_| !cleaned.more);
        Ok(())
    }
}
