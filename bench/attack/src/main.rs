//! Attacks a running gleaner from loopback, and measures its responses, its resource usage, and whether it keeps
//! polling.
//!
//! Run by `make attack`. Prints one line per result and one line of JSON at the end; fails if a limit is exceeded.
//! The target is the real binary, which polls a feed farm. Only loopback is used, and nothing runs after the end.

mod farm;
mod gleaner;
mod hostile;
mod http;

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use farm::Farm;
use gleaner::Gleaner;
use hostile::{Statuses, at_once, guess};
use http::{address, connect, request, send};

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

const HELP: &str = "\
Starts a gleaner on loopback, and attacks it.

  --seconds N      duration of the measured attack (60)
  --connections N  hostile connections (1000)
  --logins N       login attempts per second (200)
  --sources N      feeds that are polled once a minute (600)
  --streams N      event streams (10000)
";

/// The limits.
const HEALTH_MS: u64 = 100;
const MEMORY_MB: u64 = 400;
const POLLS: f64 = 0.8;
const STOP: Duration = Duration::from_secs(25);
const SELECTOR: Duration = Duration::from_secs(10);

const PASSWORD: &str = "correct horse battery";

struct Plan {
    seconds: u64,
    connections: usize,
    logins: u32,
    sources: usize,
    streams: usize,
}

impl Plan {
    fn read(arguments: &[String]) -> Result<Self, Error> {
        let mut plan = Self { seconds: 60, connections: 1000, logins: 200, sources: 600, streams: 10_000 };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(HELP.into()) };
            match name.as_str() {
                "--seconds" => plan.seconds = value.parse()?,
                "--connections" => plan.connections = value.parse()?,
                "--logins" => plan.logins = value.parse()?,
                "--sources" => plan.sources = value.parse()?,
                "--streams" => plan.streams = value.parse()?,
                _ => return Err(HELP.into()),
            }
        }
        Ok(plan)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match Plan::read(&arguments) {
        Ok(plan) => run(&plan).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The results, and the exceeded limits.
#[derive(Default)]
struct Report {
    fields: Vec<String>,
    exceeded: Vec<String>,
}

impl Report {
    fn add(&mut self, name: &str, json: impl std::fmt::Display) {
        println!("{name} {json}");
        self.fields.push(format!("\"{name}\":{json}"));
    }

    fn require(&mut self, holds: bool, limit: &str) {
        if !holds {
            println!("LIMIT EXCEEDED: {limit}");
            self.exceeded.push(format!("\"{limit}\""));
        }
    }
}

async fn run(plan: &Plan) -> Result<bool, Error> {
    let farm = Farm::start().await?;
    let streams = format!("api.max_streams={}", plan.streams.max(100));
    let per_user = format!("api.max_streams_per_user={}", plan.streams.max(100));
    let per_address = format!("api.max_connections_per_address={}", plan.streams + 250);
    let mut gleaner = Gleaner::start(&[
        "api.listen=\"127.0.0.1:0\"",
        "fetch.allow_private_networks=[\"127.0.0.0/8\"]",
        "source.poll_interval_minutes=1",
        "log.level=warn",
        &streams,
        &per_user,
        &per_address,
    ])
    .await?;
    let mut report = Report::default();
    let json = format!("{{\"password\":\"{PASSWORD}\"}}");
    gleaner.send("PUT", "/users/admin/password", Some(&json)).await?;
    let right = request("POST", "/api/v1/login", None, Some(("application/json", &login(None))));
    let device = send(Ipv4Addr::LOCALHOST, gleaner.address, &right, STOP).await?;
    let device = device.field("device").map(str::to_owned);
    add_sources(&gleaner, &farm, plan.sources).await?;
    report.add("memory_at_rest_mb", gleaner.memory());

    memory_by_login(&gleaner, &mut report).await;
    guess_passwords(&gleaner, device.as_deref(), &mut report).await;
    poll_slow_selectors(&gleaner, &farm, &mut report).await?;
    under_attack(&gleaner, &farm, plan, device.as_deref(), &mut report).await;
    let held = event_streams(&gleaner, plan.streams, &mut report).await;
    // Stopped while the attack continues.
    let _hostile = hostile::connections(plan.connections, gleaner.address);
    let _logins = hostile::logins(plan.logins, gleaner.address, &Statuses::new());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let stopped = gleaner.stop(STOP + Duration::from_secs(15)).await?;
    drop(held);
    report.add(
        "stopped_after_s",
        stopped.map_or("null".to_owned(), |took| format!("{:.1}", took.as_secs_f64())),
    );
    report.require(stopped.is_some_and(|took| took <= STOP), "it stops within 25 s of SIGTERM");
    println!("{{{},\"exceeded\":[{}]}}", report.fields.join(","), report.exceeded.join(","));
    Ok(report.exceeded.is_empty())
}

fn login(device: Option<&str>) -> String {
    let device = device.map_or(String::new(), |device| format!(",\"device\":\"{device}\""));
    format!("{{\"name\":\"admin\",\"password\":\"{PASSWORD}\"{device}}}")
}

async fn add_sources(gleaner: &Gleaner, farm: &Farm, count: usize) -> Result<(), Error> {
    let outlines: String = (0..count)
        .map(|n| {
            let url = farm.url(address(40, n / 10), &format!("/feed/{n}"));
            format!("<outline type=\"rss\" text=\"{n}\" xmlUrl=\"{url}\"/>")
        })
        .collect();
    let opml = format!("<opml version=\"2.0\"><body>{outlines}</body></opml>");
    let answer = gleaner.send_as("POST", "/import", Some(("text/x-opml", &opml))).await?;
    println!("import {} added {}", answer.status, answer.number("added").unwrap_or(0));
    Ok(())
}

/// The maximum memory while `work` runs.
async fn most_memory<T>(gleaner: &Gleaner, work: impl Future<Output = T>) -> (T, u64) {
    let mut most = gleaner.memory();
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return (done, most.max(gleaner.memory())),
            _ = tick.tick() => most = most.max(gleaner.memory()),
        }
    }
}

