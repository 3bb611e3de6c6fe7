//! What a link is called: its text, the heading it is in, or the one above a bare "read more".

use super::dates;
use super::outline::{Anchor, NodeId, Outline};

/// What a link is called, and how well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Title {
    rank: Rank,
    width: usize,
    /// The words.
    pub text: String,
}

/// Where a title was found; the better the greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    #[default]
    Nowhere,
    /// Said for those who do not see the image.
    Label,
    /// The heading before a link that says nothing itself.
    Above,
    Text,
    /// In what says to be a title.
    Titled,
    Heading,
}

/// So long a text is likely a title, and no name or category.
const LIKELY: usize = 20;

/// Longer texts are whole cards, with all that stands on them.
const LONGEST: usize = 300;

impl Title {
    /// What an anchor itself says.
    pub(super) fn of(anchor: &Anchor<'_>, outline: &Outline<'_>) -> Self {
        let heading = anchor.heading.and_then(|at| outline.headings.get(at));
        let (rank, text) = match heading.filter(|heading| !heading.text.is_empty()) {
            Some(heading) if heading.node > anchor.node || anchor.label => (Rank::Heading, &heading.text),
            // A heading around much more than the link is not the link's.
            Some(heading) if heading.text.len() <= 3 * anchor.text.len() + 20 => {
                (Rank::Heading, &anchor.text)
            }
            _ if anchor.label => (Rank::Label, &anchor.text),
            _ => match &anchor.inner {
                Some(inner) => (Rank::Titled, inner),
                None if outline.is_titled(anchor.node) => (Rank::Titled, &anchor.text),
                None => (Rank::Text, &anchor.text),
            },
        };
        if says_nothing(text) { Self::default() } else { Self::new(rank, text) }
    }

    /// A heading that stands beside the link.
    pub(super) fn beside(text: &str) -> Self {
        if says_nothing(text) { Self::default() } else { Self::new(Rank::Above, text) }
    }

    /// Whether it was found in a better place. Of two that are as good the first counts: the other may be the
    /// summary.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        self.rank > other.rank
    }

    /// Remembers that a link that has this title too has a text of such a width.
    pub(super) fn widen(&mut self, width: usize) {
        self.width = self.width.max(width);
    }

    fn new(rank: Rank, text: &str) -> Self {
        let text: String = text.chars().take(LONGEST).collect();
        Self { rank, width: width(&text), text }
    }

    /// In or around a heading.
    pub(super) fn is_heading(&self) -> bool {
        self.rank == Rank::Heading
    }

    /// It is long enough for a title, or in the place of one.
    pub(super) fn is_likely(&self) -> bool {
        self.width >= LIKELY || self.is_heading()
    }

    /// In something that says to be a title.
    pub(super) fn is_titled(&self) -> bool {
        self.rank == Rank::Titled
    }

    /// A heading's text, though that is not linked.
    pub(super) fn is_borrowed(&self) -> bool {
        self.rank == Rank::Above
    }

    /// Nothing says where the link leads.
    pub(super) fn is_empty(&self) -> bool {
        self.rank == Rank::Nowhere
    }

    /// Characters, as wide as Latin ones: a sign of Chinese says as much as half a word.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// It ends with how many there are: `Speakers (44)`.
    pub(super) fn is_counted(&self) -> bool {
        let inside = self.text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
        inside.is_some_and(|(_, count)| !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()))
            && self.width < 40
    }
}

fn width(text: &str) -> usize {
    // Kana, Han, Hangul.
    let wide = |c: char| matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    text.chars().map(|c| if wide(c) { 3 } else { 1 }).sum()
}

/// A card's text without the date before or behind it.
pub(super) fn without_date(text: &str) -> &str {
    /// No date has more words.
    const MOST: usize = 4;
    let blanks: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    let apart = |at: &usize| text.split_at(*at);
    let before = blanks.iter().take(MOST).map(apart).find(|(date, _)| dates::of_text(date).is_some());
    let behind = blanks.iter().rev().take(MOST).map(apart).find(|(_, date)| dates::of_text(date).is_some());
    match (before, behind) {
        (Some((_, rest)), _) => rest.trim_start_matches(|c: char| !c.is_alphanumeric()),
        (None, Some((rest, _))) => {
            rest.trim_end_matches(|c: char| c.is_whitespace() || "-–—|•·,".contains(c))
        }
        (None, None) => text,
    }
}

