//! RFC 9309 as tables, and hostile files.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Checks whether a robots.txt allows a path.
#[track_caller]
fn check(text: &str, path: &str, allowed: bool) {
    assert_eq!(Robots::parse(text.as_bytes()).allows(path), allowed, "{path} by\n{text}");
}

/// Checks rules for all agents.
#[track_caller]
fn rules(rules: &str, allowed: &[&str], refused: &[&str]) {
    let text = format!("User-agent: *\n{rules}");
    allowed.iter().for_each(|path| check(&text, path, true));
    refused.iter().for_each(|path| check(&text, path, false));
}

#[test]
fn groups_match_by_product_token() {
    let two = "User-agent: *\nDisallow: /all\n\nUser-agent: Gleaner\nDisallow: /us\n";
    check(two, "/us", false);
    check(two, "/all", true);
    for ours in ["gleaner", "GLEANER", "gleaner/1.0", "gleaner (+https://a.example)", "  gleaner\t"] {
        check(&format!("user-agent: {ours}\ndisallow: /"), "/", false);
    }
    for other in ["gleaner-news", "gleanerbot", "glean", "notgleaner", "**", "*gleaner", ""] {
        check(&format!("user-agent: {other}\ndisallow: /"), "/", true);
    }
    check("User-agent: * # everybody\nDisallow: /", "/a", false);
    check("User-agent: other\nDisallow: /", "/", true);
    check("", "/", true);
    check("Disallow: /", "/", true);
}

#[test]
fn agents_share_groups_and_groups_are_merged() {
    let shared = "User-agent: other\nUser-agent: gleaner\nDisallow: /a\nUser-agent: third\nDisallow: /b";
    check(shared, "/a", false);
    check(shared, "/b", true);
    let twice = "User-agent: gleaner\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: gleaner\nDisallow: /b";
    check(twice, "/a", false);
    check(twice, "/b", false);
    check(twice, "/c", true);
    check("User-agent: *\nDisallow: /\n\nUser-agent: gleaner\n", "/a", true);
    check("User-agent: gleaner\nUser-agent: *\nDisallow: /", "/a", false);
    check("User-agent: gleaner\nSitemap: https://a.example/s.xml\nUser-agent: b\nDisallow: /", "/", false);
    check("User-agent: gleaner\n\n\nDisallow: /", "/", false);
}

#[test]
fn the_longest_match_wins_and_allow_wins_ties() {
    rules(
        "Disallow: /fish\nAllow: /fish/open",
        &["/", "/fish/open", "/fish/open/1"],
        &["/fish", "/fish/shut"],
    );
    rules("Allow: /a\nDisallow: /a", &["/a", "/ab"], &[]);
    rules("Disallow: /a\nAllow: /a", &["/a"], &[]);
    rules(
        "Allow: /example/page/\nDisallow: /example/page/disallowed.gif",
        &["/example/page/"],
        &["/example/page/disallowed.gif"],
    );
    rules("Disallow: /\nAllow: /$", &["/"], &["/a", "/?q"]);
    rules("Disallow:", &["/", "/a"], &[]);
    rules("Allow:\nDisallow: /", &[], &["/"]);
    rules("Disallow: /", &["/robots.txt"], &["/robots.txt?x", "/robots.txt/", "/a"]);
    rules("Disallow: a", &["/a", "/"], &[]);
}

#[test]
fn stars_and_dollars_are_special() {
    rules(
        "Disallow: /fish",
        &["/Fish.asp", "/catfish", "/?id=fish"],
        &["/fish", "/fish.html", "/fishheads/yummy"],
    );
    rules("Disallow: /fish*", &["/catfish"], &["/fish", "/fish.html"]);
    rules("Disallow: /fish/", &["/fish", "/fish.html"], &["/fish/", "/fish/?id=1"]);
    rules("Disallow: /*.php", &["/", "/windows.PHP"], &["/index.php", "/folder/any.php.html?p", "/a.php/"]);
    rules(
        "Disallow: /*.php$",
        &["/a.php?p", "/a.php/", "/php", "/a.php5"],
        &["/a.php", "/b/a.php", "/a.php.php"],
    );
    rules("Disallow: /fish*.php", &["/Fish.PHP", "/catfish.php"], &["/fish.php", "/fishheads/cat.php?p"]);
    rules("Disallow: *", &[], &["/", "/a"]);
    rules("Disallow: *$", &[], &["/", "/a"]);
    rules("Disallow: /a**b", &["/a"], &["/ab", "/axb"]);
    rules("Disallow: /a$b", &["/a", "/ab"], &[]);
    rules("Disallow: /*ab*ba$", &["/aba", "/abab"], &["/abba", "/abxba", "/ab-aba"]);
    rules("Disallow: /*?", &["/a"], &["/a?", "/a?b"]);
    rules("Disallow: $", &["/", "/a"], &[]);
}

