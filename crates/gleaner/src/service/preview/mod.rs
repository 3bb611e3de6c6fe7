//! Previews: what a URL could be as a source, and what its next poll would store. Nothing is stored.
//!
//! `gleaner try`, the Add and Edit pages and `POST /sources/find` show the same preview. A document goes through the reader, the
//! entry rules and the checks of a poll, so that what is announced here is what the poll does.

mod add;
mod article;
mod document;
mod index_links;

use std::time::Duration;

use bytes::Bytes;
use gleaner_core::backfill::Backfill;
use gleaner_core::link;
use gleaner_core::outcome::{ErrorKind, Failure};
use gleaner_core::source::Kind;
use gleaner_core::time::Time;
use gleaner_core::x::timeline_url;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use url::Url;

pub use article::{Extraction, extract_html, extract_url};
pub use index_links::{IndexLink, IndexLinks, links_at, links_of};

use super::{By, Checks, Scope, ServiceError, SourceFields};
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::engine::{X, credential_of};
use crate::fetch::{Credential, FetchError, Fetcher, NetworkOverrides, Request};
use crate::read::{self, ACCEPT_PAGES, Page};
use crate::store::Source;
use document::DocumentPreview;

/// Time limit for a feed that a page names: the page itself is what was requested.
const NAMED_FEED_TIMEOUT: Duration = Duration::from_secs(15);

/// What a URL could be as a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// The best way to follow the URL.
    #[serde(flatten)]
    pub best: Candidate,
    /// Other ways, in descending order of preference.
    pub alternatives: Vec<Candidate>,
}

/// A source that could be added, and what its first poll would store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub kind: Kind,
    /// The URL that would be polled.
    pub url: String,
    pub title: Option<String>,
    /// Entries in the document's order: of a watchlist, its links; of a website, its text as one entry.
    pub entries: Vec<PreviewEntry>,
    /// Number of entries in the document.
    pub entry_count: usize,
    /// Number of entries that the next poll would store; of a watchlist, the links that it would follow.
    pub stored_count: usize,
    /// Whether the document was fetched and read; otherwise only its URL and title are known.
    pub is_read: bool,
    /// A feed of readers' comments, not of articles.
    pub is_comments: bool,
    pub notes: Vec<String>,
}

/// An entry, and what the next poll would do with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewEntry {
    pub title: Option<String>,
    pub url: Option<String>,
    pub published_at: Option<Time>,
    /// `stored`, or why not.
    pub verdict: String,
    /// The text that would be stored.
    pub body: String,
}

impl Preview {
    /// The best candidate, then the alternatives.
    pub fn candidates(self) -> impl Iterator<Item = Candidate> {
        std::iter::once(self.best).chain(self.alternatives)
    }

    fn of(best: Candidate) -> Self {
        Self { best, alternatives: Vec::new() }
    }
}

impl Candidate {
    /// A candidate of which only the URL is known.
    pub fn unread(kind: Kind, url: impl Into<String>) -> Self {
        Self {
            kind,
            url: url.into(),
            title: None,
            entries: Vec::new(),
            entry_count: 0,
            stored_count: 0,
            is_read: false,
            is_comments: false,
            notes: Vec::new(),
        }
    }

    /// Polls of it would fail with this message: nothing would be stored.
    fn refuse(&mut self, message: &str) {
        self.stored_count = 0;
        for entry in &mut self.entries {
            "skipped: the page is not polled".clone_into(&mut entry.verdict);
        }
        self.notes.insert(0, format!("as a page it is not polled: {message}; ignore_robots overrides that"));
    }

    /// Keeps the first entries, and the beginning of each text.
    #[must_use]
    pub fn shortened(mut self, max_entries: usize, max_chars: usize) -> Self {
        self.entries.truncate(max_entries);
        for entry in &mut self.entries {
            if let Some((end, _)) = entry.body.char_indices().nth(max_chars) {
                entry.body.truncate(end);
                entry.body.push('…');
            }
        }
        self
    }
}

/// A page as it was fetched.
struct Fetched {
    url: Url,
    content_type: Vec<u8>,
    body: Bytes,
}

impl Fetched {
    fn page(&self) -> Page<'_> {
        Page { url: &self.url, content_type: &self.content_type, body: &self.body }
    }
}

/// Previews a URL without a database. `backfill` is that of the source that would be added.
pub async fn preview_url(config: &Config, text: &str, backfill: Backfill) -> Result<Preview, ServiceError> {
    if timeline_url(text).is_ok() {
        let why = "a timeline on X can be read only with its owner's key; add it with `gleaner add`";
        return Err(ServiceError::invalid("url", format!("{text}: {why}")));
    }
    let fetcher = Fetcher::new(&config.fetch, &NetworkOverrides::default())?;
    Previewer { config, fetcher: &fetcher, now: SystemClock.now(), backfill, credential: None }
        .preview(text)
        .await
}

