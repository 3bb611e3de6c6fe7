//! A small world to poll: a server that answers as told, names for it, a database, an engine and a clock.

use std::sync::Arc;

use gleaner::clock::{Clock as _, ManualClock, RandomSource};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::engine::{Context, Engine, Readers};
use gleaner::fetch::{Fetcher, NetworkOverrides};
use gleaner::metrics::Metrics;
use gleaner::service::{Actor, By, Service, SourceSettings};
use gleaner::store::{Poll, Post, PostFilter, Source, SourceFilter, Store};
use gleaner_core::backfill::Backfill;
use gleaner_core::time::{Span, Time};
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::api_client::ApiClient;
use crate::support::ca::Ca;
use crate::support::dns::{self, Dns};
use crate::support::http::{Reply, Server};
use crate::support::log::Captured;
use crate::support::{Database, new_feed, start};

/// What a server does with a request.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// This document.
    Body(String),
    /// An empty answer.
    Status(u16),
    /// Nothing at all.
    Never,
    /// A beginning, and then nothing.
    StopsInTheMiddle,
    /// The connection is reset.
    Reset,
}

impl Answer {
    pub(super) fn body(text: &str) -> Self {
        Self::Body(text.to_owned())
    }

    /// A feed of undated entries with these texts.
    pub(super) fn feed(texts: &[&str]) -> Self {
        let items: String = texts
            .iter()
            .map(|text| format!("<item><guid>{text}</guid><description>{text}</description></item>"))
            .collect();
        Self::Body(rss(&items))
    }

    /// A feed of these entries.
    pub(super) fn items(items: &[Item]) -> Self {
        Self::Body(rss(&items.iter().map(Item::xml).collect::<String>()))
    }

    pub(super) fn reply(self) -> Reply {
        match self {
            Self::Body(text) => Reply::ok(text).header("ETag", "\"some\""),
            Self::Status(status) => Reply::status(status),
            Self::Never => Reply::raw("").stall(),
            Self::StopsInTheMiddle => Reply::head("Content-Length: 1000").send("<rss><channel>").stall(),
            Self::Reset => Reply::raw("").reset(),
        }
    }
}

pub(super) fn rss(items: &str) -> String {
    format!("<rss version='2.0'><channel><title>Some feed</title>{items}</channel></rss>")
}

/// An entry of a feed.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) title: String,
    pub(super) link: String,
    pub(super) text: String,
    pub(super) published: Time,
}

impl Item {
    /// An entry with this text, published a minute after the world's beginning.
    pub(super) fn new(text: &str) -> Self {
        Self {
            title: format!("On {text}"),
            link: format!("https://a.test/{}", text.replace(' ', "-")),
            text: text.to_owned(),
            published: start() + Span::from_mins(1),
        }
    }

    fn xml(&self) -> String {
        format!(
            "<item><guid>{}</guid><title>{}</title><link>{}</link><author>Ada</author>\
             <description>&lt;p&gt;{}&lt;/p&gt;</description><pubDate>{}</pubDate></item>",
            self.text, self.title, self.link, self.text, self.published
        )
    }
}

pub(super) struct World {
    db: Database,
    config: Config,
    clock: Arc<ManualClock>,
    server: Arc<Server>,
    dns: Dns,
    network_overrides: NetworkOverrides,
    readers: Readers,
    metrics: Arc<Metrics>,
    engine: Engine,
    service: Arc<Service>,
    actor: Actor,
    api: OnceCell<Arc<ApiClient>>,
    log: Captured,
    /// Tests run on one thread, so that all that polls log comes here.
    _logging: tracing::subscriber::DefaultGuard,
}

impl World {
    /// A world with these settings, `key=value` each.
    pub(super) async fn new(db: Database, settings: &[&str]) -> Self {
        Self::with(db, settings, Vec::new()).await
    }

    /// A world that trusts this authority.
    pub(super) async fn trusting(db: Database, settings: &[&str], ca: &Ca) -> Self {
        Self::with(db, settings, vec![ca.root()]).await
    }

    async fn with(db: Database, settings: &[&str], roots: Vec<CertificateDer<'static>>) -> Self {
        let (log, logging) = Captured::json();
        let config = config(settings);
        let clock = Arc::new(ManualClock::new(start()));
        let server = Arc::new(Server::start().await);
        let dns = Dns::start().await;
        let readers = Readers::default();
        let network_overrides = NetworkOverrides {
            name_server: Some(dns.address()),
            extra_roots: roots,
            ..NetworkOverrides::default()
        };
        let metrics = Arc::default();
        let engine = engine(&db, &config, &clock, &network_overrides, readers, &metrics);
        let (store, shown_clock) = (Arc::clone(&db.store), Arc::clone(&clock));
        let service = Arc::new(Service::new(store, config.clone(), shown_clock, RandomSource::seeded(1)));
        let actor = service.local().await.unwrap();
        Self {
            db,
            config,
            clock,
            server,
            dns,
            network_overrides,
            readers,
            metrics,
            engine,
            service,
            actor,
            api: OnceCell::new(),
            log,
            _logging: logging,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn clock(&self) -> &ManualClock {
        &self.clock
    }

    pub(super) fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    pub(super) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.db.store)
    }