async fn memory_by_login(gleaner: &Gleaner, report: &mut Report) {
    let to = gleaner.address;
    let parallel = at_once(200, to, |n| address(32, n), |n| guess(&format!("user {n}"), "guess"));
    let (statuses, most) = most_memory(gleaner, parallel).await;
    report.add("parallel_logins", statuses.json());
    report.add("parallel_logins_mb", most);
    report.require(most <= MEMORY_MB, "200 parallel logins take at most 400 MB");
    let name = "x".repeat(10 << 20);
    let (statuses, most) =
        most_memory(gleaner, at_once(60, to, |n| address(33, n), |_| guess(&name, "guess"))).await;
    report.add("large_names", statuses.json());
    report.add("large_names_mb", most);
    report.require(most <= MEMORY_MB, "60 names of 10 MB take at most 400 MB");
    let half = |_| {
        let head = "POST /api/v1/login HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: 10485760\r\n\r\n";
        let mut half = head.as_bytes().to_vec();
        half.resize(5 << 20, b' ');
        half
    };
    let (statuses, most) = most_memory(gleaner, at_once(100, to, |n| address(34, n), half)).await;
    report.add("half_bodies", statuses.json());
    report.add("half_bodies_mb", most);
    report.require(most <= MEMORY_MB, "100 half-sent bodies take at most 400 MB");
}

