//! Lists page by page, in an order of their reader's choice.

use std::collections::HashMap;

use super::{By, Scope, ServiceError};
use crate::store::{
    Host, HostOrder, PagePosition, SortOrder, SortPosition, Source, SourceFilter, SourceName, SourceOrder,
};

/// A page of such a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// The page before this one ends before here; none: this is the first.
    pub previous: Option<SortPosition>,
    /// The page after this one begins after here; none: this is the last.
    pub next: Option<SortPosition>,
}

impl<T> Sheet<T> {
    /// A page of what was read, one more than it holds, so that it is known whether another follows.
    fn of(mut rows: Vec<(SortPosition, T)>, turn: &PagePosition, limit: usize) -> Self {
        let more = rows.len() > limit;
        if more && matches!(turn, PagePosition::Before(_)) {
            rows.remove(0);
        }
        rows.truncate(limit);
        let (first, last) = (rows.first().map(|row| row.0.clone()), rows.last().map(|row| row.0.clone()));
        // Who turned a page came from somewhere.
        let (before, after) = match turn {
            PagePosition::First => (false, more),
            PagePosition::After(_) => (true, more),
            PagePosition::Before(_) => (more, true),
        };
        Self {
            items: rows.into_iter().map(|(_, item)| item).collect(),
            previous: first.filter(|_| before),
            next: last.filter(|_| after),
        }
    }
}

impl By<'_> {
    /// A page of sources.
    pub async fn sources_page(
        &self,
        filter: &SourceFilter,
        order: SortOrder<SourceOrder>,
        turn: &PagePosition,
        limit: u32,
    ) -> Result<Sheet<Source>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let filter = self.visible(filter).await?;
        let rows = self.store.sources_sorted(&filter, order, turn, limit + 1).await?;
        Ok(Sheet::of(rows, turn, limit as usize))
    }

    /// A page of hosts, with this text in their name.
    pub async fn hosts_page(
        &self,
        text: Option<&str>,
        order: SortOrder<HostOrder>,
        turn: &PagePosition,
        limit: u32,
    ) -> Result<Sheet<Host>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let visibility = self.visibility().await?;
        let rows = self.store.hosts_sorted(&visibility, text, order, turn, limit + 1).await?;
        Ok(Sheet::of(rows, turn, limit as usize))
    }

    /// What sources are called; those that are gone are absent.
    pub async fn source_names(&self, ids: &[i64]) -> Result<HashMap<i64, SourceName>, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.visible_names(ids).await
    }

    /// How many posts these sources have, which would go with them.
    pub async fn count_posts(&self, source_ids: &[i64]) -> Result<u64, ServiceError> {
        self.actor.must(Scope::Read)?;
        let seen: Vec<i64> = self.visible_names(source_ids).await?.into_keys().collect();
        Ok(self.store.count_posts(&seen).await?)
    }
}
