use proptest::prelude::*;
use url::Url;

use super::discover::feeds;

/// The feeds that a page at `https://example.org/blog/` advertises, one line each: `format url title`.
fn found(page: &str) -> String {
    let url = Url::parse("https://example.org/blog/").unwrap();
    let line = |feed: super::discover::FeedLink| {
        format!("{:?} {} {}", feed.format, feed.url, feed.title.unwrap_or_default()).trim_end().to_owned()
    };
    feeds(page.as_bytes(), &url).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn check(page: &str, expected: &[&str]) {
    assert_eq!(found(page), expected.join("\n"), "{page}");
}

#[test]
fn wordpress_comments_come_last_and_its_api_is_ignored() {
    check(
        r#"<!DOCTYPE html><html lang="en-US"><head><meta charset="UTF-8" />
        <title>A Garden &raquo; Journal</title>
        <link rel='dns-prefetch' href='//s.w.org' />
        <link rel="alternate" type="application/rss+xml" title="A Garden &raquo; Comments Feed" href="https://example.org/comments/feed/" />
        <link rel="alternate" type="application/rss+xml" title="A Garden &raquo; Feed" href="https://example.org/feed/" />
        <link rel="alternate" title="oEmbed (JSON)" type="application/json+oembed" href="https://example.org/wp-json/oembed/1.0/embed?url=x" />
        <link rel="https://api.w.org/" href="https://example.org/wp-json/" />
        <link rel="alternate" title="JSON" type="application/json" href="https://example.org/wp-json/wp/v2/pages/2" />
        <link rel="EditURI" type="application/rsd+xml" title="RSD" href="https://example.org/xmlrpc.php?rsd" />
        </head><body class="home"><link rel="alternate" type="application/rss+xml" href="/too-late"></body></html>"#,
        &[
            "Rss https://example.org/feed/ A Garden » Feed",
            "Rss https://example.org/comments/feed/ A Garden » Comments Feed",
        ],
    );
    check(
        r#"<link rel="alternate" type="application/rss+xml" title="Garten &raquo; Kommentar-Feed" href="/c/feed/" />
        <link rel="alternate" type="application/rss+xml" title="Garten &raquo; Feed" href="/feed/" />"#,
        &[
            "Rss https://example.org/feed/ Garten » Feed",
            "Rss https://example.org/c/feed/ Garten » Kommentar-Feed",
        ],
    );
}

#[test]
fn common_site_generators() {
    // Modelled on Ghost, Jekyll, Hugo, Substack, YouTube and Discourse.
    check(
        r#"<head><title>Notes</title><link rel="canonical" href="https://example.org/"><meta name="generator" content="Ghost 5.8">
        <link rel="alternate" type="application/rss+xml" title="Notes &amp; Queries" href="https://example.org/rss/"></head>"#,
        &["Rss https://example.org/rss/ Notes & Queries"],
    );
    check(
        r#"<head><link type="application/atom+xml" rel="alternate" href="https://example.org/feed.xml" title="Dev log" /></head>"#,
        &["Atom https://example.org/feed.xml Dev log"],
    );
    check(
        "<head><link rel=alternate type=application/rss+xml href=/index.xml title=Hugo><link rel=alternate type=application/json href=/index.json title=Hugo></head>",
        &["Rss https://example.org/index.xml Hugo"],
    );
    check(
        r#"<head><script>window._preloads = JSON.parse("<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/no\">")</script>
        <link rel="alternate" type="application/rss+xml" href="/feed" title="A Letter"/></head>"#,
        &["Rss https://example.org/feed A Letter"],
    );
    let script = format!("<script>{}</script>", "var a = '<b>';".repeat(60_000));
    check(
        &format!(
            r#"<head>{script}</head><body dir="ltr">{script}<link rel="alternate" type="application/rss+xml" title="RSS"
            href="https://example.org/feeds/videos.xml?channel_id=UCx&amp;a=1"></body>"#
        ),
        &["Rss https://example.org/feeds/videos.xml?channel_id=UCx&a=1 RSS"],
    );
    check(
        r#"<head><link rel="alternate nofollow" type="application/rss+xml" title="Latest posts" href="https://example.org/posts.rss" />
        <link rel="alternate nofollow" type="application/rss+xml" title="Latest topics" href="https://example.org/latest.rss" /></head>"#,
        &[
            "Rss https://example.org/posts.rss Latest posts",
            "Rss https://example.org/latest.rss Latest topics",
        ],
    );
}

#[test]
fn handwritten_pages() {
    check("<p>No feeds here, but a <a href='feed.xml'>link</a>.", &[]);
    check("", &[]);
    check(
        "<HTML><HEAD><LINK REL=Alternate TYPE='Application/RSS+XML; charset=utf-8' HREF=' news.rdf '></HEAD>",
        &["Rss https://example.org/blog/news.rdf"],
    );
    check(
        r#"<link rel="feed" href="a.xml"><link rel="feed" type="text/html" href="b">"#,
        &["Unknown https://example.org/blog/a.xml"],
    );
    check(
        r#"<link rel="alternate" type="application/feed+json" href="/f.json">
        <link rel="alternate" type="application/json" title="JSON Feed" href="/g.json">
        <link rel="alternate" type="text/xml" title="RSS 2.0" href="/r"><link rel="alternate" type="text/xml" href="/s">"#,
        &[
            "Json https://example.org/f.json",
            "Json https://example.org/g.json JSON Feed",
            "Unknown https://example.org/r RSS 2.0",
        ],
    );
    check(
        r#"<link rel="alternate" hreflang="de" href="/de/"><link rel="alternate stylesheet" type="text/css" href="x.css">
        <link rel="stylesheet" type="application/rss+xml" href="/x"><link type="application/rss+xml" href="/y">"#,
        &[],
    );
}

#[test]
fn urls_are_made_absolute() {
    let link = |href: &str| format!(r#"<link rel="alternate" type="application/rss+xml" href="{href}">"#);
    let one = |href: &str, url: &str| check(&link(href), &[&format!("Rss {url}")]);
    one("f", "https://example.org/blog/f");
    one("//cdn.example/f", "https://cdn.example/f");
    one("?feed=rss2", "https://example.org/blog/?feed=rss2");
    one("feed://example.com/f", "http://example.com/f");
    one("feed:https://example.com/f", "https://example.com/f");
    for nowhere in ["javascript:alert(1)", "data:text/xml,x", "mailto:a@b", "", " ", "http://", "ftp://a/b"] {
        check(&link(nowhere), &[]);
    }
    check(&link(&"x".repeat(5000)), &[]);
    // A base may come late and be relative; only the first counts.
    check(
        &format!("{}<base target=x><base href='/deep/er/'><base href='/no/'>", link("f")),
        &["Rss https://example.org/deep/er/f"],
    );
    check(&format!("<base href='javascript:x'>{}", link("f")), &["Rss https://example.org/blog/f"]);
}

#[test]
fn feeds_are_unique_and_limited() {
    let link = |href: &str| format!(r#"<link rel="alternate" type="application/rss+xml" href="{href}">"#);
    check(
        &[link("/f"), link("https://example.org/f"), link("/f#x")].concat(),
        &["Rss https://example.org/f"],
    );
    let many: String = (0..1000).map(|n| link(&format!("/{n}"))).collect();
    assert_eq!(found(&many).lines().count(), 50);
    let far = format!("{}{}", " ".repeat(3 << 20), link("/f"));
    check(&far, &[]);
    let long =
        format!(r#"<link rel="alternate" type="application/rss+xml" title="{}" href="/f">"#, "ä".repeat(999));
    assert_eq!(found(&long), format!("Rss https://example.org/f {}", "ä".repeat(200)));
}

#[test]
fn damaged_pages() {
    let link = r#"<link rel="alternate" type="application/rss+xml" href="/f">"#;
    let feed = &["Rss https://example.org/f"][..];
    check(&format!("<!-- {link} -->"), &[]);
    check(&format!("<title>{link}</title>"), &[]);
    check(&format!("<title>never closed {link}"), feed);
    check(&format!("<head><body><p>misplaced {link}"), feed);
    check(&format!("<meta content=\"a > b\"><p title='it\"s'>{link}"), feed);
    check(&format!("< < <3 </ > <? x ?> <![endif]--> {link}"), feed);
    check(&link[..link.len() - 1], &[]);
    check(
        &format!("<link rel=alternate type=application/rss+xml title=a title=b href=/f href=/g>{link}"),
        &["Rss https://example.org/f a"],
    );
    // Invalid UTF-8 is replaced.
    let url = Url::parse("https://example.org/").unwrap();
    let latin =
        b"<title>caf\xe9</title><link rel=alternate type=application/rss+xml title='caf\xe9' href=/f>";
    assert_eq!(feeds(latin, &url)[0].title.as_deref(), Some("caf\u{fffd}"));
}

proptest! {
    #[test]
    fn any_input_gives_only_web_urls(noise in prop::collection::vec(any::<u8>(), 0..40), more in "[<>/!\\-=\"' a-z]*") {
        let mut page = noise.clone();
        page.extend_from_slice(b"<link rel=alternate type=application/rss+xml href=");
        page.extend_from_slice(more.as_bytes());
        page.extend_from_slice(&noise);
        page.push(b'>');
        let url = Url::parse("https://example.org/").unwrap();
        for feed in feeds(&page, &url) {
            prop_assert!(matches!(feed.url.scheme(), "http" | "https"));
        }
    }
}
