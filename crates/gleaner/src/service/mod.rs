//! What people and programs do with gleaner: use cases, one function each, over the store and the engine.
//!
//! The API, the command line and the dashboard only translate. Absent on purpose: how things look.

mod access;
mod actor;
mod article_pages;
mod audit;
mod backup;
mod bulk;
mod content;
mod device;
mod doctor;
mod edit;
mod error;
mod events;
mod explain;
mod feeds;
mod fields;
mod hand;
mod health;
mod history;
mod hosts;
mod import;
mod import_jobs;
pub mod jwt;
mod keys;
mod lists;
mod login_limits;
#[cfg(feature = "oidc")]
mod oidc;
mod oidc_accounts;
mod open_callers;
mod overview;
mod pages;
mod password;
mod people;
mod policies;
pub mod policy_words;
mod polling;
mod preview;
mod proxy_sign_in;
mod reading;
mod recent_events;
mod repeat;
mod replay;
mod sign_in_checks;
mod sources;
mod step_up;
mod stream;
mod synonyms;
mod visibility;
mod webhooks;
mod workers;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gleaner_core::time::Time;
use tokio::sync::{Notify, Semaphore};

pub use crate::engine::{PollEnd, SourceReport, Told, ToldSource, observed_redirect};
pub use crate::fetch::Credential;
pub use crate::store::{
    Activity, Article, AuditEntry, AuditFilter, Collection, Delivery, DeliveryStatus, Host, HostOrder,
    IdempotencyState, NewArticle, NewAudit, NewEvent, PagePosition, PolicyFilter, Poll, PollPages, Post,
    PostFilter, SortKey, SortOrder, SortPosition, Source, SourceFilter, SourceName, SourceOrder,
    SourceSettings, StoreError, Stream, Token, TokenKind, User, WaitingPage, Webhook, Worker,
};
pub use access::{Granted, LoggedIn, Login};
pub use actor::{Actor, Scope};
pub use backup::{Copied, back_up, restore};
pub use bulk::{BULK, BulkAction, BulkDone, BulkOf};
pub use device::DEVICE_LASTS;
pub use doctor::{Finding, State, examine};
pub use error::{Checks, ServiceError, Wrong};
pub use events::{EventQuery, EventStream, News, StreamPlace};
pub use explain::{network_down, poll_in_words};
pub use feeds::{FeedContent, FeedItem, OutputFeed};
pub use fields::SourceFields;
pub use gleaner_core::backfill::Backfill;
pub use gleaner_core::explain::Explanation;
pub use health::{Check, Readiness};
pub use history::History;
pub use import::{FIRST_POLLS_WITHIN, Imported, Line, ListOptions, MAX_LIST_BYTES};
pub use import_jobs::{ImportJob, ListFrom};
pub use keys::SERVICES;
pub use lists::Format;
#[cfg(feature = "oidc")]
pub use oidc::{OidcAnswer, OidcEnd, OidcStart};
pub use overview::Overview;
pub use pages::Sheet;
pub use people::CollectionChange;
pub use policies::{HeldBy, PolicyInUse};
pub use polling::{PollRequest, PolledNow};
pub use preview::{
    Candidate, Extraction, IndexLink, IndexLinks, Preview, PreviewEntry, extract_html, extract_url, links_at,
    links_of, preview_url, unreachable_candidates,
};
pub use proxy_sign_in::ProxySession;
pub use reading::{Found, Reading, SafeHtml, Shown, dated};
pub use replay::{ReplayOf, ReplayPage, ReplayedSource, Tried};
pub use sources::{Added, SameUrl};
pub use step_up::Proof;
pub use stream::{Resent, StreamNow};
pub use webhooks::{NewWebhook, WebhookEdit};
pub use workers::WorkerNow;

use crate::clock::{Clock, RandomSource, SystemClock};
use crate::config::{Config, StoreUrl};
use crate::engine::{Context, Engine, Outbox, Poller, Readers};
use crate::fetch::{Fetcher, NetworkOverrides};
use crate::metrics::Metrics;
use crate::store::{self, Options, Store};
use crate::vault::Vault;
use access::Gate;
use health::Counted;

/// Everything a use case needs.
pub struct Service {
    /// What this process is called among those that use the database.
    name: String,
    store: Arc<dyn Store>,
    config: Config,
    clock: Arc<dyn Clock>,
    random: RandomSource,
    network_overrides: NetworkOverrides,
    vault: Vault,
    gate: Gate,
    proxy_sessions: proxy_sign_in::ProxySessions,
    #[cfg(feature = "oidc")]
    oidc: oidc::Provider,
    /// Polls by hand; made when it is first needed.
    poller: OnceLock<Poller>,
    metrics: Arc<Metrics>,
    counted: Counted,
    held: health::Kept<Vec<crate::store::HeldSources>>,
    any_private: visibility::AnyPrivate,
    failed_logins: audit::FailedLogins,
    jobs: import_jobs::Jobs,
    outbox: Outbox,
    /// How many more streams of events may be open.
    streams: Arc<Semaphore>,
    open_callers: open_callers::OpenCallers,
    recent_events: recent_events::RecentEvents,
    ready: health::LatestReadiness,
    /// Says that something is to be sent to a webhook.
    send: Arc<Notify>,
    /// Says that something is to be sent to the stream again.
    resend: Arc<Notify>,
}

