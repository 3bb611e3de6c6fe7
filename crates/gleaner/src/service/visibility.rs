//! What a caller may see: the one place that every read of collections, sources, posts, articles, hosts and events goes
//! through.
//!
//! What may not be seen is answered like what is not there, so that nobody learns that it is.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gleaner_core::visibility::Viewer;

use super::{Actor, By, Service, ServiceError};
use crate::store::{Article, Collection, Post, Source, SourceFilter, SourceName, StoreError, Visibility};

/// How long it is remembered whether any collection is private; other processes notice a change after so long.
const REMEMBERED: Duration = Duration::from_secs(1);

/// Whether any collection is private: where none is, no query is limited.
#[derive(Default)]
pub(super) struct AnyPrivate(Mutex<Option<(Instant, bool)>>);

impl AnyPrivate {
    fn recent(&self) -> Option<bool> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(at, _)| at.elapsed() < REMEMBERED).map(|(_, private)| private)
    }

    fn set(&self, known: Option<bool>) {
        let known = known.map(|private| (Instant::now(), private));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Has it looked up again, because a collection was changed here.
    pub(super) fn forget(&self) {
        self.set(None);
    }
}

impl Service {
    async fn any_private(&self) -> Result<bool, ServiceError> {
        if let Some(private) = self.any_private.recent() {
            return Ok(private);
        }
        let private = self.store.collections().await?.iter().any(|collection| collection.private);
        self.any_private.set(Some(private));
        Ok(private)
    }
}

impl Actor {
    /// The caller, as access to collections is decided for.
    pub(super) fn viewer(&self) -> Viewer<'_> {
        Viewer { user_id: self.user_id, is_admin: self.is_admin, limited_to: self.limited_to() }
    }

    /// What limits events and articles, which may outlive the collection that they are of.
    pub(super) fn visibility(&self) -> Visibility {
        let user_id = (!self.is_admin).then_some(self.user_id);
        Visibility { user_id, only: self.limited_to().map(<[i64]>::to_vec) }
    }
}

impl By<'_> {
    /// What limits lists of what is in collections: nothing where no collection is private and the token is not limited.
    pub(super) async fn visibility(&self) -> Result<Visibility, ServiceError> {
        let visibility = self.actor.visibility();
        if visibility.user_id.is_some() && !self.any_private().await? {
            return Ok(Visibility { user_id: None, ..visibility });
        }
        Ok(visibility)
    }

    /// The filter, limited to what may be seen.
    pub(super) async fn visible(&self, filter: &SourceFilter) -> Result<SourceFilter, ServiceError> {
        Ok(SourceFilter { visibility: self.visibility().await?, ..filter.clone() })
    }

    /// All collections that may be seen.
    pub(super) async fn visible_collections(&self) -> Result<Vec<Collection>, ServiceError> {
        let (mut collections, viewer) = (self.store.collections().await?, self.actor.viewer());
        collections.retain(|collection| viewer.may_see(collection.access()));
        Ok(collections)
    }

    /// A source that may be seen.
    pub(super) async fn visible_source(&self, id: i64) -> Result<Source, ServiceError> {
        let source = self.store.source(id).await?;
        if self.sees(source.settings.collection_id).await? {
            return Ok(source);
        }
        Err(ServiceError::missing("source", &id.to_string()))
    }

    /// A post that may be seen.
    pub(super) async fn visible_post(&self, id: i64) -> Result<Post, ServiceError> {
        let post = self.store.post(id).await?;
        if self.visibility().await?.is_everything()
            || self.visible_names(&[post.source_id]).await?.contains_key(&post.source_id)
        {
            return Ok(post);
        }
        Err(ServiceError::missing("post", &id.to_string()))
    }

    /// An article that was made from nothing hidden.
    pub(super) async fn visible_article(&self, id: i64) -> Result<Article, ServiceError> {
        let article = self.store.article(id).await?;
        let visibility = self.actor.visibility();
        if visibility.is_everything() || self.store.may_see_article(id, &visibility).await? {
            return Ok(article);
        }
        Err(ServiceError::missing("article", &id.to_string()))
    }

    /// Refuses posts that are not there, or not for the caller.
    pub(super) async fn must_see_posts(&self, ids: &[i64]) -> Result<(), ServiceError> {
        let visibility = self.visibility().await?;
        if visibility.is_everything() {
            return Ok(());
        }
        let found = self.store.visible_posts(ids, &visibility).await?;
        match ids.iter().find(|id| !found.contains(id)) {
            Some(id) => Err(StoreError::NotFound { entity: "post", key: id.to_string() }.into()),
            None => Ok(()),
        }
    }

    /// What sources are called; those that are gone or hidden are absent.
    pub(super) async fn visible_names(&self, ids: &[i64]) -> Result<HashMap<i64, SourceName>, ServiceError> {
        let mut names = self.store.source_names(ids).await?;
        if !self.visibility().await?.is_everything() {
            let collections = self.visible_collections().await?;
            names.retain(|_, name| collections.iter().any(|one| one.id == name.collection_id));
        }
        Ok(names)
    }

    /// Those of these sources that may be seen. Where nothing is hidden, ids that no source has are among them.
    pub(super) async fn visible_sources(&self, ids: &[i64]) -> Result<BTreeSet<i64>, ServiceError> {
        if self.visibility().await?.is_everything() {
            return Ok(ids.iter().copied().collect());
        }
        Ok(self.visible_names(ids).await?.into_keys().collect())
    }

    /// A collection that the caller may rename, transfer, hide or delete.
    pub(super) async fn managed_collection(&self, id: i64) -> Result<Collection, ServiceError> {
        let collection = self.collection(id).await?;
        if self.actor.viewer().may_manage(collection.access()) {
            return Ok(collection);
        }
        Err(ServiceError::Forbidden(format!(
            "only the owner of the collection {} or an admin changes it",
            collection.name
        )))
    }

    async fn sees(&self, collection_id: i64) -> Result<bool, ServiceError> {
        if self.visibility().await?.is_everything() {
            return Ok(true);
        }
        Ok(self.visible_collections().await?.iter().any(|one| one.id == collection_id))
    }
}
