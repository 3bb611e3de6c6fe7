//! From bytes to text: the byte order mark, then the server's word, then the document's, then what the bytes look
//! like; and whatever was claimed, what the bytes can not be is not believed.

mod control;
mod wide;

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{
    CoderResult, Encoding, ISO_8859_2, ISO_8859_4, ISO_8859_13, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1250,
    WINDOWS_1252, WINDOWS_1254, WINDOWS_1257, WINDOWS_1258,
};

use crate::xml::references::windows_1252;

/// How much of a document is looked at to guess its encoding.
const DETECTED: usize = 256 * 1024;
/// One letter in so many bytes of a document, markup and all, is too few to tell Latin alphabets apart.
const SPARSE: usize = 200;
/// How far into a document its declaration may be.
const DECLARED: usize = 1024;

/// A document as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without byte order mark and without control characters; borrowed where the bytes are sound UTF-8.
    pub text: Cow<'a, str>,
    /// The encoding by its name in the WHATWG Encoding Standard, or `UTF-32`.
    pub encoding: &'static str,
    /// Whether the bytes were not in the encoding that was claimed, or not wholly.
    pub repaired: bool,
    /// Whether control characters were taken out.
    pub control_characters: bool,
}

/// Decodes a document. `content_type` is the server's header, if there is one.
pub fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Decoded<'a> {
    let (text, encoding, repaired) = decode_bytes(bytes, content_type);
    let (text, control_characters) = control::without(text);
    Decoded { text, encoding, repaired, control_characters }
}

type Found<'a> = (Cow<'a, str>, &'static str, bool);

fn decode_bytes<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Found<'a> {
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

fn decode_claimed<'a>(bytes: &'a [u8], claimed: Option<&'static Encoding>) -> Found<'a> {
    if let Some(encoding) = claimed.filter(|claimed| !claimed.is_ascii_compatible()) {
        let (text, errors) = decode_with(encoding, bytes);
        return (text, encoding.name(), errors);
    }
    let legacy = claimed.filter(|claimed| *claimed != UTF_8);
    // Sound UTF-8 is borrowed; this way it is also checked faster than by the standard library.
    match (UTF_8.decode_without_bom_handling_and_without_replacement(bytes), legacy) {
        (Some(text), None) => (text, UTF_8.name(), false),
        (Some(text), Some(legacy)) if text.is_ascii() => (text, legacy.name(), false),
        (Some(text), Some(legacy)) => match sound_double_byte(bytes, &text, legacy) {
            Some(other) => (Cow::Owned(other), legacy.name(), false),
            None => (text, UTF_8.name(), true),
        },
        (None, Some(legacy)) => decode_legacy(bytes, legacy),
        (None, None) => decode_unsound(bytes, claimed.is_some()),
    }
}

/// Text of a double-byte encoding that happens to be UTF-8 too; only a few characters ever are.
fn sound_double_byte(bytes: &[u8], text: &str, legacy: &'static Encoding) -> Option<String> {
    let few = text.chars().filter(|c| !c.is_ascii()).take(4).count() < 4;
    if legacy.is_single_byte() || !few {
        return None;
    }
    legacy.decode_without_bom_handling_and_without_replacement(bytes).map(Cow::into_owned)
}

fn decode_legacy<'a>(bytes: &'a [u8], claimed: &'static Encoding) -> Found<'a> {
    // One text at a time: each is as large as the document.
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

/// The text and whether there were errors, in little more memory than the text needs.
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

/// Bytes that should be UTF-8 and are not, or not wholly.
fn decode_unsound<'a>(bytes: &'a [u8], claimed: bool) -> Found<'a> {
    let (mut sound, mut unsound) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        sound += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        unsound += usize::from(!chunk.invalid().is_empty());
    }
    if unsound > sound {
        let guess = match detect(bytes) {
            // So few strange letters tell no Latin alphabet from another; then the commonest is meant.
            guess if unsound * SPARSE < bytes.len() && is_latin(guess) => WINDOWS_1252,
            guess => guess,
        };
        let (text, errors) = decode_with(guess, bytes);
        return (text, guess.name(), claimed || errors);
    }
    // UTF-8 with a few strangers: mostly pasted from Windows, so that is what they are read as.
    let mut text = String::with_capacity(bytes.len() + unsound * 2);
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

/// Whether an encoding has Latin letters and some others with marks, but is not the commonest.
fn is_latin(encoding: &'static Encoding) -> bool {
    [WINDOWS_1250, WINDOWS_1254, WINDOWS_1257, WINDOWS_1258, ISO_8859_2, ISO_8859_4, ISO_8859_13]
        .contains(&encoding)
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new();
    detector.feed(&bytes[..bytes.len().min(DETECTED)], true);
    detector.guess(None, false)
}

/// The `charset` of a `Content-Type`.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let label = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })?;
    Encoding::for_label(label.as_bytes())
}

/// The encoding that an XML declaration gives.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(DECLARED)];
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
