//! When a source is polled next, and why then: intervals, floors, gaps, and the delay between a host's sources.
//!
//! `next_poll_at` is stored for the index and only ever written from what this module returns. Absent on
//! purpose: who polls it. Claims and leases are the store's.

use serde::{Deserialize, Serialize};

use crate::health::{CountedRun, Failing, Health};
use crate::outcome::{ErrorKind, Failure, Outcome};
use crate::policy::{Gap, Policy, Then};
use crate::suspect::Rhythm;
use crate::time::{Jitter, Span, Time};

/// No source is polled more often.
pub const SHORTEST_INTERVAL: Span = Span::from_mins(1);
/// A `Retry-After` holds its source for at most so long.
pub const LONGEST_HOLD: Span = Span::from_days(7);
/// A 429's `Retry-After` holds its host for at most so long.
pub const LONGEST_HOST_HOLD: Span = Span::from_hours(1);
/// A server's hints after a success are followed up to so long.
pub const LONGEST_HINT: Span = Span::from_hours(24);
/// A host that answers in less is quick; slower ones may not take all places of a worker.
pub const QUICK: Span = Span::from_secs(5);
/// A feed must show so many dated entries before its window says how long it may be left alone.
pub const WINDOW_ENTRIES: usize = 10;

/// Everything a decision reads beside the outcome.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The source's state.
    pub health: &'a Health,
    /// What its server said.
    pub hints: &'a Hints,
    /// Its interval, resolved.
    pub interval: Span,
    /// Its policy.
    pub policy: &'a Policy,
}

/// A server's word on when to come back, remembered from its latest document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hints {
    /// `Cache-Control: max-age`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Span>,
    /// `Expires`, as a length of time from the answer on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Span>,
    /// RSS `ttl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// `sy:updatePeriod` over `sy:updateFrequency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_period: Option<Span>,
    /// RSS `skipHours`: bit h for hour h, UTC.
    #[serde(skip_serializing_if = "is_zero")]
    pub skip_hours: u32,
    /// RSS `skipDays`: bit 0 for Monday, UTC.
    #[serde(skip_serializing_if = "is_zero")]
    pub skip_days: u32,
    /// The oldest dated entry, where the document shows at least [`WINDOW_ENTRIES`] of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_entry: Option<Time>,
    /// How often it brought something so far, which says nothing about when to come back: see [`crate::suspect`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rhythm: Option<Rhythm>,
    /// Its validators were the same for a document that had changed, so that they are not sent any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub validators_unreliable: bool,
    /// Its latest document ended early.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends_early: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(bits: &u32) -> bool {
    *bits == 0
}

/// The next poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// When.
    pub at: Time,
    /// Why then.
    pub why: Why,
}

/// What set the time of the next poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// The source's interval.
    Interval,
    /// A hint of the server longer than the interval.
    Hint(Hint),
    /// The interval doubled per failure.
    Backoff,
    /// In proportion to the age of the outage.
    Age,
    /// Failing, at the normal interval.
    Retry,
    /// The end of a cooldown.
    CoolDown,
    /// A source that failed permanently for so long that it is asked once in a while.
    Dormant,
    /// The server said `Retry-After`.
    RetryAfter,
    /// Our own failure.
    OurFault,
    /// Never polled: a random point within the first interval.
    FirstPoll,
    /// A person asked for it.
    ByHand,
    /// A person set it aside until then.
    SetAsideByHand,
    /// Its host fails as a whole: the next one to be asked whether it is back.
    Incident,
    /// Our own network is down: the next one to be asked whether it is back.
    OwnNetwork,
    /// Its host limits how often it is asked.
    Pacing,
}

/// The server's hints by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hint {
    /// `Cache-Control: max-age`.
    MaxAge,
    /// `Expires`.
    Expires,
    /// RSS `ttl`.
    Ttl,
    /// `sy:updatePeriod`.
    UpdatePeriod,
    /// RSS `skipHours` or `skipDays`.
    Skip,
}

