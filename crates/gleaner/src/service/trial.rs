//! Trying a URL: what would be stored and what skipped, and why, without storing anything.

use gleaner_core::backfill::{Backfill, keep_recent};
use gleaner_core::identity::{EntryVerdict, Filter, Seen, sift};
use gleaner_core::link;
use gleaner_core::outcome::{ErrorKind, Failure};
use gleaner_core::post::Entry;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Credential, ServiceError};
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::fetch::{Failed, Fetcher, Outside, Request};
use crate::read::discover::{self, FeedLink};
use crate::read::{self, Page, Rules};

/// What a URL turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Where it was found in the end.
    pub url: String,
    /// What it calls itself.
    pub title: Option<String>,
    /// Its entries, in its own order.
    pub entries: Vec<TrialEntry>,
    /// Where the URL is a page: the feeds that it names.
    pub feeds: Vec<TrialFeed>,
    /// What is wrong with it, though it can be read.
    pub notes: Vec<String>,
}

/// A feed that a page names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialFeed {
    /// Where it is.
    pub url: String,
    /// What the page calls it.
    pub title: Option<String>,
    /// It carries what readers say, not what the page's author does.
    pub of_comments: bool,
}

impl From<FeedLink> for TrialFeed {
    fn from(link: FeedLink) -> Self {
        Self { of_comments: link.is_of_comments(), url: link.url.into(), title: link.title }
    }
}

/// An entry, and what would become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialEntry {
    /// Its title.
    pub title: Option<String>,
    /// Where it is read.
    pub url: Option<String>,
    /// When it was published.
    pub published_at: Option<Time>,
    /// `stored`, or why it would be skipped.
    pub verdict: String,
    /// The text it would be stored with.
    pub body: String,
}

/// Fetches a URL once and says what the first poll of a source with this URL would store. Where it is a page that names feeds,
/// it lists them. It needs no database. `backfill`: whether the source is added with its old entries.
pub async fn try_url(config: &Config, text: &str, backfill: bool) -> Result<Trial, ServiceError> {
    let fetcher = Fetcher::new(&config.fetch, &Outside::default())?;
    look(config, &fetcher, SystemClock.now(), text, backfill, None).await
}

/// The same by a client and a clock at hand.
pub(super) async fn look(
    config: &Config,
    fetcher: &Fetcher,
    now: Time,
    text: &str,
    backfill: bool,
    credential: Option<Credential>,
) -> Result<Trial, ServiceError> {
    if gleaner_core::x::timeline_url(text).is_ok() {
        let why = "a timeline on X is read with its owner's key only; `gleaner add` adds it";
        return Err(ServiceError::invalid("url", format!("{text}: {why}")));
    }
    let url = link::source_url(text)?;
    let accept = read::feed::ACCEPT.to_owned();
    let request = Request { accept, credential, ..Request::new(url.clone()) };
    let unreadable = |why: String| ServiceError::Unreadable { url: url.to_string(), why };
    let response = fetcher.fetch(&request, now).await.map_err(|failed| failed_to_fetch(&url, failed))?;
    let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
    match read::feed::read(&page, &Rules::default()) {
        Ok(document) => {
            let title = document.title.clone();
            let backfill = if backfill { Backfill::All } else { Backfill::None };
            let filter = Filter::new(now, config.source.max_article_age, true, backfill, now)
                .with_duplicates(config.source.duplicates);
            let Preview { entries, notes, .. } = preview(document, &[], &filter, None, now);
            Ok(Trial { url: response.url.to_string(), title, entries, feeds: Vec::new(), notes })
        }
        Err(fault) => {
            // A feed is for programs; a page may be for people only.
            let refused = fetcher.allowed(&response.url, now).await.err().map(|failure| failure.message);
            let feeds = discover::feeds(&response.body, &response.url);
            if feeds.is_empty() {
                let but = refused.map(|why| format!("; as a page it is not to be polled: {why}"));
                return Err(unreadable(format!("{fault}, and it names no feed{}", but.unwrap_or_default())));
            }
            let feeds = feeds.into_iter().map(TrialFeed::from).collect();
            let note = refused.map(|why| format!("as a page it is not to be polled: {why}"));
            let (title, entries, notes) = (None, Vec::new(), note.into_iter().collect());
            Ok(Trial { url: response.url.to_string(), title, entries, feeds, notes })
        }
    }
}

/// Where our own guard refused, trying again is no use.
pub(super) fn failed_to_fetch(url: &Url, failed: Failed) -> ServiceError {
    let (failure, url) = (Failure::from(failed), url.to_string());
    match failure.kind {
        ErrorKind::Blocked => ServiceError::Unreadable { url, why: failure.message },
        _ => ServiceError::Unreachable { url, why: failure.message },
    }
}

/// What a poll would do with the entries of a document.
pub(super) struct Preview {
    /// All entries, in the document's order.
    pub(super) entries: Vec<TrialEntry>,
    /// How many become posts.
    pub(super) stored: usize,
    /// What is to be said about them all.
    pub(super) notes: Vec<String>,
}

/// What becomes of the entries of a document, by the same rules as in a poll. `known` is what is remembered of the source;
/// `followed` is how many links of an index are followed.
pub(super) fn preview(
    document: read::Document,
    known: &[Seen],
    filter: &Filter,
    followed: Option<usize>,
    now: Time,
) -> Preview {
    let mut entries: Vec<TrialEntry> = document.entries.iter().map(unjudged).collect();
    let sifted = sift(document.entries, known, filter, document.lacks.is_none(), now, read::body_text);
    let sifted = keep_recent(sifted, filter);
    let mut stored = 0;
    for (entry, verdict) in entries.iter_mut().zip(sifted.verdicts) {
        let verdict = match verdict {
            EntryVerdict::New if followed.is_some_and(|cap| stored >= cap) => {
                "skipped: past the links that one poll follows"
            }
            EntryVerdict::New => {
                stored += 1;
                STORED
            }
            EntryVerdict::Known => "known",
            EntryVerdict::Changed => "known: its post is revised",
            EntryVerdict::Duplicate => "skipped: a copy of another entry",
            EntryVerdict::TooOld => "skipped: older than max_article_age_days",
            EntryVerdict::BeforeSource => "skipped: published before the source is added",
            EntryVerdict::BeyondRecent => "skipped: not among the most recent",
            EntryVerdict::Empty => "skipped: neither id, link, title nor text",
        };
        verdict.clone_into(&mut entry.verdict);
    }
    let mut notes = Vec::new();
    match sifted.skipped.duplicate {
        0 => {}
        1 => notes.push("1 entry is a copy of another and is not stored".to_owned()),
        copies => notes.push(format!("{copies} entries are copies of others and are not stored")),
    }
    notes.extend(document.lacks.map(|lack| lack.to_string()));
    Preview { entries, stored, notes }
}

/// The verdict of an entry that becomes a post.
const STORED: &str = "stored";

fn unjudged(entry: &Entry) -> TrialEntry {
    TrialEntry {
        title: entry.title.clone(),
        url: entry.url.clone(),
        published_at: entry.published_at,
        verdict: String::new(),
        body: read::body_text(entry),
    }
}
