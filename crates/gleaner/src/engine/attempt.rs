//! One try at a source: fetched, read, and held against what is known. Every way it can fail is an outcome.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use gleaner_core::classify::Fault;
use gleaner_core::follow::{EntryRules, Follow, Followed, select_entries};
use gleaner_core::identity::{Filter, Seen};
use gleaner_core::link;
use gleaner_core::outcome::{Failure, Outcome};
use gleaner_core::recheck;
use gleaner_core::redirect::{self, Redirect, Step};
use gleaner_core::schedule::Hints;
use gleaner_core::source::Kind;
use gleaner_core::suspect::{Reason, Sight, look_again};
use gleaner_core::time::{Span, Time};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use super::elsewhere::InItsPlace;
use super::host::host_key;
use super::record::Shared;
use super::sight::Before;
use super::{Inner, auto, credential, x};
use crate::config::Config;
use crate::fetch::{Request, Response, Validators};
use crate::read::{self, Document, MissingEntries, Page, ReadOptions};
use crate::store::{Memory, Source, SourceMove, SourceSettings, StoreError};
use crate::vault::Vault;

/// Makes a document of a page, or says why it is none. Runs off the async threads, except on small feeds.
pub type Reader = fn(&Page<'_>, &ReadOptions<'_>) -> Result<Document, Fault>;

/// What reads which kind of source.
#[derive(Clone, Copy)]
pub struct Readers {
    /// Feeds.
    pub feed: Reader,
    /// Pages whose content changes.
    pub website: Reader,
    /// Index pages.
    pub watchlist: Reader,
}

/// Raised when a reader makes something else of the same bytes: then validators of before are not used.
const READER_VERSION: i64 = 1;

/// What came of a try.
pub(super) struct Attempt {
    pub(super) outcome: Outcome,
    /// What of the document is new, and which pages are to be fetched; none where there was nothing to read.
    pub(super) found: Option<Followed>,
    /// What was wrong with the document, though it could be read.
    pub(super) note: Option<String>,
    /// What to remember of the server; none: what it was.
    pub(super) memory: Option<Memory>,
    /// Where the source has moved for good.
    pub(super) moved: Option<SourceMove>,
    /// Where it is redirected for good, but not moved to, since it has credentials.
    pub(super) proposed_move: Option<String>,
    /// Whether something seems to be wrong with what came.
    pub(super) sight: Sight,
    /// The page that came in place of a feed.
    pub(super) in_its_place: Option<InItsPlace>,
    /// The dates of all entries, where nothing is known yet of when the source publishes.
    pub(super) dates: Vec<Time>,
    pub(super) status: Option<u16>,
    pub(super) bytes: u64,
    pub(super) duration: Span,
}

impl Default for Readers {
    fn default() -> Self {
        Self { feed: read::feed::read, website: read::website::read, watchlist: read::watchlist::read }
    }
}

impl Readers {
    fn of(&self, kind: Kind) -> Reader {
        match kind {
            // X has an API of its own, and never comes here.
            Kind::Feed | Kind::X => self.feed,
            Kind::Website => self.website,
            Kind::Watchlist => self.watchlist,
        }
    }
}

impl Attempt {
    pub(super) fn failed(failure: Failure) -> Self {
        let status = failure.status;
        Self { outcome: Outcome::Failed(failure), status, ..Self::nothing() }
    }

    pub(super) fn nothing() -> Self {
        Self {
            outcome: Outcome::NotModified { retry_after: None },
            found: None,
            note: None,
            memory: None,
            moved: None,
            proposed_move: None,
            sight: Sight::Nothing,
            in_its_place: None,
            dates: Vec::new(),
            status: None,
            bytes: 0,
            duration: Span::ZERO,
        }
    }
}

/// Why a try ends early.
pub(super) enum Halt {
    /// With this outcome.
    Failed(Failure),
    /// With none: the database is not there, which says nothing of the source.
    Store(Arc<StoreError>),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Halt {
    /// `what` could not be read. Where only that is the trouble it is a failure of ours, and backed off like any other.
    pub(super) fn unread(what: &str, error: Arc<StoreError>) -> Self {
        if error.is_for_all() {
            return Self::Store(error);
        }
        Fault::Internal(format!("{what} could not be read: {error}")).into_failure(None).into()
    }
}

/// Tries a source once, as one of `many` of its host or alone. A panic on the way is a failure of ours.
pub(super) async fn attempt(inner: &Inner, source: &Source, many: bool) -> Shared<Attempt> {
    let begun = Instant::now();
    let tried = async {
        match source.settings.kind {
            Kind::X => x::fetch_and_read(inner, source).await,
            Kind::Feed | Kind::Website | Kind::Watchlist => fetch_and_read(inner, source, many).await,
        }
    };
    let mut attempt = match caught(tried).await {
        Ok(attempt) => attempt,
        Err(Halt::Failed(failure)) => Attempt::failed(failure),
        Err(Halt::Store(error)) => return Err(error),
    };
    auto::learn(&inner.cx.config.judgement.rules.adaptive, source, &mut attempt, inner.cx.clock.now());
    let duration = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Attempt { duration: Span::from_millis(duration), ..attempt })
}

