//! What a document holds, and what becomes of it: entries as read, posts as stored.

use sha2::{Digest, Sha256};

use crate::time::Time;

/// One item of a document, as a reader found it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The publisher's own identifier.
    pub guid: Option<String>,
    /// Where it is read, absolute.
    pub url: Option<String>,
    /// Plain text.
    pub title: Option<String>,
    /// HTML, as published.
    pub raw_content: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When, as the publisher says.
    pub published_at: Option<Time>,
    /// Whether `url` tells nothing apart, because each version of a page has it.
    pub shares_url: bool,
}

/// A post to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPost {
    /// The publisher's identifier; where there is none, what identifies it instead.
    pub guid: String,
    /// Where it is read.
    pub url: Option<String>,
    /// Plain text.
    pub title: Option<String>,
    /// Plain text.
    pub body: String,
    /// HTML, as published.
    pub raw_content: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When; none where unknown or not to be believed.
    pub published_at: Option<Time>,
    /// See [`content_hash`].
    pub content_hash: ContentHash,
}

/// SHA-256 of what a post says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// The first 64 bits: enough to tell the posts of one source apart.
    pub const fn key(self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        i64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// In lower-case hexadecimal.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// SHA-256 of the body text; of title and URL where the body is blank.
pub fn content_hash(title: Option<&str>, url: Option<&str>, body: &str) -> ContentHash {
    let mut sha = Sha256::new();
    if body.trim().is_empty() {
        sha.update(title.unwrap_or_default());
        sha.update("\n");
        sha.update(url.unwrap_or_default());
    } else {
        sha.update(body);
    }
    ContentHash(sha.finalize().into())
}

/// NUL has no place in text, and PostgreSQL refuses it.
pub(crate) fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_the_body_else_of_title_and_url() {
        let hex = |title, url, body| content_hash(title, url, body).to_hex();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(Some("any title"), None, "abc"), abc);
        assert_eq!(hex(None, Some("u"), "abc"), abc);
        assert_ne!(hex(Some("t"), Some("u"), " "), hex(Some("t"), Some("v"), " "));
        assert_eq!(content_hash(None, None, "abc").key(), 0xba78_16bf_8f01_cfea_u64 as i64);
    }
}
