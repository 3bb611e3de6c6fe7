//! A source, from the URL that is pasted to the marks of its polls.

use gleaner_core::source::Kind;
use gleaner_core::time::Span;

use super::site::{Site, feed};
use crate::support::http::Reply;
use crate::support::new_source;

#[tokio::test]
async fn a_source_is_added_by_what_is_seen_of_it() {
    let mut site = Site::new().await;
    site.world.on("/letter", feed("/letter", &["one", "two"]));
    let head = "<title>A site</title><link rel=alternate type=application/rss+xml href=/letter title=Letter>";
    let page = Reply::ok(format!("{head}<article><p>Some text.</p></article>"));
    site.world.on("/site", page.header("content-type", "text/html"));
    let browser = site.browser().await;
    browser.go(&site.at("/add")).await;
    browser.fill("#url", site.world.url("/site").as_str()).await;
    browser.click(".paste button").await;
    browser.until_reads("#found", "It is a page that names a feed").await;
    browser.until_reads("#found", "2 posts in it").await;
    assert_eq!(site.api.db.count("sources").await, 0);
    browser.fill("#name", "My letter").await;
    browser.click("#found button.primary").await;
    browser.until_reads("h1", "My letter").await;
    browser.until_reads("#said", "Added").await;
    // The page renews itself when it is polled.
    browser.until_reads("#connection", "live").await;
    site.poll_due().await;
    browser.until_reads("#posts + ul", "one").await;
    browser.until(".timeline .mark.new").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_form_is_checked_and_tried_as_it_is_typed() {
    let site = Site::new().await;
    let page = "<main><h2><a href=/a>The first of all articles</a></h2></main><p><a href=/b>Imprint</a></p>";
    site.world.on("/index", Reply::ok(page).header("content-type", "text/html"));
    let new = new_source(Kind::Watchlist, site.world.url("/index"));
    let id = site.api.by().add(&new).await.unwrap().id;
    let browser = site.browser().await;
    browser.go(&site.at(&format!("/sources/{id}/edit"))).await;
    browser.fill("#poll_interval_minutes", "often").await;
    browser.until_reads("#wrong-poll_interval_minutes", "whole number").await;
    browser.fill("#poll_interval_minutes", "15").await;
    browser
        .until_true("return document.querySelector('#wrong-poll_interval_minutes').textContent === ''")
        .await;
    browser.fill("#article_selector", "h2 a[").await;
    browser.until_reads("#wrong-article_selector", "is not a valid CSS selector").await;
    // Leaving the field is enough to see what it finds.
    browser.fill("#article_selector", "h2 a").await;
    browser.click("#name").await;
    browser.until_reads("#preview", "1 link would be followed").await;
    browser.until_reads("#preview", "The first of all articles").await;
    // The complaint goes with the answer to the last check, and what stands below it moves.
    browser.until_true("return document.querySelector('#wrong-article_selector').textContent === ''").await;
    browser.click(".save-bar button").await;
    browser.until_reads("#said", "Saved").await;
    let settings = site.api.by().source(id).await.unwrap().settings;
    assert_eq!(settings.article_selector.as_deref(), Some("h2 a"));
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}

#[tokio::test]
async fn marks_tell_about_themselves_to_pointer_and_keys() {
    let mut site = Site::new().await;
    let id = site.feed("/letter", &["one"]).await;
    site.poll_due().await;
    site.poll_after(Span::from_hours(2)).await;
    site.world.on("/letter", Reply::status(503));
    site.poll_after(Span::from_hours(2)).await;
    let browser = site.browser().await;
    browser.go(&site.at(&format!("/sources/{id}"))).await;
    browser.eval("document.querySelector('[data-marks] [tabindex=\"0\"]').focus()", &[]).await;
    browser.until_reads("#tip", "503 Service Unavailable").await;
    browser.press("\u{E012}").await;
    browser.until_reads("#tip", "not modified").await;
    browser.press("\u{E011}").await;
    browser.until_reads("#tip", "1 new post").await;
    assert_eq!(
        browser.eval("return document.querySelectorAll('[data-marks] [tabindex=\"0\"]').length", &[]).await,
        1
    );
    browser.click(".zoom a:last-child").await;
    browser.until(".zoom a:last-child[aria-current]").await;
    browser.until_true("return document.querySelector('.timeline .ticks').textContent.includes('Nov')").await;
}
