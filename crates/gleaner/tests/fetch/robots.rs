//! robots.txt over real HTTP: what each answer means, and for how long.

use gleaner::fetch::Fetcher;
use gleaner_core::outcome::{ErrorKind, Failure};
use gleaner_core::time::{Span, Time};

use super::{fetcher, now};
use crate::support::http::{Reply, Server};

const REFUSAL: &str = "User-agent: *\nDisallow: /private\nCrawl-delay: 3600\n";

async fn ask(fetcher: &Fetcher, server: &Server, path: &str, at: Time) -> Result<(), Failure> {
    fetcher.check_robots(&server.url(path), at).await
}

/// How often robots.txt was asked for.
fn asked(server: &Server) -> usize {
    server.requests().iter().filter(|request| request.path == "/robots.txt").count()
}

#[tokio::test]
async fn robots_txt_decides_path_and_query() {
    let (fetcher, server) = (fetcher(), Server::start().await);
    server.on("/robots.txt", Reply::ok("User-agent: gleaner\nDisallow: /*?secret\nDisallow: /a%20b"));
    for (path, allowed) in
        [("/", true), ("/?secret", false), ("/x?secret=1", false), ("/a b", false), ("/a", true)]
    {
        assert_eq!(ask(&fetcher, &server, path, now()).await.is_ok(), allowed, "{path}");
    }
    assert_eq!(asked(&server), 1);
}

#[tokio::test]
async fn robots_txt_counts_for_a_day() {
    let (fetcher, server) = (fetcher(), Server::start().await);
    server.on("/robots.txt", Reply::ok(REFUSAL));
    let refused = ask(&fetcher, &server, "/private/1", now()).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Blocked);
    assert_eq!(
        refused.message,
        "blocked: robots.txt of 127.0.0.1 disallows it; set ignore_robots on the source to fetch it anyway"
    );
    let delay = fetcher.robots(&server.url("/"), now()).await.unwrap().crawl_delay();
    assert_eq!(delay, Some(Span::from_mins(10)), "no longer than is reasonable");
    server.on("/robots.txt", Reply::ok(""));
    let almost = now() + Span::from_hours(24) - Span::from_millis(1);
    assert!(ask(&fetcher, &server, "/private/1", almost).await.is_err());
    assert_eq!(asked(&server), 1);
    assert!(ask(&fetcher, &server, "/private/1", now() + Span::from_hours(24)).await.is_ok());
    assert_eq!(asked(&server), 2);
    server.on("/robots.txt", Reply::ok(REFUSAL));
    assert!(
        ask(&fetcher, &server, "/private/1", now() - Span::from_days(3)).await.is_err(),
        "clocks jump back, too"
    );
}

#[tokio::test]
async fn no_robots_txt_lets_everything_through() {
    for reply in [
        Reply::status(404),
        Reply::status(410),
        Reply::status(401),
        Reply::status(403),
        Reply::status(400),
        Reply::status(204),
        Reply::ok("<html>not found</html>"),
        Reply::redirect(302, "/robots.txt"),
        Reply::redirect(302, "http://10.0.0.1/robots.txt"),
        Reply::status(301),
    ] {
        let (fetcher, server) = (fetcher(), Server::start().await);
        server.on("/robots.txt", reply.clone());
        assert_eq!(ask(&fetcher, &server, "/private", now()).await, Ok(()), "{reply:?}");
    }
}

#[tokio::test]
async fn redirects_are_followed() {
    let (fetcher, server, other) = (fetcher(), Server::start().await, Server::start().await);
    server.on("/robots.txt", Reply::redirect(301, "/1"));
    for hop in 1..=3 {
        server.on(&format!("/{hop}"), Reply::redirect(302, format!("/{}", hop + 1)));
    }
    server.on("/4", Reply::redirect(302, other.url("/robots").as_str()));
    other.on("/robots", Reply::ok(REFUSAL));
    assert!(
        ask(&fetcher, &server, "/private", now()).await.is_err(),
        "what is there counts for where it began"
    );
    assert!(ask(&fetcher, &server, "/", now()).await.is_ok());
}

#[tokio::test]
async fn a_server_that_fails_lets_nothing_through_for_a_month() {
    let (fetcher, server) = (fetcher(), Server::start().await);
    server.on("/robots.txt", Reply::status(503).header("Retry-After", "120"));
    let failed = ask(&fetcher, &server, "/", now()).await.unwrap_err();
    assert_eq!((failed.kind, failed.status), (ErrorKind::UpstreamFailure, Some(503)));
    assert_eq!(failed.retry_after, Some(Span::from_secs(120)));
    assert_eq!(failed.message, "robots.txt of 127.0.0.1: 503 Service Unavailable");
    assert!(ask(&fetcher, &server, "/other", now() + Span::from_secs(59)).await.is_err());
    assert_eq!(asked(&server), 1, "a host's sources share a failure");
    let day = |n| now() + Span::from_days(n);
    assert!(ask(&fetcher, &server, "/", day(29)).await.is_err());
    assert_eq!(ask(&fetcher, &server, "/", day(30)).await, Ok(()));
    server.on("/robots.txt", Reply::ok(REFUSAL));
    assert!(ask(&fetcher, &server, "/private", day(31)).await.is_err());
}

#[tokio::test]
async fn an_older_copy_counts_while_the_server_fails() {
    let (fetcher, server) = (fetcher(), Server::start().await);
    server.on("/robots.txt", Reply::ok(REFUSAL));
    assert!(ask(&fetcher, &server, "/", now()).await.is_ok());
    server.on("/robots.txt", Reply::status(500));
    let day = |n| now() + Span::from_days(n);
    for n in [2, 20] {
        assert_eq!(ask(&fetcher, &server, "/", day(n)).await, Ok(()));
        assert_eq!(ask(&fetcher, &server, "/private", day(n)).await.unwrap_err().kind, ErrorKind::Blocked);
    }
    assert_eq!(ask(&fetcher, &server, "/private", day(32)).await, Ok(()));
}

#[tokio::test]
async fn faults_are_what_they_are() {
    let limited = Server::start().await;
    limited.on("/robots.txt", Reply::status(429).header("Retry-After", "60"));
    let failed = ask(&fetcher(), &limited, "/", now()).await.unwrap_err();
    assert_eq!((failed.kind, failed.retry_after), (ErrorKind::RateLimited, Some(Span::from_secs(60))));
    let silent = Server::start().await;
    silent.on("/robots.txt", Reply::raw("").stall());
    assert_eq!(ask(&fetcher(), &silent, "/", now()).await.unwrap_err().kind.name(), "network");
    let endless = Server::start().await;
    endless.on(
        "/robots.txt",
        Reply::head("X: y").endless("Disallow: /\n".repeat(1000), std::time::Duration::ZERO),
    );
    assert_eq!(ask(&fetcher(), &endless, "/", now()).await.unwrap_err().kind, ErrorKind::TooLarge);
}