async fn guess_passwords(gleaner: &Gleaner, device: Option<&str>, report: &mut Report) {
    let to = gleaner.address;
    let statuses = at_once(200, to, |_| address(35, 0), |n| guess("admin", &format!("guess {n}"))).await;
    report.add("parallel_guesses", statuses.json());
    report.require(statuses.of(401) <= 5, "of 200 guesses at once, 5 are looked at");
    let known = request("POST", "/api/v1/login", None, Some(("application/json", &login(device))));
    let answer = send(address(35, 0), to, &known, STOP).await;
    let status = answer.map_or(0, |answer| answer.status);
    report.add("known_device_after_guesses", status);
    report.require(status == 200, "a known device is not locked out");
}

/// Polls pages with a selector that takes quadratic time.
async fn poll_slow_selectors(gleaner: &Gleaner, farm: &Farm, report: &mut Report) -> Result<(), Error> {
    let mut ids = Vec::new();
    for n in 0..4 {
        let url = farm.url(address(41, n), &format!("/headlines/{n}"));
        let json =
            format!("{{\"url\":\"{url}\",\"kind\":\"watchlist\",\"article_selector\":\"h2:has(~ z) a\"}}");
        let added = gleaner.send("POST", "/sources", Some(&json)).await?;
        ids.push(added.number("id").ok_or_else(|| format!("no source was added: {}", added.text))?);
    }
    let mut slowest = Duration::ZERO;
    for id in ids {
        let begun = Instant::now();
        let path = format!("/sources/{id}/poll?wait=true&force=true");
        let polled = gleaner.send("POST", &path, Some("{}")).await?;
        slowest = slowest.max(begun.elapsed());
        let refused =
            polled.field("error_type") == Some("parse_error") && polled.text.contains("was given up");
        report.require(refused, "a selector that takes too long fails its poll, by name");
        // Disabled, so that it is not polled during the rest of the attack.
        gleaner.send("DELETE", &format!("/sources/{id}"), None).await?;
    }
    report.add("slowest_selector_s", format!("{:.2}", slowest.as_secs_f64()));
    report.require(slowest <= SELECTOR, "a poll with a slow selector ends within 10 s");
    Ok(())
}

/// Latencies of a repeated request.
#[derive(Default)]
struct Latencies {
    millis: Vec<u64>,
    failed: u64,
}

impl Latencies {
    /// In milliseconds; a failed request counts as infinitely slow.
    fn percentile(&mut self, percent: usize) -> u64 {
        self.millis.sort_unstable();
        let all = self.millis.len() + self.failed as usize;
        let place = (all * percent).div_ceil(100).saturating_sub(1);
        self.millis.get(place).copied().unwrap_or(u64::MAX)
    }

    fn json(&mut self) -> String {
        let (p50, p99, failed) = (self.percentile(50), self.percentile(99), self.failed);
        let most = self.millis.last().copied().unwrap_or(0);
        let count = self.millis.len();
        format!(
            "{{\"count\":{count},\"failed\":{failed},\"p50_ms\":{p50},\"p99_ms\":{p99},\"max_ms\":{most}}}"
        )
    }
}

async fn probe(to: std::net::SocketAddr, request: Vec<u8>, every: Duration, until: Instant) -> Latencies {
    let mut found = Latencies::default();
    let mut tick = tokio::time::interval(every);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while Instant::now() < until {
        tick.tick().await;
        let begun = Instant::now();
        match send(Ipv4Addr::LOCALHOST, to, &request, Duration::from_secs(10)).await {
            Ok(answer) if answer.status == 200 => found.millis.push(begun.elapsed().as_millis() as u64),
            _ => found.failed += 1,
        }
    }
    found
}

/// Polls per second, measured over `over`.
async fn rate(farm: &Farm, over: Duration) -> f64 {
    let before = farm.polls();
    tokio::time::sleep(over).await;
    (farm.polls() - before) as f64 / over.as_secs_f64()
}

