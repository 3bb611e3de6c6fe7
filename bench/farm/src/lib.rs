//! A feed farm: a deterministic HTTP server with any number of feeds on any number of hosts, for benchmarks and
//! for tests of politeness. The same options give the same bytes, on every machine.
//!
//! Each host is an address of its own in 127.0.0.0/8 with a listening socket of its own, since a socket bound
//! to one loopback address accepts no other and a wildcard would open the farm to the network. A listener
//! costs a file descriptor and some kernel memory, and no CPU time while nobody calls.
//! Absent on purpose: TLS, compression, HTTP/2, names. The farm must cost little beside what it measures.

mod control;
mod cpu;
mod date;
mod document;
mod fault;
mod ledger;
mod listen;
mod options;
mod page;
mod request;
mod serve;
mod words;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

pub use cpu::{CpuTime, cpu_time};
pub use fault::{Fault, Rates};
pub use ledger::{FeedRecord, Summary};
pub use options::Options;

use document::{Documents, Pool};
use ledger::Ledger;

/// A farm that is running. It stops when this is dropped.
#[derive(Debug)]
pub struct Farm {
    state: Arc<State>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// What the server, the control endpoints and the handle share.
#[derive(Debug)]
pub(crate) struct State {
    options: Options,
    port: u16,
    pool: Pool,
    documents: Mutex<Arc<Documents>>,
    ledger: Mutex<Ledger>,
    rates: Mutex<Rates>,
    started: Instant,
    /// Milliseconds, where the time is set by hand; negative where it is not.
    clock: AtomicI64,
    stop: Notify,
}

/// What a round over all feeds must yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// How many feeds there are.
    pub feeds: u64,
    /// What is served now.
    pub generation: u64,
    /// Entries in all documents together: what a first poll of each stores.
    pub entries: u64,
    /// Bytes of all documents together.
    pub bytes: u64,
}

impl Farm {
    /// Renders all documents, binds all addresses, and serves from a thread of its own.
    pub fn start(options: Options) -> std::io::Result<Farm> {
        options.check()?;
        let pool = Pool::new(&options);
        let documents = Documents::render(&options, &pool, 0);
        let listeners = listen::bind(&options)?;
        let state = Arc::new(State {
            port: listeners.port,
            documents: Mutex::new(Arc::new(documents)),
            ledger: Mutex::new(Ledger::new(options.feeds, options.hosts())),
            rates: Mutex::new(options.rates),
            started: Instant::now(),
            clock: AtomicI64::new(-1),
            stop: Notify::new(),
            pool,
            options,
        });
        // One thread: on a shared machine the farm is to be a small and steady part of the load.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("farm".into())
            .spawn(move || runtime.block_on(serve::run(served, listeners)))?;
        Ok(Farm { state, thread: Some(thread) })
    }

    /// Where the control endpoints are.
    pub fn control(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.state.port)
    }

    /// The URL of each feed, in order.
    pub fn urls(&self) -> Vec<String> {
        (0..self.state.options.feeds).map(|feed| self.state.options.url(feed, self.state.port)).collect()
    }

    /// Renders and serves another generation. Each one adds an entry to every feed and drops its oldest.
    pub fn set_generation(&self, generation: u32) {
        self.state.set_generation(generation);
    }

    /// Changes how often which fault is served.
    pub fn set_rates(&self, rates: Rates) {
        *lock(&self.state.rates) = rates;
    }

    /// Sets the clock that the ledger goes by to a fixed time in milliseconds, for pollers whose own clock is
    /// set by hand.
    pub fn set_clock(&self, millis: u32) {
        self.state.clock.store(i64::from(millis), Ordering::Relaxed);
    }

    /// What a round over all feeds must yield now.
    pub fn expected(&self) -> Expected {
        self.state.expected()
    }

    /// All requests since the start or the last reset, summed up.
    pub fn ledger(&self) -> Summary {
        lock(&self.state.ledger).summary()
    }

    /// What was asked of each feed since the start or the last reset.
    pub fn feeds(&self) -> Vec<FeedRecord> {
        lock(&self.state.ledger).feeds().to_vec()
    }

    /// Forgets all counts. What each feed was last answered stays known, so that validators are checked still.
    pub fn reset_ledger(&self) {
        lock(&self.state.ledger).reset();
    }

    /// Waits until someone stops it by its control endpoint.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic on that thread has printed itself.
            drop(thread.join());
        }
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        self.state.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl State {
    fn set_generation(&self, generation: u32) {
        let documents = Arc::new(Documents::render(&self.options, &self.pool, u64::from(generation)));
        *lock(&self.documents) = documents;
    }

    fn documents(&self) -> Arc<Documents> {
        Arc::clone(&lock(&self.documents))
    }

    fn now(&self) -> u64 {
        match u64::try_from(self.clock.load(Ordering::Relaxed)) {
            Ok(millis) => millis,
            Err(_) => u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn expected(&self) -> Expected {
        let documents = self.documents();
        Expected {
            feeds: u64::from(self.options.feeds),
            generation: documents.generation,
            entries: documents.entries(),
            bytes: documents.bytes(&self.pool),
        }
    }
}

/// Nothing that holds these locks leaves things half done, so a panic elsewhere does not spoil them.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
