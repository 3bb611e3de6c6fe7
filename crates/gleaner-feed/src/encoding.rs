//! Decodes a document's bytes to text. In order: byte order mark, `Content-Type`, XML declaration, detection. A
//! claimed encoding that the bytes contradict is ignored.

mod control;
mod wide;

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{
    CoderResult, Encoding, ISO_8859_2, ISO_8859_4, ISO_8859_13, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1250,
    WINDOWS_1252, WINDOWS_1254, WINDOWS_1257, WINDOWS_1258,
};

use crate::xml::references::windows_1252;

/// Bytes examined to detect the encoding.
const DETECTION_BYTES: usize = 256 * 1024;
/// With less than one non-ASCII letter in this many bytes, Latin alphabets cannot be told apart.
const SPARSE_RATIO: usize = 200;
/// Bytes searched for the XML declaration.
const DECLARATION_BYTES: usize = 1024;

/// A decoded document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without byte order mark and control characters; borrowed if the bytes are valid UTF-8.
    pub text: Cow<'a, str>,
    /// The encoding's name in the WHATWG Encoding Standard, or `UTF-32`.
    pub encoding: &'static str,
    /// Whether some bytes were not valid in the claimed encoding.
    pub repaired: bool,
    /// Whether control characters were removed.
    pub control_characters: bool,
}

/// Decodes a document. `content_type` is the `Content-Type` header, if any.
pub fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Decoded<'a> {
    let (text, encoding, repaired) = decode_bytes(bytes, content_type);
    let (text, control_characters) = control::remove(text);
    Decoded { text, encoding, repaired, control_characters }
}

/// Text, encoding name, and whether it was repaired.
type Decoding<'a> = (Cow<'a, str>, &'static str, bool);

fn decode_bytes<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Decoding<'a> {
    if let Some(found) = wide::utf_32(bytes) {
        return found;
    }
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_claimed(&bytes[mark..], Some(encoding));
    }
    if let Some(encoding) = wide::utf_16_without_mark(bytes) {
        let (text, errors) = decode_with(encoding, bytes);
        return (text, encoding.name(), errors);
    }
    let claimed = content_type.and_then(charset).or_else(|| declared(bytes));
    let wide = claimed.is_some_and(|claimed| claimed == UTF_16BE || claimed == UTF_16LE);
    let (text, encoding, repaired) = decode_claimed(bytes, claimed.filter(|_| !wide));
    (text, encoding, repaired || wide)
}

fn decode_claimed<'a>(bytes: &'a [u8], claimed: Option<&'static Encoding>) -> Decoding<'a> {
    if let Some(encoding) = claimed.filter(|claimed| !claimed.is_ascii_compatible()) {
        let (text, errors) = decode_with(encoding, bytes);
        return (text, encoding.name(), errors);
    }
    let legacy = claimed.filter(|claimed| *claimed != UTF_8);
    // Valid UTF-8 is borrowed; encoding_rs validates faster than the standard library.
    match (UTF_8.decode_without_bom_handling_and_without_replacement(bytes), legacy) {
        (Some(text), None) => (text, UTF_8.name(), false),
        (Some(text), Some(legacy)) if text.is_ascii() => (text, legacy.name(), false),
        (Some(text), Some(legacy)) => match valid_double_byte(bytes, &text, legacy) {
            Some(other) => (Cow::Owned(other), legacy.name(), false),
            None => (text, UTF_8.name(), true),
        },
        (None, Some(legacy)) => decode_legacy(bytes, legacy),
        (None, None) => decode_invalid_utf8(bytes, claimed.is_some()),
    }
}

/// Decodes text of a double-byte encoding that happens to be valid UTF-8 too, which only happens with few non-ASCII
/// characters.
fn valid_double_byte(bytes: &[u8], text: &str, legacy: &'static Encoding) -> Option<String> {
    let few = text.chars().filter(|c| !c.is_ascii()).take(4).count() < 4;
    if legacy.is_single_byte() || !few {
        return None;
    }
    legacy.decode_without_bom_handling_and_without_replacement(bytes).map(Cow::into_owned)
}

fn decode_legacy<'a>(bytes: &'a [u8], claimed: &'static Encoding) -> Decoding<'a> {
    // Only one decoded text at a time, since each is as large as the document.
    let (text, errors) = decode_with(claimed, bytes);
    if !errors {
        return (text, claimed.name(), false);
    }
    drop(text);
    let guess = detect(bytes);
    let (text, errors) = decode_with(guess, bytes);
    if !errors {
        return (text, guess.name(), true);
    }
    drop(text);
    (decode_with(claimed, bytes).0, claimed.name(), true)
}

/// Decodes in little more memory than the text needs; returns the text and whether there were errors.
fn decode_with(encoding: &'static Encoding, bytes: &[u8]) -> (Cow<'static, str>, bool) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let unit = if encoding.is_ascii_compatible() { 1 } else { 2 };
    let (mut text, mut rest, mut errors) = (String::new(), bytes, false);
    loop {
        text.reserve_exact(64 + rest.len() / unit + rest.len() / 16);
        let (result, read, replaced) = decoder.decode_to_string(rest, &mut text, true);
        rest = &rest[read..];
        errors |= replaced;
        if result == CoderResult::InputEmpty {
            return (Cow::Owned(text), errors);
        }
    }
}

/// Decodes bytes that should be UTF-8 and are not, or not entirely.
fn decode_invalid_utf8<'a>(bytes: &'a [u8], claimed: bool) -> Decoding<'a> {
    let (mut valid, mut invalid) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    if invalid > valid {
        let guess = match detect(bytes) {
            // Too few letters to tell Latin alphabets apart: assume the most common one.
            guess if invalid * SPARSE_RATIO < bytes.len() && is_latin(guess) => WINDOWS_1252,
            guess => guess,
        };
        let (text, errors) = decode_with(guess, bytes);
        return (text, guess.name(), claimed || errors);
    }
    // Mostly UTF-8 with a few invalid bytes, usually pasted from Windows: decode those as windows-1252.
    let mut text = String::with_capacity(bytes.len() + invalid * 2);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        match chunk.invalid() {
            [] => {}
            [byte] => text.push(windows_1252(*byte)),
            _ => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    (Cow::Owned(text), UTF_8.name(), true)
}

/// Whether this is a Latin encoding other than windows-1252.
fn is_latin(encoding: &'static Encoding) -> bool {
    [WINDOWS_1250, WINDOWS_1254, WINDOWS_1257, WINDOWS_1258, ISO_8859_2, ISO_8859_4, ISO_8859_13]
        .contains(&encoding)
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new();
    detector.feed(&bytes[..bytes.len().min(DETECTION_BYTES)], true);
    detector.guess(None, false)
}

/// The `charset` parameter of a `Content-Type`.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let label = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })?;
    Encoding::for_label(label.as_bytes())
}

/// The encoding named in the XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(DECLARATION_BYTES)];
    let start = memchr::memmem::find(head, b"<?xml")?;
    let declaration = &head[start..];
    let declaration = &declaration[..memchr::memchr(b'>', declaration).unwrap_or(declaration.len())];
    let after = memchr::memmem::find(declaration, b"encoding")? + "encoding".len();
    let value = declaration[after..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let label = value.split(|byte| b"\"'?> \t\r\n".contains(byte)).find(|label| !label.is_empty())?;
    Encoding::for_label(label)
}

#[cfg(test)]
mod tests;
