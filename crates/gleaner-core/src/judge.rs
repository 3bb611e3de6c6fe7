//! [`judge`] and its parts: our own network first, then the host, then the source.

use crate::health::{Decision, Failing, Health, Status, StatusEvent, StatusEventKind, decide};
use crate::incident::{self, Evidence, HostFacts, Incidents, TakenBack};
use crate::judgement::{Excuse, HostMemory, Judgement, Notice, PageVerdict, Poll, Release, Verdict};
use crate::network::{self, Guard};
use crate::outcome::{ErrorKind, Failure, Outcome};
use crate::pacing::{Pace, Success};
use crate::schedule::{LONGEST_HOLD, Next, SHORTEST_INTERVAL, Situation, Why, host_hold, next_poll};
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
    let judged = at.policy.judged;
    let network = if !rules.guard.on {
        network::Finding::Fine
    } else if judged {
        let evidence = |known: bool| network_evidence(at, poll, known, now, jitter);
        guard.polled(&rules.guard, poll, evidence, now)
    } else {
        guard.asked(&rules.guard, poll.outcome, now)
    };
    let came_back = match network {
        network::Finding::WentDown(taken_back) => {
            return own_network(at, poll, memory, guard, taken_back, now, jitter);
        }
        network::Finding::StillDown if judged => {
            return own_network(at, poll, memory, guard, Vec::new(), now, jitter);
        }
        network::Finding::CameBack(down) => Some(down),
        network::Finding::Fine | network::Finding::StillDown => None,
    };
    let mut verdict = match poll.outcome.failure() {
        None => succeeded(rules, at, poll, memory, now, jitter),
        Some(failure) if judged && failure.kind != ErrorKind::Internal => {
            failed(rules, at, poll, failure, memory, now, jitter)
        }
        Some(_) => Verdict::plain(decide(at, poll.outcome, now, jitter)),
    };
    if !rules.incidents.on && memory.incidents != Incidents::default() {
        let was = std::mem::take(&mut memory.incidents);
        verdict.memory_changed = true;
        verdict.release = was.open.map(|_| Release { over: rules.incidents.release_over, excused: true });
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
            let covered = memory.incidents.open.is_some_and(|open| open.covers(failure.kind));
            if covered && let Some(probe_at) = memory.incidents.probed(&rules.incidents, now) {
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
        verdict.release = ended.map(|_| Release { over: rules.incidents.release_over, excused: true });
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
    memory.latest_success = Some(Success { at: now, source: poll.asked.source });
    if rules.pacing.on && at.policy.judged {
        verdict.memory_changed = memory.pace.served(&rules.pacing);
    }
    if rules.incidents.on {
        let over = rules.incidents.release_over;
        let (ended, changed) = memory.incidents.succeeded();
        verdict.memory_changed |= changed;
        verdict.release = ended.map(|_| Release { over, excused: true });
        verdict.notices.extend(ended.map(Notice::HostBack));
    }
    verdict
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
        return on_its_own(rules, at, poll, failure, memory, now, jitter).0;
    }
    let given_up = memory.incidents.give_up(&rules.incidents, now);
    if let Some(open) = memory.incidents.open {
        if open.covers(failure.kind) && at.health.worked_until(at.interval, open.since) {
            memory.incidents.probed(&rules.incidents, now);
            return in_an_incident(at, poll, failure, memory, Vec::new(), now, jitter);
        }
        // Its own, and no probe: another source is polled as one right after it.
        return on_its_own(rules, at, poll, failure, memory, now, jitter).0;
    }
    let inherited = memory.incidents.inherited(at.health, failure);
    let at = &Situation { health: inherited.as_ref().unwrap_or(at.health), ..*at };
    let (mut verdict, paced) = on_its_own(rules, at, poll, failure, memory, now, jitter);
    if let Some(incident) = given_up {
        verdict.memory_changed = true;
        verdict.release = Some(Release { over: rules.incidents.release_over, excused: false });
        verdict.notices.push(Notice::HostGivenUp(incident));
    }
    // One source alone proves nothing of its host.
    if paced || poll.host_sources < 2 {
        return verdict;
    }
    let incidents = &mut memory.incidents;
    if !incidents.is_evidence(poll.asked.source, at.health, failure.kind, at.interval, now) {
        incidents.failed_otherwise(failure.kind, &rules.incidents, now);
        verdict.memory_changed = true;
        return verdict;
    }
    let evidence = evidence(at, poll, failure, !verdict.decision.events.is_empty(), now, jitter);
    let facts = HostFacts {
        sources: poll.host_sources,
        latest_success_at: memory.latest_success.map(|success| success.at),
    };
    match incidents.failed(evidence, poll.host, facts, at.interval, &rules.incidents, now) {
        incident::Finding::Opened(taken_back) => {
            in_an_incident(at, poll, failure, memory, taken_back, now, jitter)
        }
        incident::Finding::Own => {
            verdict.memory_changed = true;
            verdict
        }
    }
}

