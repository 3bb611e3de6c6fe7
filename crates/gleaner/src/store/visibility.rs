//! Limits queries to the collections that a caller may see.

/// A limit on collections, which every list takes. The default limits nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Visibility {
    /// Private collections of others than this user are left out; none: an admin, who sees all.
    pub user_id: Option<i64>,
    /// Nothing but these collections; none: no such limit.
    pub only: Option<Vec<i64>>,
}

impl Visibility {
    /// Whether nothing is left out.
    pub const fn is_everything(&self) -> bool {
        self.user_id.is_none() && self.only.is_none()
    }
}
