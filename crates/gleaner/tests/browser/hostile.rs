//! Nothing that anybody writes becomes script: not a feed, a page, an error message, a list, nor another user.

use gleaner::service::{NewWebhook, PostFilter, Scope, SourceSettings};
use gleaner_core::source::Kind;
use gleaner_core::time::Span;

use super::driver::Browser;
use super::payloads;
use super::site::{Site, escaped};
use crate::support::http::Reply;
use crate::support::{new_feed, new_source};

/// What shows that a text became more than a text: an element, a handler, a link that is script, or a run.
const BECAME: &str = "const bad = []; if (window.ran) bad.push('it ran');\
    for (const e of document.querySelectorAll('[data-x], script:not([src^=\"/assets/\"]), base, iframe, object, embed'))\
      bad.push(e.outerHTML.slice(0, 200));\
    for (const e of document.querySelectorAll('*')) for (const a of e.attributes)\
      if (/^on/i.test(a.name) || a.name === 'style' || (/^(href|src|action|formaction|xlink:href)$/i.test(a.name)\
        && /^[\\s\\x00-\\x1f]*(javascript|data|vbscript):/i.test(a.value)))\
        bad.push(a.name + '=' + a.value.slice(0, 100));\
    return bad.join('\\n')";

/// Looks at a page, and clicks nothing.
async fn look(browser: &Browser, site: &Site, path: &str) -> Option<String> {
    browser.go(&site.at(path)).await;
    if browser.has_dialog().await {
        return Some(format!("{path}: a dialog"));
    }
    let became = browser.eval(BECAME, &[]).await.as_str().unwrap_or_default().to_owned();
    let refused: Vec<String> = browser
        .complaints()
        .await
        .into_iter()
        .filter(|line| line.contains("Content Security Policy"))
        .collect();
    let wrong = [became, refused.join("\n")].join("\n");
    (!wrong.trim().is_empty()).then(|| format!("{path}: {}", wrong.trim()))
}

/// A feed in which every field of every entry is hostile.
fn feed(payloads: &[String]) -> String {
    let entry = |(n, text): (usize, &String)| {
        let text = escaped(text);
        format!(
            "<item><guid>{n}</guid><title>{text}</title><link>javascript:window.ran=1//{n}</link>\
             <author>{text}</author><category>{text}</category><description>{text} number {n}</description></item>"
        )
    };
    let entries: String = payloads.iter().enumerate().map(entry).collect();
    let title = escaped(&payloads[0]);
    format!(
        "<rss version='2.0'><channel><title>{title}</title><description>{title}</description>{entries}</channel></rss>"
    )
}

#[tokio::test]
async fn no_text_of_anybody_becomes_script() {
    let payloads = payloads::all();
    assert!(payloads.len() >= 200, "{}", payloads.len());
    let mut site = Site::with(&["source.max_article_age_days=0"]).await;
    site.world.on("/hostile", Reply::ok(feed(&payloads)).header("content-type", "application/rss+xml"));
    let feed = site.add("/hostile").await;
    let mut paths: Vec<String> = set_scene(&site, &payloads).await;
    site.poll_due().await;
    site.poll_after(Span::from_hours(1)).await;
    site.api.service.catch_up().await.unwrap();
    let browser = site.browser().await;

    let mut after = None;
    loop {
        let filter = PostFilter { source_ids: vec![feed], ..PostFilter::default() };
        let posts = site.api.by().posts(&filter, after, 500).await.unwrap();
        let Some(last) = posts.last() else { break };
        after = Some(last.id);
        paths.extend(posts.iter().map(|post| format!("/posts/{}", post.id)));
    }
    let posts = paths.iter().filter(|path| path.starts_with("/posts/")).count();
    assert!(posts >= 200, "{posts} posts");
    paths.push(format!("/sources/{feed}"));
    let mut wrong = Vec::new();
    for path in &paths {
        wrong.extend(look(&browser, &site, path).await);
    }
    assert!(wrong.is_empty(), "{} of {} pages\n{}", wrong.len(), paths.len(), wrong.join("\n"));
}

/// Names, reasons and addresses as hostile users give them; the pages that show them.
async fn set_scene(site: &Site, payloads: &[String]) -> Vec<String> {
    let by = site.api.by();
    let mut paths: Vec<String> =
        ["/", "/posts", "/hosts", "/policies", "/add", "/import", "/settings"].map(str::to_owned).into();
    for (n, text) in payloads.iter().enumerate() {
        let name = text.chars().filter(|c| !c.is_control()).take(100).collect::<String>();
        let path = format!("/named/{n}");
        // What a server says of itself comes back in error messages.
        let reason: String = name.chars().filter(char::is_ascii).collect();
        site.world.on(&path, Reply::raw(format!("HTTP/1.1 404 {reason}\r\nContent-Length: 0\r\n\r\n")));
        let new = SourceSettings { name: Some(name.clone()), ..new_feed(site.world.url(&path)) };
        let id = by.add(&new).await.unwrap().id;
        if n % 4 == 0 {
            by.set_aside(id, &name).await.unwrap();
            paths.extend([format!("/sources/{id}"), format!("/sources/{id}/edit")]);
        }
        if n % 10 == 0 {
            by.create_collection(&name).await.unwrap();
            by.create_user(&name, false).await.unwrap();
            by.create_token(&name, &[Scope::Read], Span::from_days(1)).await.unwrap();
            by.create_feed_token(&name).await.unwrap();
            let url = "https://example.org/hook".to_owned();
            let hook = NewWebhook { name: Some(name.clone()), url, events: Vec::new(), enabled: false };
            let (hook, _) = by.create_webhook(&hook).await.unwrap();
            paths.push(format!("/settings/webhooks/{}", hook.id));
        }
        let asked: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        match n % 4 {
            0 => paths.push(format!("/sources?q={asked}")),
            1 => paths.push(format!("/posts?q={asked}")),
            2 => paths.push(format!("/sources?host={asked}&status={asked}&sort={asked}&kind={asked}")),
            _ => paths.push(format!("/{asked}")),
        }
    }
    let page = payloads
        .iter()
        .map(|text| format!("<li><a href='/a/{}'>{text}</a></li>", text.len()))
        .collect::<String>();
    site.world.on(
        "/index",
        Reply::ok(format!("<title>{}</title><ul>{page}</ul>", payloads[1]))
            .header("content-type", "text/html"),
    );
    by.add(&new_source(Kind::Watchlist, site.world.url("/index"))).await.unwrap();
    paths.extend((0..6).map(|n| format!("/sources?sort=added&page={n}")));
    paths
}