#[test]
fn percent_encodings_are_equivalent() {
    rules("Disallow: /foo/bar?baz=quz", &["/foo/bar"], &["/foo/bar?baz=quz"]);
    rules("Disallow: /foo/bar/ツ", &["/foo/bar/"], &["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"]);
    rules("Disallow: /foo/bar/%E3%83%84", &[], &["/foo/bar/%E3%83%84"]);
    rules("Disallow: /foo/bar/%62%61%7A", &[], &["/foo/bar/baz", "/foo/bar/%62az"]);
    rules("Disallow: /a%2fb", &["/a/b"], &["/a%2Fb", "/a%2fb"]);
    rules(
        "Disallow: /path/file-with-a-%2A.html",
        &["/path/file-with-a-b.html"],
        &["/path/file-with-a-*.html"],
    );
    rules("Disallow: /path/foo-%24", &["/path/foo-"], &["/path/foo-$"]);
    rules("Disallow: /a b", &["/a"], &["/a%20b"]);
    rules("Disallow: /100%", &["/100"], &["/100%", "/100%zz"]);
}

#[test]
fn line_endings_and_byte_order_mark_are_accepted() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["# hello", "user-agent:gleaner", "  DISALLOW :\t/a#b ", ""].join(end);
        check(&text, "/a", false);
        check(&format!("\u{feff}{text}"), "/a", false);
        check(&format!("\u{feff}User-agent: gleaner{end}Disallow: /c"), "/c", false);
    }
    let garbage = b"\0\xff\xfe:::\nUser-agent: gleaner\n\xff\xff\nDisallow: /a\xff\n";
    assert!(!Robots::parse(garbage).allows("/a%FF"));
    check("<html><body>Disallow: /</body></html>", "/", true);
}

#[test]
fn only_the_first_500_kib_are_read() {
    let mut text = b"User-agent: *\nDisallow: /first\n".to_vec();
    text.resize(MAX_BYTES, b'#');
    text.extend(b"\nDisallow: /second\n");
    let robots = Robots::parse(&text);
    assert_eq!((robots.allows("/first"), robots.allows("/second")), (false, true));
}

#[test]
fn delays_are_read_and_clamped() {
    let delay = |value: &str| {
        let text = format!("User-agent: *\nCrawl-delay: {value}\nDisallow: /a");
        Robots::parse(text.as_bytes()).crawl_delay().map(Span::as_millis)
    };
    assert_eq!(delay("10"), Some(10_000));
    assert_eq!(delay("0.5"), Some(500));
    assert_eq!(delay("999999"), Some(600_000));
    for none in ["", "-1", "soon", "NaN", "-inf"] {
        assert_eq!(delay(none), None, "{none}");
    }
    assert_eq!(Robots::parse(b"User-agent: other\nCrawl-delay: 5").crawl_delay(), None);
}

/// A slow, literal implementation of the RFC.
fn matches_slowly(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], _) | ([b'$'], []) => true,
        ([b'*', rest @ ..], _) => (0..=path.len()).any(|n| matches_slowly(rest, &path[n..])),
        ([first, rest @ ..], [byte, path @ ..]) => first == byte && matches_slowly(rest, path),
        _ => false,
    }
}

proptest! {
    #[test]
    fn matching_agrees_with_the_rfc(pattern in "[/ab*]{0,8}\\$?", path in "/[/ab]{0,8}") {
        prop_assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), matches_slowly(pattern.as_bytes(), path.as_bytes()));
    }

    #[test]
    fn parsing_never_panics(text in prop::collection::vec(any::<u8>(), 0..200), path in ".{0,40}") {
        let text = [b"User-agent: *\nDisallow: /", &text[..]].concat();
        let _ = Robots::parse(&text).allows(&path);
    }
}

/// A generous time bound; a normal file takes a thousandth of it.
#[track_caller]
fn check_time(text: &str, path: &str) {
    let begun = Instant::now();
    let _ = Robots::parse(text.as_bytes()).allows(path);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?} for {} bytes and {} of path", text.len(), path.len());
}

#[test]
fn hostile_patterns_take_bounded_time() {
    let path = format!("/{}", "a".repeat(4096));
    let long = |piece: &str| piece.repeat(MAX_BYTES / piece.len());
    check_time(&format!("User-agent: *\nDisallow: /{}b", long("*a")), &path);
    check_time(&format!("User-agent: *\nDisallow: /{}$", long("*a")), &path);
    check_time(&format!("User-agent: *\nDisallow: /{}", long("*")), &path);
    check_time(&format!("User-agent: *\nDisallow: /{}", long("a")), &path);
    check_time(&format!("User-agent: *\n{}", long("Disallow:/*a*a*a*a*b\n")), &path);
    check_time(&format!("User-agent: *\n{}", long("Disallow:/*b\n")), &path);
    check_time(&long("User-agent: gleaner\n"), &path);
    check_time(&long("User-agent: *\nAllow:/\n"), &path);
    check_time(&long("%"), &path);
    check_time(&format!("User-agent: *\nDisallow: /{}", long("%25")), &"/%25".repeat(1000));
}
