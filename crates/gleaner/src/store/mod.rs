//! Storage: one trait, implemented for SQLite and PostgreSQL.
//!
//! The body of SQL in `sql/` is compiled twice, once with `sqlite` and once with `postgres` around it; the
//! two modules hold how to connect, and `dialect.rs` what differs in SQL. No decisions are made here: what is due, new or
//! quarantined comes from `gleaner_core`; the store writes it atomically.

mod audit;
mod dialect;
mod error;
mod events;
#[cfg(feature = "test-faults")]
mod faults;
pub mod maintenance;
mod migrate;
mod postgres;
mod records;
mod sorting;
mod source_json;
mod sqlite;
mod streams;
mod tokens;
mod types;
mod visibility;
mod webhooks;
mod work;
mod workers;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gleaner_core::follow::PageState;
use gleaner_core::health::Status;
use gleaner_core::identity::Seen;
use gleaner_core::judgement::HostMemory;
use gleaner_core::time::Time;

pub use audit::*;
pub use error::StoreError;
pub use events::*;
pub use records::*;
pub use sorting::*;
pub use streams::*;
pub use types::*;
pub use visibility::*;
pub use webhooks::*;
pub use work::*;
pub use workers::*;

/// The result of a store's method.
pub type Result<T> = std::result::Result<T, StoreError>;

/// All that a store can do.
pub trait Store:
    Work + Sources + Content + Events + Webhooks + Streams + Workers + People + Access + Audit + Maintenance
{
}

impl<T> Store for T where
    T: Work
        + Sources
        + Content
        + Events
        + Webhooks
        + Streams
        + Workers
        + People
        + Access
        + Audit
        + Maintenance
{
}

/// Due work, claimed under leases, and its results.
#[async_trait]
pub trait Work: Send + Sync {
    /// Leases due hosts, longest due first, with their due sources and pages. A host without a heartbeat by the
    /// end of its lease can be claimed again.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>>;

    /// Leases the host of one source, due or not, with that source alone; none where another worker holds it.
    async fn claim_source(&self, id: i64, request: &ClaimRequest) -> Result<Option<Claim>>;

    /// Hosts of these sources, as `(source, host)`; unknown sources are left out.
    async fn source_hosts(&self, ids: &[i64]) -> Result<Vec<(i64, i64)>>;

    /// Leases the hosts of these sources, due or not, each with those of the sources that it serves. Leaves out hosts that
    /// another worker has leased, and hosts in the delay after their last request. `request.hosts` and `request.per_host`
    /// do not apply.
    async fn claim_sources(&self, ids: &[i64], request: &ClaimRequest) -> Result<Vec<Claim>>;

    /// Leases the hosts of pages of these sources that are due, each with those pages; leaves out the same hosts as
    /// [`Work::claim_sources`].
    async fn claim_pages(&self, source_ids: &[i64], request: &ClaimRequest) -> Result<Vec<Claim>>;

    /// Whether these sources may be polled; unknown sources are left out.
    async fn poll_holds(&self, ids: &[i64]) -> Result<Vec<PollHold>>;

    /// How many pages of these sources are due.
    async fn pages_due(&self, source_ids: &[i64], now: Time) -> Result<u64>;

    /// Makes an enabled source due for a manual poll, without raising its fence; returns the lease of its host, if it is
    /// leased at that time.
    async fn wake_source(&self, id: i64, now: Time) -> Result<Option<Lease>>;

    /// Makes these enabled sources due, like [`Work::wake_source`], many in a transaction; unknown sources are left out.
    async fn wake_sources(&self, ids: &[i64], now: Time) -> Result<()>;

    /// Extends leases; returns those that are still ours.
    async fn heartbeat(&self, leases: &[Lease], until: Time) -> Result<Vec<Lease>>;

    /// Ends leases; each host is due again when the earliest of its work is.
    async fn release(&self, releases: &[Release]) -> Result<()> {
        self.commit(&[], releases).await.map(|_| ())
    }

    /// Returns what is remembered of the entries of these sources.
    async fn known(&self, source_ids: &[i64]) -> Result<HashMap<i64, Vec<Seen>>>;

