//! From checked values to [`Config`], and the rules that concern more than one value.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::num::TryFromIntError;

use gleaner_core::overlay::{self, PolicyError, PolicyOverlay};
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::source::Kind;
use gleaner_core::time::Span;
use ipnet::IpNet;
use toml::Value;

use super::error::{ConfigError, ConfigErrors, Origin};
use super::key::Key;
use super::layers::Entry;
use super::load::{Effective, Loaded, Merged};
use super::parse;
use super::secret::Secret;
use super::settings::{self, Setting};
use super::sign_in;
use super::types::*;

/// Builds the configuration, or says everything that is wrong with it.
pub(super) fn build(mut merged: Merged) -> Result<Loaded, ConfigErrors> {
    order_timeouts(&mut merged);
    let overlays = overlays(&mut merged);
    let policies = policies(&mut merged, &overlays);
    check_default_policy(&mut merged, &policies);
    sign_in::check(&mut merged);
    if !merged.errors.is_empty() {
        return Err(merged.into_errors());
    }
    let mut reader = Reader { merged: &merged, missing: Vec::new() };
    let config = reader.config(policies, overlays);
    let missing = reader.missing;
    let Some(config) = config else {
        merged.errors.extend(missing);
        return Err(merged.into_errors());
    };
    let effective = merged.entries.into_values().filter_map(|entry| {
        let (setting, value, origin) = (entry.setting?, entry.value, entry.origin);
        Some((entry.key, Effective { setting, value, origin }))
    });
    let mut loaded = Loaded { config, warnings: Vec::new(), values: effective.collect() };
    loaded.warnings = loaded.unused_settings(&[]);
    Ok(loaded)
}

impl Merged {
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(&Key(key.split('.').map(str::to_owned).collect()))
    }

    pub(super) fn under<'a>(&'a self, section: &'a [&str]) -> impl Iterator<Item = &'a Entry> {
        self.entries.values().filter(move |entry| {
            entry.key.0.len() >= section.len() && entry.key.0.iter().zip(section).all(|(part, of)| part == of)
        })
    }
}

/// Each limit lies within the next; one that nobody set gives way, one that somebody set is a mistake.
fn order_timeouts(merged: &mut Merged) {
    for (inner, outer) in [
        ("fetch.connect_timeout_seconds", "fetch.timeout_seconds"),
        ("fetch.dns_timeout_seconds", "fetch.connect_timeout_seconds"),
    ] {
        let (Some(inside), Some(around)) = (merged.get(inner), merged.get(outer)) else { continue };
        if settings::number(&inside.value) <= settings::number(&around.value) {
            continue;
        }
        if inside.origin == Origin::Default {
            let shortened = Entry { value: around.value.clone(), ..inside.clone() };
            merged.entries.insert(shortened.key.clone(), shortened);
        } else {
            let limit = format!("{outer} = {} ({})", around.value, around.origin);
            let error = inside.error(format!("must not be longer than {limit}, which it is a part of"));
            merged.errors.push(error);
        }
    }
}

/// `[policies.*]`, each value read by itself so that every mistake is found and has its place.
fn overlays(merged: &mut Merged) -> BTreeMap<String, PolicyOverlay> {
    let mut whole = toml::Table::new();
    let mut errors = Vec::new();
    for entry in merged.under(&["policies"]) {
        let mut alone = toml::Table::new();
        nest(&mut alone, &entry.key.0[1..], &entry.value);
        match alone.try_into::<BTreeMap<String, PolicyOverlay>>() {
            Ok(_) => nest(&mut whole, &entry.key.0[1..], &entry.value),
            Err(_) => {
                let allowed = entry.setting.map(|setting| format!("must be {}", setting.takes));
                errors.push(entry.error(allowed.unwrap_or_else(|| "must be a table".to_owned())));
            }
        }
    }
    merged.errors.extend(errors);
    // Each part was read above, so the whole reads as well.
    whole.try_into().unwrap_or_default()
}

