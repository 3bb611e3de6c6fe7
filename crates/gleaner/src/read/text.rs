//! Converts HTML to plain text, like jsoup's `text()`: blocks separated by one space, white space collapsed,
//! character references decoded, scripts, styles and comments removed.
//!
//! A no-break space is ordinary white space; soft hyphens and zero-width spaces are removed. Unlike jsoup: the text
//! of `<pre>` and `<textarea>` is collapsed too (the text is for search and hashing), that of `<template>` is
//! removed, control characters are white space, and a block inside an inline element is separated as well.
//! `<noscript>` is included, as in a browser without scripts; so is a stray `<title>`. No tree is built, so nothing
//! depends on nesting.

use std::borrow::Cow;

use memchr::memchr;

use super::element::ElementKind;
use super::html::{Tag, Token, Tokens};

/// Escapes plain text as HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The plain text of HTML or of a text without markup.
pub fn plain_text(html: &str) -> String {
    let mut text = CollapsedText { out: String::with_capacity(html.len() / 2 + 16), gap: false };
    if memchr(b'<', html.as_bytes()).is_none() {
        text.decode(html);
        return text.out;
    }
    let mut inert = 0_usize;
    for token in Tokens::new(html.as_bytes()) {
        match token {
            Token::Tag(tag) => {
                if tag.kind == ElementKind::Inert {
                    inert = template_depth(inert, &tag);
                }
                text.gap |=
                    matches!(tag.kind, ElementKind::Block | ElementKind::Shown(_) | ElementKind::Inert);
            }
            _ if inert > 0 => {}
            Token::Text(range) => text.decode(html.get(range).unwrap_or_default()),
            Token::Verbatim(range) => text.push(html.get(range).unwrap_or_default()),
        }
    }
    text.out
}

/// The nesting depth of templates after this tag.
fn template_depth(depth: usize, tag: &Tag) -> usize {
    if tag.end { depth.saturating_sub(1) } else { depth.saturating_add(1) }
}

/// Text with collapsed white space.
struct CollapsedText {
    out: String,
    /// Whether there was white space since the last character.
    gap: bool,
}

/// The class of a byte for collapsing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    /// White space, including ASCII control characters.
    White,
    /// May start a non-ASCII control character, a no-break space, a soft hyphen or a zero-width space.
    Lead,
    /// Starts a character reference.
    Reference,
}

static CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut table = [Class::Plain; 256];
    let mut byte = 0;
    while byte <= 0x20 {
        table[byte] = Class::White;
        byte += 1;
    }
    table[0x7f] = Class::White;
    table[0xc2] = Class::Lead;
    table[0xe2] = Class::Lead;
    table[b'&' as usize] = Class::Reference;
    table
}

impl CollapsedText {
    /// Appends text, decoding its character references.
    fn decode(&mut self, text: &str) {
        self.collapse::<true>(text);
    }

    /// Appends text verbatim.
    fn push(&mut self, text: &str) {
        self.collapse::<false>(text);
    }

    fn collapse<const DECODE: bool>(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&first) = bytes.get(at) {
            match CLASSES[first as usize] {
                Class::White => {
                    self.gap = true;
                    at += 1;
                }
                Class::Reference if DECODE => at += self.reference(text.get(at..).unwrap_or_default()),
                // A no-break space, or a non-ASCII control character.
                Class::Lead if matches!(bytes[at..], [0xc2, 0x80..=0xa0, ..]) => {
                    self.gap = true;
                    at += 2;
                }
                Class::Lead if bytes[at..].starts_with("\u{ad}".as_bytes()) => at += 2,
                Class::Lead if bytes[at..].starts_with("\u{200b}".as_bytes()) => at += 3,
                _ => {
                    let end = run_end::<DECODE>(bytes, at + 1);
                    self.run(text.get(at..end).unwrap_or_default());
                    at = end;
                }
            }
        }
    }

    /// Appends words separated by single spaces, possibly with one space at the end.
    fn run(&mut self, run: &str) {
        if self.gap && !self.out.is_empty() {
            self.out.push(' ');
        }
        let words = run.strip_suffix(' ');
        self.gap = words.is_some();
        self.out.push_str(words.unwrap_or(run));
    }

    /// Appends the character for the reference at the start of `text`; returns its length.
    fn reference(&mut self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let length = bytes[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'#').count();
        let length = 1 + length + usize::from(bytes.get(1 + length) == Some(&b';'));
        let reference = text.get(..length).unwrap_or_default();
        match reference {
            "&nbsp;" => self.gap = true,
            "&amp;" => self.run("&"),
            "&lt;" => self.run("<"),
            "&gt;" => self.run(">"),
            "&quot;" => self.run("\""),
            _ => match numeric(reference) {
                Some(char) => self.push(char.encode_utf8(&mut [0; 4])),
                None => match htmlize::unescape(reference) {
                    // Collapsing it again would find the same `&`.
                    Cow::Borrowed(same) => self.run(same),
                    Cow::Owned(decoded) => self.push(&decoded),
                },
            },
        }
        length
    }
}

/// The end of a run from `at`: before anything but plain bytes and single spaces.
fn run_end<const DECODE: bool>(bytes: &[u8], mut at: usize) -> usize {
    loop {
        while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            if has_stop(window) {
                break;
            }
            at += window.len() - 1;
        }
        // Byte by byte until past what stopped the window.
        let end = (at + WINDOW).min(bytes.len());
        while at < end {
            if stops::<DECODE>(bytes, at) {
                return at;
            }
            at += 1;
        }
        if at == bytes.len() {
            return at;
        }
    }
}

/// Bytes examined together: one 128-bit vector register.
const WINDOW: usize = 16;

/// Whether a run may end within these bytes, of which the last is only a look-ahead. Branch-free comparisons, which
/// the compiler vectorises.
fn has_stop(window: &[u8; WINDOW + 1]) -> bool {
    let mut stop = false;
    for i in 0..WINDOW {
        let (byte, next) = (window[i], window[i + 1]);
        stop |= (byte < b' ')
            | (byte == 0x7f)
            | (byte == 0xc2)
            | (byte == 0xe2)
            | (byte == b'&')
            | ((byte == b' ') & (next <= b' '));
    }
    stop
}

/// Whether a run ends before the byte at `at`.
fn stops<const DECODE: bool>(bytes: &[u8], at: usize) -> bool {
    let byte = bytes[at];
    match CLASSES[byte as usize] {
        Class::Plain => false,
        Class::White => byte != b' ' || bytes.get(at + 1).is_some_and(|next| *next <= b' '),
        Class::Reference => DECODE,
        Class::Lead => is_special(&bytes[at..]),
    }
}

/// Whether a control character, no-break space, soft hyphen or zero-width space starts here.
fn is_special(bytes: &[u8]) -> bool {
    matches!(bytes, [0xc2, 0x80..=0xa0 | 0xad, ..] | [0xe2, 0x80, 0x8b, ..])
}

/// Decodes common numeric references such as `&#8217;` and `&#x2019;`. C0 and C1, which HTML remaps, are left to
/// the full table.
fn numeric(reference: &str) -> Option<char> {
    let digits = reference.strip_prefix("&#")?.strip_suffix(';')?;
    let (digits, radix) = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16),
        None => (digits, 10),
    };
    let code = u32::from_str_radix(digits, radix).ok()?;
    char::from_u32(code).filter(|c| matches!(c, ' '..='~') || *c >= '\u{a0}')
}
