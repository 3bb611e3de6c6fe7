//! Columns of source states.

use gleaner_core::health::Health;
use gleaner_core::outcome::{Cause, ErrorKind};
use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::Row;
use super::{Values, garbled, ms, opt_ms};
use crate::store::Memory;

/// The columns that [`push_health`] fills, in its order.
pub(super) const HEALTH: &str = "next_poll_at, status, enabled, disabled_reason, consecutive_failures, \
    failing_since, last_failure_type, last_error_type, last_error_cause, last_error, last_status_code, excused_by, \
    counted_run, quarantined_at, quarantine_reason, quarantined_manually, retry_at, hold_until, last_polled_at, \
    last_success_at, awaiting_poll";

/// The columns that [`push_memory`] fills, in its order.
pub(super) const MEMORY: &str = "etag, last_modified, body_hash, reader_version, hints, redirect, cursor, \
    adaptive_state, adaptive_class";

/// `column = v.column, …`.
pub(super) fn assignments(columns: &str) -> String {
    columns.split(", ").map(|column| format!("{column} = v.{column}")).collect::<Vec<_>>().join(", ")
}

/// Binds a state, in the order of [`HEALTH`].
pub(super) fn push_health(list: &mut Values<'_>, health: &Health, next: Option<Time>) {
    let row = health.failing.as_ref();
    let counted = row.and_then(|row| row.counted.as_ref());
    let held = health.quarantine.as_ref();
    list.push_bind(opt_ms(next))
        .push_bind(health.status().name())
        .push_bind(health.disabled.is_none())
        .push_bind(health.disabled.as_ref().and_then(|disabled| disabled.reason.as_deref()))
        .push_bind(row.map_or(0, |row| i64::from(row.count)))
        .push_bind(row.map(|row| ms(row.since)))
        .push_bind(row.map(|row| row.class().name()))
        .push_bind(row.map(|row| row.kind.name()))
        .push_bind(row.and_then(|row| row.kind.cause()).map(Cause::name))
        .push_bind(row.map(|row| row.message.as_str()))
        .push_bind(row.and_then(|row| row.status).map(i64::from))
        .push_bind(row.and_then(|row| row.excused_by.as_deref()))
        .push_bind(counted.map(|run| serde_json::to_string(run).unwrap_or_default()))
        .push_bind(held.map(|held| ms(held.at)))
        .push_bind(held.map(|held| held.reason.as_str()))
        .push_bind(held.is_some_and(|held| held.by_hand))
        .push_bind(held.and_then(|held| opt_ms(held.retry_at)))
        .push_bind(opt_ms(health.hold_until))
        .push_bind(opt_ms(health.last_polled_at))
        .push_bind(opt_ms(health.last_success_at))
        .push_bind(health.awaiting_poll);
}

/// Binds what is remembered of a server, in the order of [`MEMORY`].
pub(super) fn push_memory(list: &mut Values<'_>, memory: &Memory) {
    let hints = (memory.hints != gleaner_core::schedule::Hints::NONE)
        .then(|| serde_json::to_string(&memory.hints).unwrap_or_default());
    list.push_bind(memory.etag.as_deref())
        .push_bind(memory.last_modified.as_deref())
        .push_bind(memory.body_hash)
        .push_bind(memory.reader_version)
        .push_bind(hints)
        .push_bind(memory.redirect.as_deref())
        .push_bind(memory.cursor.as_deref())
        .push_bind(memory.habit.as_ref().map(|kept| serde_json::to_string(&kept.habit).unwrap_or_default()))
        .push_bind(memory.habit.as_ref().map(|kept| i64::from(kept.class)));
}

pub(super) fn kind(row: &Row) -> sqlx::Result<Kind> {
    row.try_get::<&str, _>("kind")?.parse().map_err(|error| garbled("kind", error))
}

pub(super) fn poll_delay(row: &Row) -> sqlx::Result<Option<Span>> {
    let seconds: Option<i64> = row.try_get("poll_delay_seconds")?;
    Ok(seconds.map(|n| Span::from_secs(u64::try_from(n).unwrap_or(0))))
}

/// An error kind from its two columns.
pub(super) fn error_kind(row: &Row, kind: &str, cause: &str) -> sqlx::Result<Option<ErrorKind>> {
    let Some(name) = row.try_get::<Option<&str>, _>(kind)? else { return Ok(None) };
    let cause = row.try_get::<Option<&str>, _>(cause)?.and_then(Cause::from_name);
    ErrorKind::from_parts(name, cause).map(Some).map_err(|error| garbled(kind, error))
}
