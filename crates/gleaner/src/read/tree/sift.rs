//! What of a page is worth a place in its tree: one pass over its tags.

use std::ops::{ControlFlow, Range};

use super::nesting::Nesting;
use crate::read::element::{Kind, Raw};
use crate::read::html::{Tag, Token, Tokens};

/// Of longer pages, only so much is read.
const LONGEST: usize = 6 << 20;

/// Of pages with more elements, only so many become part of the tree; all text stays.
pub(super) const MOST_ELEMENTS: usize = 100_000;

/// A tag with more attributes says nothing that can be believed, and each is compared with all before it.
const MOST_ATTRIBUTES: usize = 250;

/// Passes on, in order, what of `html` is kept.
pub(super) fn sift(html: &str, mut keep: impl FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    let html = &html[..html.floor_char_boundary(LONGEST)];
    let sift = Sift::of(html.as_bytes());
    // What was kept and not passed on yet: neighbours are passed on together.
    let mut held = 0..0;
    for range in sift {
        if held.end == range.start {
            held.end = range.end;
        } else {
            keep(html.get(held).unwrap_or_default())?;
            held = range;
        }
    }
    keep(html.get(held).unwrap_or_default())
}

/// Elements left out with all that is in them.
const LEFT_OUT: [&str; 3] = ["svg", "template", "select"];

struct Sift<'a> {
    tokens: Tokens<'a>,
    nesting: Nesting<'a>,
    elements: usize,
    /// The end tag of linked data is to come.
    linked_data: bool,
    /// Those of [`LEFT_OUT`] that were seen never to close.
    unclosed: [bool; LEFT_OUT.len()],
}

impl Iterator for Sift<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            match self.tokens.next()? {
                Token::Text(range) => return Some(range),
                // To a browser it is a comment.
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

impl<'a> Sift<'a> {
    fn of(html: &'a [u8]) -> Self {
        let (tokens, nesting) = (Tokens::new(html), Nesting::default());
        Self { tokens, nesting, elements: 0, linked_data: false, unclosed: [false; LEFT_OUT.len()] }
    }

    fn tag(&mut self, tag: &Tag<'a>) -> Option<Range<usize>> {
        let kept = match tag.kind {
            Kind::Hidden(Raw::Script) => return self.script(tag),
            Kind::Hidden(_) => false,
            Kind::Shown(raw) => tag.end || !(tag.is_empty() || self.tokens.is_unclosed(raw)),
            _ if tag.is("plaintext") => false,
            _ => !self.leave_out(tag) && self.admit(tag),
        };
        kept.then_some(tag.at..tag.to)
    }

    /// Linked data stays, with its content.
    fn script(&mut self, tag: &Tag<'a>) -> Option<Range<usize>> {
        if tag.end {
            return std::mem::take(&mut self.linked_data).then_some(tag.at..tag.to);
        }
        let kind = tag.attribute("type")?.trim_ascii();
        let wanted = kind.get(..19).is_some_and(|kind| kind.eq_ignore_ascii_case(b"application/ld+json"));
        self.linked_data = wanted && !self.tokens.is_unclosed(Raw::Script) && !tag.is_empty();
        self.linked_data.then_some(tag.at..self.tokens.at())
    }

    /// Goes behind an element that is left out with its content; whether this tag is of such an element.
    fn leave_out(&mut self, tag: &Tag<'a>) -> bool {
        let Some(which) = LEFT_OUT.iter().position(|name| tag.is(name)) else { return false };
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
        // One that never closes is looked for once only, or time would be quadratic.
        self.unclosed[which] = depth > 0;
        if depth == 0 {
            self.tokens = ahead;
        }
        true
    }

    /// Whether an ordinary tag is within all limits.
    fn admit(&mut self, tag: &Tag<'a>) -> bool {
        if tag.end {
            self.nesting.close(tag);
            return true;
        }
        let long = tag.to - tag.at > MOST_ATTRIBUTES;
        if self.elements == MOST_ELEMENTS || (long && tag.attributes().count() > MOST_ATTRIBUTES) {
            return false;
        }
        let admitted = self.nesting.open(tag);
        self.elements += usize::from(admitted);
        admitted
    }
}
