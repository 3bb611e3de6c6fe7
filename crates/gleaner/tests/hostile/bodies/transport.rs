//! HTTP that is broken, endless, dripping, lying or in a circle.

use std::time::Duration;

use super::{Case, feed, head, rss};
use crate::support::http::Reply;

const DRIP: Duration = Duration::from_millis(20);

fn raw(bytes: &str) -> Reply {
    Reply::raw(bytes)
}

fn body() -> String {
    rss("<item><guid>evil</guid><description>Evil.</description></item>")
}

pub(super) fn cases() -> Vec<Case> {
    [endless(), lengths(), cut(), garbage(), heads(), redirects(), statuses()].into_iter().flatten().collect()
}

fn endless() -> Vec<Case> {
    let chunk = || format!("3e80\r\n{}\r\n", "x".repeat(16_000));
    vec![
        Case::new("a body without an end", "too_large", || {
            head("Connection: close").endless("<item>".repeat(3000), Duration::ZERO)
        })
        .heavy(),
        Case::new("chunks without an end", "too_large", move || {
            head("Transfer-Encoding: chunked").endless(chunk(), Duration::ZERO)
        })
        .heavy(),
        Case::new("chunks of one byte without an end", "too_large|network timeout", || {
            head("Transfer-Encoding: chunked").endless("1\r\nx\r\n".repeat(3000), Duration::ZERO)
        })
        .slow(),
        Case::new("an extension of a chunk without an end", "unexpected", || {
            head("Transfer-Encoding: chunked").send("1;x=").endless("y".repeat(4000), Duration::ZERO)
        })
        .slow(),
        Case::new("trailers without an end", "unexpected", || {
            head("Transfer-Encoding: chunked")
                .send("1\r\nx\r\n0\r\n")
                .endless("X: y\r\n".repeat(1000), Duration::ZERO)
        })
        .slow(),
        Case::new("a dripping body", "network timeout", || {
            head("Content-Length: 100000").send("<rss>").endless(" ", DRIP)
        })
        .slow(),
        Case::new("dripping chunks", "network timeout", || {
            head("Transfer-Encoding: chunked").endless("1\r\nx\r\n", DRIP)
        })
        .slow(),
        Case::new("a dripping header", "network timeout", || {
            raw("HTTP/1.1 200 OK\r\nX: ").endless("y", DRIP)
        })
        .slow(),
        Case::new("dripping headers", "network timeout", || {
            raw("HTTP/1.1 200 OK\r\n").endless("X: y\r\n", Duration::from_millis(100))
        })
        .slow(),
        Case::new("a dripping status line", "network timeout", || raw("HTTP/1.1 200 ").endless("O", DRIP))
            .slow(),
        Case::new("continue without an end", "network timeout", || {
            raw("").endless("HTTP/1.1 100 Continue\r\n\r\n", DRIP)
        })
        .slow(),
        Case::new("hints without an end", "network timeout", || {
            raw("").endless("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", DRIP)
        })
        .slow(),
        Case::new("no word at all", "network timeout", || raw("").stall()).slow(),
        Case::new("half a status line, and no more", "network timeout", || raw("HTTP/1.1 2").stall()).slow(),
        Case::new("half a head, and no more", "network timeout", || raw("HTTP/1.1 200 OK\r\nETag: ").stall())
            .slow(),
        Case::new("a head, and no more", "network timeout", || head("Content-Length: 10").stall()).slow(),
        Case::new("half a body, and no more", "network timeout", || {
            head("Content-Length: 1000").send("<rss><channel>").stall()
        })
        .slow(),
        Case::new("half a chunk, and no more", "network timeout", || {
            head("Transfer-Encoding: chunked").send("ff\r\n<rss>").stall()
        })
        .slow(),
        Case::new("all chunks but the last", "network timeout", || {
            let body = body();
            head("Transfer-Encoding: chunked").send(format!("{:x}\r\n{body}\r\n", body.len())).stall()
        })
        .slow(),
    ]
}

