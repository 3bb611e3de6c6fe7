//! Links, enclosures, and the `source` of an entry.

use std::borrow::Cow;

use super::values::number;
use super::{Context, Reader, Slot};
use crate::Limits;
use crate::model::{Enclosure, Link, Rel, Str};
use crate::resolve;
use crate::xml::names::Element;
use crate::xml::token::{Tag, Token};

/// The attributes of a link element.
#[derive(Default)]
struct LinkAttributes<'a> {
    href: Option<Cow<'a, str>>,
    rel: Option<Cow<'a, str>>,
    mime: Option<Cow<'a, str>>,
    title: Option<Cow<'a, str>>,
    hreflang: Option<Cow<'a, str>>,
    length: Option<Cow<'a, str>>,
    count: Option<Cow<'a, str>>,
}

impl<'a> Reader<'a> {
    /// A URL, made absolute if the element is inside an `xml:base`; otherwise it is resolved when the feed is
    /// complete.
    pub(super) fn address(&mut self, value: Cow<'_, str>) -> Option<Str> {
        let value = resolve::clean(value);
        let link = value.trim();
        if let Some(base) = self.bases.last().filter(|_| !link.is_empty() && !resolve::is_absolute(link))
            && let Ok(joined) = base.join(link)
        {
            return Some(self.strings.add(joined.as_str()));
        }
        self.store(value)
    }

    /// The URL in an element's text.
    pub(super) fn address_text(&mut self, tag: &Tag<'a>) -> Option<Str> {
        let value = self.word(tag);
        self.address(value)
    }

    /// The URL in one of an element's attributes, or else in its text.
    pub(super) fn address_in(&mut self, tag: &Tag<'a>, names: &[&str]) -> Option<Str> {
        let found = match tag.attributes.is_empty() {
            true => None,
            false => names.iter().find_map(|name| self.attribute(tag, name)),
        };
        let text = self.word(tag);
        self.address(found.unwrap_or(text))
    }

    fn link_attributes(&mut self, tag: &Tag<'a>) -> LinkAttributes<'a> {
        if tag.attributes.is_empty() {
            return LinkAttributes::default();
        }
        let names = ["href", "url", "uri", "resource", "rel", "type", "title", "hreflang", "length", "count"];
        let [href, url, uri, resource, rel, mime, title, hreflang, length, count] =
            self.attributes(tag, names);
        let href = href.or(url).or(uri).or(resource);
        LinkAttributes { href, rel, mime, title, hreflang, length, count }
    }

    /// A `link` element of any format.
    pub(super) fn link(&mut self, tag: &Tag<'a>) {
        let LinkAttributes { href, rel, mime, title, hreflang, length, count } = self.link_attributes(tag);
        let text = self.word(tag);
        let Some(href) = self.address(href.unwrap_or(text)) else { return };
        let mime = self.media_type(mime);
        let title = self.store_optional(title);
        let rel = rel.as_deref();
        if self.context == Context::Entry && rel.is_some_and(|rel| rel.eq_ignore_ascii_case("enclosure")) {
            let length = length.and_then(|length| number(&length));
            self.push_enclosure(Enclosure { url: href, mime, length, title });
            return;
        }
        let hreflang = self.store_optional(hreflang);
        let rel = rel.map(Rel::from_attribute).unwrap_or_default();
        let link = Link { href, rel, mime, title, hreflang };
        match self.context {
            Context::Source if link.rel == Rel::Alternate || self.source.url.is_none() => {
                self.source.url = Some(link.href);
            }
            Context::Source => {}
            Context::Entry if link.rel == Rel::Replies => {
                let count = count.and_then(|count| number(&count));
                self.entry.comment_count = count.or(self.entry.comment_count);
                let is_page = link.mime.as_deref().is_some_and(|mime| mime.contains("html"));
                let slot = if is_page { &mut self.entry.comments } else { &mut self.entry.comments_feed };
                slot.get_or_insert(link.href);
            }
            _ => self.push_link(link),
        }
    }

    fn push_link(&mut self, link: Link) {
        let in_entry = self.context == Context::Entry;
        let filled = if in_entry { self.entry.link.is_some() } else { self.feed.link.is_some() };
        let was_weak = self.weak[usize::from(in_entry)] & Slot::Link as u8 != 0;
        if link.is_page() {
            if !self.admits(Slot::Link, filled, true) {
                return;
            }
        } else if self.unknown > 0 {
            return;
        }
        let (page, links) = match in_entry {
            true => (&mut self.entry.link, &mut self.entry.links),
            false => (&mut self.feed.link, &mut self.feed.links),
        };
        // A later page link replaces an earlier one.
        let other = match link.is_page() {
            true => {
                let former = page.replace(link.href).filter(|_| !was_weak);
                former.map(|former| Link::new(former, Rel::Alternate))
            }
            false => Some(link),
        };
        if links.len() < Limits::LIST {
            links.extend(other);
        }
    }

    /// An `enclosure` element.
    pub(super) fn enclosure(&mut self, tag: &Tag<'a>) {
        let LinkAttributes { href, mime, title, length, .. } = self.link_attributes(tag);
        let text = self.word(tag);
        let Some(url) = self.address(href.unwrap_or(text)) else { return };
        let (mime, title) = (self.media_type(mime), self.store_optional(title));
        self.push_enclosure(Enclosure {
            url,
            mime,
            length: length.and_then(|length| number(&length)),
            title,
        });
    }

    fn push_enclosure(&mut self, enclosure: Enclosure) {
        if self.entry.enclosures.len() < Limits::LIST {
            self.entry.enclosures.push(enclosure);
        }
    }

    /// Whether the element's first child is an element.
    pub(super) fn holds_elements(&mut self, tag: &Tag<'a>) -> bool {
        if tag.self_closing {
            return false;
        }
        let start = self.tokens.position();
        let holds = loop {
            match self.tokens.next() {
                Token::Text(text) if text.trim().is_empty() => {}
                Token::Start(inner) => {
                    let (namespace, local) = self.names.split_inner(inner.name);
                    break !Element::of(namespace, local).is_structure();
                }
                _ => break false,
            }
        };
        self.tokens.seek(start);
        holds
    }

    /// RSS's `source` is a title with a URL; Atom's contains feed metadata.
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
            Element::Content
            | Element::Summary
            | Element::Published
            | Element::Guid
            | Element::Description => {
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
