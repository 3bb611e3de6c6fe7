//! Health decisions: from a poll's outcome to the source's next state.
//!
//! Pure: no I/O, no clock, no randomness; `now` and `jitter` arrive as values. Everything a policy can do is in
//! its table.

use super::{Decision, Disabled, Failing, Health, KindSet, Quarantine, Status, StatusEvent, StatusEventKind};
use crate::outcome::{ErrorKind, Failure, Outcome};
use crate::policy::{Aside, Then};
use crate::schedule::{self, Next, Situation, Why};
use crate::time::{Jitter, Span, Time};

/// What follows from a poll that ended at `now`.
pub fn decide(at: &Situation<'_>, outcome: &Outcome, now: Time, jitter: Jitter) -> Decision {
    let hold_until = outcome.retry_after().map(|span| now + span.min(schedule::LONGEST_HOLD));
    let internal = outcome.failure().is_some_and(|failure| failure.kind == ErrorKind::Internal);
    let awaiting_poll = at.health.awaiting_poll && internal;
    let health = Health { hold_until, last_polled_at: Some(now), awaiting_poll, ..at.health.clone() };
    match outcome {
        Outcome::Fetched { .. } | Outcome::NotModified { .. } => succeeded(at, health, now, jitter),
        Outcome::Failed(_) if internal => our_fault(at, health, now),
        Outcome::Failed(failure) => failed(at, health, failure, now, jitter),
    }
}

/// A success heals, whatever was before; only `disabled` is a person's to undo.
fn succeeded(at: &Situation<'_>, health: Health, now: Time, jitter: Jitter) -> Decision {
    let was = at.health.status();
    let health = Health { quarantine: None, failing: None, last_success_at: Some(now), ..health };
    let recovered = matches!(was, Status::Failing | Status::Quarantined);
    let events = recovered.then(|| StatusEvent {
        kind: StatusEventKind::Recovered,
        reason: at.health.failing.as_ref().map_or_else(
            || "polled well again".to_owned(),
            |row| format!("polled well again after {} of {}", now.since(row.since), row.message),
        ),
    });
    let next = schedule::next_poll(&Situation { health: &health, ..*at }, now, jitter);
    Decision { health, next, host_hold_until: None, events: events.into_iter().collect() }
}

/// Our own failure moves nothing but the time of the next try.
fn our_fault(at: &Situation<'_>, mut health: Health, now: Time) -> Decision {
    let gap = at.interval.max(Span::from_hours(1));
    let due = health.hold_until.map_or(now + gap, |hold| hold.max(now + gap));
    let next = match (&health.disabled, &mut health.quarantine) {
        (Some(_), _) | (_, Some(Quarantine { retry_at: None, .. })) => None,
        (None, Some(Quarantine { retry_at: Some(retry_at), .. })) => {
            *retry_at = due;
            Some(due)
        }
        (None, None) => Some(due),
    };
    let next = next.map(|at| Next { at, why: Why::OurFault });
    Decision { health, next, host_hold_until: None, events: Vec::new() }
}

/// Counts the failure, asks the table, and times the next poll.
fn failed(at: &Situation<'_>, mut health: Health, failure: &Failure, now: Time, jitter: Jitter) -> Decision {
    let row = Failing::after(at.health.failing.as_ref(), failure, now);
    let aside = at.policy.rule(row.kind).aside;
    let reached = aside.filter(|aside| row.reaches(aside, now));
    let mut events = Vec::new();
    match (&mut health.quarantine, aside, reached) {
        (_, _, Some(Aside { then: Then::Disable, .. })) if health.disabled.is_none() => {
            let reason = disabled_reason(&row);
            events.push(StatusEvent { kind: StatusEventKind::Disabled, reason: reason.clone() });
            health.disabled = Some(Disabled { reason: Some(reason) });
            health.quarantine = None;
        }
        // What a person set aside without end stays as it is, whatever a forced poll met.
        (Some(Quarantine { by_hand: true, retry_at: None, .. }), _, _) => {}
        (Some(_), None, _) if at.policy.exempt_lifts => health.quarantine = None,
        (Some(held), _, _) => {
            held.reason = row.kind.name().to_owned();
            held.by_hand = false;
            if matches!(aside, Some(Aside { then: Then::CoolDown(_), .. })) {
                held.at = now;
            }
        }
        (None, _, Some(aside)) => {
            events.push(StatusEvent {
                kind: StatusEventKind::Quarantined,
                reason: row.in_words(aside.counts, now),
            });
            health.quarantine = Some(Quarantine {
                at: now,
                reason: row.kind.name().to_owned(),
                retry_at: None,
                by_hand: false,
            });
        }
        (None, _, None) => {}
    }
    if matches!(at.health.status(), Status::Healthy | Status::Pending) && events.is_empty() {
        events.push(StatusEvent { kind: StatusEventKind::Failing, reason: row.message.clone() });
    }
    let dormant_before = at.health.failing.as_ref().zip(at.health.last_polled_at);
    if row.dormant(at.policy, now) && !dormant_before.is_some_and(|(row, at_)| row.dormant(at.policy, at_)) {
        let reason =
            format!("{}; nothing but permanent failures for {}", row.message, at.policy.age.dormant_after);
        events.push(StatusEvent { kind: StatusEventKind::Dormant, reason });
    }
    let host_hold_until = schedule::host_hold(failure, now);
    health.failing = Some(row);
    let next = settle(at, &mut health, now, jitter);
    Decision { health, next, host_hold_until, events }
}

