//! What stands around an article and is not part of it, taken out of the tree before the article is looked for.

use dom_query::{Document, Element, NodeData, NodeId, NodeRef};

use super::names::Names;

/// An element with more than this share of the page's text is no furniture, whatever it is called.
const LARGEST: f32 = 0.3;

/// Readers may say more than the article.
const LARGEST_OF_COMMENTS: f32 = 0.75;

/// So many may be called furniture and be too large for it. Each is measured, and they may be inside each other.
const MOST_SPARED: usize = 20;

/// Shorter paragraphs are captions, labels and the like.
const PARAGRAPH: usize = 80;

/// How much prose there is.
#[derive(Default)]
pub(super) struct Prose {
    /// In the whole page.
    pub page: usize,
    /// In what it says is its article.
    pub article: usize,
}

/// Takes furniture out of a tree; returns how much prose is left, and which element holds the page's article by its
/// own word: of several, the longest.
pub(super) fn remove<'a>(document: &'a Document, articles: &[NodeId]) -> (Prose, Option<NodeRef<'a>>) {
    let Some(body) = document.body() else { return (Prose::default(), None) };
    let all = length(&body) as f32;
    let is_at_most = |node: &NodeRef<'_>, share: f32| length(node) as f32 <= all * share;
    let named = articles.iter().filter_map(|id| document.tree.get(id));
    let article = named.max_by_key(length);
    let (mut prose, mut inside, mut behind) = (Prose::default(), false, None);
    let (mut spared, mut next) = (0_usize, body.first_child());
    while let Some(node) = next {
        let past = following(&node, &body);
        inside &= behind != Some(node.id);
        if article.is_some_and(|article| article.id == node.id) {
            (inside, behind) = (true, past.map(|node| node.id));
        }
        let share = largest_share(&node).filter(|_| spared < MOST_SPARED);
        spared += usize::from(share.is_some());
        if let Some(share) = share
            && is_at_most(&node, share)
        {
            spared -= 1;
            // What comes behind an article may be taken out, but never what the article is in.
            if behind == Some(node.id) {
                behind = past.map(|node| node.id);
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
        if hidden && !is_at_most(&node, LARGEST) {
            // What holds most of a page is hidden only until a script shows it.
            node.remove_attrs(&["hidden", "style", "aria-hidden"]);
        }
        if paragraph {
            let length = length_of_prose(&node);
            prose.page += length;
            prose.article += if inside { length } else { 0 };
        }
        next = node.first_child().or(past);
    }
    (prose, article)
}

/// Which share of the page an element may have at most to be furniture; none where it is none.
fn largest_share(node: &NodeRef<'_>) -> Option<f32> {
    let element = node.element_ref()?;
    let name = &*element.name.local;
    match name {
        "nav" | "figcaption" | "dialog" | "button" => return Some(LARGEST),
        "article" | "main" | "body" | "html" | "table" | "tbody" | "tr" | "td" | "code" | "pre" => {
            return None;
        }
        _ => {}
    }
    let names = Names::of(&element);
    let holder = matches!(name, "div" | "section" | "ol" | "ul" | "aside");
    if holder && names.any(&[Names::COMMENTS]) && !names.any(&[Names::STATE]) {
        return Some(LARGEST_OF_COMMENTS);
    }
    // What holds the picture too is more than its caption.
    let caption =
        || names.any(&[Names::CAPTION]) && !node.descendants_it().any(|inner| inner.has_name("img"));
    (names.any(&[Names::FURNITURE]) || caption()).then_some(LARGEST)
}

/// How many bytes of text an element holds, without the white space around them. Counting characters takes longer.
pub(super) fn length(node: &NodeRef<'_>) -> usize {
    let texts = node.descendants_it().filter_map(|node| {
        node.query(|node| match &node.data {
            NodeData::Text { contents } => contents.trim_ascii().len(),
            _ => 0,
        })
    });
    texts.sum()
}

/// How much prose a paragraph holds: all of it, or nothing where it is short or made of links.
pub(super) fn length_of_prose(paragraph: &NodeRef<'_>) -> usize {
    let length = length(paragraph);
    if length < PARAGRAPH {
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

/// The next node in page order that is not inside of this one.
fn following<'a>(node: &NodeRef<'a>, root: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let mut node = *node;
    loop {
        if let Some(sibling) = node.next_sibling() {
            return Some(sibling);
        }
        node = node.parent().filter(|parent| parent.id != root.id)?;
    }
}
