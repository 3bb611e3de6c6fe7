//! Several workers and API nodes as real processes, with a real PostgreSQL and a real NATS: killed, paused past their
//! leases, cut off, restarted. At the end every entry that the farm showed is in the database once and on the stream
//! under one id, and the farm's own log says that nobody was ever asked by two at once.
//!
//! `SCALE_ROUNDS=300` makes more of it, and `SCALE_THROUGHPUT=1` compares four workers with one; the figures are printed
//! as a line of JSON.

mod farm;
mod nats;
mod site;
mod stream;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use gleaner::store::{Options, open};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

use crate::support::until;
use farm::Farm;
use site::{LEASE, Site};

const WORKERS: usize = 4;
const APIS: usize = 2;
/// How many entries a round is worth.
const ENTRIES: usize = 150;

/// What happens to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    WorkerKilled,
    WorkerPaused,
    WorkerCutOff,
    BrokerKilled,
    BrokerSetBack,
    BrokerWiped,
    DatabaseRestarted,
    RollingRestart,
}

const ALL: [Trouble; 8] = [
    Trouble::WorkerPaused,
    Trouble::BrokerKilled,
    Trouble::WorkerKilled,
    Trouble::BrokerSetBack,
    Trouble::WorkerCutOff,
    Trouble::DatabaseRestarted,
    Trouble::BrokerWiped,
    Trouble::RollingRestart,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_lose_nothing_and_ask_nobody_twice() {
    let rounds =
        std::env::var("SCALE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ALL.len());
    let mut site = Site::new(Farm::new(40, 3, Duration::from_millis(15)).await).await;
    for _ in 0..WORKERS {
        site.add_worker().await;
    }
    for _ in 0..APIS {
        site.add_api().await;
    }
    site.apis_are_ready().await;
    let begun = Instant::now();
    let mut takeovers: BTreeMap<String, u64> = BTreeMap::new();
    for round in 0..rounds {
        site.farm.publish(ENTRIES);
        let trouble = ALL[round % ALL.len()];
        if let Some(takeover) = make(&mut site, trouble, round % WORKERS).await {
            let longest = takeovers.entry(format!("{trouble:?}")).or_default();
            *longest = (*longest).max(u64::try_from(takeover.as_millis()).unwrap());
        }
        site.until("the farm goes on", async || site.farm.has_published()).await;
        site.apis_are_ready().await;
        let overlaps = site.farm.overlaps();
        assert!(overlaps.is_empty(), "round {round}, {trouble:?}: {overlaps:#?}\n{}", site.logs());
    }
    settle(&site).await;
    site.stop().await;
    let figures = compare(&site).await;
    println!(
        "{}",
        json!({ "rounds": rounds, "seconds": begun.elapsed().as_secs(), "lease_ms": LEASE.as_millis() as u64,
            "longest_takeover_ms": takeovers, "figures": figures })
    );
    for wrong in ["lost", "twice", "not_on_stream", "two_ids"] {
        assert_eq!(figures[wrong], 0, "{figures}\n{}", site.logs());
    }
    let limit = u64::try_from(LEASE.as_millis()).unwrap() + 10_000;
    assert!(
        takeovers.values().all(|took| *took < limit),
        "a dead worker's hosts are taken over: {takeovers:?}"
    );
}

/// Makes trouble; how long it took until others had what a worker held.
async fn make(site: &mut Site, trouble: Trouble, place: usize) -> Option<Duration> {
    let (id, mut takeover) = (site.id(place), None);
    match trouble {
        Trouble::WorkerKilled => {
            site.workers[place].kill();
            takeover = Some(site.taken_over(id).await);
            drop(site.replace(place).await);
        }
        Trouble::WorkerPaused => {
            site.workers[place].pause();
            takeover = Some(site.taken_over(id).await);
            site.workers[place].go_on();
        }
        Trouble::WorkerCutOff => {
            site.workers[place].cut_off();
            takeover = Some(site.taken_over(id).await);
            site.workers[place].mend();
        }
        Trouble::BrokerKilled => {
            site.nats.kill();
            site.until("polling goes on", async || site.farm.has_published()).await;
            site.nats.remember();
            site.nats.run().await;
            site.farm.publish(ENTRIES);
            site.until("polling goes on", async || site.farm.has_published()).await;
            streamed(site).await;
        }
        Trouble::BrokerSetBack => {
            site.nats.kill();
            site.nats.set_back();
            site.nats.run().await;
        }
        Trouble::BrokerWiped => {
            site.nats.kill();
            site.nats.wipe();
            site.nats.run().await;
        }
        Trouble::DatabaseRestarted => site.postgres.control("restart", "fast"),
        Trouble::RollingRestart => {
            for place in 0..site.workers.len() {
                let mut old = site.replace(place).await;
                old.stop().await;
            }
        }
    }
    takeover
}

/// Waits until all that has happened is with the broker.
async fn streamed(site: &Site) {
    let store = open(&Options::new(site.postgres.url())).await.unwrap();
    let all_sent = async || {
        let waiting = store.number_events(1000).await.unwrap_or(1);
        let (stream, kept) = (store.stream("nats").await, store.kept_events().await);
        let (Ok(Some(stream)), Ok(kept)) = (stream, kept) else { return false };
        // What the broker lost is noticed when it is looked at.
        let there = site.nats.stream().await;
        let there = there.map(|stream| stream.cached_info().state.last_sequence);
        waiting == 0 && stream.last_seq == kept.last && there == u64::try_from(stream.broker_seq).ok()
    };
    site.until("all is streamed", all_sent).await;
}

/// Waits until all that was published is stored and streamed.
async fn settle(site: &Site) {
    site.farm.publish(0);
    site.farm.begin();
    let feeds = site.farm.feeds();
    site.until("all feeds have nothing new", async || site.farm.asked() == (feeds, feeds)).await;
    streamed(site).await;
}

async fn compare(site: &Site) -> Value {
    let mut database = PgConnection::connect(&site.postgres.url()).await.unwrap();
    let posts: Vec<(i64, String)> =
        sqlx::query_as("SELECT id, guid FROM posts").fetch_all(&mut database).await.unwrap();
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, guid) in &posts {
        *found.entry(guid).or_default() += 1;
    }
    let published = site.farm.guids();
    let lost = published.keys().filter(|guid| !found.contains_key(guid.as_str())).count();
    let twice = found.values().filter(|count| **count > 1).count();
    assert!(found.keys().all(|guid| published.contains_key(*guid)), "nothing that nobody published");
    let held = site.nats.held().await;
    let not_on_stream = posts.iter().filter(|(id, _)| !held.ids.contains_key(id)).count();
    let distinct = |ids: &Vec<String>| ids.iter().collect::<HashSet<_>>().len();
    let two_ids = held.ids.values().filter(|ids| distinct(ids) > 1).count();
    json!({
        "posts": posts.len(), "lost": lost, "twice": twice, "not_on_stream": not_on_stream, "two_ids": two_ids,
        "messages": held.messages, "requests": site.farm.requests(), "asked_by_two_at_once": site.farm.overlaps().len(),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_workers_keep_up_with_one() {
    if std::env::var_os("SCALE_THROUGHPUT").is_none() {
        return;
    }
    let (one, four) = (drained(1).await, drained(WORKERS).await);
    println!(
        "{}",
        json!({ "polls_per_second": { "1_worker": one, "4_workers": four }, "share": four / one })
    );
    assert!(four >= 0.8 * one, "coordination costs little: {four} against {one}");
}

/// How many polls a second so many workers make of all that is due at once.
async fn drained(workers: usize) -> f64 {
    let mut site = Site::new(Farm::new(1000, 8, Duration::ZERO).await).await;
    site.farm.publish(0);
    for _ in 0..workers {
        site.add_worker().await;
    }
    let feeds = site.farm.feeds();
    let asked = async |least: usize| {
        let look = async || (site.farm.asked().0 >= least).then(Instant::now);
        let otherwise = async || format!("{least} feeds are asked\n{}", site.logs());
        until(Duration::from_secs(600), look, otherwise).await
    };
    // From the first answer on, so that starting is not counted.
    let first = asked(1).await;
    let took = asked(feeds).await - first;
    site.stop().await;
    feeds as f64 / took.as_secs_f64()
}
