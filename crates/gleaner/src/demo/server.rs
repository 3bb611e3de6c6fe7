//! The demo's web server: one listener on loopback that serves every host, distinguished by the `Host` header.

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

use super::pages::{self, Document};
use super::publishers::PUBLISHERS;
use super::scenario::{Behaviour, Format, Item, Publisher, Scenario};
use super::{MAX_BODY, TIMEOUT, VANISHED_HOST, X_HOST};
use crate::clock::{Clock as _, FastClock};
use crate::fetch::NetworkOverrides;

/// The directory that moved documents are in, below their old one.
const MOVED_DIR: &str = "new-home/";

/// The running server; it stops when this is dropped.
pub struct DemoServer {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

struct ServerState {
    scenario: Scenario,
    clock: Arc<FastClock>,
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl DemoServer {
    /// Starts the server on a free port.
    pub async fn start(scenario: Scenario, clock: Arc<FastClock>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state(Arc::new(ServerState { scenario, clock }));
        let serving = tokio::spawn(async move {
            // It serves until it is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, serving })
    }

    /// The host names of all publishers.
    pub fn network_overrides(&self) -> NetworkOverrides {
        let hosts = PUBLISHERS
            .iter()
            .map(|publisher| publisher.host)
            .filter(|host| *host != VANISHED_HOST)
            .chain([X_HOST]);
        let names: BTreeMap<_, _> = hosts.map(|host| (host.to_owned(), self.address)).collect();
        NetworkOverrides { names, ..NetworkOverrides::default() }
    }
}

async fn answer(State(server): State<Arc<ServerState>>, uri: Uri, headers: HeaderMap) -> Response {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (host, known) = (text(HOST), text(IF_NONE_MATCH));
    let now = server.clock.now();
    let answer = if host == X_HOST {
        find_on_x(&server.scenario, &uri, now)
    } else {
        find_page(&server.scenario, host, &uri, now)
    };
    let Some(Answer { behaviour, document, tag }) = answer else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // Do not wait while the clock is set manually.
    if server.clock.is_running() {
        match behaviour {
            Behaviour::Slow => tokio::time::sleep(TIMEOUT / 2).await,
            Behaviour::Stalled => tokio::time::sleep(TIMEOUT * 2).await,
            _ => {}
        }
    }
    respond(behaviour, document, &tag, known, &uri)
}

/// The answer to a request.
struct Answer {
    behaviour: Behaviour,
    document: Document,
    /// The `ETag`, which changes with the document.
    tag: String,
}

impl Answer {
    fn new(publisher: &Publisher, hour: i64, newest: Option<&Item>, document: Document) -> Self {
        Self {
            behaviour: publisher.behaviour(hour),
            document,
            tag: format!("\"{}\"", newest.map_or(0, |item| item.number)),
        }
    }
}

/// The document of a host at a path, if there is one.
fn find_page(scenario: &Scenario, host: &str, uri: &Uri, now: Time) -> Option<Answer> {
    let here = |(_, publisher): &(usize, &Publisher)| {
        publisher.host == host && uri.path().starts_with(publisher.dir)
    };
    let (who, publisher) =
        PUBLISHERS.iter().enumerate().filter(here).max_by_key(|(_, publisher)| publisher.dir.len())?;
    let (rest, items) = (uri.path().strip_prefix(publisher.dir)?, scenario.published(who, now));
    let newest = items.first();
    let normal = |answer: Answer| Answer { behaviour: Behaviour::Normal, ..answer };
    let new = |document| Answer::new(publisher, scenario.hour(now), newest, document);
    if rest == publisher.file() {
        return Some(new(pages::document(publisher, &items)));
    }
    if rest.strip_prefix(MOVED_DIR) == Some(publisher.file()) {
        return Some(normal(new(pages::document(publisher, &items))));
    }
    if rest.is_empty() {
        let feed = pages::document(publisher, &items).content_type;
        return Some(normal(new(pages::home(publisher, feed))));
    }
    let number: u64 = rest.split('-').next()?.parse().ok()?;
    let item = items.iter().find(|item| item.number == number)?;
    Some(normal(new(pages::article(item, &item.title))))
}

/// The answer of the stand-in for X's API. An account's id is its index in [`PUBLISHERS`].
fn find_on_x(scenario: &Scenario, uri: &Uri, now: Time) -> Option<Answer> {
    let parts: Vec<&str> = uri.path().split('/').skip(2).collect();
    let is = |(who, publisher): &(usize, &Publisher)| match parts[..] {
        ["users", "by", "username", handle] => publisher.dir.strip_prefix('/') == Some(handle),
        ["users", id, "tweets"] => id == who.to_string(),
        _ => false,
    };
    let (who, publisher) = PUBLISHERS
        .iter()
        .enumerate()
        .filter(|(_, publisher)| publisher.format == Format::Timeline)
        .find(is)?;
    let handle = publisher.dir.trim_start_matches('/');
    let items = scenario.published(who, now);
    let since = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == "since_id").then(|| value.parse().unwrap_or(0)));
    let document = match parts.last() {
        Some(&"tweets") => pages::timeline(who, handle, &items, since.unwrap_or(0)),
        _ => pages::account(who, handle),
    };
    Some(Answer::new(publisher, scenario.hour(now), items.first(), document))
}

/// Builds the response for this behaviour.
fn respond(behaviour: Behaviour, document: Document, tag: &str, known: &str, uri: &Uri) -> Response {
    let Document { content_type, body } = document;
    let plain =
        |status: StatusCode, header: HeaderName, value: String| (status, [(header, value)]).into_response();
    match behaviour {
        Behaviour::Status(status) => StatusCode::from_u16(status).unwrap_or_default().into_response(),
        Behaviour::RateLimited(hours) => {
            plain(StatusCode::TOO_MANY_REQUESTS, RETRY_AFTER, (u64::from(hours) * 3600).to_string())
        }
        Behaviour::Moved => {
            let (dir, file) = uri.path().rsplit_once('/').unwrap_or_default();
            plain(StatusCode::MOVED_PERMANENTLY, LOCATION, format!("{dir}/{MOVED_DIR}{file}"))
        }
        Behaviour::PrivateRedirect => plain(StatusCode::FOUND, LOCATION, "http://10.0.0.7/".to_owned()),
        Behaviour::Garbled => {
            ([(CONTENT_TYPE, content_type)], "<?xml version='1.0'?><<rss>This is not a feed</rss>")
                .into_response()
        }
        Behaviour::Oversized => ([(CONTENT_TYPE, content_type)], " ".repeat(2 * MAX_BODY)).into_response(),
        Behaviour::Truncated => {
            let half = body.get(..body.len() / 2).unwrap_or_default().to_owned();
            // The status line is already sent when the stream fails, so the connection is closed.
            let parts = [Ok(half), Err(io::Error::other("connection lost"))];
            Body::from_stream(futures_util::stream::iter(parts)).into_response()
        }
        Behaviour::Normal | Behaviour::Slow | Behaviour::Stalled if !known.is_empty() && known == tag => {
            plain(StatusCode::NOT_MODIFIED, ETAG, tag.to_owned())
        }
        Behaviour::Normal | Behaviour::Slow | Behaviour::Stalled => {
            ([(CONTENT_TYPE, content_type), (ETAG, tag)], body).into_response()
        }
    }
}
