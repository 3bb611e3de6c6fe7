//! Article extraction from pages written for these tests.

use std::time::{Duration, Instant};

use url::Url;

use super::{Article, extract};
use crate::read::Page;

const PROSE: &str = "A paragraph that is long enough to be taken for prose, with commas, and with several \
    clauses, so that whoever looks for the main text of a page has a reason to believe that it is here. ";

fn article_at(html: &str, url: &str) -> Article {
    extract(&Page { url: &Url::parse(url).unwrap(), content_type: b"text/html", body: html.as_bytes() })
}

fn article(html: &str) -> Article {
    article_at(html, "https://valley.example/news/today/")
}

/// A page with this in its head and this above its text.
fn page(head: &str, above: &str) -> String {
    format!("<html><head>{head}</head><body>{above}<p>{PROSE}</p><p>{PROSE}</p></body></html>")
}

#[test]
fn an_article_among_boilerplate() {
    let article = article(include_str!("fixtures/news.html"));
    assert!(article.extracted);
    insta::assert_snapshot!(format!(
        "title: {:?}\nauthor: {:?}\npublished: {:?} {:?}\nurl: {:?}\nlanguage: {:?}\nimage: {:?}\nsite: {:?}\n\n{}\n\n{}",
        article.title,
        article.author,
        article.published_at.map(|at| at.to_string()),
        article.published_on,
        article.url,
        article.language,
        article.image,
        article.site_name,
        article.text,
        article.html,
    ));
}

#[test]
fn titles() {
    let check = |head: &str, above: &str, expected: &str| {
        assert_eq!(article(&page(head, above)).title.as_deref(), Some(expected), "{head} {above}");
    };
    check("<title>A long walk home</title>", "", "A long walk home");
    check("<title>A long walk home | Valley</title>", "", "A long walk home");
    check(
        "<title>A long walk home - The Daily Valley</title>",
        "<h1>A long walk home</h1>",
        "A long walk home",
    );
    check(
        "<title>Cats - Dogs - and a long walk</title>",
        "<h1>Cats - Dogs - and a long walk</h1>",
        "Cats - Dogs - and a long walk",
    );
    check(
        "<meta property='og:title' content='Walking &amp; talking in the hills'>",
        "",
        "Walking & talking in the hills",
    );
    check("<title>Valley</title>", "<h1>A long walk home</h1>", "A long walk home");
    check(
        "<title>Valley</title><meta property=og:title content='A long walk home'>",
        "<h1>Valley</h1>",
        "A long walk home",
    );
    check("<title>A long walk</title>", "<h1><img alt=Logo></h1>", "A long walk");
    check("", "<h1>Only a heading</h1>", "Only a heading");
    assert_eq!(article("<p>nothing").title, None);
}

#[test]
fn authors() {
    let check = |head: &str, above: &str, expected: Option<&str>| {
        assert_eq!(article(&page(head, above)).author.as_deref(), expected, "{head} {above}");
    };
    check("<meta name=author content='Jane Doe'>", "", Some("Jane Doe"));
    check(
        "<meta name=author content=' '><meta property='article:author' content='Jane Doe'>",
        "",
        Some("Jane Doe"),
    );
    check("<meta property='article:author' content='https://f.example/jane'>", "", None);
    check("<meta name=author content='Team 47'>", "", Some("Team 47"));
    check("<meta name=author content=admin>", "<p class=byline>By Jane Doe</p>", Some("Jane Doe"));
    check(
        "<meta property=og:site_name content=Valley><meta name=author content=Valley>",
        "<a rel=author>Jane Doe</a>",
        Some("Jane Doe"),
    );
    check("", "<div class=post-author-name>Jane Doe</div>", Some("Jane Doe"));
    check("", "<h1>T</h1><p>Written by Jane Doe | May 17, 2024</p>", Some("Jane Doe"));
    check("", "<span class=byline>Von Jana Dorn, 17. Mai 2024</span>", None);
    check("", "<div class=author>This review is posted in</div>", None);
    check("", "<div class=comments><a rel=author>A reader</a></div>", None);
    let linked = |author: &str| {
        format!("<script type=application/ld+json>{{\"@type\":\"Article\",\"author\":{author}}}</script>")
    };
    check(&linked("\"Jane Doe\""), "", Some("Jane Doe"));
    check(&linked("[{\"name\":\"Jane Doe\"},{\"name\":\"Max Roe\"}]"), "", Some("Jane Doe, Max Roe"));
    check(&linked("{\"name\":[\"Jane Doe\"]}"), "", Some("Jane Doe"));
    check(&linked("7"), "", None);
}

