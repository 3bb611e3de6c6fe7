//! Any input returns a result, and complete entries are kept: every prefix of every fixture, every fixture with a
//! damaged byte, and a document truncated at every byte.

use std::fs;
use std::path::Path;

use gleaner_feed::{Feed, Limits, Options, ParseError, parse};

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let files = fs::read_dir(directory).expect("the fixtures are there").flatten().map(|file| file.path());
    let documents = files.filter(|file| file.extension().is_some_and(|extension| extension != "expect"));
    documents
        .map(|file| (file.display().to_string(), fs::read(&file).expect("a fixture can be read")))
        .collect()
}

fn read(bytes: &[u8]) -> Result<Feed, ParseError> {
    parse(bytes, &Options { url: Some("https://example.com/feed"), ..Options::default() })
}

/// Invariants of every parsed feed.
fn check(feed: &Feed, of: &str) {
    assert!(feed.cut_entry.is_none() || feed.repairs.truncated, "{of}");
    for entry in &feed.entries {
        assert!(entry.title.as_ref().is_none_or(|title| !title.is_blank()), "{of}");
        assert!(entry.link.as_ref().is_none_or(|link| !link.trim().is_empty()), "{of}");
    }
}

#[test]
fn every_prefix_of_every_fixture_returns() {
    for (name, bytes) in fixtures() {
        for end in 0..bytes.len() {
            if let Ok(feed) = read(&bytes[..end]) {
                check(&feed, &format!("{name} cut at {end}"));
            }
        }
    }
}

#[test]
fn every_fixture_with_one_damaged_byte_returns() {
    for (name, bytes) in fixtures() {
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            // Two of eight values at each position are enough, and fast.
            let values = [0, b'<', b'>', b'"', b'&', b']', 0xE9, bytes[at] ^ 1];
            for value in [values[at % 8], values[at / 8 % 8]] {
                damaged[at] = value;
                if let Ok(feed) = read(&damaged) {
                    check(&feed, &format!("{name} with {value} at {at}"));
                }
            }
            damaged[at] = bytes[at];
        }
    }
}

/// A truncated document keeps exactly the entries that ended before the cut, unchanged.
#[test]
fn truncation_loses_only_what_follows() {
    let section = "<description><![CDATA[<p>a &amp; b]] > </item></p>]]></description>";
    let item = |index: usize| {
        format!(
            "<item><guid>{index}</guid><title>T &lt;{index}&gt;</title>{section}<author>Jo</author></item>\n"
        )
    };
    let head = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>T</title>";
    let document: String =
        [head.to_owned(), item(1), item(2), item(3), "</channel></rss>".to_owned()].concat();
    let whole = read(document.as_bytes()).unwrap();
    assert_eq!(whole.entries.len(), 3);
    assert!(!whole.repairs.any());
    for end in head.len()..document.len() {
        let feed = read(&document.as_bytes()[..end]).unwrap();
        // An end tag counts once its name is complete.
        let complete = (end - head.len() + ">\n".len()) / item(1).len();
        assert_eq!(feed.entries, whole.entries[..complete], "cut at {end}");
        assert!(feed.repairs.truncated, "cut at {end}");
    }
}

#[test]
fn limits_are_kept() {
    let items: String = (0..30).map(|index| format!("<item><title>number {index}</title></item>")).collect();
    let document = format!("<rss><channel>{items}</channel></rss>");
    let limits = Limits { entries: 10, field_bytes: 7, ..Limits::default() };
    let feed = parse(document.as_bytes(), &Options { limits, ..Options::default() }).unwrap();
    assert_eq!(feed.entries.len(), 10);
    assert!(feed.repairs.entries_dropped && feed.repairs.fields_cut && !feed.repairs.truncated);
    assert!(feed.entries.iter().all(|entry| entry.title.as_ref().unwrap().value == "number"));

    let limits = Limits { entries: 30, ..Limits::default() };
    let feed = parse(document.as_bytes(), &Options { limits, ..Options::default() }).unwrap();
    assert!(!feed.repairs.entries_dropped);

    let limits = Limits { total_bytes: 100, ..Limits::default() };
    let error = parse(document.as_bytes(), &Options { limits, ..Options::default() }).unwrap_err();
    assert_eq!(error, ParseError::TooLarge { size: document.len(), limit: 100 });
}

#[test]
fn json_limits_are_kept() {
    let items = ["{\"title\":\"a long title\"}"; 5].join(",");
    let document = format!("{{\"items\":[{items}]}}");
    let limits = Limits { entries: 3, field_bytes: 6, ..Limits::default() };
    let feed = parse(document.as_bytes(), &Options { limits, ..Options::default() }).unwrap();
    assert_eq!(feed.entries.len(), 3);
    assert_eq!(feed.entries[0].title.as_ref().unwrap().value, "a long");
    assert!(feed.repairs.entries_dropped && feed.repairs.fields_cut && !feed.repairs.truncated);
}
