//! Builds an [`Outline`]: one pass over the tokens, with a stack of open elements.
//!
//! Knows which ends HTML lets people leave out, and takes an end tag without a start for nothing. Absent on
//! purpose: the rest of the standard's repairs. A tree costs ten times as much, and what it moves around is
//! rarely a list of links.

use std::borrow::Cow;
use std::collections::HashMap;

use super::classes::{name_key, own_hash};
use super::dates;
use super::offers;
use super::outline::{Anchor, Heading, Name, Node, NodeId, Outline};
use super::region::Region;
use crate::read::element::Kind;
use crate::read::html::Tag;
use crate::read::text::plain_text;

/// How far up an end tag looks for its start; one that is further up is taken for a stray one.
const REACH: usize = 200;

/// No more than this of an anchor or a heading is read.
const TEXT_LIMIT: usize = 20_000;

/// An element that is open.
struct Open {
    node: NodeId,
    key: u64,
    /// The sort of place it is.
    region: Region,
}

/// What is known half way.
pub(super) struct Builder<'a> {
    html: &'a str,
    outline: Outline<'a>,
    /// For each node, the sort of place it begins.
    opens: Vec<Region>,
    open: Vec<Open>,
    /// How many of a name are open: an end tag without a start is passed over at once.
    counts: HashMap<u64, u32>,
    /// The anchor that is open, and where it begins.
    anchor: Option<(Anchor<'a>, usize)>,
    /// The heading that is open, and where it begins.
    heading: Option<(NodeId, usize)>,
    /// Where a script with data began.
    data: Option<usize>,
    /// How deep in templates and drawings.
    inert: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        let root = Node {
            parent: 0,
            name: Name::Other,
            own: 0,
            region: Region::NOWHERE,
            text: 0,
            direct: 0,
            date: None,
            timed: false,
            price: false,
        };
        Self {
            html,
            outline: Outline { nodes: vec![root], ..Outline::default() },
            opens: vec![Region::NOWHERE],
            open: Vec::new(),
            counts: HashMap::new(),
            anchor: None,
            heading: None,
            data: None,
            inert: 0,
        }
    }

    pub(super) fn start(&mut self, tag: &Tag<'a>) {
        if is_inert(tag) {
            self.inert += 1;
        }
        if self.inert > 0 {
            return;
        }
        let at = self.offset(tag);
        if tag.is("script") {
            let kind = tag.attribute("type").unwrap_or_default().to_ascii_lowercase();
            self.data = kind.ends_with(b"ld+json").then_some(at);
        } else if tag.is("img") {
            self.image(tag);
        } else if tag.is("base") {
            let base = self.outline.base.take();
            self.outline.base = base.or_else(|| tag.attribute("href").map(decoded));
        } else if !VOID.iter().any(|name| tag.is(name)) {
            self.element(tag, at);
        }
    }

    /// An element that can hold others.
    fn element(&mut self, tag: &Tag<'a>, at: usize) {
        self.close_implied(tag);
        let name = Name::of(tag);
        if name == Name::Anchor {
            self.close_anchor(at);
        }
        let around = self.open.last().map_or(Region::NOWHERE, |open| open.region);
        let region = if matches!(name, Name::Heading) || tag.is("html") || tag.is("body") {
            Region::NOWHERE
        } else {
            Region::of(tag, around)
        };
        let id = self.push(tag, name, region);
        match name {
            Name::Anchor => self.open_anchor(tag, id, at),
            Name::Heading => {
                self.close_heading(at);
                self.heading = Some((id, at));
            }
            _ => {}
        }
    }

    fn push(&mut self, tag: &Tag<'a>, name: Name, region: Region) -> NodeId {
        // A page of four thousand million elements is not fetched.
        let id = NodeId::try_from(self.outline.nodes.len()).unwrap_or(NodeId::MAX);
        let around = self.open.last().map_or(Region::NOWHERE, |open| open.region);
        let date = tag.attribute("datetime").and_then(|value| dates::of_attribute(value));
        self.outline.nodes.push(Node {
            parent: self.open.last().map_or(0, |open| open.node),
            name,
            own: own_hash(tag),
            region: Region::NOWHERE,
            text: 0,
            direct: 0,
            date,
            timed: date.is_some() || tag.is("time"),
            price: region.is(Region::PRICE),
        });
        self.opens.push(region);
        let key = name_key(tag.name);
        *self.counts.entry(key).or_default() += 1;
        self.open.push(Open { node: id, key, region: around | region });
        id
    }

    fn open_anchor(&mut self, tag: &Tag<'a>, node: NodeId, at: usize) {
        let Some(href) = tag.attribute("href") else { return };
        let label = ["aria-label", "title"].iter().find_map(|name| tag.attribute(name)).unwrap_or_default();
        let rel = tag.attribute("rel").unwrap_or_default().to_ascii_lowercase();
        let anchor = Anchor {
            node,
            href: decoded(href),
            text: plain_text(&String::from_utf8_lossy(label)),
            label: true,
            image: false,
            // Known to be in a heading that is open; its place is where that will be kept.
            heading: self.heading.map(|_| self.outline.headings.len()),
            sponsored: memchr::memmem::find(&rel, b"sponsored").is_some(),
        };
        self.anchor = Some((anchor, at));
    }

    fn image(&mut self, tag: &Tag<'a>) {
        if let Some((anchor, _)) = &mut self.anchor {
            anchor.image = true;
            if anchor.text.is_empty() {
                let alternative = tag.attribute("alt").unwrap_or_default();
                anchor.text = plain_text(&String::from_utf8_lossy(alternative));
            }
        }
    }

    fn close_anchor(&mut self, at: usize) {
        let Some((mut anchor, from)) = self.anchor.take() else { return };
        let text = self.words(from, at);
        if !text.is_empty() {
            anchor.text = text;
            anchor.label = false;
        }
        self.outline.anchors.push(anchor);
    }

    fn close_heading(&mut self, at: usize) {
        let Some((node, from)) = self.heading.take() else { return };
        let place = self.outline.headings.len();
        // Anchors that closed in it are the last ones; one that is open is around it.
        let linked =
            self.anchor.is_some() || self.outline.anchors.last().is_some_and(|last| last.node > node);
        self.outline.headings.push(Heading { node, text: self.words(from, at), linked });
        if let Some((anchor, _)) = &mut self.anchor {
            anchor.heading.get_or_insert(place);
        }
    }

    fn words(&self, from: usize, to: usize) -> String {
        let mut to = to.min(from + TEXT_LIMIT);
        while !self.html.is_char_boundary(to) {
            to -= 1;
        }
        plain_text(self.html.get(from..to).unwrap_or_default())
    }

    /// Ends what HTML lets end without a tag.
    fn close_implied(&mut self, tag: &Tag<'a>) {
        if tag.kind == Kind::Block {
            self.close_last(&["p"]);
        }
        for group in [&["li"][..], &["td", "th"], &["dt", "dd"], &["option"]] {
            if group.iter().any(|name| tag.is(name)) {
                self.close_last(group);
            }
        }
        if tag.is("tr") {
            self.close_last(&["td", "th"]);
            self.close_last(&["tr"]);
        }
    }

    /// Ends the innermost element if it is one of these.
    fn close_last(&mut self, names: &[&str]) {
        let is_it = |open: &Open| names.iter().any(|name| open.key == name_key(name.as_bytes()));
        if self.open.last().is_some_and(is_it) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(open) = self.open.pop()
            && let Some(count) = self.counts.get_mut(&open.key)
        {
            *count = count.saturating_sub(1);
        }
    }

    pub(super) fn end(&mut self, tag: &Tag<'a>) {
        if is_inert(tag) {
            self.inert = self.inert.saturating_sub(1);
            return;
        }
        if self.inert > 0 {
            return;
        }
        let at = self.offset(tag);
        match Name::of(tag) {
            Name::Anchor => self.close_anchor(at),
            Name::Heading => self.close_heading(at),
            _ if tag.is("script") => self.close_data(at),
            _ => {}
        }
        let key = name_key(tag.name);
        if self.counts.get(&key).is_none_or(|count| *count == 0) {
            return;
        }
        let up = self.open.iter().rev().take(REACH).position(|open| open.key == key);
        for _ in 0..up.map_or(0, |up| up + 1) {
            self.pop();
        }
    }

    fn close_data(&mut self, at: usize) {
        if let Some(script) = self.data.take().and_then(|from| self.html.get(from..at))
            && let Some((_, content)) = script.split_once('>')
        {
            self.outline.data.push(content);
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.inert > 0 {
            return;
        }
        let id = self.open.last().map_or(0, |open| open.node) as usize;
        let node = &mut self.outline.nodes[id];
        node.direct = node.direct.saturating_add(u32::try_from(text.len()).unwrap_or(u32::MAX));
        if node.date.is_none() {
            node.date = dates::of_text(text);
        }
        node.timed |= node.date.is_some() || dates::is_ago(text);
        node.price |= offers::is_offer(text);
    }

    /// Where a tag begins.
    fn offset(&self, tag: &Tag<'a>) -> usize {
        let name = tag.name.as_ptr().addr().saturating_sub(self.html.as_ptr().addr());
        name.saturating_sub(if tag.end { 2 } else { 1 })
    }

    /// Adds up the text, and passes down the sorts of places.
    pub(super) fn finish(mut self) -> Outline<'a> {
        self.close_anchor(self.html.len());
        self.close_heading(self.html.len());
        let nodes = &mut self.outline.nodes;
        for node in nodes.iter_mut() {
            node.text = node.direct;
        }
        for id in (1..nodes.len()).rev() {
            let (parent, text) = (nodes[id].parent as usize, nodes[id].text);
            nodes[parent].text = nodes[parent].text.saturating_add(text);
        }
        let whole = nodes[0].text;
        for id in 1..nodes.len() {
            // What holds most of a page is its matter, whatever its classes say.
            let own = if nodes[id].text > whole / 2 { Region::NOWHERE } else { self.opens[id] };
            nodes[id].region = nodes[nodes[id].parent as usize].region | own;
        }
        self.outline
    }
}

/// The value of an attribute as text.
fn decoded(value: &[u8]) -> Cow<'_, str> {
    htmlize::unescape_attribute(String::from_utf8_lossy(value))
}

const VOID: [&str; 13] =
    ["area", "br", "col", "embed", "hr", "input", "link", "meta", "param", "source", "style", "track", "wbr"];

fn is_inert(tag: &Tag<'_>) -> bool {
    tag.kind == Kind::Inert || tag.is("svg")
}
