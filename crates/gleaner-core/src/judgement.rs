//! Whose fault it is: one function from a poll's outcome to what follows for the source, its host, and the worker.
//!
//! [`judge`] stands where [`decide`] stood, around it: claim, fetch, read, judge, commit. With every switch off
//! its decision is [`decide`]'s. Pure as everything here: `now` and chance are values, and the two memories that
//! it changes belong to the caller.
//!
//! **What is loaded, and what is stored.**
//!
//! - *With a claim of a host*: its [`HostMemory`]. All polls of a host go through its lease, so nobody else
//!   changes it meanwhile. A host without one has the default, and a calm host never gets one.
//! - *With the commit of a poll*: the memory where [`Verdict::memory_changed`], [`Verdict::taken_back`] over those
//!   sources (each only where its fence and the time of its latest poll are still the ones named there, since a
//!   guard takes back on hosts that others may have leased meanwhile), [`Verdict::release`] over the host's
//!   sources, and the decision as ever. `decision.host_hold_until` holds the host in an incident too: the lease
//!   ends with the commit, and the next claim polls one source, the longest due, as long as
//!   [`HostMemory::one_at_a_time`] says so.
//! - *When a lease ends*: [`HostMemory::latest_success`] beside `next_due`, in the statement that is written anyway,
//!   since it changes with every poll and is too small to be worth one of its own. Where it is lost, a 403 is
//!   not taken for a limit once. The host is free again after [`Verdict::host_gap`] where that is longer than
//!   the pause that config asks for.
//! - *In the worker*: one [`Guard`], asked with [`Guard::leave`] before each claim; [`Verdict::resume_over`] spreads
//!   everything overdue, as after a clock that jumped.
//!
//! A host that may be asked several times at once has a memory for each of its slots.
//!
//! A poll whose commit is discarded leaves a host's memory as stored; the guard may remember one failure too
//! many, which the conditions above make harmless.
//!
//! Absent on purpose: sums over history. Nothing here looks back further than the memories do.

use serde::{Deserialize, Serialize};

use crate::adaptive;
use crate::health::{Decision, Health, Quarantine, StatusEvent, StatusEventKind, decide};
use crate::incident::{self, Asked, Evidence, Incident, Incidents, TakenBack};
use crate::network::{self, Down, Guard};
use crate::outcome::{ErrorKind, Failure, Outcome};
use crate::pacing::{self, Pace, Success};
use crate::schedule::{LONGEST_HOLD, Next, Situation, Why};
use crate::time::{Jitter, Span, Time};

/// All rules of judgement with their constants, each part with its switch `on`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Judgement {
    /// A host whose sources fail together.
    pub incidents: incident::Rules,
    /// Our own network.
    pub guard: network::Rules,
    /// Hosts that limit how often they are asked.
    pub pacing: pacing::Rules,
    /// The interval `auto`.
    pub adaptive: adaptive::Rules,
}

/// What is kept of a host; bounded, whatever the number of its sources.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostMemory {
    /// Failures that may be an incident, or are.
    #[serde(flatten)]
    pub incidents: Incidents,
    /// The spacing it asks for.
    pub pace: Pace,
    /// Its latest success, kept apart.
    #[serde(skip)]
    pub latest_success: Option<Success>,
}

/// A poll that ended.
#[derive(Debug, Clone, Copy)]
pub struct Poll<'a> {
    /// The source, as it was claimed.
    pub asked: Asked,
    /// Its host.
    pub host: i64,
    /// How it ended.
    pub outcome: &'a Outcome,
}

/// Why a failure is not held against its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Excuse {
    /// The host fails as a whole.
    Incident,
    /// Our own network is down.
    OwnNetwork,
}

/// Sources of a host that are made due over a stretch of time, each at a random point of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// How long the stretch is.
    pub over: Span,
    /// Beside all that are overdue: those failing with this kind that are due later than that. Where a
    /// quarantine shows when it is retried, that follows.
    pub failing_with: Option<ErrorKind>,
}

