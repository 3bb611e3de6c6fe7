use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::text::plain_text;

const CASES: &[(&str, &str)] = &[
    // Blocks and lines.
    ("<p>Breaking news</p><a href=\"x\">link</a>", "Breaking news link"),
    ("a<b>b</b>c", "abc"),
    ("<div>a</div>b", "a b"),
    ("a<div>b</div>", "a b"),
    ("<p>a<p>b<p>c", "a b c"),
    ("<ul><li>one<li>two</ul>three", "one two three"),
    ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</table>", "1 2 3"),
    ("<h1>T</h1><h2>S</h2>x", "T S x"),
    ("one<br>two<br/>three<BR />four", "one two three four"),
    ("a<hr>b", "a b"),
    ("<span>a</span><span>b</span>", "ab"),
    ("<i>Hello</i>, <b>there</b> now!", "Hello, there now!"),
    ("<em><p>a</p></em>b", "a b"),
    ("a</div>b", "a b"),
    ("a<unknown-element>b</unknown-element>c", "abc"),
    ("a<summary>b</summary>c<option>d", "a b c d"),
    ("a<wbr>b<img src=x alt=y>c", "abc"),
    ("<P CLASS='x'>A</P><DIV>B</DIV>", "A B"),
    ("<blockquote>a</blockquote><figcaption>b</figcaption>c", "a b c"),
    // White space.
    ("", ""),
    (" ", ""),
    ("  a  b\t\r\nc\u{c}d  ", "a b c d"),
    ("a\u{a0}\u{a0} b&nbsp;c", "a b c"),
    ("\u{a0}a\u{a0}", "a"),
    ("co\u{ad}op zero\u{200b}width &shy;&#8203;x", "coop zerowidth x"),
    ("a\u{200d}b\u{2003}c\u{e9}", "a\u{200d}b\u{2003}c\u{e9}"),
    ("<p> a </p> <p> b </p>", "a b"),
    ("a <b> b </b> c", "a b c"),
    ("<pre>a\n  b</pre>", "a b"),
    ("a\0b\u{1}c", "a b c"),
    // Character references.
    ("AT&amp;T &lt;b&gt; &quot;q&quot; &apos;a&apos;", "AT&T <b> \"q\" 'a'"),
    ("&#8217;&#x2019;&#X2019;", "\u{2019}\u{2019}\u{2019}"),
    ("&copy 2026 &copy2026", "\u{a9} 2026 \u{a9}2026"),
    ("&notit; &notin;", "\u{ac}it; \u{2209}"),
    ("&#150;&#x80;", "\u{2013}\u{20ac}"),
    ("&#0;&#xD800;&#x110000;", "\u{fffd}\u{fffd}\u{fffd}"),
    ("&#99999999999999999999;", "\u{fffd}"),
    ("a & b &; &# &#; &#x; &unknown; &", "a & b &; &# &#; &#x; &unknown; &"),
    ("&amp;amp; &amp;lt;", "&amp; &lt;"),
    ("a&#10;&#32;&#9;b", "a b"),
    ("&amp&lt&gt", "&<>"),
    ("&CounterClockwiseContourIntegral;", "\u{2233}"),
    ("R&D Q&A x&y=1", "R&D Q&A x&y=1"),
    ("&lt;script&gt;x", "<script>x"),
    // What is not shown, and what is after all.
    ("a<script>if (a < b) { \"</div>\" }</script>b", "ab"),
    ("a<style type=x>p { color: red }</style >b", "ab"),
    ("a<SCRIPT>x</Script\n>b", "ab"),
    ("a<script>never closed", "a"),
    ("a<script src=x />b", "ab"),
    ("a<template><p>b</p><template>c</template>d</template>e", "a e"),
    ("a<template>b", "a"),
    ("a<noscript><p>b</p></noscript>c", "a b c"),
    ("<head><title>A &amp; <b>B</b></title></head><body>c", "A & <b>B</b> c"),
    ("<title>a<p>b", "a b"),
    ("<textarea>x <b>y</b></textarea>z", "x <b>y</b> z"),
    ("a<iframe src=x>fallback <b>text</b></iframe>b", "ab"),
    ("a<iframe src=\"x\"/>b<iframe>c", "abc"),
    ("a<iframe src=x/>b</iframe>c", "ac"),
    ("a<!-- b > c -- d -->e<!-->f<!--->g<!-- h --!>i<!-- j --->k", "aefgik"),
    ("a<!-- never closed", "a"),
    ("a<!doctype html>b<?php echo 1 ?>c</ x>d</>e", "abcde"),
    ("a<![CDATA[ <b> &amp; ]]>c<![CDATA[d", "a <b> &amp; cd"),
    ("a<svg><title>t</title><path d='x'/></svg>b", "a t b"),
    // Tags as they come.
    ("<a href='a > b' title=\"c > d\">x</a>", "x"),
    ("<a title=it's>x</a> isn't", "x isn't"),
    ("<a title = \"x>y\" b>z", "z"),
    ("<a href=\"x\"title='y'>z", "z"),
    ("<p\nclass=x\n>a</p\n>b", "a b"),
    ("<a href=\"x>y</a> z", "y z"),
    ("a<b", "a"),
    ("a</b", "a"),
    ("a<b c='d", "a"),
    // Text that is no HTML.
    ("1 < 2", "1 < 2"),
    ("1<2 and 3>2", "1<2 and 3>2"),
    ("I <3 you <- so -> much <", "I <3 you <- so -> much <"),
    ("a </", "a </"),
    ("<<<p>>>", "<< >>"),
    ("no markup at all", "no markup at all"),
    ("\u{1f600}<p>\u{4f60}\u{597d}</p>\u{1f600}", "\u{1f600} \u{4f60}\u{597d} \u{1f600}"),
];

