//! A source as a row: most of it in one text, as JSON.
//!
//! A source has fifty columns, and each costs more to hand over than to read: a copy, a lock, a look-up by name. One
//! text of the same values costs a third. What is usually not there, the state of a source that fails, is a text of its
//! own, and absent where all is well. Bytes cannot stand in JSON, and stay columns.

use std::sync::LazyLock;

use gleaner_core::health::{Disabled, Failing, Health, KindSet, PermanentRun, Quarantine};
use gleaner_core::outcome::{Cause, ErrorKind};
use gleaner_core::schedule::Hints;
use gleaner_core::source::{Interval, Kind};
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Deserializer};
use sqlx::Row as _;

use super::super::{JSON_ARRAY, Row};
use super::{Query, garbled};
use crate::store::{Memory, Source, SourceSettings};

/// All of a source with its state and host, in the order of [`Packed`] and [`PackedHealth`].
static SELECT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT CAST({JSON_ARRAY}(s.id, s.collection_id, s.url, s.kind, s.name, s.poll_interval_minutes, \
             s.poll_delay_seconds, s.article_selector, s.ignore_selector, s.full_content, s.backfill, \
             s.ignore_robots, s.policy, s.version, s.created_at, s.updated_at, t.host_id, t.fence, \
             t.next_poll_at, t.hold_until, t.last_polled_at, t.last_success_at, t.body_hash, t.reader_version, \
             t.hints, t.redirect, t.cursor, h.name, h.slot) AS TEXT) AS packed, \
         CASE WHEN t.status = 'healthy' THEN NULL ELSE CAST({JSON_ARRAY}(t.enabled, t.disabled_reason, \
             t.consecutive_failures, t.failing_since, t.last_error_type, t.last_error_cause, t.last_error, \
             t.last_status_code, t.kind_run, t.kind_since, t.permanent_run, t.permanent_since, t.permanent_kinds, \
             t.quarantined_at, t.quarantine_reason, t.quarantined_by_hand, t.retry_at) AS TEXT) END AS health, \
         t.etag, t.last_modified, s.secret FROM {SOURCE_TABLES}"
    )
});

/// A query for sources, to be gone on with; `s`, `t` and `h` are their settings, state and host.
pub(super) fn select_source() -> Query {
    Query::new(SELECT.as_str())
}

/// The tables that a source is in.
pub(super) const SOURCE_TABLES: &str =
    "sources s JOIN source_state t ON t.source_id = s.id JOIN hosts h ON h.id = t.host_id";

#[derive(Deserialize)]
struct Packed {
    id: i64,
    collection_id: i64,
    url: String,
    kind: Kind,
    name: Option<String>,
    poll_interval_minutes: Option<i64>,
    poll_delay_seconds: Option<u64>,
    article_selector: Option<String>,
    ignore_selector: Option<String>,
    #[serde(deserialize_with = "flag")]
    full_content: bool,
    #[serde(deserialize_with = "flag")]
    backfill: bool,
    #[serde(deserialize_with = "flag")]
    ignore_robots: bool,
    policy: Option<String>,
    version: i64,
    created_at: i64,
    updated_at: i64,
    host_id: i64,
    fence: i64,
    next_poll_at: Option<i64>,
    hold_until: Option<i64>,
    last_polled_at: Option<i64>,
    last_success_at: Option<i64>,
    body_hash: Option<i64>,
    reader_version: Option<i64>,
    hints: Option<String>,
    redirect: Option<String>,
    cursor: Option<String>,
    host: String,
    slot: u32,
}

#[derive(Deserialize)]
struct PackedHealth {
    #[serde(deserialize_with = "flag")]
    enabled: bool,
    disabled_reason: Option<String>,
    consecutive_failures: i64,
    failing_since: Option<i64>,
    last_error_type: Option<String>,
    last_error_cause: Option<String>,
    last_error: Option<String>,
    last_status_code: Option<u16>,
    kind_run: i64,
    kind_since: Option<i64>,
    permanent_run: i64,
    permanent_since: Option<i64>,
    permanent_kinds: Option<String>,
    quarantined_at: Option<i64>,
    quarantine_reason: Option<String>,
    #[serde(deserialize_with = "flag")]
    quarantined_by_hand: bool,
    retry_at: Option<i64>,
}

