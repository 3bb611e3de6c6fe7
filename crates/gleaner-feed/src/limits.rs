//! Bounds on what one document may cost. Every one of them is an argument, none is a constant in the reader.

/// How much of a document is read. What lies beyond is dropped and told by [`Repairs`](crate::Repairs).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries kept, the first ones of the document (10,000).
    pub entries: usize,
    /// Bytes kept of any one text (1 MiB).
    pub field_bytes: usize,
    /// Open elements remembered (128). Deeper elements are still read, but their nesting is forgotten.
    pub depth: usize,
    /// Bytes of a document that is read at all (64 MiB); a longer one is an error.
    pub total_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 10_000, field_bytes: 1 << 20, depth: 128, total_bytes: 64 << 20 }
    }
}

impl Limits {
    /// Values kept in any one list of an entry or a feed (links, categories, people ...): a fixed bound, because
    /// no real feed comes near it and because a list has no other limit than the document's size.
    pub(crate) const LIST: usize = 1_000;
}
