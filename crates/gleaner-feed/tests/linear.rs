//! Time and memory grow linearly with the input, even for hostile documents.
//!
//! Each document is parsed at one size and at four times that size. Linear work takes four times as long; the bound
//! leaves room for a busy machine but not for quadratic time.

use std::time::{Duration, Instant};

use gleaner_feed::{Feed, Limits, Options, ParseError, parse};

/// Four times the input may take this many times as long.
const BOUND: u32 = 9;
/// Times below this are noise.
const FLOOR: Duration = Duration::from_millis(8);

fn read(document: &str) -> Result<Feed, ParseError> {
    let limits = Limits { total_bytes: usize::MAX, ..Limits::default() };
    parse(document.as_bytes(), &Options { url: Some("https://example.com/"), limits, ..Options::default() })
}

/// CPU time of this thread where the system reports it, since other tests run at the same time.
fn now(start: Instant) -> Duration {
    let running = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let running = running.and_then(|text| text.split(' ').next()?.parse().ok());
    running.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

fn time(document: &str) -> Duration {
    let start = Instant::now();
    let before = now(start);
    if let Ok(feed) = read(document) {
        // Converting to plain text must be linear too.
        feed.entries.iter().filter_map(|entry| entry.summary.as_ref()).for_each(|text| drop(text.plain()));
    }
    now(start) - before
}

/// Checks a document with `count` parts against one with four times as many.
fn check(count: usize, document: impl Fn(usize) -> String) {
    let (small, large) = (document(count), document(4 * count));
    let mut last = None;
    // Retried on a busy machine; quadratic time would fail every time.
    for _ in 0..5 {
        let (short, long) = (time(&small), time(&large));
        if long <= short.max(FLOOR) * BOUND {
            return;
        }
        last = Some((short, long));
    }
    panic!("{last:?} for {} and {} bytes: {}", small.len(), large.len(), &small[..small.len().min(120)]);
}

fn item(inside: &str) -> String {
    format!("<rss version=\"2.0\"><channel><title>T</title><item>{inside}</item></channel></rss>")
}

/// The same part repeated: between fields, inside an open text, and inside a closed text.
fn flood(part: &'static str) {
    let count = 30_000 / part.len();
    check(count, |count| format!("<rss><channel><item>{}", part.repeat(count)));
    check(count, |count| format!("<rss><channel><item><description>{}", part.repeat(count)));
    check(count, |count| {
        item(&format!("<title>{0}</title><description>{0}</description>", part.repeat(count)))
    });
}

#[test]
fn unclosed_constructs() {
    for part in [
        "<a>",
        "<p><b>",
        "<title>",
        "<description>",
        "<item>",
        "<x:y>",
        "<author><name>",
        "<media:group>",
        "<content type=\"xhtml\">",
        "<div>",
        "<source>",
        "<image>",
        "<entry>",
        "<channel>",
        "<rss>",
    ] {
        flood(part);
    }
}

#[test]
fn sections_and_comments() {
    for part in [
        "<![CDATA[",
        "]]>",
        "<![CDATA[]]>",
        "<![CDATA[<![CDATA[x]]>",
        "<![CDATA[x</title>",
        "<!--",
        "-->",
        "<!---->",
        "<!",
        "<!DOCTYPE x [",
        "<!ENTITY a \"b\">",
        "<?",
        "<?x",
        "?>",
        "<![CDATA[</b>",
        "]]",
        "<title><![CDATA[<![CDATA[x]]>",
    ] {
        flood(part);
    }
}

#[test]
fn references_and_brackets() {
    for part in [
        "&",
        "&amp;",
        "&lt;",
        "&#1;",
        "&#xD83D;",
        "&unknown;",
        "&&#",
        "<",
        "< ",
        "<<",
        "</",
        "</a>",
        "</item>",
        "<a b=\"",
        "<a b='<",
        "<a b=",
        "<a \"'",
        "<a b=\"<c ",
        "\"",
        "=",
        "<a =\" ",
        "&lt;script&gt;",
        "&lt;b ",
        "&lt;!--",
        "&lt;/",
        "<a b=c/>",
        "\u{c2}\u{e9}",
        "\u{e2}\u{80}",
    ] {
        flood(part);
    }
}

#[test]
fn attributes() {
    check(10_000, |count| {
        let attributes: String = (0..count).map(|index| format!(" a{index}=\"{index}\"")).collect();
        item(&format!("<link{attributes} href=\"/x\"/><title{attributes}>x</title>"))
    });
    check(5_000, |count| {
        let attributes: String = (0..count).map(|index| format!(" xmlns:a{index}=\"urn:{index}\"")).collect();
        format!(
            "<rss{attributes}><channel><title>T</title><item><a1:title>x</a1:title></item></channel></rss>"
        )
    });
    check(2_000, |count| item(&"<link href=\"a\" xml:base=\"b/\"/>".repeat(count)));
    check(2_000, |count| format!("<rss><channel>{}", "<a xml:base=\"b/\">".repeat(count)));
}

#[test]
fn a_million_attributes_are_read() {
    let document = item(&format!("<link{} href=\"https://example.com/1\"/>", " a=\"b\"".repeat(1_000_000)));
    let feed = read(&document).unwrap();
    assert_eq!(feed.entries[0].link.as_deref(), Some("https://example.com/1"));
}

#[test]
fn depth() {
    check(10_000, |count| item(&format!("{}{}<title>x</title>", "<a>".repeat(count), "</a>".repeat(count))));
    check(10_000, |count| item(&format!("{}<title>x</title>{}", "<a>".repeat(count), "</b>".repeat(count))));
    check(10_000, |count| {
        item(&format!(
            "<content type=\"xhtml\">{}{}</content>",
            "<div>".repeat(count),
            "</div>".repeat(count)
        ))
    });
    let deep = item(&format!("{}<title>deep</title>{}", "<a>".repeat(100_000), "</a>".repeat(100_000)));
    assert_eq!(read(&deep).unwrap().entries[0].title.as_ref().unwrap().value, "deep");
    // The JSON parser has its own depth limit; it only has to return.
    assert!(read(&format!("{{\"items\":{}", "[".repeat(1_000_000))).is_ok_and(|feed| feed.repairs.truncated));
}

#[test]
fn huge_texts_are_truncated() {
    check(50_000, |count| item(&format!("<title>{}</title>", "x ".repeat(count))));
    check(20_000, |count| item(&format!("<description>{}</description>", "&lt;p&gt;".repeat(count))));
    let feed = read(&item(&format!("<title>{}</title>", "\u{e9}".repeat(2 << 20)))).unwrap();
    assert_eq!(feed.entries[0].title.as_ref().unwrap().value.len(), 1 << 20);
    assert!(feed.repairs.fields_cut);
}

#[test]
fn declared_entities_do_not_explode() {
    let text = "x".repeat(250);
    let head = format!("<!DOCTYPE rss [<!ENTITY a \"{text}\"><!ENTITY b \"&a;&a;\">]>");
    check(5_000, |count| head.clone() + &item(&format!("<title>{}</title>", "&a;&b;".repeat(count))));
    let document = head + &item(&format!("<description>{}</description>", "&a;".repeat(1_000_000)));
    let feed = read(&document).unwrap();
    assert!(feed.entries[0].summary.as_ref().unwrap().value.len() <= 2 * document.len());
}

#[test]
fn the_first_items_are_kept() {
    let document =
        format!("<rss><channel>{}</channel></rss>", "<item><title>x</title></item>".repeat(200_000));
    let feed = read(&document).unwrap();
    assert_eq!(feed.entries.len(), 10_000);
    assert!(feed.repairs.entries_dropped);
    check(2_000, |count| format!("<rss><channel>{}", "<item><link>a</link></item>".repeat(count)));
}

#[test]
fn long_lists_are_truncated() {
    check(5_000, |count| item(&"<category>x</category>".repeat(count)));
    check(5_000, |count| item(&"<author>x</author>".repeat(count)));
    check(5_000, |count| item(&"<link rel=\"via\" href=\"https://example.com/\"/>".repeat(count)));
    check(5_000, |count| item(&format!("<itunes:keywords>{}</itunes:keywords>", "a,".repeat(count))));
    let feed = read(&item(&"<category>x</category>".repeat(5_000))).unwrap();
    assert_eq!(feed.entries[0].categories.len(), 1_000);
}
