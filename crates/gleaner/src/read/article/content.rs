//! The text of an article: where it is, and what of that belongs to it.

use std::collections::HashMap;

use dom_query::{Document, NodeId, NodeRef};
use dom_smoothie::{CandidateSelectMode, Config, Readability, TextMode};
use url::Url;

use super::{furniture, trim};
use crate::read::tree;

/// An article's text and markup.
pub(super) struct Content {
    pub text: String,
    pub html: String,
}

/// What is found where the page's paragraphs hold more than so many times as much is not the article.
const TOO_LITTLE: f32 = 0.5;

/// The same for those paragraphs that the page itself says are its article.
const TOO_LITTLE_OF_ARTICLE: f32 = 0.9;

/// Attributes that mean something in an article.
const KEPT: &[&str] =
    &["href", "src", "alt", "title", "lang", "dir", "datetime", "colspan", "rowspan", "start"];

/// Elements that hold no text of an article, where it was found by its paragraphs alone.
const UNWANTED: &[&str] = &["header", "footer", "aside", "form", "h1"];

/// The page that an article is looked for in.
pub(super) struct Source<'a> {
    pub html: &'a str,
    /// What its relative addresses are relative to.
    pub base: &'a Url,
    /// What it marks as an article.
    pub articles: &'a [NodeId],
    pub title: Option<&'a str>,
}

/// Finds the article of a page in its tree.
pub(super) fn of(page: &Source<'_>, document: Document) -> Option<Content> {
    let (prose, _) = furniture::remove(&document, page.articles);
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
    let length = root.map_or(0, furniture::length);
    let is_too_little = |all: usize, share: f32| (length as f32) < all as f32 * share;
    let lost = is_too_little(prose.page, TOO_LITTLE);
    if (lost || is_too_little(prose.article, TOO_LITTLE_OF_ARTICLE))
        && let Some(content) = by_paragraphs(page, !lost)
        && content.text.len() > length
    {
        return Some(content);
    }
    told(root?, page)
}

fn told(root: &NodeRef<'_>, page: &Source<'_>) -> Option<Content> {
    trim::remove_contents(root);
    trim::trim(root, page.title);
    // What the sanitiser would take out is taken out before it has to read it.
    root.descendants().iter().for_each(|node| node.retain_attrs(KEPT));
    let text = root.formatted_text().trim().to_owned();
    (!text.is_empty()).then(|| Content { text, html: ammonia::clean(&root.html()) })
}

/// The smallest block that holds nearly all paragraphs of a page, or of what it says is its article.
fn by_paragraphs(page: &Source<'_>, of_article: bool) -> Option<Content> {
    let document = tree::parse(page.html);
    // The same page makes the same tree, so what was found in the other is found here.
    let (_, article) = furniture::remove(&document, page.articles);
    let mut block = if of_article { article? } else { document.body()? };
    let mut total = 0;
    let mut held: HashMap<NodeId, usize> = HashMap::new();
    for node in block.descendants_it().filter(|node| node.has_name("p")) {
        let length = furniture::length_of_prose(&node);
        total += length;
        for ancestor in node.ancestors_it(None).take_while(|_| length > 0) {
            *held.entry(ancestor.id).or_default() += length;
        }
    }
    let holds = |node: &NodeRef<'_>| held.get(&node.id).is_some_and(|length| *length * 100 >= total * 97);
    while let Some(inner) = block.element_children().into_iter().find(holds) {
        block = inner;
    }
    for node in block.descendants() {
        if UNWANTED.iter().any(|name| node.has_name(name)) {
            node.remove_from_parent();
        } else {
            make_absolute(&node, page.base);
        }
    }
    told(&block, page)
}

/// Makes the addresses of an element absolute. White space around one is the parser's to take off, which knows what is
/// white to a browser: behind a space that does not break, `javascript:` is a path.
fn make_absolute(node: &NodeRef<'_>, base: &Url) {
    for name in ["href", "src"] {
        if let Some(url) = node.attr(name).and_then(|value| base.join(&value).ok()) {
            node.set_attr(name, url.as_str());
        }
    }
}
