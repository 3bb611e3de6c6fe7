//! Connections that take places and never read, and streams of events.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::api::client::Api;
use crate::support::{sqlite, until};

const PATIENCE: Duration = Duration::from_secs(40);

/// A connection that sends many requests and reads no answer.
async fn never_reads(api: &Api) -> TcpStream {
    let mut stream = TcpStream::connect(api.base.trim_start_matches("http://")).await.unwrap();
    let requests = "GET /login?next=xxxxxxxxxxxxxxxxxxxxxxxxxxxx HTTP/1.1\r\nhost: a\r\n\r\n".repeat(2000);
    // It may be closed before all of it is taken.
    let _ = tokio::time::timeout(Duration::from_millis(200), stream.write_all(requests.as_bytes())).await;
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_never_reads_keeps_nobody_else_out() {
    let settings = ["api.max_connections=20", "api.max_connections_per_address=20"];
    let api = Api::with(sqlite().await, &settings).await;
    let mut events = api.open("/events/stream", &[]).await;
    assert_eq!(events.status(), 200);
    let hostile = join_all((0..60).map(|_| never_reads(&api))).await;
    for _ in 0..10 {
        let begun = Instant::now();
        api.ask(Method::GET, "/healthz", None, &[("connection", "close")]).await.is(200);
        api.ask(Method::GET, "/readyz", None, &[("connection", "close")]).await.is(200);
        api.get("/me").await.is(200);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    // Who was let in before is not pushed out.
    let source = serde_json::json!({ "url": "http://127.0.0.1:8080/feed", "kind": "feed" });
    api.post("/sources", source).await.is(201);
    let dispatching = api.service.dispatch(std::future::pending());
    tokio::select! {
        chunk = events.chunk() => assert!(chunk.unwrap().is_some(), "the stream goes on"),
        () = dispatching => {}
        () = tokio::time::sleep(PATIENCE) => panic!("no event came"),
    }
    drop(hostile);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_not_read_ends_the_connection() {
    let api = Api::new(sqlite().await).await;
    let bearer = format!("authorization: Bearer {}", api.token);
    let mut stream = TcpStream::connect(api.base.trim_start_matches("http://")).await.unwrap();
    let request = format!("GET /api/v1/openapi.json HTTP/1.1\r\nhost: a\r\n{bearer}\r\n\r\n");
    // Far more than any buffer in between holds.
    stream.write_all(request.repeat(200).as_bytes()).await.unwrap();
    let begun = Instant::now();
    let closed = until(
        PATIENCE,
        async || match stream.write_all(request.as_bytes()).await {
            Ok(()) => None,
            Err(_) => Some(begun.elapsed()),
        },
        async || "it was never closed".to_owned(),
    );
    let closed = closed.await;
    assert!(closed > Duration::from_secs(5), "a reader may be slow: {closed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_answered_a_hundred_times_a_connection() {
    let api = Api::new(sqlite().await).await;
    let request = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    let answers = super::bodies::exchange(&api, request.repeat(150).as_bytes()).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 100);
    let request = format!("GET /healthz HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n", api.token);
    let mut stream = TcpStream::connect(api.base.trim_start_matches("http://")).await.unwrap();
    let me = format!("GET /api/v1/me HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n", api.token);
    stream.write_all((me + &request.repeat(150)).as_bytes()).await.unwrap();
    let (mut answers, mut buffer) = (String::new(), [0; 4096]);
    while answers.matches("HTTP/1.1 200 OK").count() < 151 {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap().unwrap();
        assert!(read > 0, "closed after {}", answers.matches("HTTP/1.1 200 OK").count());
        answers.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_of_a_stranger_are_delayed() {
    let api = Api::new(sqlite().await).await;
    let took = async |path: &str, header: &str| {
        let begun = Instant::now();
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n{header}\r\n");
        let last = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{header}\r\n");
        let answers = super::bodies::exchange(&api, (request.repeat(29) + &last).as_bytes()).await;
        assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 30, "{path}");
        begun.elapsed()
    };
    assert!(took("/login", "").await >= Duration::from_secs(2), "twenty of thirty wait 100 ms each");
    let health = took("/healthz", "").await;
    let authenticated = took("/api/v1/me", &format!("authorization: Bearer {}\r\n", api.token)).await;
    assert!(health < Duration::from_secs(2) && authenticated < Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_have_a_limit_of_their_own() {
    let settings = ["api.max_streams=3", "api.max_connections=5", "api.max_connections_per_address=50"];
    let api = Api::with(sqlite().await, &settings).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let stream = api.open("/events/stream", &[]).await;
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let beyond = api.open("/events/stream", &[]).await;
    assert_eq!((beyond.status().as_u16(), beyond.headers()["retry-after"].to_str().unwrap()), (503, "30"));
    api.ask(Method::GET, "/healthz", None, &[]).await.is(200);
    streams.pop();
    let again = async || Some(api.open("/events/stream", &[]).await).filter(|stream| stream.status() == 200);
    until(PATIENCE, again, async || "a place is free again".to_owned()).await;
}

#[tokio::test]
async fn styles_come_compressed_to_whoever_takes_that() {
    let api = Api::new(sqlite().await).await;
    let style = async |encoding: &str| {
        api.ask(Method::GET, "/assets/app.css", None, &[("accept-encoding", encoding)]).await
    };
    let plain = style("identity").await;
    plain.is(200);
    for encoding in ["gzip", "br, GZIP;q=0.8"] {
        let compressed = style(encoding).await;
        compressed.is(200);
        assert_eq!(
            (compressed.header("content-encoding"), plain.header("content-encoding")),
            (Some("gzip"), None)
        );
        let length = |answer: &crate::api::client::Answer| {
            answer.header("content-length").and_then(|length| length.parse::<usize>().ok()).unwrap()
        };
        assert!(length(&compressed) * 2 < length(&plain), "it is smaller");
    }
    assert_eq!(style("gzip;q=0").await.text, plain.text);
}
