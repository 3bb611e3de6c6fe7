//! Statuses, headers, redirects, credentials and kept connections.

use gleaner::config::secret::Secret;
use gleaner::fetch::{Credential, Hop, Request, Validators};
use gleaner_core::classify::Fault;
use gleaner_core::outcome::Failure;
use gleaner_core::time::Span;

use super::{check, fault, fetcher, get, now, settings};
use crate::support::http::{Reply, Server};

#[tokio::test]
async fn a_document_comes_with_all_that_was_said_about_it() {
    let server = Server::start().await;
    let reply = Reply::ok("<rss/>")
        .header("ETag", b"W/\"\xfc-1\"")
        .header("Last-Modified", "last  Tuesday")
        .header("Content-Type", "text/xml; charset=latin1")
        .header("Cache-Control", "max-age=90")
        .header("Expires", "Sun, 15 Nov 2026 08:01:00 GMT");
    server.on("/feed?x=1", reply);
    let response = get(&fetcher(), server.url("/feed?x=1#part")).await.unwrap();
    assert_eq!((response.status, response.not_modified), (200, false));
    assert_eq!(response.url, server.url("/feed?x=1"));
    assert_eq!(response.body, "<rss/>");
    assert_eq!(response.wire_bytes, 6);
    assert_eq!(response.content_type, b"text/xml; charset=latin1");
    assert_eq!(response.validators.etag.as_deref(), Some(&b"W/\"\xfc-1\""[..]));
    assert_eq!(response.validators.last_modified.as_deref(), Some(&b"last  Tuesday"[..]));
    assert_eq!(response.hints.max_age, Some(Span::from_secs(90)));
    assert_eq!(response.hints.expires, Some(Span::from_secs(60)));
    assert_eq!(response.hops, []);
}

#[tokio::test]
async fn a_request_says_who_asks_and_nothing_more() {
    let server = Server::start().await;
    server.on("/", Reply::ok("").header("Set-Cookie", "a=b"));
    let settings = gleaner::config::Fetch { contact: Some("me@a.example".into()), ..settings() };
    let fetcher =
        gleaner::fetch::Fetcher::new(&settings, &gleaner::fetch::NetworkOverrides::default()).unwrap();
    let request = Request { accept: "application/rss+xml".into(), ..Request::new(server.url("/")) };
    for _ in 0..2 {
        fetcher.fetch(&request, now()).await.unwrap();
    }
    let received = &server.requests()[1];
    let mut names: Vec<&str> = received.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    assert_eq!((received.method.as_str(), received.path.as_str()), ("GET", "/"));
    assert_eq!(received.header("accept").unwrap(), "application/rss+xml");
    assert_eq!(received.header("accept-encoding").unwrap(), "gzip, br, zstd, deflate");
    let agent = concat!("gleaner/", env!("CARGO_PKG_VERSION"), " (me@a.example)");
    assert_eq!(received.header("user-agent").unwrap(), agent);
}

#[tokio::test]
async fn validators_go_back_byte_for_byte_and_a_304_is_an_answer() {
    let server = Server::start().await;
    server.on("/moved", Reply::redirect(302, "/feed"));
    server.on("/feed", Reply::status(304).header("Cache-Control", "max-age=5"));
    let validators = Validators {
        etag: Some(b"not even quoted \xff".to_vec()),
        last_modified: Some(b"Sun, 1 Jan 1970".to_vec()),
    };
    let request = Request { validators: validators.clone(), ..Request::new(server.url("/moved")) };
    let response = fetcher().fetch(&request, now()).await.unwrap();
    assert!(response.not_modified && response.body.is_empty() && response.validators.is_empty());
    assert_eq!(response.hints.max_age, Some(Span::from_secs(5)));
    for received in server.requests() {
        assert_eq!(received.raw_header("if-none-match"), validators.etag.as_deref());
        assert_eq!(received.raw_header("if-modified-since"), validators.last_modified.as_deref());
    }
}

#[tokio::test]
async fn a_304_that_nobody_asked_for_is_a_fault() {
    let server = Server::start().await;
    server.on("/", Reply::status(304));
    let failed = get(&fetcher(), server.url("/")).await.unwrap_err();
    assert_eq!(failed.status, Some(304));
    check(failed.fault, "unexpected", "304 Not Modified in answer to an unconditional request");
}

#[tokio::test]
async fn statuses_without_a_document_are_faults() {
    let server = Server::start().await;
    let fetcher = fetcher();
    for status in [201, 202, 204, 206, 300, 305, 400, 401, 403, 404, 410, 418, 429, 500, 503, 599, 999] {
        server.on("/", Reply::status(status));
        assert_eq!(fault(&fetcher, server.url("/")).await, Fault::Status(status));
    }
}

