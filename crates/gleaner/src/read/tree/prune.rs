//! Selects the parts of a page that become part of its tree, in one pass over its tags.

use std::ops::{ControlFlow, Range};

use super::nesting::Nesting;
use crate::read::element::{ElementKind, RawElement};
use crate::read::html::{Tag, Token, Tokens};

/// Maximum bytes of a page that are read.
const MAX_BYTES: usize = 6 << 20;

/// Maximum number of elements in the tree; text is kept in any case.
pub(super) const MAX_ELEMENTS: usize = 100_000;

/// A tag with more attributes is removed, since each is compared with all others.
const MAX_ATTRIBUTES: usize = 250;

/// Calls `keep` for the parts of `html` that are kept, in order.
pub(super) fn prune(html: &str, mut keep: impl FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    let html = &html[..html.floor_char_boundary(MAX_BYTES)];
    let prune = Pruner::new(html.as_bytes());
    // Parts not passed on yet: adjacent ones are joined.
    let mut held = 0..0;
    for range in prune {
        if held.end == range.start {
            held.end = range.end;
        } else {
            keep(html.get(held).unwrap_or_default())?;
            held = range;
        }
    }
    keep(html.get(held).unwrap_or_default())
}

/// Elements removed with their content.
const REMOVED: [&str; 3] = ["svg", "template", "select"];

struct Pruner<'a> {
    tokens: Tokens<'a>,
    nesting: Nesting<'a>,
    elements: usize,
    /// Whether the end tag of a JSON-LD script is expected.
    linked_data: bool,
    /// Which of [`REMOVED`] are known to be unclosed.
    unclosed: [bool; REMOVED.len()],
}

impl Iterator for Pruner<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            match self.tokens.next()? {
                Token::Text(range) => return Some(range),
                // Browsers treat it as a comment.
                Token::Verbatim(_) => {}
                Token::Tag(tag) => {
                    if let Some(range) = self.tag(&tag) {
                        return Some(range);
                    }
                }
            }
        }
    }
}

impl<'a> Pruner<'a> {
    fn new(html: &'a [u8]) -> Self {
        let (tokens, nesting) = (Tokens::new(html), Nesting::default());
        Self { tokens, nesting, elements: 0, linked_data: false, unclosed: [false; REMOVED.len()] }
    }

    fn tag(&mut self, tag: &Tag<'a>) -> Option<Range<usize>> {
        let kept = match tag.kind {
            ElementKind::Hidden(RawElement::Script) => return self.script(tag),
            ElementKind::Hidden(_) => false,
            ElementKind::Shown(raw) => tag.end || !(tag.is_empty() || self.tokens.has_unclosed(raw)),
            _ if tag.is("plaintext") => false,
            _ => !self.skip_removed(tag) && self.is_within_limits(tag),
        };
        kept.then_some(tag.at..tag.to)
    }

    /// Keeps JSON-LD scripts with their content.
    fn script(&mut self, tag: &Tag<'a>) -> Option<Range<usize>> {
        if tag.end {
            return std::mem::take(&mut self.linked_data).then_some(tag.at..tag.to);
        }
        let kind = tag.attribute("type")?.trim_ascii();
        let wanted = kind.get(..19).is_some_and(|kind| kind.eq_ignore_ascii_case(b"application/ld+json"));
        self.linked_data = wanted && !self.tokens.has_unclosed(RawElement::Script) && !tag.is_empty();
        self.linked_data.then_some(tag.at..self.tokens.at())
    }

    /// Skips an element that is removed with its content; returns whether this tag belongs to such an element.
    fn skip_removed(&mut self, tag: &Tag<'a>) -> bool {
        let Some(which) = REMOVED.iter().position(|name| tag.is(name)) else { return false };
        if tag.end || tag.is_empty() || self.unclosed[which] {
            return true;
        }
        let (mut ahead, mut depth) = (self.tokens.clone(), 1_usize);
        for token in ahead.by_ref() {
            let Token::Tag(inner) = token else { continue };
            if inner.name.eq_ignore_ascii_case(tag.name) && !inner.is_empty() {
                depth = if inner.end { depth - 1 } else { depth + 1 };
                if depth == 0 {
                    break;
                }
            }
        }
        // An unclosed one is searched only once, or time would be quadratic.
        self.unclosed[which] = depth > 0;
        if depth == 0 {
            self.tokens = ahead;
        }
        true
    }

    /// Whether an ordinary tag is within all limits.
    fn is_within_limits(&mut self, tag: &Tag<'a>) -> bool {
        if tag.end {
            self.nesting.close(tag);
            return true;
        }
        let long = tag.to - tag.at > MAX_ATTRIBUTES;
        if self.elements == MAX_ELEMENTS || (long && tag.attributes().count() > MAX_ATTRIBUTES) {
            return false;
        }
        let admitted = self.nesting.open(tag);
        self.elements += usize::from(admitted);
        admitted
    }
}
