//! Imports that go on while nobody waits: begun by a page, which then asks how far they are.
//!
//! Kept in memory, few and not for long: what was imported is in the database, batch by batch. Absent on purpose: going
//! on after a restart; importing the list again skips what is there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gleaner_core::link;
use gleaner_core::time::{Span, Time};

use super::import::Progress;
use super::{Actor, Imported, ListOptions, Scope, Service, ServiceError};
use crate::hex;
use crate::vault::random;

/// How long what became of an import can be looked at.
const KEPT: Span = Span::from_hours(1);
/// How many are remembered.
const MOST: usize = 50;
/// How many go on at once.
const AT_ONCE: usize = 4;

/// Where a list comes from.
#[derive(Debug, Clone)]
pub enum ListFrom {
    /// It is at hand.
    Bytes(Vec<u8>),
    /// It is fetched first.
    Url(String),
}

/// How far an import is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportJob {
    /// Names it.
    pub id: String,
    /// What is imported: a file's name or a URL.
    pub what: String,
    /// When it began.
    pub begun_at: Time,
    /// How many lines were looked at.
    pub done: u64,
    /// About how many there are; 0: not known yet.
    pub of: u64,
    /// What became of it; none: it goes on.
    pub ended: Option<Result<Imported, String>>,
}

#[derive(Default)]
pub(super) struct Jobs(Mutex<Vec<Arc<Job>>>);

struct Job {
    id: String,
    user_id: i64,
    what: String,
    begun_at: Time,
    counted: Arc<Counter>,
    ended: Mutex<Option<Result<Imported, String>>>,
}

#[derive(Default)]
struct Counter {
    done: AtomicU64,
    of: AtomicU64,
}

impl Progress for Counter {
    fn expect(&self, of: u64) {
        self.of.store(of, Ordering::Relaxed);
    }

    fn done(&self, lines: u64) {
        self.done.fetch_add(lines, Ordering::Relaxed);
    }
}

impl Job {
    fn ended(&self) -> MutexGuard<'_, Option<Result<Imported, String>>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Begins to import a list, and tells by which name it can be asked after.
    pub async fn begin_import(
        self: &Arc<Self>,
        actor: &Actor,
        what: &str,
        list: ListFrom,
        options: ListOptions,
    ) -> Result<String, ServiceError> {
        actor.must(Scope::Write)?;
        if let ListFrom::Url(url) = &list {
            link::source_url(url)?;
        }
        if let Some(id) = options.collection_id {
            self.by(actor).collection(id).await?;
        }
        let job = Arc::new(Job {
            id: hex::encode(&random::<16>()?),
            user_id: actor.user_id,
            what: what.chars().take(500).collect(),
            begun_at: self.now(),
            counted: Arc::default(),
            ended: Mutex::default(),
        });
        self.jobs.add(Arc::clone(&job), self.now())?;
        let (service, actor, id) = (Arc::clone(self), actor.clone(), job.id.clone());
        tokio::spawn(async move {
            let by = service.by(&actor);
            let counted = Arc::clone(&job.counted);
            let imported = match list {
                ListFrom::Bytes(bytes) => by.import_counted(bytes, options, &*counted).await,
                ListFrom::Url(url) => by.import_from_counted(&url, options, &*counted).await,
            };
            *job.ended() = Some(imported.map_err(|error| error.to_string()));
        });
        Ok(id)
    }

    /// How far one of one's own imports is.
    pub fn import_job(&self, actor: &Actor, id: &str) -> Result<ImportJob, ServiceError> {
        actor.must(Scope::Read)?;
        let jobs = self.jobs.lock(self.now());
        let job = jobs.iter().find(|job| job.id == id && job.user_id == actor.user_id);
        let job =
            job.ok_or_else(|| ServiceError::missing("import", &id.chars().take(60).collect::<String>()))?;
        Ok(ImportJob {
            id: job.id.clone(),
            what: job.what.clone(),
            begun_at: job.begun_at,
            done: job.counted.done.load(Ordering::Relaxed),
            of: job.counted.of.load(Ordering::Relaxed),
            ended: job.ended().clone(),
        })
    }
}

impl Jobs {
    /// Those that are still remembered.
    fn lock(&self, now: Time) -> MutexGuard<'_, Vec<Arc<Job>>> {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|job| now.since(job.begun_at) < KEPT || job.ended().is_none());
        jobs
    }

    fn add(&self, job: Arc<Job>, now: Time) -> Result<(), ServiceError> {
        let mut jobs = self.lock(now);
        if jobs.iter().filter(|job| job.ended().is_none()).count() >= AT_ONCE {
            let message = format!("{AT_ONCE} imports are under way; wait until one has ended");
            return Err(ServiceError::conflict("too_many_imports", message));
        }
        if jobs.len() >= MOST
            && let Some(place) = jobs.iter().position(|job| job.ended().is_some())
        {
            jobs.remove(place);
        }
        jobs.push(job);
        Ok(())
    }
}