#[tokio::test]
async fn retry_after_is_read_wherever_it_stands() {
    let server = Server::start().await;
    let fetcher = fetcher();
    server.on("/429", Reply::status(429).header("Retry-After", "Sun, 15 Nov 2026 08:02:00 GMT"));
    server.on("/503", Reply::status(503).header("Retry-After", "7"));
    server.on("/302", Reply::redirect(302, "/200").header("Retry-After", "30"));
    server.on("/301", Reply::redirect(301, "/429").header("Retry-After", "600"));
    server.on("/200", Reply::ok("x"));
    let retry_after = async |path| match get(&fetcher, server.url(path)).await {
        Ok(response) => response.hints.retry_after,
        Err(failed) => Failure::from(failed).retry_after,
    };
    assert_eq!(retry_after("/429").await, Some(Span::from_secs(120)));
    assert_eq!(retry_after("/503").await, Some(Span::from_secs(7)));
    assert_eq!(retry_after("/302").await, Some(Span::from_secs(30)));
    assert_eq!(retry_after("/301").await, Some(Span::from_secs(600)));
    assert_eq!(retry_after("/200").await, None);
}

#[tokio::test]
async fn redirects_are_followed_and_told() {
    let server = Server::start().await;
    for (status, from, to) in [
        (301, "/a", "b"),
        (308, "/b", "/c/?q"),
        (302, "/c/?q", "./d#x"),
        (303, "/c/d", "?e"),
        (307, "/c/d?e", "/end"),
    ] {
        server.on(from, Reply::redirect(status, to));
    }
    server.on("/end", Reply::ok("there"));
    let response = get(&fetcher(), server.url("/a")).await.unwrap();
    assert_eq!(response.body, "there");
    assert_eq!(response.url, server.url("/end"));
    let hop = |status, path| Hop { status, target: server.url(path) };
    let hops = [hop(301, "/b"), hop(308, "/c/?q"), hop(302, "/c/d"), hop(303, "/c/d?e"), hop(307, "/end")];
    assert_eq!(response.hops, hops);
    assert_eq!(response.moved_to(), Some(&server.url("/c/?q")));
    assert_eq!(server.connections(), 1, "one connection serves them all");
}

