//! Tests of the heuristics' parts: URLs, dates, titles, JSON-LD.

use url::Url;

use super::address::{Address, IndexPage, key};
use super::{data, dates, guess, products, title};
use crate::read::Page;

/// A URL as seen from a page.
fn address_from(page: &str, href: &str) -> Option<Address> {
    IndexPage::new(&Url::parse(page).unwrap(), None).address(href)
}

#[test]
fn the_page_and_its_parents_are_skipped() {
    let page = "https://www.example.org/blog/news/?page=2";
    for href in [
        "/",
        "/blog/",
        "../",
        "/blog",
        "https://example.org/",
        "#top",
        "",
        "mailto:a@example.org",
        "javascript:x()",
        "?page=2",
        "?page=3",
    ] {
        assert!(address_from(page, href).is_none(), "{href}");
    }
    for href in ["/blog/news/a-post", "/other", "https://elsewhere.example/", "?id=77"] {
        assert!(address_from(page, href).is_some(), "{href}");
    }
}

#[test]
fn subdomains_are_the_same_site() {
    let check = |page: &str, href: &str, expected: bool| {
        assert_eq!(address_from(page, href).unwrap().same_site, expected, "{page} {href}");
    };
    check("https://www.example.org/x/", "https://example.org/a", true);
    check("https://example.org/x/", "https://tech.example.org/a", true);
    check("https://blog.example.org/x/", "https://example.org/a", true);
    check("https://example.org/x/", "https://notexample.org/a", false);
    check("https://a.co.uk/x/", "https://b.co.uk/a", false);
}

#[test]
fn urls_of_lists_are_recognised() {
    let listing = |href: &str| address_from("https://example.org/blog/", href).unwrap().listing;
    for href in [
        "/tag/tea",
        "/category/a-b-c-d-e-f",
        "/author/ann",
        "/page/2",
        "/login",
        "/2026/03/",
        "/other/?paged=3",
        "/a.pdf",
        "/team/ann-example",
        "/topics/tea",
    ] {
        assert!(listing(href), "{href}");
    }
    for href in [
        "/blog/tea",
        "/2026/03/tea/",
        "/section/2026/03/04/tea",
        "/?p=123",
        "/topic/12345-tea",
        "/newsletter/how-we-made-the-tea-last-year",
    ] {
        assert!(!listing(href), "{href}");
    }
    assert!(!address_from("https://example.org/category/tea/", "/category/tea/green-tea").unwrap().listing);
    assert!(address_from("https://example.org/category/tea/", "/category/coffee").unwrap().listing);
}

#[test]
fn urls_of_products_and_jobs_are_recognised() {
    let offer = |href: &str| address_from("https://example.org/", href).unwrap().offer;
    assert!(offer("/products/kettle") && offer("/remote-jobs/cook-in-bath") && offer("/shop"));
    assert!(!offer("/blog/our-new-product") && !offer("/news/jobs-are-lost-again"));
    let index_page = |url: &str| IndexPage::new(&Url::parse(url).unwrap(), None).is_offer();
    assert!(
        index_page("https://jobs.example.org/") && index_page("https://example.org/c/remote-design-jobs")
    );
    assert!(!index_page("https://example.org/blog/"));
}

#[test]
fn equivalent_urls_have_one_key() {
    let key = |url: &str| key(&Url::parse(url).unwrap());
    assert_eq!(key("http://www.example.org/a/?utm_source=x"), "example.org/a");
    assert_eq!(key("http://www.example.org/a/"), key("https://example.org/a"));
    assert_ne!(key("https://example.org/a?b=1"), key("https://example.org/a?b=2"));
}

#[test]
fn dates_are_read_from_urls() {
    let check = |path: &str, expected: Option<&str>| {
        let url = Url::parse("https://example.org").unwrap().join(path).unwrap();
        let found = dates::of_url(&url).map(|ms| gleaner_core::time::Time::from_millis(ms).to_string());
        assert_eq!(found.as_deref(), expected, "{path}");
    };
    check("/2026/03/08/tea", Some("2026-03-08T00:00:00Z"));
    check("/2026/mar/08/tea", Some("2026-03-08T00:00:00Z"));
    check("/blog/2026-03-08-tea.html", Some("2026-03-08T00:00:00Z"));
    check("/2026/03/tea", None);
    check("/2026/13/08/tea", None);
    check("/tea-2026-edition", None);
}

