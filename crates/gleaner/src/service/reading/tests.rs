use super::*;

fn cleaned(html: &str) -> String {
    let base = Url::parse("https://example.org/posts/one").unwrap();
    safe(html, Some(&base), false).0.to_string()
}

fn with_images(html: &str) -> String {
    safe(html, None, true).0.to_string()
}

#[test]
fn structure_stays_and_what_acts_goes() {
    let kept =
        "<h2>A</h2><p>One <b>two</b> <em>three</em></p><ul><li>x</li></ul><pre><code>a &lt; b</code></pre>";
    assert_eq!(cleaned(kept), kept);
    assert_eq!(cleaned("<h1>Title</h1>"), "<h2>Title</h2>", "the page has its own first heading");
    for (hostile, left) in [
        ("<script>alert(1)</script>text", "text"),
        ("<p onclick=alert(1) style='position:fixed' class=card id=main>p</p>", "<p>p</p>"),
        ("<form action=/settings><input name=x><button>Go</button></form>", "Go"),
        ("<iframe src=https://evil.example></iframe>x", "x"),
        ("<iframe srcdoc='<script>alert(1)</script>'></iframe>", ""),
        ("<style>*{display:none}</style>x", "x"),
        ("<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>y</a></svg>x", "x"),
        ("<math><mi//xlink:href=\"data:x,<script>alert(4)</script>\">x", ""),
        ("<base href=https://evil.example>x", "x"),
        ("<meta http-equiv=refresh content='0;url=https://evil.example'>x", "x"),
        ("<object data=x></object><embed src=x>x", "x"),
        ("<p hx-get=/logout data-live id=live>x</p>", "<p>x</p>"),
        ("<a href='javascript:alert(1)'>x</a>", "<a rel=\"noreferrer noopener nofollow\">x</a>"),
        ("<a href='JaVa\tscript:alert(1)'>x</a>", "<a rel=\"noreferrer noopener nofollow\">x</a>"),
        ("<a href='&#106;avascript:alert(1)'>x</a>", "<a rel=\"noreferrer noopener nofollow\">x</a>"),
        (
            "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
            "<a rel=\"noreferrer noopener nofollow\">x</a>",
        ),
        ("<a href='vbscript:x'>x</a>", "<a rel=\"noreferrer noopener nofollow\">x</a>"),
        ("<!-- <p>--><p>x</p>", "<p>x</p>"),
    ] {
        assert_eq!(cleaned(hostile).trim(), left, "{hostile}");
    }
}

#[test]
fn links_lead_to_the_web_and_tell_nobody_where_from() {
    let link = |href: &str| format!("<a href=\"{href}\" rel=\"noreferrer noopener nofollow\">x</a>");
    assert_eq!(cleaned("<a href='https://a.example/' target=_top>x</a>"), link("https://a.example/"));
    assert_eq!(cleaned("<a href='two'>x</a>"), link("https://example.org/posts/two"));
    assert_eq!(cleaned("<a href='//a.example/x'>x</a>"), link("https://a.example/x"));
    let without = safe("<a href='/settings'>x</a>", None, false).0.to_string();
    assert!(!without.contains("href"), "nothing leads into these pages: {without}");
    assert_eq!(cleaned("<a href='https://a.example/'> </a>"), "<span> </span>");
    let odd = Url::parse("javascript:alert(1)").unwrap();
    assert!(!safe("<a href='x'>x</a>", Some(&odd), false).0.to_string().contains("href"));
}

#[test]
fn pictures_are_words_until_they_are_asked_for() {
    let html =
        "<p><img src=https://a.example/1.png alt='A \"dog\" <b>' onerror=alert(1)><img src=/2.png><img></p>";
    let base = Url::parse("https://example.org/").unwrap();
    let (text, count) = safe(html, Some(&base), false);
    assert_eq!(count, 2);
    assert_eq!(text.to_string(), "<p><em>[picture: A \"dog\" &lt;b&gt;]</em><em>[picture]</em></p>");
    let shown = safe(html, Some(&base), true).0.to_string();
    assert!(shown.contains("src=\"https://a.example/1.png\""), "{shown}");
    assert!(shown.contains("src=\"https://example.org/2.png\""), "{shown}");
    assert_eq!(shown.matches("referrerpolicy=\"no-referrer\"").count(), 2, "{shown}");
    assert_eq!(shown.matches("loading=\"lazy\"").count(), 2, "{shown}");
    assert_eq!(shown.matches("alt=").count(), 2, "{shown}");
    assert!(!shown.contains("onerror"), "{shown}");
    for hostile in [
        "<img src='data:image/svg+xml,<svg/>'>",
        "<img src='javascript:alert(1)'>",
        "<img src=x srcset='https://a.example/ 2x'>",
    ] {
        let shown = with_images(hostile);
        assert!(!shown.contains("src="), "{shown}");
        assert!(!shown.contains("srcset"), "{shown}");
    }
}

#[test]
fn what_is_deep_or_broken_ends() {
    let deep = "<div>".repeat(100_000);
    assert!(cleaned(&format!("{deep}x")).contains('x'));
    for broken in [
        "<p><b>x",
        "</div></article></main>x",
        "<table><tr><td>x",
        "<a href=https://a.example/><a href=y>x",
        "<<<>>>x",
    ] {
        let text = cleaned(broken);
        assert!(text.contains('x'), "{text}");
        for tag in ["div", "p", "b", "table", "a"] {
            let opened =
                text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, text.matches(&format!("</{tag}>")).count(), "{text}");
        }
    }
}

#[test]
fn plain_text_becomes_paragraphs() {
    assert_eq!(paragraphs("One.\n\n  Two <b>. \r\n"), ["One.", "Two <b>."]);
    assert_eq!(paragraphs(""), [""; 0]);
}
