//! Pages of entries: queued by a poll, fetched as work of their own host, each committed by itself.
//!
//! A page that fails is tried again, and given up after the third time. Nothing of it is held against its source.

use gleaner_core::classify::Fault;
use gleaner_core::elsewhere::Advertised;
use gleaner_core::follow::retry;
use gleaner_core::identity::{Filter, Seen, believable};
use gleaner_core::judgement::HostMemory;
use gleaner_core::outcome::Failure;
use gleaner_core::post::{NewPost, content_hash};
use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Serialize};
use tokio::sync::SemaphorePermit;
use url::Url;

use super::attempt::{caught, filter, off_the_threads};
use super::host::host_key;
use super::poll::{Polled, Turn};
use super::record::Shared;
use super::{Inner, elsewhere, judged};
use crate::fetch::Request;
use crate::log::Shown;
use crate::metrics::add;
use crate::read::article::{Article, extract};
use crate::read::glance::bot_wall;
use crate::read::{ACCEPT_PAGES, Page, text};
use crate::store::{
    ArticleCommit, ArticleOutcome, ArticleWork, Committed, NewArticleWork, Source, StoreError,
};

/// A page whose host or whose worker is in trouble is tried again after this, if they are well by then.
const EXCUSED: Span = Span::from_mins(5);

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
}

