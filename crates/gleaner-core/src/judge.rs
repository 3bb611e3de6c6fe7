//! [`judge`] and its parts: our own network first, then the host, then the source.

use crate::health::{Decision, Quarantine, decide};
use crate::incident::{self, Evidence, Incidents, TakenBack};
use crate::judgement::{Excuse, HostMemory, Judgement, Notice, PageVerdict, Poll, Release, Verdict};
use crate::network::{self, Guard};
use crate::outcome::{ErrorKind, Failure, Outcome};
use crate::pacing::{Pace, Success};
use crate::schedule::{LONGEST_HOLD, Next, Situation, Why, host_hold};
use crate::time::{Jitter, Span, Time};

/// What follows from a poll that ended at `now`.
pub fn judge(
    rules: &Judgement,
    at: &Situation<'_>,
    poll: &Poll<'_>,
    memory: &mut HostMemory,
    guard: &mut Guard,
    now: Time,
    jitter: Jitter,
) -> Verdict {
    let network = if rules.guard.on {
        let told = || !decide(at, poll.outcome, now, jitter).events.is_empty();
        let evidence = || evidence(at, poll, told(), now);
        guard.polled(&rules.guard, poll.host, poll.outcome, evidence, now)
    } else {
        network::Finding::Fine
    };
    let came_back = match network {
        network::Finding::WentDown(taken_back) => {
            return own_network(at, poll, memory, guard, taken_back, now);
        }
        network::Finding::StillDown => return own_network(at, poll, memory, guard, Vec::new(), now),
        network::Finding::CameBack(down) => Some(down),
        network::Finding::Fine => None,
    };
    let mut verdict = match poll.outcome.failure() {
        None => succeeded(rules, at, poll, memory, now, jitter),
        Some(failure) if failure.kind == ErrorKind::Internal => {
            Verdict::plain(decide(at, poll.outcome, now, jitter))
        }
        Some(failure) => failed(rules, at, poll, failure, memory, now, jitter),
    };
    if !rules.incidents.on && memory.incidents != Incidents::default() {
        let was = std::mem::take(&mut memory.incidents);
        verdict.memory_changed = true;
        verdict.release =
            was.open.map(|_| Release { over: rules.incidents.release_over, failing_with: None });
    }
    if rules.pacing.on {
        verdict.host_gap = memory.pace.gap;
    }
    if let Some(down) = came_back {
        verdict.resume_over = Some(rules.guard.resume_over);
        verdict.notices.push(Notice::NetworkBack(down));
    }
    verdict
}

/// What follows from the fetch of an entry's page, of a host whose memory and worker it shares with sources: it is
/// paced alike and can end what has befallen the host, but is no evidence, since pages fail one by one.
pub fn judge_page(
    rules: &Judgement,
    outcome: &Outcome,
    memory: &mut HostMemory,
    guard: &mut Guard,
    now: Time,
) -> PageVerdict {
    let mut verdict = PageVerdict::default();
    let failure = outcome.failure();
    if rules.guard.on {
        match guard.asked(&rules.guard, outcome, now) {
            network::Finding::CameBack(down) => {
                verdict.resume_over = Some(rules.guard.resume_over);
                verdict.notices.push(Notice::NetworkBack(down));
            }
            network::Finding::StillDown => return PageVerdict { excused: true, ..verdict },
            network::Finding::Fine | network::Finding::WentDown(_) => {}
        }
    }
    match failure {
        None => page_came(rules, memory, &mut verdict),
        Some(failure) => {
            verdict.host_hold_until = host_hold(failure, now);
            if let Some(probe_at) = memory.incidents.probed(&rules.incidents, now) {
                (verdict.excused, verdict.memory_changed) = (true, true);
                verdict.host_hold_until = verdict.host_hold_until.max(Some(probe_at));
            } else if rules.pacing.on && failure.kind == ErrorKind::RateLimited {
                let unpaced = memory.pace.gap == Span::ZERO;
                let hold = memory.pace.refused(failure.retry_after, &rules.pacing, now);
                verdict.host_hold_until = verdict.host_hold_until.max(Some(hold));
                verdict.memory_changed = true;
                verdict.notices.extend(unpaced.then_some(Notice::HostPaced(memory.pace)));
            }
        }
    }
    if rules.pacing.on {
        verdict.host_gap = memory.pace.gap;
    }
    verdict
}

