//! The parts of the guess by themselves: addresses, dates, titles, data.

use url::Url;

use super::address::{Address, Home, key};
use super::{data, dates, guess, offers, title};
use crate::read::Page;

/// An address as seen from a page.
fn seen(page: &str, href: &str) -> Option<Address> {
    Home::new(&Url::parse(page).unwrap(), None).address(href)
}

#[test]
fn the_page_itself_and_what_is_above_it_are_no_links() {
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
        assert!(seen(page, href).is_none(), "{href}");
    }
    for href in ["/blog/news/a-post", "/other", "https://elsewhere.example/", "?id=77"] {
        assert!(seen(page, href).is_some(), "{href}");
    }
}

#[test]
fn sites_are_hosts_and_parts_of_them() {
    let check = |page: &str, href: &str, expected: bool| {
        assert_eq!(seen(page, href).unwrap().same_site, expected, "{page} {href}");
    };
    check("https://www.example.org/x/", "https://example.org/a", true);
    check("https://example.org/x/", "https://tech.example.org/a", true);
    check("https://blog.example.org/x/", "https://example.org/a", true);
    check("https://example.org/x/", "https://notexample.org/a", false);
    check("https://a.co.uk/x/", "https://b.co.uk/a", false);
}

#[test]
fn addresses_tell_lists_from_articles() {
    let listing = |href: &str| seen("https://example.org/blog/", href).unwrap().listing;
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
    assert!(!seen("https://example.org/category/tea/", "/category/tea/green-tea").unwrap().listing);
    assert!(seen("https://example.org/category/tea/", "/category/coffee").unwrap().listing);
}

#[test]
fn addresses_tell_offers() {
    let offer = |href: &str| seen("https://example.org/", href).unwrap().offer;
    assert!(offer("/products/kettle") && offer("/remote-jobs/cook-in-bath") && offer("/shop"));
    assert!(!offer("/blog/our-new-product") && !offer("/news/jobs-are-lost-again"));
    let home = |url: &str| Home::new(&Url::parse(url).unwrap(), None).is_offer();
    assert!(home("https://jobs.example.org/") && home("https://example.org/c/remote-design-jobs"));
    assert!(!home("https://example.org/blog/"));
}

#[test]
fn one_address_has_one_key() {
    let key = |url: &str| key(&Url::parse(url).unwrap());
    assert_eq!(key("http://www.example.org/a/?utm_source=x"), "example.org/a");
    assert_eq!(key("http://www.example.org/a/"), key("https://example.org/a"));
    assert_ne!(key("https://example.org/a?b=1"), key("https://example.org/a?b=2"));
}

#[test]
fn dates_are_read_from_addresses() {
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
fn dates_are_read_from_texts_that_are_dates() {
    for text in ["March 8, 2026", "Posted 8 March 2026", "• 2026-03-08", "Sunday, 8 March 2026"] {
        assert_eq!(dates::of_text(text), Some(1_772_928_000_000), "{text}");
    }
    for text in ["March", "12:30", "The summer of 2026", "8 March", "2026", "1,200 words"] {
        assert_eq!(dates::of_text(text), None, "{text}");
    }
    assert!(dates::is_ago("3 hours ago") && dates::is_ago("Mar 8") && !dates::is_ago("A long time ago"));
}

#[test]
fn titles_lose_dates_but_nothing_else() {
    assert_eq!(title::without_date("March 10, 2026 How we moved"), "How we moved");
    assert_eq!(title::without_date("How we moved – Mar 10, 2026"), "How we moved");
    assert_eq!(title::without_date("The 7 best of 2025"), "The 7 best of 2025");
}

#[test]
fn prices_and_buttons_are_offers() {
    for text in ["$12.99", "From 12,99 €", "£ 5", "Add to cart", "Sold out", "$"] {
        assert!(offers::is_offer(text), "{text}");
    }
    for text in ["Prices rise again", "A $ for your thoughts", "12 comments"] {
        assert!(!offers::is_offer(text), "{text}");
    }
}

#[test]
fn lists_are_read_from_data() {
    let of =
        |text: &str| -> Vec<String> { data::lists(&[text]).into_iter().map(|listed| listed.href).collect() };
    let blog = r#"{"@type":"Blog","blogPost":[{"@type":"BlogPosting","url":"/a"},{"@id":"/b"}]}"#;
    assert_eq!(of(blog), ["/a", "/b"]);
    let list = r#"[{"@type":["ItemList"],"itemListElement":[{"item":"/a"},{"item":{"url":"/b"}},"/c",{"name":"d"}]}]"#;
    assert_eq!(of(list), ["/a", "/b", "/c"]);
    assert_eq!(of(r#"{"@type":"BreadcrumbList","itemListElement":[{"item":"/a"}]}"#), [""; 0]);
    assert_eq!(of("{ no data"), [""; 0]);
    let product = r#"{"@type":"ItemList","itemListElement":[{"item":{"@type":"Product","url":"/a"}}]}"#;
    assert!(data::lists(&[product]).iter().all(|listed| listed.other));
}

#[test]
fn several_anchors_of_one_article_are_one_link() {
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
fn drawings_hide_nothing_behind_them() {
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
