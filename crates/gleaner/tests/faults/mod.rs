//! Faults below gleaner: its database fails, is slow, full, torn, gone or paused, and clocks jump.
//!
//! The real engine polls a farm that writes down what it published, by a clock sixty times as fast as the world's. Whatever
//! happened meanwhile: at the end database and ledger agree, every post is there exactly once and was told exactly once.

mod clock;
mod disk;
mod opening;
mod postgres;
pub(crate) mod server;
mod wal;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gleaner::clock::{Clock, RandomSource};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::service::Service;
use gleaner::store::{Options, PostFilter, SourceFilter, Store, open};
use gleaner_core::time::{Span, Time};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::http::{Received, Reply, Server};
use crate::support::log::Captured;
use crate::support::{self, new_feed, start};

/// How many times as fast as the world's the clock is: an interval of a minute is a second.
const SPEED: u64 = 60;
/// How many times as long as by that clock a lease is: four seconds, so that a busy machine does not lose them all.
const LEASES: u64 = 4;
/// How long anything is waited for; on a busy machine everything takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
const HOSTS: u8 = 4;
const FEEDS: usize = 3;

/// A fast clock, also for leases, that can be set off.
struct Quick {
    begun: Instant,
    off: AtomicI64,
}

impl Quick {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), off: AtomicI64::new(0) })
    }

    /// Jumps, also back.
    fn jump(&self, by: i64) {
        self.off.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for Quick {
    fn now(&self) -> Time {
        let passed = i64::try_from(self.begun.elapsed().as_millis() * u128::from(SPEED)).unwrap();
        Time::from_millis(start().as_millis() + passed + self.off.load(Ordering::SeqCst))
    }

    fn real_duration(&self, span: Span) -> Duration {
        Duration::from_millis(span.as_millis()) / u32::try_from(SPEED).unwrap()
    }

    fn span_of_real(&self, real: Span) -> Span {
        Span::from_millis(real.as_millis() * LEASES)
    }
}

/// Feeds that have one more entry each time they are asked for, until they are told to rest; and how many each has had.
struct Farm {
    servers: Vec<Server>,
    ledger: Arc<Mutex<Ledger>>,
}

struct Ledger {
    published: BTreeMap<String, u32>,
    publishing: bool,
}

impl Farm {
    async fn new() -> Self {
        let ledger = Arc::new(Mutex::new(Ledger { published: BTreeMap::new(), publishing: true }));
        let mut servers = Vec::new();
        for host in 0..HOSTS {
            let server = Server::start_on([127, 0, 9, host + 1]).await;
            let (ledger, base) = (Arc::clone(&ledger), server.url("/"));
            server
                .on_all(move |request| answer(&ledger, base.join(&request.path).unwrap().as_str(), request));
            servers.push(server);
        }
        Self { servers, ledger }
    }

    fn urls(&self) -> Vec<String> {
        let feeds = |server: &Server| (0..FEEDS).map(|n| server.url(&format!("/{n}")).to_string()).collect();
        self.servers.iter().flat_map(|server| -> Vec<String> { feeds(server) }).collect()
    }

    /// How often anything was asked for.
    fn requests(&self) -> usize {
        self.servers.iter().map(|server| server.requests().len()).sum()
    }

    fn rest(&self, rests: bool) {
        self.ledger.lock().unwrap().publishing = !rests;
    }

    /// All that was ever published, by URL and number.
    fn published(&self) -> BTreeSet<String> {
        let ledger = self.ledger.lock().unwrap();
        let of = |(url, count): (&String, &u32)| (1..=*count).map(|n| guid(url, n)).collect::<Vec<_>>();
        ledger.published.iter().flat_map(of).collect()
    }
}

fn guid(url: &str, number: u32) -> String {
    format!("{url} {number}")
}

fn answer(ledger: &Mutex<Ledger>, url: &str, request: &Received) -> Reply {
    let mut ledger = ledger.lock().unwrap();
    let publishing = ledger.publishing;
    let count = ledger.published.entry(url.to_owned()).or_default();
    *count += u32::from(publishing);
    let etag = format!("\"{count}\"");
    if request.header("if-none-match").as_ref() == Some(&etag) {
        return Reply::status(304);
    }
    let entry = |n| format!("<item><guid>{0}</guid><description>{0}</description></item>", guid(url, n));
    let items: String = (1..=*count).map(entry).collect();
    let feed = format!("<rss version='2.0'><channel><title>Farm</title>{items}</channel></rss>");
    Reply::ok(feed).header("ETag", etag)
}

/// The log, which can be waited for.
#[derive(Clone, Default)]
struct Log(Captured);

impl Log {
    fn text(&self) -> String {
        self.0.text()
    }

    /// Waits until somebody was told this.
    async fn says(&self, words: &str) {
        until(
            async || self.text().contains(words),
            || format!("nobody was told '{words}':\n{}", self.text()),
        )
        .await;
    }
}

/// Waits for a condition.
async fn until(mut holds: impl AsyncFnMut() -> bool, otherwise: impl Fn() -> String) {
    support::until(PATIENCE, async || holds().await.then_some(()), async || otherwise()).await;
}

/// gleaner at work on a database, and what it works on.
struct Site {
    farm: Farm,
    clock: Arc<Quick>,
    url: String,
    patience: Duration,
    log: Log,
    running: Option<Running>,
    /// Tests run on one thread, so that all that is logged comes here.
    _logging: tracing::subscriber::DefaultGuard,
}

struct Running {
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    tasks: [JoinHandle<()>; 2],
}

impl Site {
    /// With the farm's feeds as sources, polling.
    async fn new(url: &str) -> Self {
        Self::with(url, Options::new(url).time_limit).await
    }

    /// The same, waiting so long for an answer of the database.
    async fn with(url: &str, patience: Duration) -> Self {
        let log = Log::default();
        let writer = log.0.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::INFO)
            .with_writer(move || writer.clone())
            .finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let farm = Farm::new().await;
        let mut site = Self {
            farm,
            clock: Quick::new(),
            url: url.to_owned(),
            patience,
            log,
            running: None,
            _logging: logging,
        };
        site.start().await;
        let service = Arc::clone(&site.running().service);
        let actor = service.local().await.unwrap();
        for url in site.farm.urls() {
            service.by(&actor).add(&new_feed(&url)).await.unwrap();
        }
        site.publishes(2).await;
        site
    }

    /// Opens the database and polls.
    async fn start(&mut self) {
        let options = Options { time_limit: self.patience, ..Options::new(&self.url) };
        let store = open(&options).await.unwrap();
        let clock = Arc::clone(&self.clock) as _;
        let service = Arc::new(Service::new(store, config(&self.url), clock, RandomSource::seeded(1)));
        let (stop, stopped) = watch::channel(false);
        let until = |mut stopped: watch::Receiver<bool>| async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let engine = service.engine("test").unwrap();
        let polling = tokio::spawn(engine.run(until(stopped.clone())));
        let telling = Arc::clone(&service);
        let telling = tokio::spawn(async move { telling.dispatch(until(stopped)).await });
        self.running = Some(Running { service, stop, tasks: [polling, telling] });
    }

    /// Waits until every feed has published so many more than now.
    async fn publishes(&self, more: u32) {
        let now = |url: &String| self.farm.ledger.lock().unwrap().published.get(url).copied().unwrap_or(0);
        let urls = self.farm.urls();
        let wanted: Vec<u32> = urls.iter().map(|url| now(url) + more).collect();
        let left = || {
            let late = urls.iter().zip(&wanted).filter(|(url, wanted)| now(url) < **wanted);
            late.map(|(url, _)| url.as_str()).collect::<Vec<_>>().join(" ")
        };
        until(async || left().is_empty(), || format!("not polled any more: {}\n{}", left(), self.log.text()))
            .await;
    }

    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// Stops as a person would have it stopped.
    async fn stop(&mut self) {
        let Running { stop, tasks, .. } = self.running.take().unwrap();
        stop.send_replace(true);
        for task in tasks {
            tokio::time::timeout(PATIENCE, task).await.expect("it stops").unwrap();
        }
    }

    /// The farm rests, and all that it published is there: every post once, and told once.
    async fn agrees(&mut self) {
        // What was committed before the fault must not be all there is.
        self.publishes(2).await;
        self.farm.rest(true);
        let store = open(&Options::new(&self.url)).await.unwrap();
        let there = async || -> Vec<String> {
            let all = store.posts(&PostFilter::default(), None, 1_000_000).await.unwrap();
            all.into_iter().map(|post| post.content.guid).collect()
        };
        let published = self.farm.published();
        until(
            async || BTreeSet::from_iter(there().await) == published,
            || format!("database and ledger do not agree:\n{}", self.log.text()),
        )
        .await;
        self.stop().await;
        let there = there().await;
        assert_eq!(there.len(), published.len(), "every post is there once");
        self.all_is_told(&*store).await;
        self.farm.rest(false);
    }

    /// Every post was told of once, and nothing is held against anybody.
    async fn all_is_told(&self, store: &dyn Store) {
        while store.number_events(1000).await.unwrap() > 0 {}
        let events = store.events(0, 1_000_000).await.unwrap();
        let ids = |payload: &str| -> Vec<i64> {
            let payload: serde_json::Value = serde_json::from_str(payload).unwrap();
            payload["post_ids"].as_array().into_iter().flatten().filter_map(|id| id.as_i64()).collect()
        };
        let created = events.iter().filter(|event| event.event.kind == "post.created");
        let mut told: Vec<i64> = created.flat_map(|event| ids(&event.event.payload)).collect();
        let posts = store.posts(&PostFilter::default(), None, 1_000_000).await.unwrap();
        let mut posts: Vec<i64> = posts.iter().map(|post| post.id).collect();
        told.sort_unstable();
        posts.sort_unstable();
        assert_eq!(told, posts, "every post is told of once");
        for source in store.sources(&SourceFilter::default(), None, 1000).await.unwrap() {
            assert_eq!(
                source.health.status().name(),
                "healthy",
                "{}: {:?}",
                source.settings.url,
                source.health
            );
        }
    }
}

fn config(url: &str) -> Config {
    let settings = [
        format!("store.url={url}"),
        "source.poll_interval_minutes=1".to_owned(),
        "fetch.allow_private_networks=[\"127.0.0.0/8\"]".to_owned(),
    ];
    let flags = settings.map(|assignment| Flag { name: "test".into(), assignment }).into();
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).unwrap_or_else(|errors| panic!("{errors}")).config
}
