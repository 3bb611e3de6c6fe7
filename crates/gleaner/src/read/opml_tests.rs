//! Lists as other readers write them, damaged lists, and hostile lists.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Each feed as `line folder|title|url|kind`.
fn read(text: &str) -> Vec<String> {
    let show = |one: Outline| {
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        format!("{} {}|{}|{}|{}", one.line, or(one.folder), or(one.title), one.url, or(one.kind))
    };
    outlines(text).unwrap().map(show).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(read(text), expected, "{text}");
}

#[test]
fn folders_become_paths() {
    let text = "<?xml version='1.0'?>\n<opml version='2.0'><head><title>mine</title></head><body>\n\
        <outline text='Top' xmlUrl='https://a.example/'/>\n\
        <outline text='News'>\n<outline text='Science &amp; more' title=''>\n\
        <outline type='rss' text='b' title='B' xmlUrl='https://b.example/?x=1&amp;y=2' htmlUrl='https://b.example'/>\n\
        </outline>\n<outline text='C' xmlUrl='https://c.example/'></outline></outline>\n\
        <outline text='D' xmlUrl='https://d.example/'/></body></opml>";
    check(
        text,
        &[
            "3 -|Top|https://a.example/|-",
            "6 News/Science & more|B|https://b.example/?x=1&y=2|rss",
            "8 News|C|https://c.example/|-",
            "9 -|D|https://d.example/|-",
        ],
    );
}

#[test]
fn damaged_lists_are_read() {
    // Unescaped ampersands, unquoted values, upper case, unclosed tags, end tags without a start.
    check(
        "<OPML><BODY></outline></outline><OUTLINE TEXT=News><OUTLINE XMLURL=https://a.example/?a=1&copy=2 TEXT=\"A & B\">",
        &["1 News|A & B|https://a.example/?a=1&copy=2|-"],
    );
    check("<outline xmlUrl='https://a.example/'/>", &["1 -|-|https://a.example/|-"]);
    check("<opml><outline xmlUrl='  '/><outline text='empty'/></opml>", &[]);
    check("<opml><!-- <outline xmlUrl='https://no.example/'/> --></opml>", &[]);
    check("<opml><outline text='a\u{1b}\nb' xmlUrl='https://a.example/", &[]);
    check(
        "<opml><outline type='website' text='W' url='https://w.example/'/></opml>",
        &["1 -|W|https://w.example/|website"],
    );
    check("<opml><outline type='link' text='L' url='https://l.example/'/></opml>", &[]);
    for other in
        ["", "hello", "<html><body><outline xmlUrl='https://a.example/'/>", "<rss></rss>", "<opm", "{}"]
    {
        assert!(outlines(other).is_err(), "{other}");
    }
}

#[test]
fn hostile_lists_take_bounded_time() {
    let deep =
        format!("<opml>{}<outline xmlUrl='https://a.example/'/>", "<outline text='x'>".repeat(1_000_000));
    let wide = format!("<opml><outline text='{}' xmlUrl='u'/>", "&amp;".repeat(1_000_000));
    let long = format!("<opml><outline xmlUrl='{}'/></opml>", "u".repeat(10_000_000));
    let ends = format!("<opml>{}", "</outline>".repeat(1_000_000));
    let quotes = format!("<opml><outline {}", "a=\"".repeat(1_000_000));
    let began = Instant::now();
    let folder = outlines(&deep).unwrap().next().unwrap().folder.unwrap();
    assert_eq!(folder.chars().count(), 2 * MAX_DEPTH - 1);
    assert_eq!(outlines(&wide).unwrap().next().unwrap().title, None);
    assert_eq!(outlines(&long).unwrap().count() + outlines(&ends).unwrap().count(), 0);
    assert_eq!(outlines(&quotes).unwrap().count(), 0);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn written_lists_are_read_back() {
    let feed = |url: &str, title: Option<&str>, kind: Option<&str>, folder: Option<&str>| Outline {
        line: 0,
        url: url.to_owned(),
        title: title.map(str::to_owned),
        kind: kind.map(str::to_owned),
        folder: folder.map(str::to_owned),
    };
    let mut writer = Writer::new("<mine>");
    writer.feed(&feed("https://a.example/?a=1&b=2", Some("\"A\" & <B>"), None, None));
    writer.feed(&feed("https://b.example/", None, Some("website"), Some("News/World")));
    writer.feed(&feed("https://c.example/", Some("C\u{1}"), Some("rss"), Some("News/World")));
    writer.feed(&feed("https://d.example/", Some("D"), Some("rss"), Some("Other")));
    let text = writer.finish();
    check(
        &text,
        &[
            "7 -|\"A\" & <B>|https://a.example/?a=1&b=2|rss",
            "9 News/World|https://b.example/|https://b.example/|website",
            "10 News/World|C|https://c.example/|rss",
            "13 Other|D|https://d.example/|rss",
        ],
    );
}

proptest! {
    #[test]
    fn any_text_can_be_read(text in "(<|/|outline|opml| |xmlUrl=|'|\"|>|a|\n|&amp;|\\PC){0,60}") {
        if let Ok(outlines) = outlines(&format!("<opml>{text}")) {
            outlines.for_each(drop);
        }
    }

    #[test]
    fn any_feed_round_trips(title in "\\PC{1,50}", path in "\\PC{0,50}") {
        let (title, url) = (title.trim().to_owned(), format!("https://a.example/{}", path.trim()));
        prop_assume!(!title.is_empty());
        let feed = Outline { line: 4, url, title: Some(title.clone()), kind: None, folder: Some(title) };
        let mut writer = Writer::new("");
        writer.feed(&feed);
        let read = outlines(&writer.finish()).unwrap().next().unwrap();
        prop_assert_eq!((read.url, read.title, read.folder), (feed.url, feed.title, feed.folder));
    }
}
