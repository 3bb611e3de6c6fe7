//! Logs for people or for programs: one line an event, secrets redacted, control characters escaped.

use std::fmt;

use crate::config::{Log, LogFormat, LogLevel};

/// Names of query parameters whose values are nobody's business.
const SECRETS: [&str; 12] = [
    "key",
    "apikey",
    "api_key",
    "token",
    "access_token",
    "auth",
    "password",
    "passwd",
    "secret",
    "sig",
    "signature",
    "session",
];

/// Sends all logs to standard error, as config says.
pub fn start(log: &Log) {
    let level = match log.level {
        LogLevel::Error => tracing::level_filters::LevelFilter::ERROR,
        LogLevel::Warn => tracing::level_filters::LevelFilter::WARN,
        LogLevel::Info => tracing::level_filters::LevelFilter::INFO,
        LogLevel::Debug => tracing::level_filters::LevelFilter::DEBUG,
        LogLevel::Trace => tracing::level_filters::LevelFilter::TRACE,
    };
    let builder = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    // A second call changes nothing: the first one's choice holds.
    let _ = match log.format {
        LogFormat::Human => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// Text from outside, as a log may show it: on one line, without credentials in URLs.
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = self.0.split(' ');
        if let Some(first) = words.next() {
            show_word(first, f)?;
        }
        words.try_for_each(|word| {
            f.write_str(" ")?;
            show_word(word, f)
        })
    }
}

fn show_word(word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match word.split_once("://") {
        Some((scheme, rest)) => {
            escape(scheme, f)?;
            f.write_str("://")?;
            show_url(rest, f)
        }
        None => escape(word, f),
    }
}

/// What follows `://`: no user, no password, no values of secret parameters.
fn show_url(rest: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    escape(authority.rsplit_once('@').map_or(authority, |(_, host)| host), f)?;
    let Some((path, query)) = tail.split_once('?') else { return escape(tail, f) };
    escape(path, f)?;
    for (place, pair) in query.split('&').enumerate() {
        f.write_str(if place == 0 { "?" } else { "&" })?;
        match pair.split_once('=') {
            Some((name, _)) if SECRETS.contains(&name.to_ascii_lowercase().as_str()) => {
                escape(name, f)?;
                f.write_str("=…")?;
            }
            _ => escape(pair, f)?,
        }
    }
    Ok(())
}

fn escape(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    text.chars()
        .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_control_characters_stay_out() {
        let check = |text, expected: &str| assert_eq!(Shown(text).to_string(), expected);
        check("https://a.example/feed?b=1", "https://a.example/feed?b=1");
        check("https://me:pass@a.example:8080/feed", "https://a.example:8080/feed");
        check("https://a.example/?token=abc&x=1&API_KEY=d", "https://a.example/?token=…&x=1&API_KEY=…");
        check("moved to https://u:p@b.example, it says", "moved to https://b.example, it says");
        check("evil\nERROR all is lost\u{1b}[2J", "evil\\nERROR all is lost\\u{1b}[2J");
        check("mail me@example.org", "mail me@example.org");
        check("", "");
    }
}
