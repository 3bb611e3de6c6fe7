//! Documents with too much of everything.

use gleaner_core::source::Kind;

use super::{Case, document, feed, rss};

/// Just below what is read of a body.
const MUCH: usize = 10_000_000;

pub(super) fn cases() -> Vec<Case> {
    [entries(), fields(), pages()].into_iter().flatten().collect()
}

fn entries() -> Vec<Case> {
    vec![
        Case::new("200,000 items", "fetched 10000", || {
            feed(rss(&(0..200_000)
                .map(|n| format!("<item><guid>{n}</guid><title>{n}</title></item>"))
                .collect::<String>()))
        })
        .heavy(),
        Case::new("200,000 items of one name", "fetched 10000", || {
            feed(rss(&(0..200_000)
                .map(|n| format!("<item><guid>x</guid><title>{n}</title></item>"))
                .collect::<String>()))
        })
        .heavy(),
        Case::new("200,000 items of nothing", "fetched 0", || feed(rss(&"<item/>".repeat(200_000)))).heavy(),
        Case::new("200,000 entries in JSON", "fetched 10000", || {
            let items: Vec<String> =
                (0..200_000).map(|n| format!("{{\"id\":\"{n}\",\"title\":\"{n}\"}}")).collect();
            let text =
                format!("{{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{}]}}", items.join(","));
            document("application/feed+json", text)
        })
        .heavy(),
        Case::new("an entry with 200,000 authors", "fetched 1", || {
            feed(rss(&format!(
                "<item><guid>evil</guid>{}</item>",
                "<author>a@b.example</author>".repeat(200_000)
            )))
        })
        .heavy(),
        Case::new("an entry with 200,000 enclosures", "fetched 1", || {
            feed(rss(&format!(
                "<item><guid>evil</guid>{}</item>",
                "<enclosure url='u' type='t'/>".repeat(200_000)
            )))
        })
        .heavy(),
        Case::new("an entry with 200,000 titles", "fetched 1", || {
            feed(rss(&format!(
                "<item><guid>evil</guid>{}</item>",
                "<title>A title of it</title>".repeat(200_000)
            )))
        })
        .heavy(),
        Case::new("hours to be skipped, 500,000 of them", "fetched 0", || {
            feed(rss(&format!("<skipHours>{}</skipHours>", "<hour>99</hour>".repeat(500_000))))
        })
        .heavy(),
        Case::new("hints beyond all times", "fetched 1", || {
            feed(rss("<ttl>99999999999999999999</ttl><sy:updatePeriod>yearly</sy:updatePeriod>\
                      <sy:updateFrequency>0</sy:updateFrequency><item><guid>e</guid><title>t</title>\
                      <pubDate>Sun, 99 Foo 999999999999 99:99:99 +9999</pubDate></item>"))
            .header("Cache-Control", "max-age=99999999999999999999")
            .header("Expires", "Fri, 31 Dec 9999 23:59:59 GMT")
        }),
        Case::new("a date of a megabyte", "fetched 1", || {
            feed(rss(&format!(
                "<item><guid>e</guid><title>t</title><pubDate>{}</pubDate></item>",
                "1".repeat(1 << 20)
            )))
        }),
    ]
}

fn fields() -> Vec<Case> {
    let field = |name: &'static str, start: &'static str, end: &'static str| {
        Case::new(name, "fetched 1", move || {
            feed(rss(&format!(
                "<item><guid>evil</guid>{start}{}{end}</item>",
                "word ".repeat(MUCH / 5 - 100)
            )))
        })
        .heavy()
    };
    let filled = |name: &'static str, ends: &'static str, start: &'static str, piece: &'static str| {
        Case::new(name, ends, move || feed(format!("{start}{}", piece.repeat((MUCH - 200) / piece.len()))))
            .heavy()
    };
    vec![
        field("a title of 10 MB", "<title>", "</title>"),
        field("a text of 10 MB", "<description>", "</description>"),
        field("a link of 10 MB", "<title>x</title><link>http://a.example/", "</link>"),
        field("an author of 10 MB", "<title>x</title><author>", "</author>"),
        field("an element that nobody knows of 10 MB", "<title>x</title><x:y>", "</x:y>"),
        Case::new("a guid of 10 MB", "fetched 1", || {
            feed(rss(&format!("<item><guid>{}</guid><title>x</title></item>", "g".repeat(MUCH - 500))))
        })
        .heavy(),
        Case::new("a feed's own title of 10 MB", "fetched 1", || {
            feed(format!("<rss><channel><title>{}</title><item><guid>e</guid><title>t</title></item></channel></rss>", "t".repeat(MUCH - 500)))
        })
        .heavy(),
        Case::new("a title of 10 MB in JSON", "fetched 1", || {
            document("application/feed+json", format!(
                "{{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{{\"id\":\"1\",\"title\":\"{}\"}}]}}", "t\\u0041".repeat(MUCH / 7 - 100)
            ))
        })
        .heavy(),
        filled("10 MB of comments", "fetched 0", "<rss>", "<!-- x -->"),
        filled("a comment of 10 MB that never ends", "fetched 0", "<rss><!--", "-x-"),
        filled("a CDATA of 10 MB that never ends", "fetched 0", "<rss><channel><item><title><![CDATA[", "]] "),
        filled("10 MB of instructions", "fetched 0", "<rss>", "<?a?>"),
        filled("10 MB of opening brackets", "fetched 0", "<rss>", "<"),
        filled("10 MB of closing tags", "fetched 0", "<rss>", "</a>"),
        filled("10 MB of references to nothing", "fetched 0", "<rss><channel><item><title>", "&aaaa"),
        filled("10 MB of spaces", "parse_error", "", " "),
        filled("10 MB of quotes", "fetched 0", "<rss a=", "\"'"),
        filled("10 MB of backslashes in JSON", "fetched 0", "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{\"id\":\"", "\\\\"),
    ]
}

fn pages() -> Vec<Case> {
    let page = |name: &'static str, ends: &'static str, kind: Kind, body: fn() -> String| {
        Case::new(name, ends, move || document("text/html", body())).heavy().of(kind)
    };
    vec![
        page("a page of one word of 5 MB", "fetched 1", Kind::Website, || {
            format!("<p>{}", "x".repeat(5_000_000))
        }),
        page("a page of 150,000 paragraphs", "fetched 1", Kind::Website, || {
            "<p>Words of a page.".repeat(150_000)
        }),
        page("a page of 100,000 articles", "fetched 1", Kind::Website, || {
            "<article>Words.</article>".repeat(100_000)
        }),
        page("a script of 9 MB", "parse_error", Kind::Website, || {
            format!("<script>{}", "if (a < b) x();".repeat(600_000))
        }),
        page("an index of 50,000 links", "fetched 0", Kind::Watchlist, || {
            (0..50_000)
                .map(|n| {
                    format!("<li><a href='/blog/post-number-{n}-of-many'>The title of post number {n}</a>")
                })
                .collect()
        }),
        page("an index of one link 100,000 times", "fetched 0", Kind::Watchlist, || {
            "<p><a href='/blog/one-and-the-same-post'>One and the same post</a>".repeat(100_000)
        }),
    ]
}
