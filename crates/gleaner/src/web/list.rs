//! Lists, a page at a time, by a cursor that stays true when things are added meanwhile.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How many a page has where nobody says.
const USUAL: u32 = 50;
/// How many a page has at most.
pub(super) const MOST: u32 = 500;

/// Which page.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Limit {
    /// How many to list; 50 where it is not said, 500 at most.
    #[serde(default, deserialize_with = "within")]
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// Where to go on: `next_cursor` of the page before.
    pub cursor: Option<i64>,
}

impl Limit {
    /// How many.
    pub fn count(&self) -> u32 {
        self.limit.unwrap_or(USUAL).clamp(1, MOST)
    }
}

/// Reads how many to list, where that is neither none nor too many.
pub(super) fn within<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(from)? {
        Some(0) => Err(D::Error::custom("limit is at least 1")),
        Some(limit) if limit > MOST => Err(D::Error::custom(format!("limit is at most {MOST}"))),
        limit => Ok(limit),
    }
}

/// A page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins; none: this was the last.
    pub next_cursor: Option<i64>,
}

impl<T> Page<T> {
    /// A page of what was read, one more than it holds, so that it is known whether another follows.
    pub fn of<R>(mut rows: Vec<R>, limit: &Limit, id: impl Fn(&R) -> i64, show: impl Fn(R) -> T) -> Self {
        let count = limit.count() as usize;
        let more = rows.len() > count;
        rows.truncate(count);
        let next_cursor = rows.last().filter(|_| more).map(id);
        Self { items: rows.into_iter().map(show).collect(), next_cursor }
    }

    /// All there is.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}
