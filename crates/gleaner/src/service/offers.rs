//! What a page that was fetched could be as a source, and what would be found in it. No fetching, no storing.

use bytes::Bytes;
use gleaner_core::backfill::Backfill;
use gleaner_core::classify::Fault;
use gleaner_core::identity::{Filter, Seen};
use gleaner_core::source::{Duplicates, Kind};
use gleaner_core::time::{Span, Time};
use url::Url;

use super::trial::{Preview, preview};
use super::{Offer, ServiceError, TrialEntry};
use crate::config::Config;
use crate::read::{self, Document, Page, ReadOptions, discover};
use crate::store::{Source, SourceSettings};

/// So many entries are shown.
const SHOWN: usize = 20;
/// So many characters of each.
const SHOWN_TEXT: usize = 2000;
/// So many feeds of one page are offered.
const MOST_FEEDS: usize = 20;
/// So many links that look like articles make an index of a page.
const INDEX: usize = 3;
/// Texts shorter than this on average are summaries.
const SUMMARY: usize = 240;

/// A page as it was fetched.
pub(super) struct Fetched {
    pub(super) url: Url,
    pub(super) content_type: Vec<u8>,
    pub(super) body: Bytes,
}

impl Fetched {
    fn page(&self) -> Page<'_> {
        Page { url: &self.url, content_type: &self.content_type, body: &self.body }
    }
}

/// How what is read is judged.
pub(super) struct Reading {
    now: Time,
    filter: Filter,
    /// What is remembered of the source's entries.
    known: Vec<Seen>,
    articles_per_poll: u32,
}

impl Reading {
    /// For a source that is yet to be added. Who adds one wants to see something: its first poll stores what is old, too.
    pub(super) fn new(config: &Config, now: Time) -> Self {
        let filter = Filter::new(now, config.source.max_article_age, true, Backfill::All, now);
        let filter = filter.with_duplicates(config.source.duplicates);
        Self { now, filter, known: Vec::new(), articles_per_poll: config.source.max_articles_per_poll }
    }

    /// For the next poll of a source, which remembers these entries.
    pub(super) fn of_source(config: &Config, source: &Source, known: Vec<Seen>, now: Time) -> Self {
        let (settings, first_poll) = (&source.settings, source.health.last_success_at.is_none());
        let max_age = config.source.max_article_age;
        let filter = Filter::new(now, max_age, first_poll, settings.backfill, source.created_at)
            .with_duplicates(config.duplicates(settings.kind, settings.duplicates));
        Self { filter, known, ..Self::new(config, now) }
    }

    /// All that a page could be, the best first; feeds that it names are not read yet.
    pub(super) fn all(&self, fetched: &Fetched, asked: &Url) -> Result<Vec<Offer>, ServiceError> {
        let not_a_feed = match self.feed(fetched, asked) {
            Ok(feed) => return Ok(vec![feed]),
            Err(fault) => fault,
        };
        let named = discover::feeds(&fetched.body, &fetched.url).into_iter().take(MOST_FEEDS);
        let (comments, articles): (Vec<_>, Vec<_>) = named.partition(|link| link.is_of_comments());
        let offer = |link: discover::FeedLink| Offer {
            title: link.title,
            ..Offer::unread(Kind::Feed, link.url.as_str())
        };
        let mut offers: Vec<Offer> = articles.into_iter().map(offer).collect();
        let rules = ReadOptions::default();
        let index = self.index(fetched, asked.as_str(), &rules).ok().filter(|index| index.total >= INDEX);
        let website = self.website(fetched, asked.as_str(), &rules);
        let unreadable = website.as_ref().err().map(ToString::to_string);
        offers.extend(index.into_iter().chain(website.ok()));
        offers.extend(
            comments
                .into_iter()
                .map(|link| Offer { notes: vec!["it carries what readers say".to_owned()], ..offer(link) }),
        );
        if offers.is_empty() {
            let why = format!("{not_a_feed}; as a page: {}", unreadable.unwrap_or_default());
            return Err(ServiceError::Unreadable { url: asked.to_string(), why });
        }
        Ok(offers)
    }

