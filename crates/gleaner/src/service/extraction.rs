//! Finding the article of a page, without storing anything.

use gleaner_core::link;
use gleaner_core::time::{Span, Time};
use serde::Serialize;
use url::Url;

use super::ServiceError;
use super::trial::failed_to_fetch;
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::fetch::{Fetcher, NetworkOverrides, Request};
use crate::read::article::{self, Article};
use crate::read::{ACCEPT_PAGES, Page};

/// The address of a page that has none.
const NOWHERE: &str = "http://localhost/";

/// An article as it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extraction {
    /// Its title.
    pub title: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When it was published, in UTC; where its day is another one there than on the page, the page's day.
    pub published: Option<String>,
    /// Its text.
    pub text: String,
    /// The same with its markup, harmless to show.
    pub html: String,
    /// Where it is read.
    pub url: Option<String>,
    /// The language that the page says it has.
    pub language: Option<String>,
    /// Its lead image.
    pub image: Option<String>,
    /// What the site calls itself.
    pub site_name: Option<String>,
}

/// Fetches a page and finds its article. It needs no database.
pub async fn extract_url(config: &Config, text: &str) -> Result<Extraction, ServiceError> {
    let url = link::source_url(text)?;
    let fetcher = Fetcher::new(&config.fetch, &NetworkOverrides::default())?;
    let now = SystemClock.now();
    let request = Request { accept: ACCEPT_PAGES.to_owned(), ..Request::new(url.clone()) };
    let response = fetcher.fetch(&request, now).await.map_err(|failed| failed_to_fetch(&url, failed))?;
    let page = Page { url: &response.url, content_type: &response.content_type, body: &response.body };
    let mut extraction = told(article::extract(&page), now);
    extraction.url.get_or_insert_with(|| response.url.to_string());
    Ok(extraction)
}

/// Finds the article of a page that is at hand, and was found at `url`.
pub fn extract_html(body: &[u8], url: Option<&str>) -> Result<Extraction, ServiceError> {
    let given = url.map(link::source_url).transpose()?;
    let base = match &given {
        Some(url) => url.clone(),
        None => Url::parse(NOWHERE).map_err(|error| ServiceError::invalid("url", error.to_string()))?,
    };
    let mut article = article::extract(&Page { url: &base, content_type: b"", body });
    article.url = article.url.or_else(|| given.map(String::from));
    Ok(told(article, SystemClock.now()))
}

fn told(article: Article, now: Time) -> Extraction {
    // As with feeds: what lies ahead is no date of publication.
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
