//! Pages of entries: queued by a poll, fetched as work of their own host, each committed by itself.
//!
//! A page that fails is tried again, and given up in the end; a person can retry it then. Nothing of it is held against
//! its source, but a source all of whose latest pages failed is suspect.

use std::time::Instant;

use gleaner_core::classify::Fault;
use gleaner_core::elsewhere::Advertised;
use gleaner_core::follow::{PageToFetch, retry, skipped_by_age};
use gleaner_core::identity::{Filter, Skipped, believable};
use gleaner_core::judgement::HostMemory;
use gleaner_core::outcome::{Failure, Outcome};
use gleaner_core::post::{NewPost, content_hash};
use gleaner_core::schedule::answered_quickly;
use gleaner_core::source::{Duplicates, Kind};
use gleaner_core::suspect::{Look, Sight, Wanted, look};
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Serialize};
use url::Url;

use super::attempt::{caught, off_the_threads, rules_of};
use super::host::host_key;
use super::poll::{Polled, Turn};
use super::record::Shared;
use super::{Inner, Place, credential, elsewhere, judged};
use crate::fetch::Request;
use crate::log::Redacted;
use crate::metrics::add;
use crate::read::article::{Article, extract};
use crate::read::page_summary::bot_wall;
use crate::read::{ACCEPT_PAGES, Page, text};
use crate::store::{
    ArticleCommit, ArticleOutcome, ArticleWork, CommitOutcome, NewArticleWork, NewEvent, Source, StoreError,
    WorkPurpose,
};

/// A page whose host or whose worker is in trouble is tried again after this, if they are well by then.
const EXCUSED: Span = Span::from_mins(5);

/// A page whose source is disabled is looked at again after this.
const DISABLED: Span = Span::from_days(1);

/// A post as far as the index or the feed knows it, kept until its page is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Draft {
    guid: String,
    title: Option<String>,
    author: Option<String>,
    published_at: Option<Time>,
    /// What the feed says of it; an index says nothing.
    raw_content: Option<String>,
    /// Which dates the poll would have let pass.
    filter: Filter,
    /// The entry had changed, so that another text is a revision.
    #[serde(default)]
    revises: bool,
}

/// The work that a poll leaves: pages to fetch, at once, in the document's order.
pub(super) fn queue(
    inner: &Inner,
    source: &Source,
    pages: Vec<PageToFetch>,
    now: Time,
) -> Vec<NewArticleWork> {
    let filter = rules_of(inner, source, now).filter;
    let work = |PageToFetch { post, seen, revises }: PageToFetch| {
        let url = post.url?;
        let NewPost { guid, title, author, published_at, raw_content, .. } = post;
        let draft = Draft { guid, title, author, published_at, raw_content, filter, revises };
        Some(NewArticleWork {
            host: host_key(&inner.cx.config, source.settings.kind, &url),
            purpose: WorkPurpose::Article,
            entry_key: seen.key,
            url,
            draft: serde_json::to_string(&draft).ok()?,
            next_try_at: now,
        })
    };
    pages.into_iter().filter_map(work).collect()
}

/// What came of a page.
enum Fetched {
    Article(Result<Article, Failure>),
    /// The first page of a dead feed's site.
    Site(Result<Option<Advertised>, Failure>),
}

impl Fetched {
    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Article(fetched) => fetched.as_ref().err(),
            Self::Site(found) => found.as_ref().err(),
        }
    }
}

