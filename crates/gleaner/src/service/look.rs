//! Looking at a URL before it is added, and at a source before it is changed: what would be found. Nothing is stored.

use std::time::Duration;

use gleaner_core::link;
use gleaner_core::outcome::{ErrorKind, Failure};
use gleaner_core::source::Kind;
use gleaner_core::x::timeline_url;
use serde::Serialize;
use tokio::time::timeout;
use url::Url;

use super::offers::{Fetched, Reading};
use super::trial::failed_to_fetch;
use super::{By, Checks, Scope, ServiceError, SourceFields, TrialEntry};
use crate::engine::{X, credential_of};
use crate::fetch::{Credential, Failed, Fetcher, Request};
use crate::read::{self, ACCEPT_PAGES};
use crate::store::Source;

/// How long a feed that a page names may take: the page is what was asked for.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a URL turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Look {
    /// Where it was looked at.
    pub url: String,
    /// The ways in which it can be added, the best first.
    pub offers: Vec<Offer>,
    /// What is to be said about it, whichever way is taken.
    pub notes: Vec<String>,
}

/// A source that could be added, and what would be found in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// What it would be.
    pub kind: Kind,
    /// What would be polled.
    pub url: String,
    /// What it calls itself.
    pub title: Option<String>,
    /// Its first entries; of a watchlist, the links that would be followed; of a website, what it says now.
    pub entries: Vec<TrialEntry>,
    /// How many entries it has.
    pub total: usize,
    /// How many of them the next poll would store; of a watchlist, how many links it would follow.
    pub stored: usize,
    /// Whether it was looked at; else only its name is known.
    pub is_read: bool,
    /// What is to be known before it is added.
    pub notes: Vec<String>,
}

impl Offer {
    /// A source of which nothing is known but where it is.
    pub(super) fn unread(kind: Kind, url: impl Into<String>) -> Self {
        let (url, title, entries, notes) = (url.into(), None, Vec::new(), Vec::new());
        Self { kind, url, title, entries, total: 0, stored: 0, is_read: false, notes }
    }
}

