//! A dead feed whose site now advertises another one: looked for on the page that came in its place, or on its site's first
//! page, as work of its host like any page. A person is told, and decides.
//!
//! A site that cannot be looked at is left alone until the next day.

use gleaner_core::elsewhere::{Advertised, Elsewhere, Proposal, is_due, redirected, seen};
use gleaner_core::link;
use gleaner_core::outcome::Failure;
use gleaner_core::source::Kind;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use url::Url;

use super::Inner;
use super::attempt::{Attempt, off_the_threads};
use super::host::host_key;
use crate::fetch::Request;
use crate::log::Redacted;
use crate::read::discover::feeds;
use crate::read::{ACCEPT_PAGES, Page};
use crate::store::{
    ArticleOutcome, ArticleWork, NewArticleWork, NewEvent, RelocationChange, Source, WorkPurpose,
};

/// Longer addresses are not proposed.
const LONGEST_URL: usize = 2000;

/// A page that came in place of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InItsPlace(Option<Advertised>);

/// What a look at a site has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Sought {
    /// The dead feed.
    dead: String,
    /// What was proposed before.
    was: Option<Proposal>,
}

/// What follows from a poll for where a source may be now.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) change: Option<RelocationChange>,
    pub(super) work: Option<NewArticleWork>,
    pub(super) event: Option<NewEvent>,
}

impl InItsPlace {
    /// Looks at a page that came instead of the feed at this address.
    pub(super) fn of(page: &Page<'_>, dead: &str) -> Option<Self> {
        crate::read::page_summary::summarize(page).map(|_| Self(advertised(page, dead)))
    }
}

/// The first feed that a page advertises beside the dead one. What is for comments is for somebody else.
fn advertised(page: &Page<'_>, dead: &str) -> Option<Advertised> {
    let dead = link::canonical(dead);
    let other = feeds(page.body, page.url).into_iter().find(|feed| {
        let url = feed.url.as_str();
        !feed.is_of_comments() && url.len() <= LONGEST_URL && link::canonical(url) != dead
    })?;
    Some(Advertised { url: other.url.into(), title: other.title })
}

/// What a poll finds out, or leaves to be found out. One that is excused says nothing about the source.
pub(super) fn search(inner: &Inner, source: &Source, attempt: &Attempt, excused: bool, now: Time) -> Search {
    let was = source.elsewhere.as_ref();
    let Some(failure) = attempt.outcome.failure() else {
        return match &attempt.proposed_move {
            Some(to) => propose_move(source, to, now),
            None => Search { change: was.map(|_| RelocationChange::Ended), ..Search::default() },
        };
    };
    if source.settings.kind != Kind::Feed || excused || !is_due(&source.health, failure, was, now) {
        return Search::default();
    }
    let before = was.and_then(|was| was.proposal.clone());
    if let Some(InItsPlace(found)) = &attempt.in_its_place {
        let (elsewhere, is_new) = seen(before.as_ref(), found.clone(), now);
        let event = elsewhere.proposal.as_ref().filter(|_| is_new);
        let event = event.map(|proposal| NewEvent::of_proposal(source.id, &source.settings.url, proposal));
        return Search { change: Some(RelocationChange::Now(elsewhere)), event, ..Search::default() };
    }
    let work = look_at_its_site(inner, source, before.clone(), now);
    let change = work.as_ref().map(|_| RelocationChange::Now(Elsewhere { looked_at: now, proposal: before }));
    Search { change, work, ..Search::default() }
}

/// Proposes the URL that a source with credentials is redirected to, since it is not moved there by itself.
fn propose_move(source: &Source, to: &str, now: Time) -> Search {
    let (elsewhere, is_new) = redirected(source.elsewhere.as_ref(), to, now);
    if !is_new {
        return Search::default();
    }
    let event = elsewhere.proposal.as_ref();
    let event = event.map(|proposal| NewEvent::of_proposal(source.id, &source.settings.url, proposal));
    tracing::warn!(url = %Redacted(&source.settings.url), to = %Redacted(to), "a source with credentials is redirected to another origin; a person decides");
    Search { change: Some(RelocationChange::Now(elsewhere)), event, ..Search::default() }
}

/// A look at the first page of a source's site, as work of its host.
fn look_at_its_site(
    inner: &Inner,
    source: &Source,
    was: Option<Proposal>,
    now: Time,
) -> Option<NewArticleWork> {
    let dead = &source.settings.url;
    let site = Url::parse(dead).ok()?.join("/").ok()?;
    if link::canonical(site.as_str()) == link::canonical(dead) {
        return None;
    }
    Some(NewArticleWork {
        host: host_key(&inner.cx.config, Kind::Feed, site.as_str()),
        purpose: WorkPurpose::Relocation,
        entry_key: 0,
        url: site.into(),
        draft: serde_json::to_string(&Sought { dead: dead.clone(), was }).ok()?,
        next_try_at: now,
    })
}

/// Looks at a site, and tells what it advertises. robots.txt is asked: a page is for people.
pub(super) async fn look(
    inner: &Inner,
    work: &ArticleWork,
    many: bool,
) -> Result<Option<Advertised>, Failure> {
    let blocked = |why: String| gleaner_core::classify::Fault::Blocked(why).into_failure(None);
    let url = Url::parse(&work.url).map_err(|error| blocked(format!("'{}' is no URL: {error}", work.url)))?;
    let dead = serde_json::from_str::<Sought>(&work.draft).map_err(|error| blocked(error.to_string()))?.dead;
    let now = inner.cx.clock.now();
    if !work.ignore_robots {
        inner.cx.fetcher.check_robots(&url, now).await?;
    }
    let request = Request { accept: ACCEPT_PAGES.to_owned(), keep_connection: many, ..Request::new(url) };
    let response = inner.cx.fetcher.fetch(&request, now).await?;
    off_the_threads(inner, move || {
        let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
        Ok(advertised(&page, &dead))
    })
    .await
}

/// What becomes of a look. One that fails is not tried again: the next day's poll asks anew.
pub(super) fn outcome(
    work: &ArticleWork,
    found: Result<Option<Advertised>, Failure>,
    now: Time,
) -> ArticleOutcome {
    let sought = serde_json::from_str::<Sought>(&work.draft);
    match (sought, found) {
        (Ok(Sought { dead, was }), Ok(found)) => {
            let (elsewhere, is_new) = seen(was.as_ref(), found, now);
            let event = elsewhere.proposal.as_ref().filter(|_| is_new);
            let event = event.map(|proposal| NewEvent::of_proposal(work.source_id, &dead, proposal));
            ArticleOutcome::Looked { elsewhere: Box::new(elsewhere), event }
        }
        (_, Err(failure)) => {
            tracing::info!(url = %Redacted(&work.url), error = %Redacted(&failure.message), "a dead feed's site could not be looked at");
            ArticleOutcome::Dropped
        }
        (Err(_), Ok(_)) => ArticleOutcome::Dropped,
    }
}
