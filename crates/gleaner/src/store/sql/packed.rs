//! Sources as one text, however many: a line each, as JSON.
//!
//! A source has fifty columns, and each costs more to hand over than to read: a copy, a lock, a look-up by name; and
//! each row wakes whoever waits for it. Lines of JSON cost a third, and wake once. What is usually not there, the state
//! of a source that fails, is absent where all is well. Bytes stand in hexadecimal. Absent on purpose: an order, which
//! an aggregate does not promise.

use std::sync::LazyLock;

use gleaner_core::health::{Disabled, Failing, Health, KindSet, PermanentRun, Quarantine};
use gleaner_core::outcome::{Cause, ErrorKind};
use gleaner_core::schedule::Hints;
use gleaner_core::source::{Interval, Kind};
use gleaner_core::time::{Span, Time};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer};
use sqlx::Row as _;

use super::super::{HEX, JSON, JSON_ARRAY, Row};
use super::{Query, garbled};
use crate::hex;
use crate::store::{Memory, Source, SourceSettings};

/// All of a source with its state and host, in the order of [`Packed`] and [`PackedHealth`].
static SELECT: LazyLock<String> = LazyLock::new(|| {
    let ([hex, end], [json, over]) = (HEX, JSON);
    format!(
        "SELECT string_agg(packed, '\n') FROM (SELECT CAST({JSON_ARRAY}(s.id, s.collection_id, s.url, s.kind, s.name, \
             s.poll_interval_minutes, s.poll_delay_seconds, s.article_selector, s.ignore_selector, s.full_content, \
             s.backfill, s.ignore_robots, s.policy, {hex}s.secret{end}, s.version, s.created_at, s.updated_at, \
             t.host_id, t.fence, t.next_poll_at, t.hold_until, t.last_polled_at, t.last_success_at, \
             {hex}t.etag{end}, {hex}t.last_modified{end}, t.body_hash, t.reader_version, t.hints, t.redirect, \
             t.cursor, h.name, h.slot, \
             {json}CASE WHEN t.status = 'healthy' THEN NULL ELSE {JSON_ARRAY}(t.enabled, t.disabled_reason, \
             t.consecutive_failures, t.failing_since, t.last_error_type, t.last_error_cause, t.last_error, \
             t.last_status_code, t.kind_run, t.kind_since, t.permanent_run, t.permanent_since, t.permanent_kinds, \
             t.quarantined_at, t.quarantine_reason, t.quarantined_by_hand, t.retry_at) END{over}) AS TEXT) \
             AS packed FROM {SOURCE_TABLES}"
    )
});

/// A query for sources, to be gone on with and ended by [`end_sources`]; `s`, `t` and `h` are their settings, state and
/// host.
pub(super) fn select_sources() -> Query {
    Query::new(SELECT.as_str())
}

/// The end of a query for sources.
pub(super) fn end_sources(query: &mut Query) {
    query.push(") q");
}

/// The sources that such a query finds, each with the id of its host, in no order.
pub(super) fn sources(row: &Row) -> sqlx::Result<Vec<(i64, Source)>> {
    let text: Option<&str> = row.try_get(0)?;
    text.into_iter().flat_map(|text| text.split('\n')).map(source).collect()
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
    #[serde(deserialize_with = "bytes")]
    secret: Option<Vec<u8>>,
    version: i64,
    created_at: i64,
    updated_at: i64,
    host_id: i64,
    fence: i64,
    next_poll_at: Option<i64>,
    hold_until: Option<i64>,
    last_polled_at: Option<i64>,
    last_success_at: Option<i64>,
    #[serde(deserialize_with = "bytes")]
    etag: Option<Vec<u8>>,
    #[serde(deserialize_with = "bytes")]
    last_modified: Option<Vec<u8>>,
    body_hash: Option<i64>,
    reader_version: Option<i64>,
    hints: Option<String>,
    redirect: Option<String>,
    cursor: Option<String>,
    host: String,
    slot: u32,
    health: Option<PackedHealth>,
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
    struct Flag;

    impl Visitor<'_> for Flag {
        type Value = bool;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("true or false")
        }

        fn visit_bool<E>(self, flag: bool) -> Result<bool, E> {
            Ok(flag)
        }

        fn visit_u64<E>(self, number: u64) -> Result<bool, E> {
            Ok(number != 0)
        }
    }

    from.deserialize_any(Flag)
}

/// Bytes in hexadecimal; none at all are none.
fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
    let text = Option::<String>::deserialize(from)?.filter(|text| !text.is_empty());
    let decoded = |text: String| hex::decode(&text).ok_or_else(|| D::Error::custom("no hexadecimal digits"));
    text.map(decoded).transpose()
}

/// A source from its line, with the id of its host.
fn source(line: &str) -> sqlx::Result<(i64, Source)> {
    let packed: Packed = serde_json::from_str(line).map_err(|error| garbled("source", error))?;
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
            secret: packed.secret,
        },
        health: Health {
            hold_until: time(packed.hold_until),
            last_polled_at: time(packed.last_polled_at),
            last_success_at: time(packed.last_success_at),
            ..packed.health.map(health).transpose()?.unwrap_or_default()
        },
        next_poll_at: time(packed.next_poll_at),
        memory: Memory {
            etag: packed.etag,
            last_modified: packed.last_modified,
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
