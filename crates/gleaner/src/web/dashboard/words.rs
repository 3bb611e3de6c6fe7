//! How things are said on pages: times, counts, and what happened.

use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};
use serde_json::Value;

use crate::service::{Post, Told};

const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const DAY: i64 = 86_400_000;

/// A time as seen from now: `in 4 min`, `2 h ago`.
pub(super) fn relative(at: Time, now: Time) -> String {
    let ahead = at > now;
    let span = if ahead { at.since(now) } else { now.since(at) };
    match (span.as_millis(), ahead) {
        (0..1000, _) => "now".to_owned(),
        (_, true) => format!("in {}", brief(span)),
        (_, false) => format!("{} ago", brief(span)),
    }
}

/// A length of time in its largest unit: `4 min`.
pub(super) fn brief(span: Span) -> String {
    let seconds = span.as_millis() / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A time by itself: `14:00` today, `Tuesday 14:00` within a week, else with its date.
pub(super) fn moment(at: Time, now: Time) -> String {
    let text = at.to_string();
    let (date, clock) = text.split_once('T').unwrap_or((&text, ""));
    let clock = clock.get(..5).unwrap_or(clock);
    let day = |time: Time| time.as_millis().div_euclid(DAY);
    match (day(at) - day(now)).abs() {
        0 => format!("{clock} UTC"),
        1..7 => {
            let weekday = usize::try_from(day(at).rem_euclid(7)).unwrap_or(0);
            format!("{} {clock} UTC", WEEKDAYS.get(weekday).copied().unwrap_or_default())
        }
        _ => format!("{date} {clock} UTC"),
    }
}

/// A count with its noun: `1 source`, `12,345 sources`.
pub(super) fn count(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{} {one}s", grouped(number)),
    }
}

/// The same of things that are at hand.
pub(super) fn many(number: &usize, one: &str) -> String {
    count(*number as u64, one)
}

/// `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A URL as people say it: without its scheme, and not too long.
pub(super) fn short(url: &str) -> String {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let bare = bare.strip_prefix("www.").unwrap_or(bare).trim_end_matches('/');
    if bare.chars().count() <= 60 {
        return bare.to_owned();
    }
    bare.chars().take(59).chain(['…']).collect()
}

/// A URL as a link: those of the web alone. Others are code, or open something on the reader's machine.
pub(super) fn web_link(url: &str) -> Option<&str> {
    let parsed = url::Url::parse(url).ok()?;
    matches!(parsed.scheme(), "http" | "https").then_some(url)
}

/// A message as a sentence; an address that it begins with stays as it is.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let is_address = text.split_whitespace().next().is_some_and(|word| word.contains("://"));
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    let text = if is_address { text.to_owned() } else { format!("{first}{}", chars.as_str()) };
    if text.ends_with(['.', '!', '?', '…']) { text } else { format!("{text}.") }
}

/// What a post is called: its title, else how its text begins.
pub(super) fn title_of(post: &Post) -> String {
    title_or(post.content.title.as_deref(), &post.content.body)
}

/// A title, or what stands for one.
pub(super) fn title_or(title: Option<&str>, other: &str) -> String {
    let title = title.map(str::trim).filter(|title| !title.is_empty()).unwrap_or(other);
    let shown: String = title.chars().take(160).collect();
    if shown.trim().is_empty() { "(without a title)".to_owned() } else { shown }
}

/// A text, or a word that there is none.
pub(super) fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}

/// What a kind of source is, for people.
pub(super) const fn kind(kind: &Kind) -> &'static str {
    match kind {
        Kind::Feed => "a feed",
        Kind::Website => "a page whose text changes",
        Kind::Watchlist => "an index page whose links are followed",
        Kind::X => "a timeline on X",
    }
}

/// Something that changed, in words.
pub(super) struct Change {
    pub(super) at: Time,
    /// Where to look closer.
    pub(super) link: Option<String>,
    /// To what it happened.
    pub(super) who: String,
    /// What.
    pub(super) what: &'static str,
    /// Until when.
    pub(super) until: Option<Time>,
    /// Why.
    pub(super) why: String,
    /// Good, bad or neither: how it is marked.
    pub(super) tone: &'static str,
}

