//! How sources and their state stand in rows.

use gleaner_core::health::{Disabled, Failing, Health, KindSet, PermanentRun, Quarantine};
use gleaner_core::outcome::{Cause, ErrorKind};
use gleaner_core::source::{Interval, Kind};
use gleaner_core::time::{Span, Time};
use sqlx::Row as _;

use super::super::Row;
use super::{Values, garbled, ms, opt_ms, opt_time, time};
use crate::store::{Memory, Source, SourceSettings};

/// All columns of a source with its state and host; `s`, `t` and `h` are their tables.
pub(super) const SOURCE: &str = "s.id, s.collection_id, s.url, s.kind, s.name, s.poll_interval_minutes, \
    s.poll_delay_seconds, s.article_selector, s.ignore_selector, s.full_content, s.backfill, s.ignore_robots, \
    s.policy, s.secret, s.version, s.created_at, s.updated_at, \
    t.host_id, t.fence, t.next_poll_at, t.enabled, t.disabled_reason, t.consecutive_failures, t.failing_since, \
    t.last_error_type, t.last_error_cause, t.last_error, t.last_status_code, t.kind_run, t.kind_since, \
    t.permanent_run, t.permanent_since, t.permanent_kinds, t.quarantined_at, t.quarantine_reason, \
    t.quarantined_by_hand, t.retry_at, t.hold_until, t.last_polled_at, t.last_success_at, \
    t.etag, t.last_modified, t.body_hash, t.reader_version, t.hints, t.redirect, t.cursor, h.name AS host_name, \
    h.slot AS host_slot";

/// The tables that [`SOURCE`] reads.
pub(super) const SOURCE_TABLES: &str =
    "sources s JOIN source_state t ON t.source_id = s.id JOIN hosts h ON h.id = t.host_id";

/// The columns that [`push_health`] fills, in its order.
pub(super) const HEALTH: &str = "next_poll_at, status, enabled, disabled_reason, consecutive_failures, \
    failing_since, last_failure_type, last_error_type, last_error_cause, last_error, last_status_code, kind_run, \
    kind_since, permanent_run, permanent_since, permanent_kinds, quarantined_at, quarantine_reason, \
    quarantined_by_hand, retry_at, hold_until, last_polled_at, last_success_at";

/// The columns that [`push_memory`] fills, in its order.
pub(super) const MEMORY: &str = "etag, last_modified, body_hash, reader_version, hints, redirect, cursor";

/// `column = v.column, …`.
pub(super) fn assignments(columns: &str) -> String {
    columns.split(", ").map(|column| format!("{column} = v.{column}")).collect::<Vec<_>>().join(", ")
}

/// Binds a state, in the order of [`HEALTH`].
pub(super) fn push_health(list: &mut Values<'_>, health: &Health, next: Option<Time>) {
    let row = health.failing.as_ref();
    let permanent = row.and_then(|row| row.permanent);
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
        .push_bind(row.map_or(0, |row| i64::from(row.kind_run)))
        .push_bind(row.map(|row| ms(row.kind_since)))
        .push_bind(permanent.map_or(0, |run| i64::from(run.count)))
        .push_bind(permanent.map(|run| ms(run.since)))
        .push_bind(permanent.map(|run| run.kinds.to_text()))
        .push_bind(held.map(|held| ms(held.at)))
        .push_bind(held.map(|held| held.reason.as_str()))
        .push_bind(held.is_some_and(|held| held.by_hand))
        .push_bind(held.and_then(|held| opt_ms(held.retry_at)))
        .push_bind(opt_ms(health.hold_until))
        .push_bind(opt_ms(health.last_polled_at))
        .push_bind(opt_ms(health.last_success_at));
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
        .push_bind(memory.cursor.as_deref());
}

