//! The text of an article: where it is, and what of that belongs to it.

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use url::Url;

use super::facts::Facts;
use super::furniture;

/// An article's text and markup.
pub(super) struct Content {
    pub text: String,
    pub html: String,
}

/// Finds the article in a tree.
pub(super) fn of(document: Document, base: &Url, _facts: &Facts) -> Option<Content> {
    furniture::remove(&document);
    let config = Config { disable_json_ld: true, text_mode: TextMode::Raw, ..Config::default() };
    let mut reader = Readability::with_document(document, Some(base.as_str()), Some(config)).ok()?;
    let _ = reader.parse().ok()?;
    let root = reader.doc.select_single("#readability-page-1");
    let root = root.nodes().first()?;
    let text = root.formatted_text().to_string();
    if text.trim().is_empty() {
        return None;
    }
    Some(Content { text, html: ammonia::clean(&root.html()) })
}