/// The work that a poll leaves: pages to fetch, at once, in the document's order.
pub(super) fn queue(
    inner: &Inner,
    source: &Source,
    pages: Vec<(NewPost, Seen)>,
    now: Time,
) -> Vec<NewArticleWork> {
    let filter = filter(inner, source, now);
    let work = |(post, seen): (NewPost, Seen)| {
        let url = post.url?;
        let NewPost { guid, title, author, published_at, raw_content, .. } = post;
        let draft = Draft { guid, title, author, published_at, raw_content, filter };
        Some(NewArticleWork {
            host: host_key(&inner.cx.config, source.settings.kind, &url),
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
    permit: SemaphorePermit<'_>,
    turn: Turn,
    host: &str,
    memory: &mut HostMemory,
    work: ArticleWork,
) -> Shared<Polled> {
    let asking = Box::pin(async {
        if work.entry_key == elsewhere::LOOK {
            Fetched::Site(caught(elsewhere::look(inner, &work, turn.many)).await)
        } else {
            Fetched::Article(caught(fetch_and_extract(inner, &work, turn.many)).await)
        }
    });
    let Some(fetched) = inner.leases.while_held(turn.lease, &*inner.cx.clock, asking).await else {
        return Ok(Polled::broken_off(&work.url));
    };
    drop(permit);
    let now = inner.cx.clock.now();
    add(&inner.cx.metrics.pages, 1);
    let before = memory.clone();
    let verdict = judged::page(inner, fetched.failure(), memory, now).await;
    let resume_over = verdict.resume_over;
    let events = judged::events(inner, host, &verdict.notices, now);
    let outcome = match fetched {
        Fetched::Article(fetched) => outcome(inner, &work, fetched, verdict.excused, now),
        Fetched::Site(found) => elsewhere::outcome(&work, found, now),
    };
    let ends = verdict.release.is_some() || verdict.host_hold_until.is_some();
    let release = turn.release(ends, verdict.host_gap, memory.latest_success, now);
    let released = release.is_some();
    let commit = ArticleCommit {
        lease: turn.lease,
        work_id: work.id,
        at: now,
        host_hold_until: verdict.host_hold_until,
        outcome,
        events,
        sequel: judged::page_sequel(verdict, memory),
    };
    let committed = match inner.recorder.commit_article(commit, release).await {
        Err(error) if error.is_about_a_row() => {
            *memory = before;
            return refused(inner, turn, &work, &error).await;
        }
        committed => committed?,
    };
    let stored = matches!(committed, Committed::Stored { .. });
    match &committed {
        Committed::Stored { new, .. } => add(&inner.cx.metrics.posts_new, new.len() as u64),
        Committed::Discarded => *memory = before,
    }
    judged::resume(inner, resume_over, now).await;
    Ok(Polled { released, stored, ended: None })
}

/// The database takes other pages, but not this one: that is a try, like a page that cannot be had.
async fn refused(inner: &Inner, turn: Turn, work: &ArticleWork, error: &StoreError) -> Shared<Polled> {
    let now = inner.cx.clock.now();
    tracing::error!(url = %Shown(&work.url), %error, "a page could not be recorded; nothing of it is kept");
    let outcome =
        retry(work.tries, None, now, inner.cx.chance.jitter()).map_or(ArticleOutcome::GivenUp, |at| {
            ArticleOutcome::Retry { at, error: error.to_string(), counts: true }
        });
    let release = turn.release(false, Span::ZERO, None, now);
    let released = release.is_some();
    let commit = ArticleCommit {
        lease: turn.lease,
        work_id: work.id,
        at: now,
        host_hold_until: None,
        outcome,
        events: Vec::new(),
        sequel: None,
    };
    let stored = matches!(inner.recorder.commit_article(commit, release).await?, Committed::Stored { .. });
    Ok(Polled { released, stored, ended: None })
}

async fn fetch_and_extract(inner: &Inner, work: &ArticleWork, many: bool) -> Result<Article, Failure> {
    let url = Url::parse(&work.url)
        .map_err(|error| Fault::Blocked(format!("'{}' is no URL: {error}", work.url)).into_failure(None))?;
    let now = inner.cx.clock.now();
    if !work.ignore_robots && work.kind != Kind::Feed {
        inner.cx.fetcher.allowed(&url, now).await?;
    }
    let request = Request { accept: ACCEPT_PAGES.to_owned(), keep_connection: many, ..Request::new(url) };
    let response = inner.cx.fetcher.fetch(&request, now).await?;
    off_the_threads(inner, move || {
        let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
        page.html()?;
        if let Some(wall) = bot_wall(&page) {
            return Err(Fault::Unreadable(wall.message("page")));
        }
        Ok(extract(&page))
    })
    .await
}

/// What becomes of a page: a post, another try, or nothing.
fn outcome(
    inner: &Inner,
    work: &ArticleWork,
    fetched: Result<Article, Failure>,
    excused: bool,
    now: Time,
) -> ArticleOutcome {
    let Ok(draft) = serde_json::from_str::<Draft>(&work.draft) else { return ArticleOutcome::GivenUp };
    let url = Shown(&work.url);
    match fetched {
        Ok(article) => match post(&draft, work, article, now) {
            Some(post) => ArticleOutcome::Post(Box::new(post)),
            None => ArticleOutcome::GivenUp,
        },
        // It waits with its host, and no try is spent.
        Err(failure) if excused => {
            ArticleOutcome::Retry { at: now + EXCUSED, error: failure.message, counts: false }
        }
        Err(failure) => match retry(work.tries, failure.retry_after, now, inner.cx.chance.jitter()) {
            Some(at) => {
                tracing::info!(%url, error_type = failure.kind.name(), error = %Shown(&failure.message), %at, "page failed; tried again");
                ArticleOutcome::Retry { at, error: failure.message, counts: true }
            }
            None => {
                tracing::warn!(%url, error_type = failure.kind.name(), error = %Shown(&failure.message), "page given up after three tries");
                own_content(draft, work)
                    .map_or(ArticleOutcome::GivenUp, |post| ArticleOutcome::Post(post.into()))
            }
        },
    }
}

/// The post that a page makes, unless it turns out to be too old. A feed knows its entries' titles, authors and dates
/// better than their pages do; an index knows its links'.
fn post(draft: &Draft, work: &ArticleWork, article: Article, now: Time) -> Option<NewPost> {
    let of_feed = work.kind == Kind::Feed;
    let first = |own: Option<String>, page: Option<String>| if of_feed { own.or(page) } else { page.or(own) };
    let title = first(draft.title.clone(), article.title);
    let author = first(draft.author.clone(), article.author);
    let published_at = draft
        .published_at
        .filter(|_| of_feed)
        .or(believable(article.published_at, now))
        .or(draft.published_at);
    if !draft.filter.passes(published_at) {
        return None;
    }
    let summary = draft.raw_content.as_deref().map(text::plain_text).unwrap_or_default();
    // Where a page is no article, what the feed says is more.
    let (body, raw_content) = match draft.raw_content.clone().filter(|_| !article.extracted) {
        Some(own) if summary.len() >= article.text.len() => (summary, own),
        _ => (article.text, article.html),
    };
    let url = Some(work.url.clone());
    let content_hash = content_hash(title.as_deref(), url.as_deref(), &body);
    let guid = draft.guid.clone();
    Some(NewPost {
        guid,
        url,
        title,
        body,
        raw_content: Some(raw_content),
        author,
        published_at,
        content_hash,
    })
}

/// What a feed says of an entry whose page cannot be had.
fn own_content(draft: Draft, work: &ArticleWork) -> Option<NewPost> {
    let raw_content = draft.raw_content?;
    let body = text::plain_text(&raw_content);
    let url = Some(work.url.clone());
    Some(NewPost {
        content_hash: content_hash(draft.title.as_deref(), url.as_deref(), &body),
        guid: draft.guid,
        url,
        title: draft.title,
        body,
        raw_content: Some(raw_content),
        author: draft.author,
        published_at: draft.published_at,
    })
}
