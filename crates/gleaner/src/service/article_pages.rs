//! Article pages of a source that wait, failed or were given up.

use gleaner_core::follow::PageState;

use super::{By, Scope, ServiceError, WaitingPage};

impl By<'_> {
    /// A source's article pages, by id, after that one; of one state, or of all.
    pub async fn waiting_pages(
        &self,
        id: i64,
        state: Option<PageState>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<WaitingPage>, ServiceError> {
        self.actor.must(Scope::Read)?;
        // An unknown source is an error, not an empty list.
        self.visible_source(id).await?;
        Ok(self.store.waiting_pages(id, state, after, limit).await?)
    }

    /// Makes the article pages that were given up due at once; returns how many.
    pub async fn retry_pages(&self, id: i64) -> Result<u64, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.visible_source(id).await?;
        Ok(self.store.retry_pages(id, self.clock.now()).await?)
    }
}
