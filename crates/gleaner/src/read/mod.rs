//! From bytes to what they say: plain text, and the feeds that a page advertises.
//!
//! Everything here is a function of its arguments, takes time in proportion to its input, and never panics.
//! A document tree is built only where an article or its links are to be found in a page.

pub mod article;
mod budget;
pub mod decode;
pub mod discover;
mod element;
pub mod feed;
pub mod glance;
mod html;
pub mod links;
pub mod opml;
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

/// What a page's server is asked for.
pub const ACCEPT_PAGES: &str = "text/html, application/xhtml+xml;q=0.9, */*;q=0.5";

/// A page as it was fetched.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Where it came from.
    pub url: &'a Url,
    /// `Content-Type`, as sent.
    pub content_type: &'a [u8],
    /// The decoded body.
    pub body: &'a [u8],
}

impl<'a> Page<'a> {
    /// Its text as HTML, unless it says that it is something else.
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

/// What a person says about how a page is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules<'a> {
    /// Which links of a watchlist are followed.
    pub article_selector: Option<&'a str>,
    /// What of a website always changes and is left out.
    pub ignore_selector: Option<&'a str>,
}

/// What a page holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// What it calls itself.
    pub title: Option<String>,
    /// What it says about when to come back.
    pub hints: Hints,
    /// Why entries of it may be missing, if they may.
    pub lacks: Option<Lack>,
    /// Its entries, in its own order.
    pub entries: Vec<Entry>,
}

/// Why a document may lack entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// It arrived whole but ends early; the next one may bring the rest.
    EndsEarly,
    /// It has more entries than are read.
    TooLong,
    /// None of an index page's links looks like an article.
    NoLinks,
    /// The selector finds no links.
    NothingSelected,
    /// It comes in pages, and not all could be read; the next poll goes on from there.
    Unfinished,
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::EndsEarly => "the document ends early; its complete entries are read",
            Self::TooLong => "the document has more than 10,000 entries; the first 10,000 are read",
            Self::NoLinks => "no link of the page looks like an article; an article_selector may help",
            Self::NothingSelected => "the article_selector finds no links; the page may have changed",
            Self::Unfinished => {
                "not all of the timeline was read; the next poll goes on where this one ended"
            }
        })
    }
}

/// The plain text of an entry.
pub fn body_text(entry: &Entry) -> String {
    entry.raw_content.as_deref().map(text::plain_text).unwrap_or_default()
}

#[cfg(test)]
mod discover_tests;
#[cfg(test)]
mod text_tests;
