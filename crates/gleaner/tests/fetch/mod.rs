//! The HTTP client against real servers that misbehave in every way: each fault is provoked, none is imagined.
//!
//! All on loopback, which the client here is allowed to reach. Limits of time are short and keep their order.

mod answers;
mod bodies;
mod names;
mod robots;
mod stalls;
mod targets;
pub(crate) mod tls;

use gleaner::config::Fetch;
use gleaner::fetch::{FetchError, Fetcher, NetworkOverrides, Request, Response};
use gleaner_core::classify::Fault;
use gleaner_core::time::{Span, Time};
use url::Url;

/// The time that all these tests take place at.
fn now() -> Time {
    Time::parse("2026-11-15T08:00:00Z").unwrap()
}

/// Settings that let tests reach loopback, with limits that they can wait for.
fn settings() -> Fetch {
    Fetch {
        timeout: Span::from_millis(1500),
        connect_timeout: Span::from_millis(600),
        dns_timeout: Span::from_millis(300),
        max_body_bytes: 100_000,
        max_redirects: 10,
        concurrency: 64,
        contact: None,
        allow_private_networks: vec!["127.0.0.0/8".parse().unwrap()],
        proxy: None,
    }
}

fn fetcher() -> Fetcher {
    Fetcher::new(&settings(), &NetworkOverrides::default()).unwrap()
}

async fn get(fetcher: &Fetcher, url: Url) -> Result<Response, FetchError> {
    fetcher.fetch(&Request::new(url), now()).await
}

/// The fault of a request that must fail.
async fn fault(fetcher: &Fetcher, url: Url) -> Fault {
    get(fetcher, url).await.expect_err("it must fail").fault
}

/// A fault's kind, cause and words, as people meet them.
#[track_caller]
fn check(fault: Fault, kind: &str, message: &str) {
    let failure = fault.into_failure(None);
    let name = match failure.kind.cause() {
        Some(cause) => format!("{} {}", failure.kind, cause.name()),
        None => failure.kind.to_string(),
    };
    assert_eq!((name.as_str(), failure.message.as_str()), (kind, message));
}