/// The use cases, as somebody who may or may not do them.
#[derive(Clone, Copy)]
pub struct By<'a> {
    service: &'a Service,
    /// Who.
    pub actor: &'a Actor,
    /// What is done is a part of something that is written into the audit log as a whole.
    is_part: bool,
}

impl Deref for By<'_> {
    type Target = Service;

    fn deref(&self) -> &Service {
        self.service
    }
}

impl Service {
    /// Opens the database that config names.
    pub async fn open(config: Config) -> Result<Self, ServiceError> {
        Self::open_in(config, NetworkOverrides::default(), Arc::new(SystemClock), RandomSource::new()).await
    }

    /// The same in a world of its own: with other names, by another clock and other dice.
    pub async fn open_in(
        config: Config,
        network_overrides: NetworkOverrides,
        clock: Arc<dyn Clock>,
        random: RandomSource,
    ) -> Result<Self, ServiceError> {
        let url = match &config.store.url {
            StoreUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
            StoreUrl::Postgres(url) => url.expose().to_string(),
        };
        // Who is not heard from for a lease keeps no locks either: others are to go on with what it had.
        let lease = Duration::from_millis(config.serve.lease.as_millis());
        let time_limit = lease.clamp(Duration::from_secs(5), Options::new("").time_limit);
        let max_connections = config.store.max_connections;
        let options = Options { max_connections, time_limit, ..Options::new(url) };
        let store = store::open(&options).await?;
        Ok(Self { network_overrides, ..Self::new(store, config, clock, random) })
    }

    /// Over a store that is open already, by another clock and other dice.
    pub fn new(store: Arc<dyn Store>, config: Config, clock: Arc<dyn Clock>, random: RandomSource) -> Self {
        let vault = Vault::for_store(&config.store);
        let outbox = Outbox::new(Arc::clone(&store), Arc::clone(&clock));
        let streams = config.api.max_streams as usize;
        Self {
            name: workers::process_name(),
            store,
            config,
            clock,
            random,
            network_overrides: NetworkOverrides::default(),
            vault,
            gate: Gate::default(),
            proxy_sessions: proxy_sign_in::ProxySessions::default(),
            #[cfg(feature = "oidc")]
            oidc: oidc::Provider::default(),
            metrics: Arc::default(),
            counted: Counted::default(),
            held: health::Kept::default(),
            any_private: visibility::AnyPrivate::default(),
            failed_logins: audit::FailedLogins::default(),
            jobs: import_jobs::Jobs::default(),
            poller: OnceLock::new(),
            outbox,
            streams: Arc::new(Semaphore::new(streams)),
            open_callers: open_callers::OpenCallers::default(),
            recent_events: recent_events::RecentEvents::default(),
            ready: health::LatestReadiness::default(),
            send: Arc::default(),
            resend: Arc::default(),
        }
    }

    /// The use cases, as this one.
    pub const fn by<'a>(&'a self, actor: &'a Actor) -> By<'a> {
        By { service: self, actor, is_part: false }
    }

    /// Whoever sits at the machine: its first admin.
    pub async fn local(&self) -> Result<Actor, ServiceError> {
        let mut users = self.store.users().await?.into_iter();
        let admin = users.find(|user| user.is_admin);
        admin
            .map(Actor::local)
            .ok_or_else(|| ServiceError::Forbidden("there is no admin any more".to_owned()))
    }

    /// Whoever sits at the machine, in somebody else's name.
    pub async fn local_as(&self, name: &str) -> Result<Actor, ServiceError> {
        Ok(Actor::local(self.store.user_named(name).await?))
    }

    /// Does once what a server does all the time: numbers what has happened, and makes posts known to the search.
    pub async fn catch_up(&self) -> Result<(), ServiceError> {
        while self.store.number_events(1000).await? > 0 {}
        while self.store.index_posts(100).await? > 0 {}
        Ok(())
    }

    /// The settings in use.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The time now.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// An engine that polls this service's sources; `owner` names it among workers.
    pub fn engine(&self, owner: &str) -> Result<Engine, ServiceError> {
        let engine = Engine::new(self.context()?, owner);
        // Polls by hand share its client and its writer.
        let _ = self.poller.set(engine.poller());
        Ok(engine)
    }

    fn poller(&self) -> Result<&Poller, ServiceError> {
        if let Some(poller) = self.poller.get() {
            return Ok(poller);
        }
        let poller = Poller::new(self.context()?, format!("{} by hand", self.name));
        Ok(self.poller.get_or_init(|| poller))
    }

    fn fetcher(&self) -> Result<Fetcher, ServiceError> {
        Ok(Fetcher::new(&self.config.fetch, &self.network_overrides)?)
    }

    fn context(&self) -> Result<Context, ServiceError> {
        Ok(Context {
            store: Arc::clone(&self.store),
            fetcher: self.fetcher()?,
            config: self.config.clone(),
            clock: Arc::clone(&self.clock),
            random: RandomSource::new(),
            readers: Readers::default(),
            metrics: Arc::clone(&self.metrics),
            committed: self.outbox.committed(),
        })
    }
}
