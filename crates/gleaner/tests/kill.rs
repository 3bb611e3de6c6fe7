//! The whole process is killed at random moments under load, started again, and killed again; at the end the database
//! is compared with what the farm published.
//!
//! The farm publishes one entry at a time, and a feed shows only its latest. It goes on to the next when it is shown the
//! validator of the one before, since whoever has that must have stored the entry: a process that saves validators first
//! and is killed in between loses it for good. That this is noticed is a test, too.
//!
//! `KILLS=1000` makes more of it; the figures are printed as a line of JSON.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gleaner::store::{NewSource, Options, PostFilter, SourceFilter, Store, open};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::crash::server_is_done;
use crate::support::http::{Received, Reply, Server};
use crate::support::{Database, feed, postgres, sqlite, start, until};

const HOSTS: u8 = 40;
const FEEDS: usize = 3;
/// So long a new process may take until it is ready.
const READY: Duration = Duration::from_secs(5);
/// A process lives at most this long after it is ready: about as long as it has something to do.
const LIFE: Duration = Duration::from_millis(500);
const LIFE_ON_SQLITE: Duration = Duration::from_millis(150);
/// How long anything else is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_loses_nothing_on_sqlite() {
    lose_nothing(sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_loses_nothing_on_postgres() {
    lose_nothing(postgres().await).await;
}

async fn lose_nothing(db: Database) {
    let kills = std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20);
    let mut killing = Killing::new(db, "").await;
    killing.kill_times(kills).await;
    let found = killing.settled().await;
    println!("{}", killing.figures(&found));
    assert!(killing.inside > 0, "some kills landed inside a transaction");
    assert!(found.posts > kills as usize, "something was done");
    assert_eq!((found.lost, found.twice, found.untold), (0, 0, 0), "lost, twice, and without an event");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_saves_validators_before_posts_is_found_out() {
    let mut killing = Killing::new(sqlite().await, "validators_first").await;
    let mut found = Found::default();
    for _ in 0..10 {
        killing.kill_times(10).await;
        found = killing.settled().await;
        if found.lost > 0 {
            break;
        }
    }
    assert!(found.lost > 0, "what is wrong was not noticed: {}", killing.figures(&found));
}

/// Feeds that show one entry at a time.
#[derive(Default)]
struct Farm {
    /// Which entry each shows.
    shown: HashMap<String, u32>,
    /// Who was asked since, and whether it had nothing new.
    asked: HashMap<String, bool>,
    rests: bool,
}

fn answer(farm: &Mutex<Farm>, request: &Received) -> Reply {
    let mut farm = farm.lock().unwrap();
    let url = format!("http://{}{}", request.header("host").unwrap_or_default(), request.path);
    let rests = farm.rests;
    let shown = farm.shown.entry(url.clone()).or_insert(1);
    let known = request.header("if-none-match").is_some_and(|etag| etag == format!("\"{shown}\""));
    *shown += u32::from(known && !rests);
    let (shown, nothing_new) = (*shown, known && rests);
    farm.asked.insert(url.clone(), nothing_new);
    if nothing_new {
        return Reply::status(304);
    }
    let item = format!("<item><guid>{url} {shown}</guid><description>{url} {shown}</description></item>");
    let feed = format!("<rss version='2.0'><channel><title>Farm</title>{item}</channel></rss>");
    Reply::ok(feed).header("ETag", format!("\"{shown}\""))
}

struct Killing {
    url: String,
    directory: TempDir,
    _database: Option<TempDir>,
    server: Server,
    farm: Arc<Mutex<Farm>>,
    fault: &'static str,
    kills: u64,
    inside: u64,
    slowest: Duration,
}

/// What was found in the end.
#[derive(Debug, Default)]
struct Found {
    posts: usize,
    lost: usize,
    twice: usize,
    untold: usize,
}

impl Killing {
    async fn new(db: Database, fault: &'static str) -> Self {
        let server = Server::start_on(Ipv4Addr::UNSPECIFIED).await;
        let farm = Arc::new(Mutex::new(Farm::default()));
        let shared = Arc::clone(&farm);
        server.on_all(move |request| answer(&shared, request));
        let sources: Vec<NewSource> = (1..=HOSTS)
            .flat_map(|host| (0..FEEDS).map(move |n| (host, n)))
            .map(|(host, n)| {
                let url = server.url_of(&format!("127.0.8.{host}"), &format!("/{n}")).to_string();
                let mut source = feed(&format!("127.0.8.{host}"), &format!("{n}"));
                source.canonical_url.clone_from(&url);
                source.settings.url = url;
                source
            })
            .collect();
        db.store.create_sources(&sources, start()).await.unwrap();
        // Nobody else has the database open when the process comes back, so that it recovers what it left.
        let (url, database) = db.close();
        let directory = tempfile::tempdir().unwrap();
        Self {
            url,
            directory,
            _database: database,
            server,
            farm,
            fault,
            kills: 0,
            inside: 0,
            slowest: Duration::ZERO,
        }
    }

    fn marks(&self) -> PathBuf {
        self.directory.path().join("marks")
    }

    /// Makes everything due, as if the leases of the dead had run out and all intervals passed.
    async fn make_due(&self) {
        server_is_done(&self.url).await;
        let sql = "UPDATE source_state SET next_poll_at = 0; \
                   UPDATE hosts SET lease_until = 0, next_due = 0, delay_until = NULL, hold_until = NULL";
        Database::behind_the_back_of(&self.url, sql).await;
    }

    /// Starts the process, and waits until it is ready.
    async fn start(&mut self) -> Child {
        self.make_due().await;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let begun = Instant::now();
        let child = Command::new(env!("CARGO_BIN_EXE_gleaner"))
            .arg("serve")
            .env_clear()
            .env("HOME", self.directory.path())
            .env("GLEANER_STORE__URL", &self.url)
            .env("GLEANER_API__LISTEN", format!("127.0.0.1:{port}"))
            .env("GLEANER_FETCH__ALLOW_PRIVATE_NETWORKS", "[\"127.0.0.0/8\"]")
            .env("GLEANER_LOG__LEVEL", "error")
            .env("TEST_GLEANER_MARKS", self.marks())
            .env("TEST_GLEANER_FAULT", self.fault)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let ready = format!("http://127.0.0.1:{port}/readyz");
        // Only the first of a process's tests installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        #[expect(clippy::disallowed_methods, reason = "a client of the process, not of the world")]
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let answers = async || client.get(&ready).send().await.ok().filter(|answer| answer.status() == 200);
        until(READY, answers, async || format!("ready within {READY:?}")).await;
        self.slowest = self.slowest.max(begun.elapsed());
        child
    }

    async fn kill_times(&mut self, times: u32) {
        self.farm.lock().unwrap().rests = false;
        for _ in 0..times {
            let mut child = self.start().await;
            // A moment that depends on nothing but the number of the kill.
            let life = if self.url.starts_with("postgres:") { LIFE } else { LIFE_ON_SQLITE };
            let micros = life.as_micros() as u64;
            let moment = self.kills.wrapping_mul(0x9E37_79B9_7F4A_7C15) % micros;
            tokio::time::sleep(Duration::from_micros(moment)).await;
            child.kill().unwrap();
            child.wait().unwrap();
            self.kills += 1;
            self.inside += u64::from(self.died_inside());
        }
    }

    /// Whether the process had a transaction open when it died.
    fn died_inside(&self) -> bool {
        let mut marks = Vec::new();
        let read = std::fs::File::open(self.marks()).and_then(|mut file| file.read_to_end(&mut marks));
        let _ = std::fs::remove_file(self.marks());
        read.is_ok() && marks.last() == Some(&b'b')
    }

    /// Lets the process live until it has shown the validators of all that was published, and compares.
    async fn settled(&mut self) -> Found {
        self.farm.lock().unwrap().rests = true;
        let feeds = usize::from(HOSTS) * FEEDS;
        for _ in 0..5 {
            self.farm.lock().unwrap().asked.clear();
            let mut child = self.start().await;
            let asked = async || (self.farm.lock().unwrap().asked.len() >= feeds).then_some(());
            until(PATIENCE, asked, async || "all feeds are asked".to_owned()).await;
            Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
            child.wait().unwrap();
            if self.farm.lock().unwrap().asked.values().all(|nothing_new| *nothing_new) {
                break;
            }
        }
        self.compare().await
    }

    async fn compare(&self) -> Found {
        let store = open(&Options::new(&self.url)).await.unwrap();
        let posts = all_posts(&*store).await;
        let told = all_told(&*store).await;
        let mut found = Found { posts: posts.len(), ..Found::default() };
        let mut by_guid: BTreeMap<&str, usize> = BTreeMap::new();
        for guid in posts.values() {
            *by_guid.entry(guid).or_default() += 1;
        }
        for (url, shown) in &self.farm.lock().unwrap().shown {
            for number in 1..=*shown {
                let count = by_guid.remove(format!("{url} {number}").as_str()).unwrap_or(0);
                found.lost += usize::from(count == 0);
                found.twice += usize::from(count > 1);
            }
        }
        assert_eq!(by_guid.len(), 0, "what nobody published: {by_guid:?}");
        found.untold = posts.keys().filter(|id| told.iter().filter(|told| told == id).count() != 1).count();
        found
    }

    fn figures(&self, found: &Found) -> Value {
        let Found { posts, lost, twice, untold } = found;
        json!({
            "database": if self.url.starts_with("postgres:") { "postgres" } else { "sqlite" },
            "kills": self.kills, "inside_a_transaction": self.inside, "posts": posts, "lost": lost, "twice": twice,
            "without_an_event": untold, "slowest_ready_ms": self.slowest.as_millis() as u64,
            "requests": self.server.requests().len(),
        })
    }
}

/// The guid of every post.
async fn all_posts(store: &dyn Store) -> HashMap<i64, String> {
    let sources = store.sources(&SourceFilter::default(), None, 10_000).await.unwrap();
    let mut posts = HashMap::new();
    for source in sources {
        let filter = PostFilter { source_ids: vec![source.id], ..PostFilter::default() };
        let mut before = None;
        loop {
            let page = store.posts(&filter, before, 1000).await.unwrap();
            let Some(last) = page.last() else { break };
            before = Some(last.id);
            posts.extend(page.into_iter().map(|post| (post.id, post.content.guid)));
        }
    }
    posts
}

/// The posts that events tell of, as often as they do.
async fn all_told(store: &dyn Store) -> Vec<i64> {
    while store.number_events(1000).await.unwrap() > 0 {}
    let (mut after, mut told) = (0, Vec::new());
    let mut seen = HashSet::new();
    loop {
        let page = store.events(after, 1000).await.unwrap();
        let Some(last) = page.last() else { return told };
        after = last.seq.unwrap();
        for event in page.into_iter().filter(|event| event.event.kind == "post.created") {
            assert!(seen.insert(event.id), "each event once");
            let payload: Value = serde_json::from_str(&event.event.payload).unwrap();
            told.extend(payload["post_ids"].as_array().unwrap().iter().filter_map(Value::as_i64));
        }
    }
}