/// What people and programs want to hear of a host or of the worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Notice {
    /// An incident was opened.
    HostDown(Incident),
    /// It ended with a success.
    HostBack(Incident),
    /// It lasted so long that each source is on its own.
    HostGivenUp(Incident),
    /// A host is asked with a spacing from now on.
    HostPaced(Pace),
    /// Our own network is down.
    NetworkDown(Down),
    /// It is back.
    NetworkBack(Down),
}

/// What follows from a poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// For the source, as a policy decides it, or with its state frozen where the failure is excused.
    pub decision: Decision,
    /// Whether and why it is.
    pub excused: Option<Excuse>,
    /// The host's memory has changed and must be stored with the poll.
    pub memory_changed: bool,
    /// The learned spacing: the host is not asked before that has passed.
    pub host_gap: Span,
    /// Evidence to be taken back.
    pub taken_back: Vec<TakenBack>,
    /// Sources of the host to be released.
    pub release: Option<Release>,
    /// Our own network is back: everything overdue is spread over this.
    pub resume_over: Option<Span>,
    /// What is to be told.
    pub notices: Vec<Notice>,
}

impl Judgement {
    /// Every switch off: the plain policy.
    #[must_use]
    pub fn off() -> Self {
        let mut rules = Self::default();
        (rules.incidents.on, rules.guard.on, rules.pacing.on, rules.adaptive.on) =
            (false, false, false, false);
        rules
    }
}

impl HostMemory {
    /// Whether a claim is for one source only: the host is being probed, or asked with a spacing.
    pub fn one_at_a_time(&self) -> bool {
        self.incidents.open.is_some() || self.pace.gap > Span::ZERO
    }
}

impl Notice {
    /// The name in the outbox, the API and webhooks.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::HostDown(_) => "host.down",
            Self::HostBack(_) => "host.back",
            Self::HostGivenUp(_) => "host.given_up",
            Self::HostPaced(_) => "host.paced",
            Self::NetworkDown(_) => "network.down",
            Self::NetworkBack(_) => "network.back",
        }
    }
}

impl Verdict {
    fn plain(decision: Decision) -> Self {
        Self {
            decision,
            excused: None,
            memory_changed: false,
            host_gap: Span::ZERO,
            taken_back: Vec::new(),
            release: None,
            resume_over: None,
            notices: Vec::new(),
        }
    }
}

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
    let told = own.as_ref().is_some_and(|own| own.told && own.first_at < now);
    let before = own.map_or_else(|| at.health.clone(), |own| own.health);
    let mut health = before.excused(Some(now), hold_until);
    let mut next = Some(next.not_before(hold_until));
    match (&health.disabled, &mut health.quarantine) {
        (Some(_), _) | (_, Some(Quarantine { retry_at: None, .. })) => next = None,
        (None, Some(held)) => held.retry_at = next.map(|next| next.at),
        (None, None) => {}
    }
    let events =
        told.then(|| StatusEvent { kind: StatusEventKind::Excused, reason: "not its own fault".into() });
    let events = events.into_iter().collect();
    let mut verdict = Verdict::plain(Decision { health, next, host_hold_until: None, events });
    verdict.taken_back = taken_back;
    verdict
}

fn hold_until(poll: &Poll<'_>, now: Time) -> Option<Time> {
    poll.outcome.retry_after().map(|span| now + span.min(LONGEST_HOLD))
}

/// What would have to be taken back of this poll.
fn evidence(at: &Situation<'_>, poll: &Poll<'_>, told: bool, now: Time) -> Evidence {
    let kind = poll.outcome.failure().map_or(ErrorKind::Unexpected, |failure| failure.kind);
    let before: Health = at.health.clone();
    let hold_until = hold_until(poll, now);
    Evidence { asked: poll.asked, kind, first_at: now, last_at: now, hold_until, before, told }
}
