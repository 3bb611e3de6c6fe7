//! Many sources at once, from a list: OPML, or a JSON object a line. The good ones are kept, the others are told line by
//! line.
//!
//! Each batch is a transaction: cut off in the middle, what was committed stays, and importing again skips it. A list is
//! read on a thread of its own, a few batches ahead of the database, so that no list is held twice.

use std::collections::{HashMap, HashSet};

use gleaner_core::backfill::Backfill;
use gleaner_core::link;
use gleaner_core::schedule::first_poll;
use gleaner_core::time::Span;
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::access::checked_name;
use super::audit::Target;
use super::lists::{self, Format, Given};
use super::preview::failed_to_fetch;
use super::{By, Checks, Scope, ServiceError, SourceFields, Wrong};
use crate::engine::host_key;
use crate::fetch::{Fetcher, Request};
use crate::store::{self, Collection, Created, NewEvent, SourceSettings, StoreError};

/// The largest list.
pub const MAX_LIST_BYTES: usize = 50 << 20;
/// First polls of imported sources are spread over at most this time; hosts are still polled one request after another.
pub const FIRST_POLLS_WITHIN: Span = Span::from_mins(5);
/// Sources in one transaction.
const BATCH: usize = 500;
/// Batches that are read ahead.
const AHEAD: usize = 2;
/// Lines that are told of; the rest are counted.
const TOLD: usize = 10_000;
/// Collections that one list may make.
const COLLECTIONS: usize = 1000;

/// Who looks at how far an import is.
pub(super) trait Progress: Send + Sync {
    /// About so many lines are to come.
    fn expect(&self, of: u64);
    /// So many more were looked at.
    fn done(&self, lines: u64);
}

/// Nobody.
struct Unseen;

impl Progress for Unseen {
    fn expect(&self, _: u64) {}
    fn done(&self, _: u64) {}
}

/// Where a list comes from, and where its sources go.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// None: it is told from the list itself.
    pub format: Option<Format>,
    /// `Content-Type`, as far as it is known.
    pub content_type: Vec<u8>,
    /// All into this collection; none: each into the one that the list names, else the default one.
    pub collection_id: Option<i64>,
    /// Existing entries that first polls store, where the list does not say it of a source.
    pub backfill: Backfill,
}

/// What became of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Imported {
    /// Sources that are new.
    pub added: u64,
    /// Sources that were there already, and stay as they are.
    pub duplicates: u64,
    /// Lines that are no source.
    pub bad: u64,
    /// Collections that were made.
    pub collections: u64,
    /// Existing entries that first polls store, where the list did not say it of a source.
    pub backfill: Backfill,
    /// What was not added, and why; the first 10,000.
    pub report: Vec<Line>,
}

/// A line of a list that was not added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// From 1 up.
    pub line: u64,
    /// As far as it could be read.
    pub url: Option<String>,
    /// `duplicate` or `bad`.
    pub outcome: &'static str,
    /// What is wrong, and what was done.
    pub message: String,
    /// The source that is there already.
    pub id: Option<i64>,
}

