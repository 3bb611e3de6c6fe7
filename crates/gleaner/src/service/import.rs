//! Import of a list of sources: OPML, or JSON lines. Valid lines are stored, the others are reported one by one.
//!
//! Each batch is a transaction: after an interruption the committed batches stay, and importing again skips them. A list
//! is parsed on a thread of its own, a few batches ahead of the database, so that it is not held in memory twice.

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
use super::hand::checked_reason;
use super::lists::{self, Format, ListLine};
use super::preview::failed_to_fetch;
use super::{By, Checks, Scope, ServiceError, SourceFields, Wrong};
use crate::fetch::{Fetcher, Request};
use crate::store::{self, Collection, Created, NewEvent, SourceSettings, StoreError};

/// Maximum size of a list.
pub const MAX_LIST_BYTES: usize = 50 << 20;
/// First polls of imported sources are spread over at most this time; hosts are still polled one request after another.
pub const FIRST_POLLS_WITHIN: Span = Span::from_mins(5);
/// Sources in one transaction.
const BATCH: usize = 500;
/// Maximum number of batches that are parsed ahead of the database.
const AHEAD: usize = 2;
/// Maximum number of lines in a report; further ones are only counted.
const MAX_REPORTED: usize = 10_000;
/// Maximum number of collections that one list creates.
const MAX_COLLECTIONS: usize = 1000;

/// Receives the progress of an import.
pub(super) trait Progress: Send + Sync {
    /// Estimated number of lines.
    fn expect(&self, of: u64);
    /// Further lines were processed.
    fn done(&self, lines: u64);
}

/// Reports no progress.
struct NoProgress;

impl Progress for NoProgress {
    fn expect(&self, _: u64) {}
    fn done(&self, _: u64) {}
}

/// Where a list comes from, and where its sources go.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// None: detected from the list itself.
    pub format: Option<Format>,
    /// `Content-Type`; empty: unknown.
    pub content_type: Vec<u8>,
    /// Collection for all sources; none: the one that the list names, else the default one.
    pub collection_id: Option<i64>,
    /// Backfill of sources for which the list does not say it.
    pub backfill: Backfill,
}

/// Result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Imported {
    pub added: u64,
    /// Sources that already existed and were not changed.
    pub duplicates: u64,
    /// Lines that are not a valid source.
    pub bad: u64,
    /// Collections that were created.
    pub collections: u64,
    /// Backfill of sources for which the list does not say it.
    pub backfill: Backfill,
    /// Lines that were not added; the first 10,000.
    pub report: Vec<Line>,
}

/// A line of a list that was not added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// From 1.
    pub line: u64,
    pub url: Option<String>,
    /// `duplicate` or `bad`.
    pub outcome: &'static str,
    /// Reason, for people.
    pub message: String,
    /// The existing source.
    pub id: Option<i64>,
}

impl By<'_> {
    /// Fetches a list and imports it.
    pub async fn import_from(&self, text: &str, options: ListOptions) -> Result<Imported, ServiceError> {
        self.import_from_counted(text, options, &NoProgress).await
    }

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

    pub async fn import(&self, bytes: Vec<u8>, options: ListOptions) -> Result<Imported, ServiceError> {
        self.import_counted(bytes, options, &NoProgress).await
    }

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
                // If the receiver is gone, the import has failed.
                batch.len() < BATCH || send.blocking_send(std::mem::take(&mut batch)).is_ok()
            })?;
            let _ = send.blocking_send(batch);
            Ok::<(), ServiceError>(())
        };
        let reading = tokio::task::spawn_blocking(read);
        while let Some(batch) = batches.recv().await {
            let lines = batch.len() as u64;
            import.store_batch(batch).await?;
            progress.done(lines);
        }
        let stopped =
            |_| ServiceError::conflict("interrupted", "the list could not be read to its end; try again");
        reading.await.map_err(stopped)??;
        import.finish().await
    }
}