async fn under_attack(
    gleaner: &Gleaner,
    farm: &Farm,
    plan: &Plan,
    device: Option<&str>,
    report: &mut Report,
) {
    // After the first minute every source has been polled once, and then once a minute.
    let begun = Instant::now();
    while farm.polls() < plan.sources as u64 && begun.elapsed() < Duration::from_secs(150) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let over = Duration::from_secs(plan.seconds);
    let usual = rate(farm, over).await;
    report.add("polls_per_second", format!("{usual:.2}"));
    let to = gleaner.address;
    let statuses = Statuses::new();
    let hostile = hostile::connections(plan.connections, to);
    let logins = hostile::logins(plan.logins, to, &statuses);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let until = Instant::now() + over;
    let every = Duration::from_millis(50);
    let health = probe(to, request("GET", "/healthz", None, None), every, until);
    let ready = probe(to, request("GET", "/readyz", None, None), 4 * every, until);
    let me = probe(to, request("GET", "/api/v1/me", Some(&gleaner.token), None), 2 * every, until);
    let sources = request("GET", "/api/v1/sources?limit=50", Some(&gleaner.token), None);
    let sources = probe(to, sources, 4 * every, until);
    let known = request("POST", "/api/v1/login", None, Some(("application/json", &login(device))));
    let known = probe(to, known, Duration::from_secs(2), until);
    let all = async { tokio::join!(health, ready, me, sources, known, rate(farm, over)) };
    let ((mut health, mut ready, mut me, mut sources, mut known, attacked), most) =
        most_memory(gleaner, all).await;
    drop((hostile, logins));
    report.add("healthz", health.json());
    report.add("readyz", ready.json());
    report.add("authenticated", me.json());
    report.add("authenticated_list", sources.json());
    report.add("known_device_logins", known.json());
    report.add("strangers_logins", statuses.json());
    report.add("polls_per_second_under_attack", format!("{attacked:.2}"));
    report.add("memory_under_attack_mb", most);
    report.require(health.percentile(99) <= HEALTH_MS, "/healthz p99 is at most 100 ms under attack");
    report.require(me.failed == 0 && sources.failed == 0, "everybody with a token is served under attack");
    report.require(known.failed == 0, "a known device logs in under attack");
    report.require(attacked >= POLLS * usual, "polls go on at 0.8 of their rate under attack");
    report.require(most <= MEMORY_MB, "an attack takes at most 400 MB");
}

/// Opens event streams, and keeps them until they are dropped.
async fn event_streams(gleaner: &Gleaner, count: usize, report: &mut Report) -> JoinSet<()> {
    let (open, to, token) = (Arc::new(AtomicU64::new(0)), gleaner.address, gleaner.token.clone());
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for n in 0..count {
        let (open, token) = (Arc::clone(&open), token.clone());
        tasks.spawn(async move {
            let Ok(mut stream) = connect(address(36, n), to).await else { return };
            let head = format!(
                "GET /api/v1/events/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n"
            );
            let (mut buffer, sent) = ([0; 4096], stream.write_all(head.as_bytes()).await);
            let first = stream.read(&mut buffer).await;
            if sent.is_ok() && first.is_ok_and(|read| buffer[..read].starts_with(b"HTTP/1.1 200")) {
                open.fetch_add(1, Ordering::Relaxed);
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
                open.fetch_sub(1, Ordering::Relaxed);
            }
        });
        // The token's request limit is not what is tested here.
        if n % 100 == 99 {
            tokio::time::sleep(Duration::from_millis(1100)).await;
        }
    }
    while (open.load(Ordering::Relaxed) as usize) < count && begun.elapsed() < Duration::from_secs(180) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let until = Instant::now() + Duration::from_secs(10);
    let health = probe(to, request("GET", "/healthz", None, None), Duration::from_millis(50), until);
    let (mut health, most) = most_memory(gleaner, health).await;
    let opened = open.load(Ordering::Relaxed);
    report.add("event_streams", opened);
    report.add("event_streams_mb", most);
    report.add("healthz_with_streams", health.json());
    report.require(opened as usize == count, "all event streams are open");
    tasks
}
