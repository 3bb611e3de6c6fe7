//! The configuration as the rest of gleaner uses it: checked, in ready-made types.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;

use gleaner_core::overlay::{self, PolicyOverlay};
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::source::{Duplicates, Kind};
use gleaner_core::time::Span;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use url::Url;

use super::parse::StoreUrl;
use super::secret::{PrivateUrl, Secret};
use crate::hex;

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `[source]`: polling and keeping.
    pub source: Source,
    /// `[judgement]`: whose fault a failure is.
    pub judgement: Judgement,
    /// `[fetch]`: the HTTP client.
    pub fetch: Fetch,
    /// `[store]`: the database.
    pub store: Store,
    /// `[api]`: the server.
    pub api: Api,
    /// `[oidc]`: sign-in by OpenID Connect; none: not offered.
    pub oidc: Option<Oidc>,
    /// `[serve]`: what a process does among others.
    pub serve: Serve,
    /// `[nats]`: where events are streamed to.
    pub nats: Nats,
    /// `[x]`: the API of X.
    pub x: X,
    /// `[log]`: what is logged and how.
    pub log: Log,
    /// All policies by name, the shipped ones included.
    pub policies: BTreeMap<String, Policy>,
    /// `[policies.*]` as written.
    pub overlays: BTreeMap<String, PolicyOverlay>,
}

/// `[source]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The policy of sources that name none; it is among [`Config::policies`].
    pub policy: String,
    /// What the tables that use it take from here.
    pub knobs: Knobs,
    /// Entries older than this are skipped; none: no limit.
    pub max_article_age: Option<Span>,
    /// Posts that no article links to are kept for so long; none: for ever.
    pub keep_unlinked_posts: Option<Span>,
    /// How often sources are polled that have no interval of their own.
    pub poll_interval: Span,
    /// Which entries are duplicates, in sources that do not say.
    pub duplicates: Duplicates,
    /// How many new links of a watchlist one poll follows at most.
    pub max_articles_per_poll: u32,
    /// How long the history of polls is kept.
    pub keep_polls: Span,
    /// How many rows of history a source keeps at most.
    pub keep_polls_per_source: u32,
    /// The pause after each source of a kind; kinds without one are absent.
    pub poll_delay: BTreeMap<Kind, Span>,
    /// What is different for a host, by its name as URLs spell it.
    pub host_overrides: BTreeMap<String, HostOverride>,
}

/// `[source.host_overrides.<host>]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostOverride {
    /// The pause after each of its sources.
    pub poll_delay: Option<Span>,
    /// How many of its sources are asked at once; at least 1.
    pub concurrency: u32,
    /// What counts as one host; none: as `judgement.scope` says.
    pub scope: Option<HostScope>,
}

/// `[judgement]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The rules, with their switches.
    pub rules: gleaner_core::judgement::Judgement,
    /// What counts as one host.
    pub scope: HostScope,
}

/// What counts as one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostScope {
    /// Each host name.
    #[default]
    Host,
    /// All names under a registrable domain.
    Domain,
}

/// `[fetch]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The limit for a whole request.
    pub timeout: Span,
    /// The limit to connect; no longer than the whole.
    pub connect_timeout: Span,
    /// The limit to find a name's addresses; no longer than that to connect.
    pub dns_timeout: Span,
    /// The largest body that is read, as decoded.
    pub max_body_bytes: u64,
    /// How many redirects are followed.
    pub max_redirects: u32,
    /// How many hosts are asked at once; at least 1.
    pub concurrency: u32,
    /// What the `User-Agent` says about whom to turn to.
    pub contact: Option<String>,
    /// Private networks that may be fetched from all the same.
    pub allow_private_networks: Vec<IpNet>,
    /// The proxy that all requests go through.
    pub proxy: Option<PrivateUrl>,
}

/// `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Where everything is stored.
    pub url: StoreUrl,
    /// What keys and credentials are encrypted with.
    pub key: Option<Secret>,
    /// How many connections are open at most.
    pub max_connections: u32,
    /// How long events are kept.
    pub keep_events: Span,
    /// How long the audit log is kept.
    pub keep_audit: Span,
}

/// `[api]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// The address listened on.
    pub listen: SocketAddr,
    /// The URL under which people reach it.
    pub public_url: Option<Url>,
    /// How many requests one token may send in a minute; none: no limit.
    pub requests_per_minute: Option<NonZeroU32>,
    /// How many connections are open at most, streams of events not counted.
    pub max_connections: u32,
    /// How many connections one address has at most.
    pub max_connections_per_address: u32,
    /// How many streams of events are open at most.
    pub max_streams: u32,
    /// Maximum number of open event streams of one user.
    pub max_streams_per_user: u32,
    /// Proxies whose word is taken for where a request comes from.
    pub trusted_proxies: Vec<IpNet>,
    /// The header in which a trusted proxy names the user, in lower case; none: no sign-in by it.
    pub proxy_auth_header: Option<String>,
    /// Whether unknown users named there are created.
    pub proxy_auth_create: bool,
    /// What access tokens are signed with.
    pub jwt_secret: Option<Secret>,
}

