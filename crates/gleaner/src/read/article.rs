//! The article of a page: what a reader came for, and what the page says about it.
//!
//! The text is found by Mozilla's rules for its reader view (`dom_smoothie`), in a tree out of which furniture (bars to
//! share, lists of other articles, captions) was taken before. Everything else is read off the same tree.
//! Absent on purpose: fetching, pages after the first, and the language of a page that does not tell.

mod author;
mod content;
mod date;
mod dates;
mod facts;
mod furniture;
mod linked_data;
mod marks;
mod names;
mod title;
mod trim;
mod wording;

use gleaner_core::time::Time;
use url::Url;

use super::decode::decode;
use super::html::{Token, Tokens};
use super::text::{escape, plain_text};
use super::{Page, tree};
use facts::Facts;

/// Where no article is found, so many characters of the page's text stand for it.
const EXCERPT: usize = 500;

/// An article.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Article {
    /// Its title, without the site's name.
    pub title: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When it was published; midnight in UTC where only the day is known.
    pub published_at: Option<Time>,
    /// The day of that in the page's own time zone, where it differs from the day in UTC: `2024-05-17`.
    pub published_on: Option<String>,
    /// Its text, blocks set apart by blank lines.
    pub text: String,
    /// The same with its markup, harmless to show, all addresses absolute.
    pub html: String,
    /// The address that the page gives itself.
    pub url: Option<String>,
    /// The language that the page says it has.
    pub language: Option<String>,
    /// Its lead image.
    pub image: Option<String>,
    /// What the site calls itself.
    pub site_name: Option<String>,
    /// Whether an article was found; else the text is the beginning of all that the page says.
    pub extracted: bool,
}

/// Finds the article of a page.
pub fn extract(page: &Page<'_>) -> Article {
    let html = decode(page.body, page.content_type);
    let document = tree::parse(&html);
    let facts = Facts::of(&document, page.url);
    let title = title::of(&facts);
    let published = date::of(&facts, page.url);
    let published_at = published.as_ref().map(|published| published.at);
    let utc = published_at.map(|at| at.to_string()).unwrap_or_default();
    let mut article = Article {
        author: author::of(&facts),
        published_at,
        published_on: published
            .and_then(|published| published.day)
            .filter(|day| !utc.starts_with(day.as_str())),
        url: facts.canonical(),
        language: facts.language.clone(),
        image: facts.image(),
        site_name: facts.site_name.clone(),
        ..Article::default()
    };
    let base = facts.base.as_ref().unwrap_or(page.url);
    let source = content::Source { html: &html, base, articles: &facts.articles, title: title.as_deref() };
    match content::of(&source, document) {
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

/// The beginning of the text of a page's body.
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
    text.chars().take(EXCERPT).collect::<String>().trim_end().to_owned()
}

/// An address on the web, made absolute.
fn absolute(href: &str, base: &Url) -> Option<Url> {
    let url = base.join(href.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests;
