//! UTF-16 and UTF-32, with or without a byte order mark.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// Decodes UTF-32, recognised by the first character.
pub(super) fn utf_32(bytes: &[u8]) -> Option<super::Decoding<'_>> {
    let decode = match *bytes.first_chunk::<4>()? {
        [0, 0, 0xFE, 0xFF] => u32::from_be_bytes,
        [0xFF, 0xFE, 0, 0] => u32::from_le_bytes,
        [0, 0, 0, first] if first != 0 => u32::from_be_bytes,
        [first, 0, 0, 0] if first != 0 => u32::from_le_bytes,
        _ => return None,
    };
    let mut text = String::with_capacity(bytes.len() / 4);
    let (units, rest) = bytes.as_chunks::<4>();
    let mut errors = !rest.is_empty();
    for unit in units {
        match char::from_u32(decode(*unit)) {
            Some('\u{feff}') => {}
            Some(character) => text.push(character),
            None => {
                errors = true;
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
    Some((Cow::Owned(text), "UTF-32", errors))
}

/// Recognises UTF-16 without a byte order mark: every other byte of the first two characters is zero.
pub(super) fn utf_16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    match *bytes.first_chunk::<4>()? {
        [0, a, 0, b] if a != 0 && b != 0 => Some(UTF_16BE),
        [a, 0, b, 0] if a != 0 && b != 0 => Some(UTF_16LE),
        _ => None,
    }
}