/// A panic is a failure like any other.
pub(super) async fn caught<T, E: From<Failure>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(&*panic).into()))
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fault::Internal(format!("panicked: {}", words.unwrap_or("without a word"))).into_failure(None)
}

async fn fetch_and_read(inner: &Inner, source: &Source, many: bool) -> Result<Attempt, Halt> {
    let now = inner.cx.clock.now();
    let request = request(&inner.vault, source, many, now).map_err(|fault| fault.into_failure(None))?;
    let known_validators = validators(source);
    let withheld = request.validators.is_empty() && !known_validators.is_empty();
    if heeds_robots(source) {
        inner.cx.fetcher.check_robots(&request.url, now).await?;
    }
    let response = match inner.cx.fetcher.fetch(&request, now).await {
        // A server that says so without being asked is asked as usual.
        Err(failed) if withheld && failed.status == Some(304) => {
            inner.cx.fetcher.fetch(&Request { validators: known_validators, ..request }, now).await
        }
        answer => answer,
    };
    let response = response.map_err(Failure::from)?;
    let retry_after = response.hints.retry_after;
    let attempt = Attempt { status: Some(response.status), bytes: response.wire_bytes, ..Attempt::nothing() };
    let body_hash = xxh3_64(&response.body) as i64;
    if response.not_modified || is_current(source) && source.memory.body_hash == Some(body_hash) {
        let memory = remember_unchanged(source, &response, now);
        let (moved, proposed_move) = moved(inner, source, &memory, now, true);
        let memory = (memory != source.memory).then_some(memory);
        let sight = look_again(source.suspect.as_ref(), source.memory.hints.rhythm, now);
        return Ok(Attempt {
            outcome: Outcome::NotModified { retry_after },
            memory,
            moved,
            proposed_move,
            sight,
            ..attempt
        });
    }
    let known = known(inner, source).await?;
    let (read, sight) = read_and_sift(inner, source, response, known, now).await?;
    let Read { hints, missing_entries, found, dates, response } = match read {
        Ok(read) => read,
        Err((fault, in_its_place)) => {
            let failure = Failure { status: Some(200), ..fault.into_failure(None) };
            return Ok(Attempt { sight, in_its_place, bytes: attempt.bytes, ..Attempt::failed(failure) });
        }
    };
    let found_unreliable = withheld && hides_changes(&source.memory, &response, &found);
    let validators_unreliable = source.memory.hints.validators_unreliable || found_unreliable;
    let hints = Hints {
        max_age: response.hints.max_age,
        expires: response.hints.expires,
        validators_unreliable,
        ends_early: missing_entries == Some(MissingEntries::Truncated),
        ..hints
    };
    let redirect = observe_redirect(source, &response, now);
    let memory = if missing_entries != Some(MissingEntries::Truncated) && found.waiting == 0 {
        Memory {
            etag: response.validators.etag,
            last_modified: response.validators.last_modified,
            body_hash: Some(body_hash),
            reader_version: Some(READER_VERSION),
            hints,
            redirect,
            cursor: source.memory.cursor.clone(),
            habit: source.memory.habit.clone(),
        }
    } else {
        // Validators of a document that was not read to its end would hide the rest for ever.
        Memory { hints, redirect, ..source.memory.clone() }
    };
    let (moved, proposed_move) = moved(inner, source, &memory, now, found.rest.skipped.known > 0);
    let outcome = Outcome::Fetched { retry_after };
    let note = missing_entries.map(|missing| missing.to_string()).or_else(|| waiting(&found));
    let note = note.or_else(|| found_unreliable.then(|| UNRELIABLE.to_owned()));
    let (found, memory) = (Some(found), Some(memory));
    Ok(Attempt { outcome, found, note, memory, moved, proposed_move, sight, dates, ..attempt })
}

