//! One try at a timeline on X: its account's id once, then what was posted since the last time, page by page.
//!
//! The cursor never passes a post that was not read. Where pages are left (a later one failed, or there are too many
//! for one poll), what was read is kept, and the next poll goes on below it before anything newer is asked for: X
//! counts, and charges, every post that it shows. On the first poll the newest page is enough. Absent on purpose:
//! asking again for the account's id, which outlives a change of its name.

use gleaner_core::classify::Fault;
use gleaner_core::follow::select_entries;
use gleaner_core::outcome::{Failure, Outcome};
use gleaner_core::post::Entry;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use url::Url;

use super::Inner;
use super::attempt::{Attempt, Halt, known, off_the_threads, rules_of};
use super::credential;
use crate::config::secret::Secret;
use crate::fetch::{Credential, Request, Response};
use crate::read::x::{self, Timeline, XError};
use crate::read::{self, MissingEntries};
use crate::store::{Memory, Source};

/// How many pages of a hundred posts one poll reads at most.
const MAX_PAGES: u32 = 10;

/// Where a timeline was read up to, as kept in [`Memory::cursor`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Cursor {
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// Everything up to this post is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_id: Option<String>,
    /// What lies between is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
}

/// Posts that are still to be read: below this one, down to `since_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Gap {
    until_id: String,
    /// The newest post above the gap: with the gap closed everything up to it is read.
    newest_id: String,
}

/// Whom to ask, and as whom.
struct Api<'a> {
    inner: &'a Inner,
    handle: &'a str,
    key: Secret,
    now: Time,
}

/// What a poll has read.
#[derive(Default)]
struct Haul {
    entries: Vec<Entry>,
    newest: Option<String>,
    oldest: Option<String>,
    pages: u32,
    bytes: u64,
    /// More is there, and perhaps why it was not read.
    left: bool,
    stopped: Option<Failure>,
}

/// Asks X once, and reads what it answers.
pub(super) async fn fetch_and_read(inner: &Inner, source: &Source) -> Result<Attempt, Halt> {
    let now = inner.cx.clock.now();
    let plain = |fault: Fault| fault.into_failure(None);
    let handle = gleaner_core::x::handle(&source.settings.url)
        .ok_or_else(|| plain(Fault::Blocked(format!("{} is no timeline on X", source.settings.url))))?;
    let key = credential::x_key(inner, source).await?;
    let api = Api { inner, handle, key, now };
    let mut cursor = Cursor::of(&source.memory);
    let user_id = match cursor.user_id.clone() {
        Some(id) => id,
        None => api.user_id().await?,
    };
    cursor.user_id = Some(user_id.clone());
    let haul = match api.read(&user_id, &cursor).await {
        Ok(haul) => haul,
        // The account's id is kept all the same: it was asked for once.
        Err(failure) => return Ok(Attempt { memory: cursor.remember(source), ..Attempt::failed(failure) }),
    };
    let memory = cursor.moved(&haul).remember(source);
    let missing_entries = haul.left.then_some(MissingEntries::TimelineUnfinished);
    let outcome = Outcome::Fetched { retry_after: haul.stopped.and_then(|failure| failure.retry_after) };
    let found = if haul.entries.is_empty() {
        None
    } else {
        let (known, rules) = (known(inner, source).await?, rules_of(inner, source, now));
        let (entries, is_complete) = (haul.entries, missing_entries.is_none());
        let work = move || Ok(select_entries(entries, &known, &rules, is_complete, now, read::body_text));
        Some(off_the_threads(inner, work).await?)
    };
    let note = missing_entries.map(|missing| missing.to_string());
    Ok(Attempt { outcome, found, note, memory, status: Some(200), bytes: haul.bytes, ..Attempt::nothing() })
}