fn page_came(rules: &Judgement, memory: &mut HostMemory, verdict: &mut PageVerdict) {
    if rules.pacing.on {
        verdict.memory_changed = memory.pace.served(&rules.pacing);
    }
    if rules.incidents.on {
        let (ended, changed) = memory.incidents.succeeded();
        verdict.memory_changed |= changed;
        verdict.release = ended.map(|_| Release { over: rules.incidents.release_over, failing_with: None });
        verdict.notices.extend(ended.map(Notice::HostBack));
    }
}

fn succeeded(
    rules: &Judgement,
    at: &Situation<'_>,
    poll: &Poll<'_>,
    memory: &mut HostMemory,
    now: Time,
    jitter: Jitter,
) -> Verdict {
    let mut verdict = Verdict::plain(decide(at, poll.outcome, now, jitter));
    if rules.pacing.on {
        verdict.memory_changed = memory.pace.served(&rules.pacing);
        memory.latest_success = Some(Success { at: now, source: poll.asked.source });
    }
    if rules.incidents.on {
        let over = rules.incidents.release_over;
        let (ended, changed) = memory.incidents.succeeded();
        verdict.memory_changed |= changed;
        // What ails a whole host and is gone for one source is gone for its siblings.
        let row = at.health.failing.as_ref().map(|row| row.kind);
        let failing_with = row.filter(|kind| rules.incidents.siblings && ails_a_host(*kind));
        if ended.is_some() || failing_with.is_some() {
            verdict.release = Some(Release { over, failing_with });
        }
        verdict.notices.extend(ended.map(Notice::HostBack));
    }
    verdict
}

/// Kinds that come from the host and not from what it is asked for.
const fn ails_a_host(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network(_) | ErrorKind::UpstreamFailure)
}

fn failed(
    rules: &Judgement,
    at: &Situation<'_>,
    poll: &Poll<'_>,
    failure: &Failure,
    memory: &mut HostMemory,
    now: Time,
    jitter: Jitter,
) -> Verdict {
    if !rules.incidents.on {
        return on_its_own(rules, at, poll, failure, memory, now, jitter);
    }
    let given_up = memory.incidents.give_up(&rules.incidents, now);
    if memory.incidents.open.is_some() {
        memory.incidents.failed(evidence(at, poll, false, now), &rules.incidents, now);
        return in_an_incident(at, poll, memory, Vec::new(), now);
    }
    let inherited = memory.incidents.inherited(at.health, failure);
    let at = &Situation { health: inherited.as_ref().unwrap_or(at.health), ..*at };
    let mut verdict = on_its_own(rules, at, poll, failure, memory, now, jitter);
    if let Some(incident) = given_up {
        verdict.memory_changed = true;
        verdict.release = Some(Release { over: rules.incidents.release_over, failing_with: None });
        verdict.notices.push(Notice::HostGivenUp(incident));
    }
    if verdict.decision.next.is_some_and(|next| next.why == Why::Pacing) {
        return verdict;
    }
    let told = !verdict.decision.events.is_empty();
    match memory.incidents.failed(evidence(at, poll, told, now), &rules.incidents, now) {
        incident::Finding::Opened(taken_back) => in_an_incident(at, poll, memory, taken_back, now),
        incident::Finding::Own | incident::Finding::GoesOn => {
            verdict.memory_changed |= !memory.incidents.evidence.is_empty();
            verdict
        }
    }
}

/// A failure that counts, and where it is a refusal, a wider spacing.
fn on_its_own(
    rules: &Judgement,
    at: &Situation<'_>,
    poll: &Poll<'_>,
    failure: &Failure,
    memory: &mut HostMemory,
    now: Time,
    jitter: Jitter,
) -> Verdict {
    let mut verdict = Verdict::plain(decide(at, poll.outcome, now, jitter));
    let (source, latest) = (poll.asked.source, memory.latest_success);
    if rules.pacing.on && Pace::is_limit(failure, source, at.health, latest, &rules.pacing, now) {
        paced(rules, failure, memory, &mut verdict, now, jitter);
    }
    verdict
}