/// True and false, which SQLite knows as 1 and 0.
fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Bool(bool),
        Number(i64),
    }
    Ok(match Flag::deserialize(from)? {
        Flag::Bool(flag) => flag,
        Flag::Number(number) => number != 0,
    })
}

/// A source from a row of [`select_source`].
pub(super) fn source(row: &Row) -> sqlx::Result<Source> {
    source_and_host(row).map(|(_, source)| source)
}

/// The same with the id of its host.
pub(super) fn source_and_host(row: &Row) -> sqlx::Result<(i64, Source)> {
    let packed: Packed =
        serde_json::from_str(row.try_get::<&str, _>(0)?).map_err(|error| garbled("source", error))?;
    let state: Option<PackedHealth> = match row.try_get::<Option<&str>, _>(1)? {
        Some(text) => Some(serde_json::from_str(text).map_err(|error| garbled("state", error))?),
        None => None,
    };
    let hints = match &packed.hints {
        Some(text) => serde_json::from_str(text).map_err(|error| garbled("hints", error))?,
        None => Hints::NONE,
    };
    let source = Source {
        id: packed.id,
        settings: SourceSettings {
            collection_id: packed.collection_id,
            url: packed.url,
            kind: packed.kind,
            name: packed.name,
            interval: Interval::from_stored(packed.poll_interval_minutes),
            poll_delay: packed.poll_delay_seconds.map(Span::from_secs),
            article_selector: packed.article_selector,
            ignore_selector: packed.ignore_selector,
            full_content: packed.full_content,
            backfill: packed.backfill,
            ignore_robots: packed.ignore_robots,
            policy: packed.policy,
            secret: row.try_get(4)?,
        },
        health: Health {
            hold_until: time(packed.hold_until),
            last_polled_at: time(packed.last_polled_at),
            last_success_at: time(packed.last_success_at),
            ..state.map(health).transpose()?.unwrap_or_default()
        },
        next_poll_at: time(packed.next_poll_at),
        memory: Memory {
            etag: row.try_get(2)?,
            last_modified: row.try_get(3)?,
            body_hash: packed.body_hash,
            reader_version: packed.reader_version,
            hints,
            redirect: packed.redirect,
            cursor: packed.cursor,
        },
        host: packed.host,
        slot: packed.slot,
        version: packed.version,
        fence: packed.fence,
        created_at: Time::from_millis(packed.created_at),
        updated_at: Time::from_millis(packed.updated_at),
    };
    Ok((packed.host_id, source))
}

fn health(state: PackedHealth) -> sqlx::Result<Health> {
    let failing = state.failing_since.map(|since| failing(&state, Time::from_millis(since))).transpose()?;
    let quarantine = state.quarantined_at.map(|at| Quarantine {
        at: Time::from_millis(at),
        reason: state.quarantine_reason.unwrap_or_default(),
        retry_at: time(state.retry_at),
        by_hand: state.quarantined_by_hand,
    });
    let disabled = (!state.enabled).then_some(Disabled { reason: state.disabled_reason });
    Ok(Health { disabled, quarantine, failing, ..Health::default() })
}

fn failing(state: &PackedHealth, since: Time) -> sqlx::Result<Failing> {
    let kind = match &state.last_error_type {
        Some(name) => {
            let cause = state.last_error_cause.as_deref().and_then(Cause::from_name);
            ErrorKind::from_parts(name, cause).map_err(|error| garbled("last_error_type", error))?
        }
        None => ErrorKind::Unexpected,
    };
    Ok(Failing {
        count: count(state.consecutive_failures),
        since,
        kind,
        status: state.last_status_code,
        message: state.last_error.clone().unwrap_or_default(),
        kind_run: count(state.kind_run),
        kind_since: time(state.kind_since).unwrap_or(since),
        permanent: state.permanent_since.map(|since| PermanentRun {
            count: count(state.permanent_run),
            since: Time::from_millis(since),
            kinds: KindSet::from_text(state.permanent_kinds.as_deref().unwrap_or_default()),
        }),
    })
}

fn time(stored: Option<i64>) -> Option<Time> {
    stored.map(Time::from_millis)
}

fn count(stored: i64) -> u32 {
    u32::try_from(stored.max(0)).unwrap_or(u32::MAX)
}
