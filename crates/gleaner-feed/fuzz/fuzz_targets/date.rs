//! Any text: a time that a calendar knows, or none.

#![no_main]

use gleaner_feed::date::parse;
use libfuzzer_sys::fuzz_target;

/// The first and last moments that four digits of a year and an offset from Greenwich can name.
const FIRST: i64 = -62_170_000_000_000;
const LAST: i64 = 253_410_000_000_000;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Some(time) = parse(&text) {
        assert!((FIRST..=LAST).contains(&time), "{text:?} is {time}");
        assert!(text.trim().len() <= 128);
    }
});
