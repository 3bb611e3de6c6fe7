//! The stack of open elements.

use std::collections::HashMap;

use super::classes::name_key;
use super::outline::NodeId;
use super::region::Region;
use crate::read::element::ElementKind;
use crate::read::html::Tag;

/// Maximum number of ancestors searched for the start of an end tag; beyond that it is ignored.
const MAX_ANCESTORS: usize = 200;

/// Open elements, innermost last.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    elements: Vec<Element>,
    /// Number of open elements by name, so that an end tag without a start is ignored at once.
    counts: HashMap<u64, u32>,
}

#[derive(Debug)]
struct Element {
    node: NodeId,
    key: u64,
    region: Region,
}

impl OpenElements {
    /// The innermost node, or the root.
    pub(super) fn node(&self) -> NodeId {
        self.elements.last().map_or(0, |element| element.node)
    }

    pub(super) fn depth(&self) -> usize {
        self.elements.len()
    }

    /// The region of the innermost element.
    pub(super) fn region(&self) -> Region {
        self.elements.last().map_or(Region::NONE, |element| element.region)
    }

    /// Opens an element, adding its region to those it is in.
    pub(super) fn push(&mut self, tag: &Tag<'_>, node: NodeId, region: Region) {
        let (key, region) = (name_key(tag.name), self.region() | region);
        *self.counts.entry(key).or_default() += 1;
        self.elements.push(Element { node, key, region });
    }

    /// Closes the element that an end tag names, and everything in it.
    pub(super) fn close(&mut self, tag: &Tag<'_>) {
        let key = name_key(tag.name);
        if self.counts.get(&key).is_none_or(|count| *count == 0) {
            return;
        }
        let up = self.elements.iter().rev().take(MAX_ANCESTORS).position(|element| element.key == key);
        for _ in 0..up.map_or(0, |up| up + 1) {
            self.pop();
        }
    }

    /// Closes elements whose end tag is optional before this tag.
    pub(super) fn close_implied(&mut self, tag: &Tag<'_>) {
        if tag.kind == ElementKind::Block {
            self.close_last(&["p"]);
        }
        for group in [&["li"][..], &["td", "th"], &["dt", "dd"]] {
            if group.iter().any(|name| tag.is(name)) {
                self.close_last(group);
            }
        }
        if tag.is("tr") {
            self.close_last(&["td", "th"]);
            self.close_last(&["tr"]);
        }
    }

    /// Closes the innermost element if it is one of these.
    fn close_last(&mut self, names: &[&str]) {
        let is_one = |element: &Element| names.iter().any(|name| element.key == name_key(name.as_bytes()));
        if self.elements.last().is_some_and(is_one) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(element) = self.elements.pop()
            && let Some(count) = self.counts.get_mut(&element.key)
        {
            *count = count.saturating_sub(1);
        }
    }
}
