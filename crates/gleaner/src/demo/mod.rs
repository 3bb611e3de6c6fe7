//! A small internet of gleaner's own, on loopback, for whoever wants to see it at work.
//!
//! `story.rs` says what each source does at which time, `cast.rs` who they are, `pages.rs` how it looks, and
//! `world.rs` serves it. gleaner itself is the real one: only its names, its clock and its limits are the demo's.
//! Absent on purpose: anything that a server without it would use. Nobody but the command names this module.

mod cast;
mod pages;
mod story;
mod words;
mod world;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};

pub use cast::{CAST, NEWCOMER};
pub use story::{Act, Part, Player, Spell, Story};
pub use world::World;

use crate::clock::FastClock;
use crate::config::secret::Secret;
use crate::config::{Config, ConfigErrors, Flag, Inputs, Loaded};
use crate::engine::Engine;
use crate::service::{Service, ServiceError, SourceSettings};

/// The name that does not exist any more.
const VANISHED: &str = "vanished.example";
/// Who stands in for X.
const X_HOST: &str = "x-stand-in.example";
/// How long a request may take. In the world's time: by the demo's clock no machine would be fast enough.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The largest document.
const MAX_BODY: usize = 256 * 1024;
/// How far the clock is set at once while days are run ahead.
const STEP: Span = Span::from_mins(15);

/// The settings, with everything in this directory; what else is set holds where it does not go against that.
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
    // What the sources do wrong is on the pages.
    let quiet = flag("gleaner demo", "log.level=error".to_owned());
    let given = set.iter().map(|set| flag("--set", set.clone()));
    let flags = [quiet].into_iter().chain(given).chain(own.map(|own| flag("gleaner demo", own))).collect();
    let inputs =
        Inputs { file: None, env: Default::default(), flags, read: &|path| fs::read_to_string(path) };
    Config::load(&inputs)
}

/// Adds everybody but the last; their ids, in the order of the cast.
pub async fn add_all(service: &Service) -> Result<Vec<i64>, ServiceError> {
    let actor = service.local().await?;
    let by = service.by(&actor);
    by.set_key(&actor.name, "x", &Secret::new("a-key-of-no-use-elsewhere")).await?;
    let mut ids = Vec::with_capacity(CAST.len());
    let mut collections: HashMap<&str, i64> = HashMap::new();
    for player in CAST.iter().filter(|player| player.interval > 0) {
        let collection = collections.entry(player.collection).or_default();
        if *collection == 0 {
            *collection = by.create_collection(player.collection).await?.id;
        }
        let new = SourceSettings {
            kind: player.kind(),
            name: Some(player.name.to_owned()),
            interval: Interval::Minutes(player.interval),
            policy: player.policy.map(str::to_owned),
            full_content: player.part == Part::Teaser,
            ..SourceSettings::feed(*collection, player.url())
        };
        ids.push(by.add_spread(&new).await?.id);
    }
    Ok(ids)
}

/// Polls all that is due until this time, as fast as it goes, and lets the clock run from there.
pub async fn run_ahead(
    engine: &mut Engine,
    service: &Service,
    clock: &FastClock,
    until: Time,
) -> Result<(), ServiceError> {
    while service.now() < until {
        engine.run_due(service.now()).await?;
        clock.advance(STEP.min(until.since(service.now())));
    }
    service.catch_up().await?;
    clock.let_go();
    Ok(())
}

/// A directory of the demo's own, which goes with it.
pub struct Place(PathBuf);

impl Place {
    /// Makes one among the system's temporary files, which nobody else can look into.
    pub fn make() -> io::Result<Self> {
        let chance: [u8; 8] = crate::vault::random().map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("gleaner-demo-{}", crate::hex::encode(&chance)));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The database may still be closing its files, and in a hurry leave one behind the broom.
        let removed = |_: &u32| fs::remove_dir_all(&self.0).is_ok();
        let pause = |_: u32| std::thread::sleep(Duration::from_millis(20));
        (0..50).take_while(|time| !removed(time)).for_each(pause);
    }
}
