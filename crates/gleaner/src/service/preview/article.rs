//! The article of one page, for `gleaner extract`.

use gleaner_core::link;
use gleaner_core::time::{Span, Time};
use serde::Serialize;
use url::Url;

use super::{ServiceError, failed_to_fetch};
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::fetch::{Fetcher, NetworkOverrides, Request};
use crate::read::article::{self, Article};
use crate::read::{ACCEPT_PAGES, Page};

/// Base URL of a page whose URL is not known.
const NOWHERE: &str = "http://localhost/";

/// The article of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extraction {
    pub title: Option<String>,
    pub author: Option<String>,
    /// Publication time in UTC; only the date that the page shows, where that differs from the date in UTC.
    pub published: Option<String>,
    pub text: String,
    /// The text with its markup, sanitised.
    pub html: String,
    pub url: Option<String>,
    pub language: Option<String>,
    pub image: Option<String>,
    pub site_name: Option<String>,
}

/// Fetches a page and extracts its article. Needs no database.
pub async fn extract_url(config: &Config, text: &str) -> Result<Extraction, ServiceError> {
    let url = link::source_url(text)?;
    let fetcher = Fetcher::new(&config.fetch, &NetworkOverrides::default())?;
    let now = SystemClock.now();
    let request = Request { accept: ACCEPT_PAGES.to_owned(), ..Request::new(url.clone()) };
    let response = fetcher.fetch(&request, now).await.map_err(|failed| failed_to_fetch(&url, failed))?;
    let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
    let mut extraction = extraction(article::extract(&page), now);
    extraction.url.get_or_insert_with(|| response.url.to_string());
    Ok(extraction)
}

/// Extracts the article of a page that came from `url`.
pub fn extract_html(body: &[u8], url: Option<&str>) -> Result<Extraction, ServiceError> {
    let given = url.map(link::source_url).transpose()?;
    let base = match &given {
        Some(url) => url.clone(),
        None => Url::parse(NOWHERE).map_err(|error| ServiceError::invalid("url", error.to_string()))?,
    };
    let mut article = article::extract(&Page { url: &base, content_type: b"", body });
    article.url = article.url.or_else(|| given.map(String::from));
    Ok(extraction(article, SystemClock.now()))
}

fn extraction(article: Article, now: Time) -> Extraction {
    // As with feeds, a date in the future is not a publication date.
    let published_at = article.published_at.filter(|at| *at <= now + Span::from_days(1));
    Extraction {
        title: article.title,
        author: article.author,
        published: published_at.map(|at| article.published_on.unwrap_or_else(|| at.to_string())),
        text: article.text,
        html: article.html,
        url: article.url,
        language: article.language,
        image: article.image,
        site_name: article.site_name,
    }
}