/// A source from a row of [`SOURCE`].
pub(super) fn source(row: &Row) -> sqlx::Result<Source> {
    Ok(Source {
        id: row.try_get("id")?,
        settings: settings(row)?,
        health: health(row)?,
        next_poll_at: opt_time(row, "next_poll_at")?,
        memory: memory(row)?,
        host: row.try_get("host_name")?,
        slot: u32::try_from(row.try_get::<i64, _>("host_slot")?).unwrap_or(0),
        version: row.try_get("version")?,
        fence: row.try_get("fence")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(super) fn kind(row: &Row) -> sqlx::Result<Kind> {
    row.try_get::<&str, _>("kind")?.parse().map_err(|error| garbled("kind", error))
}

pub(super) fn poll_delay(row: &Row) -> sqlx::Result<Option<Span>> {
    let seconds: Option<i64> = row.try_get("poll_delay_seconds")?;
    Ok(seconds.map(|n| Span::from_secs(u64::try_from(n).unwrap_or(0))))
}

fn settings(row: &Row) -> sqlx::Result<SourceSettings> {
    Ok(SourceSettings {
        collection_id: row.try_get("collection_id")?,
        url: row.try_get("url")?,
        kind: kind(row)?,
        name: row.try_get("name")?,
        interval: Interval::from_stored(row.try_get("poll_interval_minutes")?),
        poll_delay: poll_delay(row)?,
        article_selector: row.try_get("article_selector")?,
        ignore_selector: row.try_get("ignore_selector")?,
        full_content: row.try_get("full_content")?,
        backfill: row.try_get("backfill")?,
        ignore_robots: row.try_get("ignore_robots")?,
        policy: row.try_get("policy")?,
        secret: row.try_get("secret")?,
    })
}

fn health(row: &Row) -> sqlx::Result<Health> {
    let enabled: bool = row.try_get("enabled")?;
    let quarantine = opt_time(row, "quarantined_at")?.map(|at| quarantine(row, at)).transpose()?;
    Ok(Health {
        disabled: if enabled { None } else { Some(Disabled { reason: row.try_get("disabled_reason")? }) },
        quarantine,
        failing: opt_time(row, "failing_since")?.map(|since| failing(row, since)).transpose()?,
        hold_until: opt_time(row, "hold_until")?,
        last_polled_at: opt_time(row, "last_polled_at")?,
        last_success_at: opt_time(row, "last_success_at")?,
    })
}

fn quarantine(row: &Row, at: Time) -> sqlx::Result<Quarantine> {
    Ok(Quarantine {
        at,
        reason: row.try_get::<Option<String>, _>("quarantine_reason")?.unwrap_or_default(),
        retry_at: opt_time(row, "retry_at")?,
        by_hand: row.try_get("quarantined_by_hand")?,
    })
}

fn failing(row: &Row, since: Time) -> sqlx::Result<Failing> {
    let permanent = match opt_time(row, "permanent_since")? {
        Some(since) => Some(PermanentRun {
            count: count(row, "permanent_run")?,
            since,
            kinds: KindSet::from_text(row.try_get::<Option<&str>, _>("permanent_kinds")?.unwrap_or_default()),
        }),
        None => None,
    };
    Ok(Failing {
        count: count(row, "consecutive_failures")?,
        since,
        kind: error_kind(row, "last_error_type", "last_error_cause")?.unwrap_or(ErrorKind::Unexpected),
        status: row.try_get::<Option<i64>, _>("last_status_code")?.and_then(|code| u16::try_from(code).ok()),
        message: row.try_get::<Option<String>, _>("last_error")?.unwrap_or_default(),
        kind_run: count(row, "kind_run")?,
        kind_since: opt_time(row, "kind_since")?.unwrap_or(since),
        permanent,
    })
}

fn count(row: &Row, column: &str) -> sqlx::Result<u32> {
    let count: i64 = row.try_get(column)?;
    Ok(u32::try_from(count.max(0)).unwrap_or(u32::MAX))
}

/// An error kind from its two columns.
pub(super) fn error_kind(row: &Row, kind: &str, cause: &str) -> sqlx::Result<Option<ErrorKind>> {
    let Some(name) = row.try_get::<Option<&str>, _>(kind)? else { return Ok(None) };
    let cause = row.try_get::<Option<&str>, _>(cause)?.and_then(Cause::from_name);
    ErrorKind::from_parts(name, cause).map(Some).map_err(|error| garbled(kind, error))
}

fn memory(row: &Row) -> sqlx::Result<Memory> {
    let hints = match row.try_get::<Option<&str>, _>("hints")? {
        Some(text) => serde_json::from_str(text).map_err(|error| garbled("hints", error))?,
        None => gleaner_core::schedule::Hints::NONE,
    };
    Ok(Memory {
        etag: row.try_get("etag")?,
        last_modified: row.try_get("last_modified")?,
        body_hash: row.try_get("body_hash")?,
        reader_version: row.try_get("reader_version")?,
        hints,
        redirect: row.try_get("redirect")?,
        cursor: row.try_get("cursor")?,
    })
}