/// Fetches one page and commits what became of it.
pub(super) async fn article(
    inner: &Inner,
    place: Place<'_>,
    turn: Turn,
    host: &str,
    memory: &mut HostMemory,
    work: ArticleWork,
) -> Shared<Polled> {
    if !work.enabled {
        drop(place);
        let (at, error) = (inner.cx.clock.now() + DISABLED, "not fetched: its source is disabled".to_owned());
        return record(inner, turn, &work, ArticleOutcome::Retry { at, error, counts: false }).await;
    }
    let begun = Instant::now();
    let asking = Box::pin(async {
        match work.purpose {
            WorkPurpose::Relocation => Fetched::Site(caught(elsewhere::look(inner, &work, turn.many)).await),
            WorkPurpose::Article => {
                Fetched::Article(caught(fetch_and_extract(inner, &work, turn.many)).await)
            }
        }
    });
    let Some(fetched) = inner.leases.while_held(turn.lease, &*inner.cx.clock, asking).await else {
        return Ok(Polled::broken_off(&work.url));
    };
    drop(place);
    let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let ended = match fetched.failure() {
        None => Outcome::Fetched { retry_after: None },
        Some(failure) => Outcome::Failed(failure.clone()),
    };
    let quick = answered_quickly(&ended, Span::from_millis(took));
    let now = inner.cx.clock.now();
    add(&inner.cx.metrics.pages, 1);
    let before = memory.clone();
    let verdict = judged::page(inner, &ended, memory, now).await;
    let resume_over = verdict.resume_over;
    let mut events = judged::events(inner, host, &verdict.notices, now);
    let outcome = match fetched {
        Fetched::Article(fetched) => outcome(inner, &work, fetched, verdict.excused, now),
        Fetched::Site(found) => elsewhere::outcome(&work, found, now),
    };
    let unique_text = has_unique_text(&work);
    events.extend(given_up(&work, &outcome));
    let ends = verdict.release.is_some() || verdict.host_hold_until.is_some();
    let release = turn.release(ends, verdict.host_gap, memory.latest_success, quick, now);
    let released = release.is_some();
    let commit = ArticleCommit {
        lease: turn.lease,
        work_id: work.id,
        source_id: work.source_id,
        at: now,
        host_hold_until: verdict.host_hold_until,
        outcome,
        unique_text,
        events,
        host_effects: judged::page_host_effects(verdict, memory),
    };
    let committed = match inner.recorder.commit_article(commit, release).await {
        Err(error) if error.is_about_a_row() => {
            *memory = before;
            return refused(inner, turn, &work, &error).await;
        }
        committed => committed?,
    };
    let stored = matches!(committed, CommitOutcome::Stored { .. });
    match &committed {
        CommitOutcome::Stored { new, changed } => {
            add(&inner.cx.metrics.posts_new, new.len() as u64);
            add(&inner.cx.metrics.posts_updated, changed.len() as u64);
        }
        CommitOutcome::Discarded => *memory = before,
    }
    judged::resume(inner, resume_over, now).await;
    Ok(Polled { released, stored, quick, ended: None })
}

/// The database takes other pages, but not this one: that is a try, like a page that cannot be had.
async fn refused(inner: &Inner, turn: Turn, work: &ArticleWork, error: &StoreError) -> Shared<Polled> {
    let now = inner.cx.clock.now();
    tracing::error!(url = %Redacted(&work.url), %error, "a page could not be recorded; nothing of it is kept");
    let error = format!("it could not be recorded: {error}");
    let outcome = match retry(work.tries, None, now, inner.cx.random.jitter()) {
        Some(at) => ArticleOutcome::Retry { at, error, counts: true },
        None => ArticleOutcome::GivenUp { error },
    };
    record(inner, turn, work, outcome).await
}

/// Records what becomes of a page whose host was not asked, or whose answer cannot be kept.
async fn record(inner: &Inner, turn: Turn, work: &ArticleWork, outcome: ArticleOutcome) -> Shared<Polled> {
    let now = inner.cx.clock.now();
    // A look at a site is made again by a later poll, if it is needed then.
    let outcome = match work.purpose {
        WorkPurpose::Relocation => ArticleOutcome::Dropped,
        WorkPurpose::Article => outcome,
    };
    let release = turn.release(false, Span::ZERO, None, None, now);
    let released = release.is_some();
    let commit = ArticleCommit {
        lease: turn.lease,
        work_id: work.id,
        source_id: work.source_id,
        at: now,
        host_hold_until: None,
        events: given_up(work, &outcome).into_iter().collect(),
        outcome,
        unique_text: has_unique_text(work),
        host_effects: None,
    };
    let stored =
        matches!(inner.recorder.commit_article(commit, release).await?, CommitOutcome::Stored { .. });
    Ok(Polled { released, stored, quick: None, ended: None })
}

/// Whether the poll that queued a page took equal texts for duplicates.
fn has_unique_text(work: &ArticleWork) -> bool {
    let draft = serde_json::from_str::<Draft>(&work.draft);
    draft.is_ok_and(|draft| draft.filter.duplicates == Duplicates::Content)
}

async fn fetch_and_extract(inner: &Inner, work: &ArticleWork, many: bool) -> Result<Article, Failure> {
    let url = Url::parse(&work.url)
        .map_err(|error| Fault::Blocked(format!("'{}' is no URL: {error}", work.url)).into_failure(None))?;
    let now = inner.cx.clock.now();
    if !work.ignore_robots && work.kind != Kind::Feed {
        inner.cx.fetcher.check_robots(&url, now).await?;
    }
    let credential =
        credential::of_page(&inner.vault, work, &url).map_err(|fault| fault.into_failure(None))?;
    let accept = ACCEPT_PAGES.to_owned();
    let request = Request { accept, credential, keep_connection: many, ..Request::new(url) };
    let response = inner.cx.fetcher.fetch(&request, now).await?;
    off_the_threads(inner, move || {
        let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
        page.html()?;
        if let Some(wall) = bot_wall(&page) {
            return Err(Fault::Unreadable(wall.message("page")));
        }
        let article = extract(&page);
        match wall(&page, &article, now) {
            Some(evidence) => Err(Fault::Unreadable(format!("it is no article: {evidence}"))),
            None => Ok(article),
        }
    })
    .await
}

