//! Every setting there is: its key, what it takes, its default and what it is for.
//!
//! The one place where a setting is declared. Errors, `gleaner config`, environment names and generated
//! documents all read this table. The ranges of policy keys are the core's; here they only have words.

use std::fmt;

use gleaner_core::source::{LONGEST_INTERVAL, LONGEST_POLL_DELAY};
use toml::Value;

use super::parse;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The dotted key; `<host>`, `<kind>`, `<policy>` and `<error kind>` stand for names.
    pub key: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// The default as TOML; none where it is not set, or worked out as `about` says.
    pub default: Option<&'static str>,
    /// How much of it may be shown.
    pub secrecy: Secrecy,
    /// What it is for, in one line.
    pub about: &'static str,
}

/// What a setting takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// A whole number in this range, both ends included.
    Whole(u64, u64),
    /// A number in this range, both ends included.
    Number(f64, f64),
    /// Yes or no.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text that reads as something.
    Text(&'static str, fn(&str) -> bool),
    /// A list of texts that each read as something.
    List(&'static str, fn(&str) -> bool),
    /// What the core's policy overlay takes there; it checks it.
    Overlay(&'static str),
}

/// How much of a setting may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrecy {
    /// All of it.
    Open,
    /// All but credentials inside a URL.
    Credentials,
    /// Only that it is set.
    Secret,
}

impl Takes {
    /// What is wrong with a value, if anything.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let fits = match (self, value) {
            (Self::Whole(min, max), Value::Integer(n)) => {
                u64::try_from(*n).is_ok_and(|n| (*min..=*max).contains(&n))
            }
            (Self::Number(min, max), value) => number(value).is_some_and(|n| (*min..=*max).contains(&n)),
            (Self::Flag, Value::Boolean(_)) => true,
            (Self::Word(words), Value::String(text)) => words.contains(&text.as_str()),
            (Self::Text(_, fits), Value::String(text)) => fits(text),
            (Self::List(_, fits), Value::Array(items)) => {
                items.iter().all(|item| item.as_str().is_some_and(fits))
            }
            (Self::Overlay(_), _) => true,
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("must be {self}")) }
    }

    /// Whether a text that happens to read as a number or a boolean is still meant as text.
    pub const fn is_text(&self) -> bool {
        matches!(self, Self::Word(_) | Self::Text(..))
    }
}

/// What is allowed, for people.
impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::Number(min, max) => write!(f, "a number from {min} to {max}"),
            Self::Flag => f.write_str("true or false"),
            Self::Word(words) => write!(f, "one of {}", words.join(", ")),
            Self::Text(allowed, _) | Self::Overlay(allowed) => f.write_str(allowed),
            Self::List(allowed, _) => write!(f, "a list, each {allowed}"),
        }
    }
}

/// An integer or a float, as a float.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        // Exact up to 2^53, far past every range here.
        Value::Integer(n) => Some(*n as f64),
        Value::Float(n) => Some(*n),
        _ => None,
    }
}

