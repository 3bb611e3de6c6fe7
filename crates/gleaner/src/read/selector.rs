//! CSS selectors with a limit on the work of matching.
//!
//! `:has(~ …)` and similar selectors take quadratic time. So a wrapper around the tree's elements counts every step
//! of a match, from one element to another or over an attribute or text, and a match that takes too many steps is
//! aborted.

use std::fmt;

use dom_query::{Document, Matcher, NodeRef};
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::context::{MatchingContext, SelectorCaches};
use selectors::matching::ElementSelectorFlags;
use selectors::parser::SelectorImpl;
use selectors::{Element, OpaqueElement};

use super::budget::{Budget, OutOfSteps, STEPS};
use crate::truncate::truncate_chars;

const MAX_BYTES: usize = 1000;
/// Maximum nesting of selectors such as `:is(:not(:has(…)))`, since parsing and matching recurse.
const MAX_NESTING: usize = 20;
/// Bytes of text or attributes that count as one step.
const BYTES_PER_STEP: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    #[error("'{selector}' is not a valid CSS selector{hint}")]
    Invalid {
        selector: String,
        /// What to do instead.
        hint: &'static str,
    },
    #[error("the selector '{selector}' was given up: {why}; use a simpler one, without :has() and ~")]
    TooSlow { selector: String, why: OutOfSteps },
}

pub(super) struct Selector {
    text: String,
    matcher: Matcher,
}

impl Selector {
    pub(super) fn parse(text: &str) -> Result<Self, SelectorError> {
        let invalid = |hint| {
            let selector = truncate_chars(text, MAX_BYTES).to_owned();
            SelectorError::Invalid { selector, hint }
        };
        if text.trim().is_empty() {
            return Err(invalid(": it is empty; try 'article h2 a'"));
        }
        if text.len() > MAX_BYTES {
            return Err(invalid(": it has more than 1,000 bytes"));
        }
        if nesting(text) > MAX_NESTING {
            return Err(invalid(": it is nested more than 20 deep"));
        }
        let matcher =
            Matcher::new(text).map_err(|_| invalid("; try one such as 'article h2 a' or '.post-title a'"))?;
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// The elements of a page that it matches, in document order.
    pub(super) fn matches<'a>(&self, document: &'a Document) -> Result<Vec<NodeRef<'a>>, SelectorError> {
        self.matches_within(document, STEPS)
    }

    fn matches_within<'a>(
        &self,
        document: &'a Document,
        steps: u64,
    ) -> Result<Vec<NodeRef<'a>>, SelectorError> {
        let budget = Budget::new(steps);
        let mut caches = SelectorCaches::default();
        // Each part of a selector may be compared in each step.
        let cost = 1 + (self.text.len() / BYTES_PER_STEP) as u64;
        let mut found = Vec::new();
        for node in document.root().descendants_it().filter(NodeRef::is_element) {
            let element = CountedElement { node, budget: &budget, cost };
            if self.matcher.match_element_with_caches(&element, &mut caches) {
                found.push(node);
            }
            if !budget.spend(cost) {
                break;
            }
        }
        let too_slow = |why| SelectorError::TooSlow { selector: self.text.clone(), why };
        budget.check().map_err(too_slow)?;
        Ok(found)
    }
}

/// The nesting depth of parentheses, including those in strings.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// An element that counts the steps of a match. Once the budget is used up, it has no relatives and matches
/// nothing.
#[derive(Clone)]
struct CountedElement<'a, 'b> {
    node: NodeRef<'a>,
    budget: &'b Budget,
    cost: u64,
}

impl fmt::Debug for CountedElement<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counted").field(&self.node.id).finish()
    }
}

