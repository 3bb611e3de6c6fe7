//! The process is killed in the middle of group commits: each poll is wholly there, or wholly absent.
//!
//! The test runs itself as a child that commits batches as fast as it can, kills it at a random moment, and
//! looks at what is in the database; fifty times on each.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gleaner::store::*;
use gleaner_core::health::Health;
use gleaner_core::identity::{Seen, Skipped, guid_key};
use gleaner_core::post::{NewPost, content_hash};
use gleaner_core::time::{Span, Time};
use sqlx::{Connection as _, Executor as _, Row as _};

use crate::support::{Database, feed, postgres, sqlite, start};

const CHILD: &str = "TEST_CRASH_CHILD";
const KILL: &str = "TEST_CRASH_KILL";
const KILLS: u64 = 50;
const SOURCES: usize = 20;
const POSTS: usize = 3;

#[tokio::test]
async fn a_kill_leaves_each_poll_whole_or_absent_on_sqlite() {
    match std::env::var(CHILD) {
        Ok(url) => commit_for_ever(&url).await,
        Err(_) => {
            kill_again_and_again(sqlite().await, "a_kill_leaves_each_poll_whole_or_absent_on_sqlite").await
        }
    }
}

#[tokio::test]
async fn a_kill_leaves_each_poll_whole_or_absent_on_postgres() {
    match std::env::var(CHILD) {
        Ok(url) => commit_for_ever(&url).await,
        Err(_) => {
            kill_again_and_again(postgres().await, "a_kill_leaves_each_poll_whole_or_absent_on_postgres")
                .await
        }
    }
}

async fn kill_again_and_again(db: Database, test: &str) {
    let sources: Vec<NewSource> = (0..SOURCES).map(|n| feed(&format!("h{n}.example"), "feed")).collect();
    db.store.create_sources(&sources, start()).await.unwrap();
    let (mut polls, mut inside) = (0, 0);
    for kill in 0..KILLS {
        inside += u64::from(run_and_kill(&db.url, test, kill));
        server_is_done(&db.url).await;
        let now = check(&db).await;
        assert!(now >= polls, "what was committed stays");
        polls = now;
    }
    println!("{KILLS} kills, {inside} inside a commit, {polls} polls whole");
    assert!(polls > KILLS, "the child got something done");
    assert!(inside > 0, "some kills landed inside a commit");
}

/// Starts the child, kills it once it has begun, and tells whether that was inside a commit.
fn run_and_kill(url: &str, test: &str, kill: u64) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("crash::{test}"), "--nocapture"])
        .env(CHILD, url)
        .env(KILL, kill.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(std::io::Result::ok);
    assert!(lines.any(|line| line.ends_with("begin")), "the child commits");
    // Some live to see a commit or two to their end, however slow the machine is.
    let mut last = "begin".to_owned();
    for _ in 0..kill % 3 {
        assert!(lines.any(|line| line == "end"), "a commit ends");
        "end".clone_into(&mut last);
    }
    // A moment that depends on nothing but the number of the kill, from at once to a few batches later.
    let moment = Instant::now() + Duration::from_micros(kill.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 60_000);
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    lines.last().unwrap_or(last) == "begin"
}

/// PostgreSQL goes on for a moment with what a client sent before it died; waits until that is over.
pub(crate) async fn server_is_done(url: &str) {
    if !url.starts_with("postgres:") {
        return;
    }
    let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
    let busy = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'";
    while connection.fetch_one(busy).await.unwrap().get::<i64, _>(0) > 0 {
        tokio::task::yield_now().await;
    }
}

/// Claims everything and commits it, for ever, saying so before and after each batch.
async fn commit_for_ever(url: &str) {
    let store = open(&Options::new(url)).await.unwrap();
    // Each child lives later than the one before, so that the leases which that left behind have run out.
    let kill: u64 = std::env::var(KILL).unwrap().parse().unwrap();
    let mut now = start() + Span::from_days(365 * kill);
    loop {
        now = now + Span::from_hours(1);
        let request = ClaimRequest::all(now, Span::from_mins(1), "child", 100, 10);
        let claims = store.claim(&request).await.unwrap();
        let commits: Vec<Commit> = claims.iter().map(|claim| commit(claim, now)).collect();
        println!("begin");
        let releases: Vec<Release> = claims.iter().map(|claim| Release::of(claim.lease)).collect();
        store.commit(&commits, &releases).await.unwrap();
        println!("end");
    }
}

fn commit(claim: &Claim, now: Time) -> Commit {
    let source = &claim.sources[0];
    let new = (0..POSTS).map(|n| {
        let text = format!("{n} of {} at {now}", source.id);
        let content_hash = content_hash(None, None, &text);
        let seen = Seen { key: guid_key(&text), content: Some(content_hash.key()), ..Seen::default() };
        let raw_content = Some(text.repeat(50));
        let post = NewPost {
            guid: text.clone(),
            url: None,
            title: None,
            body: text,
            raw_content,
            author: None,
            published_at: None,
            content_hash,
        };
        (post, seen)
    });
    Commit {
        lease: claim.lease,
        source_id: source.id,
        fence: source.fence,
        was: source.health.clone(),
        health: Health { last_polled_at: Some(now), last_success_at: Some(now), ..Health::default() },
        next_poll_at: Some(now + Span::from_mins(30)),
        host_hold_until: None,
        moved: None,
        suspect: None,
        elsewhere: None,
        memory: Some(Memory { etag: Some(now.to_string().into_bytes()), ..Memory::default() }),
        new: new.collect(),
        changed: Vec::new(),
        remember: Vec::new(),
        copies: Vec::new(),
        unique_text: false,
        vanished: Vec::new(),
        articles: Vec::new(),
        poll: PollRecord {
            at: now,
            outcome: "fetched".into(),
            error: None,
            status_code: Some(200),
            duration: Span::ZERO,
            bytes: 0,
            skipped: Skipped::default(),
            note: None,
            rule: None,
            excused: None,
            excused_by: None,
        },
        events: Vec::new(),
        host_effects: None,
    }
}

/// Every poll has all its parts: history row, posts, seen, event, validators, state. How many there are.
async fn check(db: &Database) -> u64 {
    let store = &db.store;
    let sources = store.sources(&SourceFilter::default(), None, 100).await.unwrap();
    let ids: Vec<i64> = sources.iter().map(|source| source.id).collect();
    let known = store.known(&ids).await.unwrap();
    let mut total = 0;
    for source in &sources {
        let polls = store.polls(source.id, None, 10_000).await.unwrap();
        let filter = PostFilter { source_ids: vec![source.id], ..PostFilter::default() };
        let posts = store.posts(&filter, None, 100_000).await.unwrap();
        assert_eq!(posts.len(), polls.len() * POSTS, "posts of {}", source.settings.url);
        assert_eq!(known.get(&source.id).map_or(0, Vec::len), posts.len(), "seen of {}", source.settings.url);
        let latest = polls.first().map(|poll| poll.record.at);
        assert_eq!(source.health.last_polled_at, latest, "state of {}", source.settings.url);
        let etag = latest.map(|at| at.to_string().into_bytes());
        assert_eq!(source.memory.etag, etag, "validators of {}", source.settings.url);
        total += polls.len();
    }
    while store.number_events(1000).await.unwrap() > 0 {}
    assert_eq!(store.events(0, 1_000_000).await.unwrap().len(), total, "an event a poll");
    total as u64
}