#[tokio::test]
async fn redirects_come_to_an_end() {
    let server = Server::start().await;
    let fetcher = fetcher();
    for n in 0..12 {
        server.on(&format!("/{n}"), Reply::redirect(302, format!("/{}", n + 1)));
    }
    server.on("/12", Reply::ok("far"));
    assert_eq!(get(&fetcher, server.url("/2")).await.unwrap().body, "far");
    check(fault(&fetcher, server.url("/1")).await, "unexpected", "more than 10 redirects");
    server.on("/ping", Reply::redirect(301, "/pong?secret=1"));
    server.on("/pong?secret=1", Reply::redirect(301, "/ping"));
    let circle = format!("redirect loop at http://{}/ping", server.address());
    check(fault(&fetcher, server.url("/ping")).await, "unexpected", &circle);
    server.on("/nowhere", Reply::status(301));
    let failed = get(&fetcher, server.url("/nowhere")).await.unwrap_err();
    assert_eq!(failed.status, Some(301));
    check(failed.fault, "unexpected", "redirect 301 without a Location");
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let home = Server::start().await;
    let away = Server::start_on([127, 0, 0, 2]).await;
    home.on("/near", Reply::redirect(301, "/far"));
    home.on("/far", Reply::redirect(301, away.url("/").as_str()));
    away.on("/", Reply::redirect(301, home.url("/back").as_str()));
    home.on("/back", Reply::ok("x"));
    let fetcher = fetcher();
    let basic = Credential::Basic { user: "me".into(), password: Secret::new("hunter2") };
    let key = Credential::Header { name: "X-Key".into(), value: Secret::new("hunter2") };
    for (credential, name, value) in
        [(basic, "authorization", "Basic bWU6aHVudGVyMg=="), (key, "x-key", "hunter2")]
    {
        let request = Request { credential: Some(credential), ..Request::new(home.url("/near")) };
        assert!(!format!("{request:?}").contains("hunter2"));
        fetcher.fetch(&request, now()).await.unwrap();
        let sent: Vec<_> = home.requests().iter().map(|received| received.header(name)).collect();
        let last: Vec<_> = sent.iter().rev().take(3).rev().map(Option::as_deref).collect();
        assert_eq!(last, [Some(value), Some(value), None]);
        assert!(away.requests().iter().all(|received| received.header(name).is_none()));
    }
    let broken = Credential::Header { name: "X Key".into(), value: Secret::new("hunter2") };
    let request = Request { credential: Some(broken), ..Request::new(home.url("/near")) };
    let failed = fetcher.fetch(&request, now()).await.unwrap_err();
    check(failed.fault, "unauthorized", "the source's own header cannot be sent");
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_costs_nothing() {
    let server = Server::start().await;
    let fetcher = fetcher();
    server.on("/", Reply::ok("x"));
    // Closed as soon as the second request arrives, so that the client cannot know before it asks.
    server.on_each("/again", [Reply::raw("").close(), Reply::ok("y")]);
    server.on_each("/reset", [Reply::raw("").reset(), Reply::ok("z")]);
    for (path, body) in [("/again", "y"), ("/reset", "z")] {
        get(&fetcher, server.url("/")).await.unwrap();
        assert_eq!(get(&fetcher, server.url(path)).await.unwrap().body, body);
        let requests = server.requests();
        let [.., first, closed, retried] = &requests[..] else { panic!("three requests") };
        assert_eq!(first.connection, closed.connection, "it was kept");
        assert_ne!(retried.connection, closed.connection, "the second try is on a new one");
    }
}

#[tokio::test]
async fn a_new_connection_that_is_closed_is_not_tried_again() {
    let server = Server::start().await;
    let fetcher = fetcher();
    server.on("/", Reply::raw("").close());
    let words = "connection cut short: closed before the answer was complete";
    check(fault(&fetcher, server.url("/")).await, "network reset", words);
    assert_eq!(server.requests().len(), 1);
    server.on("/ok", Reply::ok("x"));
    server.on("/always", Reply::raw("").close());
    get(&fetcher, server.url("/ok")).await.unwrap();
    check(fault(&fetcher, server.url("/always")).await, "network reset", words);
    assert_eq!(server.requests().iter().filter(|received| received.path == "/always").count(), 2);
}

#[tokio::test]
async fn a_flood_of_headers_is_too_large() {
    let server = Server::start().await;
    let fetcher = fetcher();
    let line = |n: usize| format!("X-{n}: {}\r\n", "v".repeat(900));
    let many: String = (0..150).map(|n| format!("X-{n}: v\r\n")).collect();
    let large: String = (0..80).map(line).collect();
    let huge = "y".repeat(1 << 20);
    for head in [many, large, format!("X: {huge}\r\n")] {
        server.on("/", Reply::raw(format!("HTTP/1.1 200 OK\r\n{head}Content-Length: 1\r\n\r\nx")).close());
        check(fault(&fetcher, server.url("/")).await, "too_large", "headers larger than 65536 bytes");
    }
    server.on(
        "/",
        Reply::raw("HTTP/1.1 200 OK\r\n").endless("X: y\r\n".repeat(1000), std::time::Duration::ZERO),
    );
    check(fault(&fetcher, server.url("/")).await, "too_large", "headers larger than 65536 bytes");
    server.on("/", Reply::raw("HTTP/1.1 200 OK\r\nX: ").endless("y".repeat(8000), std::time::Duration::ZERO));
    check(fault(&fetcher, server.url("/")).await, "too_large", "headers larger than 65536 bytes");
}

#[tokio::test]
async fn what_is_not_http_is_unexpected() {
    let server = Server::start().await;
    let fetcher = fetcher();
    for garbage in
        ["<html>HTTP/0.9</html>\r\n\r\n", "SSH-2.0-OpenSSH_9\r\n", "\0\0\0\0\r\n\r\n", "HTTP/9.9 200\r\n\r\n"]
    {
        server.on("/", Reply::raw(garbage).close());
        check(fault(&fetcher, server.url("/")).await, "unexpected", "the answer is not valid HTTP");
    }
}

#[tokio::test]
async fn headers_that_browsers_forgive_are_forgiven() {
    let server = Server::start().await;
    let head =
        "X-Folded: one\r\n two\r\nBroken line\r\nbad name: x\r\nETag : \"1\"\r\nContent-Length: 1\r\n\r\nx";
    server.on("/", Reply::raw(format!("HTTP/1.1 200 OK\r\n{head}")));
    let response = get(&fetcher(), server.url("/")).await.unwrap();
    assert_eq!((response.body, response.validators.etag), ("x".into(), Some(b"\"1\"".to_vec())));
}
