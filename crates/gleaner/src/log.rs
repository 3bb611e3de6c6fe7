//! Logging for people or programs: one line per event, secrets redacted, control characters escaped.

use std::fmt;

use crate::config::{Log, LogFormat, LogLevel};
use crate::printable::is_hidden;

/// A query parameter is secret if its name, in lower case and without punctuation, is one of these...
const SECRET_NAMES: [&str; 9] = ["auth", "code", "hmac", "jwt", "pass", "pw", "sid", "sig", "signed"];
/// ...or contains one of these.
const SECRET_PARTS: [&str; 12] = [
    "accesskey",
    "apikey",
    "authkey",
    "credential",
    "passw",
    "privatekey",
    "pwd",
    "secret",
    "session",
    "signature",
    "token",
    "authorization",
];
/// A random-looking value of at least this length is redacted too.
const MIN_RANDOM_VALUE: usize = 20;
/// Path segments must be longer, because they often contain identifiers.
const MIN_RANDOM_SEGMENT: usize = 32;

/// Logs to standard error, as configured.
pub fn init(log: &Log) {
    let level = match log.level {
        LogLevel::Error => tracing::level_filters::LevelFilter::ERROR,
        LogLevel::Warn => tracing::level_filters::LevelFilter::WARN,
        LogLevel::Info => tracing::level_filters::LevelFilter::INFO,
        LogLevel::Debug => tracing::level_filters::LevelFilter::DEBUG,
        LogLevel::Trace => tracing::level_filters::LevelFilter::TRACE,
    };
    let builder = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    // A second call has no effect.
    let _ = match log.format {
        LogFormat::Human => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// Displays text from outside on one line, with the secrets of URLs redacted.
pub struct Redacted<'a>(pub &'a str);

impl fmt::Display for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = self.0.split(' ');
        if let Some(first) = words.next() {
            write_word(first, f)?;
        }
        words.try_for_each(|word| {
            f.write_str(" ")?;
            write_word(word, f)
        })
    }
}

fn write_word(word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match word.split_once("://") {
        Some((scheme, rest)) => {
            escape(scheme, f)?;
            f.write_str("://")?;
            write_url(rest, f)
        }
        None => escape(word, f),
    }
}

/// Writes what follows `://` without user, password, and secrets in path, query or fragment.
fn write_url(rest: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    escape(authority.rsplit_once('@').map_or(authority, |(_, host)| host), f)?;
    let (before, fragment) =
        tail.split_once('#').map_or((tail, None), |(before, after)| (before, Some(after)));
    let (path, query) = before.split_once('?').map_or((before, None), |(path, query)| (path, Some(query)));
    write_parts(path, '/', f, |segment| (looks_random(segment, MIN_RANDOM_SEGMENT)).then_some(""))?;
    for (mark, parameters) in [("?", query), ("#", fragment)] {
        if let Some(parameters) = parameters {
            f.write_str(mark)?;
            write_parts(parameters, '&', f, secret_parameter)?;
        }
    }
    Ok(())
}

/// Writes parts between separators; of a secret part only what `secret` returns.
fn write_parts<'a>(
    text: &'a str,
    separator: char,
    f: &mut fmt::Formatter<'_>,
    secret: impl Fn(&'a str) -> Option<&'a str>,
) -> fmt::Result {
    for (place, part) in text.split(separator).enumerate() {
        if place > 0 {
            write!(f, "{separator}")?;
        }
        match secret(part) {
            Some(shown) => {
                escape(shown, f)?;
                f.write_str("…")?;
            }
            None => escape(part, f)?,
        }
    }
    Ok(())
}

/// The name of a secret parameter, with its `=`.
fn secret_parameter(pair: &str) -> Option<&str> {
    let (name, value) = pair.split_once('=').unwrap_or(("", pair));
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let named = plain.ends_with("key")
        || SECRET_NAMES.contains(&plain.as_str())
        || SECRET_PARTS.iter().any(|part| plain.contains(part));
    // `channel_id` and similar names are public identifiers, however random they look.
    let public = plain.ends_with("id");
    let secret = named || !public && looks_random(value, MIN_RANDOM_VALUE);
    secret.then(|| &pair[..pair.len() - value.len()])
}