#[test]
fn dates_of_pages() {
    let check = |head: &str, above: &str, url: &str, expected: Option<&str>| {
        let article = article_at(&page(head, above), url);
        let at = article.published_at.map(|at| at.to_string());
        assert_eq!(at.as_deref(), expected, "{head} {above} {url}");
    };
    let plain = "https://valley.example/news";
    let dated = "https://valley.example/2024/05/17/news";
    let day = Some("2024-05-17T00:00:00Z");
    check("", "", plain, None);
    check("", "", dated, day);
    check("", "", "https://valley.example/2024/13/45/news", None);
    check("", "", "https://valley.example/p/12345/67/89", None);
    check(
        "<meta property='article:published_time' content='2023-01-02T03:04:05Z'>",
        "",
        dated,
        Some("2023-01-02T03:04:05Z"),
    );
    check("<meta name=x-publish-date content='May 17, 2024'>", "", plain, day);
    check("<meta name=date content='20240517'>", "", plain, day);
    check("<meta name=date content='1715904000'>", "", plain, day);
    check("<meta name=date content='soon'>", "", plain, None);
    check(
        "<script type=application/ld+json>{\"datePublished\": \"2024-05-17\", broken</script>",
        "",
        plain,
        day,
    );
    check("", "<time datetime='2024-05-17'>a while ago</time>", plain, day);
    check(
        "",
        "<time class=updated datetime=2024-06-01></time><time class=published datetime=2024-05-17></time>",
        plain,
        day,
    );
    check("", "<div class=comments><time datetime=2020-01-01></time></div>", plain, None);
    check("", "<h1>News</h1><p>17. Mai 2024</p>", plain, day);
    check("", "<p>May 17th, 2024</p><h1>News</h1>", plain, day);
    check("", "<h1>News</h1><p>Il y a 3 ans, le 17 mai 2024</p>", plain, day);
}

#[test]
fn an_earlier_displayed_date_is_preferred() {
    let check = |above: &str, at: &str, on: Option<&str>| {
        let head = "<meta property='article:published_time' content='2024-05-17T10:00:00Z'>";
        let article = article(&page(head, above));
        assert_eq!(article.published_at.unwrap().to_string(), at, "{above}");
        assert_eq!(article.published_on.as_deref(), on, "{above}");
    };
    let declared = "2024-05-17T10:00:00Z";
    check("<h1>Title</h1>", declared, None);
    check("<h1>Title</h1><p>By Ada, June 3, 2020</p>", "2020-06-03T00:00:00Z", None);
    check("<h1>Title</h1><p>Updated June 3, 2026</p>", declared, None);
    check("<h1>Title</h1><p>May 16, 2024</p>", declared, Some("2024-05-16"));
    check("<h1>Title</h1><p>On June 6, 1944, they landed</p>", declared, None);
}

#[test]
fn the_day_is_in_the_pages_time_zone() {
    let head = "<meta property='article:published_time' content='2024-05-17T23:30:00-04:00'>";
    let article = article(&page(head, ""));
    assert_eq!(article.published_at.unwrap().to_string(), "2024-05-18T03:30:00Z");
    assert_eq!(article.published_on.as_deref(), Some("2024-05-17"));
}

#[test]
fn page_metadata_is_read() {
    let head = "<base href=https://other.example/a/><link rel=canonical href=b><meta property=og:image content=c.jpg>\
        <meta property=og:site_name content=' The  Valley '>";
    let article = article(&format!("<html lang=de_AT>{}", page(head, "")));
    assert_eq!(article.url.as_deref(), Some("https://other.example/a/b"));
    assert_eq!(article.image.as_deref(), Some("https://other.example/a/c.jpg"));
    assert_eq!(article.site_name.as_deref(), Some("The Valley"));
    assert_eq!(article.language.as_deref(), Some("de-AT"));
}

#[test]
fn only_web_urls_are_returned() {
    let head = "<link rel=canonical href='javascript:alert(1)'><meta property=og:image content='data:image/png;base64,AA'>";
    let article = article(&page(head, "<a href='javascript:x'>x</a>"));
    assert_eq!((article.url, article.image), (None, None));
    assert!(!article.html.contains("javascript"), "{}", article.html);
}

#[test]
fn boilerplate_is_removed() {
    let check = |boilerplate: &str| {
        let html = format!(
            "<article><h1>News</h1><p>{PROSE} 1</p><p>{PROSE} 2</p>{boilerplate}<p>{PROSE} 3</p><p>{PROSE} 4</p></article>"
        );
        let article = article(&html);
        assert!(article.text.starts_with("A paragraph") && !article.text.contains("NOT"), "{}", article.text);
    };
    check(
        "<div class='article-share-buttons'><p>NOT this, however long it may be, and whatever it says</p></div>",
    );
    check("<aside class=newsletter><p>NOT this, however long it may be, and whatever it says</p></aside>");
    check("<figure><img src=a.jpg><figcaption>NOT a word of the article</figcaption></figure>");
    check("<p><a href=/x>Read more: NOT this one</a></p>");
    check("<p>Photo: NOT a word of the article</p>");
    check(
        "<section id=comments><p>NOT what a reader says, at whatever length, and in whatever words</p></section>",
    );
    check(
        "<ul><li><a href=#a>NOT one</a></li><li><a href=#b>NOT two</a></li><li><a href=#c>NOT three</a></li></ul>",
    );
}

