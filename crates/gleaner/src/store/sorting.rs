//! SortOrder lists, page by page. A page begins after a place in the order, not after a number of rows: each page costs the
//! same, and stays correct when rows are added or deleted.

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortOrder<O> {
    /// The column.
    pub by: O,
    /// Largest first.
    pub descending: bool,
}

/// What sources can be sorted by; ties by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceOrder {
    /// When they were added.
    Added,
    /// Their canonical URL.
    Address,
    /// Their next poll; those without one come after all others.
    NextPoll,
    /// Their last success; those that never had one come before all others.
    LastSuccess,
    /// How many failures in a row.
    Failures,
}

/// What hosts can be sorted by; ties by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostOrder {
    /// Their name.
    Name,
    /// How many of their sources are failing or quarantined; hosts without any are left out.
    Failing,
    /// How many sources they have; hosts without any are left out.
    Sources,
    /// When they are due; hosts that never are, are left out.
    Due,
}

/// The value that a row is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortKey {
    /// A time, a count or an id.
    Number(i64),
    /// An address or a name.
    Text(String),
}

/// A place in a sorted list: the value that a row is sorted by, and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortPosition {
    /// The value that the row is sorted by.
    pub key: SortKey,
    pub id: i64,
}

/// Which page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PagePosition {
    /// The first.
    #[default]
    First,
    /// The one after this place.
    After(SortPosition),
    /// The one before it.
    Before(SortPosition),
}