    /// What a source with these settings would find.
    pub(super) fn one(&self, fetched: &Fetched, settings: &SourceSettings) -> Result<Offer, ServiceError> {
        let rules = ReadOptions {
            article_selector: settings.article_selector.as_deref(),
            ignore_selector: settings.ignore_selector.as_deref(),
        };
        let url = settings.url.as_str();
        let offer = match settings.kind {
            Kind::Watchlist => self.index(fetched, url, &rules),
            Kind::Website => self.website(fetched, url, &rules),
            Kind::Feed | Kind::X => read::feed::read(&fetched.page(), &rules)
                .map(|document| self.offer(Kind::Feed, url, document)),
        };
        offer.map_err(|fault| ServiceError::Unreadable { url: url.to_owned(), why: fault.to_string() })
    }

    /// The page as a feed.
    pub(super) fn feed(&self, fetched: &Fetched, asked: &Url) -> Result<Offer, Fault> {
        let document = read::feed::read(&fetched.page(), &ReadOptions::default())?;
        let mut offer = self.offer(Kind::Feed, asked.as_str(), document);
        let dates = || offer.entries.iter().filter_map(|entry| entry.published_at);
        let mut notes = Vec::new();
        if offer.total == 0 {
            notes.push("it is empty now; what comes will be stored".to_owned());
        } else if dates().next().is_none() {
            notes.push("its posts have no dates; they are ordered by when they are found".to_owned());
        }
        let newest = dates().max().map(|at| self.now.since(at));
        if let Some(age) = newest.filter(|age| *age > Span::from_days(90)) {
            notes.push(format!("its newest post is {age} old; it may have fallen silent"));
        }
        let length: usize = offer.entries.iter().map(|entry| entry.body.chars().count()).sum();
        if !offer.entries.is_empty() && length / offer.entries.len() < SUMMARY {
            notes.push(
                "its posts are short; with full content, each post's own page is read instead".to_owned(),
            );
        }
        offer.notes.extend(notes);
        Ok(offer)
    }

    /// The page as an index.
    fn index(&self, fetched: &Fetched, url: &str, rules: &ReadOptions<'_>) -> Result<Offer, Fault> {
        let document = read::watchlist::read(&fetched.page(), rules)?;
        let title =
            read::website::read(&fetched.page(), &ReadOptions::default()).ok().and_then(|page| page.title);
        let mut offer = self.offer(Kind::Watchlist, url, Document { title, ..document });
        let cap = self.articles_per_poll as usize;
        if offer.total > cap {
            offer
                .notes
                .push(format!("the first poll reads the first {cap} links, and takes the rest as known"));
        }
        Ok(offer)
    }

    /// The page as one whose text changes.
    fn website(&self, fetched: &Fetched, url: &str, rules: &ReadOptions<'_>) -> Result<Offer, Fault> {
        let document = read::website::read(&fetched.page(), rules)?;
        let length = |document: &Document| {
            document.entries.iter().map(|entry| read::body_text(entry).chars().count()).sum::<usize>()
        };
        let left = length(&document);
        let mut offer = self.offer(Kind::Website, url, document);
        if rules.ignore_selector.is_some() {
            let whole = read::website::read(&fetched.page(), &ReadOptions::default())?;
            let all = length(&whole);
            offer.notes.push(match all.saturating_sub(left) {
                0 => "the ignore_selector leaves nothing out".to_owned(),
                gone => format!("the ignore_selector leaves out {gone} of {all} characters"),
            });
        }
        Ok(offer)
    }

    fn offer(&self, kind: Kind, url: &str, document: Document) -> Offer {
        let (title, total) = (document.title.clone(), document.entries.len());
        let filter = match kind {
            Kind::Website => self.filter.with_duplicates(Duplicates::Content),
            Kind::Feed | Kind::Watchlist | Kind::X => self.filter,
        };
        let followed = (kind == Kind::Watchlist).then_some(self.articles_per_poll as usize);
        let Preview { mut entries, stored, notes } =
            preview(document, &self.known, &filter, followed, self.now);
        entries.truncate(SHOWN);
        entries.iter_mut().for_each(shorten);
        Offer { kind, url: url.to_owned(), title, entries, total, stored, is_read: true, notes }
    }
}

fn shorten(entry: &mut TrialEntry) {
    if let Some((end, _)) = entry.body.char_indices().nth(SHOWN_TEXT) {
        entry.body.truncate(end);
        entry.body.push('…');
    }
}
