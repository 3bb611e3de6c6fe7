//! Every page, narrow and wide, light and dark: nothing scrolls sideways, nothing complains, everybody can use it.

use gleaner::config::secret::Secret;
use gleaner::service::{NewWebhook, Scope};
use gleaner_core::time::Span;
use serde_json::Value;

use super::driver::Browser;
use super::site::Site;
use crate::support::http::Reply;

/// A site with something of everything on it; the paths of its pages.
async fn furnished() -> (Site, Vec<String>) {
    let mut site = Site::new().await;
    let by = site.api.by();
    by.set_password("admin", None, &Secret::new("correct horse battery".to_owned())).await.unwrap();
    by.create_user("someone-with-a-rather-long-name", false).await.unwrap();
    by.create_collection("A collection with a rather long name, as people like them").await.unwrap();
    by.create_token("reader", &[Scope::Read], Span::from_days(30)).await.unwrap();
    by.create_feed_token("phone").await.unwrap();
    let hook = NewWebhook {
        name: Some("a webhook".to_owned()),
        url: "https://example.org/hooks/with/a/long/path/that/goes/on/and/on/and/on?and=on".to_owned(),
        events: Vec::new(),
        enabled: true,
    };
    let (hook, _) = by.create_webhook(&hook).await.unwrap();
    let long = "long".repeat(40);
    let first = site.feed("/letter", &["one", "two", &long]).await;
    site.feed(&format!("/{long}"), &["three"]).await;
    for (path, status) in [("/missing", 404), ("/gone", 410), ("/broken", 500), ("/secret", 401)] {
        site.world.on(path, Reply::status(status));
        site.add(path).await;
    }
    site.poll_due().await;
    for _ in 0..6 {
        site.poll_after(Span::from_hours(9)).await;
    }
    site.api.service.catch_up().await.unwrap();
    let post = site.api.by().posts(&Default::default(), None, 1).await.unwrap().remove(0).id;
    let missing = first + 2;
    let paths = [
        "/",
        "/sources",
        "/sources?status=failing&sort=failures",
        "/sources?q=nothing+like+it",
        "/posts",
        "/posts?q=about",
        "/hosts",
        "/policies",
        "/add",
        "/import",
        "/settings",
    ];
    let mut paths: Vec<String> = paths.map(str::to_owned).to_vec();
    paths.extend([
        format!("/sources/{first}"),
        format!("/sources/{missing}"),
        format!("/sources/{missing}?days=30"),
        format!("/sources/{first}/edit"),
        format!("/posts/{post}"),
        format!("/settings/webhooks/{}", hook.id),
        "/nothing/at/all".to_owned(),
    ]);
    (site, paths)
}

async fn look(browser: &Browser, site: &Site, path: &str, axe: &str) -> Vec<String> {
    browser.go(&site.at(path)).await;
    browser.until("main").await;
    let mut wrong = Vec::new();
    let wide = browser.eval("return document.documentElement.scrollWidth - innerWidth", &[]).await;
    if wide.as_i64() > Some(0) {
        wrong.push(format!("scrolls sideways by {wide}"));
    }
    browser.eval(axe, &[]).await;
    let script = "const done = arguments[arguments.length - 1]; axe.run(document, { resultTypes: ['violations'] })\
        .then(found => done(found.violations.filter(one => ['serious', 'critical'].includes(one.impact))\
        .map(one => one.id + ': ' + one.help + ': ' + one.nodes.map(node => node.html).slice(0, 3).join(' | '))))";
    let found = browser.eval_async(script, &[]).await;
    let found = found.as_array().into_iter().flatten().filter_map(Value::as_str);
    wrong.extend(found.map(str::to_owned));
    // A page that is not there is told so by its status, which the console repeats.
    let complaints = browser.complaints().await.into_iter();
    wrong.extend(complaints.filter(|line| !(path.starts_with("/nothing") && line.contains("404"))));
    wrong.into_iter().map(|what| format!("{path}: {what}")).collect()
}

async fn everywhere(dark: bool, width: u32) {
    let axe = std::env::var("AXE").expect("AXE names axe.min.js; `make test` sets it");
    let axe = std::fs::read_to_string(axe).expect("axe-core; `make setup` fetches it");
    let (site, paths) = furnished().await;
    let browser = site.browser_so(dark, width).await;
    let mut wrong = Vec::new();
    for path in &paths {
        wrong.extend(look(&browser, &site, path, &axe).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn every_page_is_right_when_narrow() {
    everywhere(false, 375).await;
}

#[tokio::test]
async fn every_page_is_right_when_wide() {
    everywhere(false, 1440).await;
}

#[tokio::test]
async fn every_page_is_right_in_the_dark() {
    everywhere(true, 375).await;
}
