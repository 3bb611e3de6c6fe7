//! A document tree, for what needs one: selectors.

/// Builds the tree of a page.
pub fn parse(html: &str) -> dom_query::Document {
    dom_query::Document::from(html)
}
