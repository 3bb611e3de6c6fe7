//! Silent failures: the server says 200, and yet something is wrong.
//!
//! A document that was read, or could not be, is looked at for signs: nothing new far beyond the feed's own rhythm,
//! suddenly empty, a wall that asks to log in or to prove that one is human, a parked domain, a page where there
//! was a feed. What is found is shown with its evidence, and goes when a later look finds nothing.
//!
//! Absent on purpose: consequences. A suspect is polled as ever and nothing is held against it; a person may
//! look. Absent too: fetching. The caller hands over the beginning of what it read anyway. And counting: the same
//! suspicion, however often it is found, stays as it was when it began.

use serde::{Deserialize, Serialize};

use crate::identity::believable;
use crate::time::{Span, Time};

/// So much of a page's text is looked at.
pub const LONGEST_TEXT: usize = 4000;
/// A page with more text than this is about something; a sign in it may be a quotation.
const SHORT_TEXT: usize = 1500;
/// Shorter silences are never suspect.
const SHORTEST_SILENCE: Span = Span::from_days(30);
/// A silence is out of habit where it is so many times the longest before it.
const SILENCES: f64 = 4.0;
/// So many dated entries tell a rhythm.
const RHYTHM_ENTRIES: usize = 5;
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
    /// What the source is suspected of already.
    pub suspected: Option<Reason>,
    /// How often it used to bring something.
    pub rhythm: Option<Rhythm>,
    /// The page's title, where it is one.
    pub title: &'a str,
    /// The beginning of the page's text, where it is one; at most [`LONGEST_TEXT`] of it is looked at.
    pub text: &'a str,
}

/// How often a feed brings something, by the dates of its entries. Small enough to be remembered, so that a feed which
/// only ever answers that nothing changed can be found to be silent, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rhythm {
    /// The latest entry.
    pub latest: Time,
    /// The longest time between two entries.
    pub longest: Span,
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
    /// The latest article pages all failed.
    PagesFailing,
    /// Documents that end early, one after another.
    EndsEarly,
}

/// Something seems to be wrong, though no poll says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    /// What.
    pub reason: Reason,
    /// What speaks for it, for people.
    pub evidence: String,
}

/// What a source is suspected of, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspected {
    /// What.
    pub reason: Reason,
    /// What spoke for it when it was first seen, for people.
    pub evidence: String,
    /// Since when.
    pub since: Time,
}

/// What a poll's look came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Sight {
    /// There was nothing to look at: what was suspected still is.
    #[default]
    Nothing,
    /// Nothing seems to be wrong.
    Fine,
    /// Something does.
    Wrong(Suspect),
}

/// A suspicion that begins, changes its reason, or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// From now on it is suspected of this.
    Suspected(Suspected),
    /// It is suspected of nothing any more.
    Cleared,
}

/// How many of the latest article pages must all have failed for their source to be suspect.
pub const FAILED_PAGES: u32 = 10;

/// The latest article pages of a source: how many in a row could not be fetched, and the suspicion that follows from
/// it. It is kept apart from what documents show, so that an index that can be read does not end it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageRun {
    /// Pages in a row whose first fetch failed.
    pub failed: u32,
    /// The suspicion, once there are [`FAILED_PAGES`] of them.
    pub suspected: Option<Suspected>,
}

impl PageRun {
    /// Counts a page that was fetched: it ends the run and the suspicion.
    pub fn fetched(&mut self) -> Option<Change> {
        self.failed = 0;
        self.suspected.take().map(|_| Change::Cleared)
    }

