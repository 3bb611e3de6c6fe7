//! gleaner itself: the real engine, client and store, with a manual clock.

use std::sync::Arc;

use gleaner::clock::{Clock as _, ManualClock, RandomSource};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::engine::{Context, Engine, Readers};
use gleaner::fetch::{Fetcher, NetworkOverrides};
use gleaner::store::{HostKey, NewSource, Options, SourceSettings, Store, open};
use gleaner_core::link;
use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};

use crate::Error;
use crate::child::{Counts, Program};
use crate::database;

/// Longer than any polling interval.
const GAP: Span = Span::from_days(1);
/// Sources added per transaction.
const ADDED: usize = 1000;

/// The start of the run: after the dates of all entries, so that none is in the future.
pub(crate) fn begin() -> Time {
    Time::from_millis(1_794_873_600_000)
}

/// The default configuration, with the farm's addresses allowed and no age limit for entries.
pub(crate) fn config() -> Result<Config, Error> {
    config_with(&[])
}

/// The same with other settings.
fn config_with(others: &[&str]) -> Result<Config, Error> {
    let set = |assignment: &str| Flag { name: "bench".into(), assignment: assignment.into() };
    let ours = ["fetch.allow_private_networks=[\"127.0.0.0/8\"]", "source.max_article_age_days=0"];
    let flags = ours.iter().chain(others).map(|assignment| set(assignment)).collect();
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Ok(Config::load(&inputs).map_err(|errors| errors.to_string())?.config)
}

pub(crate) struct Gleaner {
    database: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    engine: Engine,
    feeds: usize,
}

impl Gleaner {
    /// With an empty database.
    pub(crate) async fn create(database: &str) -> Result<Self, Error> {
        Self::with(database, config()?).await
    }

    async fn with(database: &str, config: Config) -> Result<Self, Error> {
        let store = open(&Options::new(database)).await?;
        let clock = Arc::new(ManualClock::new(begin()));
        let context = Context {
            store: Arc::clone(&store),
            fetcher: Fetcher::new(&config.fetch, &NetworkOverrides::default())?,
            config,
            clock: Arc::clone(&clock) as _,
            random: RandomSource::seeded(1),
            readers: Readers::default(),
            metrics: Default::default(),
            committed: Default::default(),
        };
        let engine = Engine::new(context, "bench");
        Ok(Self { database: database.to_owned(), store, clock, engine, feeds: 0 })
    }

    /// With these sources, all due at once, and this many concurrent requests.
    pub(crate) async fn open(sources: Vec<NewSource>, database: &str, at_once: &str) -> Result<Self, Error> {
        let config = config_with(&[&format!("fetch.concurrency={at_once}")])?;
        let mut gleaner = Self::with(database, config).await?;
        gleaner.feeds = sources.len();
        gleaner.add(sources.into_iter()).await?;
        Ok(gleaner)
    }

    pub(crate) async fn add(&self, sources: impl Iterator<Item = NewSource>) -> Result<(), Error> {
        let mut sources = sources.peekable();
        while sources.peek().is_some() {
            let some: Vec<NewSource> = sources.by_ref().take(ADDED).collect();
            self.store.create_sources(&some, begin()).await?;
        }
        Ok(())
    }

    /// Polls what is due, and fails unless it is `expected` sources.
    pub(crate) async fn poll(&mut self, expected: usize) -> Result<(), Error> {
        let ticked = self.engine.run_due(self.clock.now()).await?;
        if ticked.sources == expected {
            return Ok(());
        }
        Err(format!("{} sources were due, not {expected}", ticked.sources).into())
    }
}

impl Program for Gleaner {
    async fn round(&mut self) -> Result<(), Error> {
        self.clock.advance(GAP);
        self.poll(self.feeds).await
    }

    async fn counts(&self) -> Result<Counts, Error> {
        database::counts(&self.database).await
    }
}

/// The feeds at these URLs.
pub(crate) fn feeds(urls: &[String]) -> Vec<NewSource> {
    urls.iter().map(|url| source(url, begin())).collect()
}

/// The index pages beside them.
pub(crate) fn indexes(urls: &[String]) -> Vec<NewSource> {
    let index = |url: &String| {
        let mut index = source(&url.replace("/feed/", "/index/").replace(".xml", ""), begin());
        index.settings.kind = Kind::Watchlist;
        index
    };
    urls.iter().map(index).collect()
}

pub(crate) fn source(url: &str, next_poll_at: Time) -> NewSource {
    NewSource {
        canonical_url: link::canonical(url),
        host: HostKey { name: link::host(url).unwrap_or_default(), slot: 0 },
        next_poll_at,
        enabled: true,
        settings: SourceSettings {
            backfill: gleaner_core::backfill::Backfill::All,
            ..SourceSettings::feed(1, url)
        },
    }
}
