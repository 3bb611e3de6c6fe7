//! The small internet: one server on loopback that is every host, told apart by the name it is asked under.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH, LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use gleaner_core::time::Time;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::cast::CAST;
use super::pages::{self, Document};
use super::story::{Act, Item, Part, Player, Story};
use super::{MAX_BODY, TIMEOUT, VANISHED, X_HOST};
use crate::clock::{Clock as _, FastClock};
use crate::fetch::Outside;

/// Where what moved has moved to, within its old directory.
const NEW_HOME: &str = "new-home/";

/// The running server; it ends with this.
pub struct World {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

struct Server {
    story: Story,
    clock: Arc<FastClock>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl World {
    /// Starts it on a free port.
    pub async fn start(story: Story, clock: Arc<FastClock>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state(Arc::new(Server { story, clock }));
        let serving = tokio::spawn(async move {
            // It serves until it is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, serving })
    }

    /// All names there are.
    pub fn outside(&self) -> Outside {
        let hosts = CAST.iter().map(|player| player.host).filter(|host| *host != VANISHED).chain([X_HOST]);
        let names: BTreeMap<_, _> = hosts.map(|host| (host.to_owned(), self.address)).collect();
        Outside { names, ..Outside::default() }
    }
}

async fn answer(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap) -> Response {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (host, known) = (text(HOST), text(IF_NONE_MATCH));
    let now = server.clock.now();
    let found = if host == X_HOST {
        on_x(&server.story, &uri, now)
    } else {
        on_the_web(&server.story, host, &uri, now)
    };
    let Some(Found { act, document, tag }) = found else { return StatusCode::NOT_FOUND.into_response() };
    // While the clock is set by hand nobody waits.
    if server.clock.runs() {
        match act {
            Act::Slow => tokio::time::sleep(TIMEOUT / 2).await,
            Act::Stalled => tokio::time::sleep(TIMEOUT * 2).await,
            _ => {}
        }
    }
    perform(act, document, &tag, known, &uri)
}

/// What a request is about.
struct Found {
    act: Act,
    document: Document,
    /// Changes with the document.
    tag: String,
}

impl Found {
    fn new(player: &Player, hour: i64, newest: Option<&Item>, document: Document) -> Self {
        Self { act: player.act(hour), document, tag: format!("\"{}\"", newest.map_or(0, |item| item.number)) }
    }
}

/// What a host has under a path; none: nothing.
fn on_the_web(story: &Story, host: &str, uri: &Uri, now: Time) -> Option<Found> {
    let here = |(_, player): &(usize, &Player)| player.host == host && uri.path().starts_with(player.dir);
    let (who, player) = CAST.iter().enumerate().filter(here).max_by_key(|(_, player)| player.dir.len())?;
    let (rest, items) = (uri.path().strip_prefix(player.dir)?, story.published(who, now));
    let newest = items.first();
    let well = |found: Found| Found { act: Act::Well, ..found };
    let new = |document| Found::new(player, story.hour(now), newest, document);
    if rest == player.file() {
        return Some(new(pages::document(player, &items)));
    }
    if rest.strip_prefix(NEW_HOME) == Some(player.file()) {
        return Some(well(new(pages::document(player, &items))));
    }
    if rest.is_empty() {
        let feed = pages::document(player, &items).content_type;
        return Some(well(new(pages::home(player, feed))));
    }
    let number: u64 = rest.split('-').next()?.parse().ok()?;
    let item = items.iter().find(|item| item.number == number)?;
    Some(well(new(pages::article(item, &item.title))))
}

/// What the stand-in for X answers. An account's id is its place in the cast.
fn on_x(story: &Story, uri: &Uri, now: Time) -> Option<Found> {
    let parts: Vec<&str> = uri.path().split('/').skip(2).collect();
    let is = |(who, player): &(usize, &Player)| match parts[..] {
        ["users", "by", "username", handle] => player.dir.strip_prefix('/') == Some(handle),
        ["users", id, "tweets"] => id == who.to_string(),
        _ => false,
    };
    let (who, player) =
        CAST.iter().enumerate().filter(|(_, player)| player.part == Part::Timeline).find(is)?;
    let handle = player.dir.trim_start_matches('/');
    let items = story.published(who, now);
    let since = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == "since_id").then(|| value.parse().unwrap_or(0)));
    let document = match parts.last() {
        Some(&"tweets") => pages::timeline(who, handle, &items, since.unwrap_or(0)),
        _ => pages::account(who, handle),
    };
    Some(Found::new(player, story.hour(now), items.first(), document))
}

/// Answers in the way of the hour.
fn perform(act: Act, document: Document, tag: &str, known: &str, uri: &Uri) -> Response {
    let Document { content_type, body } = document;
    let plain =
        |status: StatusCode, header: HeaderName, value: String| (status, [(header, value)]).into_response();
    match act {
        Act::Status(status) => StatusCode::from_u16(status).unwrap_or_default().into_response(),
        Act::Limited(hours) => {
            plain(StatusCode::TOO_MANY_REQUESTS, RETRY_AFTER, (u64::from(hours) * 3600).to_string())
        }
        Act::Moved => {
            let (dir, file) = uri.path().rsplit_once('/').unwrap_or_default();
            plain(StatusCode::MOVED_PERMANENTLY, LOCATION, format!("{dir}/{NEW_HOME}{file}"))
        }
        Act::Inward => plain(StatusCode::FOUND, LOCATION, "http://10.0.0.7/".to_owned()),
        Act::Garbled => {
            ([(CONTENT_TYPE, content_type)], "<?xml version='1.0'?><<rss>The mice were here</rss>")
                .into_response()
        }
        Act::Huge => ([(CONTENT_TYPE, content_type)], " ".repeat(2 * MAX_BODY)).into_response(),
        Act::CutShort => {
            let half = body.get(..body.len() / 2).unwrap_or_default().to_owned();
            // The answer has begun when the rest fails, so that the connection is all that can be ended.
            let parts = [Ok(half), Err(io::Error::other("the cable is out"))];
            Body::from_stream(futures_util::stream::iter(parts)).into_response()
        }
        Act::Well | Act::Slow | Act::Stalled if !known.is_empty() && known == tag => {
            plain(StatusCode::NOT_MODIFIED, ETAG, tag.to_owned())
        }
        Act::Well | Act::Slow | Act::Stalled => {
            ([(CONTENT_TYPE, content_type), (ETAG, tag)], body).into_response()
        }
    }
}
