//! XML, JSON and HTML that were made to be read for ever: entities, depth, attributes.

use gleaner_core::source::Kind;

use super::{Case, document, feed, rss};

pub(super) fn cases() -> Vec<Case> {
    [entities(), depth(), attributes()].into_iter().flatten().collect()
}

fn with_doctype(doctype: &str, text: &str) -> String {
    let items = format!("<item><guid>evil</guid><title>x</title><description>{text}</description></item>");
    rss(&items).replace("<rss", &format!("<!DOCTYPE rss {doctype}><rss"))
}

fn entities() -> Vec<Case> {
    let case = |name: &'static str, doctype: fn() -> String, text: fn() -> String| {
        Case::new(name, "fetched 1", move || feed(with_doctype(&doctype(), &text())))
    };
    let laughs = || {
        let line = |n: usize| format!("<!ENTITY lol{n} \"{}\">", format!("&lol{};", n - 1).repeat(10));
        format!("[<!ENTITY lol0 \"lol\">{}]", (1..=10).map(line).collect::<String>())
    };
    vec![
        case("a billion laughs", laughs, || "&lol10;".to_owned()),
        case("a billion laughs, a hundred times", laughs, || "&lol10; ".repeat(100)),
        case(
            "a quadratic blow-up",
            || format!("[<!ENTITY a \"{}\">]", "a".repeat(50_000)),
            || "&a;".repeat(20_000),
        ),
        case("an entity of itself", || "[<!ENTITY a \"&a;\">]".to_owned(), || "&a;".to_owned()),
        case(
            "two entities of each other",
            || "[<!ENTITY a \"&b;\"><!ENTITY b \"&a;\">]".into(),
            || "&a;".into(),
        ),
        case(
            "an entity that is a file",
            || "[<!ENTITY f SYSTEM \"file:///etc/passwd\">]".into(),
            || "&f;".into(),
        ),
        case("an entity from elsewhere", || "[<!ENTITY f SYSTEM \"/dtd\">]".into(), || "&f;".into()),
        case("a parameter from elsewhere", || "[<!ENTITY % p SYSTEM \"/dtd\">%p;]".into(), || "x".into()),
        case("a document type from elsewhere", || "SYSTEM \"/dtd\"".into(), || "x".into()),
        case(
            "an entity that is a device",
            || "[<!ENTITY f SYSTEM \"file:///dev/zero\">]".into(),
            || "&f;".into(),
        ),
        case("an inclusion", String::new, || {
            "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='file:///etc/passwd' parse='text'/>x"
                .into()
        }),
        case(
            "100,000 entities",
            || format!("[{}]", (0..100_000).map(|n| format!("<!ENTITY e{n} 'x'>")).collect::<String>()),
            || "&e99999;".into(),
        )
        .heavy(),
        case("references to beyond all characters", String::new, || {
            "&#x110000;&#xD800;&#99999999999;&#0;".into()
        }),
        case("2 million references", String::new, || "&amp;".repeat(2_000_000)).heavy(),
        Case::new("a document type that never ends", "parse_error", || {
            feed(format!("<!DOCTYPE rss [{}", "<!ENTITY a 'b'>".repeat(100_000)))
        })
        .heavy(),
        Case::new("a style sheet from elsewhere", "fetched 1", || {
            feed(format!(
                "<?xml-stylesheet href='/dtd'?>{}",
                with_doctype("", "x").replace("<?xml version=\"1.0\"?>", "")
            ))
        }),
    ]
}

