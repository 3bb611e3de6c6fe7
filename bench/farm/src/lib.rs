//! A feed farm: a deterministic HTTP server with any number of feeds on any number of hosts, for benchmarks and for
//! tests of politeness. The same options give the same bytes on every machine.
//!
//! Each host is an address in 127.0.0.0/8 with its own listening socket; a wildcard socket would open the farm to
//! the network. A listener costs a file descriptor and some kernel memory, and no CPU time while idle. There is no
//! TLS, compression, HTTP/2 or name resolution: the farm must cost little compared to what it measures.

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

/// A running farm. It stops when this is dropped.
#[derive(Debug)]
pub struct Farm {
    state: Arc<State>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// State shared by the server, the control endpoints and the handle.
#[derive(Debug)]
pub(crate) struct State {
    options: Options,
    port: u16,
    pool: Pool,
    documents: Mutex<Arc<Documents>>,
    ledger: Mutex<Ledger>,
    rates: Mutex<Rates>,
    started: Instant,
    /// Milliseconds if the time is set manually; otherwise negative.
    clock: AtomicI64,
    stop: Notify,
}

/// What a round over all feeds must yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    pub feeds: u64,
    /// The current generation.
    pub generation: u64,
    /// Total number of entries: what a first poll of each feed stores.
    pub entries: u64,
    /// Total size of all documents.
    pub bytes: u64,
}

impl Farm {
    /// Renders all documents, binds all addresses, and serves from a separate thread.
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
        // One thread, so that the farm is a small and steady part of the load on a shared machine.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("farm".into())
            .spawn(move || runtime.block_on(serve::run(served, listeners)))?;
        Ok(Farm { state, thread: Some(thread) })
    }

    /// The address of the control endpoints.
    pub fn control(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.state.port)
    }

    /// The URLs of all feeds, in order.
    pub fn urls(&self) -> Vec<String> {
        (0..self.state.options.feeds).map(|feed| self.state.options.url(feed, self.state.port)).collect()
    }

    /// Renders and serves another generation. Each one adds an entry to every feed and drops its oldest.
    pub fn set_generation(&self, generation: u32) {
        self.state.set_generation(generation);
    }

    pub fn set_rates(&self, rates: Rates) {
        *lock(&self.state.rates) = rates;
    }

    /// Sets the ledger's clock to a fixed time in milliseconds, for pollers whose own clock is set manually.
    pub fn set_clock(&self, millis: u32) {
        self.state.clock.store(i64::from(millis), Ordering::Relaxed);
    }

    pub fn expected(&self) -> Expected {
        self.state.expected()
    }

    /// The totals of all requests since the start or the last reset.
    pub fn ledger(&self) -> Summary {
        lock(&self.state.ledger).summary()
    }

    /// The requests for each feed since the start or the last reset.
    pub fn feeds(&self) -> Vec<FeedRecord> {
        lock(&self.state.ledger).feeds().to_vec()
    }

    /// Clears all counts. The last response of each feed stays known, so that validators are still checked.
    pub fn reset_ledger(&self) {
        lock(&self.state.ledger).reset();
    }

    /// Waits until the farm is stopped by its control endpoint.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic in that thread has already been printed.
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

/// A panic elsewhere leaves the data behind these locks consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
