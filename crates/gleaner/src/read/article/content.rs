//! Finds the text of an article, and removes what does not belong to it.

use std::collections::HashMap;

use dom_query::{Document, NodeId, NodeRef};
use dom_smoothie::{CandidateSelectMode, Config, Readability, TextMode};
use url::Url;

use super::{boilerplate, trim};
use crate::read::tree;

pub(super) struct Content {
    pub text: String,
    pub html: String,
}

/// If the extracted text is less than this share of the page's paragraphs, it is not the article.
const MIN_SHARE_OF_PAGE: f32 = 0.5;

/// The same for the paragraphs of what the page marks as its article.
const MIN_SHARE_OF_ARTICLE: f32 = 0.9;

/// Attributes that are kept.
const KEPT_ATTRIBUTES: &[&str] =
    &["href", "src", "alt", "title", "lang", "dir", "datetime", "colspan", "rowspan", "start"];

/// Elements to remove from an article that was found by its paragraphs alone.
const REMOVED_ELEMENTS: &[&str] = &["header", "footer", "aside", "form", "h1"];

/// The page to search.
pub(super) struct Source<'a> {
    pub html: &'a str,
    /// The base URL of relative links.
    pub base: &'a Url,
    /// The elements that the page marks as articles.
    pub articles: &'a [NodeId],
    pub title: Option<&'a str>,
}

pub(super) fn find(page: &Source<'_>, document: Document) -> Option<Content> {
    let (prose, _) = boilerplate::remove(&document, page.articles);
    let config = Config {
        disable_json_ld: true,
        text_mode: TextMode::Raw,
        candidate_select_mode: CandidateSelectMode::DomSmoothie,
        ..Config::default()
    };
    let mut reader = Readability::with_document(document, Some(page.base.as_str()), Some(config)).ok()?;
    let found = reader.parse().is_ok();
    let root = reader.doc.select_single("#readability-page-1");
    let root = root.nodes().first().filter(|_| found);
    let length = root.map_or(0, boilerplate::length);
    let is_too_little = |all: usize, share: f32| (length as f32) < all as f32 * share;
    let lost = is_too_little(prose.page, MIN_SHARE_OF_PAGE);
    if (lost || is_too_little(prose.article, MIN_SHARE_OF_ARTICLE))
        && let Some(content) = by_paragraphs(page, !lost)
        && content.text.len() > length
    {
        return Some(content);
    }
    render(root?, page)
}

fn render(root: &NodeRef<'_>, page: &Source<'_>) -> Option<Content> {
    trim::remove_tables_of_contents(root);
    trim::trim(root, page.title);
    // Removed now, so that the sanitiser has less to read.
    root.descendants().iter().for_each(|node| node.retain_attrs(KEPT_ATTRIBUTES));
    let text = root.formatted_text().trim().to_owned();
    (!text.is_empty()).then(|| Content { text, html: ammonia::clean(&root.html()) })
}

/// The smallest block that contains nearly all paragraphs of the page, or of what it marks as its article.
fn by_paragraphs(page: &Source<'_>, of_article: bool) -> Option<Content> {
    let document = tree::parse(page.html);
    // The same HTML gives the same tree, so node ids from the other tree are valid here.
    let (_, article) = boilerplate::remove(&document, page.articles);
    let mut block = if of_article { article? } else { document.body()? };
    let mut total = 0;
    let mut paragraph_bytes: HashMap<NodeId, usize> = HashMap::new();
    for node in block.descendants_it().filter(|node| node.has_name("p")) {
        let length = boilerplate::length_of_prose(&node);
        total += length;
        for ancestor in node.ancestors_it(None).take_while(|_| length > 0) {
            *paragraph_bytes.entry(ancestor.id).or_default() += length;
        }
    }
    let has_nearly_all =
        |node: &NodeRef<'_>| paragraph_bytes.get(&node.id).is_some_and(|length| *length * 100 >= total * 97);
    while let Some(inner) = block.element_children().into_iter().find(has_nearly_all) {
        block = inner;
    }
    for node in block.descendants() {
        if REMOVED_ELEMENTS.iter().any(|name| node.has_name(name)) {
            node.remove_from_parent();
        } else {
            make_absolute(&node, page.base);
        }
    }
    render(&block, page)
}

/// Makes the URLs of an element absolute. The URL parser trims white space itself, by the rules of browsers: after
/// a no-break space, `javascript:` is a path.
fn make_absolute(node: &NodeRef<'_>, base: &Url) {
    for name in ["href", "src"] {
        if let Some(url) = node.attr(name).and_then(|value| base.join(&value).ok()) {
            node.set_attr(name, url.as_str());
        }
    }
}
