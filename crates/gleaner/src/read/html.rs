//! An HTML tokenizer: one pass over the bytes, for text and attributes.
//!
//! Follows the tokenizer of the HTML standard, with some leniency that loses less text: CDATA sections contain
//! text, `<iframe/>` is empty, an unclosed quote is ignored, and an unclosed element with raw content (`<title>`)
//! is treated as ordinary. There is no tree, no repair of nesting, no foreign content, and no escaping inside
//! scripts.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3, memmem};

use super::element::{ElementKind, RawElement};

/// A token. Ranges are byte offsets on character boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text with its character references not yet decoded.
    Text(Range<usize>),
    /// Verbatim text.
    Verbatim(Range<usize>),
    Tag(Tag<'a>),
}

/// A start or end tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// Offset of its `<`.
    pub at: usize,
    /// Offset after its `>`.
    pub to: usize,
    /// As written.
    pub name: &'a [u8],
    /// The bytes between the name and the `>`; see [`Tag::attributes`].
    inside: &'a [u8],
    /// `</name>`.
    pub end: bool,
    pub kind: ElementKind,
}

#[derive(Debug, Clone)]
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Everything up to here is text: the content of a `<title>`.
    text_until: usize,
    /// Raw elements known to be unclosed; each is searched only once, or time would be quadratic.
    unclosed: u16,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, text_until: 0, unclosed: 0 }
    }

    /// The current offset. After the start tag of a raw element: the end of its content.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Whether an unclosed element of this kind was found.
    pub(super) fn has_unclosed(&self, raw: RawElement) -> bool {
        self.unclosed & raw.bit() != 0
    }

    /// Reads the markup at the current `<`; `None` if it produces no token.
    fn markup(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        match self.bytes.get(start + 1) {
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.tag(start + 1, false),
            Some(b'/') => match self.bytes.get(start + 2) {
                Some(b'a'..=b'z' | b'A'..=b'Z') => self.tag(start + 2, true),
                Some(_) => self.skip_past(start + 2, b">"),
                None => self.text(start),
            },
            Some(b'!') => self.declaration(start + 2),
            Some(b'?') => self.skip_past(start + 2, b">"),
            _ => self.text(start),
        }
    }

    /// Text from `start`, which may be a literal `<`, up to the next `<`.
    fn text(&mut self, start: usize) -> Option<Token<'a>> {
        let rest = self.bytes.get(start + 1..).unwrap_or_default();
        self.at = memchr(b'<', rest).map_or(self.bytes.len(), |n| start + 1 + n);
        Some(Token::Text(start..self.at))
    }

    fn declaration(&mut self, inside: usize) -> Option<Token<'a>> {
        let rest = self.bytes.get(inside..).unwrap_or_default();
        if rest.starts_with(b"--") {
            self.at = comment_end(self.bytes, inside + 2);
            None
        } else if rest.starts_with(b"[CDATA[") {
            let from = inside + 7;
            self.skip_past(from, b"]]>");
            let cut = if self.bytes[from..self.at].ends_with(b"]]>") { 3 } else { 0 };
            Some(Token::Verbatim(from..self.at - cut))
        } else {
            self.skip_past(inside, b">")
        }
    }

    /// Moves past the next `end`, or to the end of the document.
    fn skip_past(&mut self, from: usize, end: &[u8]) -> Option<Token<'a>> {
        let rest = self.bytes.get(from..).unwrap_or_default();
        self.at = memmem::find(rest, end).map_or(self.bytes.len(), |n| from + n + end.len());
        None
    }

    /// The tag whose name starts at `from`; `None` if it never ends.
    fn tag(&mut self, from: usize, end: bool) -> Option<Token<'a>> {
        let rest = &self.bytes[from..];
        let length =
            rest.iter().position(|b| matches!(b, b'>' | b'/' | b' ' | b'\t'..=b'\r')).unwrap_or(rest.len());
        let name = &rest[..length];
        let Some(close) = tag_end(self.bytes, from + length) else {
            self.at = self.bytes.len();
            return None;
        };
        self.at = close + 1;
        let inside = &self.bytes[from + length..close];
        let at = if end { from - 2 } else { from - 1 };
        let tag = Tag { at, to: self.at, name, inside, end, kind: ElementKind::of(name) };
        if !end {
            match tag.kind {
                ElementKind::Shown(raw) | ElementKind::Hidden(raw) => self.enter(raw, &tag),
                _ => {}
            }
        }
        Some(Token::Tag(tag))
    }

    /// Skips the content of a raw element, or marks it as text.
    fn enter(&mut self, raw: RawElement, tag: &Tag) {
        if self.unclosed & raw.bit() != 0 || tag.is_empty() {
            return;
        }
        let Some(close) = end_tag(self.bytes, self.at, tag.name) else {
            self.unclosed |= raw.bit();
            // Code is never useful as text; other raw elements are more likely text with a missing end tag.
            if matches!(raw, RawElement::Script | RawElement::Style) {
                self.at = self.bytes.len();
            }
            return;
        };
        if matches!(tag.kind, ElementKind::Shown(_)) {
            self.text_until = close;
        } else {
            self.at = close;
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if self.at < self.text_until {
            let text = self.at..self.text_until;
            self.at = self.text_until;
            return Some(Token::Text(text));
        }
        loop {
            let token = match self.bytes.get(self.at)? {
                b'<' => self.markup(),
                _ => self.text(self.at),
            };
            if token.is_some() {
                return token;
            }
        }
    }
}

