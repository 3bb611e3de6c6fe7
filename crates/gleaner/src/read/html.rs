//! Where the tags of an HTML document are: one pass over its bytes, for whoever needs text or attributes.
//!
//! Follows the tokenizer of the HTML standard in what is a tag, a comment or text, with a few leniencies
//! that lose less of what people wrote: CDATA sections hold text, `<iframe/>` is empty, a quote that never
//! closes is none, and an element whose content is no markup (`<title>`) but which never closes is ordinary.
//! Absent on purpose: a tree, repair of nesting, foreign content, escapes inside scripts.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3, memmem};

use super::element::{Kind, Raw};

/// A piece of a document. Ranges are byte offsets, and never cut a character in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text, with character references still to be decoded.
    Text(Range<usize>),
    /// Text to be taken as it stands.
    Verbatim(Range<usize>),
    /// A start or end tag.
    Tag(Tag<'a>),
}

/// A start or end tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// As written.
    pub name: &'a [u8],
    /// What stands between the name and the `>`; see [`Tag::attributes`].
    inside: &'a [u8],
    /// `</name>`.
    pub end: bool,
    pub kind: Kind,
}

/// Walks over a document.
#[derive(Debug, Clone)]
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Text that comes next whatever it looks like, up to here: the content of a `<title>`.
    text_until: usize,
    /// Elements that are known not to close again: each is looked for only once, or time would be quadratic.
    unclosed: u16,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, text_until: 0, unclosed: 0 }
    }

    /// What begins with the `<` at the current place; none where nothing of it is to be shown.
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

    /// Text from `start`, which may be a `<` that is none of a tag, up to the next `<`.
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

    /// Goes behind the next `end`, or to the end of all.
    fn skip_past(&mut self, from: usize, end: &[u8]) -> Option<Token<'a>> {
        let rest = self.bytes.get(from..).unwrap_or_default();
        self.at = memmem::find(rest, end).map_or(self.bytes.len(), |n| from + n + end.len());
        None
    }

    /// The tag whose name begins at `from`; none where it never ends.
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
        let tag = Tag { name, inside: &self.bytes[from + length..close], end, kind: Kind::of(name) };
        if !end {
            match tag.kind {
                Kind::Shown(raw) | Kind::Hidden(raw) => self.enter(raw, &tag),
                _ => {}
            }
        }
        Some(Token::Tag(tag))
    }

    /// Goes over, or sets apart as text, the content of an element that holds no markup.
    fn enter(&mut self, raw: Raw, tag: &Tag) {
        if self.unclosed & raw.bit() != 0 || tag.is_empty() {
            return;
        }
        let Some(close) = end_tag(self.bytes, self.at, tag.name) else {
            self.unclosed |= raw.bit();
            // Code shown as text helps nobody; anything else is more likely text that forgot to close a tag.
            if matches!(raw, Raw::Script | Raw::Style) {
                self.at = self.bytes.len();
            }
            return;
        };
        if matches!(tag.kind, Kind::Shown(_)) {
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

/// Where a comment ends whose text begins at `from`.
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

/// The `>` that ends a tag whose name ended at `from`. One inside quotes does not.
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
        // Only after an equals sign does a quote begin a value; what was passed before is not looked at again.
        let before = bytes[at..stop].trim_ascii_end().last();
        at = stop + 1;
        if before == Some(&b'=') {
            // A quote that never closes (the last of its sort, so this happens twice at most) does not count.
            at += memchr(quote, &bytes[at..]).map_or(0, |n| n + 1);
        }
    }
}

/// Where `</name` stands next, at or after `from`.
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

    /// The value of an attribute, still encoded; the first where it is given twice.
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

/// The attributes of a tag.
#[derive(Debug, Clone)]
pub(super) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Takes bytes up to the first that `stop` names.
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
        // The standard takes a leading equals sign for part of the name.
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