/// A failure that counts, and where it is taken for a limit, a wider spacing; whether it was.
fn on_its_own(
    rules: &Judgement,
    at: &Situation<'_>,
    poll: &Poll<'_>,
    failure: &Failure,
    memory: &mut HostMemory,
    now: Time,
    jitter: Jitter,
) -> (Verdict, bool) {
    let mut verdict = Verdict::plain(decide(at, poll.outcome, now, jitter));
    let (source, latest) = (poll.asked.source, memory.latest_success);
    let is_limit = rules.pacing.on && Pace::is_limit(failure, source, at.health, latest, &rules.pacing, now);
    if is_limit {
        paced(rules, at, failure, memory, &mut verdict, now, jitter);
    }
    (verdict, is_limit)
}

/// The host is left alone for a while, and the source comes when its policy says, though not before its interval has
/// passed and its host may be asked: pacing only ever delays.
fn paced(
    rules: &Judgement,
    at: &Situation<'_>,
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
    let earliest = (hold + jitter.part_of(memory.pace.gap)).max(now + at.interval.max(SHORTEST_INTERVAL));
    if let Some(next) = &mut decision.next
        && next.at < earliest
    {
        *next = Next { at: earliest, why: Why::Pacing };
        if let Some(held) = &mut decision.health.quarantine {
            held.retry_at = held.retry_at.map(|_| earliest);
        }
    }
    verdict.memory_changed = true;
    verdict.notices.extend(unpaced.then_some(Notice::HostPaced(memory.pace)));
}

fn in_an_incident(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    failure: &Failure,
    memory: &HostMemory,
    taken_back: Vec<TakenBack>,
    now: Time,
    jitter: Jitter,
) -> Verdict {
    let opened = !taken_back.is_empty();
    let Some(incident) = memory.incidents.open else {
        return Verdict::plain(decide(at, poll.outcome, now, jitter));
    };
    let excuse = Excused {
        by: incident.id(poll.host),
        since: incident.since,
        covers: &|kind| incident.covers(kind),
        next: Next { at: incident.probe_at, why: Why::Incident },
    };
    let mut verdict = excused(at, poll, failure, taken_back, excuse, now, jitter);
    verdict.excused = Some(Excuse::Incident);
    verdict.decision.host_hold_until = Some(incident.probe_at);
    verdict.memory_changed = true;
    verdict.notices.extend(opened.then_some(Notice::HostDown(incident)));
    verdict
}

fn own_network(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    memory: &mut HostMemory,
    guard: &Guard,
    taken_back: Vec<TakenBack>,
    now: Time,
    jitter: Jitter,
) -> Verdict {
    let went_down = !taken_back.is_empty();
    let (Some(down), Some(failure)) = (guard.down(), poll.outcome.failure()) else {
        return Verdict::plain(decide(at, poll.outcome, now, jitter));
    };
    let known = memory.incidents.evidence.len();
    memory.incidents.evidence.retain(|entry| !network::is_ours(entry.row.kind));
    let excuse = Excused {
        by: down.id(),
        since: down.since,
        covers: &network::is_ours,
        next: Next { at: down.probe_at, why: Why::OwnNetwork },
    };
    let mut verdict = excused(at, poll, failure, taken_back, excuse, now, jitter);
    verdict.excused = Some(Excuse::OwnNetwork);
    verdict.memory_changed = known != memory.incidents.evidence.len();
    verdict.notices.extend(went_down.then_some(Notice::NetworkDown(*down)));
    verdict
}

/// Why a failure does not count.
struct Excused<'a> {
    /// The id of the incident or outage.
    by: String,
    /// When that began.
    since: Time,
    /// The kinds of failures that it excuses.
    covers: &'a dyn Fn(ErrorKind) -> bool,
    /// When it is over at the earliest.
    next: Next,
}

