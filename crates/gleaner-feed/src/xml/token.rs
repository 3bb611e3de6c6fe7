//! The tokenizer: tags, text and CDATA, tolerating damage.
//!
//! Comments, processing instructions and declarations are skipped here. A failed search is not repeated, so that
//! many unclosed constructs cost no more than their length.

use memchr::{memchr, memchr_iter, memchr2, memmem};

use super::doctype::Doctype;

const CDATA: &str = "<![CDATA[";

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Text with its references not yet decoded.
    Text(&'a str),
    /// The content of a CDATA section, and whether it contains the brackets of nested sections.
    CData(&'a str, bool),
    Start(Tag<'a>),
    /// An end tag: its name, and where it starts.
    End(&'a str, usize),
    Eof,
}

/// A start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    /// The name with its prefix.
    pub name: &'a str,
    /// Everything between the name and the end of the tag.
    pub attributes: &'a str,
    pub self_closing: bool,
    /// Where the tag starts.
    pub at: usize,
}

/// Errors that the tokenizer tolerated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub bad_tags: bool,
    pub bad_cdata: bool,
    /// A construct was still open at the end of the document.
    pub open_at_end: bool,
}

/// Closing marks known to be absent from the rest of the document.
#[derive(Debug, Clone, Copy, Default)]
struct Absent {
    comment_end: bool,
    cdata_end: bool,
    subset_end: bool,
}

/// The maximum number of unsuccessful searches to the end of the document for an end tag. A valid document needs
/// none.
const MAX_FAILED_SEARCHES: u8 = 32;

#[derive(Debug, Clone)]
pub(crate) struct Tokenizer<'a> {
    source: &'a str,
    position: usize,
    absent: Absent,
    failed_searches: u8,
    /// The element being captured: its end tag ends an unclosed CDATA section.
    pub inside: &'a str,
    pub faults: Faults,
    pub doctype: Doctype<'a>,
}