impl By<'_> {
    /// Imports a list that is fetched first.
    pub async fn import_from(&self, text: &str, options: ListOptions) -> Result<Imported, ServiceError> {
        self.import_from_counted(text, options, &Unseen).await
    }

    /// The same, counted.
    pub(super) async fn import_from_counted(
        &self,
        text: &str,
        options: ListOptions,
        progress: &dyn Progress,
    ) -> Result<Imported, ServiceError> {
        self.actor.must(Scope::Write)?;
        let url = link::source_url(text)?;
        let config =
            crate::config::Fetch { max_body_bytes: MAX_LIST_BYTES as u64, ..self.config.fetch.clone() };
        let fetcher = Fetcher::new(&config, &self.network_overrides)?;
        let accept = "text/x-opml, application/xml, text/xml, application/x-ndjson, */*;q=0.5".to_owned();
        let request = Request { accept, ..Request::new(url.clone()) };
        let response = fetcher
            .fetch(&request, self.clock.now())
            .await
            .map_err(|failed| failed_to_fetch(&url, failed))?;
        let options = ListOptions { content_type: response.content_type, ..options };
        self.import_counted(response.body.to_vec(), options, progress).await
    }

    /// Imports a list.
    pub async fn import(&self, bytes: Vec<u8>, options: ListOptions) -> Result<Imported, ServiceError> {
        self.import_counted(bytes, options, &Unseen).await
    }

    /// The same, counted.
    pub(super) async fn import_counted(
        &self,
        bytes: Vec<u8>,
        options: ListOptions,
        progress: &dyn Progress,
    ) -> Result<Imported, ServiceError> {
        self.actor.must(Scope::Write)?;
        progress.expect(lists::about(&bytes));
        let mut import = Import::begin(*self, &options).await?;
        let (send, mut batches) = mpsc::channel(AHEAD);
        let read = move || {
            let mut batch = Vec::with_capacity(BATCH);
            lists::read(&bytes, &options.content_type, options.format, |given| {
                batch.push(given);
                // Where nobody listens any more, there is no use in reading on.
                batch.len() < BATCH || send.blocking_send(std::mem::take(&mut batch)).is_ok()
            })?;
            let _ = send.blocking_send(batch);
            Ok::<(), ServiceError>(())
        };
        let reading = tokio::task::spawn_blocking(read);
        while let Some(batch) = batches.recv().await {
            let lines = batch.len() as u64;
            import.take(batch).await?;
            progress.done(lines);
        }
        let stopped =
            |_| ServiceError::conflict("interrupted", "the list could not be read to its end; try again");
        reading.await.map_err(stopped)??;
        import.finish().await
    }
}

/// An import under way.
struct Import<'a> {
    by: By<'a>,
    collections: Vec<Collection>,
    /// Their ids by name.
    ids: HashMap<String, i64>,
    into: Option<i64>,
    default: SourceSettings,
    /// Collections that sources were added to.
    used: HashSet<i64>,
    told: Imported,
}

impl<'a> Import<'a> {
    async fn begin(by: By<'a>, options: &ListOptions) -> Result<Self, ServiceError> {
        let (into, backfill) = (options.collection_id, options.backfill);
        let collections = by.visible_collections().await?;
        let ids: HashMap<String, i64> = collections.iter().map(|one| (one.name.clone(), one.id)).collect();
        let usual = ids.get("default").copied().or_else(|| collections.first().map(|one| one.id));
        let id = match into.or(usual) {
            Some(id) if collections.iter().any(|one| one.id == id) => id,
            Some(id) => return Err(ServiceError::missing("collection", &id.to_string())),
            None => {
                return Err(ServiceError::conflict(
                    "no_collection",
                    "there is no collection; make one first",
                ));
            }
        };
        let default = SourceSettings { backfill, ..SourceSettings::feed(id, String::new()) };
        let (used, told) = (HashSet::new(), Imported { backfill, ..Imported::default() });
        Ok(Self { by, collections, ids, into, default, used, told })
    }

    /// Adds what is good of a batch, in one transaction.
    async fn take(&mut self, batch: Vec<Given>) -> Result<(), ServiceError> {
        let (mut lines, mut sources) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        let mut told = Vec::new();
        for given in batch {
            let (line, url) = (given.line, given.url.clone());
            match self.source(given).await {
                Ok(source) => {
                    lines.push((line, source.settings.url.clone()));
                    sources.push(source);
                }
                Err(ServiceError::Invalid(wrongs)) => {
                    self.told.bad += 1;
                    told.push(Line { line, url, outcome: "bad", message: words(&wrongs), id: None });
                }
                Err(error) => return Err(error),
            }
        }
        self.used.extend(sources.iter().map(|source| source.settings.collection_id));
        let created = self.by.store.create_sources(&sources, self.by.clock.now()).await?;
        for ((line, url), created) in lines.into_iter().zip(created) {
            match created {
                Created::New(_) => self.told.added += 1,
                Created::Exists(id) => {
                    self.told.duplicates += 1;
                    let message = format!("it is there already, as source {id}, and was left as it is");
                    told.push(Line { line, url: Some(url), outcome: "duplicate", message, id: Some(id) });
                }
            }
        }
        told.sort_by_key(|line| line.line);
        let room = TOLD.saturating_sub(self.told.report.len());
        self.told.report.extend(told.into_iter().take(room));
        Ok(())
    }

