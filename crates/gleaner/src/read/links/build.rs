//! Builds an [`Outline`] in one pass over the tokens, with a stack of open elements.
//!
//! Handles optional end tags, and ignores end tags without a start tag. It does not implement the other repairs of
//! the HTML standard: a full tree costs ten times as much, and the repairs rarely affect lists of links.

use super::attributes::{Attributes, decoded};
use super::classes::own_hash;
use super::dates;
use super::open::OpenElements;
use super::outline::{Anchor, Heading, Name, Node, NodeId, Outline};
use super::products;
use super::region::{self, Region};
use crate::read::element::ElementKind;
use crate::read::html::Tag;
use crate::read::text::plain_text;

/// Further links of a page are ignored.
const MAX_ANCHORS: usize = 50_000;

/// A site has one header, perhaps another for small screens; more headers are those of articles.
const MAX_SITE_HEADERS: usize = 3;

/// Maximum bytes of the text of an anchor or heading.
const MAX_TEXT_BYTES: usize = 20_000;

pub(super) struct Builder<'a> {
    html: &'a str,
    outline: Outline<'a>,
    /// The region that each node starts.
    opens: Vec<Region>,
    open: OpenElements,
    /// The open anchor, and its offset.
    anchor: Option<(Anchor<'a>, usize)>,
    /// The open heading, and its offset.
    heading: Option<(NodeId, usize)>,
    /// The open title element inside an anchor: its depth and offset.
    inner: Option<(usize, usize)>,
    /// The offset of an open JSON-LD script.
    data: Option<usize>,
    template_depth: usize,
    in_svg: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self {
            html,
            outline: Outline { nodes: vec![Node::ROOT], ..Outline::default() },
            opens: vec![Region::NONE],
            open: OpenElements::default(),
            anchor: None,
            heading: None,
            inner: None,
            data: None,
            template_depth: 0,
            in_svg: false,
        }
    }

    pub(super) fn start(&mut self, tag: &Tag<'a>) {
        if self.is_hidden(tag) {
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

    /// Whether a start tag starts or is inside a template or SVG, which are skipped.
    fn is_hidden(&mut self, tag: &Tag<'a>) -> bool {
        if tag.is("svg") {
            self.in_svg |= !tag.is_empty();
            return true;
        }
        // An unclosed SVG ends at the next block element.
        self.in_svg &= tag.kind != ElementKind::Block;
        self.template_depth += usize::from(tag.kind == ElementKind::Inert);
        self.template_depth > 0 || self.in_svg
    }

    /// Opens an element with content.
    fn element(&mut self, tag: &Tag<'a>, at: usize) {
        self.open.close_implied(tag);
        let name = Name::of(tag);
        if name == Name::Anchor {
            self.close_anchor(at);
        }
        let attributes = Attributes::of(tag);
        let region = if name == Name::Heading || tag.is("html") || tag.is("body") {
            Region::NONE
        } else {
            Region::of(tag, &attributes, self.open.region())
        };
        let id = self.push(tag, &attributes, name, region);
        match name {
            Name::Anchor => self.open_anchor(&attributes, id, at),
            Name::Heading => {
                self.close_heading(at);
                self.heading = Some((id, at));
            }
            _ => self.open_inner(id, at),
        }
    }

    /// Opens an element inside an anchor whose class says that it is the title. The first one counts.
    fn open_inner(&mut self, id: NodeId, at: usize) {
        let fresh = self.anchor.as_ref().is_some_and(|(anchor, _)| anchor.inner.is_none());
        if fresh && self.inner.is_none() && self.outline.node(id).titled {
            self.inner = Some((self.open.depth(), at));
        }
    }

    fn close_inner(&mut self, at: usize) {
        let Some((_, from)) = self.inner.take() else { return };
        let text = self.text_between(from, at);
        if let Some((anchor, _)) = &mut self.anchor {
            anchor.inner = Some(text).filter(|text| !text.is_empty());
        }
    }

    fn push(&mut self, tag: &Tag<'a>, attributes: &Attributes<'a>, name: Name, region: Region) -> NodeId {
        // A page with 2^32 elements is never fetched.
        let id = NodeId::try_from(self.outline.nodes.len()).unwrap_or(NodeId::MAX);
        let date = attributes.time.and_then(dates::of_attribute);
        self.outline.nodes.push(Node {
            parent: self.open.node(),
            name,
            own: own_hash(tag.name, attributes.class.unwrap_or_default()),
            date,
            timed: date.is_some() || tag.is("time"),
            price: region.is(Region::PRICE),
            titled: attributes.class.is_some_and(region::is_title),
            ..Node::ROOT
        });
        self.opens.push(region);
        self.open.push(tag, id, region);
        id
    }

    fn open_anchor(&mut self, attributes: &Attributes<'a>, node: NodeId, at: usize) {
        let Some(href) = attributes.href else { return };
        let label = attributes.label.or(attributes.tip).unwrap_or_default();
        let rel = attributes.rel.unwrap_or_default().to_ascii_lowercase();
        let anchor = Anchor {
            node,
            href: decoded(href),
            text: plain_text(&String::from_utf8_lossy(label)),
            label: true,
            inner: None,
            image: false,
            // Inside an open heading; its index is the one that it will have.
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
        self.close_inner(at);
        let Some((mut anchor, from)) = self.anchor.take() else { return };
        let text = self.text_between(from, at);
        if !text.is_empty() {
            anchor.text = text;
            anchor.label = false;
        }
        self.outline.anchors.push(anchor);
    }

    fn close_heading(&mut self, at: usize) {
        let Some((node, from)) = self.heading.take() else { return };
        let place = self.outline.headings.len();
        // Anchors that closed inside it are the last ones; an open one contains it.
        let linked =
            self.anchor.is_some() || self.outline.anchors.last().is_some_and(|last| last.node > node);
        self.outline.headings.push(Heading { node, text: self.text_between(from, at), linked });
        if let Some((anchor, _)) = &mut self.anchor {
            anchor.heading.get_or_insert(place);
        }
    }

    fn text_between(&self, from: usize, to: usize) -> String {
        let mut to = to.min(from + MAX_TEXT_BYTES);
        while !self.html.is_char_boundary(to) {
            to -= 1;
        }
        plain_text(self.html.get(from..to).unwrap_or_default())
    }

    pub(super) fn end(&mut self, tag: &Tag<'a>) {
        if tag.is("svg") {
            self.in_svg = false;
        } else if tag.kind == ElementKind::Inert {
            self.template_depth = self.template_depth.saturating_sub(1);
        }
        if self.template_depth > 0 || self.in_svg {
            return;
        }
        let at = self.offset(tag);
        match Name::of(tag) {
            Name::Anchor => self.close_anchor(at),
            Name::Heading => self.close_heading(at),
            _ if tag.is("script") => self.close_data(at),
            _ => {}
        }
        self.open.close(tag);
        if self.inner.is_some_and(|(depth, _)| self.open.depth() < depth) {
            self.close_inner(at);
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
        if text.is_empty() || self.template_depth > 0 || self.in_svg {
            return;
        }
        let id = self.open.node() as usize;
        let node = &mut self.outline.nodes[id];
        node.direct = node.direct.saturating_add(u32::try_from(text.len()).unwrap_or(u32::MAX));
        if node.date.is_none() {
            node.date = dates::of_text(text);
        }
        node.timed |= node.date.is_some() || dates::is_relative(text);
        node.price |= products::is_offer(text);
    }

    /// The offset of a tag.
    fn offset(&self, tag: &Tag<'a>) -> usize {
        let name = tag.name.as_ptr().addr().saturating_sub(self.html.as_ptr().addr());
        name.saturating_sub(if tag.end { 2 } else { 1 })
    }

    pub(super) fn is_full(&self) -> bool {
        self.outline.anchors.len() >= MAX_ANCHORS
    }

    /// Adds up the text lengths, and propagates regions to descendants.
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
        let headers = self.opens.iter().filter(|opens| opens.is(Region::HEADER)).count();
        for id in 1..nodes.len() {
            // An element with most of the page's text is its main content, whatever its class.
            let own = if nodes[id].text > whole / 2 { Region::NONE } else { self.opens[id] };
            let own =
                if own.is(Region::HEADER) && headers <= MAX_SITE_HEADERS { own | Region::MENU } else { own };
            nodes[id].region = nodes[nodes[id].parent as usize].region | own;
        }
        self.outline
    }
}

/// Void elements, and `style`.
const VOID: [&str; 13] =
    ["area", "br", "col", "embed", "hr", "input", "link", "meta", "param", "source", "style", "track", "wbr"];
