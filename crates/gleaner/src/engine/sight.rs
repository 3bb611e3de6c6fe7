//! What a poll's document looks like, beside what is read in it.

use gleaner_core::identity::Seen;
use gleaner_core::source::Kind;
use gleaner_core::suspect::{LONGEST_TEXT, Look, Reason, Rhythm, Sight, Wanted, ends_early, look};
use gleaner_core::time::Time;

use crate::read::page_summary::{PageSummary, summarize};
use crate::read::text::plain_text;
use crate::read::{Document, MissingEntries, Page};
use crate::store::Source;

/// So much of what a page says is turned into text, which is shorter.
const LONGEST_HTML: usize = 16 * LONGEST_TEXT;

/// What is known of a source before its document is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    kind: Kind,
    entries: usize,
    suspected: Option<Reason>,
    /// The document before it ended early.
    ended_early: bool,
}

/// What looks wrong with the first document of a source that is yet to be added.
pub fn first_suspicion(kind: Kind, page: &Page<'_>, document: &Document, now: Time) -> Option<String> {
    let before = Before { kind, entries: 0, suspected: None, ended_early: false };
    match before.look(page, Some(document), before.rhythm(document, now), now) {
        Sight::Wrong(suspect) => Some(suspect.evidence),
        Sight::Fine | Sight::Nothing => None,
    }
}

impl Before {
    pub(super) fn of(source: &Source, known: &[Seen]) -> Self {
        Self {
            kind: source.settings.kind,
            entries: known.iter().filter(|seen| seen.absent_since.is_none()).count(),
            suspected: source.suspect.as_ref().map(|suspected| suspected.reason),
            ended_early: source.memory.hints.ends_early,
        }
    }

    /// Looks at a document that was read, or at a page that could not be.
    pub(super) fn look(
        self,
        page: &Page<'_>,
        document: Option<&Document>,
        rhythm: Option<Rhythm>,
        now: Time,
    ) -> Sight {
        let look = |document: &Document, seen: &PageSummary| {
            look(&Look { rhythm, ..self.at(page, document, seen) }, now)
        };

        match document {
            Some(Document { missing_entries: Some(MissingEntries::Truncated), entries, .. }) => {
                ends_early(self.ended_early, entries.len(), page.body.len() as u64)
            }
            Some(document) => look(document, &self.page_summary(page, document)),
            None => match summarize(page).map(|seen| look(&Document::default(), &seen)) {
                Some(wrong @ Sight::Wrong(_)) => wrong,
                _ => Sight::Nothing,
            },
        }
    }

    fn at<'a>(self, page: &Page<'_>, document: &Document, seen: &'a PageSummary) -> Look<'a> {
        let wanted = if self.kind == Kind::Feed { Wanted::Feed } else { Wanted::Page };
        Look {
            wanted,
            html: wanted == Wanted::Page || document.entries.is_empty() && *seen != PageSummary::default(),
            bytes: page.body.len() as u64,
            entries: document.entries.len(),
            entries_before: self.entries,
            suspected: self.suspected,
            rhythm: None,
            title: &seen.title,
            text: &seen.text,
        }
    }

    /// What a document says of how often it brings something. Dates on an index page are all sorts of dates.
    pub(super) fn rhythm(self, document: &Document, now: Time) -> Option<Rhythm> {
        let dates = document.entries.iter().filter_map(|entry| entry.published_at);
        (self.kind == Kind::Feed).then(|| Rhythm::of(dates, now)).flatten()
    }

    /// What is looked at for signs. Of a page its own words, not the menu around them; of an index the whole page, where
    /// there are no links in it.
    fn page_summary(self, page: &Page<'_>, document: &Document) -> PageSummary {
        match self.kind {
            Kind::Feed | Kind::X => PageSummary::default(),
            Kind::Website => {
                let html = document
                    .entries
                    .first()
                    .and_then(|entry| entry.raw_content.as_deref())
                    .unwrap_or_default();
                let text = plain_text(&html[..html.floor_char_boundary(LONGEST_HTML)]);
                PageSummary { title: document.title.clone().unwrap_or_default(), text }
            }
            Kind::Watchlist => {
                let seen = summarize(page).unwrap_or_default();
                if document.entries.is_empty() { seen } else { PageSummary { text: String::new(), ..seen } }
            }
        }
    }
}