impl Why {
    /// The name in the poll history and the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Hint(Hint::MaxAge) => "max_age",
            Self::Hint(Hint::Expires) => "expires",
            Self::Hint(Hint::Ttl) => "ttl",
            Self::Hint(Hint::UpdatePeriod) => "update_period",
            Self::Hint(Hint::Skip) => "skip",
            Self::Backoff => "backoff",
            Self::Age => "age",
            Self::Retry => "retry",
            Self::CoolDown => "cooldown",
            Self::Dormant => "dormant",
            Self::RetryAfter => "retry_after",
            Self::OurFault => "our_fault",
            Self::FirstPoll => "first_poll",
            Self::ByHand => "by_hand",
            Self::SetAsideByHand => "set_aside_by_hand",
            Self::Incident => "incident",
            Self::OwnNetwork => "own_network",
            Self::Pacing => "pacing",
        }
    }
}

impl Next {
    /// Later, where the server or the host asks for it.
    #[must_use]
    pub fn not_before(self, hold: Option<Time>) -> Next {
        match hold {
            Some(hold) if hold > self.at => Next { at: hold, why: Why::RetryAfter },
            _ => self,
        }
    }
}

impl Hints {
    /// A server that said nothing.
    pub const NONE: Hints = Hints {
        max_age: None,
        expires: None,
        ttl: None,
        update_period: None,
        skip_hours: 0,
        skip_days: 0,
        oldest_entry: None,
        rhythm: None,
        validators_unreliable: false,
        ends_early: false,
    };

    /// The longest wait that the server asks for. `max-age` overrules `Expires`, as RFC 9111 has it.
    fn longest(&self) -> Option<(Span, Hint)> {
        let expires = if self.max_age.is_some() { None } else { self.expires };
        [
            (self.max_age, Hint::MaxAge),
            (expires, Hint::Expires),
            (self.ttl, Hint::Ttl),
            (self.update_period, Hint::UpdatePeriod),
        ]
        .into_iter()
        .filter_map(|(span, hint)| Some((span?, hint)))
        .max_by_key(|(span, _)| *span)
    }

    /// How far hints may push a poll: a day, or half of what the feed's window shows, so that a busy feed with
    /// a long hint loses nothing.
    fn limit(&self, from: Time) -> Span {
        self.oldest_entry.map_or(LONGEST_HINT, |oldest| from.since(oldest).half().min(LONGEST_HINT))
    }

    fn skips(&self, at: Time) -> bool {
        self.skip_hours & 1 << at.hour() != 0 || self.skip_days & 1 << at.weekday() != 0
    }
}

/// When a source is polled next, from what is stored: `None` where it is disabled or waits for a person.
pub fn next_poll(at: &Situation<'_>, now: Time, jitter: Jitter) -> Option<Next> {
    let health = at.health;
    if health.disabled.is_some() {
        return None;
    }
    let next = match (&health.quarantine, &health.failing, health.last_polled_at) {
        (Some(held), row, _) => {
            let ruled = row.as_ref().filter(|_| !held.by_hand);
            let ruled = ruled.and_then(|row| retry_at(at, row, health.last_polled_at.unwrap_or(now), jitter));
            Next { at: held.retry_at?, why: ruled.map_or(Why::SetAsideByHand, |next| next.why) }
        }
        (None, Some(row), polled_at) => {
            let polled_at = polled_at.unwrap_or(now).min(now);
            let (gap, why) = gap_after(at, row, polled_at, jitter);
            Next { at: polled_at + gap, why }
        }
        (None, None, Some(polled_at)) => after_success(at, polled_at.min(now)),
        (None, None, None) => first_poll(now, at.interval, jitter),
    };
    Some(next.not_before(health.hold_until))
}

/// The end of a quarantine that a failed poll begins or goes on with: `None` where only a person ends it.
pub fn retry_at(at: &Situation<'_>, row: &Failing, polled_at: Time, jitter: Jitter) -> Option<Next> {
    match at.policy.rule(row.kind).aside.map(|aside| aside.then) {
        Some(Then::WaitForPerson) => None,
        Some(Then::CoolDown(span)) => {
            Some(Next { at: polled_at + span.max(SHORTEST_INTERVAL), why: Why::CoolDown })
        }
        Some(Then::KeepPolling | Then::Disable) | None => {
            let (gap, why) = gap_after(at, row, polled_at, jitter);
            Some(Next { at: polled_at + gap, why })
        }
    }
}

