//! Keys as they are written, and which setting they mean.

use std::borrow::Cow;
use std::fmt;

use gleaner_core::outcome::ErrorKind;
use gleaner_core::source::Kind;

use super::parse;
use super::settings::{SETTINGS, Secrecy, Setting};

/// A dotted key, part by part: a part may hold dots itself, as hosts do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub Vec<String>);

/// Parts that TOML would not take bare are quoted.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if !part.is_empty() && part.bytes().all(bare) {
                write!(f, "{dot}{part}")?;
            } else {
                // JSON's escapes are TOML's too, and stay on one line.
                write!(f, "{dot}{}", serde_json::Value::from(part.as_str()))?;
            }
        }
        Ok(())
    }
}

/// What a key means.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A setting, with the names in the key as gleaner spells them.
    Setting(&'static Setting, Key),
    /// `…_file`: where the value of a secret setting is to be read from.
    File(&'static Setting, Key),
    /// A table of settings.
    Table(Key),
    /// Nothing: what is wrong, and how much of the key it takes to see it.
    Unknown { parts: usize, problem: String },
}

/// Finds out what a key means.
pub(super) fn meaning(key: &Key) -> Meaning {
    let mut farthest = (0, None);
    for setting in SETTINGS {
        let (matched, named, problem) = follow(setting, key);
        if matched == key.0.len() {
            let whole = setting.segments().count() == matched;
            return if whole { Meaning::Setting(setting, named) } else { Meaning::Table(named) };
        }
        if let Some(found) = secret_file(setting, key, matched, &named) {
            return found;
        }
        if matched > farthest.0 || (matched == farthest.0 && farthest.1.is_none()) {
            farthest = (matched, problem);
        }
    }
    if let Some(own) = foreign(key)
        && let Meaning::Setting(_, own) = meaning(&own)
    {
        let problem = format!("unknown key; gleaner calls it {own}");
        return Meaning::Unknown { parts: key.0.len(), problem };
    }
    let (parts, problem) = farthest;
    Meaning::Unknown { parts: parts + 1, problem: problem.unwrap_or_else(|| unknown(key)) }
}

/// `pollIntervalMinutes` as `poll_interval_minutes`; what is not in camel case stays as it is.
pub fn snake_case(name: &str) -> Cow<'_, str> {
    let is_camel = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().any(|byte| byte.is_ascii_uppercase());
    if !is_camel {
        return Cow::Borrowed(name);
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    Cow::Owned(snake)
}

/// A key as other systems write it, by our spelling: without a leading `app`, with underscores. None where that is how it
/// is written.
fn foreign(key: &Key) -> Option<Key> {
    let parts: Vec<String> = key.0.iter().map(|part| snake_case(part).replace('-', "_")).collect();
    let parts = match parts.split_first() {
        Some((first, rest)) if first == "app" && !rest.is_empty() => rest.to_vec(),
        _ => parts,
    };
    Some(Key(parts)).filter(|own| own != key)
}

/// Whether a key is a section of another system's settings, whose keys are to be named one by one.
pub(super) fn is_foreign_table(key: &Key) -> bool {
    key.0 == ["app"] || foreign(key).is_some_and(|own| matches!(meaning(&own), Meaning::Table(_)))
}

/// How many parts of the key this setting's pattern matches, and what stopped it where that was a bad name.
fn follow(setting: &Setting, key: &Key) -> (usize, Key, Option<String>) {
    let mut named = Vec::new();
    for (pattern, part) in setting.segments().zip(&key.0) {
        let name = match pattern {
            "<kind>" => part.parse::<Kind>().map(|kind| kind.name().to_owned()).map_err(|e| e.to_string()),
            "<error kind>" => {
                part.parse::<ErrorKind>().map(|k| k.name().to_owned()).map_err(|e| e.to_string())
            }
            "<host>" => parse::host(part).ok_or_else(|| {
                format!("'{part}' is no host; write it as in example.org, without scheme or port")
            }),
            "<policy>" => parse::policy_name(part).ok_or_else(|| {
                format!("'{part}' is no name for a policy; use up to 64 of a to z, 0 to 9, _ and -")
            }),
            literal if literal == part => Ok(part.clone()),
            _ => return (named.len(), Key(named), None),
        };
        match name {
            Ok(name) => named.push(name),
            Err(problem) => return (named.len(), Key(named), Some(problem)),
        }
    }
    (named.len(), Key(named), None)
}

fn secret_file(setting: &'static Setting, key: &Key, matched: usize, named: &Key) -> Option<Meaning> {
    let last = setting.segments().last()?;
    let is_file = setting.secrecy != Secrecy::Open
        && matched + 1 == key.0.len()
        && key.0.last()?.strip_suffix("_file") == Some(last);
    is_file.then(|| {
        let parts = named.0.iter().cloned().chain([last.to_owned()]).collect();
        Meaning::File(setting, Key(parts))
    })
}

/// The known key most like this one, told to the person who wrote it.
fn unknown(key: &Key) -> String {
    // A lone key was likely meant for a section: `policy` is rather `source.policy` than `policies`.
    let guess = if key.0.len() == 1 {
        elsewhere(key).or_else(|| nearest(key))
    } else {
        nearest(key).or_else(|| elsewhere(key))
    };
    match guess {
        Some(known) => format!("unknown key; did you mean {known}?"),
        None => "unknown key; `gleaner config` lists all that there are".to_owned(),
    }
}

/// The setting or section of as many parts that is alike in each of them.
fn nearest(key: &Key) -> Option<String> {
    const ALIKE: f64 = 0.8;
    let filled = |setting: &Setting| {
        let parts = setting.segments().zip(&key.0).map(|(part, given)| match part.starts_with('<') {
            true => given.clone(),
            false => part.to_owned(),
        });
        Key(parts.collect())
    };
    let alike = |known: &Key| {
        let parts = known.0.iter().zip(&key.0).map(|(a, b)| strsim::jaro_winkler(a, b));
        let alike = parts.fold(1.0, f64::min);
        (known.0.len() == key.0.len() && alike >= ALIKE).then_some(alike)
    };
    let scored = SETTINGS.iter().map(filled).filter_map(|known| Some((alike(&known)?, known)));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known.to_string())
}

