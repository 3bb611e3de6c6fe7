//! Adding, reading, listing and deleting sources. Edits are in `edit.rs`.

use gleaner_core::health::{Health, by_hand};
use gleaner_core::link;
use gleaner_core::schedule::first_poll;
use gleaner_core::time::Time;
use serde_json::json;

use super::audit::Target;
use super::{By, Checks, Scope, ServiceError, SourceFields};
use crate::engine::host_key;
use crate::store::{self, Created, Source, SourceFilter, SourceSettings, StoreError};

/// What became of a source to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Its id.
    pub id: i64,
    /// Whether it is new; else the collection had it already.
    pub is_new: bool,
    /// Its URL; where the one given was a page, that of the feed which the page names.
    pub url: String,
    /// What could not be found out about it, though it was added.
    pub note: Option<String>,
}

/// A source with the same URL, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameUrl {
    /// The source.
    pub source_id: i64,
    /// The collection it is in.
    pub collection_id: i64,
    /// The collection's name.
    pub collection: String,
}

impl By<'_> {
    /// Sources with this URL in any collection that may be seen.
    pub async fn sources_with_url(&self, url: &str) -> Result<Vec<SameUrl>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let found = self.store.sources_at(&link::canonical(url)).await?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let collections = self.visible_collections().await?;
        let named = |(source_id, id): (i64, i64)| {
            let collection = collections.iter().find(|one| one.id == id)?;
            Some(SameUrl { source_id, collection_id: id, collection: collection.name.clone() })
        };
        Ok(found.into_iter().filter_map(named).collect())
    }

    /// Adds a source with these settings, polled at once. One whose URL the collection already has stays as it is.
    pub async fn add(&self, settings: &SourceSettings) -> Result<Added, ServiceError> {
        self.add_polled(settings, true).await
    }

    /// Adds a source with these settings, polled at a random time within its first interval.
    pub async fn add_spread(&self, settings: &SourceSettings) -> Result<Added, ServiceError> {
        self.add_polled(settings, false).await
    }

    async fn add_polled(&self, settings: &SourceSettings, at_once: bool) -> Result<Added, ServiceError> {
        let fields = SourceFields::of_settings(settings);
        let (settings, created) = self.store_new(&fields, Checks::default(), at_once).await?;
        let is_new = matches!(created, Created::New(_));
        Ok(Added { id: created.id(), is_new, url: settings.url, note: None })
    }

    /// Makes a source of fields, polled at once. `checks` has what is wrong with them already.
    pub async fn create_source(&self, fields: &SourceFields, checks: Checks) -> Result<Source, ServiceError> {
        match self.store_new(fields, checks, true).await? {
            (_, Created::New(id)) => self.visible_source(id).await,
            (settings, Created::Exists(id)) => {
                Err(StoreError::Duplicate { entity: "source", key: settings.url, id: Some(id) }.into())
            }
        }
    }

    async fn store_new(
        &self,
        fields: &SourceFields,
        mut checks: Checks,
        at_once: bool,
    ) -> Result<(SourceSettings, Created), ServiceError> {
        self.actor.must(Scope::Write)?;
        let collections = self.visible_collections().await?;
        let usual = collections.iter().find(|one| one.name == "default").or(collections.first());
        if fields.url.is_none() && !checks.has("url") {
            checks.wrong("url", "a source needs a url");
        }
        if fields.collection_id.is_none() && usual.is_none() {
            checks.wrong("collection_id", "there is no collection; make one first");
        }
        let nothing = SourceSettings::feed(usual.map_or(0, |one| one.id), String::new());
        let settings = self.apply_fields(fields, &nothing, &collections, &mut checks)?;
        checks.done()?;
        let now = self.clock.now();
        let interval = settings.interval.resolve(self.config.source.poll_interval);
        let first = if at_once { now } else { first_poll(now, interval, self.random.jitter()).at };
        let source = self.new_source(settings.clone(), fields, first);
        let created = self.store.create_sources(&[source], now).await?;
        let created = created.first().copied().unwrap_or(Created::Exists(0));
        if let Created::New(id) = created {
            let about = json!({ "collection_id": settings.collection_id, "kind": settings.kind });
            self.audit("source.create", Target::source(id, &settings.url), Some(about)).await;
        }
        Ok((settings, created))
    }

    /// A source to be stored, first polled then unless its fields say that it is disabled or quarantined.
    pub(super) fn new_source(
        &self,
        settings: SourceSettings,
        fields: &SourceFields,
        first: Time,
    ) -> store::NewSource {
        let mut health = Health::new();
        if let Some(Some(reason)) = &fields.manual_quarantine {
            health = health.set_aside_by_hand(reason, self.clock.now());
        }
        if fields.enabled == Some(false) {
            health = health.disabled_by_hand(fields.disabled_reason.clone().flatten());
        }
        let decision = by_hand(health, Vec::new(), first);
        store::NewSource {
            canonical_url: link::canonical(&settings.url),
            host: host_key(&self.config, settings.kind, &settings.url),
            health: decision.health,
            next_poll_at: decision.next.map(|next| next.at),
            settings,
        }
    }

    /// Sources after an id, by id.
    pub async fn sources(
        &self,
        filter: &SourceFilter,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Source>, ServiceError> {
        self.actor.must(Scope::Read)?;
        Ok(self.store.sources(&self.visible(filter).await?, after, limit).await?)
    }

    /// How many sources a filter finds, counted up to that many.
    pub async fn count_sources(&self, filter: &SourceFilter, most: u32) -> Result<u64, ServiceError> {
        self.actor.must(Scope::Read)?;
        let filter = self.visible(filter).await?;
        Ok(self.store.count_sources(&filter, most).await?)
    }

    /// One source.
    pub async fn source(&self, id: i64) -> Result<Source, ServiceError> {
        self.actor.must(Scope::Read)?;
        self.visible_source(id).await
    }

    /// Deletes a source with its posts, seen and history; articles stay.
    pub async fn delete_source(&self, id: i64) -> Result<(), ServiceError> {
        self.actor.must(Scope::Write)?;
        let settings = self.visible_source(id).await?.settings;
        self.store.delete_source(id).await?;
        let about = json!({ "collection_id": settings.collection_id, "kind": settings.kind });
        self.audit("source.delete", Target::source(id, &settings.url), Some(about)).await;
        Ok(())
    }
}