/// A random point within the first interval, so that a thousand new sources do not come at once.
pub fn first_poll(now: Time, interval: Span, jitter: Jitter) -> Next {
    Next { at: now + jitter.part_of(interval.max(SHORTEST_INTERVAL)), why: Why::FirstPoll }
}

/// When a host is due: with the earliest of its work, but not before a hold or the end of the delay after its last request.
pub fn host_due(earliest: Option<Time>, hold_until: Option<Time>, delay_until: Option<Time>) -> Option<Time> {
    earliest.map(|due| due.max(hold_until.unwrap_or(due)).max(delay_until.unwrap_or(due)))
}

/// Until when a whole host is left alone because of one answer: a 429 that says when to come back.
pub fn host_hold(failure: &Failure, now: Time) -> Option<Time> {
    let asked = failure.retry_after.filter(|_| failure.kind == ErrorKind::RateLimited);
    asked.map(|span| now + span.min(LONGEST_HOST_HOLD))
}

/// Whether a host answered quickly; none: our own failure says nothing of it.
pub fn answered_quickly(outcome: &Outcome, took: Span) -> Option<bool> {
    match outcome.failure().map(|failure| failure.kind) {
        Some(ErrorKind::Internal) => None,
        Some(ErrorKind::Network(_) | ErrorKind::Blocked) => Some(false),
        _ => Some(took < QUICK),
    }
}

/// The delay after each source of a host: the source's own, else the host's, else the kind's, else none.
pub fn poll_delay(source: Option<Span>, host: Option<Span>, kind: Option<Span>) -> Span {
    source.or(host).or(kind).unwrap_or(Span::ZERO)
}

/// The wait after a failure, by the policy's rule for what counts of the row; what was excused adds nothing to it.
fn gap_after(at: &Situation<'_>, row: &Failing, polled_at: Time, jitter: Jitter) -> (Span, Why) {
    let interval = at.interval.max(SHORTEST_INTERVAL);
    let counted = row.counted.as_ref();
    match at.policy.rule(counted.map_or(row.kind, |run| run.kind)).gap {
        Gap::Interval => (interval, Why::Retry),
        // A cap below the interval would ask a failing source more often than a healthy one.
        Gap::Backoff => {
            let doubled = interval.doubled(counted.map_or(0, |run| run.count));
            (doubled.min(at.policy.max_backoff.max(interval)), Why::Backoff)
        }
        Gap::Age { .. } if row.dormant(at.policy, polled_at) => {
            (at.policy.age.dormant_every.max(SHORTEST_INTERVAL), Why::Dormant)
        }
        Gap::Age { share } => {
            let age = counted.map_or(Span::ZERO, |run| polled_at.since(run.since));
            let class = counted.map_or(row.class(), CountedRun::class);
            let share = share.unwrap_or_else(|| at.policy.age.share(class));
            let least = interval.min(Span::from_hours(1));
            let gap = age.scale(share * jitter.around_one(0.1));
            (gap.min(at.policy.age.cap(class, age)).max(least), Why::Age)
        }
    }
}

/// The interval, or longer where the server's hints ask for it.
fn after_success(at: &Situation<'_>, polled_at: Time) -> Next {
    let interval = at.interval.max(SHORTEST_INTERVAL);
    let limit = at.hints.limit(polled_at);
    let latest = polled_at + limit.max(interval);
    let mut next = match at.hints.longest().map(|(span, hint)| (span.min(limit), hint)) {
        Some((span, hint)) if span > interval => Next { at: polled_at + span, why: Why::Hint(hint) },
        _ => Next { at: polled_at + interval, why: Why::Interval },
    };
    while at.hints.skips(next.at) && next.at < latest {
        next = Next { at: next.at.next_hour().min(latest), why: Why::Hint(Hint::Skip) };
    }
    next
}