/// Fetches a URL and says what it could be.
struct Previewer<'a> {
    config: &'a Config,
    fetcher: &'a Fetcher,
    now: Time,
    backfill: Backfill,
    /// Sent to the origin of the previewed URL only.
    credential: Option<Credential>,
}

impl Previewer<'_> {
    /// Previews what somebody pasted: a feed, a page that names feeds, an index page or a page.
    async fn preview(&self, text: &str) -> Result<Preview, ServiceError> {
        let url = link::source_url(&with_scheme(text.trim()))?;
        let fetched = self.fetch(&url, read::feed::ACCEPT, self.credential.clone()).await;
        let fetched = fetched.map_err(|failed| failed_to_fetch(&url, failed))?;
        let origin = url.origin();
        // A feed is made for programs; a page may refuse them.
        let refused = self.fetcher.check_robots(&fetched.url, self.now).await.err();
        let redirected = (link::canonical(fetched.url.as_str()) != link::canonical(url.as_str()))
            .then(|| format!("it redirects to {}", fetched.url));
        let document = DocumentPreview::of_new(self.config, self.backfill, self.now);
        let candidates = run_blocking(move || document.candidates(&fetched, &url)).await??;
        let mut candidates = candidates.into_iter();
        let best = match candidates.next() {
            Some(best) if best.kind == Kind::Feed && !best.is_read => {
                self.read_named_feed(best, &origin).await
            }
            Some(best) => best,
            None => return Err(ServiceError::Unreadable { url: text.to_owned(), why: NOTHING.to_owned() }),
        };
        let mut preview = Preview { best, alternatives: candidates.collect() };
        if let Some(failure) = refused {
            let candidates = std::iter::once(&mut preview.best).chain(&mut preview.alternatives);
            for page in candidates.filter(|one| matches!(one.kind, Kind::Website | Kind::Watchlist)) {
                page.refuse(&failure.message);
            }
        }
        preview.best.notes.splice(0..0, redirected);
        Ok(preview)
    }

    async fn fetch(
        &self,
        url: &Url,
        accept: &str,
        credential: Option<Credential>,
    ) -> Result<Fetched, FetchError> {
        let request = Request { accept: accept.to_owned(), credential, ..Request::new(url.clone()) };
        let response = self.fetcher.fetch(&request, self.now).await?;
        Ok(Fetched { url: response.url, content_type: response.content_type, body: response.body })
    }

    /// Reads the feed that a page names; where that fails, a note says why.
    async fn read_named_feed(&self, candidate: Candidate, origin: &url::Origin) -> Candidate {
        let unread = |why: String, mut candidate: Candidate| {
            candidate.notes.push(format!("it cannot be read now ({why}); polls will keep trying"));
            candidate
        };
        let url = match link::source_url(&candidate.url) {
            Ok(url) => url,
            Err(error) => return unread(error.to_string(), candidate),
        };
        let credential = self.credential.clone().filter(|_| url.origin() == *origin);
        let fetch = self.fetch(&url, read::feed::ACCEPT, credential);
        let fetched = match timeout(NAMED_FEED_TIMEOUT, fetch).await {
            Ok(Ok(fetched)) => fetched,
            Ok(Err(failed)) => return unread(Failure::from(failed).message, candidate),
            Err(_) => {
                return unread(format!("no response within {} s", NAMED_FEED_TIMEOUT.as_secs()), candidate);
            }
        };
        let document = DocumentPreview::of_new(self.config, self.backfill, self.now);
        match run_blocking(move || document.feed(&fetched, &url)).await {
            Ok(Ok(read)) => Candidate {
                title: read.title.or(candidate.title),
                is_comments: candidate.is_comments,
                ..read
            },
            Ok(Err(fault)) => unread(fault.to_string(), candidate),
            Err(error) => unread(error.to_string(), candidate),
        }
    }
}

const NOTHING: &str = "it is neither a feed nor a page with text, and names no feed";

