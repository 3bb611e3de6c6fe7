//! The schema's versions: numbered files, applied in order, forward only.

/// A step of the schema.
pub(super) struct Migration {
    /// From 1 up, without gaps.
    pub(super) version: i64,
    pub(super) sql: &'static str,
}

/// Lists the migrations of one database, so that the numbers are the same in both.
macro_rules! migrations {
    ($database:literal) => {
        &[$crate::store::migrate::Migration {
            version: 1,
            sql: include_str!(concat!("../../migrations/", $database, "/0001_initial.sql")),
        }]
    };
}

pub(super) use migrations;
