//! What somebody says about a source, field by field, and whether it can be so. Everything that is wrong is told at
//! once.
//!
//! The same fields make a source and change one: what is not said stays as it is, and null is the usual again.

use gleaner_core::backfill::Backfill;
use gleaner_core::link::{self, BadUrl};
use gleaner_core::source::{Duplicates, Interval, Kind};
use gleaner_core::time::Span;
use serde_json::{Map, Value};
use url::Url;

use super::lists::LEARNED;
use super::synonyms::field_name;
use super::{By, Checks, Credential, ServiceError};
use crate::config::secret::Secret;
use crate::engine::seal_credential;
use crate::fetch::guard::{self, AllowedNetworks};
use crate::read::links;
use crate::store::{Collection, SourceSettings};

/// The longest interval and pause: what is polled more rarely than once a year is not polled.
const YEAR: Span = Span::from_days(366);
/// The longest name and selector, in characters.
const LONGEST: usize = 1000;

/// What somebody says about a source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceFields {
    /// What is polled.
    pub url: Option<String>,
    /// What it is.
    pub kind: Option<Kind>,
    /// What people call it.
    pub name: Option<Option<String>>,
    /// The collection it belongs to.
    pub collection_id: Option<i64>,
    /// How often it is polled.
    pub interval: Option<Interval>,
    /// The pause after it.
    pub poll_delay: Option<Option<Span>>,
    /// Which links of a watchlist are followed.
    pub article_selector: Option<Option<String>>,
    /// What of a website always changes and is left out.
    pub ignore_selector: Option<Option<String>>,
    /// Whether each new entry's page is fetched.
    pub full_content: Option<bool>,
    /// Existing entries that the first poll stores.
    pub backfill: Option<Backfill>,
    /// Whether robots.txt is not asked.
    pub ignore_robots: Option<bool>,
    /// Its own policy.
    pub policy: Option<Option<String>>,
    /// Which of its entries are duplicates.
    pub duplicates: Option<Option<Duplicates>>,
    /// Whether it is polled at all.
    pub enabled: Option<bool>,
    /// What it is asked with; it is never shown again.
    pub credential: Option<Option<Credential>>,
}

impl SourceFields {
    /// Reads fields as the API has them. What cannot be read, and what is no field, is noted as wrong.
    pub fn read(object: &Map<String, Value>, checks: &mut Checks) -> Self {
        let mut fields = Self::default();
        for (name, value) in object {
            let own = field_name(name);
            if own != *name && (object.contains_key(&*own) || fields.is_set(&own)) {
                checks.wrong(
                    name,
                    format!("{own} is given twice: '{}' is another name of it", shortened(name)),
                );
            } else if let Err(message) = fields.set(&own, value) {
                checks.wrong(name, message);
            }
        }
        fields
    }