impl<'a> Tokenizer<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            source,
            position: 0,
            absent: Absent::default(),
            failed_searches: 0,
            inside: "",
            faults: Faults::default(),
            doctype: Doctype::default(),
        }
    }

    pub(crate) fn source(&self) -> &'a str {
        self.source
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Moves to a position at which a token starts or ends.
    pub(crate) fn seek(&mut self, position: usize) {
        debug_assert!(self.source.is_char_boundary(position));
        self.position = position;
    }

    fn bytes(&self) -> &'a [u8] {
        self.source.as_bytes()
    }

    pub(crate) fn next(&mut self) -> Token<'a> {
        loop {
            let rest = &self.bytes()[self.position..];
            let token = match rest.first() {
                None => return Token::Eof,
                Some(b'<') if begins_markup(rest) => self.markup(rest),
                Some(_) => return self.text(),
            };
            if let Some(token) = token {
                return token;
            }
        }
    }

    /// The next token other than text or CDATA.
    pub(crate) fn next_markup(&mut self) -> Token<'a> {
        loop {
            match self.next() {
                Token::Text(_) | Token::CData(..) => {}
                token => return token,
            }
        }
    }

    /// Skips the end tag of exactly this name, if it comes next.
    pub(crate) fn take_end(&mut self, name: &str) -> bool {
        let rest = &self.bytes()[self.position..];
        let after = 2 + name.len();
        let found = rest.len() > after
            && rest[after] == b'>'
            && rest.starts_with(b"</")
            && &rest[2..after] == name.as_bytes();
        if found {
            self.position += after + 1;
        }
        found
    }

    fn text(&mut self) -> Token<'a> {
        let bytes = self.bytes();
        let start = self.position;
        // A `<` that starts no markup is text.
        let mut from = start + usize::from(bytes[start] == b'<');
        let end = loop {
            match memchr(b'<', &bytes[from..]) {
                None => break bytes.len(),
                Some(offset) if begins_markup(&bytes[from + offset..]) => break from + offset,
                Some(offset) => from += offset + 1,
            }
        };
        self.position = end;
        Token::Text(&self.source[start..end])
    }

    /// Reads the markup at a `<`; `None` if it is skipped.
    fn markup(&mut self, rest: &'a [u8]) -> Option<Token<'a>> {
        match rest.get(1) {
            Some(b'/') => Some(self.end_tag()),
            Some(b'?') => {
                self.instruction();
                None
            }
            Some(b'!') => self.declaration(rest),
            _ => Some(self.start_tag()),
        }
    }

    fn start_tag(&mut self) -> Token<'a> {
        let bytes = self.bytes();
        let at = self.position;
        let mut name_end = at + 1;
        while bytes.get(name_end).is_some_and(|&byte| !ends_name(byte)) {
            name_end += 1;
        }
        let (mut attributes_end, next) = self.tag_end(name_end);
        self.position = next;
        let mut self_closing = attributes_end > name_end && bytes[attributes_end - 1] == b'/';
        if self_closing && ends_unquoted(&bytes[name_end..attributes_end - 1]) {
            // `<content base=http://example.com/>` is not self-closing if content follows.
            self_closing = !self.content_follows(&bytes[at + 1..name_end]);
        }
        if self_closing {
            attributes_end -= 1;
        }
        Token::Start(Tag {
            name: &self.source[at + 1..name_end],
            attributes: &self.source[name_end..attributes_end],
            self_closing,
            at,
        })
    }

    /// Whether text, CDATA or the end tag of this name comes next.
    fn content_follows(&self, name: &[u8]) -> bool {
        let rest = self.bytes()[self.position..].trim_ascii_start();
        match rest {
            [b'<', b'/', end @ ..] => end.starts_with(name),
            [b'<', b'!', b'[', ..] => true,
            [b'<', ..] | [] => false,
            _ => true,
        }
    }

    /// The end of a start tag's attributes, and the position after the tag.
    fn tag_end(&mut self, from: usize) -> (usize, usize) {
        let bytes = self.bytes();
        let (end, well_formed) = find_tag_end(bytes, from);
        self.faults.bad_tags |= !well_formed;
        self.faults.open_at_end |= end == bytes.len();
        (end, end + usize::from(bytes.get(end) == Some(&b'>')))
    }

    fn end_tag(&mut self) -> Token<'a> {
        let bytes = self.bytes();
        let at = self.position;
        let from = at + 2;
        let (end, next) = match memchr2(b'>', b'<', &bytes[from..]) {
            Some(offset) if bytes[from + offset] == b'>' => (from + offset, from + offset + 1),
            Some(offset) => {
                self.faults.bad_tags = true;
                (from + offset, from + offset)
            }
            None => {
                self.faults.open_at_end = true;
                (bytes.len(), bytes.len())
            }
        };
        self.position = next;
        let inside = &self.source[from..end];
        // Usually there is nothing to trim; this is the hottest path.
        let name = match inside.bytes().position(|byte| byte.is_ascii_whitespace()) {
            None => inside,
            Some(_) => inside.split_ascii_whitespace().next().unwrap_or(""),
        };
        Token::End(name, at)
    }

    fn instruction(&mut self) {
        let bytes = self.bytes();
        let from = self.position + 2;
        let Some(first) = memchr(b'>', &bytes[from..]).map(|offset| from + offset) else {
            self.faults.open_at_end = true;
            self.position = bytes.len();
            return;
        };
        // `?>` ends it; a plain `>` does if no `?>` comes before the next tag.
        let limit = memchr(b'<', &bytes[first..]).map_or(bytes.len(), |offset| first + offset);
        let proper = if bytes[first - 1] == b'?' {
            Some(first)
        } else {
            memmem::find(&bytes[first..limit], b"?>").map(|offset| first + offset + 1)
        };
        self.faults.bad_tags |= proper.is_none();
        self.position = proper.unwrap_or(first) + 1;
    }

    fn declaration(&mut self, rest: &'a [u8]) -> Option<Token<'a>> {
        if rest.starts_with(b"<!--") {
            self.comment();
            None
        } else if starts_with_ignoring_case(rest, CDATA.as_bytes()) {
            Some(self.cdata())
        } else {
            self.position = self.doctype.read(self.source, self.position, &mut self.absent.subset_end);
            None
        }
    }

    fn comment(&mut self) {
        let bytes = self.bytes();
        let from = self.position + 4;
        if !self.absent.comment_end {
            // `<!-->` is a complete comment in browsers.
            let from = from - 2;
            if let Some(offset) = memmem::find(&bytes[from..], b"-->") {
                self.position = from + offset + 3;
                return;
            }
            self.absent.comment_end = true;
        }
        // Unclosed: skip to the next tag boundary, since what follows may be valid.
        self.faults.bad_tags = true;
        self.position = memchr(b'>', &bytes[from..]).map_or(bytes.len(), |offset| from + offset + 1);
    }

    fn cdata(&mut self) -> Token<'a> {
        let body = self.position + CDATA.len();
        let (end, next, nested) = self.cdata_end(body);
        self.position = next;
        Token::CData(&self.source[body..end], nested)
    }

    /// The end of a CDATA section, the position after it, and whether it contains nested sections.
    fn cdata_end(&mut self, body: usize) -> (usize, usize, bool) {
        let bytes = self.bytes();
        let first = match self.absent.cdata_end {
            true => None,
            false => section_end(&bytes[body..]).map(|offset| body + offset),
        };
        let Some(first) = first else {
            self.absent.cdata_end = true;
            self.faults.bad_cdata = true;
            if let Some(close) = self.own_end_tag(body, bytes.len()) {
                return (close, close, false);
            }
            self.faults.open_at_end = true;
            return (bytes.len(), bytes.len(), true);
        };
        let Some(nested) = section_start(&bytes[body..first]) else {
            return (first, first + 3, false);
        };
        self.faults.bad_cdata = true;
        // This section is unclosed, and the end found belongs to a later element.
        if let Some(close) = self.own_end_tag(body, body + nested) {
            return (close, close, false);
        }
        // Nested sections: the last end before the element's end tag is the outermost.
        let close = self.own_end_tag(first, bytes.len()).unwrap_or(first);
        let last = memmem::rfind(&bytes[first..close], b"]]>").map_or(first, |offset| first + offset);
        (last, last + 3, true)
    }

    /// The end tag of the element being captured, if it is within the range.
    fn own_end_tag(&mut self, from: usize, to: usize) -> Option<usize> {
        if self.inside.is_empty() || self.failed_searches == MAX_FAILED_SEARCHES {
            return None;
        }
        let bytes = self.bytes();
        let name = self.inside.as_bytes();
        let mut from = from;
        loop {
            let Some(offset) = memmem::find(&bytes[from..to], b"</") else {
                self.failed_searches += u8::from(to == bytes.len());
                return None;
            };
            let at = from + offset;
            let after = at + 2 + name.len();
            if bytes[at + 2..].starts_with(name) && bytes.get(after).is_none_or(|&byte| ends_name(byte)) {
                return Some(at);
            }
            from = at + 2;
        }
    }
}