impl Setting {
    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        let name = self.key.replace('.', "__").replace(' ', "_");
        format!("{}{}", super::ENV_PREFIX, name.to_uppercase())
    }

    /// The default as a value.
    pub fn default_value(&self) -> Option<Value> {
        super::layers::scalar(self.default?)
    }

    /// The key's parts.
    pub fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.key.split('.')
    }

    /// The setting of that key, names standing as in the table.
    pub fn find(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

const fn open(
    key: &'static str,
    takes: Takes,
    default: Option<&'static str>,
    about: &'static str,
) -> Setting {
    Setting { key, takes, default, secrecy: Secrecy::Open, about }
}

const fn hidden(key: &'static str, takes: Takes, secrecy: Secrecy, about: &'static str) -> Setting {
    Setting { key, takes, default: None, secrecy, about }
}

const DAYS: Takes = Takes::Whole(0, 36_500);
const SOME: Takes = Takes::Whole(1, u32::MAX as u64);
const TIMEOUT: Takes = Takes::Number(0.001, 3600.0);
const DELAY: Takes = Takes::Number(0.0, (LONGEST_POLL_DELAY.as_millis() / 1000) as f64);
const WEB_URL: Takes = Takes::Text("an http or https URL", |text| parse::web_url(text).is_some());
const SCOPE: Takes = Takes::Word(&["host", "domain"]);
const HOURS: Takes = Takes::Overlay("a number of hours above 0");
const HOURS_0: Takes = Takes::Overlay("a number of hours from 0");
const OVERLAY_DAYS: Takes = Takes::Overlay("a number of days above 0");
const SHARE: Takes = Takes::Overlay("a number above 0 and at most 10");

/// The table, in the order in which people read it.
#[rustfmt::skip]
pub static SETTINGS: &[Setting] = &[
    open("source.policy", Takes::Text("the name of a policy", |text| parse::policy_name(text).is_some()), Some("\"standard\""),
        "What failures do to sources that name no policy of their own: standard, backoff, cooldown, quarantine, or one of [policies]."),
    open("source.max_failures", SOME, Some("5"),
        "Permanent failures in a row until the backoff policy disables a source."),
    open("source.max_backoff_hours", Takes::Whole(1, 8760), Some("24"),
        "The longest gap that backoff gives a failing source."),
    open("source.max_article_age_days", DAYS, Some("7"),
        "Entries published longer ago are skipped, and unprocessed articles cleaned up; 0: no limit."),
    open("source.keep_unlinked_posts_days", DAYS, Some("90"),
        "Posts that no article links to are kept for so long; 0: for ever."),
    open("source.poll_interval_minutes", Takes::Whole(1, LONGEST_INTERVAL.as_mins()), Some("30"),
        "How often sources are polled that have no interval of their own."),
    open("source.duplicates", Takes::Word(&["entry", "content"]), Some("\"entry\""),
        "Which new entries are duplicates and not stored: entry: copies with the title, text and date of another; content: whatever has the text of another."),
    open("source.max_articles_per_poll", Takes::Whole(1, 10_000), Some("20"),
        "How many new links of a watchlist one poll follows at most."),
    open("source.keep_polls_days", Takes::Whole(1, 36_500), Some("30"),
        "How long the history of polls is kept."),
    open("source.keep_polls_per_source", SOME, Some("2000"),
        "How many rows of history a source keeps at most."),
    open("source.poll_delay_seconds.<kind>", DELAY, Some("0"),
        "The pause after each source of this kind, before the next one of the same host is asked."),
    open("source.host_overrides.<host>.poll_delay_seconds", DELAY, None,
        "The pause after each source of this host; not set: that of the source's kind."),
    open("source.host_overrides.<host>.concurrency", Takes::Whole(1, 1000), Some("1"),
        "How many sources of this host are asked at once."),
    open("source.host_overrides.<host>.scope", SCOPE, None,
        "What counts as one host here; may be set for a host or for a registrable domain; not set: judgement.scope."),

    open("judgement.host_incidents", Takes::Flag, Some("true"),
        "When a host's sources fail together, it is the host: nothing is held against them, and one after the other is asked whether it is back."),
    open("judgement.own_network", Takes::Flag, Some("true"),
        "When polls of unrelated hosts all fail with network errors, it is a local network outage: polling pauses, and no failure counts."),
    open("judgement.pacing", Takes::Flag, Some("true"),
        "A host that refuses to be asked so often is asked at a distance that is learned from it."),
    open("judgement.adaptive", Takes::Flag, Some("true"),
        "Sources with the interval auto are asked as they publish; false: at the default interval."),
    open("judgement.scope", SCOPE, Some("\"host\""),
        "What counts as one host, to be asked one source at a time, to fail and to be paced as a whole: each host name, or all of a registrable domain."),

    open("fetch.timeout_seconds", TIMEOUT, Some("30"),
        "The limit for a whole request, redirects and body included."),
    open("fetch.connect_timeout_seconds", TIMEOUT, Some("10"),
        "The limit to connect; by default no longer than the whole request's."),
    open("fetch.dns_timeout_seconds", TIMEOUT, Some("5"),
        "The limit to find a name's addresses; by default no longer than that to connect."),
    open("fetch.max_body_bytes", Takes::Whole(1024, 1 << 30), Some("10485760"),
        "The largest body that is read, as decoded."),
    open("fetch.max_redirects", Takes::Whole(0, 50), Some("10"),
        "How many redirects are followed."),
    open("fetch.concurrency", Takes::Whole(1, 10_000), Some("64"),
        "How many hosts are asked at once."),
    open("fetch.contact", Takes::Text("an http or https URL or a mail address", |text| parse::contact(text).is_some()), None,
        "Whom the operators of polled sites can turn to; sent in the User-Agent."),
    open("fetch.allow_private_networks", Takes::List("a network such as 10.0.0.0/8 or fd00::/8, or an address", |text| parse::network(text).is_some()), Some("[]"),
        "Private networks that may be fetched from all the same."),
    hidden("fetch.proxy", Takes::Text("an http, https, socks5 or socks5h URL", |text| parse::proxy_url(text).is_some()), Secrecy::Credentials,
        "The proxy that all requests go through; the system's own proxy settings are never used. An HTTP or socks5h proxy resolves names \
         itself, so addresses behind names are not checked here: let the proxy refuse private networks."),

    hidden("store.url", Takes::Text("the path of a SQLite file, or a postgres:// URL", |text| parse::store_url(text).is_some()), Secrecy::Credentials,
        "Where everything is stored; not set: gleaner.db in the user's data directory."),
    hidden("store.key", Takes::Text("32 bytes, as 64 hexadecimal digits", |text| parse::vault_key(text).is_some()), Secrecy::Secret,
        "What keys and credentials are encrypted with; not set: a file beside the SQLite database, made when it is needed."),
    open("store.max_connections", Takes::Whole(1, 1000), Some("10"),
        "How many connections to the database are open at most."),
    open("store.keep_events_days", Takes::Whole(1, 36_500), Some("7"),
        "How long events and the log of webhooks are kept."),
    open("store.keep_audit_days", Takes::Whole(1, 36_500), Some("365"),
        "How long the audit log is kept: who changed what, and who logged in."),

    open("api.listen", Takes::Text("an address and a port such as 127.0.0.1:8080 or [::1]:8080", |text| parse::address(text).is_some()), Some("\"127.0.0.1:8080\""),
        "The address that the API and the dashboard listen on."),
    open("api.public_url", WEB_URL, None,
        "The URL under which people reach it; not set: that of the address listened on."),
    open("api.requests_per_minute", Takes::Whole(0, 10_000_000), Some("6000"),
        "How many requests one token may send in a minute; 0: no limit."),
    open("api.max_connections", Takes::Whole(1, 100_000), Some("1000"),
        "How many connections to the API are open at most, event streams not counted; beyond, the oldest without a login is closed."),
    open("api.max_connections_per_address", Takes::Whole(1, 100_000), Some("250"),
        "How many of them one address has at most; beyond, its oldest without a login is closed. Trusted proxies have no such limit."),
    open("api.max_streams", Takes::Whole(0, 100_000), Some("500"),
        "How many event streams are open at most, open dashboards included; each takes a file descriptor."),
    open("api.max_streams_per_user", Takes::Whole(0, 100_000), Some("50"),
        "Maximum number of open event streams of one user, open dashboards included."),
    open("api.trusted_proxies", Takes::List("a network such as 10.0.0.0/8 or fd00::/8, or an address", |text| parse::network(text).is_some()), Some("[]"),
        "Reverse proxies whose X-Forwarded-For tells where a request comes from; not set: nobody's is believed."),
    open("api.proxy_auth_header", Takes::Text("the name of a header such as Remote-User", |text| parse::sign_in_header(text).is_some()), None,
        "The header in which a reverse proxy of api.trusted_proxies names the user who signed in there; from anybody else it is ignored. Not set: no such sign-in."),
    open("api.proxy_auth_create", Takes::Flag, Some("false"),
        "Whether a user named in that header who does not exist yet is created; never as an admin."),
    hidden("api.jwt_secret", Takes::Text("a text of at least 32 bytes that is hard to guess", |text| parse::secret(text).is_some()), Secrecy::Secret,
        "What access tokens are signed with."),

    open("oidc.issuer", Takes::Text("an https URL as the provider spells its issuer (http on this machine only)", |text| parse::issuer(text).is_some()), None,
        "The OpenID Connect provider that users sign in at; only in a build with the feature oidc. Not set: none."),
    open("oidc.client_id", Takes::Text("a text", |text| !text.is_empty()), None,
        "The id that the provider gave gleaner as a client."),
    hidden("oidc.client_secret", Takes::Text("a text", |text| !text.is_empty()), Secrecy::Secret,
        "The secret that the provider gave gleaner; not set: gleaner is a public client, protected by PKCE alone."),
    open("oidc.scopes", Takes::List("a scope without spaces", |text| parse::oidc_scope(text).is_some()), Some("[\"profile\"]"),
        "The scopes that are requested besides openid."),
    open("oidc.user_claim", Takes::Text("the name of a claim", |text| !text.is_empty()), Some("\"preferred_username\""),
        "The claim that names a user who is created at the first sign-in."),
    open("oidc.create_users", Takes::Flag, Some("false"),
        "Whether somebody without a user here becomes a new one at the first sign-in; never an admin, never an existing user."),
    open("oidc.button", Takes::Text("a text of up to 60 characters", |text| (1..=60).contains(&text.chars().count())), Some("\"Sign in with OpenID Connect\""),
        "The text of the button on the page to log in."),

    open("serve.role", Takes::Word(&["all", "worker", "api"]), Some("\"all\""),
        "What `gleaner serve` does: all; worker: poll and send alone, without API and dashboard; api: the other way round."),
    open("serve.lease_seconds", Takes::Whole(3, 3600), Some("60"),
        "How long a host stays a worker's that is not heard from; then another worker takes it over."),

    hidden("nats.url", Takes::Text("a nats or tls URL", |text| parse::nats_url(text).is_some()), Secrecy::Credentials,
        "The NATS server that workers stream events to, by JetStream; not set: to none."),
    hidden("nats.token", Takes::Text("a text", |text| !text.is_empty()), Secrecy::Secret,
        "The token that NATS asks for, where it does."),
    hidden("nats.credentials", Takes::Text("what a .creds file holds", |text| text.contains("-----BEGIN")), Secrecy::Secret,
        "What NATS gave out as a .creds file; nats.credentials_file names that."),
    open("nats.stream", Takes::Text("up to 64 of a to z, A to Z, 0 to 9, _ and -", |text| parse::subject_part(text).is_some()), Some("\"gleaner\""),
        "The stream in NATS; made where it is missing, and left as it is where it is there."),
    open("nats.subject", Takes::Text("up to 64 of a to z, A to Z, 0 to 9, _ and -", |text| parse::subject_part(text).is_some()), Some("\"gleaner\""),
        "What subjects begin with: this, the id of a collection, and the type of the event."),
    open("nats.replicas", Takes::Whole(1, 5), Some("1"),
        "How many servers of a NATS cluster hold the stream, where gleaner makes it."),
    open("nats.max_age_days", Takes::Number(0.001, 36_500.0), Some("7"),
        "How long the stream keeps messages, where gleaner makes it."),

    open("x.base_url", WEB_URL, Some("\"https://api.x.com\""),
        "Where the API of X is."),

    open("log.format", Takes::Word(&["human", "json"]), Some("\"human\""),
        "Lines for people or for programs."),
    open("log.level", Takes::Word(&["error", "warn", "info", "debug", "trace"]), Some("\"info\""),
        "The least level that is logged."),

    open("policies.<policy>.base", Takes::Overlay("one of the shipped policies: standard, backoff, cooldown, quarantine"), None,
        "The table that a policy of a new name starts from; the shipped ones start from themselves."),
    open("policies.<policy>.max_backoff_hours", HOURS, None,
        "The longest gap that backoff gives; not set: that of [source]."),
    open("policies.<policy>.exempt_lifts", Takes::Overlay("true or false"), None,
        "Whether a kind that is never set aside ends a quarantine that it meets."),
    open("policies.<policy>.judged", Takes::Overlay("true or false"), None,
        "Whether the cause of a failure is judged (host incidents, local network outages, pacing); on in standard, off in the others."),
    open("policies.<policy>.age.share_permanent", SHARE, None,
        "With gap = \"age\": the gap after a permanent failure, as a share of the outage's age."),
    open("policies.<policy>.age.share_transient", SHARE, None,
        "The same after a transient failure."),
    open("policies.<policy>.age.young_cap_hours", HOURS, None,
        "The longest gap after transient failures while the outage is young."),
    open("policies.<policy>.age.young_days", Takes::Overlay("a number of days from 0"), None,
        "How long an outage is young."),
    open("policies.<policy>.age.cap_days", OVERLAY_DAYS, None,
        "The longest gap otherwise."),
    open("policies.<policy>.age.dormant_after_days", OVERLAY_DAYS, None,
        "After so long of nothing but permanent failures a source is dormant."),
    open("policies.<policy>.age.dormant_every_days", OVERLAY_DAYS, None,
        "How often a dormant source is polled."),
    open("policies.<policy>.on.<error kind>.level", Takes::Overlay("one of warn, error"), None,
        "How loud the failure is in the log."),
    open("policies.<policy>.on.<error kind>.gap", Takes::Overlay("one of interval, backoff, age"), None,
        "How the next poll is timed."),
    open("policies.<policy>.on.<error kind>.share", SHARE, None,
        "With gap = \"age\": this kind's own share of the outage's age."),
    open("policies.<policy>.on.<error kind>.set_aside", Takes::Overlay("one of never, keep_polling, cool_down, wait_for_person, disable"), None,
        "What being set aside means."),
    open("policies.<policy>.on.<error kind>.counts", Takes::Overlay("one of kind, any, permanent"), None,
        "Which failures in a row count."),
    open("policies.<policy>.on.<error kind>.threshold", Takes::Overlay("a whole number from 1"), None,
        "How many of them it takes."),
    open("policies.<policy>.on.<error kind>.over_hours", HOURS_0, None,
        "How long the run must have lasted."),
    open("policies.<policy>.on.<error kind>.cooldown_hours", HOURS, None,
        "With set_aside = \"cool_down\": for how long."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        for setting in SETTINGS {
            let key = setting.key;
            assert!(setting.about.ends_with('.') && setting.about.len() > 20, "{key} says what it is for");
            assert!(!setting.takes.to_string().is_empty(), "{key} says what it takes");
            assert_eq!(SETTINGS.iter().filter(|other| other.key == key).count(), 1, "{key} stands once");
            if setting.default.is_some() {
                let value = setting.default_value().unwrap_or_else(|| panic!("{key}'s default is TOML"));
                assert_eq!(setting.takes.check(&value), Ok(()), "{key}'s default is allowed");
            }
        }
        assert_eq!(Setting::find("fetch.proxy").unwrap().variable(), "GLEANER_FETCH__PROXY");
    }
}