    /// Commits polls in one durable transaction: each as a whole, or, where its lease or fence is stale, not at all. At
    /// most one poll per source. Ends leases in the same transaction.
    async fn commit(&self, commits: &[Commit], releases: &[Release]) -> Result<Vec<CommitOutcome>>;

    /// Commits article work in the same way.
    async fn commit_articles(
        &self,
        commits: &[ArticleCommit],
        releases: &[Release],
    ) -> Result<Vec<CommitOutcome>>;

    /// Makes a source's given-up article pages due, with all their tries before them; returns how many.
    async fn retry_pages(&self, source_id: i64, now: Time) -> Result<u64>;
}

#[async_trait]
pub trait Sources: Send + Sync {
    /// Adds sources; one whose URL the collection has already stays as it is.
    async fn create_sources(&self, sources: &[NewSource], now: Time) -> Result<Vec<Created>>;

    async fn source(&self, id: i64) -> Result<Source>;

    /// Lists sources by id, after that one.
    async fn sources(&self, filter: &SourceFilter, after: Option<i64>, limit: u32) -> Result<Vec<Source>>;

    /// Lists one page of sources in a chosen order, each with its place in that order.
    async fn sources_sorted(
        &self,
        filter: &SourceFilter,
        order: SortOrder<SourceOrder>,
        turn: &PagePosition,
        limit: u32,
    ) -> Result<Vec<(SortPosition, Source)>>;

    /// Sources with this canonical URL in any collection, as `(source, collection)`, by id.
    async fn sources_at(&self, canonical_url: &str) -> Result<Vec<(i64, i64)>>;

    /// Counts the sources that a filter finds, up to `most`.
    async fn count_sources(&self, filter: &SourceFilter, most: u32) -> Result<u64>;

    /// Counts visible sources by status.
    async fn count_by_status(&self, visibility: &Visibility) -> Result<Vec<(Status, u64)>>;

    /// Changes a source, if it is still as it was read, and raises its fence.
    async fn edit_source(&self, edit: &SourceEdit, now: Time) -> Result<()>;

    /// Deletes a source with its posts, seen and history.
    async fn delete_source(&self, id: i64) -> Result<()>;

    /// What is known of the host of a source.
    async fn host_memory(&self, source_id: i64) -> Result<HostMemory>;

    /// Lists hosts by id, after that one, with this text in their name. Hosts with hidden sources only are left out, and hidden
    /// sources are not counted.
    async fn hosts(
        &self,
        visibility: &Visibility,
        text: Option<&str>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Host>>;

    /// Lists one page of hosts with this text in their name in a chosen order, each with its place in that order.
    async fn hosts_sorted(
        &self,
        visibility: &Visibility,
        text: Option<&str>,
        order: SortOrder<HostOrder>,
        turn: &PagePosition,
        limit: u32,
    ) -> Result<Vec<(SortPosition, Host)>>;

    /// Counts sources with an adaptive interval by class.
    async fn adaptive_classes(&self) -> Result<Vec<(u8, u64)>>;

    /// Counts sources by the policy they name; none: the default one.
    async fn policy_uses(&self, visibility: &Visibility) -> Result<Vec<(Option<String>, u64)>>;

    /// Counts sources that are failing, quarantined or disabled by a rule, by policy, error kind and status.
    async fn held_by_rules(&self, visibility: &Visibility) -> Result<Vec<HeldSources>>;
}

/// Posts, articles and the poll history.
#[async_trait]
pub trait Content: Send + Sync {
    async fn post(&self, id: i64) -> Result<Post>;

    /// Lists posts, newest first, before that one.
    async fn posts(&self, filter: &PostFilter, before: Option<i64>, limit: u32) -> Result<Vec<Post>>;

    /// Counts the posts of these sources.
    async fn count_posts(&self, source_ids: &[i64]) -> Result<u64>;

    /// The posts of the same source before and after a post, by id.
    async fn neighbours(&self, source_id: i64, id: i64) -> Result<(Option<i64>, Option<i64>)>;

    /// Returns activity by hour since then, oldest first; hours without any are left out.
    async fn activity(&self, from: Time) -> Result<Vec<Activity>>;

