//! Decodes character and entity references once; anything else that starts with `&` stays as it is.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use super::doctype::Doctype;
use super::reference_table::NAMES;

/// Longer than any known name or valid number.
const MAX_LENGTH: usize = 32;
/// The largest buffer that is reused.
const SPARE_BYTES: usize = 8192;
/// The number of buffers kept for reuse.
const SPARE_BUFFERS: usize = 3;

/// Decodes the references of one document, and records errors.
#[derive(Debug, Default)]
pub(crate) struct Decoder<'a> {
    doctype: Doctype<'a>,
    /// Bytes that the document's own entities may still add.
    budget: usize,
    /// Whether an ampersand started no known reference.
    pub bad: bool,
    /// Buffers for reuse.
    spare: Vec<String>,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(doctype: Doctype<'a>, budget: usize) -> Self {
        Self { doctype, budget, ..Self::default() }
    }

    /// Whether a buffer is small enough to be reused.
    pub(crate) fn is_spare(buffer: &String) -> bool {
        buffer.capacity() <= SPARE_BYTES
    }

    /// An empty buffer for a text of about this length.
    pub(crate) fn buffer(&mut self, length: usize) -> String {
        let spare = if length <= SPARE_BYTES { self.spare.pop() } else { None };
        spare.unwrap_or_else(|| String::with_capacity(length))
    }

    /// Returns a buffer for reuse.
    pub(crate) fn recycle(&mut self, text: Cow<'_, str>) {
        if let Cow::Owned(mut buffer) = text
            && Self::is_spare(&buffer)
            && self.spare.len() < SPARE_BUFFERS
        {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

/// Decodes the references in a text.
pub(crate) fn unescape<'a>(text: &'a str, decoder: &mut Decoder<'a>) -> Cow<'a, str> {
    let Some(first) = memchr(b'&', text.as_bytes()) else { return Cow::Borrowed(text) };
    // A reference has at least four bytes, and rarely stands for more than one.
    let references = memchr_iter(b'&', &text.as_bytes()[first..]).count();
    let mut out = decoder.buffer(text.len().saturating_sub(references * 3));
    let mut rest = text;
    let mut at = first;
    loop {
        out.push_str(&rest[..at]);
        rest = decode_one(&rest[at..], &mut out, decoder);
        match memchr(b'&', rest.as_bytes()) {
            Some(next) => at = next,
            None => break,
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Decodes the reference at the start of the text, and returns the rest.
fn decode_one<'t>(text: &'t str, out: &mut String, decoder: &mut Decoder<'_>) -> &'t str {
    let bytes = text.as_bytes();
    // Escaped HTML consists mostly of these, so they are checked before any search.
    for (reference, character) in [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')] {
        if bytes.starts_with(reference.as_bytes()) {
            out.push(character);
            return &text[reference.len()..];
        }
    }
    let window = &bytes[1..bytes.len().min(MAX_LENGTH)];
    let name_end = window.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'#'));
    let Some(end) = name_end.filter(|&end| end > 0 && window[end] == b';').map(|end| end + 1) else {
        decoder.bad = true;
        out.push('&');
        return &text[1..];
    };
    let (name, after) = (&text[1..end], &text[end + 1..]);
    match name.strip_prefix('#') {
        Some(number) => decode_number(number, after, out, decoder).unwrap_or_else(|| {
            decoder.bad = true;
            out.push_str(&text[..=end]);
            after
        }),
        None => {
            decode_name(name, out, decoder);
            after
        }
    }
}

fn decode_name(name: &str, out: &mut String, decoder: &mut Decoder<'_>) {
    if let Some(text) = decoder.doctype.entity(name).filter(|text| text.len() <= decoder.budget) {
        decoder.budget -= text.len();
        let mut plain = Decoder::default();
        out.push_str(&unescape(text, &mut plain));
    } else if let Some(character) = named(name) {
        out.push(character);
    } else {
        decoder.bad = true;
        out.push('&');
        out.push_str(name);
        out.push(';');
    }
}

/// Looks up a character by name.
pub(crate) fn named(name: &str) -> Option<char> {
    NAMES.binary_search_by(|(known, _)| known.cmp(&name)).ok().map(|index| NAMES[index].1)
}

fn decode_number<'t>(
    number: &str,
    after: &'t str,
    out: &mut String,
    decoder: &mut Decoder<'_>,
) -> Option<&'t str> {
    let code = parse_number(number)?;
    let (character, after) = match code {
        // A surrogate pair, from writers that count in UTF-16.
        0xD800..=0xDBFF => match low_half(after) {
            Some((low, rest)) => (char::from_u32(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), rest),
            None => (Some(char::REPLACEMENT_CHARACTER), after),
        },
        _ => (character_of(code), after),
    };
    match character {
        Some(character) => out.push(character),
        None => decoder.bad = true,
    }
    Some(after)
}

fn parse_number(number: &str) -> Option<u32> {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    u32::from_str_radix(digits, radix).ok()
}

fn low_half(text: &str) -> Option<(u32, &str)> {
    let rest = text.strip_prefix("&#")?;
    let end = rest.bytes().take(8).position(|byte| byte == b';')?;
    let low = parse_number(&rest[..end]).filter(|low| (0xDC00..=0xDFFF).contains(low))?;
    Some((low, &rest[end + 1..]))
}

/// The character for a number: `None` for control characters; 128 to 159 are decoded as windows-1252, which is what
/// the writer saw.
fn character_of(code: u32) -> Option<char> {
    match code {
        0x09 | 0x0A | 0x0D => char::from_u32(code),
        0..0x20 | 0x7F => None,
        0x80..=0x9F => Some(windows_1252(code as u8)),
        _ => Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
}

/// Decodes a byte of 128 or more as windows-1252.
pub(crate) fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
        '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}',
        '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}',
        '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
    ];
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(unescape(text, &mut Decoder::default()), expected, "{text}");
    }

    #[test]
    fn names_are_sorted() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn references_are_decoded_once() {
        check("a &lt;b&gt; &amp;amp; &quot;c&quot; &apos;", "a <b> &amp; \"c\" '");
        check("&eacute;&nbsp;&hellip;&euro;", "\u{e9}\u{a0}\u{2026}\u{20ac}");
        check("&#233;&#xE9;&#Xe9;", "\u{e9}\u{e9}\u{e9}");
    }

    #[test]
    fn invalid_references_stay() {
        for text in
            ["AT&T", "a & b", "?a=1&b=2", "&unknown;", "&;", "&#;", "&#x;", "&#99999999999;", "&", "&lt"]
        {
            check(text, text);
        }
    }

    #[test]
    fn numeric_references_follow_windows_1252() {
        check("&#150;&#x92;", "\u{2013}\u{2019}");
        check("a&#0;b&#8;c&#10;d", "abc\nd");
        check("&#xD83D;&#xDE00;", "\u{1f600}");
        check("&#xD83D; &#xDE00;", "\u{fffd} \u{fffd}");
    }
}
