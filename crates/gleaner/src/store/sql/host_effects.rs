//! Writes a verdict's effects beyond the polled source: the host's hold and memory, failures taken back, sources released.
//!
//! Few polls have any, so they are written one by one.

use std::collections::HashMap;

use gleaner_core::incident::TakenBack;
use gleaner_core::judgement::{Excuse, HostMemory};
use gleaner_core::time::Time;
use sqlx::Row as _;

use super::claim::settle_hosts;
use super::commit::insert_events;
use super::redraw::release_sources;
use super::state::{HEALTH, assignments, push_health};
use super::{Tx, ms, pieces, sql, with_values};
use crate::store::{HostEffects, Lease, NewEvent};

/// Writes effects, each with the lease and time of its poll.
pub(super) async fn write(
    tx: &mut Tx,
    host_effects: impl Iterator<Item = (Lease, Time, &HostEffects)>,
) -> sqlx::Result<()> {
    for (lease, at, host_effects) in host_effects {
        if let Some(memory) = &host_effects.memory {
            remember(tx, lease, memory, host_effects.lift_hold).await?;
        }
        let excuse = host_effects.excuse.as_ref();
        if let (Some((source_id, since)), Some(excuse)) = (host_effects.excused_since, excuse) {
            mark_polls(tx, source_id, (since, at), excuse).await?;
        }
        let mut taken_back: Vec<&TakenBack> = host_effects.taken_back.iter().collect();
        // In one order everywhere, so that two workers do not wait for each other.
        taken_back.sort_by_key(|taken| taken.asked.source);
        for (taken, excuse) in taken_back.into_iter().zip(excuse.into_iter().cycle()) {
            take_back(tx, taken, excuse, at).await?;
        }
        if let Some(release) = &host_effects.release {
            release_sources(tx, lease.host_id, release, at).await?;
        }
    }
    Ok(())
}

/// Writes the memory of a host; none where it is the default.
async fn remember(tx: &mut Tx, lease: Lease, memory: &HostMemory, lift_hold: bool) -> sqlx::Result<()> {
    let kept = HostMemory { latest_success: None, ..memory.clone() };
    let kept = (kept != HostMemory::default()).then(|| serde_json::to_string(&kept).unwrap_or_default());
    tx.execute(sql!("UPDATE hosts SET memory = $1 WHERE id = $2", kept, lease.host_id)).await?;
    if lift_hold {
        tx.execute(sql!("UPDATE hosts SET hold_until = NULL WHERE id = $1", lease.host_id)).await?;
    }
    Ok(())
}

/// Takes failures of a source back, unless it was polled or edited meanwhile. The fence is raised, so that a poll that began
/// from the former state is discarded.
async fn take_back(tx: &mut Tx, taken: &TakenBack, excuse: &(Excuse, String), at: Time) -> sqlx::Result<()> {
    let columns = format!("source_id, {HEALTH}");
    let mut query = with_values(&columns, std::slice::from_ref(taken), |list, taken| {
        list.push_bind(taken.asked.source);
        push_health(list, &taken.health, Some(taken.next_poll_at));
    });
    query.push(format!(
        "UPDATE source_state SET fence = source_state.fence + 1, {}
         FROM v WHERE source_state.source_id = v.source_id AND source_state.last_polled_at = v.last_polled_at
         AND source_state.fence = ",
        assignments(HEALTH)
    ));
    query.push_bind(taken.asked.fence).push(" RETURNING source_state.host_id");
    let Some(row) = tx.row(query).await? else { return Ok(()) };
    settle_hosts(tx, &[row.try_get(0)?]).await?;
    mark_polls(tx, taken.asked.source, (taken.first_at, taken.last_at), excuse).await?;
    match taken.event() {
        Some(_) => correct(tx, taken, at).await,
        None => Ok(()),
    }
}

/// Marks failures of a source in that time as excused.
async fn mark_polls(
    tx: &mut Tx,
    source_id: i64,
    (from, to): (Time, Time),
    (excuse, excused_by): &(Excuse, String),
) -> sqlx::Result<()> {
    tx.execute(sql!(
        "UPDATE polls SET excused = $1, excused_by = $2
         WHERE source_id = $3 AND outcome = 'failed' AND last_at BETWEEN $4 AND $5",
        excuse.name(),
        excused_by.as_str(),
        source_id,
        ms(from),
        ms(to),
    ))
    .await?;
    Ok(())
}

/// Writes events that correct earlier ones.
async fn correct(tx: &mut Tx, taken: &TakenBack, at: Time) -> sqlx::Result<()> {
    let row = tx.one(sql!("SELECT url FROM sources WHERE id = $1", taken.asked.source)).await?;
    let events = NewEvent::of_taken_back(row.try_get(0)?, taken);
    insert_events(tx, &events.into_iter().map(|event| (event, at)).collect::<Vec<_>>()).await
}

/// Writes the holds of hosts; the latest wins.
pub(super) async fn hold_hosts(
    tx: &mut Tx,
    asked: impl Iterator<Item = (Lease, Option<Time>)>,
) -> sqlx::Result<()> {
    let mut holds: HashMap<i64, i64> = HashMap::new();
    for (lease, until) in asked {
        if let Some(until) = until {
            let hold = holds.entry(lease.host_id).or_insert(i64::MIN);
            *hold = ms(until).max(*hold);
        }
    }
    for piece in pieces(&holds.into_iter().collect::<Vec<_>>()) {
        let mut query = with_values("host_id, hold_until", piece, |list, (host, until)| {
            list.push_bind(*host).push_bind(*until);
        });
        query.push(
            "UPDATE hosts SET hold_until = v.hold_until FROM v
             WHERE hosts.id = v.host_id AND (hosts.hold_until IS NULL OR hosts.hold_until < v.hold_until)",
        );
        tx.execute(query).await?;
    }
    Ok(())
}
