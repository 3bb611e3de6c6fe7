//! What differs between the SQL of the two databases, side by side.

/// Declares each constant for SQLite and for PostgreSQL.
macro_rules! dialect {
    ($($(#[$doc:meta])* $name:ident: $type:ty = { sqlite: $sqlite:expr, postgres: $postgres:expr },)*) => {
        pub(super) mod sqlite {
            pub(in crate::store) use super::fts5_query as text_query;
            $($(#[$doc])* pub(in crate::store) const $name: $type = $sqlite;)*
        }
        pub(super) mod postgres {
            pub(in crate::store) use super::tsquery as text_query;
            $($(#[$doc])* pub(in crate::store) const $name: $type = $postgres;)*
        }
    };
}

dialect! {
    /// Begins a transaction. SQLite takes the write lock at once: a transaction that reads first and writes later may find another in
    /// between.
    BEGIN: &str = {
        sqlite: "BEGIN IMMEDIATE",
        postgres: "BEGIN"
    },
    /// Claims of several workers step around each other. SQLite has one writer, so that nothing can be locked by another.
    SKIP_LOCKED: &str = {
        sqlite: "",
        postgres: " FOR UPDATE SKIP LOCKED"
    },
    /// A commit holds what its lease rests on, so that no claim slips in between check and write. Sources before hosts, as
    /// everybody locks them.
    LOCK: &str = {
        sqlite: "",
        postgres: " FOR NO KEY UPDATE OF t, h"
    },
    /// The second of two transactions that want the same row waits.
    ROW_LOCK: &str = {
        sqlite: "",
        postgres: " FOR UPDATE"
    },
    /// Holds the states of sources, `t`, that are read in order to be written.
    STATE_LOCK: &str = {
        sqlite: "",
        postgres: " FOR NO KEY UPDATE OF t"
    },
    /// One process at a time migrates; the number only names the lock.
    MIGRATION_LOCK: &str = {
        sqlite: "SELECT 1",
        postgres: "SELECT 1 FROM pg_advisory_xact_lock(7214509873)"
    },
    JSON_ARRAY: &str = {
        sqlite: "json_array",
        postgres: "json_build_array"
    },
    /// Around a value that is JSON already.
    JSON: [&str; 2] = {
        sqlite: ["json(", ")"],
        postgres: ["", ""]
    },
    /// Around bytes that are to become hexadecimal digits.
    HEX: [&str; 2] = {
        sqlite: ["hex(", ")"],
        postgres: ["encode(", ", 'hex')"]
    },
    /// The host that an event's payload names.
    PAYLOAD_HOST: &str = {
        sqlite: "json_extract(outbox.payload, '$.host')",
        postgres: "(CAST(outbox.payload AS json) ->> 'host')"
    },
    EXPLAIN: &str = {
        sqlite: "EXPLAIN QUERY PLAN ",
        postgres: "EXPLAIN "
    },
    /// The column of a plan's text.
    PLAN_COLUMN: usize = {
        sqlite: 3,
        postgres: 0
    },
    /// The id of an indexed post.
    TEXT_ID: &str = {
        sqlite: "post_text.rowid",
        postgres: "post_text.post_id"
    },
    /// The columns that an indexed post is written to…
    TEXT_COLUMNS: &str = {
        sqlite: "rowid, words",
        postgres: "post_id, document"
    },
    /// …and what is written there for its words.
    TEXT_VALUE: &str = {
        sqlite: "v.words",
        postgres: "to_tsvector('simple', v.words)"
    },
    /// Around the words that are searched for.
    MATCHES: [&str; 2] = {
        sqlite: ["post_text MATCH ", ""],
        postgres: ["post_text.document @@ to_tsquery('simple', ", ")"]
    },
}

/// A full-text query of SQLite for posts that have all phrases. Words are letters and digits only.
pub(super) fn fts5_query(phrases: &[String]) -> String {
    phrases.iter().map(|phrase| format!("\"{phrase}\"")).collect::<Vec<_>>().join(" ")
}

/// The same of PostgreSQL.
pub(super) fn tsquery(phrases: &[String]) -> String {
    let phrase =
        |words: &String| words.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" <-> ");
    phrases.iter().map(phrase).collect::<Vec<_>>().join(" & ")
}
