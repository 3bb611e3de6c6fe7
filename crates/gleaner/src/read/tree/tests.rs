//! Trees of ordinary and of hostile pages.

use std::time::{Duration, Instant};

use super::parse;
use super::prune::prune;

fn pruned(html: &str) -> String {
    let mut out = String::new();
    let _ = prune(html, |kept| {
        out.push_str(kept);
        std::ops::ControlFlow::Continue(())
    });
    out
}

#[test]
fn ordinary_pages_pass_unchanged() {
    for html in [
        "",
        "no markup at all",
        "<html><head><title>a < b</title></head><body class=x><p>One<p>Two <b>bold</b></body></html>",
        "<table><tr><td>1<td>2<tr><td>3</table>",
        "<script type=\"application/ld+json\">{\"a\": \"</b>\"}</script>",
        "<textarea><b>not bold</textarea>",
    ] {
        assert_eq!(pruned(html), html);
    }
}

#[test]
fn unused_elements_are_removed() {
    let check = |html: &str, expected: &str| assert_eq!(pruned(html), expected, "{html}");
    check("a<!-- no -->b", "ab");
    check("<!DOCTYPE html><p>x", "<p>x");
    check("a<script>if (1 < 2) {}</script>b<style>p {}</style>c", "abc");
    check("a<iframe><p>b</iframe>c", "ac");
    check("a<svg><title>t</title><svg></svg><path/></svg>b", "ab");
    check("a<svg/>b", "ab");
    check("a<select><option>b</select>c", "ac");
    check("a<template><p>b<template></template></p></template>c", "ac");
    check("a<plaintext>b", "ab");
}

#[test]
fn unclosed_elements_do_not_remove_the_rest() {
    let check = |html: &str, expected: &str| assert_eq!(pruned(html), expected, "{html}");
    check("a<svg><p>b</p>", "a<p>b</p>");
    check("a<svg><svg></svg><p>b</p><svg>c", "a<p>b</p>c");
    check("<title>a<p>b</p>", "a<p>b</p>");
    check("<script type=application/ld+json>{}", "");
}

/// All text is in the tree, however deep it was.
#[test]
fn text_of_deep_elements_is_kept() {
    let html = format!("{}deep{}<p>after</p>", "<div>".repeat(10_000), "</div>".repeat(10_000));
    assert_eq!(&parse(&html).text(), "deepafter");
}

#[test]
fn missing_end_tags_do_not_add_depth() {
    for unclosed in ["<p>word", "<li>word", "<p><font size=2>word", "<tr><td>word", "<dt>word<dd>more"] {
        let html = format!("<table><tr><td><ul>{}", unclosed.repeat(1000));
        let paragraphs = unclosed.matches('<').count() * 1000;
        let kept = pruned(&html).matches('<').count();
        // Too many `<font>` elements are open at once; of others none is removed.
        let expected = if unclosed.contains("font") { 1000 } else { paragraphs };
        assert!(kept >= expected, "{unclosed}: {kept} of {paragraphs}");
    }
}

#[test]
fn hostile_pages_take_bounded_time() {
    let numbered = |n: usize, f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<String>();
    let pages = [
        ("nested", "<div>".repeat(100_000)),
        ("nested and closed", "<div>".repeat(100_000) + &"</div>".repeat(100_000)),
        ("misnested inline", "<span><div></span>".repeat(50_000)),
        ("misnested in a table", "<table>".to_owned() + &"<span><div></span>".repeat(50_000)),
        ("through a table", "<div><table></div></table>".repeat(30_000)),
        ("through a select", "<div><select></div></select>".repeat(30_000)),
        ("through a template", "<div><template></div></template>".repeat(30_000)),
        ("through a drawing", "<div><svg></div></svg>".repeat(30_000)),
        ("through a formula", "<div><math></div></math>".repeat(30_000)),
        ("through a frame", "<div><iframe/></div></iframe>".repeat(30_000)),
        ("through a section", "<div><![CDATA[</div>]]>".repeat(30_000)),
        ("through a button", "<div><button></div></button>".repeat(30_000)),
        ("through a marquee", "<p><marquee></p></marquee>".repeat(30_000)),
        ("through headings", "<h1><h2></h1></h3>".repeat(30_000)),
        ("hidden by quotes", "<a =\"><div>\">".repeat(50_000)),
        ("formats", numbered(50_000, &|n| format!("<b id={n}>"))),
        ("formats in paragraphs", numbered(50_000, &|n| format!("<p><b id={n}>x</p>"))),
        ("misnested formats", numbered(50_000, &|n| format!("<i id={n}><p></i>"))),
        ("links", numbered(200_000, &|n| format!("<a href=/{n}>link {n}</a> "))),
        ("open links", numbered(100_000, &|n| format!("<a href=/{n}>link {n}"))),
        ("misnested links", "<a><div>".repeat(50_000)),
        ("nested tables", "<table><tr><td>".repeat(50_000)),
        ("fostered", "<table>".to_owned() + &"<b>x</b>y".repeat(100_000)),
        ("tables in tables", "<table><table>".repeat(50_000)),
        ("nested drawings", "<svg>".repeat(100_000)),
        ("nested formulas", "<math><mi>".repeat(50_000)),
        ("nested templates", "<template>".repeat(100_000)),
        ("nested selects", "<select><option>".repeat(50_000)),
        ("nested forms", "<form><button>".repeat(50_000)),
        ("nested lists", "<ul><li>".repeat(50_000)),
        ("paragraphs", "<p>x".repeat(200_000)),
        ("attributes", format!("<p {}>", numbered(100_000, &|n| format!("a{n}=1 ")))),
        ("attributes of the page", numbered(50_000, &|n| format!("<body a{n}=1>"))),
        ("framesets", "<frameset>".repeat(100_000)),
        ("noscript", "<noscript>".repeat(100_000)),
        ("rubies", "<ruby><rt>".repeat(50_000)),
        ("end tags", "<div>".repeat(240) + &"</span>".repeat(200_000)),
        ("breaks", "<br>".repeat(200_000)),
        ("no tag", "word ".repeat(1_000_000)),
        ("references", "&amp;&#x2019;&bogus;".repeat(50_000)),
        ("less than", "<".repeat(1_000_000)),
        ("comments", "<!--".repeat(200_000)),
        ("unclosed tag", "<a href=\"".repeat(100_000)),
    ];
    for (name, html) in &pages {
        let start = Instant::now();
        let _ = parse(html);
        let took = start.elapsed();
        // A debug build on a busy machine; quadratic time would take minutes.
        assert!(took < Duration::from_secs(5), "{name}: {took:?}");
    }
}