    /// Whether a field that has several names was set already.
    fn is_set(&self, name: &str) -> bool {
        match name {
            "kind" => self.kind.is_some(),
            "url" => self.url.is_some(),
            _ => false,
        }
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match name {
            "url" => self.url = Some(text(name, value)?),
            "kind" => {
                self.kind = Some(text(name, value)?.parse::<Kind>().map_err(|error| error.to_string())?)
            }
            "name" => self.name = Some(or_null(value, |value| text(name, value))?),
            "collection_id" => {
                self.collection_id =
                    Some(value.as_i64().ok_or("collection_id must be the number of a collection")?);
            }
            "poll_interval_minutes" => self.interval = Some(interval(name, value)?),
            "poll_delay_seconds" => self.poll_delay = Some(or_null(value, |value| seconds(name, value))?),
            "article_selector" => self.article_selector = Some(or_null(value, |value| text(name, value))?),
            "ignore_selector" => self.ignore_selector = Some(or_null(value, |value| text(name, value))?),
            "full_content" => self.full_content = Some(flag(name, value)?),
            "backfill" => self.backfill = Some(backfill(name, value)?),
            "ignore_robots" => self.ignore_robots = Some(flag(name, value)?),
            "policy" => self.policy = Some(or_null(value, |value| text(name, value))?),
            "duplicates" => self.duplicates = Some(or_null(value, |value| duplicates(name, value))?),
            "enabled" => self.enabled = Some(flag(name, value)?),
            "credential" => self.credential = Some(or_null(value, credential)?),
            _ if LEARNED.contains(&name) => {
                return Err(format!("a source's {name} cannot be set; gleaner keeps it itself"));
            }
            _ => {
                return Err(format!("a source has no field '{}'", shortened(name)));
            }
        }
        Ok(())
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Null, or something.
fn or_null<T>(value: &Value, read: impl Fn(&Value) -> Result<T, String>) -> Result<Option<T>, String> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

fn text(name: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("{name} must be a text"))
}

fn flag(name: &str, value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{name} must be true or false"))
}

fn duplicates(name: &str, value: &Value) -> Result<Duplicates, String> {
    let rule = value.as_str().and_then(|text| text.trim().parse().ok());
    rule.ok_or_else(|| {
        let names = Duplicates::ALL.map(|rule| format!("\"{}\"", rule.name()));
        format!("{name} must be {}", names.join(" or "))
    })
}

/// `true` and `false` are the seed systems' way to say all and none.
fn backfill(name: &str, value: &Value) -> Result<Backfill, String> {
    let choice = match value {
        Value::Bool(true) => Some(Backfill::All),
        Value::Bool(false) => Some(Backfill::None),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    choice.ok_or_else(|| format!("{name} must be false, true, \"none\", \"recent\" or \"all\""))
}

fn interval(name: &str, value: &Value) -> Result<Interval, String> {
    let most = YEAR.as_mins();
    match (value.as_u64(), value.as_str()) {
        (Some(minutes), _) if (1..=most).contains(&minutes) => {
            Ok(Interval::Minutes(u32::try_from(minutes).unwrap_or(u32::MAX)))
        }
        (_, Some("auto")) => Ok(Interval::Auto),
        _ if value.is_null() => Ok(Interval::Default),
        _ => Err(format!("{name} must be a whole number of minutes from 1 to {most}, or \"auto\"")),
    }
}

fn seconds(name: &str, value: &Value) -> Result<Span, String> {
    let most = YEAR.as_millis() / 1000;
    let seconds = value.as_u64().filter(|seconds| *seconds <= most);
    seconds
        .map(Span::from_secs)
        .ok_or_else(|| format!("{name} must be a whole number of seconds from 0 to {most}"))
}

/// `{"basic": {"user", "password"}}` or `{"header": {"name", "value"}}`. No message repeats any of it.
fn credential(value: &Value) -> Result<Credential, String> {
    let wrong = || {
        "credential must be {\"basic\": {\"user\": …, \"password\": …}} or {\"header\": {\"name\": …, \"value\": …}}"
            .to_owned()
    };
    let parts = |value: &Value, names: [&str; 2]| -> Option<[String; 2]> {
        let object = value.as_object().filter(|object| object.len() == 2)?;
        let [first, second] = names.map(|name| object.get(name).and_then(Value::as_str).map(str::to_owned));
        Some([first?, second?])
    };
    let object = value.as_object().filter(|object| object.len() == 1).ok_or_else(wrong)?;
    let basic = object.get("basic").and_then(|basic| parts(basic, ["user", "password"]));
    let header = object.get("header").and_then(|header| parts(header, ["name", "value"]));
    match (basic, header) {
        (Some([user, password]), _) => Ok(Credential::Basic { user, password: Secret::new(password) }),
        (_, Some([name, value])) => Ok(Credential::Header { name, value: Secret::new(value) }),
        _ => Err(wrong()),
    }
}

impl By<'_> {
    /// Lays fields over settings; what cannot be so is noted as wrong, and left.
    pub(super) fn lay(
        &self,
        fields: &SourceFields,
        over: &SourceSettings,
        collections: &[Collection],
        checks: &mut Checks,
    ) -> Result<SourceSettings, ServiceError> {
        let mut settings = over.clone();
        settings.kind = fields.kind.unwrap_or(settings.kind);
        if fields.url.is_some() || fields.kind.is_some_and(|kind| kind != over.kind) {
            let asked = fields.url.as_deref().unwrap_or(&over.url);
            if let Some(url) = checks.take("url", self.checked_url(settings.kind, asked)) {
                settings.url = url.into();
            }
        }
        if let Some(id) = fields.collection_id {
            let known = collections.iter().any(|collection| collection.id == id);
            if known {
                settings.collection_id = id;
            } else {
                checks.wrong(
                    "collection_id",
                    format!("there is no collection {id}; `gleaner collection list` shows which there are"),
                );
            }
        }
        settings.interval = fields.interval.unwrap_or(settings.interval);
        settings.poll_delay = fields.poll_delay.unwrap_or(settings.poll_delay);
        settings.full_content = fields.full_content.unwrap_or(settings.full_content);
        settings.backfill = fields.backfill.unwrap_or(settings.backfill);
        settings.ignore_robots = fields.ignore_robots.unwrap_or(settings.ignore_robots);
        settings.duplicates = fields.duplicates.unwrap_or(settings.duplicates);
        lay_text("name", &fields.name, &mut settings.name, checks, |_| Ok(()));
        let selectors = [
            ("article_selector", &fields.article_selector, &mut settings.article_selector),
            ("ignore_selector", &fields.ignore_selector, &mut settings.ignore_selector),
        ];
        for (name, given, place) in selectors {
            lay_text(name, given, place, checks, links::check_selector);
        }
        lay_text("policy", &fields.policy, &mut settings.policy, checks, |name| self.checked_policy(name));
        if let Some(credential) = &fields.credential {
            match credential.as_ref().and_then(Credential::problem) {
                Some(why) => checks.wrong("credential", why),
                None => {
                    let seal = |credential| seal_credential(&self.vault, &settings.url, credential);
                    settings.secret = credential.as_ref().map(seal).transpose()?;
                }
            }
        }
        Ok(settings)
    }

    /// A URL that may be polled as this kind.
    pub(super) fn checked_url(&self, kind: Kind, text: &str) -> Result<Url, ServiceError> {
        let url = match kind {
            Kind::X => gleaner_core::x::timeline_url(text),
            Kind::Feed | Kind::Website | Kind::Watchlist => link::source_url(text),
        };
        let url = url.map_err(|bad: BadUrl| ServiceError::from(bad))?;
        let allow = AllowedNetworks::new(self.config.fetch.allow_private_networks.clone());
        guard::check_url(&url, &allow).map_err(|refused| {
            ServiceError::invalid(
                "url",
                format!("{url} cannot be polled: {refused}; fetch.allow_private_networks opens networks"),
            )
        })?;
        Ok(url)
    }

    fn checked_policy(&self, name: &str) -> Result<(), String> {
        if self.config.policies.contains_key(name) {
            return Ok(());
        }
        let names = self.config.policies.keys().cloned().collect::<Vec<_>>().join(", ");
        Err(format!("there is no policy '{}'; there are {names}", shortened(name)))
    }
}

/// Lays a text over another where it is given and fits; blank is none.
fn lay_text(
    name: &str,
    given: &Option<Option<String>>,
    place: &mut Option<String>,
    checks: &mut Checks,
    check: impl Fn(&str) -> Result<(), String>,
) {
    let Some(given) = given else { return };
    let text = given.as_deref().map(str::trim).filter(|text| !text.is_empty());
    match text {
        Some(text) if text.chars().count() > LONGEST || text.contains('\0') => {
            checks.wrong(
                name,
                format!("{name} has at most {LONGEST} characters, and none that cannot be shown"),
            );
        }
        Some(text) => match check(text) {
            Ok(()) => *place = Some(text.to_owned()),
            Err(why) => checks.wrong(name, why),
        },
        None => *place = None,
    }
}
