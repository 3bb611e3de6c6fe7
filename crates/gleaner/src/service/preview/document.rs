//! What a fetched document would become as a source: reader, entry rules and checks of a poll, without storing anything.

use gleaner_core::backfill::Backfill;
use gleaner_core::classify::Fault;
use gleaner_core::follow::{EntryRules, select_entries};
use gleaner_core::identity::{EntryVerdict, Seen};
use gleaner_core::post::Entry;
use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};
use url::Url;

use super::{Candidate, Fetched, PreviewEntry, ServiceError};
use crate::config::Config;
use crate::engine::{entry_rules, first_suspicion};
use crate::read::{self, Document, ReadOptions, discover};
use crate::store::{Source, SourceSettings};

/// Maximum number of a page's feeds that are offered.
const MAX_FEEDS: usize = 20;
/// A page with this many links that look like articles is an index.
const INDEX_LINKS: usize = 3;
/// Entries whose average text is shorter than this, in characters, are summaries.
const SUMMARY_CHARS: usize = 240;
/// A feed whose newest entry is older than this may have stopped.
const SILENT: Span = Span::from_days(90);

/// What is known before a document is read.
pub(super) struct DocumentPreview {
    now: Time,
    config: Config,
    is_first_poll: bool,
    created_at: Time,
    backfill: Backfill,
    known: Vec<Seen>,
}

impl DocumentPreview {
    /// For a source that is yet to be added.
    pub(super) fn of_new(config: &Config, backfill: Backfill, now: Time) -> Self {
        let (config, known) = (config.clone(), Vec::new());
        Self { now, config, is_first_poll: true, created_at: now, backfill, known }
    }

    /// For the next poll of a source.
    pub(super) fn of_source(config: &Config, source: &Source, known: Vec<Seen>, now: Time) -> Self {
        Self {
            now,
            config: config.clone(),
            is_first_poll: source.health.last_success_at.is_none(),
            created_at: source.created_at,
            backfill: source.settings.backfill,
            known,
        }
    }

    /// Everything that a page could be, the best first; feeds that it names are not read yet.
    pub(super) fn candidates(&self, fetched: &Fetched, url: &Url) -> Result<Vec<Candidate>, ServiceError> {
        let not_a_feed = match self.feed(fetched, url) {
            Ok(feed) => return Ok(vec![feed]),
            Err(fault) => fault,
        };
        let named = discover::feeds(&fetched.body, &fetched.url).into_iter().take(MAX_FEEDS);
        let (comments, mut candidates): (Vec<_>, Vec<_>) = named
            .map(|link| Candidate {
                is_comments: link.is_of_comments(),
                title: link.title,
                ..Candidate::unread(Kind::Feed, link.url.as_str())
            })
            .partition(|candidate| candidate.is_comments);
        let index = self.index(fetched, url.as_str(), &default_settings());
        candidates.extend(index.ok().filter(|index| index.entry_count >= INDEX_LINKS));
        let website = self.website(fetched, url.as_str(), &default_settings());
        let unreadable = website.as_ref().err().map(ToString::to_string);
        candidates.extend(website.ok());
        let note = || vec!["it carries readers' comments".to_owned()];
        candidates.extend(comments.into_iter().map(|one| Candidate { notes: note(), ..one }));
        if candidates.is_empty() {
            let why = format!("{not_a_feed}; as a page: {}", unreadable.unwrap_or_default());
            return Err(ServiceError::Unreadable { url: url.to_string(), why });
        }
        Ok(candidates)
    }

    /// What a source with these settings would find.
    pub(super) fn source(
        &self,
        fetched: &Fetched,
        settings: &SourceSettings,
    ) -> Result<Candidate, ServiceError> {
        let url = settings.url.as_str();
        let candidate = match settings.kind {
            Kind::Watchlist => self.index(fetched, url, settings),
            Kind::Website => self.website(fetched, url, settings),
            Kind::Feed | Kind::X => read::feed::read(&fetched.page(), &rules(settings))
                .map(|document| self.candidate(Kind::Feed, fetched, url, document, settings)),
        };
        candidate.map_err(|fault| ServiceError::Unreadable { url: url.to_owned(), why: fault.to_string() })
    }

    pub(super) fn feed(&self, fetched: &Fetched, url: &Url) -> Result<Candidate, Fault> {
        let settings = default_settings();
        let document = read::feed::read(&fetched.page(), &rules(&settings))?;
        let mut candidate = self.candidate(Kind::Feed, fetched, url.as_str(), document, &settings);
        let notes = self.feed_notes(&candidate.entries);
        candidate.notes.extend(notes);
        Ok(candidate)
    }

    fn feed_notes(&self, entries: &[PreviewEntry]) -> Vec<String> {
        if entries.is_empty() {
            return vec!["it is empty now; entries that appear later will be stored".to_owned()];
        }
        let mut notes = Vec::new();
        match entries.iter().filter_map(|entry| entry.published_at).max().map(|at| self.now.since(at)) {
            None => {
                notes.push("its entries have no dates; posts are ordered by when they are found".to_owned())
            }
            Some(age) if age > SILENT => {
                notes.push(format!("its newest entry is {age} old; it may no longer be updated"));
            }
            Some(_) => {}
        }
        let length: usize = entries.iter().map(|entry| entry.body.chars().count()).sum();
        if length / entries.len() < SUMMARY_CHARS {
            notes.push("its entries are short; with full content, each entry's own page is read".to_owned());
        }
        notes
    }