    pub(super) fn database(&self) -> &Database {
        &self.db
    }

    /// Runs the real loop until told to stop, and a new engine afterwards.
    pub(super) async fn run_until(&mut self, stop: impl Future<Output = ()>) {
        let next =
            engine(&self.db, &self.config, &self.clock, &self.network_overrides, self.readers, &self.metrics);
        std::mem::replace(&mut self.engine, next).run(stop).await;
    }

    pub(super) fn service(&self) -> By<'_> {
        self.service.by(&self.actor)
    }

    /// The API of this world; it starts with its first use.
    pub(super) async fn api(&self) -> Arc<ApiClient> {
        let start = async || Arc::new(ApiClient::start(&self.service, &self.actor).await);
        Arc::clone(self.api.get_or_init(start).await)
    }

    /// A source as the API shows it.
    pub(super) async fn source_json(&self, id: i64) -> Value {
        self.api().await.get(&format!("/sources/{id}")).await
    }

    /// The latest poll of a source as the API shows it.
    pub(super) async fn poll_json(&self, id: i64) -> Value {
        self.api().await.get(&format!("/sources/{id}/polls?limit=1")).await["items"][0].take()
    }

    pub(super) fn share_server(&self) -> Arc<Server> {
        Arc::clone(&self.server)
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// From now on, requests for this path are answered so.
    pub(super) fn answer(&self, path: &str, answer: Answer) {
        for sibling in 0..self.db.siblings {
            self.server.on(&sibling_path(path, sibling), answer.clone().reply());
        }
        self.server.on(path, answer.reply());
    }

    /// Adds a feed on that host, due at once, without old entries.
    pub(super) async fn add(&mut self, host: &str, path: &str) -> i64 {
        self.add_with(host, path, |_| {}).await
    }

    pub(super) async fn add_with(
        &mut self,
        host: &str,
        path: &str,
        change: impl FnOnce(&mut SourceSettings),
    ) -> i64 {
        self.dns.set(host, dns::Answer::Ips(vec![self.server.address().ip()]));
        let mut new = SourceSettings { backfill: Backfill::None, ..new_feed(self.server.url_of(host, path)) };
        change(&mut new);
        for sibling in 0..self.db.siblings {
            let url = self.server.url_of(host, &sibling_path(path, sibling)).to_string();
            self.service().add(&SourceSettings { url, ..new.clone() }).await.unwrap();
        }
        self.service().add(&new).await.unwrap().id
    }

    /// Adds a feed that the server knows nothing of.
    pub(super) async fn add_url(&mut self, url: &str, change: impl FnOnce(&mut SourceSettings)) -> i64 {
        let host = gleaner_core::link::host(url).unwrap();
        if host.ends_with(".test") {
            self.dns.set(&host, dns::Answer::Ips(vec![self.server.address().ip()]));
        }
        let mut new = new_feed(url);
        change(&mut new);
        self.service().add(&new).await.unwrap().id
    }

    /// What name servers say about a name from now on.
    pub(super) fn set_name(&self, host: &str, answer: dns::Answer) {
        self.dns.set(host, answer);
    }

    /// What the engine measures.
    pub(super) fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }

    /// Adds a feed on a host that refuses connections: nobody listens at its address.
    pub(super) async fn add_refused(&mut self, host: &str) -> i64 {
        self.dns.set(host, dns::Answer::Ips(vec![std::net::Ipv4Addr::new(127, 9, 9, 9).into()]));
        let url = self.server.url_of(host, "/feed");
        self.service().add(&new_feed(url)).await.unwrap().id
    }

    /// The name leads to the server.
    pub(super) fn add_name(&self, host: &str) {
        self.dns.set(host, dns::Answer::Ips(vec![self.server.address().ip()]));
    }

    pub(super) fn share_clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.clock)
    }

    /// Keeps what the settings say, as the loop does when it starts.
    pub(super) async fn engine_reschedule(&self) {
        self.engine.reschedule().await.unwrap();
    }

    /// Closes every connection.
    pub(super) fn hang_up(&mut self) {
        self.server.hang_up();
    }

    /// Other readers from now on.
    pub(super) fn readers(&mut self, change: impl FnOnce(&mut Readers)) {
        change(&mut self.readers);
        self.engine =
            engine(&self.db, &self.config, &self.clock, &self.network_overrides, self.readers, &self.metrics);
    }

    /// Answers byte for byte.
    pub(super) fn reply(&self, path: &str, reply: Reply) {
        self.server.on(path, reply);
    }

    /// The process ends and begins anew, with these settings.
    pub(super) async fn restart_with(&mut self, settings: &[&str]) -> u64 {
        self.config = config(settings);
        self.engine =
            engine(&self.db, &self.config, &self.clock, &self.network_overrides, self.readers, &self.metrics);
        self.engine.reschedule().await.unwrap()
    }

    /// The process ends and begins anew.
    pub(super) async fn restart(&mut self) {
        self.engine.idle().await;
        self.engine =
            engine(&self.db, &self.config, &self.clock, &self.network_overrides, self.readers, &self.metrics);
        self.engine.tick(self.now()).await.unwrap();
        self.engine.idle().await;
    }

    /// Polls all that is due now, and tells how many sources that were.
    pub(super) async fn poll_due(&mut self) -> usize {
        self.engine.run_due(self.clock.now()).await.unwrap().sources
    }

    /// Begins what is due, and does not wait for it.
    pub(super) async fn begin_due(&mut self) {
        self.engine.tick(self.clock.now()).await.unwrap();
    }

    /// Waits for what was begun.
    pub(super) async fn finish(&mut self) {
        self.engine.idle().await;
    }

    /// Waits until a source is as asked for.
    pub(super) async fn until(&self, id: i64, is: impl Fn(&Source) -> bool) {
        while !is(&self.source(id).await) {
            tokio::task::yield_now().await;
        }
    }

    /// Lets time pass until a source is due, and polls it.
    pub(super) async fn poll_next(&mut self, id: i64) -> Source {
        let next = self.source(id).await.next_poll_at.expect("it is to be polled");
        self.clock.set(next.max(self.now()));
        self.poll_due().await;
        self.source(id).await
    }

    /// Polls a source so many times, each when it is due.
    pub(super) async fn poll_times(&mut self, id: i64, times: u32) {
        for _ in 0..times {
            self.poll_next(id).await;
        }
    }

    pub(super) async fn source(&self, id: i64) -> Source {
        self.db.store.source(id).await.unwrap()
    }

    pub(super) async fn all_sources(&self) -> Vec<Source> {
        self.db.store.sources(&SourceFilter::default(), None, 10_000).await.unwrap()
    }

    /// How often it has failed in a row.
    pub(super) async fn failures(&self, id: i64) -> u32 {
        self.source(id).await.health.failing.map_or(0, |row| row.count)
    }

    /// A source's posts, newest first.
    pub(super) async fn posts(&self, id: i64) -> Vec<Post> {
        let filter = PostFilter { source_ids: vec![id], ..PostFilter::default() };
        self.db.store.posts(&filter, None, 1000).await.unwrap()
    }

    /// The texts of a source's posts, newest first.
    pub(super) async fn bodies(&self, id: i64) -> Vec<String> {
        self.posts(id).await.into_iter().map(|post| post.content.body).collect()
    }

    /// A source's history, newest first.
    pub(super) async fn polls(&self, id: i64) -> Vec<Poll> {
        self.db.store.polls(id, None, 1000).await.unwrap()
    }

    /// How often a path was asked for.
    pub(super) fn requests(&self, path: &str) -> usize {
        self.asked_paths().iter().filter(|asked| *asked == path).count()
    }

    /// Every path that was asked for, in order.
    pub(super) fn asked_paths(&self) -> Vec<String> {
        self.server.requests().into_iter().map(|request| request.path).collect()
    }

    /// All that was logged.
    pub(super) fn log(&self) -> String {
        self.log.text()
    }

    /// Lines with this message about this URL.
    pub(super) fn logs_of(&self, message: &str, url: &str) -> Vec<Value> {
        let lines = self.log();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["message"] == message && line["url"] == url).collect()
    }

    /// The latest of them.
    pub(super) fn log_of(&self, message: &str, url: &str) -> Value {
        self.logs_of(message, url)
            .pop()
            .unwrap_or_else(|| panic!("'{message}' was logged of {url}:\n{}", self.log()))
    }
}

/// Where a sibling of the source at that path is.
fn sibling_path(path: &str, sibling: usize) -> String {
    format!("{path}-sibling-{sibling}")
}

fn config(settings: &[&str]) -> Config {
    let secret = format!("api.jwt_secret={}", "0123456789abcdef".repeat(2));
    let usual = [secret.as_str(), "fetch.allow_private_networks=[\"127.0.0.0/8\"]"];
    let all = settings.iter().copied().chain(usual);
    let flags = all.map(|set| Flag { name: "test".into(), assignment: set.into() }).collect();
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).unwrap_or_else(|errors| panic!("{errors}")).config
}

fn engine(
    db: &Database,
    config: &Config,
    clock: &Arc<ManualClock>,
    network_overrides: &NetworkOverrides,
    readers: Readers,
    metrics: &Arc<Metrics>,
) -> Engine {
    let context = Context {
        store: Arc::clone(&db.store),
        fetcher: Fetcher::new(&config.fetch, network_overrides).unwrap(),
        config: config.clone(),
        clock: Arc::clone(clock) as _,
        random: RandomSource::seeded(1),
        readers,
        metrics: Arc::clone(metrics),
        committed: Default::default(),
    };
    Engine::new(context, "test")
}