/// The setting of the same last part in another section.
fn elsewhere(key: &Key) -> Option<String> {
    let last = key.0.last()?.as_str();
    let setting = SETTINGS.iter().find(|setting| setting.segments().last() == Some(last))?;
    Some(setting.key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: &str, expected: &str) {
        let key = Key(key.split('/').map(str::to_owned).collect());
        let shown = match meaning(&key) {
            Meaning::Setting(setting, key) => format!("{key} is {}", setting.key),
            Meaning::File(_, key) => format!("file for {key}"),
            Meaning::Table(key) => format!("table {key}"),
            Meaning::Unknown { parts, problem } => format!("{parts}: {problem}"),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn keys_find_their_settings() {
        check("source/policy", "source.policy is source.policy");
        check("source", "table source");
        check(
            "source/poll_delay_seconds/rss",
            "source.poll_delay_seconds.feed is source.poll_delay_seconds.<kind>",
        );
        check(
            "source/host_overrides/Example.ORG/concurrency",
            "source.host_overrides.\"example.org\".concurrency is source.host_overrides.<host>.concurrency",
        );
        assert_eq!(Key(vec!["a\nb".to_owned(), String::new()]).to_string(), r#""a\nb"."""#);
        check("api/jwt_secret_file", "file for api.jwt_secret");
        check("policies/mine/on/gone", "table policies.mine.on.gone");
    }

    #[test]
    fn unknown_keys_are_told_the_nearest() {
        check("sorce/policy", "1: unknown key; did you mean source.policy?");
        check("source/poll_intervall_minutes", "2: unknown key; did you mean source.poll_interval_minutes?");
        check("fetch/timeout", "2: unknown key; did you mean fetch.timeout_seconds?");
        check("fech", "1: unknown key; did you mean fetch?");
        check("policy", "1: unknown key; did you mean source.policy?");
        check("app/source/max-failures", "3: unknown key; gleaner calls it source.max_failures");
        check("app/source/max-backoff-hours", "3: unknown key; gleaner calls it source.max_backoff_hours");
        check("source/maxArticleAgeDays", "2: unknown key; gleaner calls it source.max_article_age_days");
        check("source/zzz", "2: unknown key; `gleaner config` lists all that there are");
        check("log/level_file", "2: unknown key; did you mean log.level?");
        check(
            "policies/mine/on/gone/treshold",
            "5: unknown key; did you mean policies.mine.on.gone.threshold?",
        );
        check(
            "source/poll_delay_seconds/podcast",
            "3: 'podcast' is no kind of source; there are feed, website, watchlist, x",
        );
        check(
            "source/host_overrides/a b/concurrency",
            "3: 'a b' is no host; write it as in example.org, without scheme or port",
        );
    }
}