/// What gives a page away as a wall that asks to log in or to prove that one is human, or as a parked domain.
fn wall(page: &Page<'_>, article: &Article, now: Time) -> Option<String> {
    let looked_at = Look {
        wanted: Wanted::Page,
        html: true,
        bytes: page.body.len() as u64,
        entries: 1,
        entries_before: 1,
        suspected: None,
        rhythm: None,
        title: article.title.as_deref().unwrap_or_default(),
        text: &article.text,
    };
    match look(&looked_at, now) {
        Sight::Wrong(suspect) => Some(suspect.evidence),
        Sight::Fine | Sight::Nothing => None,
    }
}

/// The event of a page that is given up.
fn given_up(work: &ArticleWork, outcome: &ArticleOutcome) -> Option<NewEvent> {
    match outcome {
        ArticleOutcome::GivenUp { error } => {
            let source = (work.source_id, work.source_url.as_str());
            Some(NewEvent::of_given_up_page(source, &work.url, work.tries.saturating_add(1), error))
        }
        _ => None,
    }
}

/// What becomes of a page: a post, a post's text, another try, or nothing.
fn outcome(
    inner: &Inner,
    work: &ArticleWork,
    fetched: Result<Article, Failure>,
    excused: bool,
    now: Time,
) -> ArticleOutcome {
    let (url, source) = (Redacted(&work.url), Redacted(&work.source_url));
    let draft = match serde_json::from_str::<Draft>(&work.draft) {
        Ok(draft) => draft,
        Err(error) => {
            tracing::error!(%url, %source, %error, "page given up: what was kept of its entry cannot be read");
            return ArticleOutcome::GivenUp {
                error: format!("what was kept of its entry cannot be read: {error}"),
            };
        }
    };
    match fetched {
        Ok(article) if work.kind == Kind::Feed => feed_text(draft, work, article, now),
        Ok(article) => index_post(draft, work, article, now),
        // It waits with its host, and no try is spent.
        Err(failure) if excused => {
            ArticleOutcome::Retry { at: now + EXCUSED, error: failure.message, counts: false }
        }
        Err(failure) => {
            let (error_type, error) = (failure.kind.name(), Redacted(&failure.message));
            match retry(work.tries, failure.retry_after, now, inner.cx.random.jitter()) {
                Some(at) => {
                    tracing::info!(%url, %source, error_type, %error, %at, "page failed; tried again");
                    ArticleOutcome::Retry { at, error: failure.message, counts: true }
                }
                None => {
                    let tries = work.tries.saturating_add(1);
                    tracing::warn!(%url, %source, error_type, %error, tries, "page given up");
                    ArticleOutcome::GivenUp { error: failure.message }
                }
            }
        }
    }
}

/// The post that a page of an index makes, unless it turns out to be too old. A page knows its title, author and date
/// better than the link to it.
fn index_post(draft: Draft, work: &ArticleWork, article: Article, now: Time) -> ArticleOutcome {
    let published_at = believable(article.published_at, now).or(draft.published_at);
    if let Some(skipped) = skipped_by_age(&draft.filter, published_at) {
        return ArticleOutcome::Unused(skipped);
    }
    let (title, url) = (article.title.or(draft.title), Some(work.url.clone()));
    ArticleOutcome::Post(Box::new(NewPost {
        content_hash: content_hash(title.as_deref(), url.as_deref(), &article.text),
        guid: draft.guid,
        url,
        title,
        body: article.text,
        raw_content: Some(article.html),
        author: article.author.or(draft.author),
        published_at,
    }))
}

/// The text that a page gives to the post of a feed's entry. A feed knows its entries' titles, authors and dates better
/// than their pages do; where a page is no article, what the feed says may be more.
fn feed_text(draft: Draft, work: &ArticleWork, article: Article, now: Time) -> ArticleOutcome {
    let of_feed = || draft.raw_content.as_deref().map(text::plain_text).unwrap_or_default();
    if !article.extracted && draft.raw_content.is_some() && of_feed().len() >= article.text.len() {
        return ArticleOutcome::Unused(Skipped::default());
    }
    let (title, url) = (draft.title.or(article.title), Some(work.url.clone()));
    let post = NewPost {
        content_hash: content_hash(title.as_deref(), url.as_deref(), &article.text),
        guid: draft.guid,
        url,
        title,
        body: article.text,
        raw_content: Some(article.html),
        author: draft.author.or(article.author),
        published_at: draft.published_at.or(believable(article.published_at, now)),
    };
    ArticleOutcome::Text { post: Box::new(post), revises: draft.revises }
}
