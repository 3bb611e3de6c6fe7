//! Control characters: they mean nothing in a feed, and XML forbids them.

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::xml::references::windows_1252;

/// The text without control characters but white space, and whether there were any. Those of 0x80 to 0x9F are what
/// a wrong conversion made of Windows' quotation marks and dashes, and become these again.
pub(super) fn without(text: Cow<'_, str>) -> (Cow<'_, str>, bool) {
    if !has_low(text.as_bytes()) && !has_high(text.as_bytes()) {
        return (text, false);
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' | '\n' | '\r' => out.push(character),
            '\0'..' ' | '\u{7f}' => {}
            '\u{80}'..='\u{9f}' => out.push(windows_1252(character as u8)),
            _ => out.push(character),
        }
    }
    (Cow::Owned(out), true)
}

/// Without branches, so that it is done many bytes at a time.
fn has_low(bytes: &[u8]) -> bool {
    bytes.chunks(4096).any(|chunk| {
        let found = chunk.iter().fold(0u8, |found, &byte| {
            let white = (byte == b'\t') | (byte == b'\n') | (byte == b'\r');
            found | (u8::from(byte < b' ') & u8::from(!white)) | u8::from(byte == 0x7f)
        });
        found != 0
    })
}

fn has_high(bytes: &[u8]) -> bool {
    memchr_iter(0xC2, bytes).any(|at| bytes.get(at + 1).is_some_and(|next| *next < 0xA0))
}
