//! Pages that mean harm: time in proportion to the input, whatever is in it.

use std::time::{Duration, Instant};

use gleaner::read::Page;
use gleaner::read::links::{guess, select};
use url::Url;

/// A second where it counts; without optimisation, and on a machine that has other things to do, more.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 1 });

/// The number of links found, in time.
fn check(what: &str, html: &str) -> usize {
    let url = Url::parse("https://example.org/blog/").unwrap();
    let start = Instant::now();
    let found = guess(&Page { url: &url, content_type: b"text/html", body: html.as_bytes() }).len();
    assert!(start.elapsed() < LIMIT, "{what}: {:?}", start.elapsed());
    found
}

fn links(count: usize) -> String {
    let link =
        |n| format!("<li><a href='/blog/post-number-{n}-of-many'>The title of post number {n}</a></li>");
    (0..count).map(link).collect()
}

#[test]
fn many_links_take_their_time_and_no_more() {
    assert_eq!(check("200,000 links", &links(200_000)), 50_000);
    let same = "<p><a href='/blog/one-and-the-same-post'>One and the same post</a></p>";
    assert_eq!(check("one link 200,000 times", &same.repeat(200_000)), 0);
    let dated =
        |n| format!("<li><a href='/2024/01/02/p?utm_id=x&a={n}'>A post, number {n}</a> 2 Jan 2024</li>");
    assert_eq!(check("dated links", &(0..60_000).map(dated).collect::<String>()), 50_000);
}

#[test]
fn depth_costs_nothing() {
    check("nested elements", &"<div>".repeat(100_000));
    check("nested classes", &"<div class='nav menu a b c'>".repeat(100_000));
    check("nested anchors", &"<a href=/x>".repeat(200_000));
    check("nested headings", &"<h2><a href=/some-slug-here>some words here and there".repeat(50_000));
    check("links on the way down", &"<div><a href=/a-b-c-d>A title that is long enough</a>".repeat(100_000));
    check("links at the bottom", &format!("{}{}", "<div>".repeat(100_000), links(50_000)));
    check("strays", &format!("{}{}", "<div>".repeat(100_000), "</p></span></b>".repeat(200_000)));
    check("strays with a start", &format!("<b>{}{}", "<div>".repeat(100_000), "</b>".repeat(400_000)));
    check("templates", &"<template>".repeat(300_000));
}

#[test]
fn what_is_no_markup_is_passed_over() {
    check("5 MB without a tag", &"x".repeat(5_000_000));
    check("words", &"word ".repeat(1_000_000));
    check("angles", &"<".repeat(3_000_000));
    check("tags that never end", &"<a href=\"".repeat(400_000));
    check("classes without end", &format!("<a href=/x class='{}'>", "nav ".repeat(1_000_000)));
    check("comments that never end", &"<!--".repeat(1_000_000));
    check("references", &format!("<a href=/x>{}", "&amp;".repeat(800_000)));
    check("dates", &"<p>12 May 2024 ".repeat(150_000));
    check("headings", &"<h2>A title of an item</h2><a href=/x>read more</a>".repeat(60_000));
    check("deep data", &format!("<script type='application/ld+json'>{}</script>", "[".repeat(1_000_000)));
}

#[test]
fn selecting_from_many_links_takes_its_time_and_no_more() {
    let (url, html) = (Url::parse("https://example.org/blog/").unwrap(), links(20_000));
    let page = Page { url: &url, content_type: b"text/html", body: html.as_bytes() };
    let start = Instant::now();
    assert_eq!(select(&page, "li").unwrap().len(), 20_000);
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}

#[test]
fn nonsense_is_no_page_of_articles() {
    for html in [
        "",
        "\0\u{fffd}",
        "<a>",
        "<a href>",
        "<a href=''></a>",
        "<a href='javascript:x()'>A title of some length</a>",
    ] {
        assert_eq!(check(html, html), 0, "{html}");
    }
}

#[test]
fn selectors_are_bounded_as_well() {
    let url = Url::parse("https://example.org/").unwrap();
    for (what, html) in [
        ("nested elements", "<div><a href=/a>".repeat(100_000)),
        ("links", links(100_000)),
        ("5 MB without a tag", "x".repeat(5_000_000)),
    ] {
        let start = Instant::now();
        let page = Page { url: &url, content_type: b"text/html", body: html.as_bytes() };
        select(&page, "div a, li a").unwrap();
        assert!(start.elapsed() < LIMIT, "{what}: {:?}", start.elapsed());
    }
}
