//! A year of polling with a manual clock and random failures, in which nothing may be lost.
//!
//! `cargo run --release --example long_run -- [--sources N] [--days N] [--seed N] [--store URL]`. The last line is
//! JSON. The sources are on a loopback server that publishes, fails, limits and counts. At the end every post that
//! it ever served must be stored exactly once, no host may have been requested concurrently or too early, and no
//! source may be forgotten. The same seed gives the same year.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use gleaner::clock::{Clock as _, ManualClock, RandomSource};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::engine::{Context, Engine, Readers};
use gleaner::fetch::{Fetcher, NetworkOverrides};
use gleaner::service::{Service, SourceSettings};
use gleaner::store::{Options, PostFilter, SourceFilter, Store, open};
use gleaner_core::backfill::Backfill;
use gleaner_core::schedule::LONGEST_HOLD;
use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The size and seed of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) sources: u32,
    pub(crate) days: u64,
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) polls: u64,
    pub(crate) failed: u64,
    pub(crate) posts: usize,
}

const HOUR: u64 = 3_600_000;
/// Entries in a feed.
const WINDOW: u64 = 20;
const SOURCES_PER_HOST: u32 = 3;
const INTERVAL: Span = Span::from_hours(12);

fn begin() -> Time {
    Time::from_millis(1_790_000_000_000)
}

/// A pseudo-random number that depends only on its arguments.
fn draw(seed: u64, source: u32, what: u64) -> u64 {
    let mut x = seed ^ (u64::from(source) << 32) ^ what.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// How a source's server responds at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Normal,
    Status(u16),
    /// 429 with a `Retry-After` in hours.
    Limited(u64),
    /// The connection closes before the document is complete.
    Truncated,
    /// Something that is not a feed.
    Garbled,
}

/// Each source has periods of a day, most of them normal.
fn behaviour(seed: u64, source: u32, now: Time) -> Behaviour {
    let day = now.since(begin()).as_hours() / 24;
    let spell = draw(seed, source, 1000 + day);
    let hour = draw(seed, source, 1_000_000 + now.since(begin()).as_hours());
    match spell % 100 {
        // All day.
        0..3 => Behaviour::Status(404),
        3..6 => Behaviour::Status(503),
        6 => Behaviour::Status(410),
        7..9 => Behaviour::Limited(1 + spell % 5),
        9 => Behaviour::Garbled,
        // Sometimes.
        10..20 if hour.is_multiple_of(2) => Behaviour::Status(500),
        20..30 if hour.is_multiple_of(3) => Behaviour::Truncated,
        _ => Behaviour::Normal,
    }
}

/// The number of posts that a source has published: one every few hours, at its own rate.
fn published(seed: u64, source: u32, now: Time) -> u64 {
    let every = 2 + draw(seed, source, 1) % 40;
    1 + now.since(begin()).as_millis() / (every * HOUR)
}

/// What the server recorded.
#[derive(Default)]
struct Ledger {
    served: HashSet<(u32, u64)>,
    last_asked: HashMap<u32, Time>,
    /// Times at which a working source was requested without validators.
    whole: HashMap<u32, Vec<Time>>,
    last_well: HashMap<u32, Time>,
    not_before: HashMap<u32, Time>,
    at_once: HashMap<Ipv4Addr, u32>,
    asked: u64,
    failed: u64,
    errors: Vec<String>,
}

struct Internet {
    plan: Plan,
    clock: Arc<ManualClock>,
    ledger: Mutex<Ledger>,
}

impl Internet {
    /// Records a request, and any error in it.
    fn asked(&self, source: u32, conditional: bool) -> Behaviour {
        let now = self.clock.now();
        let behaviour = behaviour(self.plan.seed, source, now);
        let mut ledger = self.ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ledger.asked += 1;
        if ledger.not_before.get(&source).is_some_and(|at| now < *at) {
            ledger
                .errors
                .push(format!("source {source} was asked at {now}, before its Retry-After was over"));
        }
        if ledger.last_well.get(&source).is_some_and(|at| now < *at + INTERVAL) {
            ledger.errors.push(format!("source {source} was asked at {now}, within its interval"));
        }
        if !conditional {
            // Weeks start at a fixed time for each source: at most two of these are within seven days.
            let whole = ledger.whole.entry(source).or_default();
            let lately = whole.iter().filter(|at| now.since(**at) < Span::from_days(7)).count();
            if behaviour == Behaviour::Normal {
                whole.push(now);
            }
            if lately >= 2 {
                ledger.errors.push(format!("source {source} was asked without its validators at {now}"));
            }
        }
        ledger.last_asked.insert(source, now);
        ledger.not_before.remove(&source);
        match behaviour {
            Behaviour::Normal => {
                ledger.last_well.insert(source, now);
            }
            Behaviour::Limited(hours) => {
                ledger.failed += 1;
                ledger.last_well.remove(&source);
                // It works again afterwards, but still has its validators.
                ledger.not_before.insert(source, now + Span::from_hours(hours).min(LONGEST_HOLD));
            }
            _ => {
                ledger.failed += 1;
                ledger.last_well.remove(&source);
            }
        }
        behaviour
    }

