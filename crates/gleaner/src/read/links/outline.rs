//! The nesting of elements, anchors and headings on a page, as far as links need it. It is not a standard tree, and
//! has only the attributes that distinguish lists from menus.

use std::borrow::Cow;

use super::build::Builder;
use super::region::Region;
use crate::read::element::ElementKind;
use crate::read::html::{Tag, Token, Tokens};

/// Number of elements that make a path, from a link up to its list.
const PATH_LENGTH: usize = 4;

/// An index in [`Outline::nodes`].
pub(super) type NodeId = u32;

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The root is its own parent.
    pub parent: NodeId,
    pub name: Name,
    /// Hash of its name and shared classes.
    pub own: u64,
    /// The regions it is in.
    pub region: Region,
    /// Bytes of text, including descendants.
    pub text: u32,
    /// Bytes of text, excluding descendants.
    pub direct: u32,
    /// A date in it, excluding descendants.
    pub date: Option<i64>,
    /// Whether it contains a date or relative date.
    pub timed: bool,
    /// Whether its own text contains a price.
    pub price: bool,
    /// Whether its class says that it is a title.
    pub titled: bool,
}

impl Node {
    pub(super) const ROOT: Self = Self {
        parent: 0,
        name: Name::Other,
        own: 0,
        region: Region::NONE,
        text: 0,
        direct: 0,
        date: None,
        timed: false,
        price: false,
        titled: false,
    };
}

/// The kinds of elements that are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Anchor,
    Article,
    Heading,
    Item,
    Cell,
    Inline,
    Other,
}

/// An `<a href>`.
#[derive(Debug, Clone)]
pub(super) struct Anchor<'a> {
    pub node: NodeId,
    /// Decoded.
    pub href: Cow<'a, str>,
    /// Its text, or else its label or image description.
    pub text: String,
    /// Whether it has no text of its own.
    pub label: bool,
    /// The text of an element in it that is marked as the title.
    pub inner: Option<String>,
    /// Whether it contains an image.
    pub image: bool,
    /// Index in [`Outline::headings`] of the heading in it or around it.
    pub heading: Option<usize>,
    /// Whether `rel` contains `sponsored`.
    pub sponsored: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub node: NodeId,
    pub text: String,
    /// Whether it is or contains a link.
    pub linked: bool,
}

#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    pub nodes: Vec<Node>,
    pub anchors: Vec<Anchor<'a>>,
    pub headings: Vec<Heading>,
    /// The contents of `<script type="application/ld+json">`.
    pub data: Vec<&'a str>,
    /// `<base href>`.
    pub base: Option<Cow<'a, str>>,
}

impl<'a> Outline<'a> {
    pub(super) fn build(html: &'a str) -> Self {
        let mut builder = Builder::new(html);
        for token in Tokens::new(html.as_bytes()) {
            match token {
                Token::Tag(tag) if tag.end => builder.end(&tag),
                Token::Tag(tag) => builder.start(&tag),
                Token::Text(range) | Token::Verbatim(range) => {
                    builder.text(html.get(range).unwrap_or_default());
                }
            }
            if builder.is_full() {
                break;
            }
        }
        builder.finish()
    }

    /// Whether an anchor is a few words in running text.
    pub(super) fn is_prose(&self, anchor: NodeId) -> bool {
        let is_line = |id: &NodeId| matches!(self.node(*id).name, Name::Inline | Name::Anchor);
        let Some(block) = self.ancestors(anchor).take(5).find(|id| !is_line(id)) else { return false };
        self.node(block).direct > 60.max(self.node(anchor).text * 3 / 2)
    }

    /// Whether an anchor, or an element that it fills, is marked as a title.
    pub(super) fn is_titled(&self, anchor: NodeId) -> bool {
        let text = self.node(anchor).text;
        let fills = |id: &NodeId| self.node(*id).text <= text + text / 2 + 20;
        self.ancestors(anchor).take(3).take_while(fills).any(|id| self.node(id).titled)
    }

    /// Hash of the names and classes of an element and its nearest ancestors.
    pub(super) fn path(&self, from: NodeId) -> u64 {
        self.ancestors(from)
            .take(PATH_LENGTH)
            .fold(0, |hash: u64, id| hash.rotate_left(7) ^ self.node(id).own)
    }

    /// An element and its ancestors.
    pub(super) fn ancestors(&self, from: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let parent = |id: &NodeId| {
            let parent = self.node(*id).parent;
            (parent != *id).then_some(parent)
        };
        std::iter::successors(Some(from), parent)
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }
}

impl Name {
    pub(super) fn of(tag: &Tag<'_>) -> Self {
        match tag.name {
            [b'a' | b'A'] => Self::Anchor,
            [b'h' | b'H', b'1'..=b'6'] => Self::Heading,
            name if name.eq_ignore_ascii_case(b"li") => Self::Item,
            name if name.eq_ignore_ascii_case(b"td") => Self::Cell,
            name if name.eq_ignore_ascii_case(b"article") => Self::Article,
            _ if tag.kind == ElementKind::Inline => Self::Inline,
            _ => Self::Other,
        }
    }
}