    /// Returns the latest history row of each of these sources; those without one are left out.
    async fn latest_polls(&self, source_ids: &[i64]) -> Result<HashMap<i64, Poll>>;

    /// Lists a source's poll history, newest first, before that row.
    async fn polls(&self, source_id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Poll>>;

    /// A source's article pages that wait, failed or were given up, by id, after that one; of one state, or of all.
    async fn waiting_pages(
        &self,
        source_id: i64,
        state: Option<PageState>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<WaitingPage>>;

    /// The latest failure of a source's article pages, as page and error.
    async fn latest_page_failure(&self, source_id: i64) -> Result<Option<(String, String)>>;

    /// Returns when posts of a source were stored since then, and how many each time, latest first.
    async fn posts_by_time(&self, source_id: i64, since: Time, limit: u32) -> Result<Vec<(Time, u64)>>;

    /// Creates an article from posts.
    async fn create_article(&self, article: &NewArticle, now: Time) -> Result<i64>;

    async fn article(&self, id: i64) -> Result<Article>;

    /// Lists articles, newest first, before that one.
    async fn articles(
        &self,
        visibility: &Visibility,
        processed: Option<bool>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Article>>;

    /// Whether an article may be seen: none of the posts that it was made from is hidden.
    async fn may_see_article(&self, id: i64, visibility: &Visibility) -> Result<bool>;

    /// Returns those of these posts that exist and are visible.
    async fn visible_posts(&self, ids: &[i64], visibility: &Visibility) -> Result<Vec<i64>>;

    async fn set_processed(&self, id: i64, processed: bool) -> Result<()>;
}

/// Users, collections and keys.
#[async_trait]
pub trait People: Send + Sync {
    async fn create_user(&self, name: &str, is_admin: bool, now: Time) -> Result<i64>;

    async fn users(&self) -> Result<Vec<User>>;

    /// The user of that name.
    async fn user_named(&self, name: &str) -> Result<User>;

    /// The user that an account at an OpenID Connect provider signs in.
    async fn user_of_oidc(&self, account: &OidcAccount) -> Result<Option<User>>;

    /// Adds a user, no admin, whom an account at an OpenID Connect provider signs in. A duplicate may be the name's or
    /// the account's.
    async fn create_oidc_user(&self, name: &str, account: &OidcAccount, now: Time) -> Result<i64>;

    /// Sets the account that signs a user in; none: no account does. A duplicate: it signs another user in.
    async fn set_oidc(&self, user_id: i64, account: Option<&OidcAccount>) -> Result<()>;

    /// Sets a password, and ends what the former one let in: all sessions and login links of the user but `keep`, and
    /// the tokens that they made. Returns how many ended.
    async fn set_password(&self, change: &PasswordChange) -> Result<u64>;

    /// Makes a user an admin, or no admin.
    async fn set_admin(&self, user_id: i64, is_admin: bool) -> Result<()>;

    /// Deletes a user who owns no collection.
    async fn delete_user(&self, id: i64) -> Result<()>;

    /// Adds a collection that everybody sees.
    async fn create_collection(&self, name: &str, owner_id: i64, now: Time) -> Result<i64> {
        let access = CollectionEdit { name: name.to_owned(), owner_id, private: false };
        self.add_collection(&access, now).await
    }

    async fn add_collection(&self, collection: &CollectionEdit, now: Time) -> Result<i64>;

    async fn collections(&self) -> Result<Vec<Collection>>;

    async fn edit_collection(&self, id: i64, edit: &CollectionEdit) -> Result<()>;

    /// Deletes a collection without sources.
    async fn delete_collection(&self, id: i64) -> Result<()>;

    /// Sets a user's key for a service, encrypted; none removes it.
    async fn set_credential(
        &self,
        owner_id: i64,
        service: &str,
        secret: Option<&[u8]>,
        now: Time,
    ) -> Result<()>;

    /// A user's key for a service, encrypted.
    async fn credential(&self, owner_id: i64, service: &str) -> Result<Option<Vec<u8>>>;

    /// The services that a user has keys for, and when each was set.
    async fn credentials(&self, owner_id: i64) -> Result<Vec<(String, Time)>>;
}

/// Tokens, and requests that must not be carried out twice.
#[async_trait]
pub trait Access: Send + Sync {
    /// Stores a token; its name must be unique among its user's tokens of that kind.
    async fn create_token(&self, token: &NewToken) -> Result<i64>;

    /// The token of that kind and key, with its user; the caller checks whether it has expired.
    async fn token(&self, kind: TokenKind, key: &str) -> Result<Option<(Token, User)>>;

    /// Those of these tokens that are there, with their users.
    async fn callers(&self, ids: &[i64]) -> Result<Vec<(Token, User)>>;

    /// A user's tokens of that kind.
    async fn tokens(&self, user_id: i64, kind: TokenKind) -> Result<Vec<Token>>;

    /// Records that a token was used.
    async fn touch_token(&self, id: i64, now: Time) -> Result<()>;

    /// Records that a session's user has proved who they are.
    async fn set_proved(&self, id: i64, at: Time) -> Result<()>;

    /// Revokes a token; returns whether it existed.
    async fn delete_token(&self, id: i64) -> Result<bool>;

    /// Begins a request with an idempotency key.
    async fn begin_request(
        &self,
        user_id: i64,
        key: &str,
        request: &[u8],
        now: Time,
    ) -> Result<IdempotencyState>;

    /// Stores the response to such a request; none: it was not carried out, and may be tried again.
    async fn end_request(&self, user_id: i64, key: &str, answer: Option<(u16, &[u8])>) -> Result<()>;

    /// Deletes tokens that expired, and stored responses from before.
    async fn forget_access(&self, ended: Time, answered: Time) -> Result<()>;
}

/// Retention, full-text index, corrections of time, and key-value storage.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Deletes one batch of expired rows.
    async fn clean_up(&self, cleanup: &Cleanup) -> Result<CleanupCounts>;

    /// Indexes the posts of the next numbered events for full-text search; returns how many events. 0: it is up to date, or
    /// another worker is doing it.
    async fn index_posts(&self, limit: u32) -> Result<u64>;

    /// Corrects stored times as [`Spread::correct`] says, and ends leases and holds that no rule could have set; returns how
    /// many sources were drawn anew.
    async fn spread(&self, spread: &Spread) -> Result<u64>;

    /// Returns a value stored under a name.
    async fn meta(&self, name: &str) -> Result<Option<String>>;

    /// Stores a value under a name.
    async fn set_meta(&self, name: &str, value: &str) -> Result<()>;

    /// Returns the plans of the queries that run most often.
    async fn query_plans(&self) -> Result<Vec<(&'static str, String)>>;
}

/// Where and how to open a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A path, `sqlite:PATH`, or `postgres://…`.
    pub url: String,
    /// Connections for reading, and on PostgreSQL for all.
    pub max_connections: u32,
    /// How long to wait for another process's lock.
    pub lock_timeout: Duration,
    /// How long a statement or transaction may take; ten times as long for those that touch very many rows.
    pub time_limit: Duration,
    /// SQLite: the file never grows beyond so many bytes.
    pub max_bytes: Option<u64>,
}

impl Options {
    /// With the usual settings.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            max_connections: 8,
            lock_timeout: Duration::from_secs(5),
            // As long as a lease: what is recorded later is discarded anyway.
            time_limit: Duration::from_secs(60),
            max_bytes: None,
        }
    }
}

/// Opens the store, creates it where it is missing, and brings its schema up to date.
pub async fn open(options: &Options) -> Result<Arc<dyn Store>> {
    match options.url.split_once(':') {
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(postgres::open(options).await?)),
        Some(("sqlite", path)) => Ok(Arc::new(sqlite::open(path.trim_start_matches("//"), options).await?)),
        Some((scheme, _)) if scheme.len() > 1 && options.url.contains("://") => Err(StoreError::BadUrl {
            url: format!("{scheme}://…"),
            why: "it must be a file's path, sqlite:PATH or postgres://…".into(),
        }),
        _ => Ok(Arc::new(sqlite::open(&options.url, options).await?)),
    }
}