    /// A source as the store takes it.
    async fn source(&mut self, given: Given) -> Result<store::NewSource, ServiceError> {
        let mut checks = Checks::default();
        let mut fields = given.fields(&mut checks);
        let named = given.collection.as_deref().filter(|_| self.into.is_none());
        let collection = match named {
            Some(name) => checks.take("collection", self.collection(name).await.map_err(hard)?),
            None => fields.collection_id.filter(|_| self.into.is_none()),
        };
        fields.collection_id = Some(collection.unwrap_or(self.default.collection_id));
        let settings = self.by.lay(&fields, &self.default, &self.collections, &mut checks)?;
        checks.done()?;
        Ok(self.placed(settings, &fields))
    }

    /// Not all are due at once: each has a random point within [`FIRST_POLLS_WITHIN`], or its interval if that is shorter.
    fn placed(&self, settings: SourceSettings, fields: &SourceFields) -> store::NewSource {
        let by = self.by;
        let interval = settings.interval.resolve(by.config.source.poll_interval);
        store::NewSource {
            canonical_url: link::canonical(&settings.url),
            host: host_key(&by.config, settings.kind, &settings.url),
            next_poll_at: first_poll(by.clock.now(), interval.min(FIRST_POLLS_WITHIN), by.random.jitter()).at,
            enabled: fields.enabled.unwrap_or(true),
            settings,
        }
    }

    /// The collection of that name, made where there is none yet. What is wrong with the name is for the line, what is
    /// wrong with the database for everybody.
    async fn collection(&mut self, name: &str) -> Result<Result<i64, ServiceError>, StoreError> {
        let name = match checked_name("collection", name) {
            Ok(name) => name,
            Err(wrong) => return Ok(Err(wrong)),
        };
        if let Some(id) = self.ids.get(&name) {
            return Ok(Ok(*id));
        }
        if self.told.collections >= COLLECTIONS as u64 {
            let message =
                format!("a list makes at most {COLLECTIONS} collections, and this would be another");
            return Ok(Err(ServiceError::invalid("collection", message)));
        }
        if let Err(limited) = self.by.actor.must_be_unlimited() {
            return Ok(Err(ServiceError::invalid("collection", limited.to_string())));
        }
        let (owner_id, now) = (self.by.actor.user_id, self.by.clock.now());
        match self.by.store.create_collection(&name, owner_id, now).await {
            Ok(_) => self.told.collections += 1,
            // Somebody made it meanwhile, or has it for themselves.
            Err(StoreError::Duplicate { .. }) => {}
            Err(error) => return Err(error),
        }
        let viewer = self.by.actor.viewer();
        self.collections = self.by.store.collections().await?;
        self.collections.retain(|collection| viewer.may_see(collection.access()));
        self.ids = self.collections.iter().map(|one| (one.name.clone(), one.id)).collect();
        let id = self.ids.get(&name).copied();
        Ok(id.ok_or_else(|| {
            let message = format!("the name of the collection {name} is taken; choose another");
            ServiceError::invalid("collection", message)
        }))
    }

    async fn finish(self) -> Result<Imported, ServiceError> {
        let Imported { added, duplicates, bad, .. } = self.told;
        let mut payload = json!({ "added": added, "duplicates": duplicates, "bad": bad });
        let target = Target::new("source", None, &format!("{added} sources"));
        self.by.audit("source.import", target, Some(payload.clone())).await;
        // What went into a private collection is for those who see that.
        let private = |one: &&Collection| one.private && self.used.contains(&one.id);
        if let Some(collection) = self.collections.iter().find(private) {
            payload["collection_id"] = collection.id.into();
        }
        let payload = payload.to_string();
        self.by.tell(NewEvent { kind: "import.finished".to_owned(), source_id: None, payload }).await?;
        Ok(self.told)
    }
}

fn hard(error: StoreError) -> ServiceError {
    error.into()
}

/// All that is wrong with a line, on one line.
fn words(wrongs: &[Wrong]) -> String {
    let words: Vec<&str> = wrongs.iter().map(|wrong| wrong.message.as_str()).collect();
    format!("{}; it was left out", words.join("; "))
}
