//! What a page does when its server is gone.

use super::site::Site;

#[tokio::test]
async fn a_page_says_when_the_connection_is_lost_and_gets_it_back() {
    let mut site = Site::new().await;
    let id = site.feed("/letter", &["one"]).await;
    let browser = site.browser().await;
    browser.until_reads("#connection", "live").await;
    site.api.stop().await;
    browser.until_reads("#connection", "connection lost").await;
    site.poll_due().await;
    assert!(site.api.by().source(id).await.unwrap().health.last_success_at.is_some());
    site.api.start_again().await;
    browser.until_reads("#connection", "live").await;
    // What happened meanwhile is there without loading the page again.
    browser.until_reads("main", "1 post in 24 hours").await;
}
