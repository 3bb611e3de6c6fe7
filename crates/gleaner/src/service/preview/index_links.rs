//! The links of an index page that a watchlist would follow, for `gleaner links`.

use gleaner_core::link;
use gleaner_core::post::Entry;
use gleaner_core::time::Time;
use serde::Serialize;

use super::{ServiceError, failed_to_fetch};
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::fetch::{Fetcher, NetworkOverrides, Request};
use crate::read::{ACCEPT_PAGES, Page, ReadOptions, links, watchlist};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexLinks {
    /// URL of the page after redirects.
    pub url: String,
    /// In page order.
    pub links: Vec<IndexLink>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexLink {
    pub title: Option<String>,
    pub url: String,
    pub published_at: Option<Time>,
}

/// Fetches an index page and returns the links that a watchlist would follow. Needs no database.
pub async fn links_at(
    config: &Config,
    text: &str,
    selector: Option<&str>,
) -> Result<IndexLinks, ServiceError> {
    let url = link::source_url(text)?;
    check_selector(selector)?;
    let fetcher = Fetcher::new(&config.fetch, &NetworkOverrides::default())?;
    let request = Request { accept: ACCEPT_PAGES.to_owned(), ..Request::new(url.clone()) };
    let response =
        fetcher.fetch(&request, SystemClock.now()).await.map_err(|failed| failed_to_fetch(&url, failed))?;
    read(&Page { url: &response.url, content_type: &response.content_type, body: &response.body }, selector)
}

/// Returns the links that a watchlist at the URL `text` would follow in this page.
pub fn links_of(html: &[u8], text: &str, selector: Option<&str>) -> Result<IndexLinks, ServiceError> {
    let url = link::source_url(text)?;
    check_selector(selector)?;
    read(&Page { url: &url, content_type: b"text/html", body: html }, selector)
}

/// Refuses a selector that cannot be parsed before anything is fetched.
fn check_selector(selector: Option<&str>) -> Result<(), ServiceError> {
    selector.map_or(Ok(()), links::check_selector).map_err(|why| ServiceError::invalid("selector", why))
}

fn read(page: &Page<'_>, selector: Option<&str>) -> Result<IndexLinks, ServiceError> {
    let rules = ReadOptions { article_selector: selector, ignore_selector: None };
    let document = watchlist::read(page, &rules)
        .map_err(|fault| ServiceError::Unreadable { url: page.url.to_string(), why: fault.to_string() })?;
    let link = |entry: Entry| {
        Some(IndexLink { title: entry.title, url: entry.url?, published_at: entry.published_at })
    };
    Ok(IndexLinks {
        url: page.url.to_string(),
        links: document.entries.into_iter().filter_map(link).collect(),
    })
}
