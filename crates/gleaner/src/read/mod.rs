//! From bytes to what they say: plain text, and the feeds that a page advertises.
//!
//! Everything here is a function of its arguments, takes time in proportion to its input, and never panics.
//! Absent on purpose: a document tree. Trees are built only where an article is to be found in a page.

pub mod discover;
mod element;
pub mod feed;
mod html;
pub mod text;

use gleaner_core::post::Entry;
use gleaner_core::schedule::Hints;
use url::Url;

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

/// What a page holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// What it calls itself.
    pub title: Option<String>,
    /// What it says about when to come back.
    pub hints: Hints,
    /// False where entries may be missing: it ended early, or was too long.
    pub complete: bool,
    /// Its entries, in its own order.
    pub entries: Vec<Entry>,
}

/// The plain text of an entry.
pub fn body_text(entry: &Entry) -> String {
    entry.raw_content.as_deref().map(text::plain_text).unwrap_or_default()
}

#[cfg(test)]
mod discover_tests;
#[cfg(test)]
mod text_tests;
