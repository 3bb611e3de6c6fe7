//! TLS of every kind of wrong: a first connection that is well, and then this.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::{Case, Kind, Pace, Serves};
use crate::fetch::tls::answer_h2;
use crate::support::ca::{Ca, Identity};

/// What is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wrong {
    Expired,
    NotYet,
    OtherName,
    OtherIssuer,
    SameIssuersName,
    SelfSigned,
    /// Bytes instead of a greeting, and an end.
    Says(&'static [u8]),
    /// No greeting at all.
    Stalls,
    Resets,
    /// All is well but what is said within, and the end comes without a word.
    Within(&'static str),
    /// The same, and a reset.
    ResetsWithin(&'static str),
    /// HTTP/2, answered by its path.
    H2(&'static str),
    /// HTTP/2 was agreed on, and this is said.
    NoH2(&'static [u8]),
}

pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, ends: &'static str, wrong: Wrong| Case {
        name: format!("TLS: {name}"),
        kind: Kind::Feed,
        pace: if matches!(wrong, Wrong::Stalls) { Pace::Slow } else { Pace::Light },
        serves: Serves::Tls(wrong),
        ends: ends.to_owned(),
    };
    vec![
        case("a certificate that has expired", "network tls", Wrong::Expired),
        case("a certificate of tomorrow", "network tls", Wrong::NotYet),
        case("a certificate for another name", "network tls", Wrong::OtherName),
        case("a certificate of nobody we know", "network tls", Wrong::OtherIssuer),
        case("a certificate of somebody who calls himself so", "network tls", Wrong::SameIssuersName),
        case("a certificate of one's own", "network tls", Wrong::SelfSigned),
        case("plain HTTP", "network tls", Wrong::Says(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        case("an end in the greeting", "network tls", Wrong::Says(b"")),
        case("an alert", "network tls", Wrong::Says(b"\x15\x03\x03\x00\x02\x02\x28")),
        case("a greeting of SSL 3", "network tls", Wrong::Says(b"\x16\x03\x00\x00\x04\x02\x00\x00\x00")),
        case(
            "a greeting that is too long",
            "network tls",
            Wrong::Says(b"\x16\x03\x03\xff\xff\x02\x00\x00\x00"),
        ),
        case("a greeting of nothing", "network tls", Wrong::Says(b"\x16\x03\x03\x00\x00")),
        case("half a greeting", "network tls", Wrong::Says(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03")),
        case("bytes", "network tls", Wrong::Says(&[0xaa; 64])),
        case("no greeting", "network timeout", Wrong::Stalls),
        case("a reset in the greeting", "network reset|network tls", Wrong::Resets),
        case("an end at once", "network reset", Wrong::Within("")),
        case(
            "an end in the body",
            "network reset",
            Wrong::Within("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<rss>"),
        ),
        case(
            "an end that nobody vouches for",
            "network reset",
            Wrong::Within("HTTP/1.1 200 OK\r\n\r\n<rss>"),
        ),
        case(
            "a reset in the body",
            "network reset",
            Wrong::ResetsWithin("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<rss>"),
        ),
        case("HTTP/2 with a flood of headers", "too_large", Wrong::H2("/flood")),
        case("HTTP/2 with a deluge of headers", "too_large", Wrong::H2("/deluge")),
        case("HTTP/2 that is cut", "network reset", Wrong::H2("/cut")),
        case("HTTP/2 that refuses", "network reset", Wrong::H2("/refuse")),
        case("HTTP/2 that lies about its length", "network reset", Wrong::H2("/short")),
        case(
            "HTTP/1 where HTTP/2 was agreed on",
            "unexpected|network reset",
            Wrong::NoH2(b"HTTP/1.1 200 OK\r\n\r\n<rss/>"),
        ),
        case(
            "a frame that is too large",
            "unexpected|network reset",
            Wrong::NoH2(b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"),
        ),
    ]
}

/// Serves one case at `name`; it stops when its task is dropped.
pub(super) async fn serve(wrong: Wrong, name: &str, ca: &Ca, good: Vec<u8>) -> (SocketAddr, JoinHandle<()>) {
    let well = acceptor(ca.issue(&[name]).config());
    let names = &[name][..];
    let identity = match wrong {
        Wrong::Expired => ca.issue_between(names, (2020, 1, 1), (2026, 11, 12)),
        Wrong::NotYet => ca.issue_between(names, (2026, 12, 1), (2030, 1, 1)),
        Wrong::OtherName => ca.issue(&["other.test"]),
        Wrong::OtherIssuer => Ca::named("somebody").issue(names),
        Wrong::SameIssuersName => Ca::new().issue(names),
        Wrong::SelfSigned => Identity::self_signed(names),
        _ => ca.issue(names),
    };
    let ill = acceptor(match wrong {
        Wrong::H2(_) | Wrong::NoH2(_) => identity.h2_config(),
        _ => identity.config(),
    });
    let listener = TcpListener::bind("127.1.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut first, mut open) = (true, tokio::task::JoinSet::new());
        while let Ok((stream, _)) = listener.accept().await {
            let (well, ill, good) = (well.clone(), ill.clone(), good.clone());
            let is_first = std::mem::replace(&mut first, false);
            open.spawn(async move {
                if is_first { be_well(stream, well, &good).await } else { be_wrong(stream, ill, wrong).await }
            });
        }
    });
    (address, task)
}

fn acceptor(config: ServerConfig) -> TlsAcceptor {
    TlsAcceptor::from(Arc::new(config))
}

async fn be_well(stream: TcpStream, tls: TlsAcceptor, good: &[u8]) {
    let Ok(mut stream) = tls.accept(stream).await else { return };
    let _ = stream.read(&mut [0; 8192]).await;
    let _ = stream.write_all(good).await;
    let _ = stream.shutdown().await;
}

async fn be_wrong(mut stream: TcpStream, tls: TlsAcceptor, wrong: Wrong) {
    match wrong {
        Wrong::Stalls => while matches!(stream.read(&mut [0; 8192]).await, Ok(1..)) {},
        Wrong::Resets => {
            let _ = stream.read(&mut [0; 8192]).await;
            let _ = stream.set_zero_linger();
        }
        Wrong::Says(bytes) => {
            // All of the greeting, since closing with bytes unread would be a reset.
            let _ = stream.read(&mut [0; 8192]).await;
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            while matches!(stream.read(&mut [0; 8192]).await, Ok(1..)) {}
        }
        Wrong::H2(path) => {
            let Ok(stream) = tls.accept(stream).await else { return };
            let Ok(mut connection) = h2::server::handshake(stream).await else { return };
            while let Some(Ok((_, respond))) = connection.accept().await {
                answer_h2(path, respond);
            }
        }
        Wrong::Within(_) | Wrong::ResetsWithin(_) | Wrong::NoH2(_) => {
            let Ok(mut stream) = tls.accept(stream).await else { return };
            let _ = stream.read(&mut [0; 8192]).await;
            let bytes = match wrong {
                Wrong::Within(text) | Wrong::ResetsWithin(text) => text.as_bytes(),
                Wrong::NoH2(bytes) => bytes,
                _ => b"",
            };
            let _ = stream.write_all(bytes).await;
            let _ = stream.flush().await;
            if matches!(wrong, Wrong::ResetsWithin(_)) {
                let _ = stream.get_ref().0.set_zero_linger();
            } else {
                let _ = stream.get_mut().0.shutdown().await;
            }
        }
        // The rest is wrong by its certificate.
        _ => {
            let _ = tls.accept(stream).await;
        }
    }
}
