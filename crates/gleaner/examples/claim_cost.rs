//! Measures the cost of a claim: 1,000 due sources among a million.
//!
//! `cargo run --release --example claim_cost -- [--sources N] [--store URL]`. The last line is JSON. Without a
//! store it creates an SQLite file in a temporary directory.

use std::time::{Duration, Instant};

use gleaner::store::{ClaimRequest, HostKey, NewSource, Options, Release, SourceSettings, Store, open};
use gleaner_core::time::{Span, Time};

/// Sources that are due in each round.
pub(crate) const DUE: usize = 1000;
const SOURCES_PER_HOST: usize = 3;

/// The time of round `n`; nothing else is due within a year.
fn round(n: u64) -> Time {
    Time::from_millis(0) + Span::from_hours(n)
}

/// Fills an empty store with sources, of which [`DUE`] are due in each round.
pub(crate) async fn fill(
    store: &dyn Store,
    sources: usize,
    rounds: usize,
) -> Result<(), gleaner::store::StoreError> {
    let all: Vec<usize> = (0..sources).collect();
    for piece in all.chunks(10_000) {
        let new: Vec<NewSource> = piece.iter().map(|n| source(*n, sources, rounds)).collect();
        store.create_sources(&new, Time::from_millis(0)).await?;
    }
    Ok(())
}

/// Due sources are spread evenly, one per host.
fn source(n: usize, sources: usize, rounds: usize) -> NewSource {
    let every = sources / (DUE * rounds);
    let is_due = n.is_multiple_of(every) && n / every < DUE * rounds;
    let url = format!("https://h{}.example/feed/{n}", n / SOURCES_PER_HOST);
    NewSource {
        canonical_url: url.clone(),
        host: HostKey { name: format!("h{}.example", n / SOURCES_PER_HOST), slot: 0 },
        next_poll_at: Some(if is_due { round((n / every % rounds) as u64) } else { round(9000) }),
        health: gleaner_core::health::Health::new(),
        settings: SourceSettings::feed(1, url),
    }
}

/// Claims everything that is due in each round; returns the median time of a round.
pub(crate) async fn measure(
    store: &dyn Store,
    rounds: usize,
) -> Result<Duration, gleaner::store::StoreError> {
    let mut times = Vec::with_capacity(rounds);
    for n in 0..rounds {
        let request = ClaimRequest::all(round(n as u64), Span::from_days(300), "measure", 100, 50);
        let (mut found, mut leases) = (0, Vec::new());
        let begin = Instant::now();
        loop {
            let claims = store.claim(&request).await?;
            if claims.is_empty() {
                break;
            }
            found += claims.iter().map(|claim| claim.sources.len()).sum::<usize>();
            leases.extend(claims.iter().map(|claim| Release::of(claim.lease)));
        }
        times.push(begin.elapsed());
        assert_eq!(found, DUE, "each round finds exactly what is due");
    }
    times.sort_unstable();
    Ok(times[rounds / 2])
}

#[cfg_attr(test, expect(dead_code, reason = "the tests call the parts"))]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut sources, mut url) = (1_000_000, None);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--sources", Some(n)) => sources = n.parse()?,
            ("--store", Some(text)) => url = Some(text),
            _ => return Err("usage: claim_cost [--sources N] [--store URL]".into()),
        }
    }
    let directory = tempfile::tempdir()?;
    let url = url.unwrap_or_else(|| directory.path().join("claim.db").display().to_string());
    let store = open(&Options::new(&url)).await?;
    let rounds = 9;
    eprintln!("filling {url} with {sources} sources…");
    fill(store.as_ref(), sources, rounds).await?;
    let median = measure(store.as_ref(), rounds).await?;
    let micros = median.as_micros();
    println!(
        "claiming {DUE} due of {sources}: {:.1} ms, {:.1} µs a host",
        micros as f64 / 1e3,
        micros as f64 / DUE as f64
    );
    println!("{{\"sources\":{sources},\"due\":{DUE},\"claim_ms\":{:.2}}}", micros as f64 / 1e3);
    Ok(())
}
