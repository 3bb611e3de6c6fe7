//! Adding, reading, listing and deleting sources. Edits are in `edit.rs`.

use gleaner_core::backfill::Backfill;
use gleaner_core::link;
use gleaner_core::schedule::first_poll;
use gleaner_core::source::{Duplicates, Interval, Kind};
use gleaner_core::time::Span;

use serde_json::json;

use super::audit::Target;
use super::{By, Checks, Scope, ServiceError, SourceFields};
use crate::engine::host_key;
use crate::store::{self, Collection, Created, Source, SourceFilter, SourceSettings, StoreError};

/// A source as a person asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSource {
    /// What is to be polled.
    pub url: String,
    /// What it is.
    pub kind: Kind,
    /// What people call it.
    pub name: Option<String>,
    /// The collection by its name; none: the default one.
    pub collection: Option<String>,
    /// How often it is polled.
    pub interval: Interval,
    /// The pause after it.
    pub poll_delay: Option<Span>,
    /// Which links of a watchlist are followed.
    pub article_selector: Option<String>,
    /// What of a website always changes and is left out.
    pub ignore_selector: Option<String>,
    /// Whether each new entry's page is fetched.
    pub full_content: bool,
    /// Whether robots.txt is not asked.
    pub ignore_robots: bool,
    /// Its own policy.
    pub policy: Option<String>,
    /// Which of its entries are duplicates; none: as config says.
    pub duplicates: Option<Duplicates>,
    /// Existing entries that the first poll stores.
    pub backfill: Backfill,
    /// Polled at once, as a person who adds one expects; else at a random point within its first interval.
    pub at_once: bool,
}

impl NewSource {
    /// A feed that a person adds by hand.
    pub fn feed(url: impl Into<String>) -> Self {
        Self::new(Kind::Feed, url)
    }

    /// A source of this kind that a person adds by hand.
    pub fn new(kind: Kind, url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            kind,
            name: None,
            collection: None,
            interval: Interval::Default,
            poll_delay: None,
            article_selector: None,
            ignore_selector: None,
            full_content: false,
            ignore_robots: false,
            policy: None,
            duplicates: None,
            backfill: Backfill::All,
            at_once: true,
        }
    }
}

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

    /// Adds a source as it is given; one whose URL the collection has already stays as it is.
    pub async fn add(&self, new: &NewSource) -> Result<Added, ServiceError> {
        let collections = self.visible_collections().await?;
        let collection_id = collection_id(&collections, new.collection.as_deref().unwrap_or("default"))?;
        let fields = SourceFields {
            url: Some(new.url.clone()),
            kind: Some(new.kind),
            name: Some(new.name.clone()),
            collection_id: Some(collection_id),
            interval: Some(new.interval),
            poll_delay: Some(new.poll_delay),
            article_selector: Some(new.article_selector.clone()),
            ignore_selector: Some(new.ignore_selector.clone()),
            full_content: Some(new.full_content),
            backfill: Some(new.backfill),
            ignore_robots: Some(new.ignore_robots),
            policy: Some(new.policy.clone()),
            duplicates: Some(new.duplicates),
            ..SourceFields::default()
        };
        let (settings, created) = self.store_new(&fields, Checks::default(), new.at_once).await?;
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
        let settings = self.lay(fields, &nothing, &collections, &mut checks)?;
        checks.done()?;
        let now = self.clock.now();
        let interval = settings.interval.resolve(self.config.source.poll_interval);
        let source = store::NewSource {
            canonical_url: link::canonical(&settings.url),
            host: host_key(&self.config, settings.kind, &settings.url),
            next_poll_at: if at_once { now } else { first_poll(now, interval, self.chance.jitter()).at },
            enabled: fields.enabled.unwrap_or(true),
            settings: settings.clone(),
        };
        let created = self.store.create_sources(&[source], now).await?;
        let created = created.first().copied().unwrap_or(Created::Exists(0));
        if let Created::New(id) = created {
            let about = json!({ "collection_id": settings.collection_id, "kind": settings.kind });
            self.audit("source.create", Target::source(id, &settings.url), Some(about)).await;
        }
        Ok((settings, created))
    }

    /// Lists sources, by id.
    pub async fn list(
        &self,
        filter: &SourceFilter,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Source>, ServiceError> {
        self.actor.must(Scope::Read)?;
        let filter = self.visible(filter).await?;
        Ok(self.store.sources(&filter, after, limit).await?)
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

fn collection_id(collections: &[Collection], name: &str) -> Result<i64, ServiceError> {
    let found = collections.iter().find(|collection| collection.name == name);
    found.map(|collection| collection.id).ok_or_else(|| {
        let names = collections.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
        ServiceError::invalid("collection", format!("there is no collection '{name}'; there are {names}"))
    })
}