    fn answer(&self, source: u32, validator: Option<&str>) -> Vec<u8> {
        let behaviour = self.asked(source, validator.is_some());
        let reply = |status: &str, headers: &str, body: &str| {
            format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        };
        match behaviour {
            Behaviour::Status(status) => reply(&format!("{status} Trouble"), "", ""),
            Behaviour::Limited(hours) => {
                reply("429 Slow down", &format!("Retry-After: {}\r\n", hours * 3600), "")
            }
            Behaviour::Garbled => reply("200 OK", "", "<html>We are moving house</html>"),
            Behaviour::Truncated => b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<rss><channel>".to_vec(),
            Behaviour::Normal => {
                let newest = published(self.plan.seed, source, self.clock.now());
                let etag = format!("\"{newest}\"");
                if validator == Some(&etag) {
                    return format!("HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n").into_bytes();
                }
                let window = newest.saturating_sub(WINDOW) + 1..=newest;
                let mut ledger = self.ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                ledger.served.extend(window.clone().map(|n| (source, n)));
                let items: String = window
                    .map(|n| format!("<item><guid>{source}/{n}</guid><description>Post {n} of {source}</description></item>"))
                    .collect();
                let body =
                    format!("<rss version='2.0'><channel><title>{source}</title>{items}</channel></rss>");
                reply("200 OK", &format!("ETag: {etag}\r\n"), &body)
            }
        }
    }

    /// Serves a connection; a truncated document ends it.
    async fn serve(&self, mut stream: TcpStream, host: Ipv4Addr) {
        let mut head = Vec::new();
        let mut buffer = [0; 2048];
        loop {
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut buffer).await {
                    Ok(count @ 1..) => head.extend_from_slice(&buffer[..count]),
                    _ => return,
                }
            }
            let text = String::from_utf8_lossy(&head).into_owned();
            head.clear();
            let source = text.split(['/', ' ']).nth(2).and_then(|number| number.parse().ok());
            // gleaner also requests the site of a dead feed, to find a relocation.
            let Some(source) = source else {
                let nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
                if stream.write_all(nothing).await.is_err() {
                    return;
                }
                continue;
            };
            let validator = text.lines().find_map(|line| line.strip_prefix("if-none-match: "));
            self.enter(host, 1);
            let answer = self.answer(source, validator);
            let cut_short = answer.windows(20).any(|part| part == b"Content-Length: 5000");
            let sent = stream.write_all(&answer).await;
            self.enter(host, -1);
            if sent.is_err() || cut_short {
                return;
            }
        }
    }

    fn enter(&self, host: Ipv4Addr, change: i32) {
        let mut ledger = self.ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let count = ledger.at_once.entry(host).or_default();
        *count = count.saturating_add_signed(change);
        if *count > 1 {
            ledger.errors.push(format!("{host} was asked twice at once"));
        }
    }
}

/// Starts a server for each host; returns the addresses in order.
async fn start(internet: &Arc<Internet>, hosts: u32) -> Result<Vec<SocketAddr>, Error> {
    let mut addresses = Vec::new();
    for host in 0..hosts {
        let ip = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + host);
        let listener = TcpListener::bind((ip, 0)).await?;
        addresses.push(listener.local_addr()?);
        let internet = Arc::clone(internet);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let internet = Arc::clone(&internet);
                tokio::spawn(async move { internet.serve(stream, ip).await });
            }
        });
    }
    Ok(addresses)
}

/// Runs the plan on an empty store, and checks everything.
pub(crate) async fn run(store: Arc<dyn Store>, plan: Plan, progress: impl Fn(u64)) -> Result<Report, Error> {
    let clock = Arc::new(ManualClock::new(begin()));
    let internet = Arc::new(Internet { plan, clock: Arc::clone(&clock), ledger: Mutex::default() });
    let addresses = start(&internet, plan.sources.div_ceil(SOURCES_PER_HOST)).await?;
    let config = config()?;
    let service = Service::new(
        Arc::clone(&store),
        config.clone(),
        Arc::clone(&clock) as _,
        RandomSource::seeded(plan.seed),
    );
    let actor = service.local().await?;
    for source in 0..plan.sources {
        let address = addresses[(source / SOURCES_PER_HOST) as usize];
        let minutes = u32::try_from(INTERVAL.as_mins())?;
        let new = SourceSettings {
            interval: Interval::Minutes(minutes),
            backfill: Backfill::All,
            ..SourceSettings::feed(1, format!("http://{address}/{source}"))
        };
        service.by(&actor).add_spread(&new).await?;
    }
    let mut engine = engine(&store, &config, &clock, plan.seed)?;
    let end = begin() + Span::from_days(plan.days);
    let (mut tick, mut day) = (0_u64, 0);
    while clock.now() < end {
        engine.run_due(clock.now()).await?;
        clock.advance(Span::from_mins(45));
        tick += 1;
        if draw(plan.seed, 0, tick).is_multiple_of(100) {
            // Restarts the engine now and then.
            engine = self::engine(&store, &config, &clock, plan.seed ^ tick)?;
        }
        if clock.now().since(begin()).as_hours() / 24 > day {
            day += 1;
            progress(day);
        }
    }
    check(&*store, &internet, end).await
}