fn depth() -> Vec<Case> {
    let items =
        |text: String| rss(&format!("<item><guid>evil</guid><description>{text}</description></item>"));
    let json = |text: String| {
        format!(
            "{{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{{\"id\":\"1\",\"content_text\":\"x\"}}],\"x\":{text}}}"
        )
    };
    let page = |name: &'static str, ends: &'static str, body: fn() -> String, kind: Kind| {
        Case::new(name, ends, move || document("text/html", body())).heavy().of(kind)
    };
    vec![
        Case::new("a million elements deep, in an item", "fetched 1", move || feed(items("<a>".repeat(1_000_000))))
            .heavy(),
        Case::new("a million elements deep, and back", "fetched 1", move || {
            feed(items(format!("{}x{}", "<a>".repeat(600_000), "</a>".repeat(600_000))))
        })
        .heavy(),
        Case::new("a million elements deep, at the root", "parse_error", || feed("<a>".repeat(1_000_000))).heavy(),
        Case::new("200,000 feeds in each other", "fetched 0", || feed("<rss><channel>".repeat(200_000))).heavy(),
        Case::new("200,000 items in each other", "fetched 1", || {
            feed(rss(&"<item><title>x</title>".repeat(200_000)))
        })
        .heavy(),
        Case::new("100,000 names of namespaces, each in the other", "fetched 0", || {
            feed(rss(&(0..100_000).map(|n| format!("<a xmlns:n{n}='u{n}'>")).collect::<String>()))
        })
        .heavy(),
        Case::new("HTML in HTML in Atom", "fetched 1", || {
            let deep = "<div>".repeat(300_000);
            document("application/atom+xml", format!(
                "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><content type='xhtml'>{deep}</content></entry></feed>"
            ))
        })
        .heavy(),
        Case::new("escaped HTML, a million elements deep", "fetched 1", move || {
            feed(items(format!("{}x", "&lt;div&gt;".repeat(800_000))))
        })
        .heavy(),
        Case::new("5 million lists in each other", "fetched 1", move || {
            document("application/feed+json", json("[".repeat(5_000_000)))
        })
        .heavy(),
        Case::new("lists in each other, and back", "fetched 1", move || {
            document("application/feed+json", json(format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000))))
        })
        .heavy(),
        Case::new("objects in each other", "fetched 1", move || {
            document("application/feed+json", json("{\"x\":".repeat(1_000_000)))
        })
        .heavy(),
        page("a page 200,000 elements deep", "fetched 1", || format!("{}words", "<div>".repeat(200_000)), Kind::Website),
        page("a page of 100,000 tables in each other", "fetched 1", || format!("{}words", "<table><td>".repeat(100_000)), Kind::Website),
        page("a page of 200,000 fonts", "fetched 1", || format!("{}words", "<p><font><b><i>".repeat(50_000)), Kind::Website),
        page("an index 200,000 elements deep", "fetched 0", || {
            format!("{}<a href=/an-article-of-some-words>An article of some words</a>", "<div>".repeat(200_000))
        }, Kind::Watchlist),
    ]
}

fn attributes() -> Vec<Case> {
    let item =
        |attributes: String| rss(&format!("<item {attributes}><guid>evil</guid><title>x</title></item>"));
    vec![
        Case::new("a million attributes", "fetched 1", move || {
            feed(item(
                (0..1_000_000)
                    .map(|n| format!("a{n}='' "))
                    .collect::<String>()
                    .chars()
                    .take(9_900_000)
                    .collect(),
            ))
        })
        .heavy(),
        Case::new("one attribute a million times", "fetched 1", move || {
            feed(item("a='b' ".repeat(1_000_000)))
        })
        .heavy(),
        Case::new("200,000 namespaces of one element", "fetched 1", move || {
            feed(item((0..200_000).map(|n| format!("xmlns:n{n}='u' ")).collect()))
        })
        .heavy(),
        Case::new("an attribute of 9 MB", "fetched 1", move || {
            feed(item(format!("a='{}'", "x".repeat(9_000_000))))
        })
        .heavy(),
        Case::new("an attribute that never ends", "fetched 1", || {
            feed(
                rss(&format!("<item><guid>x</guid></item><item a='{}", "x".repeat(9_000_000)))
                    .replace("</channel></rss>", ""),
            )
        })
        .heavy(),
        Case::new("a million attributes of a page", "fetched 1", || {
            let many: String = (0..800_000).map(|n| format!("a{n} ")).collect();
            document("text/html", format!("<article {many}><p>Words.</article>"))
        })
        .heavy()
        .of(Kind::Website),
    ]
}
