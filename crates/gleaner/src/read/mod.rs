//! Converts fetched bytes to entries, articles, links and text.
//!
//! Everything here is pure, takes time linear in its input, and never panics. A document tree is built only to
//! extract articles and links.

pub mod article;
mod budget;
pub mod decode;
pub mod discover;
mod element;
pub mod feed;
mod html;
pub mod links;
pub mod opml;
pub mod page_summary;
mod selector;
pub mod text;
pub mod tree;
pub mod watchlist;
pub mod website;
pub mod x;
mod x_text;

use std::borrow::Cow;

use gleaner_core::classify::Fault;
use gleaner_core::post::Entry;
use gleaner_core::schedule::Hints;
use url::Url;

/// The `Accept` header for web pages.
pub const ACCEPT_PAGES: &str = "text/html, application/xhtml+xml;q=0.9, */*;q=0.5";

/// A fetched document.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    pub url: &'a Url,
    /// As sent.
    pub content_type: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> Page<'a> {
    /// Decodes it as HTML, unless its media type is something else.
    pub fn html(&self) -> Result<Cow<'a, str>, Fault> {
        const PAGES: [&[u8]; 5] =
            [b"", b"text/html", b"application/xhtml+xml", b"text/plain", b"application/xml"];
        let kind = self.content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        if PAGES.iter().any(|page| kind.eq_ignore_ascii_case(page)) {
            return Ok(decode::decode(self.body, self.content_type));
        }
        let kind = String::from_utf8_lossy(kind);
        Err(Fault::Unreadable(format!("it is {kind}, not a web page")))
    }
}

/// A source's options for reading its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions<'a> {
    /// Selects the links of a watchlist that are followed.
    pub article_selector: Option<&'a str>,
    /// Selects the parts of a website that are ignored because they always change.
    pub ignore_selector: Option<&'a str>,
}

/// A parsed document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    pub title: Option<String>,
    /// Polling hints.
    pub hints: Hints,
    /// Why entries may be missing, if they may.
    pub missing_entries: Option<MissingEntries>,
    /// In document order.
    pub entries: Vec<Entry>,
}

/// Why entries of a document may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingEntries {
    /// It was received completely but ends early; the next one may have the rest.
    Truncated,
    /// It has more entries than the limit.
    TooManyEntries,
    /// No link of an index page looks like an article.
    NoArticleLinks,
    /// The selector matches no links.
    SelectorMatchedNothing,
    /// It has several pages, and not all could be read; the next poll continues from there.
    TimelineUnfinished,
}

impl std::fmt::Display for MissingEntries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the document ends early; its complete entries are read",
            Self::TooManyEntries => "the document has more than 10,000 entries; the first 10,000 are read",
            Self::NoArticleLinks => "no link of the page looks like an article; an article_selector may help",
            Self::SelectorMatchedNothing => "the article_selector finds no links; the page may have changed",
            Self::TimelineUnfinished => {
                "not all of the timeline was read; the next poll goes on where this one ended"
            }
        })
    }
}

/// The plain text of an entry's content.
pub fn body_text(entry: &Entry) -> String {
    entry.raw_content.as_deref().map(text::plain_text).unwrap_or_default()
}

#[cfg(test)]
mod discover_tests;
#[cfg(test)]
mod text_tests;
