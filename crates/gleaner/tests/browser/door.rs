//! Coming in, and being kept out.

use gleaner::config::secret::Secret;

use super::driver::Browser;
use super::site::Site;

#[tokio::test]
async fn a_link_logs_in_once_and_a_password_again_and_again() {
    let site = Site::new().await;
    let browser = Browser::start(&site.api.base, false, 1440).await;
    browser.go(&site.at("/sources?status=failing")).await;
    assert!(
        browser.url().await.contains("/login?next=%2Fsources%3Fstatus%3Dfailing"),
        "{}",
        browser.url().await
    );

    let code = site.api.service.login_code("admin").await.unwrap().secret;
    let link = site.at(&format!("/login?code={}", code.expose()));
    browser.go(&link).await;
    browser.click("button.primary").await;
    browser.until_reads("h1", "Nothing is watched yet").await;
    browser.until_reads("main", "set a password to come in again").await;
    browser.until_reads("#connection", "live").await;

    browser.click(".who button").await;
    browser.until_reads("h1", "Log in").await;
    browser.go(&link).await;
    browser.click("button.primary").await;
    browser.until_reads(".wrong", "This link was used already").await;

    site.api
        .by()
        .set_password("admin", None, &Secret::new("correct horse battery".to_owned()))
        .await
        .unwrap();
    browser.go(&site.at("/login?next=//elsewhere.test/")).await;
    for (password, reads) in
        [("wrong horse battery", "is wrong"), ("correct horse battery", "Nothing is watched yet")]
    {
        browser.fill("[name=name]", "admin").await;
        browser.fill("[name=password]", password).await;
        browser.click("button.primary").await;
        browser.until_reads("main", reads).await;
    }
    assert_eq!(browser.url().await, site.at("/"), "nobody is sent elsewhere");
    let scripted = browser.eval("return document.cookie", &[]).await;
    assert_eq!(scripted, "", "no script reads the cookie");
}
