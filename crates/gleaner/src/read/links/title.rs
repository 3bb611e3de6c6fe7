//! The title of a link: its text, its heading, or the heading above a bare "read more".

use super::dates;
use super::outline::{Anchor, NodeId, Outline};
use crate::truncate::truncate_chars;

/// A title, and where it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Title {
    rank: Rank,
    width: usize,
    pub text: String,
}

/// Where a title was found, worst first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    #[default]
    None,
    /// An accessibility label or image description.
    Label,
    /// The heading before a link without a meaningful text.
    HeadingAbove,
    Text,
    /// In an element marked as a title.
    Titled,
    Heading,
}

/// Texts of this width are probably titles, not names or categories.
const MIN_TITLE_WIDTH: usize = 20;

/// Longer texts are whole cards, and are truncated.
const MAX_TITLE_CHARS: usize = 300;

impl Title {
    /// The title of an anchor by itself.
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
        if is_generic(text) { Self::default() } else { Self::new(rank, text) }
    }

    /// The title from a heading beside the link.
    pub(super) fn from_heading(text: &str) -> Self {
        if is_generic(text) { Self::default() } else { Self::new(Rank::HeadingAbove, text) }
    }

    /// Whether it was found in a better place. Of equal ones the first counts, since the other may be the summary.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        self.rank > other.rank
    }

    /// Takes the greater width of another anchor with this title.
    pub(super) fn widen(&mut self, width: usize) {
        self.width = self.width.max(width);
    }

    fn new(rank: Rank, text: &str) -> Self {
        let text = truncate_chars(text, MAX_TITLE_CHARS);
        Self { rank, width: width(text), text: text.to_owned() }
    }

    /// In or around a heading.
    pub(super) fn is_heading(&self) -> bool {
        self.rank == Rank::Heading
    }

    /// Long enough for a title, or in the place of one.
    pub(super) fn is_likely(&self) -> bool {
        self.width >= MIN_TITLE_WIDTH || self.is_heading()
    }

    /// In an element marked as a title.
    pub(super) fn is_titled(&self) -> bool {
        self.rank == Rank::Titled
    }

    /// The text of a heading that is not linked.
    pub(super) fn is_from_heading_above(&self) -> bool {
        self.rank == Rank::HeadingAbove
    }

    /// Nothing says where the link leads.
    pub(super) fn is_empty(&self) -> bool {
        self.rank == Rank::None
    }

    /// The number of characters, where a Chinese, Japanese or Korean one counts as three Latin ones.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Whether it ends with a count: `Speakers (44)`.
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

/// Removes a date at the start or end of a card's text.
pub(super) fn without_date(text: &str) -> &str {
    /// Maximum words of a date.
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

/// Assigns headings to the "read more" links below them. Each heading is assigned to one URL only.
#[derive(Debug, Default)]
pub(super) struct HeadingLender {
    /// Index of the next heading.
    next: usize,
    /// The key of the URL that has the current heading.
    holder: Option<String>,
    /// The last anchor that needs no heading.
    titled: NodeId,
}

impl HeadingLender {
    /// Passes an anchor that has a title of its own.
    pub(super) fn pass(&mut self, anchor: &Anchor<'_>) {
        self.titled = anchor.node;
    }

    /// The heading before an anchor, if its text is a "read more". Must be called in page order.
    pub(super) fn take(&mut self, anchor: &Anchor<'_>, outline: &Outline<'_>, key: &str) -> Option<Title> {
        let of_comments = is_of_comments(&anchor.text);
        if !of_comments && !is_read_more(&anchor.text) {
            return None;
        }
        while outline.headings.get(self.next).is_some_and(|heading| heading.node < anchor.node) {
            self.next += 1;
            self.holder = None;
        }
        let heading = outline.headings.get(self.next.checked_sub(1)?)?;
        let taken = self.holder.as_deref().is_some_and(|holder| holder != key);
        // Comments may be on a separate page; if the article has another link, that one is followed.
        if heading.linked || taken || (of_comments && heading.node < self.titled) {
            return None;
        }
        self.holder = Some(key.to_owned());
        Some(Title::from_heading(&heading.text))
    }
}

/// How "read more" texts start.
const READ_MORE: [&str; 30] = [
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

/// Texts that mean "read more" only as a whole.
const READ_MORE_ALONE: [&str; 9] =
    ["details", "go", "mehr", "more", "read", "see more", "view article", "view post", "читать далее"];

/// How short texts start that say nothing about the target.
const GENERIC: [&str; 16] = [
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

/// Longer texts are titles, whatever they start with.
const MAX_SHORT_CHARS: usize = 24;

fn is_read_more(text: &str) -> bool {
    short(text).is_some_and(|lower| {
        let alone = lower.trim_matches(|c: char| !c.is_alphabetic());
        READ_MORE_ALONE.contains(&alone) || begins_with(alone, &READ_MORE)
    })
}

/// Whether a text counts comments, or asks for one.
fn is_of_comments(text: &str) -> bool {
    const BEGINNINGS: [&str; 5] = ["comment", "comments", "no comments", "permalink", "leave a"];
    short(text).is_some_and(|lower| begins_with(from_first_letter(&lower), &BEGINNINGS))
}

/// Whether a text could be on any link.
fn is_generic(text: &str) -> bool {
    !text.chars().any(char::is_alphabetic)
        || is_read_more(text)
        || dates::of_text(text).is_some()
        || short(text).is_some_and(|lower| begins_with(from_first_letter(&lower), &GENERIC))
}

/// Whether a text starts with one of these as whole words.
fn begins_with(text: &str, beginnings: &[&str]) -> bool {
    let rest = |beginning: &&str| text.strip_prefix(*beginning);
    beginnings.iter().filter_map(rest).any(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// A short text in lower case.
fn short(text: &str) -> Option<String> {
    text.chars().nth(MAX_SHORT_CHARS).is_none().then(|| text.to_lowercase())
}

/// A text from its first letter on.
fn from_first_letter(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphabetic())
}
