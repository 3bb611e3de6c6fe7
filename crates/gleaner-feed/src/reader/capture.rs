//! Reads the content of one field, from its start tag to its end.
//!
//! A field ends at its end tag. If that is missing or misspelt, it ends at the end tag of the enclosing element, or
//! at the start of an element that cannot be inside text.

use std::borrow::Cow;

use super::Reader;
use crate::xml::names::{self, Element, Html, is_html};
use crate::xml::namespaces::Namespace;
use crate::xml::references::{Decoder, unescape};
use crate::xml::token::{Tag, Token};

/// What a field may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentModel {
    /// Text; tags are dropped.
    Text,
    /// Text, sometimes as unescaped markup.
    Any,
    /// Markup; text stays escaped, because it is part of it.
    Xhtml,
}

/// The content of a field.
#[derive(Debug)]
pub(super) struct Captured<'a> {
    pub value: Cow<'a, str>,
    /// Whether the value is inline markup rather than escaped text.
    pub markup: bool,
}

/// How to continue after a tag.
enum Next {
    On,
    Done,
    /// Done, and the tag belongs to the next element.
    DoneBefore,
    /// Markup where text was expected: read it again as markup.
    Again,
}

/// Open elements inside a field.
#[derive(Default)]
struct Depth {
    /// HTML elements that are not void.
    html: u32,
    /// Elements with the field's own name.
    same: u32,
    /// Elements that are neither HTML nor feed elements.
    foreign: u32,
}

/// Parts of a value, joined only if there is more than one.
struct Pieces<'a>(Option<Cow<'a, str>>);

impl<'a> Pieces<'a> {
    fn push(&mut self, piece: Cow<'a, str>, decoder: &mut Decoder<'a>) {
        match &mut self.0 {
            None => self.0 = Some(piece),
            Some(first) if first.trim().is_empty() => *first = piece,
            Some(Cow::Owned(joined)) => {
                append(joined, &piece);
                decoder.recycle(piece);
            }
            Some(Cow::Borrowed(first)) if !piece.is_empty() => {
                let mut joined = decoder.buffer(first.len() + piece.len());
                append(&mut joined, first);
                append(&mut joined, &piece);
                decoder.recycle(piece);
                self.0 = Some(Cow::Owned(joined));
            }
            Some(Cow::Borrowed(_)) => {}
        }
    }
}

/// Appends a piece, growing the buffer in smaller steps than `String` would.
fn append(joined: &mut String, piece: &str) {
    if joined.capacity() - joined.len() < piece.len() {
        joined.reserve_exact(piece.len().max(64 + joined.len() / 4));
    }
    joined.push_str(piece);
}

/// The state of a capture.
struct Capture<'a, 't> {
    tag: &'t Tag<'a>,
    content: ContentModel,
    /// Whether the content is read as markup.
    markup: bool,
    depth: Depth,
    pieces: Pieces<'a>,
    /// In markup, the text from here to the current token is copied verbatim.
    since: usize,
}

