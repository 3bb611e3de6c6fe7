//! A simulated internet on loopback, for `gleaner demo`.
//!
//! `scenario.rs` defines what each publisher does at which time, `publishers.rs` lists the publishers, `pages.rs`
//! renders their documents, and `server.rs` serves them. Everything else is the real gleaner, with the demo's host
//! names, clock and limits. Only the command uses this module.

mod pages;
mod publishers;
mod scenario;
mod server;
mod text;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};

pub use publishers::{NEWCOMER, PUBLISHERS};
pub use scenario::{Behaviour, Disruption, Format, Publisher, Scenario};
pub use server::DemoServer;

use crate::clock::FastClock;
use crate::config::secret::Secret;
use crate::config::{Config, ConfigErrors, Flag, Inputs, Loaded};
use crate::engine::Engine;
use crate::service::{Service, ServiceError, SourceSettings};

/// A host name that no longer exists.
const VANISHED_HOST: &str = "vanished.example";
/// The host that stands in for X's API.
const X_HOST: &str = "x-stand-in.example";
/// Timeout of a request, in real time: at the demo's clock speed no machine would be fast enough.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum size of a document.
const MAX_BODY: usize = 256 * 1024;
/// How far the clock advances at once while days are run ahead.
const AHEAD_STEP: Span = Span::from_mins(15);

/// The demo's settings, with all files in `directory`; `set` applies where it does not conflict with them.
pub fn settings(directory: &Path, set: &[String]) -> Result<Loaded, ConfigErrors> {
    let store = toml::Value::from(directory.join("gleaner.db").display().to_string());
    let own = [
        format!("store.url={store}"),
        "fetch.allow_private_networks=[\"127.0.0.1\"]".to_owned(),
        format!("fetch.timeout_seconds={}", TIMEOUT.as_secs_f64()),
        format!("fetch.max_body_bytes={MAX_BODY}"),
        format!("x.base_url=http://{X_HOST}"),
    ];
    let flag = |name: &str, assignment: String| Flag { name: name.to_owned(), assignment };
    // The failures of the sources are shown on the dashboard instead.
    let quiet = flag("gleaner demo", "log.level=error".to_owned());
    let given = set.iter().map(|set| flag("--set", set.clone()));
    let flags = [quiet].into_iter().chain(given).chain(own.map(|own| flag("gleaner demo", own))).collect();
    let inputs =
        Inputs { file: None, env: Default::default(), flags, read: &|path| fs::read_to_string(path) };
    Config::load(&inputs)
}

/// Adds all sources except the last; returns their ids in the order of [`PUBLISHERS`].
pub async fn add_sources(service: &Service) -> Result<Vec<i64>, ServiceError> {
    let actor = service.local().await?;
    let by = service.by(&actor);
    by.set_key(&actor.name, "x", &Secret::new("a-key-of-no-use-elsewhere")).await?;
    let mut ids = Vec::with_capacity(PUBLISHERS.len());
    let mut collections: HashMap<&str, i64> = HashMap::new();
    for publisher in PUBLISHERS.iter().filter(|publisher| publisher.interval > 0) {
        let collection = collections.entry(publisher.collection).or_default();
        if *collection == 0 {
            *collection = by.create_collection(publisher.collection).await?.id;
        }
        let new = SourceSettings {
            kind: publisher.kind(),
            name: Some(publisher.name.to_owned()),
            interval: Interval::Minutes(publisher.interval),
            policy: publisher.policy.map(str::to_owned),
            full_content: publisher.format == Format::Teaser,
            ..SourceSettings::feed(*collection, publisher.url())
        };
        ids.push(by.add_spread(&new).await?.id);
    }
    Ok(ids)
}

/// Polls everything due until this time as fast as possible, then starts the clock.
pub async fn run_ahead(
    engine: &mut Engine,
    service: &Service,
    clock: &FastClock,
    until: Time,
) -> Result<(), ServiceError> {
    while service.now() < until {
        engine.run_due(service.now()).await?;
        clock.advance(AHEAD_STEP.min(until.since(service.now())));
    }
    service.catch_up().await?;
    clock.start();
    Ok(())
}

/// A temporary directory that is deleted on drop.
pub struct TempDirectory(PathBuf);

impl TempDirectory {
    /// Creates a directory that only its owner can read.
    pub fn create() -> io::Result<Self> {
        let random: [u8; 8] = crate::vault::random().map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("gleaner-demo-{}", crate::hex::encode(&random)));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        // The database may still be closing its files, and create one during the deletion.
        let removed = |_: &u32| fs::remove_dir_all(&self.0).is_ok();
        let pause = |_: u32| std::thread::sleep(Duration::from_millis(20));
        (0..50).take_while(|time| !removed(time)).for_each(pause);
    }
}