#[test]
fn text_of_html() {
    for (html, text) in CASES {
        assert_eq!(plain_text(html), *text, "of {html:?}");
    }
}

/// Inputs that make careless scanners slow.
const FLOODS: [&str; 19] = [
    "<",
    "<a",
    "<a ",
    "<!--",
    "<!",
    "</",
    "<a b=\"",
    "<a b='>\"",
    "&",
    "&#",
    "&a",
    "<title>",
    "<template>",
    "<iframe>",
    "<textarea>x</title>",
    "<![CDATA[",
    "--!-",
    "= \" ",
    "<script>x</style>",
];

/// Adversarial input of about a given size.
type Shape = Box<dyn Fn(usize) -> String>;

fn time_of(html: &str) -> Duration {
    let start = Instant::now();
    std::hint::black_box(plain_text(html));
    start.elapsed()
}

#[test]
fn time_is_linear() {
    let attributes = |n: usize| format!("<a {}>x", "b=\"c\" d e='f' ".repeat(n / 15));
    let nested = |n: usize| format!("{}x{}", "<div>".repeat(n / 11), "</div>".repeat(n / 11));
    let open = |n: usize| format!("<title>{}</title>", "</titl".repeat(n / 6));
    let mut shapes: Vec<(String, Shape)> = vec![
        ("attributes".into(), Box::new(attributes)),
        ("nested".into(), Box::new(nested)),
        ("almost closed".into(), Box::new(open)),
    ];
    for flood in FLOODS {
        shapes.push((flood.into(), Box::new(move |n| flood.repeat(n / flood.len()))));
        shapes.push((
            format!("<a {flood}"),
            Box::new(move |n| format!("<a {}>", flood.repeat(n / flood.len()))),
        ));
    }
    for (name, shape) in shapes {
        // Linear work takes a few hundredths of a second here; quadratic work takes more than a minute. The bound
        // in between tolerates a busy machine.
        let took = time_of(&shape(1 << 20));
        assert!(took < Duration::from_secs(3), "{name}: {took:?} for 1 MiB");
    }
}

/// Pieces of HTML, valid and broken. Text is upper case, names of tags and attributes are lower case.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<p>",
        "</p>",
        "<div class=\"x\">",
        "</div>",
        "<b>",
        "</b>",
        "<br/>",
        "<a href='q'>",
        "</a>",
        "<img alt=z>",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "<title>",
        "</title>",
        "<template>",
        "</template>",
        "<!--",
        "-->",
        "<iframe/>",
        "A",
        "BC",
        " ",
        "\n",
        "\u{a0}",
        "&nbsp;",
        "&amp;",
        "&#160;",
        "\u{ad}",
        "\u{200b}",
        "É",
        "\u{1f600}",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn is_collapsed(text: &str) -> bool {
    let white = |c: char| c <= ' ' || c == '\u{a0}';
    text.trim_matches(white) == text
        && !text.contains("  ")
        && !text.contains(|c| (white(c) && c != ' ') || matches!(c, '\u{ad}' | '\u{200b}'))
}

proptest! {
    #[test]
    fn any_input_gives_collapsed_text(html in "\\PC*|[<>/!\\-&#;=\"' a-zA-Z0-9\u{a0}\u{ad}\t\n]*") {
        prop_assert!(is_collapsed(&plain_text(&html)));
    }

    #[test]
    fn tags_never_appear_in_text(html in pieces()) {
        let text = plain_text(&html);
        prop_assert!(is_collapsed(&text));
        // Inside a title there is no markup; elsewhere only upper case is text.
        if !html.contains("title") {
            prop_assert!(!text.contains(|c: char| c.is_ascii_lowercase() || c == '<'), "{text:?} of {html:?}");
        }
    }

    #[test]
    fn escaped_text_comes_back(text in "[a-zA-Z<>&\"';# ]*") {
        let folded = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(plain_text(&htmlize::escape_all_quotes(&text)), folded);
    }

    #[test]
    fn plain_text_is_unchanged(words in prop::collection::vec("[a-zA-Z0-9.,!?\u{e9}\u{20ac}\u{2019}]{1,9}", 0..20)) {
        let text = words.join(" ");
        prop_assert_eq!(plain_text(&text), text);
    }
}
