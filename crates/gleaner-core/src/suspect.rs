//! Silent failures: the server says 200, and yet something is wrong.
//!
//! A document that was read, or could not be, is looked at for signs: nothing new far beyond the feed's own habit,
//! suddenly empty, a wall that asks to log in or to prove that one is human, a parked domain, a page where there
//! was a feed. What is found is shown with its evidence, and goes when a later look finds nothing.
//!
//! Absent on purpose: consequences. A suspect is polled as ever and nothing is held against it; a person may
//! look. Absent too: fetching. The caller hands over the beginning of what it read anyway.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// So much of a page's text is looked at.
pub const LONGEST_TEXT: usize = 4000;
/// A page with more text than this is about something; a sign in it may be a quotation.
const SHORT_TEXT: usize = 1500;
/// Shorter silences are never suspect.
const SHORTEST_SILENCE: Span = Span::from_days(30);
/// A silence is out of habit where it is so many times the longest before it.
const SILENCES: f64 = 4.0;
/// So many dated entries tell a habit.
const HABIT_ENTRIES: usize = 5;
/// A document with so many entries does not become empty for no reason.
const USUAL_ENTRIES: usize = 3;

/// What a source is wanted to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A feed: entries with dates.
    Feed,
    /// A page, or an index of pages.
    Page,
}

/// What a poll saw.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// What it should have been.
    pub wanted: Wanted,
    /// It is a page of HTML.
    pub html: bool,
    /// How many bytes it was.
    pub bytes: u64,
    /// How many entries were read of it.
    pub entries: usize,
    /// How many the document before it had.
    pub entries_before: usize,
    /// The dates of its entries, in any order; those ahead of now are left out.
    pub dates: &'a [Time],
    /// The page's title, where it is one.
    pub title: &'a str,
    /// The beginning of the page's text, where it is one; at most [`LONGEST_TEXT`] of it is looked at.
    pub text: &'a str,
}

/// What seems to be the matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Nothing new far beyond its habit.
    Frozen,
    /// No entries where there were some.
    Empty,
    /// A page that asks to log in.
    LoginWall,
    /// A page that asks to prove that one is human.
    BotWall,
    /// The domain is for sale.
    Parked,
    /// A page where there was a feed.
    BecameHtml,
}

/// Something seems to be wrong, though no poll says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// What.
    pub reason: Reason,
    /// What speaks for it, for people.
    pub evidence: String,
}

/// Words that give a page away, in lower case.
const SIGNS: [(Reason, &[&str]); 3] = [
    (
        Reason::Parked,
        &[
            "domain is for sale",
            "domain may be for sale",
            "buy this domain",
            "domain is parked",
            "parked free, courtesy of",
            "inquire about this domain",
            "this domain has expired",
        ],
    ),
    (
        Reason::BotWall,
        &[
            "just a moment...",
            "checking your browser",
            "verify you are human",
            "verifying you are human",
            "are you a robot",
            "enable javascript and cookies to continue",
            "complete the captcha",
            "unusual traffic from your",
            "attention required!",
            "ddos protection by",
        ],
    ),
    (
        Reason::LoginWall,
        &[
            "log in to continue",
            "sign in to continue",
            "please log in",
            "please sign in",
            "you must be logged in",
            "login required",
            "log in to your account",
            "sign in to your account",
        ],
    ),
];

impl Reason {
    /// The name in database and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Empty => "empty",
            Self::LoginWall => "login_wall",
            Self::BotWall => "bot_wall",
            Self::Parked => "parked",
            Self::BecameHtml => "became_html",
        }
    }
}

/// Whether something seems to be wrong with what a poll saw.
pub fn look(seen: &Look<'_>, now: Time) -> Option<Suspect> {
    let signs = || signs(seen).filter(|_| seen.html && (seen.wanted == Wanted::Page || seen.entries == 0));
    let html = || (seen.wanted == Wanted::Feed && seen.html && seen.entries == 0).then(|| became_html(seen));
    signs().or_else(html).or_else(|| empty(seen)).or_else(|| frozen(seen, now))
}

fn signs(seen: &Look<'_>) -> Option<Suspect> {
    let title = seen.title.chars().take(300).collect::<String>().to_lowercase();
    let short = seen.text.len() <= SHORT_TEXT || seen.wanted == Wanted::Feed;
    let text = if short { seen.text.chars().take(LONGEST_TEXT).collect() } else { String::new() };
    let text = text.to_lowercase();
    SIGNS.iter().find_map(|(reason, words)| {
        let found = |place: &str| words.iter().find(|word| place.contains(**word));
        let (word, place) = match (found(&title), found(&text)) {
            (Some(word), _) => (word, "title"),
            (None, Some(word)) => (word, "text"),
            (None, None) => return None,
        };
        let evidence = format!("the page's {place} says \"{word}\", in {} bytes", seen.bytes);
        Some(Suspect { reason: *reason, evidence })
    })
}

