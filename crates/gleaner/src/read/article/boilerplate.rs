//! Removes boilerplate around an article from the tree before the article is extracted.

use dom_query::{Document, Element, NodeData, NodeId, NodeRef};

use super::class_meanings::ClassMeanings;

/// An element with more than this share of the page's text is not boilerplate, whatever its class.
const MAX_SHARE: f32 = 0.3;

/// Comments may be longer than the article.
const MAX_SHARE_OF_COMMENTS: f32 = 0.75;

/// Maximum number of elements that are measured and turn out to be too large; they may be nested.
const MAX_TOO_LARGE: usize = 20;

/// Shorter paragraphs are captions, labels and similar.
const MIN_PARAGRAPH_BYTES: usize = 80;

/// Bytes of prose.
#[derive(Default)]
pub(super) struct Prose {
    pub page: usize,
    /// In the element that the page marks as its article.
    pub article: usize,
}

/// Removes boilerplate from a tree. Returns how much prose is left, and the longest element that the page marks as
/// an article.
pub(super) fn remove<'a>(document: &'a Document, articles: &[NodeId]) -> (Prose, Option<NodeRef<'a>>) {
    let Some(body) = document.body() else { return (Prose::default(), None) };
    let all = length(&body) as f32;
    let is_at_most = |node: &NodeRef<'_>, share: f32| length(node) as f32 <= all * share;
    let named = articles.iter().filter_map(|id| document.tree.get(id));
    let article = named.max_by_key(length);
    let (mut prose, mut in_article, mut after_article) = (Prose::default(), false, None);
    let (mut too_large, mut next) = (0_usize, body.first_child());
    while let Some(node) = next {
        let past = following(&node, &body);
        in_article &= after_article != Some(node.id);
        if article.is_some_and(|article| article.id == node.id) {
            (in_article, after_article) = (true, past.map(|node| node.id));
        }
        let share = max_boilerplate_share(&node).filter(|_| too_large < MAX_TOO_LARGE);
        too_large += usize::from(share.is_some());
        if let Some(share) = share
            && is_at_most(&node, share)
        {
            too_large -= 1;
            // An element after the article may be removed, but never one that contains it.
            if after_article == Some(node.id) {
                after_article = past.map(|node| node.id);
            }
            node.remove_from_parent();
            next = past;
            continue;
        }
        let Some(element) = node.element_ref() else {
            next = past;
            continue;
        };
        let (hidden, paragraph) = (is_hidden(&element), &*element.name.local == "p");
        drop(element);
        if hidden && !is_at_most(&node, MAX_SHARE) {
            // An element with most of the page's text is hidden only until a script shows it.
            node.remove_attrs(&["hidden", "style", "aria-hidden"]);
        }
        if paragraph {
            let length = length_of_prose(&node);
            prose.page += length;
            prose.article += if in_article { length } else { 0 };
        }
        next = node.first_child().or(past);
    }
    (prose, article)
}

/// The maximum share of the page's text for an element to be boilerplate; `None` if it is not boilerplate.
fn max_boilerplate_share(node: &NodeRef<'_>) -> Option<f32> {
    let element = node.element_ref()?;
    let name = &*element.name.local;
    match name {
        "nav" | "figcaption" | "dialog" | "button" => return Some(MAX_SHARE),
        "article" | "main" | "body" | "html" | "table" | "tbody" | "tr" | "td" | "code" | "pre" => {
            return None;
        }
        _ => {}
    }
    let names = ClassMeanings::from_element(&element);
    let holder = matches!(name, "div" | "section" | "ol" | "ul" | "aside");
    if holder && names.any(&[ClassMeanings::COMMENTS]) && !names.any(&[ClassMeanings::STATE]) {
        return Some(MAX_SHARE_OF_COMMENTS);
    }
    // An element that contains the image too is more than its caption.
    let caption =
        || names.any(&[ClassMeanings::CAPTION]) && !node.descendants_it().any(|inner| inner.has_name("img"));
    (names.any(&[ClassMeanings::BOILERPLATE]) || caption()).then_some(MAX_SHARE)
}

/// Bytes of text in an element, without surrounding white space. Counting characters would be slower.
pub(super) fn length(node: &NodeRef<'_>) -> usize {
    let texts = node.descendants_it().filter_map(|node| {
        node.query(|node| match &node.data {
            NodeData::Text { contents } => contents.trim_ascii().len(),
            _ => 0,
        })
    });
    texts.sum()
}

/// Bytes of prose in a paragraph: 0 if it is short or consists of links.
pub(super) fn length_of_prose(paragraph: &NodeRef<'_>) -> usize {
    let length = length(paragraph);
    if length < MIN_PARAGRAPH_BYTES {
        return 0;
    }
    let links = paragraph.descendants_it().filter(|node| node.has_name("a"));
    let linked: usize = links.map(|link| self::length(&link)).sum();
    if linked * 2 > length { 0 } else { length }
}

fn is_hidden(element: &Element) -> bool {
    element.attrs.iter().any(|attribute| match &*attribute.name.local {
        "hidden" => true,
        "aria-hidden" => &*attribute.value == "true",
        "style" => ["display", "visibility"].iter().any(|property| attribute.value.contains(property)),
        _ => false,
    })
}

/// The next node in document order that is not inside this one.
fn following<'a>(node: &NodeRef<'a>, root: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let mut node = *node;
    loop {
        if let Some(sibling) = node.next_sibling() {
            return Some(sibling);
        }
        node = node.parent().filter(|parent| parent.id != root.id)?;
    }
}
