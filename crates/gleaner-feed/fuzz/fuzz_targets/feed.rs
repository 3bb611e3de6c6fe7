//! Fuzzes the parser with any bytes: a feed within the limits, or an error.
//!
//! Most inputs are converted to valid UTF-8 first, so that the time is spent on parsing rather than on encoding
//! detection, which has its own target.

#![no_main]

use gleaner_feed::{Limits, Options, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let raw = bytes.first().is_some_and(|first| *first == 0 || *first >= 0x80);
    let bytes = if raw { bytes } else { text.as_bytes() };
    let limits = Limits { entries: 50, field_bytes: 2000, ..Limits::default() };
    let options = Options { content_type: None, url: Some("https://example.com/feed"), limits };
    let Ok(feed) = parse(bytes, &options) else { return };
    assert!(feed.entries.len() <= limits.entries);
    assert!(feed.cut_entry.is_none() || feed.repairs.truncated);
    let title = feed.title.iter().chain(feed.entries.iter().filter_map(|entry| entry.title.as_ref()));
    for text in title {
        assert!(text.value.len() <= limits.field_bytes);
        assert!(!text.is_blank());
        text.plain();
    }
    for entry in &feed.entries {
        assert!(entry.url().is_none_or(|url| !url.is_empty()));
        if let Some(content) = &entry.content {
            content.text.plain();
        }
    }
});