impl From<Told> for Change {
    fn from(told: Told) -> Self {
        let text = |name: &str| told.data.get(name).and_then(Value::as_str).map(str::to_owned);
        let until = told.data.get("next_poll_at").and_then(|at| serde_json::from_value(at.clone()).ok());
        let until: Option<Time> = until.flatten();
        let source = told.source.as_ref();
        let name = source.and_then(|source| source.name.clone().filter(|name| !name.trim().is_empty()));
        let url = source.and_then(|source| source.url.clone()).or_else(|| text("url"));
        let who = name.or_else(|| url.as_deref().map(short)).or_else(|| text("host"));
        let (what, tone, until) = match told.kind.as_str() {
            "source.failing" => ("fails", "failing", None),
            "source.quarantined" if until.is_some() => ("set aside until", "quarantined", until),
            "source.quarantined" => ("set aside until somebody comes", "quarantined", None),
            "source.recovered" => ("is back", "healthy", None),
            "source.disabled" => ("disabled", "disabled", None),
            "source.enabled" => ("enabled again", "healthy", None),
            "source.dormant" => ("asked only now and then, until", "quarantined", until),
            "source.suspect" => ("seems to be wrong", "failing", None),
            "source.proposal" => ("may be elsewhere now", "failing", None),
            "source.moved" => ("has moved", "healthy", None),
            "source.move_refused" => ("was not moved", "failing", None),
            "page.given_up" => ("lost a page", "failing", None),
            "source.cleared" => ("is suspected of nothing any more", "healthy", None),
            "source.excused" => ("was not to blame", "healthy", None),
            "host.down" => ("is down", "quarantined", None),
            "host.back" => ("is back", "healthy", None),
            "host.given_up" => ("stays down", "failing", None),
            "host.paced" => ("limits us", "failing", None),
            "network.down" => ("is down", "quarantined", None),
            "network.back" => ("is back", "healthy", None),
            "import.finished" => ("finished", "healthy", None),
            _ => ("", "", None),
        };
        let known = !what.is_empty();
        Self {
            at: told.created_at,
            link: source
                .filter(|source| source.url.is_some())
                .map(|source| format!("/sources/{}", source.id)),
            who: match (&*told.kind, who) {
                ("import.finished", _) => "Import".to_owned(),
                ("network.down" | "network.back", _) => "Our own network".to_owned(),
                (_, Some(who)) if known => who,
                (kind, Some(who)) => format!("{who}: {kind}"),
                (kind, None) => kind.to_owned(),
            },
            what,
            until,
            why: text("reason").or_else(|| text("summary")).unwrap_or_default(),
            tone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_counts_read_well() {
        let of = |text: &str| serde_json::from_value::<Time>(text.into()).unwrap();
        let now = of("2026-11-15T10:00:00Z");
        assert_eq!(relative(of("2026-11-15T10:04:10Z"), now), "in 4 min");
        assert_eq!(relative(of("2026-11-15T07:30:00Z"), now), "2 h ago");
        assert_eq!(relative(of("2026-11-12T07:30:00Z"), now), "3 days ago");
        assert_eq!(relative(now, now), "now");
        assert_eq!(moment(of("2026-11-15T14:00:00Z"), now), "14:00 UTC");
        assert_eq!(moment(of("2026-11-17T14:00:00Z"), now), "Tuesday 14:00 UTC");
        assert_eq!(moment(of("2026-12-17T14:00:00Z"), now), "2026-12-17 14:00 UTC");
        assert_eq!(
            (count(1, "source"), count(12_345, "source")),
            ("1 source".into(), "12,345 sources".into())
        );
        assert_eq!(short("https://www.example.org/feed/"), "example.org/feed");
        assert_eq!(sentence("it is there already"), "It is there already.");
        assert_eq!(sentence("https://a.example/: gone"), "https://a.example/: gone.");
    }

    #[test]
    fn only_the_web_is_linked_to() {
        for url in ["https://a.example/", "HTTP://a.example"] {
            assert_eq!(web_link(url), Some(url));
        }
        for url in ["javascript:alert(1)//https://", "data:text/html,x", "//a.example", "x", ""] {
            assert_eq!(web_link(url), None, "{url}");
        }
        assert_eq!(web_link("javascript://%0aalert(1)"), None);
    }
}