/// All that is remembered of a source's entries. Without a success so far nothing can have been seen.
pub(super) async fn known(inner: &Inner, source: &Source) -> Result<Vec<Seen>, Halt> {
    if source.health.last_success_at.is_none() {
        return Ok(Vec::new());
    }
    inner.recorder.known(source.id).await.map_err(|error| Halt::unread("what is known of it", error))
}

/// What decides which entries of a source become posts, in its polls and in previews of it.
pub fn entry_rules(
    config: &Config,
    settings: &SourceSettings,
    is_first_poll: bool,
    created_at: Time,
    now: Time,
) -> EntryRules {
    let max_age = config.source.max_article_age;
    EntryRules {
        filter: Filter::new(now, max_age, is_first_poll, settings.backfill, created_at)
            .with_duplicates(config.duplicates(settings.kind, settings.duplicates)),
        follow: Follow::of(settings.kind, settings.full_content, is_first_poll),
        page_limit: config.source.max_articles_per_poll as usize,
    }
}

/// The rules of a source's next poll.
pub(super) fn rules_of(inner: &Inner, source: &Source, now: Time) -> EntryRules {
    let is_first_poll = source.health.last_success_at.is_none();
    entry_rules(&inner.cx.config, &source.settings, is_first_poll, source.created_at, now)
}

/// Whether robots.txt is asked first: pages are for people, feeds and X's API are for programs.
fn heeds_robots(source: &Source) -> bool {
    matches!(source.settings.kind, Kind::Website | Kind::Watchlist) && !source.settings.ignore_robots
}

/// What this version of the reader has read, so that it may be asked for changes only.
fn is_current(source: &Source) -> bool {
    source.memory.reader_version == Some(READER_VERSION) && !auto::is_unknown(source)
}

/// Said of the poll that finds it out.
const UNRELIABLE: &str = "new entries came with the ETag and Last-Modified of the document before; \
    from now on the whole document is fetched each time";

/// Whether a document brings something new under the validators of the one before: a conditional request would have
/// been answered with 304.
fn hides_changes(before: &Memory, response: &Response, found: &Followed) -> bool {
    let Memory { etag, last_modified, .. } = before;
    let Validators { etag: new_etag, last_modified: new_last_modified } = &response.validators;
    let same = match (etag, new_etag) {
        (None, None) => last_modified.is_some() && last_modified == new_last_modified,
        _ => etag == new_etag,
    };
    same && !(found.rest.new.is_empty() && found.pages.is_empty())
}

/// The validators of the latest document, unless they were found to hide changes.
fn validators(source: &Source) -> Validators {
    if !is_current(source) || source.memory.hints.validators_unreliable {
        return Validators::default();
    }
    let Memory { etag, last_modified, .. } = source.memory.clone();
    Validators { etag, last_modified }
}

/// Whether it is time for a request without validators.
fn is_recheck_due(source: &Source, now: Time) -> bool {
    let is_frozen = source.suspect.as_ref().is_some_and(|suspect| suspect.reason == Reason::Frozen);
    recheck::is_due(source.id, source.health.last_success_at, is_frozen, now)
}

fn request(vault: &Vault, source: &Source, many: bool, now: Time) -> Result<Request, Fault> {
    let url = Url::parse(&source.settings.url)
        .map_err(|error| Fault::Blocked(format!("'{}' is no URL: {error}", source.settings.url)))?;
    let accept = match source.settings.kind {
        Kind::Feed | Kind::X => read::feed::ACCEPT,
        Kind::Website | Kind::Watchlist => read::ACCEPT_PAGES,
    };
    let validators = if is_recheck_due(source, now) { Validators::default() } else { validators(source) };
    let credential = credential::of_source(vault, source)?;
    // Ten thousand hosts that are asked once in half an hour would leave as many idle connections.
    let keep_connection = many;
    Ok(Request { accept: accept.to_owned(), validators, credential, keep_connection, ..Request::new(url) })
}

fn waiting(found: &Followed) -> Option<String> {
    let (now, later) = (found.pages.len(), found.waiting);
    (later > 0).then(|| format!("{now} pages are fetched now, {later} more at the next polls"))
}

/// A document that was read, and what of it is new.
struct Read {
    hints: Hints,
    missing_entries: Option<MissingEntries>,
    found: Followed,
    dates: Vec<Time>,
    response: Response,
}

/// Why a document could not be read, and the page that it is, where a feed was expected.
type Unread = (Fault, Option<InItsPlace>);