/// `[oidc]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oidc {
    /// As the provider spells it: no slash is added.
    pub issuer: String,
    pub client_id: String,
    /// None: a public client.
    pub client_secret: Option<Secret>,
    /// Besides `openid`.
    pub scopes: Vec<String>,
    pub user_claim: String,
    pub create_users: bool,
    pub button: String,
}

/// `[serve]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serve {
    /// What a server does.
    pub role: Role,
    /// How long a host stays a worker's that is not heard from.
    pub lease: Span,
}

/// What a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    All,
    /// It polls and sends.
    Worker,
    /// It answers.
    Api,
}

impl Role {
    /// The name in config, database and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Worker => "worker",
            Self::Api => "api",
        }
    }

    /// The role of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::All, Self::Worker, Self::Api].into_iter().find(|role| role.name() == name)
    }

    /// Whether it polls and sends.
    pub const fn polls(self) -> bool {
        matches!(self, Self::All | Self::Worker)
    }

    /// Whether it has the API and the dashboard.
    pub const fn answers(self) -> bool {
        matches!(self, Self::All | Self::Api)
    }
}

/// `[nats]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nats {
    /// The server; none: nothing is streamed.
    pub url: Option<PrivateUrl>,
    /// The token that it asks for.
    pub token: Option<Secret>,
    /// What a `.creds` file holds.
    pub credentials: Option<Secret>,
    /// The stream's name.
    pub stream: String,
    /// What subjects begin with.
    pub subject: String,
    /// How many servers hold the stream.
    pub replicas: u32,
    /// How long it keeps messages.
    pub max_age: Span,
}

/// `[x]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct X {
    /// Where the API of X is.
    pub base_url: Url,
}

/// `[log]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// Lines for people or for programs.
    pub format: LogFormat,
    /// The least level that is logged.
    pub level: LogLevel,
}

/// Who reads the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// People.
    Human,
    /// Programs.
    Json,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// What needs a person.
    Error,
    /// What the world does to us, too.
    Warn,
    /// What happens, too.
    Info,
    /// How, too.
    Debug,
    /// Everything.
    Trace,
}

impl Config {
    /// The policy of sources that name none.
    pub fn default_policy(&self) -> Option<&Policy> {
        self.policies.get(&self.source.policy)
    }

    /// A source's policy: its own, else the default; one that config no longer has falls back to the default.
    pub fn policy(&self, own: Option<&str>) -> &Policy {
        let own = own.and_then(|name| self.policies.get(name));
        own.or_else(|| self.default_policy()).unwrap_or(&self.policies["standard"])
    }

    /// Which entries of a source are duplicates: by its own rule, else by the default. A website is new whenever its text is.
    pub fn duplicates(&self, kind: Kind, own: Option<Duplicates>) -> Duplicates {
        match kind {
            Kind::Website => Duplicates::Content,
            Kind::Feed | Kind::Watchlist | Kind::X => own.unwrap_or(self.source.duplicates),
        }
    }

    /// A hash of all that times polls: the policy tables with their caps, which of them is the default, and the
    /// default interval. Where it differs from the one stored at the last start, next polls are computed anew.
    pub fn schedule_hash(&self) -> String {
        // Raise the number when the way in which polls are timed changes while the tables do not.
        let mut hash = Sha256::new_with_prefix(b"gleaner schedule 1\n");
        let interval = self.source.poll_interval.as_millis();
        hash.update(format!("{}\n{interval}\n", self.source.policy));
        for (name, policy) in &self.policies {
            let mut table = overlay::table(policy);
            // How loud a failure is does not time anything.
            table.on.values_mut().for_each(|rule| rule.level = None);
            // Numbers, words and maps with text keys: this cannot fail, and if it did the name alone is hashed.
            let table = serde_json::to_string(&table).unwrap_or_default();
            hash.update(format!("{name} {table}\n"));
        }
        hex::encode(&hash.finalize())
    }

    /// What a host goes by among those that are asked: its name, or its registrable domain where these count as one.
    pub fn host_name(&self, host: &str) -> String {
        let scope = |name: &str| self.source.host_overrides.get(name).and_then(|own| own.scope);
        let domain = registrable(host);
        let own = scope(host).or_else(|| domain.and_then(scope)).unwrap_or(self.judgement.scope);
        domain.filter(|_| own == HostScope::Domain).unwrap_or(host).to_owned()
    }

    /// A hash of all that says which host a source belongs to.
    pub fn hosts_hash(&self) -> String {
        let mut hash = Sha256::new_with_prefix(b"gleaner hosts 1\n");
        hash.update(format!("{:?} {}\n", self.judgement.scope, self.x.base_url));
        for (name, own) in &self.source.host_overrides {
            hash.update(format!("{name} {:?} {}\n", own.scope, own.concurrency));
        }
        hex::encode(&hash.finalize())
    }
}

/// The registrable domain of a host; an address, or a name without a dot, has none.
pub fn registrable(host: &str) -> Option<&str> {
    let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    if is_address { None } else { psl::domain_str(host) }
}
