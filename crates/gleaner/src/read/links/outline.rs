//! What is inside what on a page, as far as links need it: the elements, and the anchors and headings among them.
//!
//! Absent on purpose: a tree by the standard, and all attributes but those that tell a list from a menu.

use std::borrow::Cow;

use super::build::Builder;
use super::region::Region;
use crate::read::element::Kind;
use crate::read::html::{Tag, Token, Tokens};

/// How many elements make a path: from a link up to the list it is in.
const PATH: usize = 4;

/// A place in [`Outline::nodes`].
pub(super) type NodeId = u32;

/// An element.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// What it is in; itself for the root.
    pub parent: NodeId,
    pub name: Name,
    /// Its name and lasting classes, as one number.
    pub own: u64,
    /// What sort of place it is in.
    pub region: Region,
    /// Bytes of text in it, all descendants included.
    pub text: u32,
    /// Bytes of text in it, descendants not included.
    pub direct: u32,
    /// A date in it, descendants not included.
    pub date: Option<i64>,
    /// It is or names a time.
    pub timed: bool,
    /// A price is among its own text.
    pub price: bool,
    /// Its class says that it is a title.
    pub titled: bool,
}

impl Node {
    /// What all others are in.
    pub(super) const ROOT: Self = Self {
        parent: 0,
        name: Name::Other,
        own: 0,
        region: Region::NOWHERE,
        text: 0,
        direct: 0,
        date: None,
        timed: false,
        price: false,
        titled: false,
    };
}

/// The elements that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Anchor,
    Article,
    Heading,
    Item,
    Cell,
    /// Part of a line.
    Inline,
    Other,
}

/// An `<a href>`.
#[derive(Debug, Clone)]
pub(super) struct Anchor<'a> {
    pub node: NodeId,
    /// Decoded.
    pub href: Cow<'a, str>,
    /// Its text, else what its label or its image says.
    pub text: String,
    /// It has no text of its own.
    pub label: bool,
    /// The text of what in it says to be the title.
    pub inner: Option<String>,
    /// It has an image.
    pub image: bool,
    /// The heading in it or around it, as a place in [`Outline::headings`].
    pub heading: Option<usize>,
    /// `rel` says that nobody vouches for it.
    pub sponsored: bool,
}

/// A heading.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub node: NodeId,
    pub text: String,
    /// It is a link, or has one in it.
    pub linked: bool,
}

/// The page.
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
    pub(super) fn of(html: &'a str) -> Self {
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
        let Some(block) = self.upwards(anchor).take(5).find(|id| !is_line(id)) else { return false };
        self.node(block).direct > 60.max(self.node(anchor).text * 3 / 2)
    }

    /// Whether an anchor, or what it fills, says to be a title.
    pub(super) fn is_titled(&self, anchor: NodeId) -> bool {
        let text = self.node(anchor).text;
        let fills = |id: &NodeId| self.node(*id).text <= text + text / 2 + 20;
        self.upwards(anchor).take(3).take_while(fills).any(|id| self.node(id).titled)
    }

    /// The names and classes of an element and those nearest around it, as one number.
    pub(super) fn path(&self, from: NodeId) -> u64 {
        self.upwards(from).take(PATH).fold(0, |hash: u64, id| hash.rotate_left(7) ^ self.node(id).own)
    }

    /// An element and all it is in.
    pub(super) fn upwards(&self, from: NodeId) -> impl Iterator<Item = NodeId> + '_ {
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
    /// Which of them a tag is.
    pub(super) fn of(tag: &Tag<'_>) -> Self {
        match tag.name {
            [b'a' | b'A'] => Self::Anchor,
            [b'h' | b'H', b'1'..=b'6'] => Self::Heading,
            name if name.eq_ignore_ascii_case(b"li") => Self::Item,
            name if name.eq_ignore_ascii_case(b"td") => Self::Cell,
            name if name.eq_ignore_ascii_case(b"article") => Self::Article,
            _ if tag.kind == Kind::Inline => Self::Inline,
            _ => Self::Other,
        }
    }
}
