//! Names and classes as numbers, by which the items of one list are known to be alike.
//!
//! Absent on purpose: collisions that matter. Two lists taken for one would only share their fate.

use xxhash_rust::xxh3::xxh3_64;

/// A name in any case, as a number.
pub(super) fn name_key(name: &[u8]) -> u64 {
    name.iter().fold(0, |key: u64, byte| key.rotate_left(8) ^ u64::from(byte.to_ascii_lowercase()))
}

/// The name and those classes of an element that its neighbours in a list will have too.
pub(super) fn own_hash(name: &[u8], classes: &[u8]) -> u64 {
    let lasting = |class: &&[u8]| !class.is_empty() && !is_passing(class);
    classes
        .split(u8::is_ascii_whitespace)
        .filter(lasting)
        .take(20)
        .fold(name_key(name), |hash, class| hash.rotate_left(5) ^ xxh3_64(class))
}

/// Whether a class tells one item of a list from the next.
fn is_passing(class: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 7] = [b"category-", b"tag-", b"post-", b"format-", b"has-", b"is-", b"author-"];
    const WORDS: [&[u8]; 8] = [b"first", b"last", b"odd", b"even", b"active", b"alt", b"sticky", b"featured"];
    class.iter().any(u8::is_ascii_digit)
        || PREFIXES.iter().any(|prefix| class.starts_with(prefix))
        || WORDS.contains(&class)
}
