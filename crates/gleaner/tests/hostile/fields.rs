//! Every field that takes a URL refuses every spelling, before anything is asked of anybody.

use gleaner::service::{
    Backfill, Checks, ListOptions, Preview, ServiceError, SourceFields, extract_url, links_at, preview_url,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::canary::Canary;
use super::world::INTERNET;
use super::{spellings, tell_refused};
use crate::api::client::{Answer, Api};
use crate::support::http::{Reply, Server};
use crate::support::sqlite;

async fn api() -> Api {
    Api::with(sqlite().await, &[INTERNET, "api.requests_per_minute=0"]).await
}

/// What is refused where it is to be stored: named field by field.
#[track_caller]
fn is_invalid(answer: &Answer, what: &str, url: &str) {
    assert_eq!(answer.status, 422, "{what} takes {url:?}: {}", answer.text);
    assert_eq!(answer.body["code"], "invalid", "{what} {url:?}: {}", answer.text);
    let named = answer.body["errors"].as_array().unwrap().iter().any(|wrong| wrong["field"] == "url");
    assert!(named, "{what} {url:?}: {}", answer.text);
}

/// What is refused where it would be asked at once: it is no URL, or it is blocked.
#[track_caller]
fn is_refused(error: &ServiceError, what: &str, url: &str) {
    let words = error.to_string();
    let refused = match error {
        ServiceError::Invalid(_) => true,
        ServiceError::Unreadable { why, .. } => why.contains("blocked: "),
        _ => false,
    };
    assert!(refused, "{what} {url:?}: {words}");
}

#[tokio::test]
async fn no_spelling_can_be_stored() {
    let (api, canary) = (api().await, Canary::start().await);
    let good = api.post("/sources", json!({ "url": "https://a.example/feed" })).await.is(201)["id"].clone();
    let hook = api.post("/webhooks", json!({ "url": "https://a.example/hook" })).await.is(201)["id"].clone();
    let all = spellings::all(canary.port());
    for url in &all {
        for kind in ["feed", "website", "watchlist"] {
            is_invalid(&api.post("/sources", json!({ "url": url, "kind": kind })).await, kind, url);
        }
        is_invalid(&api.patch(&format!("/sources/{good}"), json!({ "url": url })).await, "edit", url);
        is_invalid(&api.post("/webhooks", json!({ "url": url })).await, "webhook", url);
        is_invalid(&api.patch(&format!("/webhooks/{hook}"), json!({ "url": url })).await, "webhook", url);
    }
    assert_eq!((api.db.count("sources").await, api.db.count("webhooks").await), (1, 1));
    canary.met_nobody().await;
    tell_refused("saved", all.len(), 6 * all.len());
}

#[tokio::test]
async fn no_spelling_gets_in_by_a_list() {
    let (api, canary) = (api().await, Canary::start().await);
    let all = spellings::all(canary.port());
    let escaped = |url: &String| {
        let url = url.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        format!("<outline type=\"rss\" text=\"x\" xmlUrl=\"{url}\"/>\n")
    };
    let opml = format!("<opml><body>{}</body></opml>", all.iter().map(escaped).collect::<String>());
    let lines: String = all.iter().map(|url| format!("{}\n", json!({ "url": url }))).collect();
    for (kind, list) in [("text/x-opml", opml), ("application/x-ndjson", lines)] {
        let told = api.send_file(Method::POST, "/import", kind, list.into_bytes()).await;
        let told = told.is(200);
        assert_eq!((&told["added"], &told["bad"]), (&0.into(), &all.len().into()), "{kind}: {told}");
    }
    assert_eq!(api.db.count("sources").await, 0);
    canary.met_nobody().await;
    tell_refused("lists", all.len(), 2 * all.len());
}

/// Looks, finds, imports and previews: whatever asks at once.
#[tokio::test]
async fn no_spelling_is_asked_for_by_the_service() {
    let (api, canary) = (api().await, Canary::start().await);
    let good = api.post("/sources", json!({ "url": "https://a.example/feed" })).await;
    let good = good.is(201)["id"].as_i64().unwrap();
    let all = spellings::all(canary.port());
    for url in &all {
        let by = api.by();
        is_refused(&by.preview_url(url, Backfill::All).await.unwrap_err(), "try", url);
        let fields = || SourceFields { url: Some(url.clone()), ..SourceFields::default() };
        is_refused(&by.find_source(fields(), Checks::default()).await.unwrap_err(), "find", url);
        is_refused(&by.preview_source(good, &fields(), Checks::default()).await.unwrap_err(), "preview", url);
        is_refused(&by.import_from(url, ListOptions::default()).await.unwrap_err(), "import", url);
    }
    assert_eq!(api.db.count("sources").await, 1);
    canary.met_nobody().await;
    tell_refused("service", all.len(), 4 * all.len());
}

/// What the command line does without a database.
#[tokio::test]
async fn no_spelling_is_asked_for_by_a_command() {
    let (api, canary) = (api().await, Canary::start().await);
    let config = api.service.config();
    let all = spellings::all(canary.port());
    for url in &all {
        is_refused(&preview_url(config, url, Backfill::All).await.unwrap_err(), "try", url);
        is_refused(&extract_url(config, url).await.unwrap_err(), "extract", url);
        is_refused(&links_at(config, url, None).await.unwrap_err(), "links", url);
    }
    canary.met_nobody().await;
    tell_refused("commands", all.len(), 3 * all.len());
}

/// The same by the binary itself, for some.
#[tokio::test]
async fn no_spelling_passes_the_command_line() {
    let (directory, canary) = (tempfile::tempdir().unwrap(), Canary::start().await);
    let list = directory.path().join("list.opml");
    for host in ["127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "localhost", "[::1]"] {
        let url = format!("http://{host}:{}/", canary.port());
        std::fs::write(&list, format!("<opml><outline text='x' xmlUrl='{url}'/></opml>")).unwrap();
        for words in [
            vec!["try", &url],
            vec!["add", &url],
            vec!["add", "--kind", "website", &url],
            vec!["extract", &url],
            vec!["links", &url],
            vec!["import", &url],
            vec!["import", list.to_str().unwrap()],
        ] {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gleaner"));
            command.args(["--set", "store.url=gleaner.db"]).args(&words).env_clear().env("HOME", "/nowhere");
            command.current_dir(directory.path());
            let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
            let told = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            let refused = told.contains("this machine") || told.contains("mapped IPv4 address");
            assert!(refused, "{words:?} ended with {:?}: {told}", output.status.code());
        }
    }
    canary.met_nobody().await;
}

/// Pages that name a feed where nobody must go, and answers that lead there.
#[tokio::test]
async fn no_page_leads_inside() {
    let (api, canary, server) = (api().await, Canary::start().await, Server::start_on([127, 1, 0, 1]).await);
    let all = spellings::in_headers(canary.port());
    let targets = all.clone();
    server.on_all(move |request| {
        let (_, rest) = request.path.split_once('/').unwrap();
        let Some((status, number)) = rest.split_once('/') else { return Reply::status(404) };
        let url = &targets[number.parse::<usize>().unwrap()];
        match status.parse::<u16>() {
            Ok(status) => Reply::redirect(status, url),
            Err(_) => {
                let href = url.replace('&', "&amp;").replace('"', "&quot;");
                let link = format!("<link rel=alternate type='application/rss+xml' href=\"{href}\">");
                Reply::ok(format!("<html><head>{link}</head><body><p>Words.</body></html>"))
                    .header("Content-Type", "text/html")
            }
        }
    });
    for (number, url) in all.iter().enumerate() {
        let page = server.url(&format!("/page/{number}"));
        let found = api.post("/sources/find", json!({ "url": page.as_str() })).await;
        assert_eq!(found.status, 422, "{url:?} was found: {}", found.text);
        let preview = api.by().preview_url(page.as_str(), Backfill::All).await;
        // The page itself is harmless, and the feed is offered by its URL only.
        let candidates = preview.into_iter().flat_map(Preview::candidates);
        let read = candidates.into_iter().find(|one| one.kind.name() == "feed" && one.is_read);
        assert_eq!(read, None, "{url:?}");
        let status = [301, 302, 303, 307, 308][number % 5];
        let moved = server.url(&format!("/{status}/{number}"));
        let by = api.by();
        is_refused(&by.preview_url(moved.as_str(), Backfill::All).await.unwrap_err(), "try", url);
        is_refused(&by.import_from(moved.as_str(), ListOptions::default()).await.unwrap_err(), "import", url);
    }
    assert_eq!(api.db.count("sources").await, 0);
    canary.met_nobody().await;
    tell_refused("pages", all.len(), 4 * all.len());
}

/// A webhook's target that is moved is not gone after, and one that was stored before the guard was closed is not met.
#[tokio::test]
async fn no_webhook_leads_inside() {
    let (api, canary, server) = (api().await, Canary::start().await, Server::start_on([127, 1, 0, 1]).await);
    for status in [301, 302, 303, 307, 308] {
        let inside = format!("http://127.0.0.1:{}/", canary.port());
        server.on(&format!("/{status}"), Reply::redirect(status, inside));
        let url = server.url(&format!("/{status}")).to_string();
        let hook = api.post("/webhooks", json!({ "name": status.to_string(), "url": url })).await;
        let hook = hook.is(201)["id"].clone();
        let told = api.post(&format!("/webhooks/{hook}/test"), Value::Null).await;
        let error = told.is(200)["error"].as_str().unwrap();
        assert_eq!(error, format!("redirect {status}, which is not followed; use its target"));
    }
    let hook = api.post("/webhooks", json!({ "url": "https://a.example/" })).await.is(201)["id"].clone();
    let all = spellings::all(canary.port());
    for url in &all {
        let text = url.replace('\'', "''").replace('\0', "");
        api.db.behind_its_back(&format!("UPDATE webhooks SET url = '{text}' WHERE id = {hook}")).await;
        let told = api.post(&format!("/webhooks/{hook}/test"), Value::Null).await;
        let error = told.is(200)["error"].as_str().unwrap_or_default().to_owned();
        let refused = error.starts_with("blocked: ") || error.starts_with("the target is no URL: ");
        assert!(refused, "{url:?}: {}", told.text);
    }
    canary.met_nobody().await;
    tell_refused("webhooks", all.len(), all.len() + 5);
}
