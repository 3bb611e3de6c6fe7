//! Coming in, and being kept out.

use gleaner::config::secret::Secret;
use gleaner_core::time::Span;

use super::driver::Browser;
use super::site::Site;

#[tokio::test]
async fn an_old_session_confirms_and_its_form_is_carried_out() {
    let mut site = Site::new().await;
    let password = "correct horse battery";
    site.api.by().set_password("admin", None, &Secret::new(password.to_owned())).await.unwrap();
    for n in 0..3 {
        site.feed(&format!("/letter-{n}"), &["one"]).await;
    }
    site.poll_due().await;
    let browser = site.browser().await;
    site.api.clock.advance(Span::from_mins(16));
    browser.go(&site.at("/sources?sort=address")).await;
    for n in [1, 2] {
        browser.click(&format!("#bulk tbody tr:nth-child({n}) input")).await;
    }
    browser.click("button[value=delete]").await;
    browser.until_reads("main", "Delete 2 sources?").await;
    browser.click("main form button.danger").await;
    browser.until_reads("main h1", "Confirm who you are").await;
    browser.fill("[name=confirm_password]", "wrong horse battery").await;
    browser.click("main button.primary").await;
    browser.until_reads("main .wrong", "This is not your current password").await;
    assert_eq!(site.api.db.count("sources").await, 3, "nothing is gone yet");
    browser.fill("[name=confirm_password]", password).await;
    browser.click("main button.primary").await;
    browser.until_reads("#said", "Deleted 2 sources").await;
    assert_eq!(site.api.db.count("sources").await, 1);
}

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