    /// Counts the first failure of a page; later failures of the same page are not counted.
    pub fn failed(&mut self, url: &str, error: &str, now: Time) -> Option<Change> {
        self.failed = self.failed.saturating_add(1);
        if self.failed < FAILED_PAGES || self.suspected.is_some() {
            return None;
        }
        let evidence = format!(
            "none of the latest {} article pages could be fetched; the last one, {url}: {error}",
            self.failed
        );
        let suspected = Suspected { reason: Reason::PagesFailing, evidence, since: now };
        self.suspected = Some(suspected.clone());
        Some(Change::Suspected(suspected))
    }
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
            "making sure you're not a bot",
            "pardon our interruption",
            "vercel security checkpoint",
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
            Self::EndsEarly => "ends_early",
            Self::PagesFailing => "pages_failing",
        }
    }

    /// What ends the suspicion, for people.
    pub const fn ends_by(self) -> &'static str {
        match self {
            Self::PagesFailing => {
                "One article page that can be fetched ends the suspicion; nothing is held against the source."
            }
            _ => {
                "A document in which nothing seems to be wrong ends the suspicion; nothing is held against it."
            }
        }
    }

    /// What a person can do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Frozen => {
                "Its publisher may have stopped, or publish elsewhere: look at its site, and correct its URL or let it be."
            }
            Self::Empty => {
                "Its publisher may have moved or begun anew: look at its site, and correct its URL or let it be."
            }
            Self::LoginWall => {
                "Its server asks to log in: give it a credential, or look for an address that is for everybody."
            }
            Self::BotWall => {
                "A gatekeeper takes us for a robot: set fetch.contact, ask its operator to let feed readers in, or look \
                 for another address."
            }
            Self::Parked => {
                "The domain seems to have changed hands: look for where its publisher is now and correct its URL, or \
                 delete it."
            }
            Self::BecameHtml => "Look on its site for the feed's new address, and correct its URL.",
            Self::PagesFailing => {
                "Its index or feed can be read, but the pages it links to cannot: open one of them, correct the \
                 selector or the credentials, or set fetch.contact; then retry the pages that were given up."
            }
            Self::EndsEarly => {
                "Entries at the end of its document may be missing: tell its publisher, or look for another address."
            }
        }
    }
}

impl Rhythm {
    /// The rhythm that dates tell, in any order; too few tell none. Those too far ahead are not believed.
    pub fn of(dates: impl Iterator<Item = Time>, now: Time) -> Option<Self> {
        let mut dates: Vec<Time> = dates.filter_map(|date| believable(Some(date), now)).collect();
        if dates.len() < RHYTHM_ENTRIES {
            return None;
        }
        dates.sort_unstable();
        let longest = dates.windows(2).map(|pair| pair[1].since(pair[0])).max()?;
        Some(Self { latest: *dates.last()?, longest })
    }
}

impl Sight {
    /// What changes for a source that was suspected of that; none: nothing does. The same reason again changes nothing,
    /// so that it is neither written nor told anew with each poll.
    pub fn change(self, was: Option<&Suspected>, now: Time) -> Option<Change> {
        match (self, was) {
            (Self::Nothing, _) | (Self::Fine, None) => None,
            (Self::Fine, Some(_)) => Some(Change::Cleared),
            (Self::Wrong(Suspect { reason, .. }), Some(was)) if was.reason == reason => None,
            (Self::Wrong(Suspect { reason, evidence }), _) => {
                Some(Change::Suspected(Suspected { reason, evidence, since: now }))
            }
        }
    }
}

impl Change {
    /// The name in the outbox, the API and webhooks.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Suspected(_) => "source.suspect",
            Self::Cleared => "source.cleared",
        }
    }

    /// What it is suspected of from now on.
    pub const fn suspected(&self) -> Option<&Suspected> {
        match self {
            Self::Suspected(suspected) => Some(suspected),
            Self::Cleared => None,
        }
    }
}

/// Whether something seems to be wrong with what a poll saw.
pub fn look(seen: &Look<'_>, now: Time) -> Sight {
    let signs = || signs(seen).filter(|_| seen.html && (seen.wanted == Wanted::Page || seen.entries == 0));
    let found = signs().or_else(|| became_html(seen)).or_else(|| empty(seen));
    found.or_else(|| frozen(seen.rhythm?, now)).map_or(Sight::Fine, Sight::Wrong)
}

/// The same where a server says that nothing changed, or sends what it sent before: nothing but time has passed.
pub fn look_again(was: Option<&Suspected>, rhythm: Option<Rhythm>, now: Time) -> Sight {
    match (was, rhythm) {
        (Some(Suspected { reason: Reason::Frozen, .. }) | None, Some(rhythm)) => {
            frozen(rhythm, now).map_or(Sight::Fine, Sight::Wrong)
        }
        _ => Sight::Nothing,
    }
}