fn lengths() -> Vec<Case> {
    let with = |line: &'static str, ends: &'static str| {
        Case::new(format!("'{line}'"), ends, move || {
            head(&format!("Connection: close\r\n{line}")).send(body()).close()
        })
    };
    vec![
        Case::new("a length that is too long, and an end", "network reset", || {
            head("Content-Length: 100000").send(body()).close()
        }),
        Case::new("a length that is too long, and no more", "network timeout", || {
            head("Content-Length: 100000").send(body()).stall()
        })
        .slow(),
        Case::new("a length of petabytes", "too_large", || head("Content-Length: 9999999999999999").stall()),
        Case::new("a length beyond all numbers", "unexpected", || {
            head("Content-Length: 99999999999999999999999999").send(body()).close()
        }),
        Case::new("a length that is too short", "fetched 0", || {
            head("Content-Length: 60").send(body()).close()
        }),
        Case::new("a length of nothing, with a body", "parse_error", || {
            head("Content-Length: 0").send(body()).close()
        }),
        with("Content-Length: -5", "unexpected"),
        with("Content-Length: five", "unexpected"),
        with("Content-Length: 5, 6", "unexpected"),
        with("Content-Length: 5\r\nContent-Length: 6", "unexpected"),
        with("Content-Length: 0x40", "unexpected"),
        with("Content-Length: +5", "unexpected"),
        with("Transfer-Encoding: chunked", "unexpected"),
        with("Transfer-Encoding: gzip", "fetched 1|unexpected"),
        with("Transfer-Encoding: chunked, chunked", "unexpected"),
        with("Transfer-Encoding: chunked\r\nContent-Length: 5", "unexpected"),
        Case::new("a chunk of a size beyond all numbers", "unexpected", || {
            head("Transfer-Encoding: chunked").send("fffffffffffffffff\r\n").send(body()).close()
        }),
        Case::new("a chunk of exabytes", "network reset", || {
            head("Transfer-Encoding: chunked").send("ffffffffffffff\r\n").send(body()).close()
        }),
        Case::new("a chunk of a negative size", "unexpected", || {
            head("Transfer-Encoding: chunked").send("-1\r\n").send(body()).close()
        }),
    ]
}

