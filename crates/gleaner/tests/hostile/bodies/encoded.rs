//! Encodings: bombs, streams that break off, labels that lie.

use std::io::Write as _;
use std::time::Duration;

use super::{Case, feed, head, rss};
use crate::support::encode::{bare_deflate, brotli, gzip, zlib, zstd};

/// What servers call it, and how it is made.
type Encoder = fn(&[u8]) -> Vec<u8>;
const ENCODINGS: [(&str, &str, Encoder); 6] = [
    ("gzip", "gzip", gzip),
    ("x-gzip", "x-gzip", gzip),
    ("deflate in zlib", "deflate", zlib),
    ("bare deflate", "deflate", bare_deflate),
    ("brotli", "br", brotli),
    ("zstd", "zstd", zstd),
];

/// A feed that is long enough for every encoder to have something to do.
fn text() -> String {
    rss(&(0..50)
        .map(|n| format!("<item><guid>{n}</guid><title>Number {n}</title></item>"))
        .collect::<String>())
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, label, encode) in ENCODINGS {
        let encoded = move |bytes: Vec<u8>| feed(encode(&bytes)).header("Content-Encoding", label);
        all.push(
            Case::new(format!("a {name} bomb"), "too_large", move || encoded(vec![b' '; 32 << 20])).heavy(),
        );
        let begins = move || encoded([text().into_bytes(), vec![b' '; 11 << 20]].concat());
        all.push(Case::new(format!("a feed that becomes a {name} bomb"), "too_large", begins).heavy());
        all.push(Case::new(format!("{name} that ends early"), "network reset", move || {
            let encoded = encode(text().as_bytes());
            feed(&encoded[..encoded.len() - 4]).header("Content-Encoding", label)
        }));
        all.push(Case::new(format!("{name} that ends at once"), "network reset", move || {
            feed(&encode(text().as_bytes())[..2]).header("Content-Encoding", label)
        }));
        all.push(Case::new(format!("{name} that is none"), "parse_error", move || {
            feed(format!("\u{7f}{}", text())).header("Content-Encoding", label)
        }));
        all.push(Case::new(
            format!("{name} with a byte turned"),
            "parse_error|network reset|fetched",
            move || {
                let mut encoded = encode(text().as_bytes());
                let middle = encoded.len() / 2;
                encoded[middle] ^= 0x55;
                feed(encoded).header("Content-Encoding", label)
            },
        ));
        all.push(Case::new(format!("{name} twice, called so once"), "parse_error", move || {
            feed(encode(&encode(text().as_bytes()))).header("Content-Encoding", label)
        }));
        all.push(Case::new(format!("{name} twice, and called so"), "parse_error", move || {
            feed(encode(&encode(text().as_bytes()))).header("Content-Encoding", format!("{label}, {label}"))
        }));
        all.push(Case::new(format!("{name} of nothing"), "parse_error", move || encoded(Vec::new())));
    }
    all.extend(labels());
    all.extend(streams());
    all
}

fn labels() -> Vec<Case> {
    let labelled = |name: &'static str, label: &'static str, encode: Encoder| {
        Case::new(name, "parse_error", move || {
            feed(encode(text().as_bytes())).header("Content-Encoding", label)
        })
    };
    vec![
        labelled("gzip in brotli, in one line", "br, gzip", |bytes| gzip(&brotli(bytes))),
        labelled("gzip that says brotli", "br", gzip),
        labelled("brotli that says gzip", "gzip", brotli),
        labelled("zstd that says deflate", "deflate", zstd),
        labelled("deflate that says zstd", "zstd", zlib),
        labelled("an encoding of the eighties", "compress", gzip),
        labelled("a charset for an encoding", "utf-8", <[u8]>::to_vec),
        labelled("an encoding with a weight", "gzip;q=1.0", gzip),
        labelled("an encoding of one's own", "aes128gcm", <[u8]>::to_vec),
        Case::new("an encoding without a name", "parse_error", || {
            feed(text()).header("Content-Encoding", b"\xff\xfe")
        }),
        Case::new("gzip in brotli, in two lines", "parse_error", || {
            feed(gzip(&brotli(text().as_bytes())))
                .header("Content-Encoding", "br")
                .header("Content-Encoding", "gzip")
        }),
    ]
}

fn streams() -> Vec<Case> {
    vec![
        Case::new("a bomb of a thousand gzip members", "too_large", || {
            feed(gzip(&vec![b' '; 1 << 20]).repeat(1000)).header("Content-Encoding", "gzip")
        })
        .heavy(),
        Case::new("a bomb within a bomb", "parse_error", || {
            feed(gzip(&gzip(&vec![0; 64 << 20]))).header("Content-Encoding", "gzip")
        }),
        Case::new("a gzip header whose name never ends", "too_large", || {
            head("Connection: close\r\nContent-Encoding: gzip")
                .send([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3])
                .endless("name".repeat(4000), Duration::ZERO)
        })
        .heavy(),
        Case::new("deflate from which nothing ever comes", "too_large", || {
            head("Connection: close\r\nContent-Encoding: deflate")
                .endless([0, 0, 0, 0xff, 0xff].repeat(4000), Duration::ZERO)
        })
        .heavy(),
        Case::new("zstd frames to be skipped for ever", "too_large", || {
            let frame = [&[0x50, 0x2a, 0x4d, 0x18, 0, 0x10, 0, 0][..], &[0; 4096]].concat();
            head("Connection: close\r\nContent-Encoding: zstd").endless(frame.repeat(4), Duration::ZERO)
        })
        .heavy(),
        Case::new("zstd with a window of 128 MB", "parse_error", || {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
            encoder.window_log(27).unwrap();
            encoder.write_all(&vec![b'x'; 1 << 20]).unwrap();
            feed(encoder.finish().unwrap()).header("Content-Encoding", "zstd")
        }),
        Case::new("gzip that stalls in the middle", "network timeout", || {
            let encoded = gzip(text().as_bytes());
            head("Connection: close\r\nContent-Encoding: gzip").send(&encoded[..encoded.len() / 2]).stall()
        })
        .slow(),
        Case::new("gzip that drips", "network timeout", || {
            head("Connection: close\r\nContent-Encoding: gzip")
                .send([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
                .endless([0, 0, 0, 0xff, 0xff], Duration::from_millis(20))
        })
        .slow(),
    ]
}
