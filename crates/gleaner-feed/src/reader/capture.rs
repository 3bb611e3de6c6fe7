//! The inside of one field, from its start tag to its end, wherever that may be.
//!
//! A field ends at its end tag. It also ends, as far as one can tell, where that is missing or misspelt: at the
//! end tag of what surrounds it, and at the start of an element that no text contains.

use std::borrow::Cow;

use super::Reader;
use crate::xml::names::{self, Element, Html, is_html};
use crate::xml::namespaces::Namespace;
use crate::xml::references::{Decoder, unescape};
use crate::xml::token::{Tag, Token};

/// What a field may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    /// Text only: tags are dropped.
    Text,
    /// Text, which is sometimes written as markup without escapes.
    Any,
    /// Markup: the text stays escaped, as it is part of it.
    Xhtml,
}

/// The inside of a field.
#[derive(Debug)]
pub(super) struct Captured<'a> {
    pub value: Cow<'a, str>,
    /// Whether the value is the document's own markup rather than escaped text.
    pub markup: bool,
}

/// How a capture goes on after a tag.
enum Next {
    On,
    Done,
    /// Done, and the tag belongs to what comes next.
    DoneBefore,
    /// Markup where text was expected: read it again as such.
    Again,
}

/// What is open within a field.
#[derive(Default)]
struct Depth {
    /// Elements of HTML that may have an inside.
    html: u32,
    /// Elements of the field's own name.
    same: u32,
    /// Elements that are neither HTML nor a feed's.
    foreign: u32,
}

/// Pieces of a value, joined only if there are several.
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

/// Appends a piece; the room for more of them grows in smaller steps than that of a string would.
fn append(joined: &mut String, piece: &str) {
    if joined.capacity() - joined.len() < piece.len() {
        joined.reserve_exact(piece.len().max(64 + joined.len() / 4));
    }
    joined.push_str(piece);
}

/// A capture under way.
struct Capture<'a, 't> {
    tag: &'t Tag<'a>,
    inside: Inside,
    /// Whether the inside is read as markup.
    markup: bool,
    depth: Depth,
    pieces: Pieces<'a>,
    /// In markup, what lies between here and the current token is taken as it stands.
    since: usize,
}

impl<'a> Capture<'a, '_> {
    /// Takes the markup up to a position.
    fn take_to(&mut self, source: &'a str, end: usize, decoder: &mut Decoder<'a>) {
        if self.markup {
            self.pieces.push(Cow::Borrowed(&source[self.since.min(end)..end]), decoder);
            self.since = end;
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads the inside of the element that `tag` opened, and its end tag.
    pub(super) fn capture(&mut self, tag: &Tag<'a>, inside: Inside) -> Captured<'a> {
        if tag.self_closing {
            return Captured { value: Cow::Borrowed(""), markup: inside == Inside::Xhtml };
        }
        let start = self.tokens.position();
        self.tokens.inside = tag.name;
        let mut markup = inside == Inside::Xhtml;
        let value = match markup {
            true => self.capture_pieces(tag, inside, true, None),
            false => self.capture_text(tag, inside),
        };
        let value = value.unwrap_or_else(|| {
            self.tokens.seek(start);
            markup = true;
            self.capture_pieces(tag, inside, true, None).unwrap_or_default()
        });
        self.tokens.inside = "";
        Captured { value, markup }
    }

    /// The value of a field that is not known to be markup. Nearly always it is a single text or section, then the
    /// field's own end tag.
    fn capture_text(&mut self, tag: &Tag<'a>, inside: Inside) -> Option<Cow<'a, str>> {
        match self.tokens.next() {
            Token::Text(text) if self.tokens.take_end(tag.name) => {
                Some(unescape(text.trim(), &mut self.decoder))
            }
            Token::CData(text, false) if self.tokens.take_end(tag.name) => Some(Cow::Borrowed(text.trim())),
            first => self.capture_pieces(tag, inside, false, Some(first)),
        }
    }

    /// The value; nothing, if it turns out to be markup and was not read as such.
    fn capture_pieces(
        &mut self,
        tag: &Tag<'a>,
        inside: Inside,
        markup: bool,
        mut first: Option<Token<'a>>,
    ) -> Option<Cow<'a, str>> {
        let since = self.tokens.position();
        let mut capture =
            Capture { tag, inside, markup, depth: Depth::default(), pieces: Pieces(None), since };
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

    /// Takes in a token that began at `before`.
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
                capture.pieces.push(section(text, nested, capture.inside), &mut self.decoder);
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
        let Capture { tag, inside, depth, .. } = capture;
        let nested = depth.html + depth.foreign > 0;
        let inline = match element {
            Element::Unknown | Element::Body | Element::Rdf | Element::Rss | Element::Feed => true,
            Element::Item | Element::Channel => false,
            // Declared markup is whole, as a rule; pictures in it may have metadata of their own.
            _ if *inside == Inside::Xhtml && nested => true,
            Element::Link if *inside == Inside::Any && is_stylesheet(inner) => true,
            _ => element.is_html_too() && depth.html > 0 && *inside != Inside::Text,
        };
        if !inline {
            return Next::DoneBefore;
        }
        if *inside == Inside::Any && !capture.markup {
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
        // Metadata of pictures is RDF, as the feed around may be.
        let own = element == Element::Rdf && depth.foreign > 0;
        if element.is_structure() && !own && self.is_open(element) {
            return Next::DoneBefore;
        }
        if is_html(local) && !(depth.html == 0 && element != Element::Unknown) {
            depth.html = depth.html.saturating_sub(1);
        } else if depth.foreign > 0 {
            depth.foreign -= 1;
        } else {
            // No such element is open: it is this one's end tag, misspelt.
            self.repairs.bad_nesting = true;
            return Next::Done;
        }
        Next::On
    }

    /// Takes the prefix off a tag of HTML within markup; HTML has none.
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

/// A CDATA section: text as it is, but escaped where it becomes part of declared markup.
fn section(text: &str, nested: bool, inside: Inside) -> Cow<'_, str> {
    let text = match nested {
        true => Cow::Owned(text.replace("<![CDATA[", "").replace("]]>", "")),
        false => Cow::Borrowed(text),
    };
    match inside {
        Inside::Xhtml => Cow::Owned(escape(&text)),
        _ => text,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