fn cut() -> Vec<Case> {
    let ended = |name: &'static str, bytes: &'static str| {
        Case::new(name, "network reset", move || raw(bytes).close())
    };
    vec![
        ended("closed at once", ""),
        ended("closed in the status line", "HTTP/1.1 20"),
        ended("closed in a header", "HTTP/1.1 200 OK\r\nETag: \"ev"),
        ended("closed before the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        ended("closed in the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n<rss>"),
        ended("closed in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n<rss>"),
        ended("closed between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<rss>\r\n"),
        ended("closed before any chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Case::new("reset at once", "network reset", || raw("").reset()),
        Case::new("reset in the body", "network reset", || {
            head("Content-Length: 1000").send("<rss>").reset()
        }),
        Case::new("closed behind a body without a length", "fetched 0", || {
            head("Connection: close").send("<rss><channel><item><guid>half</guid>").close()
        }),
    ]
}

fn garbage() -> Vec<Case> {
    let said = |name: &'static str, ends: &'static str, bytes: &'static str| {
        Case::new(name, ends, move || raw(bytes).send(body()).close())
    };
    vec![
        said("HTTP/0.9", "unexpected", "<html>no head at all</html>\r\n\r\n"),
        said("a feed without a head", "unexpected", ""),
        said("another protocol", "unexpected", "SSH-2.0-OpenSSH_9.9\r\n"),
        said("a mail server", "unexpected", "220 mail.example ESMTP\r\n"),
        said("zeros", "unexpected", "\0\0\0\0\r\n\r\n"),
        said("a version to come", "unexpected", "HTTP/9.9 200 OK\r\n\r\n"),
        said("a radio station", "unexpected", "ICY 200 OK\r\n\r\n"),
        said("no status", "unexpected", "HTTP/1.1\r\n\r\n"),
        said("a status of words", "unexpected", "HTTP/1.1 fine\r\n\r\n"),
        said("a status of five digits", "unexpected", "HTTP/1.1 20000 OK\r\n\r\n"),
        said("a status below all", "unexpected", "HTTP/1.1 042 OK\r\nConnection: close\r\n\r\n"),
        said("HTTP/1.0 without a length", "fetched 1", "HTTP/1.0 200 OK\r\n\r\n"),
        said("line feeds alone", "fetched 1", "HTTP/1.1 200 OK\nConnection: close\n\n"),
        said("no reason", "fetched 1", "HTTP/1.1 200\r\nConnection: close\r\n\r\n"),
        said(
            "a header without a colon",
            "fetched 1",
            "HTTP/1.1 200 OK\r\nno colon\r\nConnection: close\r\n\r\n",
        ),
        said("a header with a zero", "unexpected", "HTTP/1.1 200 OK\r\nX: a\0b\r\nConnection: close\r\n\r\n"),
        said("a name with a space", "fetched 1", "HTTP/1.1 200 OK\r\nX Y: z\r\nConnection: close\r\n\r\n"),
        said(
            "an upgrade that nobody asked for",
            "unexpected",
            "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        ),
        said("the preface of HTTP/2", "unexpected", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ]
}

fn heads() -> Vec<Case> {
    let flood = |name: &'static str, lines: fn() -> String| {
        Case::new(name, "too_large", move || {
            Reply::raw(format!("HTTP/1.1 200 OK\r\n{}Connection: close\r\n\r\n", lines()))
                .send(body())
                .close()
        })
    };
    let endless = |name: &'static str, start: &'static str, piece: fn() -> String| {
        Case::new(name, "too_large", move || raw(start).endless(piece(), Duration::ZERO))
    };
    vec![
        flood("150 headers", || (0..150).map(|n| format!("X-{n}: v\r\n")).collect()),
        flood("72 KB of headers", || (0..80).map(|n| format!("X-{n}: {}\r\n", "v".repeat(900))).collect()),
        flood("a header of a megabyte", || format!("X: {}\r\n", "v".repeat(1 << 20))),
        flood("a name of a megabyte", || format!("{}: v\r\n", "x".repeat(1 << 20))),
        flood("10,000 cookies", || "Set-Cookie: a=b\r\n".repeat(10_000)),
        flood("a tag of 70 KB", || format!("ETag: \"{}\"\r\n", "e".repeat(70_000))),
        endless("headers without an end", "HTTP/1.1 200 OK\r\n", || "X: y\r\n".repeat(1000)),
        endless("a header without an end", "HTTP/1.1 200 OK\r\nX: ", || "y".repeat(8000)),
        endless("a folded header without an end", "HTTP/1.1 200 OK\r\nX: ", || "y\r\n z".repeat(2000)),
        endless("a reason without an end", "HTTP/1.1 200 ", || "OK".repeat(4000)),
    ]
}

fn redirects() -> Vec<Case> {
    let to = |name: &'static str, ends: &'static str, location: &'static [u8]| {
        Case::new(name, ends, move || Reply::redirect(302, location))
    };
    vec![
        to("a redirect to itself", "unexpected", b""),
        to("a circle of two", "unexpected", b"/circle/a"),
        to("a chain without an end", "unexpected", b"/chain/0"),
        to("a redirect to no URL", "blocked", b"http://[::1"),
        to("a redirect into a file", "blocked", b"file:///etc/passwd"),
        to("a redirect to another protocol", "blocked", b"ftp://127.1.0.1/"),
        to("a redirect to data", "blocked", b"data:application/rss+xml,<rss/>"),
        to("a redirect to this machine", "blocked", b"http://127.0.0.1/"),
        to("a redirect to a mail server", "blocked", b"http://a.test:25/"),
        to("a redirect with a password", "blocked", b"http://me:hunter2@a.test/"),
        to("a redirect to nobody", "network dns", b"http://nobody.test/"),
        to("a redirect to bytes", "not_found", b"/\xff\xfe"),
        Case::new("a redirect to a megabyte", "too_large", || {
            Reply::redirect(301, format!("/{}", "x".repeat(1 << 20)))
        }),
        Case::new("a redirect to nowhere", "unexpected", || Reply::status(307)),
        Case::new("a redirect with a body without an end", "unexpected", || {
            raw("HTTP/1.1 302 Found\r\nLocation: /circle/a\r\n\r\n").endless("x".repeat(1000), Duration::ZERO)
        }),
        Case::new("a refresh, which is no redirect", "parse_error", || {
            feed("").header("Refresh", "0; url=http://127.0.0.1/")
        }),
    ]
}

fn statuses() -> Vec<Case> {
    let answered = |status: u16, ends: &'static str| {
        Case::new(format!("{status} with a body without an end"), ends, move || {
            raw(&format!("HTTP/1.1 {status} Whatever\r\nETag: \"evil\"\r\nConnection: close\r\n\r\n"))
                .endless("x".repeat(4000), Duration::ZERO)
        })
    };
    let other = |status: u16, ends: &'static str| {
        Case::new(format!("{status} without a body"), ends, move || {
            Reply::status(status).header("ETag", "\"evil\"")
        })
    };
    vec![
        answered(401, "unauthorized"),
        answered(403, "forbidden"),
        answered(404, "not_found"),
        answered(410, "gone"),
        answered(429, "rate_limited"),
        answered(500, "upstream_failure"),
        answered(503, "upstream_failure"),
        answered(999, "unexpected"),
        other(204, "unexpected"),
        other(205, "unexpected"),
        other(206, "unexpected"),
        other(300, "unexpected"),
        other(418, "unexpected"),
        Case::new("429 for a thousand years", "rate_limited", || {
            Reply::status(429).header("Retry-After", "99999999999999999999")
        }),
    ]
}