impl By<'_> {
    /// Previews a URL or a timeline on X. What cannot be fetched now is an error here; the Add page offers it all the same.
    pub async fn preview_url(&self, text: &str, backfill: Backfill) -> Result<Preview, ServiceError> {
        self.preview_with(text, backfill, None).await
    }

    async fn preview_with(
        &self,
        text: &str,
        backfill: Backfill,
        credential: Option<Credential>,
    ) -> Result<Preview, ServiceError> {
        // It makes this machine send requests, which reading does not allow.
        self.actor.must(Scope::Write)?;
        if let Ok(url) = timeline_url(text.trim()) {
            return self.preview_timeline(&url).await;
        }
        let fetcher = self.fetcher()?;
        let previewer = Previewer {
            config: &self.config,
            fetcher: &fetcher,
            now: self.clock.now(),
            backfill,
            credential,
        };
        previewer.preview(text).await
    }

    /// Previews what a source would find with other fields, as its next poll would: with its credentials, and obeying
    /// robots.txt where it does.
    pub async fn preview_source(
        &self,
        id: i64,
        fields: &SourceFields,
        mut checks: Checks,
    ) -> Result<Candidate, ServiceError> {
        self.actor.must(Scope::Write)?;
        let source = self.visible_source(id).await?;
        let settings =
            self.apply_fields(fields, &source.settings, &self.visible_collections().await?, &mut checks)?;
        checks.done()?;
        if settings.kind == Kind::X {
            let notes = vec![TIMELINE.to_owned()];
            return Ok(Candidate { notes, ..Candidate::unread(Kind::X, settings.url) });
        }
        let (url, now) = (link::source_url(&settings.url)?, self.clock.now());
        let fetcher = self.fetcher()?;
        let is_page = settings.kind != Kind::Feed;
        if is_page && !settings.ignore_robots {
            fetcher
                .check_robots(&url, now)
                .await
                .map_err(|failure| ServiceError::Unreadable { url: url.to_string(), why: failure.message })?;
        }
        let accept = if is_page { ACCEPT_PAGES } else { read::feed::ACCEPT };
        let source = Source { settings, ..source };
        let credential = credential_of(&self.vault, &source)
            .map_err(|fault| ServiceError::invalid("credential", fault.to_string()))?;
        let backfill = source.settings.backfill;
        let previewer =
            Previewer { config: &self.config, fetcher: &fetcher, now, backfill, credential: None };
        let fetched = previewer.fetch(&url, accept, credential).await;
        let fetched = fetched.map_err(|failed| failed_to_fetch(&url, failed))?;
        let known = self.store.known(&[id]).await?.remove(&id).unwrap_or_default();
        let document = DocumentPreview::of_source(&self.config, &source, known, now);
        run_blocking(move || document.source(&fetched, &source.settings)).await?
    }

    async fn preview_timeline(&self, url: &Url) -> Result<Preview, ServiceError> {
        let collections = self.visible_collections().await?;
        let default = collections.iter().find(|one| one.name == "default").or(collections.first());
        let mut notes = vec![TIMELINE.to_owned()];
        if let Some(collection) = default
            && self.store.credential(collection.owner_id, X).await?.is_none()
        {
            let users = self.store.users().await?;
            let owner = users.into_iter().find(|user| user.id == collection.owner_id).map(|user| user.name);
            notes.push(format!(
                "{}, the owner of the collection {}, has no key for X yet; add one under Settings",
                owner.unwrap_or_default(),
                collection.name
            ));
        }
        let title = gleaner_core::x::handle(url.as_str()).map(|handle| format!("@{handle} on X"));
        Ok(Preview::of(Candidate { title, notes, ..Candidate::unread(Kind::X, url.as_str()) }))
    }
}

const TIMELINE: &str = "a timeline is read with its owner's key when it is polled";

/// Adds `https://` where somebody left the scheme out. A name with a port has no scheme: `intranet:8080/feed`.
fn with_scheme(text: &str) -> String {
    let has_scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !is_port
    });
    if text.is_empty() || has_scheme || text.contains("://") {
        text.to_owned()
    } else {
        format!("https://{text}")
    }
}

/// A URL that our own address guard refuses is unreadable for good; any other may be reachable later.
pub(super) fn failed_to_fetch(url: &Url, failed: FetchError) -> ServiceError {
    let (failure, url) = (Failure::from(failed), url.to_string());
    match failure.kind {
        ErrorKind::Blocked => ServiceError::Unreadable { url, why: failure.message },
        _ => ServiceError::Unreachable { url, why: failure.message },
    }
}

/// Parsing runs off the async threads, and may panic on what others wrote.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        ServiceError::conflict(
            "not_read",
            "the page could not be read because of an internal error of gleaner",
        )
    })
}

/// The candidates of a URL that cannot be fetched now: it can be added as any kind, and polls will keep trying.
pub fn unreachable_candidates(url: &str, why: &str) -> Vec<Candidate> {
    let note = format!(
        "it cannot be fetched now ({why}), so its kind is not known; you can add it all the same, and polls will keep trying"
    );
    let kinds = [Kind::Feed, Kind::Watchlist, Kind::Website];
    kinds.map(|kind| Candidate { notes: vec![note.clone()], ..Candidate::unread(kind, url) }).into()
}
