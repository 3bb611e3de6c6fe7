//! Links, enclosures, and the feed that an entry was taken from.

use std::borrow::Cow;

use super::{Context, Reader, Slot};
use crate::Limits;
use crate::model::{Enclosure, Link, Rel};
use crate::resolve;
use crate::xml::attributes::{Attributes, local, trimmed};
use crate::xml::names::Element;
use crate::xml::references::unescape;
use crate::xml::token::{Tag, Token};

/// What a link element says in its attributes.
#[derive(Default)]
struct Attributed<'a> {
    href: Option<Cow<'a, str>>,
    rel: Option<Cow<'a, str>>,
    mime: Option<Cow<'a, str>>,
    title: Option<Cow<'a, str>>,
    hreflang: Option<Cow<'a, str>>,
    length: Option<u64>,
    count: Option<u32>,
}

impl<'a> Reader<'a> {
    /// An address, absolute if the element stands under an `xml:base`; else that is settled at the end.
    pub(super) fn address(&mut self, value: Cow<'_, str>) -> Option<String> {
        let value = resolve::clean(value);
        let value = value.trim();
        if let Some(base) = self.bases.last().filter(|_| !value.is_empty() && !resolve::is_absolute(value))
            && let Ok(joined) = base.join(value)
        {
            return Some(joined.into());
        }
        self.keep(Cow::Borrowed(value))
    }

    /// The address that an element has as its text.
    pub(super) fn address_text(&mut self, tag: &Tag<'a>) -> Option<String> {
        let value = self.word(tag);
        self.address(value)
    }

    /// The address that an element has in one of its attributes, or else as its text.
    pub(super) fn address_in(&mut self, tag: &Tag<'a>, names: &[&str]) -> Option<String> {
        let found = names.iter().find_map(|name| self.attribute(tag, name));
        let text = self.word(tag);
        self.address(found.unwrap_or(text))
    }

    fn link_attributes(&mut self, tag: &Tag<'a>) -> Attributed<'a> {
        let mut found = Attributed::default();
        for (name, value) in Attributes::new(tag.attributes) {
            let name = local(name);
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let value = trimmed(unescape(value, &mut self.decoder));
            if value.is_empty() {
            } else if is("href") || is("url") || is("uri") || is("resource") {
                found.href.get_or_insert(value);
            } else if is("rel") {
                found.rel.get_or_insert(value);
            } else if is("type") {
                found.mime.get_or_insert(value);
            } else if is("title") {
                found.title.get_or_insert(value);
            } else if is("hreflang") {
                found.hreflang.get_or_insert(value);
            } else if is("length") || is("filesize") {
                found.length = super::values::number(&value);
            } else if is("count") {
                found.count = super::values::number(&value);
            }
        }
        found
    }

    /// A `link` element of any format.
    pub(super) fn link(&mut self, tag: &Tag<'a>) {
        let attributed = self.link_attributes(tag);
        let text = self.word(tag);
        let href = attributed.href.clone().unwrap_or(text);
        let Some(href) = self.address(href) else { return };
        let rel = attributed.rel.as_deref();
        if self.context == Context::Entry && rel.is_some_and(|rel| rel.eq_ignore_ascii_case("enclosure")) {
            self.push_enclosure(href, attributed);
            return;
        }
        let link = Link {
            href,
            rel: rel.map(Rel::from_attribute).unwrap_or_default(),
            mime: attributed.mime.and_then(|mime| self.keep(mime)),
            title: attributed.title.and_then(|title| self.keep(title)),
            hreflang: attributed.hreflang.and_then(|language| self.keep(language)),
        };
        if self.context == Context::Source {
            if link.rel == Rel::Alternate || self.source.url.is_none() {
                self.source.url = Some(link.href);
            }
        } else if self.context == Context::Entry {
            self.entry_link(link, attributed.count);
        } else if self.admits(Slot::Link, !self.feed.links.is_empty(), true) && self.feed.links.len() < Limits::LIST {
            self.feed.links.push(link);
        }
    }

    fn entry_link(&mut self, link: Link, count: Option<u32>) {
        if link.rel == Rel::Replies {
            self.entry.comment_count = count.or(self.entry.comment_count);
            let is_page = link.mime.as_deref().is_some_and(|mime| mime.contains("html"));
            let slot = if is_page { &mut self.entry.comments } else { &mut self.entry.comments_feed };
            slot.get_or_insert(link.href);
        } else if self.admits(Slot::Link, !self.entry.links.is_empty(), true) && self.entry.links.len() < Limits::LIST
        {
            self.entry.links.push(link);
        }
    }

    /// An `enclosure` element.
    pub(super) fn enclosure(&mut self, tag: &Tag<'a>) {
        let attributed = self.link_attributes(tag);
        let text = self.word(tag);
        let Some(url) = self.address(attributed.href.clone().unwrap_or(text)) else { return };
        self.push_enclosure(url, attributed);
    }

    fn push_enclosure(&mut self, url: String, attributed: Attributed<'a>) {
        if self.entry.enclosures.len() < Limits::LIST {
            let mime = attributed.mime.and_then(|mime| self.keep(mime));
            let title = attributed.title.and_then(|title| self.keep(title));
            self.entry.enclosures.push(Enclosure { url, mime, length: attributed.length, title });
        }
    }

    /// Whether the element's first content is another element.
    pub(super) fn holds_elements(&mut self, tag: &Tag<'a>) -> bool {
        if tag.self_closing {
            return false;
        }
        let start = self.tokens.position();
        let holds = loop {
            match self.tokens.next() {
                Token::Text(text) if text.trim().is_empty() => {}
                Token::Start(inner) => {
                    let (namespace, local) = self.names.split(inner.name);
                    break !Element::of(namespace, local).is_structure();
                }
                _ => break false,
            }
        };
        self.tokens.seek(start);
        holds
    }

    /// RSS's `source` is a title with an address, Atom's a feed in small.
    pub(super) fn source(&mut self, tag: &Tag<'a>) -> Option<Context> {
        self.source.url = self.attribute(tag, "url").and_then(|url| self.address(url));
        if self.holds_elements(tag) {
            return Some(Context::Source);
        }
        self.source.title = self.string(tag);
        self.finish_source();
        None
    }

    pub(super) fn source_field(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match element {
            Element::Title => self.source.title = self.string(tag),
            Element::Id => self.source.id = self.string(tag),
            Element::Updated => self.source.updated = self.date(tag),
            Element::Link => self.link(tag),
            Element::Content | Element::Summary | Element::Published | Element::Guid | Element::Description => {
                return self.field_outside(tag, element);
            }
            Element::Unknown | Element::Author | Element::Contributor => return Some(Context::Foreign),
            _ => self.skip(tag),
        }
        None
    }

    pub(super) fn finish_source(&mut self) {
        let source = std::mem::take(&mut self.source);
        if source != crate::Source::default() {
            self.entry.source = Some(Box::new(source));
        }
    }
}