/// Whether markup starts here, rather than a literal `<` in text.
fn begins_markup(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'/') => rest.get(2).is_some_and(|&byte| begins_name(byte) || byte == b' '),
        Some(b'!' | b'?') => true,
        Some(&byte) => begins_name(byte),
        None => false,
    }
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn ends_name(byte: u8) -> bool {
    matches!(byte, b'>' | b'/' | b'<' | b'=' | b'"' | b'\'') || byte.is_ascii_whitespace()
}

/// The `>` that ends a tag, and whether the tag is well-formed. An unclosed tag ends before the next `<` or at the
/// end of the text.
pub(crate) fn find_tag_end(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => return (at, true),
            b'<' => return (at, false),
            b'"' | b'\'' if follows_equals(&bytes[from..at]) => match quoted_end(bytes, at) {
                Some(end) => at = end + 1,
                // The quote is never closed: end at the next angle bracket.
                None => {
                    let next = memchr2(b'>', b'<', &bytes[at + 1..]);
                    return (next.map_or(bytes.len(), |offset| at + 1 + offset), false);
                }
            },
            _ => at += 1,
        }
    }
    (bytes.len(), false)
}

/// Whether the last attribute value is unquoted.
fn ends_unquoted(attributes: &[u8]) -> bool {
    let last = attributes.rsplit(u8::is_ascii_whitespace).next().unwrap_or(b"");
    match memchr(b'=', last) {
        Some(at) => last.get(at + 1).is_some_and(|first| !matches!(first, b'"' | b'\'')),
        None => false,
    }
}

/// Whether a quote after these bytes opens a value; elsewhere it is ignored.
fn follows_equals(before: &[u8]) -> bool {
    before.iter().rev().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'=')
}

/// The closing quote of the value that opens at `at`; `None` if it is missing.
fn quoted_end(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes[at];
    let from = at + 1;
    let offset = memchr2(quote, b'<', &bytes[from..])?;
    if bytes[from + offset] == quote {
        return Some(from + offset);
    }
    // A `<` in a value: raw markup if no `>` precedes it; otherwise the quote is missing and the tag has ended.
    if memchr(b'>', &bytes[from..from + offset]).is_some() {
        return None;
    }
    memchr(quote, &bytes[from + offset..]).map(|rest| from + offset + rest)
}

// CDATA sections are many and mostly short, so their marks are found by a byte that is rare in text: building a
// searcher for the whole mark would cost more than the search.

fn section_end(bytes: &[u8]) -> Option<usize> {
    memchr_iter(b']', bytes).find(|&at| bytes[at..].starts_with(b"]]>"))
}

fn section_start(bytes: &[u8]) -> Option<usize> {
    let before = CDATA.len() - 1;
    memchr_iter(b'[', bytes).find(|&at| bytes[..=at].ends_with(CDATA.as_bytes())).map(|at| at - before)
}

fn starts_with_ignoring_case(bytes: &[u8], head: &[u8]) -> bool {
    bytes.len() >= head.len() && bytes[..head.len()].eq_ignore_ascii_case(head)
}