/// Puts a value into nested tables.
fn nest(table: &mut toml::Table, path: &[String], value: &Value) {
    match path {
        [] => {}
        [last] => {
            // An empty table must not hide what stands in it.
            if !(value.is_table() && table.contains_key(last)) {
                table.insert(last.clone(), value.clone());
            }
        }
        [first, rest @ ..] => {
            let inside = table.entry(first.clone()).or_insert_with(|| Value::Table(toml::Table::new()));
            if let Value::Table(inside) = inside {
                nest(inside, rest, value);
            }
        }
    }
}

fn knobs(merged: &Merged) -> Option<Knobs> {
    let mut reader = Reader { merged, missing: Vec::new() };
    Some(Knobs {
        max_failures: reader.whole("source.max_failures")?,
        max_backoff: reader.span("source.max_backoff_hours", Span::from_hours(1))?,
    })
}

fn policies(merged: &mut Merged, overlays: &BTreeMap<String, PolicyOverlay>) -> BTreeMap<String, Policy> {
    let built = overlay::build(knobs(merged).unwrap_or_default(), overlays);
    built.unwrap_or_else(|errors| {
        let placed: Vec<ConfigError> = errors.iter().map(|error| place(merged, error)).collect();
        merged.errors.extend(placed);
        BTreeMap::new()
    })
}

/// Finds where a policy's mistake stands: its key, the table it names, or the nearest table around it.
fn place(merged: &Merged, error: &PolicyError) -> ConfigError {
    let named = format!("{}.{}", error.key, error.value);
    let parts: Vec<&str> = error.key.split('.').collect();
    let exact = merged.get(&error.key).or_else(|| merged.get(&named));
    let inside = || merged.under(&named.split('.').collect::<Vec<_>>()).next().cloned();
    let around = || (1..=parts.len()).rev().find_map(|n| merged.under(&parts[..n]).next().cloned());
    let origin = exact.cloned().or_else(inside).or_else(around).map_or(Origin::Default, |entry| entry.origin);
    let (key, value) = (error.key.clone(), Some(error.value.clone()));
    ConfigError { origin, key, value, problem: error.allowed.clone() }
}

fn check_default_policy(merged: &mut Merged, policies: &BTreeMap<String, Policy>) {
    let Some(entry) = merged.get("source.policy") else { return };
    let name = entry.value.as_str().unwrap_or_default();
    // Where a policy is wrong nothing was built, and its own mistake is enough.
    if !policies.is_empty() && !policies.contains_key(name) {
        let names: Vec<&str> = policies.keys().map(String::as_str).collect();
        let error = entry.error(format!("must be the name of a policy; there are {}", names.join(", ")));
        merged.errors.push(error);
    }
}

fn scope(word: &str) -> Option<HostScope> {
    match word {
        "host" => Some(HostScope::Host),
        "domain" => Some(HostScope::Domain),
        _ => None,
    }
}

/// Reads checked values as types.
struct Reader<'a> {
    merged: &'a Merged,
    missing: Vec<ConfigError>,
}

