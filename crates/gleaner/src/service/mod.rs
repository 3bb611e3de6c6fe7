//! What people and programs do with gleaner: use cases, one function each, over the store and the engine.
//!
//! The command line, and later the API and the dashboard, only translate. Absent on purpose: how things look.

mod extraction;
mod hand;
mod keys;
mod links;
mod sources;
mod trial;

use std::sync::Arc;

use gleaner_core::link::BadUrl;

pub use crate::fetch::Credential;
pub use crate::store::{Source, SourceFilter, StoreError};
pub use extraction::{Extraction, extract_html, extract_url};
pub use keys::SERVICES;
pub use links::{IndexLink, IndexLinks, links_at, links_of};
pub use sources::{Added, NewSource};
pub use trial::{Trial, TrialEntry, TrialFeed, try_url};

use crate::clock::{Chance, Clock, SystemClock};
use crate::config::{Config, StoreUrl};
use crate::engine::{Context, Engine, Readers};
use crate::fetch::{Fetcher, Outside, Unusable};
use crate::store::{self, Options, Store};
use crate::vault::{Vault, VaultError};

/// Everything a use case needs.
pub struct Service {
    store: Arc<dyn Store>,
    config: Config,
    clock: Arc<dyn Clock>,
    chance: Chance,
    vault: Vault,
}

/// Why a use case failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was given is no URL.
    #[error(transparent)]
    BadUrl(#[from] BadUrl),
    /// What is to be kept secret cannot be encrypted.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The HTTP client cannot be set up.
    #[error(transparent)]
    Client(#[from] Unusable),
    /// Something that was named is not there.
    #[error("{0}")]
    Invalid(String),
    /// The page cannot be fetched, which may pass.
    #[error("{url}: {why}")]
    Unreachable {
        /// Which page.
        url: String,
        /// What happened.
        why: String,
    },
    /// The page is nothing that can be polled.
    #[error("{url}: {why}")]
    Unreadable {
        /// Which page.
        url: String,
        /// What happened.
        why: String,
    },
}

impl Service {
    /// Opens the database that config names.
    pub async fn open(config: Config) -> Result<Self, ServiceError> {
        let url = match &config.store.url {
            StoreUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
            StoreUrl::Postgres(url) => url.expose().to_string(),
        };
        let options = Options { max_connections: config.store.max_connections, ..Options::new(url) };
        let store = store::open(&options).await?;
        Ok(Self::new(store, config, Arc::new(SystemClock), Chance::new()))
    }

    /// Over a store that is open already, by another clock and other dice.
    pub fn new(store: Arc<dyn Store>, config: Config, clock: Arc<dyn Clock>, chance: Chance) -> Self {
        let vault = Vault::of(&config.store);
        Self { store, config, clock, chance, vault }
    }

    /// An engine that polls this service's sources; `owner` names it among workers.
    pub fn engine(&self, owner: &str) -> Result<Engine, ServiceError> {
        let context = Context {
            store: Arc::clone(&self.store),
            fetcher: Fetcher::new(&self.config.fetch, &Outside::default())?,
            config: self.config.clone(),
            clock: Arc::clone(&self.clock),
            chance: Chance::new(),
            readers: Readers::default(),
        };
        Ok(Engine::new(context, owner))
    }
}
