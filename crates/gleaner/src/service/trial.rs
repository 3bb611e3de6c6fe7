//! Trying a URL: what would be stored and what skipped, and why, without storing anything.

use gleaner_core::backfill::Backfill;
use gleaner_core::identity::{Filter, sift};
use gleaner_core::link;
use gleaner_core::outcome::{ErrorKind, Failure};
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use url::Url;

use super::ServiceError;
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

/// Fetches a URL once and tells what gleaner makes of it. Where it is a page that names feeds, it tells them. It
/// needs no database.
pub async fn try_url(config: &Config, text: &str) -> Result<Trial, ServiceError> {
    look(config, &Fetcher::new(&config.fetch, &Outside::default())?, SystemClock.now(), text).await
}

/// The same by a client and a clock at hand.
pub(super) async fn look(
    config: &Config,
    fetcher: &Fetcher,
    now: Time,
    text: &str,
) -> Result<Trial, ServiceError> {
    if gleaner_core::x::timeline_url(text).is_ok() {
        let why = "a timeline on X is read with its owner's key only; `gleaner add` adds it";
        return Err(ServiceError::invalid("url", format!("{text}: {why}")));
    }
    let url = link::source_url(text)?;
    let request = Request { accept: read::feed::ACCEPT.to_owned(), ..Request::new(url.clone()) };
    let unreadable = |why: String| ServiceError::Unreadable { url: url.to_string(), why };
    let response = fetcher.fetch(&request, now).await.map_err(|failed| failed_to_fetch(&url, failed))?;
    let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
    match read::feed::read(&page, &Rules::default()) {
        Ok(document) => Ok(judge(config, document, response.url.to_string(), now)),
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

/// What the next poll of a source that is not new would do with a document.
fn judge(config: &Config, document: read::Document, url: String, now: Time) -> Trial {
    let filter = Filter::new(now, config.source.max_article_age, false, Backfill::None, now);
    let title = document.title.clone();
    let (entries, notes) = judged(document, &filter, now);
    Trial { url, title, entries, feeds: Vec::new(), notes }
}

/// The entries of a document, each with what would become of it, and what is to be said about them all.
pub(super) fn judged(document: read::Document, filter: &Filter, now: Time) -> (Vec<TrialEntry>, Vec<String>) {
    let mut entries = Vec::with_capacity(document.entries.len());
    for entry in &document.entries {
        // One by one, so that each tells its own reason; what is twice in the document is told below.
        let alone = sift(vec![entry.clone()], &[], filter, true, now, read::body_text);
        let verdict = match alone.skipped {
            skipped if skipped.too_old > 0 => "skipped: older than max_article_age_days",
            skipped if skipped.empty > 0 => "skipped: neither id, link, title nor text",
            _ => "stored",
        };
        entries.push(TrialEntry {
            title: entry.title.clone(),
            url: entry.url.clone(),
            published_at: entry.published_at,
            verdict: verdict.to_owned(),
            body: read::body_text(entry),
        });
    }
    let together = sift(document.entries, &[], filter, true, now, read::body_text);
    let mut notes = Vec::new();
    if together.skipped.duplicate > 0 {
        notes.push(format!(
            "{} entries repeat the text of another and are stored once",
            together.skipped.duplicate
        ));
    }
    notes.extend(document.lacks.map(|lack| lack.to_string()));
    (entries, notes)
}