impl<'a> CountedElement<'a, '_> {
    fn step(&self) -> bool {
        self.budget.spend(self.cost)
    }

    fn to(&self, relative: impl FnOnce(&NodeRef<'a>) -> Option<NodeRef<'a>>) -> Option<Self> {
        if !self.step() {
            return None;
        }
        relative(&self.node).map(|node| Self { node, ..self.clone() })
    }

    /// Counts a comparison with all attributes.
    fn count_attributes(&self) -> bool {
        let steps = self.node.element_ref().map_or(0, |element| {
            let bytes: usize = element.attrs.iter().map(|attribute| attribute.value.len()).sum();
            element.attrs.len() + bytes / BYTES_PER_STEP
        });
        self.budget.spend(self.cost + steps as u64)
    }

    /// Counts a search through all text in the element.
    fn count_text(&self) -> bool {
        self.node.descendants_it().all(|node| {
            let bytes = node.query_or(0, |node| match &node.data {
                dom_query::NodeData::Text { contents } => contents.len(),
                _ => 0,
            });
            self.budget.spend(1 + (bytes / BYTES_PER_STEP) as u64)
        })
    }
}

type Impl<'a> = <NodeRef<'a> as Element>::Impl;
type LocalName<'a> = <Impl<'a> as SelectorImpl>::LocalName;
type Identifier<'a> = <Impl<'a> as SelectorImpl>::Identifier;

