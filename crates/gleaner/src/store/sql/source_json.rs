//! Selects sources as lines of JSON.
//!
//! A source has fifty columns, and each costs more to hand over than to read: a copy, a lock, a look-up by name; and
//! each row wakes the waiting task. Lines of JSON cost a third, and wake it once. The state of failing sources is null for
//! healthy ones. Bytes are hexadecimal. The lines have no order, which an aggregate does not promise.

use std::sync::LazyLock;

use sqlx::Row as _;

use super::super::{HEX, JSON, JSON_ARRAY, Row};
use super::{Query, garbled};
use crate::source_fields::ColumnType;
use crate::store::{Source, SourceSettings, source_json};

/// What is held against a source, where that is anything; in the order of `PackedHealth`.
static HEALTH: LazyLock<String> = LazyLock::new(|| {
    let [json, over] = JSON;
    format!(
        "{json}CASE WHEN t.status = 'healthy' THEN NULL ELSE {JSON_ARRAY}(t.enabled, t.disabled_reason, \
         t.consecutive_failures, t.failing_since, t.last_error_type, t.last_error_cause, t.last_error, \
         t.last_status_code, t.excused_by, t.counted_run, t.quarantined_at, t.quarantine_reason, \
         t.quarantined_manually, t.retry_at, t.awaiting_poll) END{over}"
    )
});

/// All of a source with its state and host, in the order of `Packed`.
static ALL: LazyLock<String> = LazyLock::new(|| {
    let [hex, end] = HEX;
    let column = |(name, kind): &(&str, ColumnType)| match kind {
        ColumnType::Bytes => format!("{hex}s.{name}{end}"),
        ColumnType::Text | ColumnType::Integer | ColumnType::Flag => format!("s.{name}"),
    };
    let settings = SourceSettings::COLUMNS.iter().map(column).collect::<Vec<_>>().join(", ");
    format!(
        "s.id, {JSON_ARRAY}({settings}), s.version, s.created_at, s.updated_at, t.host_id, t.fence, t.next_poll_at, t.hold_until, \
         t.last_polled_at, t.last_success_at, {hex}t.etag{end}, {hex}t.last_modified{end}, t.body_hash, \
         t.reader_version, t.hints, t.redirect, t.cursor, t.adaptive_state, t.adaptive_class, t.suspect, t.relocation, t.pages_suspect, \
         t.pages_waiting, t.pages_failed, t.pages_given_up, h.name, h.slot"
    )
});

static SELECT_SOURCES: LazyLock<String> = LazyLock::new(|| {
    let (columns, health) = (ALL.as_str(), HEALTH.as_str());
    format!(
        "SELECT string_agg(packed, '\n') FROM (SELECT CAST({JSON_ARRAY}({columns}, {health}) AS TEXT) AS packed \
         FROM {SOURCE_TABLES}"
    )
});

/// A query for sources, to be gone on with and ended by [`end_sources`]; `s`, `t` and `h` are their settings, state and
/// host.
pub(super) fn select_sources() -> Query {
    Query::new(SELECT_SOURCES.as_str())
}

/// The end of a query for sources.
pub(super) fn end_sources(query: &mut Query) {
    query.push(") q");
}

/// The sources that a query of [`select_sources`] finds, each with the id of its host, in no order.
pub(super) fn sources(row: &Row) -> sqlx::Result<Vec<(i64, Source)>> {
    let text: Option<&str> = row.try_get(0)?;
    let lines = text.into_iter().flat_map(|text| text.split('\n'));
    lines.map(|line| source_json::source(line).map_err(|error| garbled("source", error))).collect()
}

/// The tables that a source is in.
pub(super) const SOURCE_TABLES: &str =
    "sources s JOIN source_state t ON t.source_id = s.id JOIN hosts h ON h.id = t.host_id";