impl By<'_> {
    /// Looks at whatever somebody pastes: a feed, a page that names feeds, an index page, a page, a timeline on X. What
    /// cannot be reached now is offered all the same, with a note that says so.
    pub async fn look_at(&self, text: &str) -> Result<Look, ServiceError> {
        // It makes this machine ask another, which is no reading.
        self.actor.must(Scope::Write)?;
        let text = text.trim();
        if let Ok(url) = timeline_url(text) {
            return self.look_at_timeline(url).await;
        }
        let url = self.checked_url(Kind::Feed, &with_scheme(text))?;
        let fetcher = self.fetcher()?;
        let fetched = match self.fetch(&fetcher, &url, read::feed::ACCEPT, None).await {
            Ok(fetched) => fetched,
            Err(failed) => return unreachable(&url, failed),
        };
        let mut notes = Vec::new();
        if link::canonical(fetched.url.as_str()) != link::canonical(url.as_str()) {
            notes.push(format!("it leads to {}", fetched.url));
        }
        // A feed is for programs; a page may be for people only.
        let refused = fetcher.allowed(&fetched.url, self.clock.now()).await.err();
        let reading = Reading::new(&self.config, self.clock.now());
        let asked = url.clone();
        let offers = off_the_threads(move || reading.all(&fetched, &asked)).await??;
        let mut offers = offers.into_iter();
        let first = match offers.next() {
            Some(offer) if offer.kind == Kind::Feed && !offer.is_read => {
                self.read_feed(&fetcher, offer).await
            }
            first => first.ok_or_else(|| ServiceError::Unreadable {
                url: url.to_string(),
                why: "it is neither a feed nor a page with text, and names no feed".to_owned(),
            })?,
        };
        let mut offers: Vec<Offer> = std::iter::once(first).chain(offers).collect();
        if let Some(failure) = refused {
            let pages = |offer: &&mut Offer| matches!(offer.kind, Kind::Website | Kind::Watchlist);
            let note = format!("as a page it is not to be polled: {}", failure.message);
            offers.iter_mut().filter(pages).for_each(|offer| offer.notes.insert(0, note.clone()));
        }
        Ok(Look { url: url.into(), offers, notes })
    }

    /// Looks at what a source would find with other fields, as its next poll would: with its credentials, and heeding
    /// robots.txt where it does.
    pub async fn preview_source(
        &self,
        id: i64,
        fields: &SourceFields,
        mut checks: Checks,
    ) -> Result<Offer, ServiceError> {
        self.actor.must(Scope::Write)?;
        let source = self.visible_source(id).await?;
        let settings =
            self.apply_fields(fields, &source.settings, &self.visible_collections().await?, &mut checks)?;
        checks.done()?;
        if settings.kind == Kind::X {
            return Ok(Offer {
                notes: vec!["a timeline is read with its owner's key, when it is polled".to_owned()],
                ..Offer::unread(Kind::X, settings.url)
            });
        }
        let url = link::source_url(&settings.url)?;
        let fetcher = self.fetcher()?;
        let is_page = settings.kind != Kind::Feed;
        if is_page && !settings.ignore_robots {
            fetcher.allowed(&url, self.clock.now()).await.map_err(|failure| refused(&url, failure))?;
        }
        let accept = if is_page { ACCEPT_PAGES } else { read::feed::ACCEPT };
        let source = Source { settings, ..source };
        let credential = credential_of(&self.vault, &source)
            .map_err(|fault| ServiceError::invalid("credential", fault.to_string()))?;
        let fetched = self.fetch(&fetcher, &url, accept, credential).await;
        let fetched = fetched.map_err(|failed| failed_to_fetch(&url, failed))?;
        let known = self.store.known(&[id]).await?.remove(&id).unwrap_or_default();
        let reading = Reading::of_source(&self.config, &source, known, self.clock.now());
        let settings = source.settings;
        off_the_threads(move || reading.one(&fetched, &settings)).await?
    }

    async fn fetch(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        accept: &str,
        credential: Option<Credential>,
    ) -> Result<Fetched, Failed> {
        let request = Request { accept: accept.to_owned(), credential, ..Request::new(url.clone()) };
        let response = fetcher.fetch(&request, self.clock.now()).await?;
        Ok(Fetched { url: response.url, content_type: response.content_type, body: response.body })
    }

    /// The feed that a page names, with its entries where it can be read.
    async fn read_feed(&self, fetcher: &Fetcher, offer: Offer) -> Offer {
        let unread = |why: String, mut offer: Offer| {
            offer.notes.push(format!("it cannot be read now ({why}); it will be tried again and again"));
            offer
        };
        let url = match self.checked_url(Kind::Feed, &offer.url) {
            Ok(url) => url,
            Err(error) => return unread(error.to_string(), offer),
        };
        let fetched = match timeout(PATIENCE, self.fetch(fetcher, &url, read::feed::ACCEPT, None)).await {
            Ok(Ok(fetched)) => fetched,
            Ok(Err(failed)) => return unread(Failure::from(failed).message, offer),
            Err(_) => return unread(format!("no answer within {} s", PATIENCE.as_secs()), offer),
        };
        let reading = Reading::new(&self.config, self.clock.now());
        match off_the_threads(move || reading.feed(&fetched, &url)).await {
            Ok(Ok(found)) => Offer { title: found.title.or(offer.title), ..found },
            Ok(Err(fault)) => unread(fault.to_string(), offer),
            Err(error) => unread(error.to_string(), offer),
        }
    }

    async fn look_at_timeline(&self, url: Url) -> Result<Look, ServiceError> {
        let collections = self.visible_collections().await?;
        let usual = collections.iter().find(|one| one.name == "default").or(collections.first());
        let mut notes = vec!["a timeline is read with its owner's key, when it is polled".to_owned()];
        if let Some(usual) = usual
            && self.store.credential(usual.owner_id, X).await?.is_none()
        {
            let users = self.store.users().await?;
            let owner = users.into_iter().find(|user| user.id == usual.owner_id).map(|user| user.name);
            notes.push(format!(
                "{}, who owns the collection {}, has set no key for X yet; Settings takes one",
                owner.unwrap_or_default(),
                usual.name
            ));
        }
        let title = gleaner_core::x::handle(url.as_str()).map(|handle| format!("@{handle} on X"));
        let offer = Offer { title, notes, ..Offer::unread(Kind::X, url.as_str()) };
        Ok(Look { url: url.into(), offers: vec![offer], notes: Vec::new() })
    }
}

/// People leave out what browsers add. A name and a port is not yet a scheme: `intranet:8080/feed`.
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

/// What cannot be reached may be later; what our own guard refuses, never.
fn unreachable(url: &Url, failed: Failed) -> Result<Look, ServiceError> {
    let failure = Failure::from(failed);
    if failure.kind == ErrorKind::Blocked {
        return Err(ServiceError::Unreadable { url: url.to_string(), why: failure.message });
    }
    let note = format!(
        "it cannot be read now ({}), so that nobody knows what it is; it can be added all the same, and will be tried \
         again and again",
        failure.message
    );
    let offers = [Kind::Feed, Kind::Watchlist, Kind::Website].map(|kind| Offer::unread(kind, url.as_str()));
    Ok(Look { url: url.to_string(), offers: offers.into(), notes: vec![note] })
}

fn refused(url: &Url, failure: Failure) -> ServiceError {
    ServiceError::Unreadable { url: url.to_string(), why: failure.message }
}

/// Reading is work for the processor, and what is read is anybody's.
async fn off_the_threads<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        ServiceError::conflict("not_read", "reading the page broke off, which is a mistake of gleaner's own")
    })
}