    fn index(&self, fetched: &Fetched, url: &str, settings: &SourceSettings) -> Result<Candidate, Fault> {
        let document = read::watchlist::read(&fetched.page(), &rules(settings))?;
        let title =
            read::website::read(&fetched.page(), &ReadOptions::default()).ok().and_then(|page| page.title);
        let mut candidate =
            self.candidate(Kind::Watchlist, fetched, url, Document { title, ..document }, settings);
        let limit = self.config.source.max_articles_per_poll as usize;
        if candidate.entry_count > limit {
            let rest = if self.is_first_poll {
                "marks the others as known"
            } else {
                "leaves the others to later polls"
            };
            candidate.notes.push(format!("one poll follows {limit} links and {rest}"));
        }
        Ok(candidate)
    }

    fn website(&self, fetched: &Fetched, url: &str, settings: &SourceSettings) -> Result<Candidate, Fault> {
        let document = read::website::read(&fetched.page(), &rules(settings))?;
        let length = |document: &Document| {
            document.entries.iter().map(|entry| read::body_text(entry).chars().count()).sum::<usize>()
        };
        let remaining = length(&document);
        let mut candidate = self.candidate(Kind::Website, fetched, url, document, settings);
        if settings.ignore_selector.is_some() {
            let all = length(&read::website::read(&fetched.page(), &ReadOptions::default())?);
            candidate.notes.push(match all.saturating_sub(remaining) {
                0 => "the ignore_selector removes nothing".to_owned(),
                removed => format!("the ignore_selector removes {removed} of {all} characters"),
            });
        }
        Ok(candidate)
    }

    fn candidate(
        &self,
        kind: Kind,
        fetched: &Fetched,
        url: &str,
        document: Document,
        settings: &SourceSettings,
    ) -> Candidate {
        let suspicion = first_suspicion(kind, &fetched.page(), &document, self.now);
        let settings = SourceSettings { kind, backfill: self.backfill, ..settings.clone() };
        let rules = entry_rules(&self.config, &settings, self.is_first_poll, self.created_at, self.now);
        let Document { title, missing_entries, entries, .. } = document;
        let (previewed, stored_count, copies) =
            judge_entries(entries, &self.known, &rules, missing_entries.is_none(), self.now);
        let mut notes: Vec<String> =
            suspicion.map(|evidence| format!("it looks broken: {evidence}")).into_iter().collect();
        match copies {
            0 => {}
            1 => notes.push("1 entry is a copy of another and is not stored".to_owned()),
            copies => notes.push(format!("{copies} entries are copies of others and are not stored")),
        }
        notes.extend(missing_entries.map(|missing| missing.to_string()));
        Candidate {
            title,
            entry_count: previewed.len(),
            entries: previewed,
            stored_count,
            is_read: true,
            notes,
            ..Candidate::unread(kind, url)
        }
    }
}

/// The settings of a source of which only the URL is given.
fn default_settings() -> SourceSettings {
    SourceSettings::feed(0, String::new())
}

fn rules(settings: &SourceSettings) -> ReadOptions<'_> {
    ReadOptions {
        article_selector: settings.article_selector.as_deref(),
        ignore_selector: settings.ignore_selector.as_deref(),
    }
}

/// The entries with their verdicts, how many are stored, and how many are copies of others.
fn judge_entries(
    entries: Vec<Entry>,
    known: &[Seen],
    rules: &EntryRules,
    is_complete: bool,
    now: Time,
) -> (Vec<PreviewEntry>, usize, u32) {
    let mut previewed: Vec<PreviewEntry> = entries.iter().map(without_verdict).collect();
    let selected = select_entries(entries, known, rules, is_complete, now, read::body_text).rest;
    for (entry, verdict) in previewed.iter_mut().zip(&selected.verdicts) {
        describe(*verdict).clone_into(&mut entry.verdict);
    }
    let stored = selected.verdicts.iter().filter(|verdict| **verdict == EntryVerdict::New).count();
    (previewed, stored, selected.skipped.duplicate)
}

const fn describe(verdict: EntryVerdict) -> &'static str {
    match verdict {
        EntryVerdict::New => "stored",
        EntryVerdict::Known => "known",
        EntryVerdict::Changed => "known: its post is revised",
        EntryVerdict::Duplicate => "skipped: a copy of another entry",
        EntryVerdict::TooOld => "skipped: older than max_article_age_days",
        EntryVerdict::BeforeSource => "skipped: published before the source is added",
        EntryVerdict::BeyondRecent => "skipped: not among the most recent",
        EntryVerdict::BeyondLimit => "skipped: past the links that one poll follows",
        EntryVerdict::Waiting => "waits for a later poll",
        EntryVerdict::Empty => "skipped: neither id, link, title nor text",
    }
}

fn without_verdict(entry: &Entry) -> PreviewEntry {
    PreviewEntry {
        title: entry.title.clone(),
        url: entry.url.clone(),
        published_at: entry.published_at,
        verdict: String::new(),
        body: read::body_text(entry),
    }
}