impl<'a> Capture<'a, '_> {
    /// Copies the markup up to a position.
    fn take_to(&mut self, source: &'a str, end: usize, decoder: &mut Decoder<'a>) {
        if self.markup {
            self.pieces.push(Cow::Borrowed(&source[self.since.min(end)..end]), decoder);
            self.since = end;
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads the content of the element that `tag` opened, and its end tag.
    pub(super) fn capture(&mut self, tag: &Tag<'a>, content: ContentModel) -> Captured<'a> {
        if tag.self_closing {
            return Captured { value: Cow::Borrowed(""), markup: content == ContentModel::Xhtml };
        }
        let start = self.tokens.position();
        self.tokens.inside = tag.name;
        let mut markup = content == ContentModel::Xhtml;
        let value = match markup {
            true => self.capture_pieces(tag, content, true, None),
            false => self.capture_text(tag, content),
        };
        let value = value.unwrap_or_else(|| {
            self.tokens.seek(start);
            markup = true;
            self.capture_pieces(tag, content, true, None).unwrap_or_default()
        });
        self.tokens.inside = "";
        Captured { value, markup }
    }

    /// Reads a field not declared as markup. Nearly always that is one text or CDATA section followed by the end
    /// tag.
    fn capture_text(&mut self, tag: &Tag<'a>, content: ContentModel) -> Option<Cow<'a, str>> {
        match self.tokens.next() {
            Token::Text(text) if self.tokens.take_end(tag.name) => {
                Some(unescape(text.trim(), &mut self.decoder))
            }
            Token::CData(text, false) if self.tokens.take_end(tag.name) => Some(Cow::Borrowed(text.trim())),
            first => self.capture_pieces(tag, content, false, Some(first)),
        }
    }

    /// Returns the value, or `None` if it turns out to be markup and was not read as markup.
    fn capture_pieces(
        &mut self,
        tag: &Tag<'a>,
        content: ContentModel,
        markup: bool,
        mut first: Option<Token<'a>>,
    ) -> Option<Cow<'a, str>> {
        let since = self.tokens.position();
        let mut capture =
            Capture { tag, content, markup, depth: Depth::default(), pieces: Pieces(None), since };
        loop {
            let before = self.tokens.position();
            let token = first.take().unwrap_or_else(|| self.tokens.next());
            let end = match (self.capture_token(&mut capture, token, before), token) {
                (Next::On, _) => continue,
                (Next::Again, _) => return None,
                (Next::DoneBefore, Token::Start(Tag { at, .. }) | Token::End(_, at)) => {
                    self.repairs.bad_nesting = true;
                    self.tokens.seek(at);
                    at
                }
                (_, Token::End(_, at)) => at,
                _ => self.tokens.position(),
            };
            capture.take_to(self.tokens.source(), end, &mut self.decoder);
            return Some(capture.pieces.0.unwrap_or_default());
        }
    }

    /// Handles a token that started at `before`.
    fn capture_token(&mut self, capture: &mut Capture<'a, '_>, token: Token<'a>, before: usize) -> Next {
        match token {
            Token::Text(text) => {
                if !capture.markup {
                    let piece = unescape(text, &mut self.decoder);
                    capture.pieces.push(piece, &mut self.decoder);
                }
                Next::On
            }
            Token::CData(text, nested) => {
                capture.take_to(self.tokens.source(), before, &mut self.decoder);
                capture.since = self.tokens.position();
                capture.pieces.push(section(text, nested, capture.content), &mut self.decoder);
                Next::On
            }
            Token::Start(inner) => {
                let next = self.inner_start(capture, &inner);
                if matches!(next, Next::On) {
                    self.unprefix(capture, inner.at, inner.name, "<");
                }
                next
            }
            Token::End(name, at) => {
                let next = self.inner_end(capture, name);
                if matches!(next, Next::On) {
                    self.unprefix(capture, at, name, "</");
                }
                next
            }
            Token::Eof => Next::Done,
        }
    }

    fn inner_start(&mut self, capture: &mut Capture<'a, '_>, inner: &Tag<'a>) -> Next {
        let (namespace, local) = self.names.split_inner(inner.name);
        let element = Element::of(namespace, local);
        let Capture { tag, content, depth, .. } = capture;
        let nested = depth.html + depth.foreign > 0;
        let inline = match element {
            Element::Unknown | Element::Body | Element::Rdf | Element::Rss | Element::Feed => true,
            Element::Item | Element::Channel => false,
            // Declared markup is usually complete; images in it may have metadata of their own.
            _ if *content == ContentModel::Xhtml && nested => true,
            Element::Link if *content == ContentModel::Any && is_stylesheet(inner) => true,
            _ => element.is_html_too() && depth.html > 0 && *content != ContentModel::Text,
        };
        if !inline {
            return Next::DoneBefore;
        }
        if *content == ContentModel::Any && !capture.markup {
            return Next::Again;
        }
        if !inner.self_closing {
            depth.same += u32::from(inner.name == tag.name);
            match names::html(local) {
                None => depth.foreign += 1,
                Some(Html::Normal) => depth.html += 1,
                Some(Html::Void) => {}
            }
        }
        Next::On
    }

    fn inner_end(&mut self, capture: &mut Capture<'a, '_>, name: &str) -> Next {
        let Capture { tag, depth, .. } = capture;
        if name.eq_ignore_ascii_case(tag.name) {
            if depth.same == 0 {
                return Next::Done;
            }
            depth.same -= 1;
            return Next::On;
        }
        let (namespace, local) = self.names.split_inner(name);
        let element = Element::of(namespace, local);
        // Image metadata is RDF, as the enclosing feed may be.
        let own = element == Element::Rdf && depth.foreign > 0;
        if element.is_structure() && !own && self.is_open(element) {
            return Next::DoneBefore;
        }
        if is_html(local) && !(depth.html == 0 && element != Element::Unknown) {
            depth.html = depth.html.saturating_sub(1);
        } else if depth.foreign > 0 {
            depth.foreign -= 1;
        } else {
            // No such element is open: it is a misspelt end tag of this element.
            self.repairs.bad_nesting = true;
            return Next::Done;
        }
        Next::On
    }

    /// Removes the prefix from an HTML tag in markup, since HTML has no prefixes.
    fn unprefix(&mut self, capture: &mut Capture<'a, '_>, at: usize, name: &str, open: &'static str) {
        if !capture.markup || !name.contains(':') {
            return;
        }
        let (namespace, local) = self.names.split_inner(name);
        if namespace == Namespace::Xhtml {
            let source = self.tokens.source();
            // There may be white space before the name.
            let offset = source[at..].find(name).unwrap_or(open.len());
            capture.take_to(source, at, &mut self.decoder);
            capture.pieces.push(Cow::Borrowed(open), &mut self.decoder);
            capture.since = at + offset + name.len() - local.len();
        }
    }
}

fn is_stylesheet(tag: &Tag<'_>) -> bool {
    memchr::memmem::find(tag.attributes.as_bytes(), b"stylesheet").is_some()
}

/// A CDATA section: verbatim text, but escaped where it becomes part of declared markup.
fn section(text: &str, nested: bool, content: ContentModel) -> Cow<'_, str> {
    let text = match nested {
        true => Cow::Owned(text.replace("<![CDATA[", "").replace("]]>", "")),
        false => Cow::Borrowed(text),
    };
    match content {
        ContentModel::Xhtml => Cow::Owned(escape(&text)),
        _ => text,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
