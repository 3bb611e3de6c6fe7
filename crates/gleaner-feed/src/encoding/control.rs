//! Control characters: they mean nothing in a feed, and XML forbids them.

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::xml::references::windows_1252;

/// The text without control characters but white space, and whether there were any.
///
/// Those of 0x80 to 0x9F are traces of a wrong conversion. Where they are bytes of UTF-8 that was taken for Latin-1
/// and converted once more, the first text is restored; elsewhere they are what Windows has in their place.
pub(super) fn without(text: Cow<'_, str>) -> (Cow<'_, str>, bool) {
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
            '\u{c2}'..='\u{f4}' if high => match converted_twice(character, rest.as_str()) {
                Some((meant, length)) => {
                    out.push(meant);
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

/// The character whose bytes in UTF-8 these characters are, and how many they are.
fn converted_twice(first: char, rest: &str) -> Option<(char, usize)> {
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
    let meant = std::str::from_utf8(&bytes[..length]).ok()?.chars().next()?;
    Some((meant, length))
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
