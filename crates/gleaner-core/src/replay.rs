//! The recorded polls of a source, run through another policy: what would have been different.
//!
//! It is the very [`decide`](crate::health::decide) that decides here, with chance in its middle. As long as the other
//! policy decides what the source's own did, what happened next is what happened: downtime, lateness and a person's
//! hand are the same for both. Where they part, the other one's polls meet the world as the history knows it (see
//! `docs/decisions/replay.md`). Absent on purpose: what was never observed. A server that was back before anybody asked
//! is back when it was asked, so that a more eager policy shows its requests, and never what it would have found.

mod instead;
mod really;

use crate::health::{CountedRun, Failing, Health, PermanentRun, Quarantine, Status, rederive};
use crate::outcome::{ErrorKind, Outcome};
use crate::policy::Policy;
use crate::schedule::{Hints, Situation, Why};
use crate::time::{Jitter, Span, Time};

/// A poll as the history has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// When it ended.
    pub at: Time,
    /// What it ended in; a `Retry-After` need not be known.
    pub outcome: Outcome,
    /// The name of what set the time of the next poll.
    pub rule: Option<String>,
    /// How many posts it found.
    pub posts: u64,
    /// It was the fault of its host or of our own network: evidence neither against the source nor for it.
    pub excused: bool,
}

/// Whose polls they are.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The source's state as it is now.
    pub health: &'a Health,
    /// What its server said.
    pub hints: &'a Hints,
    /// Its interval, resolved.
    pub interval: Span,
    /// The policy that it goes by.
    pub policy: &'a Policy,
}

/// The time that is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// From here on.
    pub since: Time,
    /// Up to here.
    pub until: Time,
}

/// What was, and what would have been.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Under the source's own policy.
    pub really: Course,
    /// Under the other one.
    pub instead: Course,
    /// Posts that the other one would have found later.
    pub late: Late,
}

/// How it went under a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Course {
    /// How many polls there were; excused ones are in none of both.
    pub requests: u64,
    /// When the source was set aside, the earliest first.
    pub set_aside: Vec<SetAside>,
}

/// A time in which a source was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Since when.
    pub from: Time,
    /// Until when; none: it still was at the end.
    pub to: Option<Time>,
    /// Quarantined or disabled.
    pub status: Status,
    /// What for, by the failure at which it began.
    pub reason: ErrorKind,
}

/// Posts that come later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Late {
    /// How many came, but later.
    pub posts: u64,
    /// How much later, all together.
    pub total: Span,
    /// How much later the latest of them.
    pub longest: Span,
    /// How many more had not come at the end.
    pub missing: u64,
}

/// The middle of chance.
const MIDDLE: f64 = 0.5;
/// What chance may take off a gap, or add to it.
const CHANCE: f64 = 0.1;

impl Window {
    const fn holds(&self, at: Time) -> bool {
        self.since.as_millis() <= at.as_millis() && at.as_millis() <= self.until.as_millis()
    }
}

impl Course {
    /// For how long the source was set aside within that time.
    pub fn time_aside(&self, window: Window) -> Span {
        let within = |one: &SetAside| {
            one.to.unwrap_or(window.until).min(window.until).since(one.from.max(window.since)).as_millis()
        };
        Span::from_millis(self.set_aside.iter().map(within).fold(0, u64::saturating_add))
    }
}

impl Replayed {
    /// Whether anything would have been different.
    pub fn differs(&self) -> bool {
        self.really != self.instead || self.late != Late::default()
    }
}

/// Runs a source's recorded polls through another policy.
pub fn replay(subject: &Subject<'_>, history: &[Recorded], other: &Policy, window: Window) -> Replayed {
    let polls = prepared(subject, history, window);
    let Some(first) = polls.first() else { return Replayed::default() };
    let before = before(subject.health, &polls, first.at);
    let really = really::walk(subject, under(subject.policy, subject, &before, first.at), &polls, window);
    let begin = under(other, subject, &before, first.at);
    let (instead, late) = instead::walk(subject, begin, &polls, &really, other, window);
    Replayed { really: really.course, instead, late }
}

