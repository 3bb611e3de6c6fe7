//! Lists in an order of their reader's choice, page by page. A page begins beside a place, not after a number of rows:
//! it costs the same however far on it is, and stays true when things come and go.

/// What a list goes by, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sorted<O> {
    /// What it goes by.
    pub by: O,
    /// Whether it ends with the least.
    pub descending: bool,
}

/// What sources can be listed by; those that are alike, by id.
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

/// What hosts can be listed by; those that are alike, by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostOrder {
    /// Their name.
    Name,
    /// How many of their sources are failing or quarantined; hosts without any are left out.
    Failing,
    /// How many sources are asked from them; hosts without any are left out.
    Sources,
    /// When they are due; hosts that never are, are left out.
    Due,
}

/// What a row is ordered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A time, a count or an id.
    Number(i64),
    /// An address or a name.
    Text(String),
}

/// A place in such a list: what a row is ordered by, and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What the row is ordered by.
    pub key: Key,
    /// Its id.
    pub id: i64,
}

/// Which page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Turn {
    /// The first.
    #[default]
    First,
    /// The one after this place.
    After(Place),
    /// The one before it.
    Before(Place),
}