/// An import in progress.
struct Import<'a> {
    by: By<'a>,
    collections: Vec<Collection>,
    /// Ids of collections by name.
    ids: HashMap<String, i64>,
    into: Option<i64>,
    default: SourceSettings,
    /// Collections that sources were added to.
    used: HashSet<i64>,
    result: Imported,
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
        let (used, result) = (HashSet::new(), Imported { backfill, ..Imported::default() });
        Ok(Self { by, collections, ids, into, default, used, result })
    }

    /// Stores the valid lines of a batch, in one transaction.
    async fn store_batch(&mut self, batch: Vec<ListLine>) -> Result<(), ServiceError> {
        let (mut lines, mut sources) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        let mut report = Vec::new();
        for item in batch {
            let (line, url) = (item.line, item.url.clone());
            match self.source(item).await {
                Ok(source) => {
                    lines.push((line, source.settings.url.clone()));
                    sources.push(source);
                }
                Err(ServiceError::Invalid(wrongs)) => {
                    self.result.bad += 1;
                    report.push(Line { line, url, outcome: "bad", message: all_messages(&wrongs), id: None });
                }
                Err(error) => return Err(error),
            }
        }
        self.used.extend(sources.iter().map(|source| source.settings.collection_id));
        let created = self.by.store.create_sources(&sources, self.by.clock.now()).await?;
        for ((line, url), created) in lines.into_iter().zip(created) {
            match created {
                Created::New(_) => self.result.added += 1,
                Created::Exists(id) => {
                    self.result.duplicates += 1;
                    let message = format!("it is there already, as source {id}, and was left as it is");
                    report.push(Line { line, url: Some(url), outcome: "duplicate", message, id: Some(id) });
                }
            }
        }
        report.sort_by_key(|line| line.line);
        let room = MAX_REPORTED.saturating_sub(self.result.report.len());
        self.result.report.extend(report.into_iter().take(room));
        Ok(())
    }

    /// The source of a line, to be stored.
    async fn source(&mut self, item: ListLine) -> Result<store::NewSource, ServiceError> {
        let mut checks = Checks::default();
        let mut fields = item.fields(&mut checks);
        let named = item.collection.as_deref().filter(|_| self.into.is_none());
        let collection = match named {
            Some(name) => checks.take("collection", self.collection(name).await.map_err(hard)?),
            None => fields.collection_id.filter(|_| self.into.is_none()),
        };
        fields.collection_id = Some(collection.unwrap_or(self.default.collection_id));
        let settings = self.by.apply_fields(&fields, &self.default, &self.collections, &mut checks)?;
        for (name, reason) in
            [("disabled_reason", &fields.disabled_reason), ("manual_quarantine", &fields.manual_quarantine)]
        {
            let reason = reason.iter().flatten().next();
            checks.take(name, reason.map_or(Ok(""), |reason| checked_reason(reason)));
        }
        checks.done()?;
        Ok(self.spread(settings, &fields))
    }

    /// First polls are spread: each at a random time within [`FIRST_POLLS_WITHIN`], or its interval if that is shorter.
    fn spread(&self, settings: SourceSettings, fields: &SourceFields) -> store::NewSource {
        let by = self.by;
        let interval = settings.interval.resolve(by.config.source.poll_interval);
        let first = first_poll(by.clock.now(), interval.min(FIRST_POLLS_WITHIN), by.random.jitter()).at;
        by.new_source(settings, fields, first)
    }

    /// The collection of that name, created if it does not exist. An invalid name is an error of the line, a failing
    /// database one of the import.
    async fn collection(&mut self, name: &str) -> Result<Result<i64, ServiceError>, StoreError> {
        let name = match checked_name("collection", name) {
            Ok(name) => name,
            Err(wrong) => return Ok(Err(wrong)),
        };
        if let Some(id) = self.ids.get(&name) {
            return Ok(Ok(*id));
        }
        if self.result.collections >= MAX_COLLECTIONS as u64 {
            let message =
                format!("a list creates at most {MAX_COLLECTIONS} collections, and this would be another");
            return Ok(Err(ServiceError::invalid("collection", message)));
        }
        if let Err(limited) = self.by.actor.must_be_unlimited() {
            return Ok(Err(ServiceError::invalid("collection", limited.to_string())));
        }
        let (owner_id, now) = (self.by.actor.user_id, self.by.clock.now());
        match self.by.store.create_collection(&name, owner_id, now).await {
            Ok(_) => self.result.collections += 1,
            // Somebody else created it meanwhile, or has a private one of that name.
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
        let Imported { added, duplicates, bad, .. } = self.result;
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
        Ok(self.result)
    }
}

fn hard(error: StoreError) -> ServiceError {
    error.into()
}

/// All that is wrong with a line, on one line.
fn all_messages(wrongs: &[Wrong]) -> String {
    let messages: Vec<&str> = wrongs.iter().map(|wrong| wrong.message.as_str()).collect();
    format!("{}; it was left out", messages.join("; "))
}
