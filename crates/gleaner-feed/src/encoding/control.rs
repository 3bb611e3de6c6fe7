//! Removes control characters: they have no meaning in a feed, and XML forbids them.

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::xml::references::windows_1252;

/// Removes control characters other than white space; returns whether there were any.
///
/// Characters 0x80 to 0x9F are traces of a wrong conversion. Where they are the bytes of UTF-8 that was decoded as
/// Latin-1 and encoded again, the original text is restored; elsewhere they are decoded as windows-1252.
pub(super) fn remove(text: Cow<'_, str>) -> (Cow<'_, str>, bool) {
    let high = has_high(text.as_bytes());
    if !high && !has_low(text.as_bytes()) {
        return (text, false);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\t' | '\n' | '\r' => out.push(character),
            '\0'..' ' | '\u{7f}' => {}
            '\u{c2}'..='\u{f4}' if high => match double_encoded(character, rest.as_str()) {
                Some((original, length)) => {
                    out.push(original);
                    rest.nth(length - 2);
                }
                None => out.push(character),
            },
            '\u{80}'..='\u{9f}' => out.push(windows_1252(character as u8)),
            _ => out.push(character),
        }
    }
    (Cow::Owned(out), true)
}

/// The character that these characters encode if taken as UTF-8 bytes, and their number.
fn double_encoded(first: char, rest: &str) -> Option<(char, usize)> {
    let length = match first {
        '\u{c2}'..='\u{df}' => 2,
        '\u{e0}'..='\u{ef}' => 3,
        _ => 4,
    };
    let mut bytes = [first as u8, 0, 0, 0];
    let mut following = rest.chars();
    for byte in &mut bytes[1..length] {
        *byte = following.next().filter(|next| ('\u{80}'..='\u{bf}').contains(next))? as u8;
    }
    let original = std::str::from_utf8(&bytes[..length]).ok()?.chars().next()?;
    Some((original, length))
}

/// Branch-free, so that the compiler vectorises it.
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
