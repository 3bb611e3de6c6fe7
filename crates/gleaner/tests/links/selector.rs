//! Links by selector.

use gleaner::read::Page;
use gleaner::read::links::{check_selector, select};
use url::Url;

use super::{Fixture, line};

/// The links that a selector finds on a fixture, as lines.
fn found(fixture: &str, selector: &str) -> Vec<String> {
    select(&Fixture::named(fixture).page(), selector).unwrap().iter().map(line).collect()
}

#[test]
fn selectors_may_name_links_what_they_are_in_and_what_is_in_them() {
    let expected = Fixture::named("wordpress").expected;
    for selector in ["h2.entry-title a", ".entry-title", "article.post", "main article", ".entry-date"] {
        assert_eq!(found("wordpress", selector), expected, "{selector}");
    }
    let expected = Fixture::named("ghost").expected;
    for selector in [".gh-card-link", ".gh-card-title", "article", "h3"] {
        assert_eq!(found("ghost", selector), expected, "{selector}");
    }
}

#[test]
fn selected_links_are_in_page_order_and_each_once() {
    let html = "<base href='/b/'><p class=x><a href='two?utm_source=a'>Two</a> <a href=one>One</a></p>\
        <p class=x><a href='two'>Two again</a></p><p class=x>none</p><a class=x href='mailto:a@b.example'>Mail</a>\
        <a class=x href='https://elsewhere.example/#top'>Elsewhere</a><a class=x href=one>One</a>";
    let url = Url::parse("https://example.org/").unwrap();
    let page = Page { url: &url, content_type: b"", body: html.as_bytes() };
    let urls: Vec<String> = select(&page, ".x").unwrap().into_iter().map(|link| link.url.into()).collect();
    assert_eq!(
        urls,
        ["https://example.org/b/two?utm_source=a", "https://elsewhere.example/", "https://example.org/b/one"]
    );
}

#[test]
fn a_selector_that_is_none_is_told() {
    for selector in ["", "  ", "a[", "h2 >", "..x", ":nonsense", "a:hover("] {
        let told = check_selector(selector).unwrap_err();
        assert!(told.contains("is not a valid CSS selector") && told.contains("'article h2 a'"), "{told}");
        let url = Url::parse("https://example.org/").unwrap();
        let page = Page { url: &url, content_type: b"", body: b"" };
        assert_eq!(select(&page, selector).unwrap_err().to_string(), told);
    }
    for selector in ["a", "article h2 > a", ".post-title a, h3 a", "a[href^='/blog/']", "li:not(.ad) a"] {
        assert_eq!(check_selector(selector), Ok(()), "{selector}");
    }
}