impl<'a> Element for CountedElement<'a, '_> {
    type Impl = Impl<'a>;

    fn opaque(&self) -> OpaqueElement {
        self.node.opaque()
    }

    fn parent_element(&self) -> Option<Self> {
        self.to(Element::parent_element)
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        self.node.parent_node_is_shadow_root()
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        self.node.is_pseudo_element()
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.to(Element::prev_sibling_element)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.to(Element::next_sibling_element)
    }

    fn first_element_child(&self) -> Option<Self> {
        self.to(Element::first_element_child)
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.node.is_html_element_in_html_document()
    }

    fn has_local_name(&self, name: &<Self::Impl as SelectorImpl>::BorrowedLocalName) -> bool {
        self.step() && self.node.has_local_name(name)
    }

    fn has_namespace(&self, namespace: &<Self::Impl as SelectorImpl>::BorrowedNamespaceUrl) -> bool {
        self.step() && self.node.has_namespace(namespace)
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.step() && self.node.is_same_type(&other.node)
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&<Self::Impl as SelectorImpl>::NamespaceUrl>,
        name: &LocalName<'a>,
        operation: &AttrSelectorOperation<&<Self::Impl as SelectorImpl>::AttrValue>,
    ) -> bool {
        self.count_attributes() && self.node.attr_matches(namespace, name, operation)
    }

    fn match_non_ts_pseudo_class(
        &self,
        class: &<Self::Impl as SelectorImpl>::NonTSPseudoClass,
        context: &mut MatchingContext<'_, Self::Impl>,
    ) -> bool {
        // Some pseudo-classes read all text in the element; which ones cannot be determined here.
        self.count_text() && self.node.match_non_ts_pseudo_class(class, context)
    }

    fn match_pseudo_element(
        &self,
        element: &<Self::Impl as SelectorImpl>::PseudoElement,
        context: &mut MatchingContext<'_, Self::Impl>,
    ) -> bool {
        self.step() && self.node.match_pseudo_element(element, context)
    }

    fn apply_selector_flags(&self, flags: ElementSelectorFlags) {
        self.node.apply_selector_flags(flags);
    }

    fn is_link(&self) -> bool {
        Element::is_link(&self.node)
    }

    fn is_html_slot_element(&self) -> bool {
        self.node.is_html_slot_element()
    }

    fn has_id(&self, id: &Identifier<'a>, case: CaseSensitivity) -> bool {
        self.count_attributes() && self.node.has_id(id, case)
    }

    fn has_class(&self, name: &Identifier<'a>, case: CaseSensitivity) -> bool {
        self.count_attributes() && Element::has_class(&self.node, name, case)
    }

    fn has_custom_state(&self, name: &Identifier<'a>) -> bool {
        self.node.has_custom_state(name)
    }

    fn imported_part(&self, name: &Identifier<'a>) -> Option<Identifier<'a>> {
        self.node.imported_part(name)
    }

    fn is_part(&self, name: &Identifier<'a>) -> bool {
        self.node.is_part(name)
    }

    fn is_empty(&self) -> bool {
        self.step() && Element::is_empty(&self.node)
    }

    fn is_root(&self) -> bool {
        self.node.is_root()
    }

    fn add_element_unique_hashes(&self, filter: &mut BloomFilter) -> bool {
        self.node.add_element_unique_hashes(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tree;

    fn found(html: &str, selector: &str, steps: u64) -> Result<Vec<String>, SelectorError> {
        let document = tree::parse(html);
        let nodes = Selector::parse(selector)?.matches_within(&document, steps)?;
        Ok(nodes.iter().map(|node| node.text().to_string()).collect())
    }

    #[test]
    fn matching_agrees_with_the_tree() {
        let html = "<main id=m><h2 class='t x'>one<a href=/1>1</a></h2><p>text</p><h2>two</h2><p title=long>more</p>\
             <ul><li>a<li>b<li>c</ul><h2><b>three</b></h2></main>";
        let document = tree::parse(html);
        let selectors = [
            "h2",
            "main > h2",
            "h2 ~ p",
            "h2 + p",
            "h2:has(a)",
            "h2:has(~ ul)",
            "p[title]",
            "p[title^=lo]",
            ".t.x a",
            "#m li:nth-child(2n+1)",
            "li:not(:first-child)",
            "li:nth-last-of-type(2)",
            "h2:contains(\"one\")",
            "h2:has-text(\"two\")",
            "h2:only-text",
            "a:link",
            "*:is(b, a)",
            "main :where(p, li)",
            "h2, p",
            "p:empty",
        ];
        for selector in selectors {
            let plain = document.select_matcher(&Matcher::new(selector).unwrap());
            let plain: Vec<_> = plain.nodes().iter().map(|node| node.id).collect();
            let counted = Selector::parse(selector).unwrap().matches(&document).unwrap();
            assert_eq!(counted.iter().map(|node| node.id).collect::<Vec<_>>(), plain, "{selector}");
            assert!(!plain.is_empty() || selector == "p:empty", "{selector} matches something");
        }
    }

    #[test]
    fn slow_selectors_are_aborted() {
        let headlines = "<h2><a href=/x>headline</a></h2>".repeat(20_000);
        for selector in ["h2:has(~ z) a", "z ~ h2 ~ h2", "h2:not(:has(~ z)) ~ z ~ a, h2:not(:has(~ z))"] {
            let error = found(&headlines, selector, 5_000_000).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the selector '{selector}' was given up: ")), "{error}");
        }
        assert_eq!(found(&headlines, "h2 a", STEPS).unwrap().len(), 20_000);
        // Fewer elements: with debug assertions the matcher counts positions a second time, without its cache.
        let few = &headlines[..headlines.len() / 20];
        assert_eq!(found(few, "h2:nth-child(2n) > a[href]", STEPS).unwrap().len(), 500);
    }

    #[test]
    fn long_attributes_and_texts_cost_more() {
        let long = format!("<p title='{}'>t</p>{}", "x".repeat(100_000), "<b>b</b>".repeat(2000));
        found(&long, "[title*=y] ~ b", 2_000_000).unwrap_err();
        found(&long, "p ~ b", 20_000_000).unwrap();
        let text = format!("<div>{}<p>{}</p></div>", "<b>b</b>".repeat(2000), "x".repeat(100_000));
        found(&text, "b:has(~ p:contains(\"y\"))", 2_000_000).unwrap_err();
    }

    #[test]
    fn length_and_nesting_are_limited() {
        let why = |selector: &str| Selector::parse(selector).map(drop).unwrap_err().to_string();
        assert!(why(" ").contains("it is empty"));
        assert!(why("h2 >").contains("try one such as"));
        assert!(why(&"a ".repeat(501)).contains("1,000 bytes"));
        assert!(why(&format!("{}a{}", ":not(".repeat(21), ")".repeat(21))).contains("nested"));
    }
}
