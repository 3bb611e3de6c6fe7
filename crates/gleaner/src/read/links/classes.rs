//! Hashes of element names and classes, to recognise the items of one list. Collisions do no harm: two lists would
//! be treated as one.

use xxhash_rust::xxh3::xxh3_64;

/// Hash of a lower-cased name.
pub(super) fn name_key(name: &[u8]) -> u64 {
    name.iter().fold(0, |key: u64, byte| key.rotate_left(8) ^ u64::from(byte.to_ascii_lowercase()))
}

/// Hash of an element's name and those classes that its neighbours in a list share.
pub(super) fn own_hash(name: &[u8], classes: &[u8]) -> u64 {
    let is_shared = |class: &&[u8]| !class.is_empty() && !is_item_specific(class);
    classes
        .split(u8::is_ascii_whitespace)
        .filter(is_shared)
        .take(20)
        .fold(name_key(name), |hash, class| hash.rotate_left(5) ^ xxh3_64(class))
}

/// Whether a class distinguishes one item of a list from the next.
fn is_item_specific(class: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 7] = [b"category-", b"tag-", b"post-", b"format-", b"has-", b"is-", b"author-"];
    const WORDS: [&[u8]; 8] = [b"first", b"last", b"odd", b"even", b"active", b"alt", b"sticky", b"featured"];
    class.iter().any(u8::is_ascii_digit)
        || PREFIXES.iter().any(|prefix| class.starts_with(prefix))
        || WORDS.contains(&class)
}