#[test]
fn texts_that_are_dates_are_parsed() {
    for text in ["March 8, 2026", "Posted 8 March 2026", "• 2026-03-08", "Sunday, 8 March 2026"] {
        assert_eq!(dates::of_text(text), Some(1_772_928_000_000), "{text}");
    }
    for text in ["March", "12:30", "The summer of 2026", "8 March", "2026", "1,200 words"] {
        assert_eq!(dates::of_text(text), None, "{text}");
    }
    assert!(
        dates::is_relative("3 hours ago")
            && dates::is_relative("Mar 8")
            && !dates::is_relative("A long time ago")
    );
}

#[test]
fn dates_are_removed_from_titles() {
    assert_eq!(title::without_date("March 10, 2026 How we moved"), "How we moved");
    assert_eq!(title::without_date("How we moved – Mar 10, 2026"), "How we moved");
    assert_eq!(title::without_date("The 7 best of 2025"), "The 7 best of 2025");
}

#[test]
fn prices_and_buttons_are_recognised() {
    for text in ["$12.99", "From 12,99 €", "£ 5", "Add to cart", "Sold out", "$"] {
        assert!(products::is_offer(text), "{text}");
    }
    for text in ["Prices rise again", "A $ for your thoughts", "12 comments"] {
        assert!(!products::is_offer(text), "{text}");
    }
}

#[test]
fn lists_are_read_from_json_ld() {
    let of =
        |text: &str| -> Vec<String> { data::lists(&[text]).into_iter().map(|listed| listed.href).collect() };
    let blog = r#"{"@type":"Blog","blogPost":[{"@type":"BlogPosting","url":"/a"},{"@id":"/b"}]}"#;
    assert_eq!(of(blog), ["/a", "/b"]);
    let list = r#"[{"@type":["ItemList"],"itemListElement":[{"item":"/a"},{"item":{"url":"/b"}},"/c",{"name":"d"}]}]"#;
    assert_eq!(of(list), ["/a", "/b", "/c"]);
    assert_eq!(of(r#"{"@type":"BreadcrumbList","itemListElement":[{"item":"/a"}]}"#), [""; 0]);
    assert_eq!(of("{ no data"), [""; 0]);
    let product = r#"{"@type":"ItemList","itemListElement":[{"item":{"@type":"Product","url":"/a"}}]}"#;
    assert!(data::lists(&[product]).iter().all(|listed| listed.is_other_type));
}

#[test]
fn anchors_to_one_url_are_combined() {
    let item = |n: u32| {
        format!(
            "<div class=item><a href='/p/{n}/#c'><img src=x alt='A picture'></a><h3><a href='/p/{n}/'>The title of \
             piece {n}</a></h3><p>Text.</p><a href='http://www.example.org/p/{n}?utm_medium=web'>Read more</a></div>"
        )
    };
    let html: String = (1..5).map(item).collect();
    let url = Url::parse("https://example.org/").unwrap();
    let found = guess(&Page { url: &url, content_type: b"text/html", body: html.as_bytes() });
    let urls: Vec<&str> = found.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls, [1, 2, 3, 4].map(|n| format!("https://example.org/p/{n}/")));
    assert_eq!(found[0].title.as_deref(), Some("The title of piece 1"));
}

#[test]
fn svgs_do_not_hide_links() {
    let url = Url::parse("https://example.org/").unwrap();
    for drawing in ["<svg viewBox='0 0 1 1'/>", "<svg><path d='M0'><title>Icon</title></svg>", "<svg><path>"]
    {
        let item =
            |n| format!("<div>{drawing}<h3><a href='/posts/piece-{n}'>The title of piece {n}</a></h3></div>");
        let html: String = (1..5).map(item).collect();
        let found = guess(&Page { url: &url, content_type: b"text/html", body: html.as_bytes() });
        assert_eq!(found.len(), 4, "{drawing}");
    }
}