fn became_html(seen: &Look<'_>) -> Suspect {
    let title: String = seen.title.trim().chars().filter(|c| !c.is_control()).take(80).collect();
    let title = if title.is_empty() { "without a title".to_owned() } else { format!("called \"{title}\"") };
    let evidence = format!("where there was a feed is a page {title}, of {} bytes", seen.bytes);
    Suspect { reason: Reason::BecameHtml, evidence }
}

fn empty(seen: &Look<'_>) -> Option<Suspect> {
    (seen.entries == 0 && seen.entries_before >= USUAL_ENTRIES).then(|| Suspect {
        reason: Reason::Empty,
        evidence: format!("no entries, in {} bytes; there were {} before", seen.bytes, seen.entries_before),
    })
}

/// A feed shows its own habit: the gaps between its entries.
fn frozen(seen: &Look<'_>, now: Time) -> Option<Suspect> {
    let mut dates: Vec<Time> = seen.dates.iter().copied().filter(|date| *date <= now).collect();
    if dates.len() < HABIT_ENTRIES {
        return None;
    }
    dates.sort_unstable();
    let silence = now.since(*dates.last()?);
    let longest = dates.windows(2).map(|pair| pair[1].since(pair[0])).max()?;
    let usual = longest.scale(SILENCES).max(SHORTEST_SILENCE);
    (silence > usual).then(|| Suspect {
        reason: Reason::Frozen,
        evidence: format!("nothing new for {silence}; before, never more than {longest} between entries"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Time {
        Time::parse("2026-11-15T00:00:00Z").unwrap()
    }

    const NOTHING: Look<'_> = Look {
        wanted: Wanted::Feed,
        html: false,
        bytes: 512,
        entries: 10,
        entries_before: 10,
        dates: &[],
        title: "",
        text: "",
    };

    fn reason(seen: &Look<'_>) -> Option<Reason> {
        look(seen, now()).map(|suspect| suspect.reason)
    }

    #[test]
    fn a_feed_is_frozen_by_its_own_habit_only() {
        let daily =
            |last: u64| -> Vec<Time> { (0..10).map(|day| now() - Span::from_days(last + day)).collect() };
        let monthly = |last: u64| -> Vec<Time> {
            (0..10).map(|month| now() - Span::from_days(last + 30 * month)).collect()
        };
        let check = |dates: &[Time]| reason(&Look { dates, ..NOTHING });
        assert_eq!(check(&daily(31)), Some(Reason::Frozen));
        assert_eq!(check(&daily(29)), None, "a month's holiday");
        assert_eq!(check(&monthly(100)), None, "it was never quick");
        assert_eq!(check(&monthly(130)), Some(Reason::Frozen));
        assert_eq!(check(&daily(300)[..4]), None, "four entries are no habit");
        let suspect = look(&Look { dates: &daily(45), ..NOTHING }, now()).unwrap();
        assert_eq!(
            suspect.evidence,
            "nothing new for 45 days; before, never more than 1 day between entries"
        );
    }

    #[test]
    fn walls_and_parked_domains_are_known_by_their_words() {
        let page = |title, text| Look { wanted: Wanted::Page, html: true, title, text, ..NOTHING };
        assert_eq!(reason(&page("Just a moment...", "")), Some(Reason::BotWall));
        assert_eq!(reason(&page("", "Please sign in to read on.")), Some(Reason::LoginWall));
        assert_eq!(reason(&page("example.org", "This domain is for sale!")), Some(Reason::Parked));
        let essay = format!("They ask: verify you are human. {}", "And so it goes on. ".repeat(200));
        assert_eq!(reason(&page("Against captchas", &essay)), None, "it is about them");
        assert_eq!(reason(&page("News", "All is well.")), None);
    }

    #[test]
    fn a_feed_that_became_a_page_or_empty_is_noticed() {
        let page = Look { html: true, entries: 0, title: "Welcome", ..NOTHING };
        let suspect = look(&page, now()).unwrap();
        assert_eq!(suspect.reason, Reason::BecameHtml);
        assert_eq!(suspect.evidence, "where there was a feed is a page called \"Welcome\", of 512 bytes");
        assert_eq!(reason(&Look { text: "Buy this domain", ..page }), Some(Reason::Parked));
        assert_eq!(reason(&Look { entries: 0, ..NOTHING }), Some(Reason::Empty));
        assert_eq!(reason(&Look { entries: 0, entries_before: 1, ..NOTHING }), None);
        assert_eq!(reason(&NOTHING), None);
    }
}
