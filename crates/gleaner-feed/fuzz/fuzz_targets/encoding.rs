//! Fuzzes decoding with any bytes and any `Content-Type`: the text has no control characters and a bounded length.

#![no_main]

use gleaner_feed::encoding::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &[u8])| {
    let (content_type, bytes) = input;
    let decoded = decode(bytes, Some(content_type));
    let is_control = |c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r');
    assert!(!decoded.text.contains(is_control));
    assert!(decoded.text.len() <= bytes.len() * 3 + 3);
    assert!(!decoded.encoding.is_empty());
});