/// Whether a text looks random: letters and digits mixed, with nearly maximal entropy.
fn looks_random(text: &str, least: usize) -> bool {
    let text = text.trim_end_matches(['=', '%']);
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.~+/%".contains(&b);
    if text.len() < least || !text.bytes().all(allowed) {
        return false;
    }
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|b| counts[usize::from(b)] += 1);
    let length = text.len() as f64;
    let entropy: f64 =
        counts.iter().filter(|n| **n > 0).map(|n| f64::from(*n) / length).map(|p| -p * p.log2()).sum();
    entropy >= 3.0 && random_runs(text) * 2 >= text.len()
}

/// The number of characters in alphanumeric runs that mix digits with letters, or upper case with lower case and
/// digits. Words and numbers joined by dashes do not count.
fn random_runs(text: &str) -> usize {
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mixes = |run: &&str| {
        let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
        let (digits, capitals) = (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase));
        let small = run.len() - digits - capitals;
        digits > 0
            && capitals + small > 0
            && (digits * 8 >= run.len() || capitals * 8 >= run.len() && small * 8 >= run.len())
    };
    runs.filter(mixes).map(str::len).sum()
}

fn escape(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    text.chars()
        .try_for_each(|c| if is_hidden(c) { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_control_characters_are_redacted() {
        let check = |text, expected: &str| assert_eq!(Redacted(text).to_string(), expected);
        check("https://a.example/feed?b=1", "https://a.example/feed?b=1");
        check("https://me:pass@a.example:8080/feed", "https://a.example:8080/feed");
        check("https://a.example/?token=abc&x=1&API_KEY=d", "https://a.example/?token=…&x=1&API_KEY=…");
        check("moved to https://u:p@b.example, it says", "moved to https://b.example, it says");
        check("evil\nERROR all is lost\u{1b}[2J", "evil\\nERROR all is lost\\u{1b}[2J");
        check("mail me@example.org", "mail me@example.org");
        check("evil \u{202e}txt.exe\u{200b}", "evil \\u{202e}txt.exe\\u{200b}");
        check("", "");
    }

    #[test]
    fn parameters_are_redacted_by_name_and_by_value() {
        for name in [
            "feed_token",
            "private_token",
            "client_secret",
            "api-key",
            "x-amz-signature",
            "X-Amz-Credential",
            "jwt",
            "pwd",
            "key",
            "apikey",
            "auth",
            "sig",
            "session",
            "Access-Token",
            "password",
            "sid",
            "code",
            "authkey",
        ] {
            let shown = Redacted(&format!("https://a.example/feed?{name}=abc&n=1")).to_string();
            assert_eq!(shown, format!("https://a.example/feed?{name}=…&n=1"));
        }
        let check = |text, expected: &str| assert_eq!(Redacted(text).to_string(), expected);
        check("https://a.example/?x=3f9a8c2d7b1e4f60a5c9", "https://a.example/?x=…");
        check("https://a.example/?u=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOjF9.c2ln", "https://a.example/?u=…");
        check("https://a.example/?3f9a8c2d7b1e4f60a5c9", "https://a.example/?…");
        check("https://a.example/#access_token=abc&x=1", "https://a.example/#access_token=…&x=1");
        check(
            "https://a.example/private/9c1185a5c5e9fc54612808977ee8f548/feed.xml",
            "https://a.example/private/…/feed.xml",
        );
        for open in [
            "https://a.example/2026/11/16/twelve-boxers-chase-victor-across-the-great-dyke/",
            "https://a.example/feeds/videos.xml?channel_id=UC4QobU6STFB0P71PMvOGN5A",
            "https://a.example/?q=rust+language&page=12&from=2026-11-16T08:00:00",
            "https://a.example/?category=science-and-technology-2026&monkey_business=1",
            "https://a.example/p/550e8400-e29b",
        ] {
            let shown = Redacted(open).to_string();
            assert!(!shown.contains("=…") && !shown.contains("/…"), "{shown}");
        }
    }
}
