//! Extracts the article of a page, and its metadata.
//!
//! The text is found with Mozilla's reader view algorithm (`dom_smoothie`), in a tree from which boilerplate (share
//! buttons, lists of other articles, captions) was removed before. Metadata is read from the same tree. Not done
//! here: fetching, multi-page articles, and detecting an undeclared language.

mod author;
mod boilerplate;
mod class_meanings;
mod content;
mod date;
mod dates;
mod element_hints;
mod linked_data;
mod metadata;
mod title;
mod trim;
mod word_overlap;

use gleaner_core::time::Time;
use url::Url;

use super::decode::decode;
use super::html::{Token, Tokens};
use super::text::{escape, plain_text};
use super::{Page, tree};
use crate::truncate::truncate_chars;
use metadata::PageMetadata;

/// Characters of the page's text to use if no article is found.
const EXCERPT_CHARS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Article {
    /// Without the site's name.
    pub title: Option<String>,
    pub author: Option<String>,
    /// Midnight UTC if only the day is known.
    pub published_at: Option<Time>,
    /// The day in the page's own time zone, if it differs from the day in UTC: `2024-05-17`.
    pub published_on: Option<String>,
    /// Plain text; blocks are separated by blank lines.
    pub text: String,
    /// The same as sanitised HTML with absolute URLs.
    pub html: String,
    /// The page's canonical URL.
    pub url: Option<String>,
    /// The declared language.
    pub language: Option<String>,
    /// The URL of the lead image.
    pub image: Option<String>,
    pub site_name: Option<String>,
    /// Whether an article was found; otherwise the text is the beginning of the page's text.
    pub extracted: bool,
}

pub fn extract(page: &Page<'_>) -> Article {
    let html = decode(page.body, page.content_type);
    let document = tree::parse(&html);
    let metadata = PageMetadata::collect(&document, page.url);
    let title = title::find(&metadata);
    let published = date::find(&metadata, page.url);
    let published_at = published.as_ref().map(|published| published.at);
    let utc = published_at.map(|at| at.to_string()).unwrap_or_default();
    let mut article = Article {
        author: author::find(&metadata),
        published_at,
        published_on: published
            .and_then(|published| published.day)
            .filter(|day| !utc.starts_with(day.as_str())),
        url: metadata.canonical(),
        language: metadata.language.clone(),
        image: metadata.image(),
        site_name: metadata.site_name.clone(),
        ..Article::default()
    };
    let base = metadata.base.as_ref().unwrap_or(page.url);
    let source = content::Source { html: &html, base, articles: &metadata.articles, title: title.as_deref() };
    match content::find(&source, document) {
        Some(content) => {
            (article.text, article.html, article.extracted) = (content.text, content.html, true);
        }
        None => {
            article.text = excerpt(&html);
            article.html = escape(&article.text);
        }
    }
    article.title = title;
    article
}

/// The beginning of the page's text.
fn excerpt(html: &str) -> String {
    let mut body = 0;
    for token in Tokens::new(html.as_bytes()) {
        if let Token::Tag(tag) = token {
            if tag.is("body") {
                body = tag.to;
                break;
            } else if tag.end && (tag.is("head") || tag.is("title")) {
                body = tag.to;
            }
        }
    }
    let text = plain_text(html.get(body..).unwrap_or_default());
    truncate_chars(&text, EXCERPT_CHARS).trim_end().to_owned()
}

/// An absolute http or https URL.
fn absolute(href: &str, base: &Url) -> Option<Url> {
    let url = base.join(href.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests;
