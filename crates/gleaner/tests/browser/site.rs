//! A dashboard to look at: a server with an engine behind it, by a clock that is set, and a small internet.

use std::sync::Arc;

use gleaner::clock::Clock as _;
use gleaner::engine::Engine;
use gleaner::service::Service;
use gleaner_core::time::Span;
use tokio::task::JoinHandle;

use super::driver::Browser;
use crate::api::client::Api;
use crate::support::http::{Reply, Server};
use crate::support::new_feed;
use crate::support::sqlite;

pub(super) struct Site {
    pub(super) api: Api,
    pub(super) world: Server,
    engine: Engine,
    dispatcher: JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.dispatcher.abort();
    }
}

impl Site {
    pub(super) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// With these settings, `key=value` each.
    pub(super) async fn with(settings: &[&str]) -> Self {
        let api = Api::with(sqlite().await, settings).await;
        let engine = api.service.engine("browser").unwrap();
        let dispatcher = tokio::spawn(dispatch(Arc::clone(&api.service)));
        Self { api, world: Server::start().await, engine, dispatcher }
    }

    /// A browser in which somebody is logged in.
    pub(super) async fn browser(&self) -> Browser {
        self.browser_so(false, 1440).await
    }

    /// The same, light or dark, so wide.
    pub(super) async fn browser_so(&self, dark: bool, width: u32) -> Browser {
        let browser = Browser::start(&self.api.base, dark, width).await;
        self.log_in(&browser).await;
        browser
    }

    /// Logs in by a link.
    pub(super) async fn log_in(&self, browser: &Browser) {
        let code = self.api.service.login_code("admin").await.unwrap().secret;
        browser.go(&self.at(&format!("/login?code={}", code.expose()))).await;
        browser.click("button.primary").await;
        browser.until("header.top").await;
    }

    /// The address of a page.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.api.base)
    }

    /// Adds a feed of the small internet, with these entries.
    pub(super) async fn feed(&self, path: &str, entries: &[&str]) -> i64 {
        self.world.on(path, feed(path, entries));
        self.add(path).await
    }

    /// Adds what is at a path.
    pub(super) async fn add(&self, path: &str) -> i64 {
        let new = new_feed(self.world.url(path));
        self.api.by().add(&new).await.unwrap().id
    }

    /// Polls what is due.
    pub(super) async fn poll_due(&mut self) -> usize {
        self.engine.run_due(self.api.clock.now()).await.unwrap().sources
    }

    /// Polls after so long.
    pub(super) async fn poll_after(&mut self, span: Span) -> usize {
        self.api.clock.advance(span);
        self.poll_due().await
    }
}

async fn dispatch(service: Arc<Service>) {
    service.dispatch(std::future::pending()).await;
}

/// A feed that is called after its path.
pub(super) fn feed(path: &str, entries: &[&str]) -> Reply {
    let name = path.trim_matches('/');
    let items: String = entries
        .iter()
        .map(|text| {
            let text = escaped(text);
            format!(
                "<item><guid>{text}</guid><title>{text}</title><description>About {text}</description></item>"
            )
        })
        .collect();
    let document =
        format!("<rss version='2.0'><channel><title>The {name} letter</title>{items}</channel></rss>");
    Reply::ok(document).header("content-type", "application/rss+xml")
}

/// Text as XML has it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