/// A failure that is not the source's: its facts are kept, and nothing of it counts; the same holds for those before it
/// that are taken back with it. The next poll is not before the policy's own gap without it.
fn excused(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    failure: &Failure,
    mut taken_back: Vec<TakenBack>,
    excuse: Excused<'_>,
    now: Time,
    jitter: Jitter,
) -> Verdict {
    let own = taken_back.iter().position(|entry| entry.asked == poll.asked);
    let own = own.map(|place| taken_back.swap_remove(place)).filter(|own| own.first_at < now);
    let was = at.health;
    let mut row = Failing::excused(was.failing.as_ref(), failure, excuse.by, now);
    let mut quarantine = was.quarantine.clone();
    let mut disabled = was.disabled.clone();
    let mut excused_since = None;
    let mut corrects = false;
    if let Some(own) = &own {
        row.counted = own.health.failing.as_ref().and_then(|row| row.counted);
        (quarantine, disabled) = (own.health.quarantine.clone(), own.health.disabled.clone());
        (excused_since, corrects) = (Some(own.first_at), own.told);
    } else if let Some(run) = row.counted.filter(|run| run.since >= excuse.since && (excuse.covers)(run.kind))
    {
        // It failed on its own since the incident began, before anybody could know of that.
        row.counted = None;
        quarantine = quarantine.filter(|held| held.by_hand || held.at < excuse.since);
        (excused_since, corrects) = (Some(run.since), true);
    }
    let mut events: Vec<StatusEvent> =
        excused_since.filter(|_| corrects).map(StatusEvent::excused).into_iter().collect();
    if matches!(was.status(), Status::Healthy | Status::Pending) {
        let by = row.excused_by.as_deref().unwrap_or_default();
        let reason = format!("{}; does not count: {by}", row.message);
        events.push(StatusEvent { kind: StatusEventKind::Failing, reason });
    }
    let mut health = Health {
        disabled,
        quarantine,
        failing: Some(row),
        hold_until: hold_until(poll, now),
        last_polled_at: Some(now),
        awaiting_poll: false,
        ..was.clone()
    };
    let own_next = next_poll(&Situation { health: &health, ..*at }, now, jitter);
    let next = own_next.map(|own| match own.why {
        Why::RetryAfter if own.at > excuse.next.at => own,
        _ => Next { at: own.at.max(excuse.next.at), ..excuse.next },
    });
    if let Some(held) = &mut health.quarantine {
        held.retry_at = held.retry_at.and(next.map(|next| next.at));
    }
    let mut verdict = Verdict::plain(Decision { health, next, host_hold_until: None, events });
    (verdict.taken_back, verdict.excused_since) = (taken_back, excused_since);
    verdict
}

fn hold_until(poll: &Poll<'_>, now: Time) -> Option<Time> {
    poll.outcome.retry_after().map(|span| now + span.min(LONGEST_HOLD))
}

/// What would have to be taken back of this poll.
fn evidence(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    failure: &Failure,
    told: bool,
    now: Time,
    jitter: Jitter,
) -> Evidence {
    let before = at.health.clone();
    let hold_until = hold_until(poll, now);
    let row = Failing::excused(before.failing.as_ref(), failure, String::new(), now);
    let health =
        Health { failing: Some(row.clone()), last_polled_at: Some(now), hold_until, ..before.clone() };
    let next = next_poll(&Situation { health: &health, ..*at }, now, jitter);
    let next_poll_at = next.map_or(now, |next| next.at);
    Evidence { asked: poll.asked, first_at: now, last_at: now, hold_until, before, row, next_poll_at, told }
}

/// The same for our own network, where the source says anything of that: it worked until now, or is evidence already.
fn network_evidence(
    at: &Situation<'_>,
    poll: &Poll<'_>,
    known: bool,
    now: Time,
    jitter: Jitter,
) -> Option<Evidence> {
    let failure = poll.outcome.failure()?;
    let out = matches!(at.health.status(), Status::Disabled | Status::Quarantined);
    let worked = !out && at.health.worked_until(at.interval, now);
    (known || worked).then(|| {
        let told = !decide(at, poll.outcome, now, jitter).events.is_empty();
        evidence(at, poll, failure, told, now, jitter)
    })
}