#[test]
fn repeated_paragraphs_are_removed() {
    let other = PROSE.replace("paragraph", "sentence");
    let html =
        format!("<article><p>{PROSE}</p><p>{other}</p><p>{PROSE}</p><p>Short.</p><p>Short.</p></article>");
    let text = article(&html).text;
    assert_eq!((text.matches("A paragraph").count(), text.matches("Short.").count()), (1, 2), "{text}");
}

#[test]
fn large_elements_are_not_boilerplate() {
    let html = format!(
        "<body><div class='share sidebar' hidden><p>{PROSE}</p><p>{PROSE}</p><p>{PROSE}</p></div></body>"
    );
    assert!(article(&html).text.contains("A paragraph"));
}

#[test]
fn marked_articles_are_kept() {
    let section = |n: usize| format!("<section class=x><div><p>{PROSE} {n}</p></div></section>");
    let sections: String = (0..12).map(section).collect();
    let html = format!("<body><article>{sections}</article><div><p>{PROSE}</p></div></body>");
    assert!(article(&html).text.matches("A paragraph").count() >= 11);
}

#[test]
fn without_an_article_the_beginning_of_the_page_is_returned() {
    let long = "word ".repeat(300);
    for html in [String::new(), "<title>T</title>".to_owned(), "<body></body>".to_owned()] {
        let article = article(&html);
        assert_eq!((article.extracted, article.text.as_str()), (false, ""), "{html}");
    }
    let article = article(&format!("<title>A title</title><body><button>{long} &lt;b&gt;</button></body>"));
    assert!(!article.extracted);
    assert_eq!(article.title.as_deref(), Some("A title"));
    assert!(article.text.starts_with("word word") && article.text.len() == 499, "{}", article.text.len());
}

#[test]
fn declared_encodings_are_used() {
    let html = page("<meta charset=windows-1251><title>Привет из долины</title>", "");
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(&html);
    let url = Url::parse("https://valley.example/").unwrap();
    let article = extract(&Page { url: &url, content_type: b"text/html", body: &bytes });
    assert_eq!(article.title.as_deref(), Some("Привет из долины"));
}

#[test]
fn hostile_pages_take_bounded_time() {
    let prose = format!("<p>{PROSE}</p>");
    let pages = [
        ("nested", "<div>".repeat(100_000) + &prose),
        ("no tag", "word, ".repeat(800_000)),
        ("links", (0..100_000).map(|n| format!("<a href=/{n}>link {n}</a> ")).collect()),
        ("nested prose", format!("<div>{prose}").repeat(5000)),
        ("articles", format!("<article>{prose}</article>").repeat(5000)),
        ("nested articles", "<article>".repeat(1000) + &prose.repeat(2000)),
        ("nested boilerplate", "<div class=share>".repeat(1000) + &prose.repeat(2000)),
        ("hidden", "<div hidden>".repeat(1000) + &prose.repeat(2000)),
        ("lists", "<ul>".repeat(200) + &"<li><a href=#a>x</a></li>".repeat(5000)),
        ("bylines", "<p class=byline>By Jane Doe</p>".repeat(20_000)),
        ("dates", format!("<h1>x</h1><p>{}", "1/1/1 ".repeat(100_000))),
        ("headings", "<h1>A heading</h1><p>text</p>".repeat(10_000)),
        ("linked data", format!("<script type=application/ld+json>{}</script>{prose}", "[".repeat(100_000))),
        ("scripts", "<script type=application/ld+json>{\"@type\":\"Article\"}</script>".repeat(5000)),
        ("breaks", "text<br><br>".repeat(10_000)),
        ("title", format!("<title>{}</title><h1>{}</h1>", "a | ".repeat(20_000), "a ".repeat(20_000))),
        ("long headings", {
            let words: String = (0..30_000).map(|n| format!("w{n} ")).collect();
            format!("<title>{words}</title><h1>{words}</h1>")
        }),
        (
            "subheadings",
            "<title>a b c d e f g h</title>".to_owned() + &"<h2>i j k l m n o p</h2>".repeat(20_000),
        ),
        ("metas", "<meta name=author content=http://x>".repeat(20_000)),
    ];
    for (name, html) in &pages {
        let start = Instant::now();
        let _ = article(html);
        let took = start.elapsed();
        // A debug build on a busy machine; quadratic time would take minutes.
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    }
}

#[test]
fn urls_in_articles_are_absolute() {
    let sections =
        format!("<section class=x><div><p>{PROSE} <a href='b'>b</a></p></div></section>").repeat(12);
    for html in [format!("<body><article>{sections}</article></body>"), format!("<body>{sections}</body>")] {
        let article = article(&html);
        assert!(article.html.contains("href=\"https://valley.example/news/today/b\""), "{}", article.html);
    }
}
