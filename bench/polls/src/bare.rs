//! The baseline: a loop that polls with the same client, parser and database, and does nothing else.
//!
//! It keeps all state in memory and never queries the database. For each new entry it computes what a post needs:
//! plain text and its SHA-256. Keys are xxh3 instead of SHA-256; edited and vanished entries are not detected.
//! Documents are parsed on the async threads, and nothing waits for writes. There is no health, scheduling, claims,
//! leases, events or merged history; a panic or failure ends the run.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use gleaner::fetch::{Fetcher, NetworkOverrides, Request, Validators};
use gleaner::read::{self, text::plain_text};
use gleaner_core::post::content_hash;
use gleaner_core::time::Time;
use gleaner_feed::Text;
use tokio::sync::mpsc;
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use crate::Error;
use crate::child::{Counts, Program};
use crate::database::{self, Poll, Post, Writer};
use crate::gleaner_program::{begin, config};

/// Concurrent requests; gleaner's default.
const IN_FLIGHT: usize = 64;
/// Maximum polls per transaction, as in gleaner.
const BATCH: usize = 200;

/// State of a feed.
struct Feed {
    source_id: i64,
    request: Request,
    known: HashSet<i64>,
}

pub(crate) struct Bare {
    database: String,
    shared: Arc<Shared>,
    writer: Option<Writer>,
}

struct Shared {
    fetcher: Fetcher,
    /// Each feed is taken out while it is polled.
    feeds: Vec<Mutex<Option<Feed>>>,
    next: AtomicUsize,
}

impl Bare {
    pub(crate) async fn open(urls: &[String], database: &str) -> Result<Self, Error> {
        let fetcher = Fetcher::new(&config()?.fetch, &NetworkOverrides::default())?;
        let feed = |(url, source_id): (&String, i64)| -> Result<_, Error> {
            let accept = read::feed::ACCEPT.to_owned();
            let request = Request { accept, keep_connection: false, ..Request::new(Url::parse(url)?) };
            Ok(Mutex::new(Some(Feed { source_id, request, known: HashSet::new() })))
        };
        let feeds = urls.iter().zip(1..).map(feed).collect::<Result<_, _>>()?;
        let shared = Arc::new(Shared { fetcher, feeds, next: AtomicUsize::new(0) });
        let writer = Some(Writer::create(database).await?);
        Ok(Self { database: database.to_owned(), shared, writer })
    }
}

impl Program for Bare {
    async fn round(&mut self) -> Result<(), Error> {
        let mut writer = self.writer.take().ok_or("the writer has failed")?;
        self.shared.next.store(0, Ordering::Relaxed);
        let (sender, mut receiver) = mpsc::channel::<Poll>(2 * BATCH);
        let workers: Vec<_> =
            (0..IN_FLIGHT).map(|_| tokio::spawn(work(Arc::clone(&self.shared), sender.clone()))).collect();
        drop(sender);
        let writing = tokio::spawn(async move {
            let mut polls = Vec::with_capacity(BATCH);
            while receiver.recv_many(&mut polls, BATCH).await > 0 {
                writer.write(&polls).await?;
                polls.clear();
            }
            Ok::<_, Error>(writer)
        });
        for worker in workers {
            worker.await??;
        }
        self.writer = Some(writing.await??);
        Ok(())
    }

    async fn counts(&self) -> Result<Counts, Error> {
        database::counts(&self.database).await
    }
}

async fn work(shared: Arc<Shared>, writer: mpsc::Sender<Poll>) -> Result<(), Error> {
    while let Some(place) = shared.feeds.get(shared.next.fetch_add(1, Ordering::Relaxed)) {
        let taken = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut feed = taken.ok_or("a feed is polled twice at once")?;
        let poll = poll(&shared.fetcher, &mut feed).await?;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(feed);
        writer.send(poll).await.map_err(|_| "the writer has failed")?;
    }
    Ok(())
}

async fn poll(fetcher: &Fetcher, feed: &mut Feed) -> Result<Poll, Error> {
    let begun = Instant::now();
    let response = fetcher.fetch(&feed.request, begin()).await.map_err(|failed| format!("{failed:?}"))?;
    let posts = if response.not_modified {
        Vec::new()
    } else {
        let content_type = std::str::from_utf8(&response.content_type).ok();
        let url = Some(response.url.as_str());
        let options = gleaner_feed::Options { content_type, url, ..gleaner_feed::Options::default() };
        let parsed = gleaner_feed::parse(&response.body, &options)?;
        let Validators { etag, last_modified } = response.validators;
        feed.request.validators = Validators { etag, last_modified };
        parsed.entries.into_iter().filter_map(|entry| post(entry, &mut feed.known)).collect()
    };
    Ok(Poll {
        source_id: feed.source_id,
        at: begin().as_millis(),
        status: response.status,
        duration_ms: begun.elapsed().as_millis() as i64,
        bytes: response.wire_bytes as i64,
        posts,
    })
}

/// The post of an entry, unless it is known.
fn post(entry: gleaner_feed::Entry, known: &mut HashSet<i64>) -> Option<Post> {
    let key = xxh3_64(entry.id.as_deref()?.as_bytes()) as i64;
    if !known.insert(key) {
        return None;
    }
    let url = entry.url().map(str::to_owned);
    let author = entry.author().map(str::to_owned);
    let title = entry.title.as_ref().map(Text::plain);
    let content = entry.content.map(|content| content.text).or(entry.summary);
    let raw_content = content.map(|text| text.value);
    let body = raw_content.as_deref().map(plain_text).unwrap_or_default();
    let hash = content_hash(title.as_deref(), url.as_deref(), &body);
    Some(Post {
        guid: entry.id.map(gleaner_feed::Str::into_string).unwrap_or_default(),
        link: url.as_deref().map(|url| xxh3_64(url.as_bytes()) as i64),
        url,
        title,
        author,
        published_at: entry.published.or(entry.updated).map(|at| Time::from_millis(at).as_millis()),
        body,
        raw_content: raw_content.map(gleaner_feed::Str::into_string),
        content: hash.key(),
        content_hash: hash.0,
        key,
    })
}
