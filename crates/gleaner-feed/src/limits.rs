//! Limits on what one document may cost. All are parameters, except the list length.

/// Limits on what is read of a document. What exceeds them is dropped and reported by [`Repairs`](crate::Repairs).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of entries; the first ones are kept (10,000).
    pub entries: usize,
    /// Maximum bytes of any one text (1 MiB).
    pub field_bytes: usize,
    /// Maximum tracked nesting depth (128). Deeper elements are still read, but their nesting is not tracked.
    pub depth: usize,
    /// Maximum bytes of a document (64 MiB); a longer one is an error.
    pub total_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 10_000, field_bytes: 1 << 20, depth: 128, total_bytes: 64 << 20 }
    }
}

impl Limits {
    /// Maximum values in any one list of an entry or feed (links, categories, people). Fixed, because real feeds
    /// stay far below it.
    pub(crate) const LIST: usize = 1_000;
}
