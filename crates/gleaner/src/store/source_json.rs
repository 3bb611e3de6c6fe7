//! Reads sources from the lines of JSON that `sql/source_json.rs` selects.

use gleaner_core::elsewhere::Elsewhere;
use gleaner_core::follow::PageCounts;
use gleaner_core::health::{CountedRun, Disabled, Failing, Health, Quarantine};
use gleaner_core::outcome::{Cause, ErrorKind, UnknownKind};
use gleaner_core::schedule::Hints;
use gleaner_core::suspect::Suspected;
use gleaner_core::time::Time;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::{AdaptiveState, Memory, Source, SourceSettings};
use crate::source_fields::StoredValue;

#[derive(Deserialize)]
struct Packed {
    id: i64,
    settings: SourceSettings,
    version: i64,
    created_at: i64,
    updated_at: i64,
    host_id: i64,
    fence: i64,
    next_poll_at: Option<i64>,
    hold_until: Option<i64>,
    last_polled_at: Option<i64>,
    last_success_at: Option<i64>,
    #[serde(deserialize_with = "StoredValue::decode")]
    etag: Option<Vec<u8>>,
    #[serde(deserialize_with = "StoredValue::decode")]
    last_modified: Option<Vec<u8>>,
    body_hash: Option<i64>,
    reader_version: Option<i64>,
    hints: Option<String>,
    redirect: Option<String>,
    cursor: Option<String>,
    habit: Option<String>,
    adaptive_class: Option<u8>,
    #[serde(deserialize_with = "suspected")]
    suspect: Option<Suspected>,
    #[serde(deserialize_with = "elsewhere")]
    elsewhere: Option<Elsewhere>,
    #[serde(deserialize_with = "suspected")]
    pages_suspect: Option<Suspected>,
    pages_waiting: i64,
    pages_failed: i64,
    pages_given_up: i64,
    host: String,
    slot: u32,
    #[serde(deserialize_with = "health")]
    health: Option<Health>,
}

#[derive(Deserialize)]
struct PackedHealth {
    #[serde(deserialize_with = "StoredValue::decode")]
    enabled: bool,
    disabled_reason: Option<String>,
    consecutive_failures: i64,
    failing_since: Option<i64>,
    last_error_type: Option<String>,
    last_error_cause: Option<String>,
    last_error: Option<String>,
    last_status_code: Option<u16>,
    excused_by: Option<String>,
    #[serde(deserialize_with = "counted_run")]
    counted_run: Option<CountedRun>,
    quarantined_at: Option<i64>,
    quarantine_reason: Option<String>,
    #[serde(deserialize_with = "StoredValue::decode")]
    quarantined_manually: bool,
    retry_at: Option<i64>,
    #[serde(deserialize_with = "StoredValue::decode")]
    awaiting_poll: bool,
}

/// What a source is suspected of, which the database keeps as JSON.
fn suspected<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Suspected>, D::Error> {
    json(from)
}

/// Where a dead feed may be now.
fn elsewhere<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Elsewhere>, D::Error> {
    json(from)
}

/// The failures that count.
fn counted_run<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CountedRun>, D::Error> {
    json(from)
}

fn json<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| serde_json::from_str(&text).map_err(D::Error::custom)).transpose()
}

/// A source from its line, with the id of its host.
pub(super) fn source(line: &str) -> serde_json::Result<(i64, Source)> {
    let packed: Packed = serde_json::from_str(line)?;
    let hints = packed.hints.as_deref().map_or(Ok(Hints::NONE), serde_json::from_str)?;
    let source = Source {
        id: packed.id,
        settings: packed.settings,
        health: Health {
            hold_until: time(packed.hold_until),
            last_polled_at: time(packed.last_polled_at),
            last_success_at: time(packed.last_success_at),
            ..packed.health.unwrap_or_default()
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
            habit: packed.habit.zip(packed.adaptive_class).and_then(|(habit, class)| {
                Some(AdaptiveState { habit: serde_json::from_str(&habit).ok()?, class })
            }),
        },
        suspect: packed.suspect,
        pages_suspect: packed.pages_suspect,
        pages: PageCounts {
            waiting: count(packed.pages_waiting),
            failed: count(packed.pages_failed),
            given_up: count(packed.pages_given_up),
        },
        elsewhere: packed.elsewhere,
        host: packed.host,
        slot: packed.slot,
        version: packed.version,
        fence: packed.fence,
        created_at: Time::from_millis(packed.created_at),
        updated_at: Time::from_millis(packed.updated_at),
    };
    Ok((packed.host_id, source))
}

/// What is held against a source; none: all is well. When it was polled stands elsewhere.
fn health<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Health>, D::Error> {
    let Some(state) = Option::<PackedHealth>::deserialize(from)? else { return Ok(None) };
    let failing = state.failing_since.map(|since| failing(&state, Time::from_millis(since))).transpose();
    let failing = failing.map_err(D::Error::custom)?;
    let quarantine = state.quarantined_at.map(|at| Quarantine {
        at: Time::from_millis(at),
        reason: state.quarantine_reason.unwrap_or_default(),
        retry_at: time(state.retry_at),
        by_hand: state.quarantined_manually,
    });
    let disabled = (!state.enabled).then_some(Disabled { reason: state.disabled_reason });
    let awaiting_poll = state.awaiting_poll;
    Ok(Some(Health { disabled, quarantine, failing, awaiting_poll, ..Health::default() }))
}

fn failing(state: &PackedHealth, since: Time) -> Result<Failing, UnknownKind> {
    let kind = match &state.last_error_type {
        Some(name) => {
            ErrorKind::from_parts(name, state.last_error_cause.as_deref().and_then(Cause::from_name))?
        }
        None => ErrorKind::Unexpected,
    };
    Ok(Failing {
        count: count(state.consecutive_failures),
        since,
        kind,
        status: state.last_status_code,
        message: state.last_error.clone().unwrap_or_default(),
        excused_by: state.excused_by.clone(),
        counted: state.counted_run,
    })
}

fn time(stored: Option<i64>) -> Option<Time> {
    stored.map(Time::from_millis)
}

pub(super) fn count(stored: i64) -> u32 {
    u32::try_from(stored.max(0)).unwrap_or(u32::MAX)
}