async fn read_and_sift(
    inner: &Inner,
    source: &Source,
    response: Response,
    known: Vec<Seen>,
    now: Time,
) -> Result<(Result<Read, Unread>, Sight), Failure> {
    let (before, reader) = (Before::of(source, &known), inner.cx.readers.of(source.settings.kind));
    let dead = (source.settings.kind == Kind::Feed).then(|| source.settings.url.clone());
    let entry_rules = rules_of(inner, source, now);
    let (article_selector, ignore_selector) =
        (source.settings.article_selector.clone(), source.settings.ignore_selector.clone());
    let wants_dates = auto::is_unknown(source);
    let size = response.body.len();
    let work = move || {
        let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
        let rules = ReadOptions {
            article_selector: article_selector.as_deref(),
            ignore_selector: ignore_selector.as_deref(),
        };
        let document = reader(&page, &rules);
        let rhythm = document.as_ref().ok().and_then(|document| before.rhythm(document, now));
        let sight = before.look(&page, document.as_ref().ok(), rhythm, now);
        let document = match document {
            Ok(document) => document,
            Err(fault) => {
                let page = dead.and_then(|dead| InItsPlace::of(&page, &dead));
                return Ok((Err((fault, page)), sight));
            }
        };
        let Document { hints, missing_entries, entries, .. } = document;
        let dates = entries.iter().filter(|_| wants_dates).filter_map(|entry| entry.published_at).collect();
        let is_complete = missing_entries.is_none();
        let found = select_entries(entries, &known, &entry_rules, is_complete, now, read::body_text);
        let hints = Hints { rhythm, ..hints };
        Ok((Ok(Read { hints, missing_entries, found, dates, response }), sight))
    };
    if source.settings.kind == Kind::Feed && size <= SMALL {
        return work().map_err(unreadable);
    }
    off_the_threads(inner, work).await
}

/// The largest feed that is read where it arrived: that takes well under a millisecond, and handing it to another
/// thread and back would cost as much again.
const SMALL: usize = 128 << 10;

fn unreadable(fault: Fault) -> Failure {
    Failure { status: Some(200), ..fault.into_failure(None) }
}

/// Parsing and text extraction are work for the processor: off the async threads, panics and all.
pub(super) async fn off_the_threads<T: Send + 'static>(
    inner: &Inner,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Failure> {
    // More readers than processors would only take turns, each with memory of its own.
    let _turn = inner.readers.acquire().await;
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => read.map_err(unreadable),
        Err(error) => Err(panicked(&*error.into_panic())),
    }
}

/// What changes when the document has not: validators and freshness that came with the 304, and redirects.
fn remember_unchanged(source: &Source, response: &Response, now: Time) -> Memory {
    let old = source.memory.clone();
    let validators = response.validators.clone();
    let (max_age, expires) = (response.hints.max_age, response.hints.expires);
    Memory {
        etag: validators.etag.or(old.etag),
        last_modified: validators.last_modified.or(old.last_modified),
        hints: Hints {
            max_age: max_age.or(old.hints.max_age),
            expires: expires.or(old.hints.expires),
            ..old.hints
        },
        redirect: observe_redirect(source, response, now),
        ..old
    }
}

/// The permanent redirect that a source is observed for, as kept in [`Memory::redirect`].
pub fn observed_redirect(memory: &Memory) -> Option<Redirect> {
    serde_json::from_str(memory.redirect.as_deref()?).ok()
}

/// Counts a poll's permanent redirect.
fn observe_redirect(source: &Source, response: &Response, now: Time) -> Option<String> {
    let to = response.moved_to().map(Url::to_string);
    let redirect = redirect::observe(observed_redirect(&source.memory), to, now)?;
    serde_json::to_string(&redirect).ok()
}

/// Where a source moves, and where a person is asked to move it.
fn moved(
    inner: &Inner,
    source: &Source,
    memory: &Memory,
    now: Time,
    shares_posts: bool,
) -> (Option<SourceMove>, Option<String>) {
    let Some(redirect) = observed_redirect(memory) else { return (None, None) };
    let settings = &source.settings;
    match redirect::decide(&settings.url, &redirect, settings.secret.is_some(), shares_posts, now) {
        Step::Stay => (None, None),
        Step::Propose => (None, Some(redirect.to)),
        Step::Move(reason) => {
            let url = redirect.to.clone();
            let moved = SourceMove {
                canonical_url: link::canonical(&url),
                host: host_key(&inner.cx.config, settings.kind, &url),
                url,
                from: settings.url.clone(),
                reason: reason.in_words().to_owned(),
                redirect,
            };
            (Some(moved), None)
        }
    }
}
