//! Feeds with known truth, through many editions: every distinct entry is stored exactly once, every edit is a revision, and
//! no copy is stored twice.
//!
//! The real engine polls a real server on loopback, on a clock that runs by hand. What the feeds do is in `publisher.rs`, which
//! knows nothing of how entries are told apart; `make ledger` runs hundreds of editions (`LEDGER_EDITIONS`).

mod publisher;
mod write;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use gleaner::clock::{Clock as _, ManualClock, RandomSource};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::engine::{Context, Engine, Readers};
use gleaner::fetch::{Fetcher, NetworkOverrides};
use gleaner::service::{Service, SourceSettings};
use gleaner::store::PostFilter;
use gleaner_core::source::Interval;
use gleaner_core::time::Span;

use self::publisher::{Publisher, SHAPES, Said};
use self::write::Format;
use crate::support::http::{Reply, Server};
use crate::support::{Database, new_feed, postgres, sqlite, start};

#[tokio::test]
async fn every_entry_is_stored_once_on_sqlite() {
    let editions = std::env::var("LEDGER_EDITIONS").ok().and_then(|count| count.parse().ok());
    run(sqlite().await, editions.unwrap_or(40)).await;
}

#[tokio::test]
async fn every_entry_is_stored_once_on_postgres() {
    run(postgres().await, 12).await;
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    entries: usize,
    stored: usize,
    lost: usize,
    twice: usize,
    edits: usize,
    revisions: usize,
}

impl Figures {
    fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.stored += other.stored;
        self.lost += other.lost;
        self.twice += other.twice;
        self.edits += other.edits;
        self.revisions += other.revisions;
    }

    fn is_right(&self) -> bool {
        self.lost == 0 && self.twice == 0 && self.edits == self.revisions
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, stored, lost, twice, edits, revisions } = self;
        write!(
            f,
            "{entries} entries, {stored} stored, {lost} lost, {twice} twice, {edits} edits, {revisions} revisions"
        )
    }
}

/// A feed, and the source that polls it.
struct Polled {
    name: String,
    path: String,
    format: Format,
    publisher: Publisher,
    id: i64,
}

async fn run(db: Database, editions: u32) {
    let config = config();
    let clock = Arc::new(ManualClock::new(start()));
    let server = Server::start().await;
    let service =
        Service::new(Arc::clone(&db.store), config.clone(), Arc::clone(&clock) as _, RandomSource::seeded(1));
    let actor = service.local().await.unwrap();
    let mut feeds = Vec::new();
    for (place, (name, shape)) in SHAPES.iter().enumerate() {
        for format in Format::ALL {
            let path = format!("/{place}.{}", format.name());
            let seed = (place * Format::ALL.len() + feeds.len()) as u64;
            let new = SourceSettings { interval: Interval::Minutes(60), ..new_feed(server.url(&path)) };
            let id = service.by(&actor).add(&new).await.unwrap().id;
            let name = format!("{name} ({})", format.name());
            feeds.push(Polled { name, path, format, publisher: Publisher::new(shape, seed), id });
        }
    }
    let context = Context {
        store: Arc::clone(&db.store),
        fetcher: Fetcher::new(&config.fetch, &NetworkOverrides::default()).unwrap(),
        config,
        clock: Arc::clone(&clock) as _,
        random: RandomSource::seeded(1),
        readers: Readers::default(),
        metrics: Default::default(),
        committed: Default::default(),
    };
    let mut engine = Engine::new(context, "ledger");
    for edition in 0..editions {
        for feed in &mut feeds {
            let document = feed.publisher.edition(edition, clock.now());
            server.on(&feed.path, Reply::ok(feed.format.document(&document)));
        }
        let polled = engine.run_due(clock.now()).await.unwrap().sources;
        assert_eq!(polled, feeds.len(), "each feed is polled in edition {edition}");
        clock.advance(Span::from_mins(61));
    }
    let (mut total, mut wrong) = (Figures::default(), Vec::new());
    for feed in &feeds {
        let figures = compare(&db, feed).await;
        if !figures.is_right() {
            wrong.push(format!("{}: {figures}", feed.name));
        }
        total.add(figures);
    }
    println!("ledger: {} feeds, {editions} editions: {total}", feeds.len());
    assert!(total.entries > editions as usize * feeds.len() / 4, "there is something to lose");
    assert!(total.edits > 0, "and something to edit");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Holds what is stored against what was published.
async fn compare(db: &Database, feed: &Polled) -> Figures {
    let filter = PostFilter { source_ids: vec![feed.id], ..PostFilter::default() };
    let posts = db.store.posts(&filter, None, 1_000_000).await.unwrap();
    let truth = feed.publisher.truth();
    let mut figures = Figures {
        entries: truth.len(),
        stored: posts.len(),
        edits: feed.publisher.edits(),
        ..Figures::default()
    };
    let mut left: HashMap<Said, usize> = HashMap::new();
    for said in truth {
        *left.entry(said).or_default() += 1;
    }
    for post in posts {
        figures.revisions += usize::try_from(post.revision - 1).unwrap();
        let post = db.store.post(post.id).await.unwrap();
        let said = Said {
            title: post.content.title.unwrap_or_default(),
            html: post.content.raw_content.unwrap_or_default(),
        };
        match left.get_mut(&said).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => figures.twice += 1,
        }
    }
    figures.lost = left.values().sum();
    figures
}

fn config() -> Config {
    let settings = [
        "fetch.allow_private_networks=[\"127.0.0.0/8\"]",
        "source.max_article_age_days=0",
        "source.keep_unlinked_posts_days=0",
    ];
    let flags = settings.map(|set| Flag { name: "test".into(), assignment: set.into() }).to_vec();
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).unwrap_or_else(|errors| panic!("{errors}")).config
}