/// Headings lent to links that say no more than "read more". Each is lent to one address only.
#[derive(Debug, Default)]
pub(super) struct Borrowed {
    /// The next heading that was not passed yet.
    next: usize,
    /// Who has the last one that was.
    holder: Option<String>,
    /// The last anchor that needs no heading.
    titled: NodeId,
}

impl Borrowed {
    /// Passes an anchor that has a title of its own.
    pub(super) fn pass(&mut self, anchor: &Anchor<'_>) {
        self.titled = anchor.node;
    }

    /// The heading before an anchor, if it asks for more to be read there. To be called in page order.
    pub(super) fn take(&mut self, anchor: &Anchor<'_>, outline: &Outline<'_>, key: &str) -> Option<Title> {
        let of_comments = is_of_comments(&anchor.text);
        if !of_comments && !asks_for_more(&anchor.text) {
            return None;
        }
        while outline.headings.get(self.next).is_some_and(|heading| heading.node < anchor.node) {
            self.next += 1;
            self.holder = None;
        }
        let heading = outline.headings.get(self.next.checked_sub(1)?)?;
        let taken = self.holder.as_deref().is_some_and(|holder| holder != key);
        // Comments may stand on a page of their own; where the article has another link, that is to be followed.
        if heading.linked || taken || (of_comments && heading.node < self.titled) {
            return None;
        }
        self.holder = Some(key.to_owned());
        Some(Title::beside(&heading.text))
    }
}

/// How texts begin that ask to go on reading.
const MORE: [&str; 30] = [
    "continua a leggere",
    "continuar leyendo",
    "continue",
    "continue reading",
    "devamı",
    "discover more",
    "explore",
    "find out more",
    "full article",
    "full story",
    "keep reading",
    "learn more",
    "lees meer",
    "leer más",
    "leggi tutto",
    "leia mais",
    "lire l",
    "lire la suite",
    "lire plus",
    "mehr erfahren",
    "mehr lesen",
    "read article",
    "read full",
    "read more",
    "read now",
    "read on",
    "read post",
    "read story",
    "read the",
    "weiterlesen",
];

/// Texts that ask to go on reading only where they are all there is.
const MORE_ALONE: [&str; 9] =
    ["details", "go", "mehr", "more", "read", "see more", "view article", "view post", "читать далее"];

/// How short texts begin that say nothing of what they lead to.
const NOTHING: [&str; 16] = [
    "click here",
    "comment",
    "comments",
    "here",
    "leave a",
    "link",
    "load more",
    "no comments",
    "permalink",
    "see all",
    "share",
    "show all",
    "show more",
    "view all",
    "view comments",
    "watch now",
];

/// Longer texts are titles, whatever they begin with.
const SHORT: usize = 24;

fn asks_for_more(text: &str) -> bool {
    short(text).is_some_and(|lower| {
        let alone = lower.trim_matches(|c: char| !c.is_alphabetic());
        MORE_ALONE.contains(&alone) || begins_with(alone, &MORE)
    })
}

/// Whether a text counts what readers said, or asks for it.
fn is_of_comments(text: &str) -> bool {
    const BEGINNINGS: [&str; 5] = ["comment", "comments", "no comments", "permalink", "leave a"];
    short(text).is_some_and(|lower| begins_with(words(&lower), &BEGINNINGS))
}

/// Whether a text could stand on any link.
fn says_nothing(text: &str) -> bool {
    !text.chars().any(char::is_alphabetic)
        || asks_for_more(text)
        || dates::of_text(text).is_some()
        || short(text).is_some_and(|lower| begins_with(words(&lower), &NOTHING))
}

/// Whether a text begins with one of these, and not with a longer word.
fn begins_with(text: &str, beginnings: &[&str]) -> bool {
    let rest = |beginning: &&str| text.strip_prefix(*beginning);
    beginnings.iter().filter_map(rest).any(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// A short text in lower case.
fn short(text: &str) -> Option<String> {
    text.chars().nth(SHORT).is_none().then(|| text.to_lowercase())
}

/// A text from its first letter.
fn words(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphabetic())
}