fn config() -> Result<Config, Error> {
    let set = |assignment: &str| Flag { name: "long_run".into(), assignment: assignment.into() };
    let flags = vec![
        set("fetch.allow_private_networks=[\"127.0.0.0/8\"]"),
        set("source.max_article_age_days=0"),
        set("source.keep_unlinked_posts_days=0"),
    ];
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Ok(Config::load(&inputs).map_err(|errors| errors.to_string())?.config)
}

fn engine(
    store: &Arc<dyn Store>,
    config: &Config,
    clock: &Arc<ManualClock>,
    seed: u64,
) -> Result<Engine, Error> {
    let context = Context {
        store: Arc::clone(store),
        fetcher: Fetcher::new(&config.fetch, &NetworkOverrides::default())?,
        config: config.clone(),
        clock: Arc::clone(clock) as _,
        random: RandomSource::seeded(seed),
        readers: Readers::default(),
        metrics: Default::default(),
        committed: Default::default(),
    };
    Ok(Engine::new(context, "long_run"))
}

/// Every post that was ever served is stored once, and nothing else; no errors were recorded; no source was
/// forgotten.
async fn check(store: &dyn Store, internet: &Internet, end: Time) -> Result<Report, Error> {
    let (served, errors, polls, failed) = {
        let ledger = internet.ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (ledger.served.clone(), ledger.errors.clone(), ledger.asked, ledger.failed)
    };
    if let Some(first) = errors.first() {
        return Err(format!("{} wrongs, the first: {first}", errors.len()).into());
    }
    let expected: HashSet<String> = served.iter().map(|(source, n)| format!("{source}/{n}")).collect();
    let mut stored = HashSet::new();
    let mut before = None;
    loop {
        let page = store.posts(&PostFilter::default(), before, 1000).await?;
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        for post in page {
            if !stored.insert(post.content.guid.clone()) {
                return Err(format!("post {} is stored twice", post.content.guid).into());
            }
        }
    }
    if let Some(lost) = expected.difference(&stored).next() {
        return Err(format!("{} posts lost, such as {lost}", expected.difference(&stored).count()).into());
    }
    if let Some(invented) = stored.difference(&expected).next() {
        return Err(format!("post {invented} was never served").into());
    }
    for source in store.sources(&SourceFilter::default(), None, u32::MAX).await? {
        let next =
            source.next_poll_at.ok_or_else(|| format!("{} is never polled again", source.settings.url))?;
        if next > end + Span::from_days(31) || source.health.last_polled_at.is_none() {
            return Err(format!("{} was forgotten until {next}", source.settings.url).into());
        }
    }
    Ok(Report { polls, failed, posts: stored.len() })
}

#[cfg_attr(test, expect(dead_code, reason = "the tests call the parts"))]
#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let (mut plan, mut url) = (Plan { sources: 1000, days: 365, seed: 1 }, None);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--sources", Some(n)) => plan.sources = n.parse()?,
            ("--days", Some(n)) => plan.days = n.parse()?,
            ("--seed", Some(n)) => plan.seed = n.parse()?,
            ("--store", Some(text)) => url = Some(text),
            _ => return Err("usage: long_run [--sources N] [--days N] [--seed N] [--store URL]".into()),
        }
    }
    let directory = tempfile::tempdir()?;
    let url = url.unwrap_or_else(|| directory.path().join("long_run.db").display().to_string());
    let store = open(&Options::new(&url)).await?;
    eprintln!("{plan:?} on {url}");
    let report = run(store, plan, |day| {
        if day.is_multiple_of(30) {
            eprintln!("day {day} of {}", plan.days);
        }
    })
    .await?;
    println!(
        "{{\"sources\":{},\"days\":{},\"seed\":{},\"polls\":{},\"failed\":{},\"posts\":{},\"lost\":0,\"doubled\":0}}",
        plan.sources, plan.days, plan.seed, report.polls, report.failed, report.posts
    );
    Ok(())
}
