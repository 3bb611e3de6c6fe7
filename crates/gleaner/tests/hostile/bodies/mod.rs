//! Bodies that mean harm, each to a source that was well before, through the real engine and the real client.
//!
//! The servers are in this process; the engine is in a child of its own, so that the memory that is measured is the
//! engine's and nobody else's. `make hostile-bodies` runs it optimised and tells the figures.

mod child;
mod documents;
mod encoded;
mod floods;
mod parent;
mod texts;
mod tls;
mod transport;

use gleaner_core::source::Kind;

use crate::support::http::Reply;

/// What a source of each kind says while it is well.
fn good(kind: Kind) -> Reply {
    let reply = match kind {
        Kind::Feed | Kind::X => Reply::ok(rss("<item><guid>good</guid><description>Good.</description></item>"))
            .header("Content-Type", "application/rss+xml"),
        Kind::Website | Kind::Watchlist => Reply::ok(
            "<html><body><article><p>Good <a href='/some-good-article'>words of an article</a>.</article></body></html>",
        )
        .header("Content-Type", "text/html"),
    };
    reply.header("ETag", "\"good\"").header("Last-Modified", "Sat, 14 Nov 2026 00:00:00 GMT")
}

fn rss(items: &str) -> String {
    format!("<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>T</title>{items}</channel></rss>")
}

/// 200 with these lines and a tag that must not be kept where the answer is not.
fn head(lines: &str) -> Reply {
    Reply::head(&format!("ETag: \"evil\"\r\nContent-Type: application/rss+xml\r\n{lines}"))
}

/// A whole document with such a tag.
fn document(content_type: &str, body: impl AsRef<[u8]>) -> Reply {
    Reply::ok(body).header("Content-Type", content_type).header("ETag", "\"evil\"")
}

fn feed(body: impl AsRef<[u8]>) -> Reply {
    document("application/rss+xml", body)
}

/// How a case is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// With others.
    Light,
    /// By itself: it is large.
    Heavy,
    /// With all that make us wait.
    Slow,
}

/// What answers.
enum Serves {
    /// The server of all; its path leads to this.
    Http(Box<dyn Fn() -> Reply>),
    /// A server of its own.
    Tls(tls::Wrong),
}

struct Case {
    name: String,
    kind: Kind,
    pace: Pace,
    serves: Serves,
    /// An error kind, `network` with its cause, or `fetched` with the number of new posts; several that may be are
    /// separated by `|`. Behind `truncated ` it is what a document that breaks off comes to, of which no tag is kept.
    ends: String,
}

impl Case {
    fn new(name: impl Into<String>, ends: impl Into<String>, reply: impl Fn() -> Reply + 'static) -> Self {
        let serves = Serves::Http(Box::new(reply));
        Self { name: name.into(), kind: Kind::Feed, pace: Pace::Light, serves, ends: ends.into() }
    }

    fn slow(self) -> Self {
        Self { pace: Pace::Slow, ..self }
    }

    fn heavy(self) -> Self {
        Self { pace: Pace::Heavy, ..self }
    }

    fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

fn cases() -> Vec<Case> {
    let mut all = encoded::cases();
    all.extend(transport::cases());
    all.extend(tls::cases());
    all.extend(documents::cases());
    all.extend(floods::cases());
    all.extend(texts::cases());
    all
}

/// The rounds that cases are run in, by their places in the table.
fn rounds(cases: &[Case]) -> Vec<Vec<usize>> {
    let of = |pace: Pace| -> Vec<usize> { (0..cases.len()).filter(|n| cases[*n].pace == pace).collect() };
    let mut rounds: Vec<Vec<usize>> = of(Pace::Light).chunks(8).map(<[usize]>::to_vec).collect();
    rounds.push(of(Pace::Slow));
    rounds.extend(of(Pace::Heavy).into_iter().map(|n| vec![n]));
    rounds
}