/// Where a page says one of the signs of this reason, and which: `title` or `text`.
pub(crate) fn sign_of(reason: Reason, title: &str, text: &str) -> Option<(&'static str, &'static str)> {
    let (_, words) = SIGNS.iter().find(|(of, _)| *of == reason)?;
    [("title", title), ("text", text)].into_iter().find_map(|(place, said)| {
        let said = said.chars().take(LONGEST_TEXT).collect::<String>().to_lowercase();
        words.iter().find(|word| said.contains(**word)).map(|word| (place, *word))
    })
}

/// The same where a document ends early: what is missing may come with the next one, unless that ends early, too.
pub fn ends_early(ended_early_before: bool, entries: usize, bytes: u64) -> Sight {
    if !ended_early_before {
        return Sight::Nothing;
    }
    let evidence =
        format!("two documents in a row end early; the latest after {entries} entries, in {bytes} bytes");
    Sight::Wrong(Suspect { reason: Reason::EndsEarly, evidence })
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

/// A feed that never was one is a mistake in its URL, and fails as such.
fn became_html(seen: &Look<'_>) -> Option<Suspect> {
    if seen.wanted != Wanted::Feed || !seen.html || seen.entries > 0 || seen.entries_before == 0 {
        return None;
    }
    let title: String = seen.title.trim().chars().filter(|c| !c.is_control()).take(80).collect();
    let title = if title.is_empty() { "without a title".to_owned() } else { format!("called \"{title}\"") };
    let evidence = format!("where there was a feed is a page {title}, of {} bytes", seen.bytes);
    Some(Suspect { reason: Reason::BecameHtml, evidence })
}

/// Once it is empty, there were none before either.
fn empty(seen: &Look<'_>) -> Option<Suspect> {
    let had = seen.entries_before >= USUAL_ENTRIES || seen.suspected == Some(Reason::Empty);
    (seen.entries == 0 && had).then(|| Suspect {
        reason: Reason::Empty,
        evidence: format!("no entries, in {} bytes; there were {} before", seen.bytes, seen.entries_before),
    })
}

/// A feed shows its own rhythm: the gaps between its entries.
fn frozen(rhythm: Rhythm, now: Time) -> Option<Suspect> {
    let Rhythm { latest, longest } = rhythm;
    let usual = longest.scale(SILENCES).max(SHORTEST_SILENCE);
    (now.since(latest) > usual).then(|| {
        let date = latest.to_string();
        let date = date.split('T').next().unwrap_or_default();
        let evidence = format!("nothing new since {date}; before, never more than {longest} between entries");
        Suspect { reason: Reason::Frozen, evidence }
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
        suspected: None,
        rhythm: None,
        title: "",
        text: "",
    };

    fn suspect(seen: &Look<'_>) -> Option<Suspect> {
        match look(seen, now()) {
            Sight::Wrong(suspect) => Some(suspect),
            _ => None,
        }
    }

    fn reason(seen: &Look<'_>) -> Option<Reason> {
        suspect(seen).map(|suspect| suspect.reason)
    }

    /// Entries every so many days, the latest so many days ago.
    fn every(days: u64, last: u64) -> Vec<Time> {
        (0..10).map(|n| now() - Span::from_days(last + days * n)).collect()
    }

    fn rhythm(dates: &[Time]) -> Option<Rhythm> {
        Rhythm::of(dates.iter().copied(), now())
    }

    #[test]
    fn a_feed_is_frozen_by_its_own_habit_only() {
        let check = |dates: &[Time]| reason(&Look { rhythm: rhythm(dates), ..NOTHING });
        assert_eq!(check(&every(1, 31)), Some(Reason::Frozen));
        assert_eq!(check(&every(1, 29)), None, "a month's holiday");
        assert_eq!(check(&every(30, 100)), None, "it was never quick");
        assert_eq!(check(&every(30, 130)), Some(Reason::Frozen));
        assert_eq!(check(&every(1, 300)[..4]), None, "four entries are no habit");
        let ahead = [every(1, 300), vec![now() + Span::from_days(3)]].concat();
        assert_eq!(check(&ahead), Some(Reason::Frozen), "a date that far ahead is a mistake");
        let suspect = suspect(&Look { rhythm: rhythm(&every(1, 45)), ..NOTHING }).unwrap();
        assert_eq!(
            suspect.evidence,
            "nothing new since 2026-10-01; before, never more than 1 day between entries"
        );
    }

    #[test]
    fn a_feed_that_only_says_that_nothing_changed_is_found_to_be_frozen() {
        let rhythm = rhythm(&every(1, 20));
        let later = now() + Span::from_days(11);
        assert_eq!(look_again(None, rhythm, now()), Sight::Fine);
        let Sight::Wrong(suspect) = look_again(None, rhythm, later) else { panic!("it is frozen") };
        assert_eq!(suspect.reason, Reason::Frozen);
        let Some(Change::Suspected(was)) = Sight::Wrong(suspect.clone()).change(None, later) else {
            panic!("that is new")
        };
        assert_eq!((was.reason, was.since), (Reason::Frozen, later));
        assert_eq!(look_again(Some(&was), rhythm, later).change(Some(&was), later), None, "told once");
        let wall = Suspected { reason: Reason::BotWall, ..was };
        assert_eq!(look_again(Some(&wall), rhythm, later), Sight::Nothing, "the same page is the same wall");
        assert_eq!(look_again(None, None, later), Sight::Nothing);
    }

    #[test]
    fn a_suspicion_begins_once_and_ends_once() {
        let wrong = |reason| Sight::Wrong(Suspect { reason, evidence: "so it seems".into() });
        let begun = wrong(Reason::Empty).change(None, now()).unwrap();
        assert_eq!(begun.name(), "source.suspect");
        let was = begun.suspected().cloned().unwrap();
        assert_eq!(wrong(Reason::Empty).change(Some(&was), now()), None);
        assert_eq!(Sight::Nothing.change(Some(&was), now()), None, "a poll that fails says nothing");
        assert_eq!(wrong(Reason::Parked).change(Some(&was), now()).unwrap().name(), "source.suspect");
        let ended = Sight::Fine.change(Some(&was), now()).unwrap();
        assert_eq!((ended.name(), ended.suspected()), ("source.cleared", None));
        assert_eq!(Sight::Fine.change(None, now()), None);
    }

    #[test]
    fn ten_failed_pages_in_a_row_are_suspect_until_one_is_fetched() {
        let mut run = PageRun::default();
        let failed = |run: &mut PageRun| run.failed("https://a.example/1", "403 Forbidden", now());
        (0..9).for_each(|_| assert_eq!(failed(&mut run), None));
        assert_eq!(run.fetched(), None, "it was not suspect yet");
        (0..9).for_each(|_| assert_eq!(failed(&mut run), None, "the run began anew"));
        let Some(Change::Suspected(begun)) = failed(&mut run) else { panic!("the tenth") };
        assert_eq!(begun.reason, Reason::PagesFailing);
        assert_eq!(
            begun.evidence,
            "none of the latest 10 article pages could be fetched; the last one, https://a.example/1: 403 Forbidden"
        );
        assert_eq!(failed(&mut run), None, "reported once");
        assert_eq!((run.failed, run.suspected.as_ref()), (11, Some(&begun)));
        assert_eq!(run.fetched(), Some(Change::Cleared));
        assert_eq!(run, PageRun::default());
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
        let suspect = suspect(&page).unwrap();
        assert_eq!(suspect.reason, Reason::BecameHtml);
        assert_eq!(suspect.evidence, "where there was a feed is a page called \"Welcome\", of 512 bytes");
        assert_eq!(reason(&Look { text: "Buy this domain", ..page }), Some(Reason::Parked));
        assert_eq!(reason(&Look { entries: 0, ..NOTHING }), Some(Reason::Empty));
        assert_eq!(reason(&Look { entries: 0, entries_before: 1, ..NOTHING }), None);
        let still = Look { entries: 0, entries_before: 0, ..NOTHING };
        assert_eq!(reason(&Look { suspected: Some(Reason::Empty), ..still }), Some(Reason::Empty));
        assert_eq!(reason(&Look { html: true, ..still }), None, "it never was a feed");
        assert_eq!(reason(&NOTHING), None);
    }
}