impl Cursor {
    fn of(memory: &Memory) -> Self {
        memory.cursor.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Where a poll has come to.
    fn moved(self, haul: &Haul) -> Self {
        let Self { user_id, since_id, gap } = self;
        let (above, below) = gap.map(|gap| (gap.newest_id, gap.until_id)).unzip();
        let newest = above.or_else(|| haul.newest.clone());
        match newest.clone().zip(haul.oldest.clone().or(below)) {
            Some((newest_id, until_id)) if haul.left => {
                Self { user_id, since_id, gap: Some(Gap { until_id, newest_id }) }
            }
            _ => {
                // Never back, whatever is answered.
                let since_id = x::newest([since_id.as_deref(), newest.as_deref()].into_iter().flatten());
                Self { user_id, since_id: since_id.map(str::to_owned), gap: None }
            }
        }
    }

    /// The source's memory with this cursor in it; none where that changes nothing.
    fn remember(&self, source: &Source) -> Option<Memory> {
        let cursor = serde_json::to_string(self).ok();
        (cursor != source.memory.cursor).then(|| Memory { cursor, ..source.memory.clone() })
    }
}

impl Api<'_> {
    /// The account's id.
    async fn user_id(&self) -> Result<String, Failure> {
        let response = self.ask(self.address(&["2", "users", "by", "username", self.handle], &[])).await?;
        x::user_id(&response.body).map_err(failure)
    }

    /// Reads page after page. A first page that fails is a failure; a later one ends the reading.
    async fn read(&self, user_id: &str, cursor: &Cursor) -> Result<Haul, Failure> {
        let mut haul = Haul::default();
        let mut token = None;
        loop {
            match self.page(user_id, cursor, token.as_deref()).await {
                Ok((page, bytes)) => token = haul.add(page, bytes),
                Err(failure) if haul.pages == 0 => return Err(failure),
                Err(failure) => haul.stopped = Some(failure),
            }
            // With nothing to go down to, all that was ever posted would be read.
            let more = token.is_some() && cursor.since_id.is_some();
            if !more || haul.stopped.is_some() || haul.pages == MAX_PAGES {
                return Ok(Haul { left: more, ..haul });
            }
        }
    }

    async fn page(
        &self,
        user_id: &str,
        cursor: &Cursor,
        token: Option<&str>,
    ) -> Result<(Timeline, u64), Failure> {
        let until_id = cursor.gap.as_ref().map(|gap| gap.until_id.as_str());
        let asked =
            [("since_id", cursor.since_id.as_deref()), ("until_id", until_id), ("pagination_token", token)];
        let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let query: Vec<_> =
            [("max_results", "100")].into_iter().chain(x::TIMELINE_FIELDS).chain(asked).collect();
        let response = self.ask(self.address(&["2", "users", user_id, "tweets"], &query)).await?;
        let (bytes, handle) = (response.wire_bytes, self.handle.to_owned());
        let page = off_the_threads(self.inner, move || Ok(x::timeline(&response.body, &handle))).await?;
        Ok((page.map_err(failure)?, bytes))
    }

    /// An address below the API's base, whatever path that has.
    fn address(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.inner.cx.config.x.base_url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    async fn ask(&self, url: Url) -> Result<Response, Failure> {
        let value = Secret::new(format!("Bearer {}", self.key.expose()));
        let credential = Some(Credential::Header { name: "authorization".to_owned(), value });
        let request = Request { accept: "application/json".to_owned(), credential, ..Request::new(url) };
        Ok(self.inner.cx.fetcher.fetch(&request, self.now).await?)
    }
}

impl Haul {
    /// Adds a page; returns what the next one is asked for with.
    fn add(&mut self, page: Timeline, bytes: u64) -> Option<String> {
        self.pages += 1;
        self.bytes += bytes;
        self.newest = self.newest.take().or(page.newest);
        self.oldest = page.oldest.or(self.oldest.take());
        self.entries.extend(page.entries);
        page.next_token
    }
}

/// X said inside a 200 what is wrong.
fn failure(problem: XError) -> Failure {
    Failure { kind: problem.kind, status: Some(200), message: problem.message, retry_after: None }
}
