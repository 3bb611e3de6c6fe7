//! Measures the cost of a page of a list: sources in every order and with every filter, hosts in every order.
//!
//! `cargo run --release --example list_cost -- [--sources N] [--store URL]`. Prints one line per list: first page,
//! and a page from the middle, in milliseconds. Without a store it creates an SQLite file in a temporary directory.

use std::time::Instant;

use gleaner::store::{
    HostKey, HostOrder, NewSource, Options, PagePosition, SortOrder, SourceFilter, SourceOrder,
    SourceSettings, Store, StoreError, Visibility, open,
};
use gleaner_core::health::Status;
use gleaner_core::source::Kind;
use gleaner_core::time::Time;
use sqlx::Connection as _;

const PAGE: u32 = 51;
const ROUNDS: usize = 5;
/// Offset of the second measured page.
const MIDDLE: u32 = 5000;

/// 3 % fail, 2 % are quarantined, 1 % are disabled; all are spread evenly.
const STATES: &str = "UPDATE source_state SET \
    next_poll_at = CASE WHEN source_id % 100 = 99 THEN NULL ELSE 1000000 + (source_id * 7919) % 3600000 END, \
    last_success_at = CASE WHEN source_id % 50 = 7 THEN NULL ELSE 900000 - (source_id * 104729) % 900000 END, \
    last_polled_at = 900000, \
    consecutive_failures = CASE WHEN source_id % 100 < 5 THEN 1 + source_id % 37 ELSE 0 END, \
    failing_since = CASE WHEN source_id % 100 < 5 THEN 1000 ELSE NULL END, \
    last_error_type = CASE WHEN source_id % 100 < 5 THEN 'not_found' ELSE NULL END, \
    last_error = CASE WHEN source_id % 100 < 5 THEN 'HTTP 404 Not Found' ELSE NULL END, \
    quarantined_at = CASE WHEN source_id % 100 < 2 THEN 1000 ELSE NULL END, \
    quarantine_reason = CASE WHEN source_id % 100 < 2 THEN 'not_found' ELSE NULL END, \
    enabled = source_id % 100 < 99, \
    status = CASE WHEN source_id % 100 = 99 THEN 'disabled' WHEN source_id % 100 < 2 THEN 'quarantined' \
        WHEN source_id % 100 < 5 THEN 'failing' ELSE 'healthy' END";

fn source(n: usize) -> NewSource {
    let host = format!("h{}.example", n * 48_271 % 1_000_003 / 3);
    let url = format!("https://{host}/feed/{n}");
    let kind = if n.is_multiple_of(1000) { Kind::X } else { Kind::Feed };
    NewSource {
        canonical_url: url.clone(),
        host: HostKey { name: host, slot: 0 },
        next_poll_at: Some(Time::from_millis(0)),
        health: gleaner_core::health::Health::new(),
        settings: SourceSettings { kind, ..SourceSettings::feed(1, url) },
    }
}

async fn fill(store: &dyn Store, url: &str, sources: usize) -> Result<(), Box<dyn std::error::Error>> {
    let all: Vec<usize> = (0..sources).collect();
    for piece in all.chunks(10_000) {
        let new: Vec<NewSource> = piece.iter().map(|n| source(*n)).collect();
        store.create_sources(&new, Time::from_millis(0)).await?;
    }
    if url.starts_with("postgres") {
        let mut connection = sqlx::PgConnection::connect(url).await?;
        sqlx::raw_sql(STATES).execute(&mut connection).await?;
        sqlx::raw_sql("VACUUM ANALYZE").execute(&mut connection).await?;
    } else {
        let mut connection = sqlx::SqliteConnection::connect(url).await?;
        sqlx::raw_sql(STATES).execute(&mut connection).await?;
    }
    Ok(())
}

/// The median time, in milliseconds.
async fn timed<T>(what: impl AsyncFn() -> Result<Vec<T>, StoreError>) -> Result<(f64, usize), StoreError> {
    let mut times = Vec::new();
    let mut found = 0;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        found = what().await?.len();
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[ROUNDS / 2], found))
}

async fn measure(store: &dyn Store) -> Result<(), StoreError> {
    let all = SourceFilter::default();
    let filters = [
        ("all", all.clone()),
        ("healthy", SourceFilter { status: Some(Status::Healthy), ..all.clone() }),
        ("failing", SourceFilter { status: Some(Status::Failing), ..all.clone() }),
        ("waiting", SourceFilter { waits_for_person: true, ..all.clone() }),
        ("feed", SourceFilter { kind: Some(Kind::Feed), ..all.clone() }),
        ("x", SourceFilter { kind: Some(Kind::X), ..all.clone() }),
        ("collection", SourceFilter { collection_id: Some(1), ..all.clone() }),
        ("host", SourceFilter { host: Some("h1000.example".into()), ..all.clone() }),
        ("common text", SourceFilter { text: Some("feed".into()), ..all.clone() }),
        ("no such text", SourceFilter { text: Some("nowhere".into()), ..all.clone() }),
    ];
    let orders = [
        SourceOrder::Added,
        SourceOrder::Address,
        SourceOrder::NextPoll,
        SourceOrder::LastSuccess,
        SourceOrder::Failures,
    ];
    for (name, filter) in &filters {
        for by in orders {
            for descending in [false, true] {
                let order = SortOrder { by, descending };
                let first =
                    timed(async || store.sources_sorted(filter, order, &PagePosition::First, PAGE).await)
                        .await?;
                let middle = store.sources_sorted(filter, order, &PagePosition::First, MIDDLE).await?.pop();
                let turn = middle.map_or(PagePosition::First, |(place, _)| PagePosition::After(place));
                let middle = timed(async || store.sources_sorted(filter, order, &turn, PAGE).await).await?;
                let way = if descending { "down" } else { "up" };
                println!("{name:>13} {by:?} {way}: {:.1} ({}), {:.1}", first.0, first.1, middle.0);
            }
        }
        let begun = Instant::now();
        let count = store.count_sources(filter, 10_001).await?;
        println!("{name:>13} counted: {:.1} ({count})", begun.elapsed().as_secs_f64() * 1000.0);
    }
    for by in [HostOrder::Name, HostOrder::Failing, HostOrder::Sources, HostOrder::Due] {
        for text in [None, Some("99")] {
            let order = SortOrder { by, descending: matches!(by, HostOrder::Failing | HostOrder::Sources) };
            let first = timed(async || {
                store.hosts_sorted(&Visibility::default(), text, order, &PagePosition::First, PAGE).await
            })
            .await?;
            println!("hosts {by:?} {text:?}: {:.1} ({})", first.0, first.1);
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut sources, mut url) = (100_000, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--sources", Some(number)) => sources = number.parse()?,
            ("--store", Some(given)) => url = Some(given),
            _ => return Err(format!("there is no argument {argument}, or it has no value").into()),
        }
    }
    let directory = tempfile::tempdir()?;
    let url = url.unwrap_or_else(|| directory.path().join("lists.db").display().to_string());
    let store = open(&Options::new(&url)).await?;
    if store.count_sources(&SourceFilter::default(), 1).await? == 0 {
        fill(store.as_ref(), &url, sources).await?;
    }
    measure(store.as_ref()).await?;
    Ok(())
}
