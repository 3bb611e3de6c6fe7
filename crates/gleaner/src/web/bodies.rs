//! Bodies of requests: how large each may be, how long it may take, and how much is held of all together.
//!
//! One table says what a route takes; all others take what a form or an object needs.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Sleep;

use super::auth::is_open;
use super::dashboard::Oops;
use super::problem::Problem;
use crate::service::MAX_LIST_BYTES;

const KB: usize = 1 << 10;

/// The largest body of most requests.
const USUAL: usize = 64 * KB;

/// What takes more or less, in bytes: by route.
const LIMITS: [(&str, usize); 9] = [
    ("/login", 16 * KB),
    ("/api/v1/login", 16 * KB),
    // A list of sources as a file.
    ("/import", MAX_LIST_BYTES),
    ("/api/v1/import", MAX_LIST_BYTES),
    // Up to 1,000 ids.
    ("/sources/bulk", 256 * KB),
    ("/api/v1/sources/bulk", 256 * KB),
    ("/api/v1/articles", 256 * KB),
    ("/api/v1/articles/{id}", 256 * KB),
    ("/api/v1/replay", 256 * KB),
];

/// How long a body may take, and one that is a file.
const SECONDS: Duration = Duration::from_secs(15);
const SECONDS_OF_A_FILE: Duration = Duration::from_secs(50);

/// How much is held at a time of the bodies of those who are let in, and of those who are not.
const HELD: usize = 2 * MAX_LIST_BYTES;
const HELD_OF_STRANGERS: usize = 8 << 20;

/// When to come again where that is used up.
const AGAIN_SECONDS: u64 = 5;

/// The largest body of a route.
pub(super) fn limit(route: Option<&str>) -> usize {
    let special = LIMITS.iter().find(|(path, _)| route == Some(*path));
    special.map_or(USUAL, |(_, limit)| *limit)
}

/// How much is held of all bodies.
#[derive(Clone, Default)]
pub(super) struct Bodies {
    known: Arc<AtomicUsize>,
    strangers: Arc<AtomicUsize>,
}

/// Refuses what is too large, too slow, or too much at once.
pub(super) async fn bounded(State(bodies): State<Bodies>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let (limit, open) = (limit(route), is_open(route));
    let is_page = !request.uri().path().starts_with("/api/");
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > limit as u64) {
        return refused(Failure::Oversized, limit, is_page);
    }
    let (held, most) = if open { (bodies.strangers, HELD_OF_STRANGERS) } else { (bodies.known, HELD) };
    let share = Arc::new(Share { all: held, most, held: AtomicUsize::new(0), failure: AtomicU8::new(0) });
    let time = if limit == MAX_LIST_BYTES { SECONDS_OF_A_FILE } else { SECONDS };
    let begun = Arc::clone(&share);
    let request = request.map(|body| {
        let time = Box::pin(tokio::time::sleep(time));
        Body::new(Bounded { body, left: limit, share: begun, time })
    });
    let response = next.run(request).await;
    // Whoever read the body knows only that it could not be read.
    match share.failure() {
        Some(failure) => refused(failure, limit, is_page),
        None => response,
    }
}

/// The answer: a page for people, a problem for programs.
fn refused(failure: Failure, limit: usize, is_page: bool) -> Response {
    let problem = failure.problem(limit);
    if is_page { Oops::from(problem).into_response() } else { problem.into_response() }
}

/// Why a body was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    Oversized = 1,
    Late,
    NoRoom,
}

impl Failure {
    fn problem(self, limit: usize) -> Problem {
        match self {
            Self::Oversized => {
                let most = if limit >= 1 << 20 {
                    format!("{} MB", limit >> 20)
                } else {
                    format!("{} KB", limit / KB)
                };
                let detail = format!("the body is too large: this takes at most {most}");
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "It is too large", detail)
            }
            Self::Late => {
                let detail = "the body did not arrive in time; nothing was done";
                Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "It took too long", detail)
            }
            Self::NoRoom => {
                let detail = "too many large requests are under way; nothing was done; try again later";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Too much is under way", detail)
                    .again_after(AGAIN_SECONDS)
            }
        }
    }
}

/// What one body holds of what all may.
struct Share {
    all: Arc<AtomicUsize>,
    most: usize,
    held: AtomicUsize,
    failure: AtomicU8,
}

impl Share {
    fn take(&self, bytes: usize) -> bool {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.all.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.most
    }

    fn fail(&self, failure: Failure) -> axum::Error {
        self.failure.store(failure as u8, Ordering::Relaxed);
        axum::Error::new(std::io::Error::other("the body is not read any further"))
    }

    fn failure(&self) -> Option<Failure> {
        let all = [Failure::Oversized, Failure::Late, Failure::NoRoom];
        all.into_iter().find(|failure| *failure as u8 == self.failure.load(Ordering::Relaxed))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.fetch_sub(self.held.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A body within its limits.
struct Bounded {
    body: Body,
    left: usize,
    share: Arc<Share>,
    time: Pin<Box<Sleep>>,
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            ready!(self.time.as_mut().poll(cx));
            return Poll::Ready(Some(Err(self.share.fail(Failure::Late))));
        };
        let Some(Ok(frame)) = frame else { return Poll::Ready(frame) };
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(left) = self.left.checked_sub(length) else {
            return Poll::Ready(Some(Err(self.share.fail(Failure::Oversized))));
        };
        self.left = left;
        if !self.share.take(length) {
            return Poll::Ready(Some(Err(self.share.fail(Failure::NoRoom))));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_routes_take_much() {
        assert_eq!(limit(Some("/api/v1/login")), 16 * KB);
        assert_eq!((limit(Some("/api/v1/sources")), limit(None)), (USUAL, USUAL));
        let large = LIMITS.iter().filter(|(_, limit)| *limit > 256 * KB).map(|(path, _)| *path);
        assert_eq!(large.collect::<Vec<_>>(), ["/import", "/api/v1/import"]);
    }
}
