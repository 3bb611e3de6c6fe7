//! Bodies that are encoded, cut short, endless, or far larger than they look.

use std::time::Duration;

use gleaner::fetch::Request;

use super::{check, fault, fetcher, get, now};
use crate::support::encode::{bare_deflate, brotli, gzip, zlib, zstd};
use crate::support::http::{Reply, Server};

/// Each encoding as servers name it, and how it is made.
type Encoder = fn(&[u8]) -> Vec<u8>;
const ENCODINGS: [(&str, Encoder); 6] = [
    ("gzip", gzip),
    ("x-gzip", gzip),
    ("deflate", zlib),
    ("deflate", bare_deflate),
    ("br", brotli),
    ("zstd", zstd),
];

#[tokio::test]
async fn bodies_are_decoded_and_counted_as_they_came() {
    let server = Server::start().await;
    let fetcher = fetcher();
    let text = "all the same, ".repeat(1000);
    for (name, encode) in ENCODINGS {
        let encoded = encode(text.as_bytes());
        server.on("/", Reply::ok(&encoded).header("Content-Encoding", name));
        let response = get(&fetcher, server.url("/")).await.unwrap();
        assert_eq!(response.body, text, "{name}");
        assert_eq!(response.wire_bytes, encoded.len() as u64, "{name}");
    }
    server.on("/", Reply::ok("").header("Content-Encoding", "gzip"));
    assert_eq!(get(&fetcher, server.url("/")).await.unwrap().body, "");
}

#[tokio::test]
async fn bombs_cost_their_cap() {
    let server = Server::start().await;
    let fetcher = fetcher();
    let zeros = vec![0; 64 << 20];
    for (name, encode) in ENCODINGS {
        let bomb = encode(&zeros);
        // A bomb larger than the cap would be caught for the wrong reason.
        let bomb = &bomb[..bomb.len().min(90_000)];
        server.on("/", Reply::ok(bomb).header("Content-Encoding", name));
        check(fault(&fetcher, server.url("/")).await, "too_large", "body larger than 100000 bytes");
    }
}

#[tokio::test]
async fn a_cap_holds_however_the_length_is_told() {
    let server = Server::start().await;
    let fetcher = fetcher();
    let full = "x".repeat(100_000);
    server.on("/", Reply::ok(&full));
    assert_eq!(get(&fetcher, server.url("/")).await.unwrap().body, full);
    let message = "body larger than 100000 bytes";
    server.on("/", Reply::ok("x".repeat(100_001)));
    check(fault(&fetcher, server.url("/")).await, "too_large", message);
    server.on("/", Reply::head("Content-Length: 99999999999999").stall());
    check(fault(&fetcher, server.url("/")).await, "too_large", message);
    server.on("/", Reply::head("Connection: close").endless("x".repeat(1000), Duration::ZERO));
    check(fault(&fetcher, server.url("/")).await, "too_large", message);
    let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1000));
    server.on("/", Reply::head("Transfer-Encoding: chunked").endless(chunk, Duration::ZERO));
    check(fault(&fetcher, server.url("/")).await, "too_large", message);
    // Empty stored blocks: a stream without end from which nothing ever comes.
    let blocks = [0, 0, 0, 0xff, 0xff].repeat(200);
    let head = "Connection: close\r\nContent-Encoding: deflate";
    server.on("/", Reply::head(head).endless(blocks, Duration::ZERO));
    check(fault(&fetcher, server.url("/")).await, "too_large", message);
    server.on("/", Reply::ok("12345678901"));
    let request = Request { max_body_bytes: Some(10), ..Request::new(server.url("/")) };
    let failed = fetcher.fetch(&request, now()).await.unwrap_err();
    check(failed.fault, "too_large", "body larger than 10 bytes");
    assert_eq!(failed.status, Some(200));
}

#[tokio::test]
async fn a_body_cut_short_is_a_failure() {
    let server = Server::start().await;
    let fetcher = fetcher();
    let ended = "connection cut short: closed before the answer was complete";
    let reset = "connection cut short: reset by the server";
    let chunked = "Transfer-Encoding: chunked";
    for (reply, message) in [
        (Reply::head("Content-Length: 10").send("half").close(), ended),
        (Reply::head(chunked).send("4\r\nhalf\r\n").close(), ended),
        (Reply::head(chunked).send("4\r\nha").close(), ended),
        (Reply::head(chunked).close(), ended),
        (Reply::raw("HTTP/1.1 200 OK\r\nContent-Le").close(), ended),
        (Reply::raw("HTTP/1.1 2").close(), ended),
        (Reply::raw("").reset(), reset),
    ] {
        server.on("/", reply);
        check(fault(&fetcher, server.url("/")).await, "network reset", message);
    }
    // The head may still be on its way when a reset arrives, and is then lost with it.
    server.on("/", Reply::head("Content-Length: 10").send("half").reset());
    check(fault(&fetcher, server.url("/")).await, "network reset", reset);
}

#[tokio::test]
async fn a_stream_cut_short_is_one_even_where_the_transport_is_content() {
    let server = Server::start().await;
    let fetcher = fetcher();
    for (name, encode) in ENCODINGS {
        let encoded = encode(&b"text, more text, ".repeat(50));
        server.on("/", Reply::ok(&encoded[..encoded.len() - 3]).header("Content-Encoding", name));
        let plain = match name {
            "x-gzip" => "gzip",
            "br" => "brotli",
            name => name,
        };
        let message = format!("connection cut short: the {plain} stream ends early");
        check(fault(&fetcher, server.url("/")).await, "network reset", &message);
    }
}

#[tokio::test]
async fn encodings_that_nobody_asked_for_are_refused() {
    let server = Server::start().await;
    let fetcher = fetcher();
    let twice = gzip(&gzip(b"text"));
    server.on("/", Reply::ok(&twice).header("Content-Encoding", "gzip, gzip"));
    check(fault(&fetcher, server.url("/")).await, "parse_error", "the body is encoded more than once");
    server.on("/", Reply::ok(&twice).header("Content-Encoding", "gzip").header("Content-Encoding", "br"));
    check(fault(&fetcher, server.url("/")).await, "parse_error", "the body is encoded more than once");
    server.on("/", Reply::ok("x").header("Content-Encoding", "compress"));
    check(
        fault(&fetcher, server.url("/")).await,
        "parse_error",
        "the body has the unknown encoding 'compress'",
    );
    server.on("/", Reply::ok("plain").header("Content-Encoding", "gzip"));
    check(fault(&fetcher, server.url("/")).await, "parse_error", "the body is not valid gzip");
}

#[tokio::test]
async fn a_length_that_lies_short_ends_the_body() {
    let server = Server::start().await;
    server.on("/", Reply::head("Content-Length: 4").send("fourteen bytes"));
    assert_eq!(get(&fetcher(), server.url("/")).await.unwrap().body, "four");
}
