//! Fuzzes date parsing with any text.

#![no_main]

use gleaner_feed::date::parse;
use libfuzzer_sys::fuzz_target;

/// The range of times that a four-digit year with a UTC offset can express.
const FIRST: i64 = -62_170_000_000_000;
const LAST: i64 = 253_410_000_000_000;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Some(time) = parse(&text) {
        assert!((FIRST..=LAST).contains(&time), "{text:?} is {time}");
        assert!(text.trim().len() <= 128);
    }
});
