//! What people come for, done as they do it.

use std::fmt::Write as _;

use gleaner::service::PostFilter;
use gleaner_core::time::Span;

use super::site::{Site, feed};
use crate::support::http::Reply;

#[tokio::test]
async fn a_source_is_added_by_looking_at_it_first() {
    let site = Site::new().await;
    site.world.on("/feed", feed("/feed", &["A first harvest", "A second harvest"]));
    let page = "<title>A garden</title><link rel=alternate type=application/rss+xml title='All of it' href=/feed>\
        <p>Come in</p>";
    site.world.on("/", Reply::ok(page).header("content-type", "text/html"));
    let browser = site.browser().await;
    browser.click("a[href='/add'].button").await;
    browser.fill("#url", site.world.url("/").as_str()).await;
    browser.click("form[action='/add'] button.primary").await;
    browser.until_reads("#found", "A second harvest").await;
    assert_eq!(site.api.db.count("sources").await, 0, "nothing is stored before one says so");
    browser.click("form[action='/add/save'] button.primary").await;
    browser.until_reads("h1", "The feed letter").await;
    browser.click("form[action$='/poll'] button").await;
    browser.until_reads("#said", "2 new posts").await;
    browser.until_reads("section[aria-labelledby=posts]", "A first harvest").await;

    // What is no address is told, and what was typed stays.
    browser.go(&site.at("/add")).await;
    browser.fill("#url", "ftp://example.org/feed").await;
    browser.click("form[action='/add'] button.primary").await;
    browser.until_reads("#found .wrong", "http").await;
}

#[tokio::test]
async fn a_failing_source_is_watched_through_backoff_and_quarantine_and_back() {
    let mut site = Site::new().await;
    let id = site.feed("/letter", &["one"]).await;
    site.poll_due().await;
    let browser = site.browser().await;
    browser.go(&site.at(&format!("/sources/{id}"))).await;
    browser.until_reads(".explained", "All is well").await;
    browser.until_reads("#connection", "live").await;

    // Nobody touches the page from here on: it renews itself.
    site.world.on("/letter", Reply::status(404));
    site.poll_after(Span::from_mins(40)).await;
    browser.until_reads(".head .status", "failing").await;
    browser.until_reads(".explained", "404 Not Found").await;
    for _ in 0..12 {
        site.poll_after(Span::from_hours(6)).await;
    }
    browser.until_reads(".head .status", "quarantined").await;
    browser.until_reads(".explained", "times in a row").await;
    browser.until(".timeline .mark.permanent").await;

    site.world.on("/letter", feed("/letter", &["one", "two"]));
    site.poll_after(Span::from_days(3)).await;
    browser.until_reads(".head .status", "healthy").await;
    browser.until_reads("section[aria-labelledby=posts]", "two").await;
    browser.go(&site.at("/")).await;
    browser.until_reads("section[aria-labelledby=lately]", "is back").await;
    browser.until_reads("section[aria-labelledby=lately]", "set aside").await;

    // The picture can be walked through by keys.
    browser.go(&site.at(&format!("/sources/{id}?days=30"))).await;
    browser.eval("document.querySelector('[data-marks] [tabindex=\"0\"]').focus()", &[]).await;
    browser.until_true("return !document.getElementById('tip').hidden").await;
    let last = browser.text("#tip").await;
    browser.press("\u{e012}").await;
    browser.until_true("return document.activeElement.matches('[data-marks] [data-tip]')").await;
    assert_ne!(browser.text("#tip").await, last);
}

#[tokio::test]
async fn many_sources_are_changed_at_once_and_changed_back() {
    let mut site = Site::new().await;
    for n in 0..60 {
        site.feed(&format!("/letter-{n}"), &["one"]).await;
    }
    site.poll_due().await;
    let browser = site.browser().await;
    browser.go(&site.at("/sources?sort=address")).await;
    browser.until_reads("#found", "60 sources").await;
    for n in [1, 3] {
        browser.click(&format!("#bulk tbody tr:nth-child({n}) input")).await;
    }
    browser.until_reads("[data-selected]", "2 selected").await;
    browser.click("button[value=disable]").await;
    browser.until_reads("#said", "2 sources").await;
    browser.until_reads("table.sources", "disabled").await;
    let disabled = "return document.querySelectorAll('table.sources .status.disabled').length";
    assert_eq!(browser.eval(disabled, &[]).await, 2);
    browser.click("#said form button").await;
    browser
        .until_true("return document.querySelectorAll('table.sources .status.disabled').length === 0")
        .await;

    // All that match, not only this page; deleting asks first, and says what goes.
    browser.click("#bulk input[name=all]").await;
    browser.click("button[value=delete]").await;
    browser.until_reads("main", "60 sources").await;
    assert_eq!(site.api.db.count("sources").await, 60, "nothing is gone before one is sure");
    browser.click("main form button.danger").await;
    browser.until_reads("main", "No sources yet").await;
    assert_eq!(site.api.db.count("posts").await, 0);
}

#[tokio::test]
async fn a_thousand_feeds_are_imported_from_a_file() {
    let site = Site::new().await;
    let mut list = String::from("<opml version='2.0'><body><outline text='Gardens'>\n");
    for n in 0..1000 {
        let _ = writeln!(list, "<outline type='rss' text='Feed {n}' xmlUrl='https://feeds.example/{n}'/>");
    }
    list.push_str(
        "<outline type='rss' text='Bad' xmlUrl='javascript:window.ran=1'/>\n</outline></body></opml>",
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("list.opml");
    std::fs::write(&file, list).unwrap();
    let browser = site.browser().await;
    browser.go(&site.at("/import")).await;
    browser.choose_file("#file", &file).await;
    browser.until_reads("#job .tiles", "1,000\nnew").await;
    browser.until_reads("#job", "javascript").await;
    assert_eq!(site.api.db.count("sources").await, 1000);
    browser.click("#job a[href='/sources']").await;
    browser.until_reads("main", "Feed ").await;
}

#[tokio::test]
async fn posts_are_searched_and_read() {
    let mut site = Site::new().await;
    site.feed("/letter", &["On apples", "On pears", "On apple trees in winter"]).await;
    site.poll_due().await;
    site.api.service.catch_up().await.unwrap();
    let browser = site.browser().await;
    browser.go(&site.at("/posts")).await;
    browser.fill("[name=q]", "\"apple trees\"").await;
    browser.click(".filters button.primary").await;
    browser.until_reads("main", "On apple trees in winter").await;
    assert!(!browser.text("main").await.contains("pears"));
    assert!(browser.url().await.contains("q=%22apple+trees%22"), "the address can be shared");
    browser.click(".posts h2 a").await;
    browser.until_reads("h1", "On apple trees in winter").await;
    let posts = site.api.by().posts(&PostFilter::default(), None, 10).await.unwrap();
    assert_eq!(posts.len(), 3);
}

#[tokio::test]
async fn the_first_page_is_small() {
    let site = Site::new().await;
    for n in 0..30 {
        site.feed(&format!("/letter-{n}"), &["one", "two"]).await;
    }
    let browser = site.browser().await;
    browser.until_reads("#connection", "live").await;
    let sizes = "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))\
        .filter(e => !e.name.includes('/live')).reduce((sum, e) => sum + e.encodedBodySize, 0)";
    let bytes = browser.eval(sizes, &[]).await.as_u64().unwrap();
    assert!((1_000..150_000).contains(&bytes), "{bytes} bytes");
}