/// The source comes again when its host may be asked, the first few times in a row.
fn paced(
    rules: &Judgement,
    failure: &Failure,
    memory: &mut HostMemory,
    verdict: &mut Verdict,
    now: Time,
    jitter: Jitter,
) {
    let unpaced = memory.pace.gap == Span::ZERO;
    let hold = memory.pace.refused(failure.retry_after, &rules.pacing, now);
    let decision = &mut verdict.decision;
    decision.host_hold_until = decision.host_hold_until.max(Some(hold));
    let again = hold + jitter.part_of(memory.pace.gap);
    let run = decision.health.failing.as_ref().map_or(0, |row| row.kind_run);
    if let Some(next) = &mut decision.next
        && decision.health.quarantine.is_none()
        && (run <= rules.pacing.refusals || next.at < again)
    {
        *next = Next { at: again, why: Why::Pacing }.not_before(decision.health.hold_until);
    }
    verdict.memory_changed = true;
    verdict.notices.extend(unpaced.then_some(Notice::HostPaced(memory.pace)));
}

fn in_an_incident(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    memory: &HostMemory,
    taken_back: Vec<TakenBack>,
    now: Time,
) -> Verdict {
    let opened = !taken_back.is_empty();
    let incident = memory.incidents.open.as_ref();
    let probe_at = incident.map_or(now, |open| open.probe_at);
    let mut verdict = excused(at, poll, taken_back, Next { at: probe_at, why: Why::Incident }, now);
    verdict.excused = Some(Excuse::Incident);
    verdict.decision.host_hold_until = Some(probe_at);
    verdict.memory_changed = true;
    verdict.notices.extend(incident.filter(|_| opened).copied().map(Notice::HostDown));
    verdict
}

fn own_network(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    memory: &mut HostMemory,
    guard: &Guard,
    taken_back: Vec<TakenBack>,
    now: Time,
) -> Verdict {
    let went_down = !taken_back.is_empty();
    let probe_at = guard.down().map_or(now, |down| down.probe_at);
    let known = memory.incidents.evidence.len();
    memory.incidents.evidence.retain(|entry| !network::is_ours(entry.kind));
    let mut verdict = excused(at, poll, taken_back, Next { at: probe_at, why: Why::OwnNetwork }, now);
    verdict.excused = Some(Excuse::OwnNetwork);
    verdict.memory_changed = known != memory.incidents.evidence.len();
    verdict.notices.extend(guard.down().filter(|_| went_down).copied().map(Notice::NetworkDown));
    verdict
}

/// A failure that is not the source's: only that it was asked stays of it, and of those before that are taken
/// back with it.
fn excused(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    mut taken_back: Vec<TakenBack>,
    next: Next,
    now: Time,
) -> Verdict {
    let own = taken_back.iter().position(|entry| entry.asked == poll.asked);
    let own = own.map(|place| taken_back.swap_remove(place));
    let hold_until = hold_until(poll, now);
    let earlier = own.as_ref().filter(|own| own.first_at < now);
    let event = earlier.and_then(TakenBack::event);
    let excused_since = earlier.map(|own| own.first_at);
    let before = own.map_or_else(|| at.health.clone(), |own| own.health);
    let mut health = before.excused(Some(now), hold_until);
    let mut next = Some(next.not_before(hold_until));
    match (&health.disabled, &mut health.quarantine) {
        (Some(_), _) | (_, Some(Quarantine { retry_at: None, .. })) => next = None,
        (None, Some(held)) => held.retry_at = next.map(|next| next.at),
        (None, None) => {}
    }
    let events = event.into_iter().collect();
    let mut verdict = Verdict::plain(Decision { health, next, host_hold_until: None, events });
    (verdict.taken_back, verdict.excused_since) = (taken_back, excused_since);
    verdict
}

fn hold_until(poll: &Poll<'_>, now: Time) -> Option<Time> {
    poll.outcome.retry_after().map(|span| now + span.min(LONGEST_HOLD))
}

/// What would have to be taken back of this poll.
fn evidence(at: &Situation<'_>, poll: &Poll<'_>, told: bool, now: Time) -> Evidence {
    let kind = poll.outcome.failure().map_or(ErrorKind::Unexpected, |failure| failure.kind);
    let before = at.health.clone();
    let hold_until = hold_until(poll, now);
    Evidence { asked: poll.asked, kind, first_at: now, last_at: now, hold_until, before, told }
}