/// The polls that say something, in their order, each with the `Retry-After` that timed the next one.
fn prepared(subject: &Subject<'_>, history: &[Recorded], window: Window) -> Vec<Recorded> {
    let mut polls: Vec<Recorded> =
        history.iter().filter(|poll| !poll.excused && poll.at <= window.until).cloned().collect();
    polls.sort_by_key(|poll| poll.at);
    let mut later = subject.health.hold_until;
    for poll in polls.iter_mut().rev() {
        if poll.rule.as_deref() == Some(Why::RetryAfter.name()) && poll.outcome.retry_after().is_none() {
            poll.outcome = poll.outcome.clone().asking_for(later.map(|later| later.since(poll.at)));
        }
        later = Some(poll.at);
    }
    polls
}

/// The state before the first poll: clean, or in the middle of a row of failures that is older than the history.
fn before(now: &Health, polls: &[Recorded], first: Time) -> Health {
    let Some(row) = now.failing.as_ref().filter(|row| row.since < first) else { return Health::new() };
    let told = u32::try_from(polls.len()).unwrap_or(u32::MAX);
    let rest = |count: u32| count.saturating_sub(told).max(1);
    let kind = polls.first().and_then(|poll| poll.outcome.failure()).map_or(row.kind, |failure| failure.kind);
    let counted = row.counted.filter(|run| run.since < first).map(|run| {
        let (kind_run, kind_since) =
            if run.kind_since < first { (rest(run.kind_run), run.kind_since) } else { (0, first) };
        let permanent = run.permanent.filter(|run| run.since < first);
        let permanent = permanent.map(|run| PermanentRun { count: rest(run.count), ..run });
        CountedRun { count: rest(run.count), kind, kind_run, kind_since, permanent, ..run }
    });
    let failing = Failing { count: rest(row.count), kind, counted, ..row.clone() };
    let quarantine = now.quarantine.as_ref().filter(|held| held.at < first && !held.by_hand);
    let quarantine = quarantine.map(|held| Quarantine { retry_at: Some(first), ..held.clone() });
    Health { failing: Some(failing), quarantine, last_success_at: now.last_success_at, ..Health::new() }
}

fn situation<'a>(subject: &Subject<'a>, health: &'a Health, policy: &'a Policy) -> Situation<'a> {
    Situation { health, hints: subject.hints, interval: subject.interval, policy }
}

/// As on a change of policy: what a source is known for stays, what that means is the policy's to say.
fn under(policy: &Policy, subject: &Subject<'_>, before: &Health, at: Time) -> Health {
    rederive(&situation(subject, before, policy), at, middle()).health
}

fn middle() -> Jitter {
    Jitter::new(MIDDLE)
}

/// Notes when a source is set aside.
#[derive(Default)]
struct Asides {
    all: Vec<SetAside>,
}

impl Asides {
    /// The source is like this from then on.
    fn note(&mut self, health: &Health, at: Time) {
        let status = health.status();
        let aside = matches!(status, Status::Disabled | Status::Quarantined);
        let open = self.all.last_mut().filter(|last| last.to.is_none());
        if let Some(open) = open {
            if open.status == status {
                return;
            }
            open.to = Some(at);
        }
        if aside {
            let from = health.quarantine.as_ref().map_or(at, |held| held.at.min(at));
            let reason = health.failing.as_ref().map_or(ErrorKind::Unexpected, |row| row.kind);
            self.all.push(SetAside { from, to: None, status, reason });
        }
    }

    /// Those within a time.
    fn within(self, window: Window) -> Vec<SetAside> {
        let lasts = |one: &SetAside| one.to.is_none_or(|to| to > window.since);
        self.all.into_iter().filter(lasts).collect()
    }
}