/// Times the next poll of a failing source and writes it where a quarantine shows it.
fn settle(at: &Situation<'_>, health: &mut Health, now: Time, jitter: Jitter) -> Option<Next> {
    if let Some(held) = &mut health.quarantine
        && let Some(row) = &health.failing
        && !held.by_hand
    {
        let polled_at = health.last_polled_at.unwrap_or(now).min(now);
        let hold = health.hold_until;
        let next = schedule::retry_at(at, row, polled_at, jitter).map(|next| next.not_before(hold));
        held.retry_at = next.map(|next| next.at);
        return next.filter(|_| health.disabled.is_none());
    }
    schedule::next_poll(&Situation { health, ..*at }, now, jitter)
}

/// `Auto-disabled after 5 consecutive 404 errors`; where kinds mix, `… permanent errors (404, DNS)`.
fn disabled_reason(row: &Failing) -> String {
    let counted = row.counted.as_ref();
    let (count, kinds) = match counted.and_then(|run| Some((run.kind_run, run.permanent?))) {
        Some((kind_run, run)) if run.count >= kind_run => (run.count, run.kinds),
        _ => (counted.map_or(row.count, |run| run.count), KindSet::default().with(row.kind)),
    };
    let labels = kinds.labels();
    if kinds.iter().count() > 1 {
        format!("Auto-disabled after {count} consecutive permanent errors ({labels})")
    } else {
        format!("Auto-disabled after {count} consecutive {labels} errors")
    }
}

/// A policy changed, in config or on the source: status anew from what is stored. It never disables by itself,
/// and what a person did stays.
pub fn rederive(at: &Situation<'_>, now: Time, jitter: Jitter) -> Decision {
    let mut health = at.health.clone();
    let mut events = Vec::new();
    if let Some(row) = &at.health.failing
        && at.health.disabled.is_none()
        && !health.quarantine.as_ref().is_some_and(|held| held.by_hand)
    {
        let polled_at = at.health.last_polled_at.unwrap_or(now).min(now);
        let aside = at.policy.rule(row.kind).aside.filter(|aside| aside.then != Then::Disable);
        let reached = aside.filter(|aside| row.reaches(aside, polled_at));
        // A row of mixed kinds may have been set aside by one that is not the latest; then the quarantine stays.
        let mixed = row.counted.as_ref().is_none_or(|run| run.kind_run < run.count);
        let outlasts = mixed && (aside.is_some() || !at.policy.exempt_lifts);
        match (&health.quarantine, reached) {
            (Some(_), None) if !outlasts => health.quarantine = None,
            (None, Some(aside)) => {
                let reason = format!("{}; the policy changed", row.in_words(aside.counts, polled_at));
                events.push(StatusEvent { kind: StatusEventKind::Quarantined, reason });
                let reason = row.kind.name().to_owned();
                health.quarantine = Some(Quarantine { at: now, reason, retry_at: None, by_hand: false });
            }
            _ => {}
        }
        let next = settle(at, &mut health, now, jitter);
        return Decision { health, next, host_hold_until: None, events };
    }
    let next = schedule::next_poll(&Situation { health: &health, ..*at }, now, jitter);
    Decision { health, next, host_hold_until: None, events }
}

/// What a person's hand does to the schedule: due at once unless disabled, set aside, or asked to stay away.
pub fn by_hand(health: Health, events: Vec<StatusEvent>, now: Time) -> Decision {
    let hold = health.hold_until;
    let next = match &health {
        Health { disabled: Some(_), .. } => None,
        Health { quarantine: Some(held), .. } => {
            held.retry_at.map(|at| Next { at, why: Why::SetAsideByHand })
        }
        _ => Some(Next { at: now, why: Why::ByHand }.not_before(hold)),
    };
    Decision { health, next, host_hold_until: None, events }
}
