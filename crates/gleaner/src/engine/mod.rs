//! Polls what is due, politely, for ever, and loses nothing.
//!
//! [`Engine::tick`] does the work of one moment, and [`Engine::run`] is the loop around it that only waits. A poll
//! is a straight line, shown whole in `poll.rs`. Absent on purpose: rules. Who may be polled when, what is new and
//! what a failure means is decided in `gleaner_core`; what is due is the store's.

mod article;
mod attempt;
mod auto;
mod batch;
mod broker;
mod cleanup;
mod credential;
mod delivery;
mod elsewhere;
mod host;
mod indexer;
mod judged;
mod leases;
mod message;
mod now;
mod outbox;
mod poll;
mod poll_run;
mod record;
mod reschedule;
mod scheduler;
mod sending;
mod sight;
mod stream;
mod told;
mod webhooks;
mod x;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gleaner_core::network::Guard;
use gleaner_core::policy::Policy;
use gleaner_core::schedule::poll_delay;
use gleaner_core::source::{Duplicates, Kind};
use gleaner_core::time::Span;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

pub use attempt::{Reader, Readers, entry_rules, observed_redirect};
pub use auto::scale as auto_scale;
pub use credential::{X, of_source as credential_of, seal_credential, seal_key};
pub use delivery::seal_webhook_secret;
pub use host::host_key;
pub use now::Poller;
pub use outbox::Outbox;
pub use poll::PollEnd;
pub use poll_run::SourceReport;
pub use scheduler::{Engine, Ticked};
pub use sight::first_suspicion;
pub use stream::{NATS, Streamer};
pub use told::{Told, ToldSource, tell};
pub use webhooks::Sender;

use crate::clock::{Clock, RandomSource};
use crate::config::Config;
use crate::fetch::Fetcher;
use crate::metrics::Metrics;
use crate::store::{Source, Store};
use crate::vault::Vault;

/// Everything that polls share.
pub struct Context {
    /// What is kept.
    pub store: Arc<dyn Store>,
    /// The one HTTP client.
    pub fetcher: Fetcher,
    /// The settings.
    pub config: Config,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The dice.
    pub random: RandomSource,
    /// What makes entries of documents.
    pub readers: Readers,
    /// What is counted and measured.
    pub metrics: Arc<Metrics>,
    /// Hears of every commit.
    pub committed: Arc<Notify>,
}

/// The context with what only the engine needs.
struct Inner {
    cx: Context,
    recorder: record::Recorder,
    vault: Vault,
    /// One for each host that may be asked at once.
    permits: Semaphore,
    /// The same for hosts that are not quick, which may take three quarters of the places.
    slow_permits: Semaphore,
    /// How many tasks of such hosts there are.
    slow_tasks: AtomicUsize,
    /// One for each document that may be read at once: as many as there are processors.
    readers: Semaphore,
    /// What is known of our own network. Whoever judges a poll holds it until the poll is handed over, so that failures
    /// are written before they are taken back.
    guard: tokio::sync::Mutex<Guard>,
    /// How fast sources are asked under the interval `auto`.
    auto: auto::Scale,
    /// What we are called among workers.
    owner: String,
    /// Leases that are ours now.
    leases: leases::Leases,
    /// Says that a host is done, so that there is room for another.
    room: Notify,
    stopping: AtomicBool,
}

/// A place among the requests in flight, given back when it is dropped.
struct Place<'a> {
    _any: SemaphorePermit<'a>,
    _slow: Option<SemaphorePermit<'a>>,
}

impl<'a> From<SemaphorePermit<'a>> for Place<'a> {
    fn from(permit: SemaphorePermit<'a>) -> Self {
        Self { _any: permit, _slow: None }
    }
}

impl Context {
    /// A source's policy.
    fn policy(&self, source: &Source) -> &Policy {
        self.config.policy(source.settings.policy.as_deref())
    }

    /// Which entries of a source are duplicates.
    fn duplicates(&self, source: &Source) -> Duplicates {
        self.config.duplicates(source.settings.kind, source.settings.duplicates)
    }

    /// How long a host is ours without a heartbeat.
    fn lease(&self) -> Span {
        self.clock.span_of_real(self.config.serve.lease)
    }

    /// No lease ends later than so long from now, unless a clock was wrong. Clocks of several machines differ a little,
    /// and a statement may wait for a while: whoever took the leases of others for mistakes would ask beside them.
    fn longest_lease(&self) -> Span {
        let tolerated = self.clock.span_of_real(Span::from_mins(5));
        Span::from_millis(self.lease().as_millis().saturating_add(tolerated.as_millis()))
    }

    /// How often leases are renewed: twice may fail.
    fn heartbeat(&self) -> Span {
        self.lease().scale(1.0 / 3.0)
    }

    /// The pause after a source or a page, before its host is asked again.
    fn delay(&self, own: Option<Span>, kind: Kind, host: &str) -> Span {
        let overridden = self.config.source.host_overrides.get(host).and_then(|host| host.poll_delay);
        poll_delay(own, overridden, self.config.source.poll_delay.get(&kind).copied())
    }
}

impl Inner {
    fn new(cx: Context, owner: String) -> Self {
        Self {
            recorder: record::Recorder::start(&cx),
            vault: Vault::for_store(&cx.config.store),
            permits: Semaphore::new(cx.config.fetch.concurrency as usize),
            slow_permits: Semaphore::new((cx.config.fetch.concurrency as usize * 3 / 4).max(1)),
            slow_tasks: AtomicUsize::new(0),
            readers: Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)),
            guard: tokio::sync::Mutex::default(),
            auto: auto::Scale::default(),
            owner,
            leases: leases::Leases::default(),
            room: Notify::new(),
            stopping: AtomicBool::new(false),
            cx,
        }
    }

    /// Waits for a place among the requests in flight; none: the engine is gone.
    async fn place(&self, quick: bool) -> Option<Place<'_>> {
        let slow = if quick { None } else { Some(self.slow_permits.acquire().await.ok()?) };
        Some(Place { _any: self.permits.acquire().await.ok()?, _slow: slow })
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
