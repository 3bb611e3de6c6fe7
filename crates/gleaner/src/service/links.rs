//! Looking at an index page: which links a watchlist would follow.

use gleaner_core::link;
use gleaner_core::time::Time;
use serde::Serialize;

use super::ServiceError;
use super::trial::failed_to_fetch;
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::fetch::{Fetcher, NetworkOverrides, Request};
use crate::read::{ACCEPT_PAGES, Page, links};

/// The links of an index page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexLinks {
    /// Where the page was found in the end.
    pub url: String,
    /// Those that a watchlist would follow, in page order.
    pub links: Vec<IndexLink>,
}

/// A link that a watchlist would follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexLink {
    /// What the page calls it.
    pub title: Option<String>,
    /// Where it leads.
    pub url: String,
    /// When that was published, where the page tells.
    pub published_at: Option<Time>,
}

/// Fetches an index page once and tells which links a watchlist would follow. It needs no database.
pub async fn links_at(
    config: &Config,
    text: &str,
    selector: Option<&str>,
) -> Result<IndexLinks, ServiceError> {
    let url = link::source_url(text)?;
    check(selector)?;
    let fetcher = Fetcher::new(&config.fetch, &NetworkOverrides::default())?;
    let request = Request { accept: ACCEPT_PAGES.to_owned(), ..Request::new(url.clone()) };
    let response =
        fetcher.fetch(&request, SystemClock.now()).await.map_err(|failed| failed_to_fetch(&url, failed))?;
    read(&Page { url: &response.url, content_type: &response.content_type, body: &response.body }, selector)
}

/// Tells which links of a page at hand a watchlist would follow; `text` is where it came from.
pub fn links_of(html: &[u8], text: &str, selector: Option<&str>) -> Result<IndexLinks, ServiceError> {
    let url = link::source_url(text)?;
    check(selector)?;
    read(&Page { url: &url, content_type: b"text/html", body: html }, selector)
}

/// Before anything is fetched.
fn check(selector: Option<&str>) -> Result<(), ServiceError> {
    selector.map_or(Ok(()), links::check_selector).map_err(|why| ServiceError::invalid("selector", why))
}

fn read(page: &Page<'_>, selector: Option<&str>) -> Result<IndexLinks, ServiceError> {
    let found = match selector {
        Some(selector) => {
            links::select(page, selector).map_err(|bad| ServiceError::invalid("selector", bad.to_string()))?
        }
        None => links::guess(page),
    };
    let link = |link: links::Link| IndexLink {
        title: link.title,
        url: link.url.into(),
        published_at: link.published_at,
    };
    Ok(IndexLinks { url: page.url.to_string(), links: found.into_iter().map(link).collect() })
}