/// The end of a comment whose text starts at `from`.
fn comment_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    for abrupt in [&b">"[..], b"->"] {
        if rest.starts_with(abrupt) {
            return from + abrupt.len();
        }
    }
    let ends = |n: &usize| rest[..*n].ends_with(b"--") || rest[..*n].ends_with(b"--!");
    memchr_iter(b'>', rest).find(ends).map_or(bytes.len(), |n| from + n + 1)
}

/// The `>` that ends a tag whose name ended at `from`, ignoring those in quotes.
fn tag_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let stop = match bytes.get(at)? {
            b'>' => at,
            _ => at + memchr3(b'>', b'"', b'\'', &bytes[at..])?,
        };
        let quote = bytes[stop];
        if quote == b'>' {
            return Some(stop);
        }
        // A quote starts a value only after an equals sign.
        let before = bytes[at..stop].trim_ascii_end().last();
        at = stop + 1;
        if before == Some(&b'=') {
            // An unclosed quote is ignored; it is the last of its kind, so this happens at most twice.
            at += memchr(quote, &bytes[at..]).map_or(0, |n| n + 1);
        }
    }
}

/// The offset of the next `</name`, from `from` on.
fn end_tag(bytes: &[u8], from: usize, name: &[u8]) -> Option<usize> {
    let rest = &bytes[from..];
    let closes = |at: &usize| {
        let (start, end) = (at + 2, at + 2 + name.len());
        rest.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && rest.get(end).is_some_and(|b| matches!(b, b'>' | b'/' | b' ' | b'\t'..=b'\r'))
    };
    memmem::find_iter(rest, b"</").find(closes).map(|at| from + at)
}

impl<'a> Tag<'a> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// `<name/>`, where the slash is not the end of an unquoted value.
    pub(super) fn is_empty(&self) -> bool {
        let Some(before) = self.inside.strip_suffix(b"/") else { return false };
        let word = before.rsplit(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'')).next();
        !word.is_some_and(|word| word.contains(&b'='))
    }

    /// The raw value of an attribute; the first of duplicates.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a [u8]> {
        self.attributes()
            .find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Names and values, as written.
    pub(super) fn attributes(&self) -> Attributes<'a> {
        Attributes { rest: self.inside }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Takes bytes up to the first that matches `stop`.
    fn take_until(&mut self, stop: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|b| stop(*b)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn value(&mut self) -> &'a [u8] {
        self.rest = self.rest.trim_ascii_start();
        match *self.rest {
            [quote @ (b'"' | b'\''), ref rest @ ..] => {
                self.rest = rest;
                let value = self.take_until(|b| b == quote);
                self.rest = self.rest.get(1..).unwrap_or_default();
                value
            }
            _ => self.take_until(|b| b.is_ascii_whitespace()),
        }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.take_until(|b| !b.is_ascii_whitespace() && b != b'/');
        if self.rest.is_empty() {
            return None;
        }
        // By the standard, a leading equals sign is part of the name.
        let name = match self.rest.split_first() {
            Some((b'=', rest)) => {
                self.rest = rest;
                &b"="[..]
            }
            _ => self.take_until(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'=')),
        };
        self.rest = self.rest.trim_ascii_start();
        let Some(rest) = self.rest.strip_prefix(b"=") else { return Some((name, b"")) };
        self.rest = rest;
        Some((name, self.value()))
    }
}
