//! TLS in every kind of wrong, and HTTP/2 over the right one.

use std::sync::Arc;

use bytes::Bytes;
use gleaner::fetch::{Fetcher, NetworkOverrides, Request};
use gleaner_core::time::Time;
use rustls::ServerConfig;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::{check, fault, get, settings};
use crate::support::ca::{Ca, Identity};
use crate::support::dns::{Answer, Dns};
use crate::support::http::{Reply, Server};

fn trusting(ca: &Ca) -> Fetcher {
    Fetcher::new(
        &settings(),
        &NetworkOverrides { extra_roots: vec![ca.root()], ..NetworkOverrides::default() },
    )
    .unwrap()
}

#[tokio::test]
async fn a_good_certificate_is_good() {
    let (ca, dns) = (Ca::new(), Dns::start().await);
    dns.set("a.test", Answer::ip("127.0.0.1"));
    let server = Server::start_tls(ca.issue(&["a.test", "127.0.0.1"]).config()).await;
    server.on("/", Reply::ok("x"));
    let network_overrides = NetworkOverrides {
        extra_roots: vec![ca.root()],
        name_server: Some(dns.address()),
        ..NetworkOverrides::default()
    };
    let fetcher = Fetcher::new(&settings(), &network_overrides).unwrap();
    assert_eq!(get(&fetcher, server.url_of("a.test", "/")).await.unwrap().body, "x");
    assert_eq!(get(&fetcher, server.url("/")).await.unwrap().body, "x");
}

#[tokio::test]
async fn each_bad_certificate_is_told_apart() {
    let ca = Ca::new();
    let fetcher = trusting(&ca);
    let names = &["127.0.0.1"];
    for (identity, message) in [
        (ca.issue_between(names, (2020, 1, 1), (2026, 11, 12)), "certificate expired 3 days ago"),
        (ca.issue_between(names, (2026, 11, 20), (2030, 1, 1)), "certificate is valid only in 5 days"),
        (ca.issue(&["a.test"]), "certificate is for another name"),
        (Ca::named("somebody").issue(names), "certificate is from an unknown issuer"),
        (Ca::new().issue(names), "certificate is from an unknown issuer"),
        (Identity::self_signed(names), "certificate is from an unknown issuer"),
    ] {
        let server = Server::start_tls(identity.config()).await;
        check(fault(&fetcher, server.url("/")).await, "network tls", message);
        assert_eq!(server.requests().len(), 0);
    }
}

#[tokio::test]
async fn certificates_are_judged_by_the_time_that_was_passed_in() {
    let ca = Ca::new();
    let fetcher = trusting(&ca);
    let server =
        Server::start_tls(ca.issue_between(&["127.0.0.1"], (2030, 1, 1), (2031, 1, 1)).config()).await;
    server.on("/", Reply::ok("x").header("Connection", "close").close());
    let request = Request::new(server.url("/"));
    let at = |text| Time::parse(text).unwrap();
    assert!(fetcher.fetch(&request, at("2030-06-01T00:00:00Z")).await.is_ok());
    let late = fetcher.fetch(&request, at("2031-01-01T02:00:00Z")).await.unwrap_err();
    check(late.fault, "network tls", "certificate expired 2 hours ago");
}

#[test]
fn a_root_that_is_no_certificate_is_noticed_at_once() {
    let network_overrides =
        NetworkOverrides { extra_roots: vec![b"not one".to_vec().into()], ..NetworkOverrides::default() };
    let error = Fetcher::new(&settings(), &network_overrides).err().expect("it must fail");
    assert!(error.to_string().starts_with("TLS cannot be set up: "), "{error}");
}

#[tokio::test]
async fn what_is_no_tls_at_all() {
    let fetcher = trusting(&Ca::new());
    let plain = Server::start().await;
    let url = Url::parse(&format!("https://{}/", plain.address())).unwrap();
    // A plain server takes the greeting for the beginning of a request, and waits for more.
    check(fault(&fetcher, url).await, "network timeout", "timeout after 600ms connecting");
    for (answer, message) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "TLS failed: received corrupt message of type InvalidContentType",
        ),
        (b"", "TLS failed: the server ended the handshake"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "TLS failed: received fatal alert: HandshakeFailure"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // All of the greeting, since closing with bytes unread would be a reset.
            let _ = stream.read(&mut [0; 8192]).await;
            tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
        });
        check(fault(&fetcher, url).await, "network tls", message);
        server.await.unwrap();
    }
}

#[tokio::test]
async fn a_reset_within_tls_is_a_reset() {
    let ca = Ca::new();
    let server = Server::start_tls(ca.issue(&["127.0.0.1"]).config()).await;
    let fetcher = trusting(&ca);
    server.on("/", Reply::raw("").reset());
    let message = "connection cut short: reset by the server";
    check(fault(&fetcher, server.url("/")).await, "network reset", message);
    server.on("/", Reply::head("Content-Length: 10").send("half").close());
    let message = "connection cut short: closed before the answer was complete";
    check(fault(&fetcher, server.url("/")).await, "network reset", message);
}

/// An HTTP/2 server that answers each request by its path.
async fn h2_server(tls: ServerConfig) -> (Url, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    let tls = TlsAcceptor::from(Arc::new(tls));
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = tls.accept(stream).await else { continue };
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, respond))) = connection.accept().await {
                    answer_h2(request.uri().path(), respond);
                }
            });
        }
    });
    (url, task)
}

pub(crate) fn answer_h2(path: &str, mut respond: h2::server::SendResponse<Bytes>) {
    let mut response = hyper::Response::builder().header("etag", "\"2\"");
    let size = match path {
        "/flood" => 1000,
        "/deluge" => 6000,
        _ => 0,
    };
    for n in 0..size {
        response = response.header(format!("x-{n}"), "v".repeat(100));
    }
    if path == "/short" {
        response = response.header("content-length", "10");
    }
    if path == "/refuse" {
        return respond.send_reset(h2::Reason::INTERNAL_ERROR);
    }
    let mut stream = respond.send_response(response.body(()).unwrap(), false).unwrap();
    stream.send_data(Bytes::from_static(b"two"), path != "/cut").unwrap();
    if path == "/cut" {
        stream.send_reset(h2::Reason::CANCEL);
    }
}

#[tokio::test]
async fn http2_is_spoken_where_the_server_does() {
    let ca = Ca::new();
    let (url, server) = h2_server(ca.issue(&["127.0.0.1"]).h2_config()).await;
    let fetcher = trusting(&ca);
    let response = get(&fetcher, url.clone()).await.unwrap();
    assert_eq!((response.body, response.validators.etag), ("two".into(), Some(b"\"2\"".to_vec())));
    for path in ["flood", "deluge"] {
        let fault = fault(&fetcher, url.join(path).unwrap()).await;
        check(fault, "too_large", "headers larger than 65536 bytes");
    }
    let message = "connection cut short: closed before the answer was complete";
    for path in ["cut", "refuse", "short"] {
        check(fault(&fetcher, url.join(path).unwrap()).await, "network reset", message);
    }
    server.abort();
}
