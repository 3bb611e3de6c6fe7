//! Selects links by a CSS selector.
//!
//! A selector may match the links themselves, their ancestors or their descendants, because people copy it from
//! their browser. All matches count, whatever site or page they lead to.

use std::collections::HashSet;

use dom_query::{Document, NodeId, NodeRef};
use url::Url;

use super::address;
use crate::read::selector::{Selector, SelectorError};

struct Element<'a> {
    node: NodeRef<'a>,
    parent: usize,
    /// The best anchor in it, with its rank.
    best: Option<(Rank, usize)>,
    /// The nearest anchor around it, or itself.
    around: Option<usize>,
}

/// How likely an anchor is the main link of an element; a title ranks before a category name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    NoText,
    Text,
    Heading,
}

/// The URLs of the links that a selector selects, in page order, each once.
pub(super) fn addresses(
    document: &Document,
    selector: &Selector,
    url: &Url,
) -> Result<Vec<Url>, SelectorError> {
    let selected: HashSet<NodeId> = selector.matches(document)?.iter().map(|node| node.id).collect();
    let mut elements = elements(document);
    propagate_best(&mut elements);
    let base = document.base_uri().and_then(|base| url.join(&base).ok()).unwrap_or_else(|| url.clone());
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for element in elements.iter().filter(|element| selected.contains(&element.node.id)) {
        let Some(anchor) = element.best.map(|(_, anchor)| anchor).or(element.around) else { continue };
        let href = elements[anchor].node.attr("href").unwrap_or_default();
        if let Some(mut url) = address::join(&base, &href) {
            url.set_fragment(None);
            if seen.insert(address::key(&url)) {
                found.push(url);
            }
        }
    }
    Ok(found)
}

/// All elements in page order, parents first.
fn elements(document: &Document) -> Vec<Element<'_>> {
    let mut found: Vec<Element<'_>> = Vec::new();
    let mut waiting = vec![(document.root(), 0)];
    while let Some((node, parent)) = waiting.pop() {
        let place = found.len();
        let is_anchor = node.is_element() && node.has_attr("href") && node.has_name("a");
        let around = if is_anchor { Some(place) } else { found.get(parent).and_then(|parent| parent.around) };
        waiting.extend(node.children_it(true).filter(NodeRef::may_have_children).map(|child| (child, place)));
        found.push(Element { node, parent, best: None, around });
    }
    found
}

/// Propagates the best anchor to ancestors.
fn propagate_best(elements: &mut [Element<'_>]) {
    for at in (0..elements.len()).rev() {
        if elements[at].around == Some(at) {
            let has_heading = elements[at].best.is_some_and(|(rank, _)| rank == Rank::Heading);
            let rank = match &elements[at].node {
                _ if has_heading => Rank::Heading,
                node if !node.text().trim().is_empty() => Rank::Text,
                _ => Rank::NoText,
            };
            elements[at].best = Some((rank, at));
        }
        if is_heading(&elements[at].node) {
            // The anchor in it, or a mark for the anchor around it.
            let anchor = elements[at].best.map(|(_, anchor)| anchor).or(elements[at].around);
            elements[at].best = anchor.map(|anchor| (Rank::Heading, anchor));
        }
        let (parent, best) = (elements[at].parent, elements[at].best);
        // Of equal ranks the first counts; later elements were visited before.
        if parent < at && best.map(|(rank, _)| rank) >= elements[parent].best.map(|(rank, _)| rank) {
            elements[parent].best = best.or(elements[parent].best);
        }
    }
}

fn is_heading(node: &NodeRef<'_>) -> bool {
    ["h1", "h2", "h3", "h4", "h5", "h6"].iter().any(|name| node.has_name(name))
}