impl Reader<'_> {
    fn config(
        &mut self,
        policies: BTreeMap<String, Policy>,
        overlays: BTreeMap<String, PolicyOverlay>,
    ) -> Option<Config> {
        // All sections are read before any gives up, so that all that is missing is named.
        let (source, judgement, fetch) = (self.source(), self.judgement(), self.fetch());
        let (store, api, x, log) = (self.store(), self.api(), self.x(), self.log());
        let (serve, nats, oidc) = (self.serve(), self.nats(), self.oidc());
        let (source, judgement, fetch) = (source?, judgement?, fetch?);
        let (store, api, serve, nats, x, log) = (store?, api?, serve?, nats?, x?, log?);
        let oidc = oidc?;
        Some(Config { source, judgement, fetch, store, api, oidc, serve, nats, x, log, policies, overlays })
    }

    fn source(&mut self) -> Option<Source> {
        const DAY: Span = Span::from_days(1);
        let unlimited = |span: Span| (span > Span::ZERO).then_some(span);
        Some(Source {
            policy: self.text("source.policy", |text| Some(text.to_owned()))?,
            knobs: knobs(self.merged)?,
            max_article_age: unlimited(self.span("source.max_article_age_days", DAY)?),
            keep_unlinked_posts: unlimited(self.span("source.keep_unlinked_posts_days", DAY)?),
            poll_interval: self.span("source.poll_interval_minutes", Span::from_mins(1))?,
            duplicates: self.text("source.duplicates", |text| text.parse().ok())?,
            max_articles_per_poll: self.whole("source.max_articles_per_poll")?,
            keep_polls: self.span("source.keep_polls_days", DAY)?,
            keep_polls_per_source: self.whole("source.keep_polls_per_source")?,
            poll_delay: self.poll_delay(),
            host_overrides: self.host_overrides(),
        })
    }

    fn poll_delay(&self) -> BTreeMap<Kind, Span> {
        let set = self.merged.under(&["source", "poll_delay_seconds"]);
        set.filter_map(|entry| Some((entry.key.0.last()?.parse().ok()?, seconds(&entry.value)?))).collect()
    }

    fn host_overrides(&self) -> BTreeMap<String, HostOverride> {
        let concurrency = Setting::find("source.host_overrides.<host>.concurrency")
            .and_then(Setting::default_value)
            .and_then(|value| u32::try_from(value.as_integer()?).ok())
            .unwrap_or(1);
        let mut hosts = BTreeMap::new();
        for entry in self.merged.under(&["source", "host_overrides"]) {
            let [_, _, host, rest @ ..] = entry.key.0.as_slice() else { continue };
            let host = hosts.entry(host.clone()).or_insert(HostOverride {
                poll_delay: None,
                concurrency,
                scope: None,
            });
            match rest.first().map(String::as_str) {
                Some("poll_delay_seconds") => host.poll_delay = seconds(&entry.value),
                Some("scope") => host.scope = entry.value.as_str().and_then(scope),
                Some("concurrency") => {
                    let given = entry.value.as_integer().and_then(|n| u32::try_from(n).ok());
                    host.concurrency = given.unwrap_or(concurrency);
                }
                _ => {}
            }
        }
        hosts
    }

    fn judgement(&mut self) -> Option<Judgement> {
        let mut rules = gleaner_core::judgement::Judgement::default();
        rules.incidents.on = self.value("judgement.host_incidents")?.as_bool()?;
        rules.guard.on = self.value("judgement.own_network")?.as_bool()?;
        rules.pacing.on = self.value("judgement.pacing")?.as_bool()?;
        rules.adaptive.on = self.value("judgement.adaptive")?.as_bool()?;
        Some(Judgement { rules, scope: self.text("judgement.scope", scope)? })
    }

    fn networks(&mut self, key: &'static str) -> Option<Vec<IpNet>> {
        let networks = self.value(key)?.as_array()?;
        Some(networks.iter().filter_map(|item| parse::network(item.as_str()?)).collect())
    }

    fn fetch(&mut self) -> Option<Fetch> {
        const SECOND: Span = Span::from_secs(1);
        let allow_private_networks = self.networks("fetch.allow_private_networks")?;
        Some(Fetch {
            timeout: self.span("fetch.timeout_seconds", SECOND)?,
            connect_timeout: self.span("fetch.connect_timeout_seconds", SECOND)?,
            dns_timeout: self.span("fetch.dns_timeout_seconds", SECOND)?,
            max_body_bytes: self.whole("fetch.max_body_bytes")?,
            max_redirects: self.whole("fetch.max_redirects")?,
            concurrency: self.whole("fetch.concurrency")?,
            contact: self.optional("fetch.contact", parse::contact),
            allow_private_networks,
            proxy: self.optional("fetch.proxy", parse::proxy_url),
        })
    }

    fn store(&mut self) -> Option<Store> {
        Some(Store {
            url: self.text("store.url", parse::store_url)?,
            key: self.optional("store.key", parse::vault_key).map(Secret::new),
            max_connections: self.whole("store.max_connections")?,
            keep_events: self.span("store.keep_events_days", Span::from_days(1))?,
            keep_audit: self.span("store.keep_audit_days", Span::from_days(1))?,
        })
    }

    fn api(&mut self) -> Option<Api> {
        Some(Api {
            listen: self.text("api.listen", parse::address)?,
            public_url: self.optional("api.public_url", parse::web_url),
            requests_per_minute: NonZeroU32::new(self.whole("api.requests_per_minute")?),
            max_connections: self.whole("api.max_connections")?,
            max_connections_per_address: self.whole("api.max_connections_per_address")?,
            max_streams: self.whole("api.max_streams")?,
            max_streams_per_user: self.whole("api.max_streams_per_user")?,
            trusted_proxies: self.networks("api.trusted_proxies")?,
            proxy_auth_header: self.optional("api.proxy_auth_header", parse::sign_in_header),
            proxy_auth_create: self.value("api.proxy_auth_create")?.as_bool()?,
            jwt_secret: self.optional("api.jwt_secret", parse::secret).map(Secret::new),
        })
    }

    fn oidc(&mut self) -> Option<Option<Oidc>> {
        let text = |text: &str| Some(text.to_owned());
        let (issuer, client_id) =
            (self.optional("oidc.issuer", parse::issuer), self.optional("oidc.client_id", text));
        let (Some(issuer), Some(client_id)) = (issuer, client_id) else { return Some(None) };
        let scopes = self.value("oidc.scopes")?.as_array()?.iter();
        Some(Some(Oidc {
            issuer,
            client_id,
            scopes: scopes.filter_map(|scope| parse::oidc_scope(scope.as_str()?)).collect(),
            client_secret: self.optional("oidc.client_secret", text).map(Secret::new),
            user_claim: self.text("oidc.user_claim", text)?,
            create_users: self.value("oidc.create_users")?.as_bool()?,
            button: self.text("oidc.button", text)?,
        }))
    }

    fn serve(&mut self) -> Option<Serve> {
        Some(Serve {
            role: self.text("serve.role", Role::named)?,
            lease: self.span("serve.lease_seconds", Span::from_secs(1))?,
        })
    }

    fn nats(&mut self) -> Option<Nats> {
        let text = |text: &str| Some(text.to_owned());
        Some(Nats {
            url: self.optional("nats.url", parse::nats_url),
            token: self.optional("nats.token", text).map(Secret::new),
            credentials: self.optional("nats.credentials", text).map(Secret::new),
            stream: self.text("nats.stream", parse::subject_part)?,
            subject: self.text("nats.subject", parse::subject_part)?,
            replicas: self.whole("nats.replicas")?,
            max_age: self.span("nats.max_age_days", Span::from_days(1))?,
        })
    }

    fn x(&mut self) -> Option<X> {
        Some(X { base_url: self.text("x.base_url", parse::web_url)? })
    }

    fn log(&mut self) -> Option<Log> {
        let format = self.text("log.format", |text| match text {
            "human" => Some(LogFormat::Human),
            "json" => Some(LogFormat::Json),
            _ => None,
        })?;
        let level = self.text("log.level", |text| match text {
            "error" => Some(LogLevel::Error),
            "warn" => Some(LogLevel::Warn),
            "info" => Some(LogLevel::Info),
            "debug" => Some(LogLevel::Debug),
            "trace" => Some(LogLevel::Trace),
            _ => None,
        })?;
        Some(Log { format, level })
    }

    fn value(&mut self, key: &str) -> Option<&Value> {
        if self.merged.get(key).is_none() {
            let allowed = Setting::find(key).map(|setting| setting.takes.to_string()).unwrap_or_default();
            let problem = format!("has no default on this machine; set it to {allowed}");
            let key = key.to_owned();
            self.missing.push(ConfigError { origin: Origin::Default, key, value: None, problem });
        }
        self.merged.get(key).map(|entry| &entry.value)
    }

    fn whole<T: TryFrom<i64, Error = TryFromIntError>>(&mut self, key: &str) -> Option<T> {
        T::try_from(self.value(key)?.as_integer()?).ok()
    }

    fn span(&mut self, key: &str, unit: Span) -> Option<Span> {
        settings::number(self.value(key)?).map(|n| unit.scale(n))
    }

    fn text<T>(&mut self, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        read(self.value(key)?.as_str()?)
    }

    fn optional<T>(&self, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        read(self.merged.get(key)?.value.as_str()?)
    }
}

fn seconds(value: &Value) -> Option<Span> {
    settings::number(value).map(|n| Span::from_secs(1).scale(n))
}
