//! Health decisions: from a poll's outcome to the source's next state.
//!
//! Pure: no I/O, no clock, no randomness; `now` and `jitter` arrive as values. Everything a policy can do is in
//! its table. Absent on purpose: history. Health keeps what the tables need, so that no decision reads old polls.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::explain::When;
use crate::outcome::{Class, ErrorKind, Failure, Outcome};
use crate::policy::{Aside, Counts, Policy, Then};
use crate::schedule::{self, Next, Situation, Why};
use crate::time::{Jitter, Span, Time};

/// A source's state, as stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Why it is not polled at all; none: enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// Set aside, by a policy or by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
    /// The failures since the latest success; none: the latest poll succeeded, or there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// The server asked us to stay away until then (`Retry-After`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_until: Option<Time>,
    /// The latest poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_polled_at: Option<Time>,
    /// The latest poll that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_success_at: Option<Time>,
}

/// Not polled until a person enables it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Disabled {
    /// Why, for people; none where a person did it without a word.
    pub reason: Option<String>,
}

/// Set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// Since when.
    pub at: Time,
    /// An error kind's name, or a person's words.
    pub reason: String,
    /// When it is polled again; none: when a person says so.
    pub retry_at: Option<Time>,
    /// A person did it; no change of policy undoes that.
    pub by_hand: bool,
}

/// A row of failures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failing {
    /// How many in a row.
    pub count: u32,
    /// When the first was.
    pub since: Time,
    /// What the latest was.
    pub kind: ErrorKind,
    /// Its HTTP status.
    pub status: Option<u16>,
    /// Its message for people.
    pub message: String,
    /// How many of this kind in a row.
    pub kind_run: u32,
    /// When the first of those was.
    pub kind_since: Time,
    /// The permanent ones that the row ends in.
    pub permanent: Option<PermanentRun>,
}

/// Permanent failures in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermanentRun {
    /// How many.
    pub count: u32,
    /// When the first was.
    pub since: Time,
    /// Of which kinds.
    pub kinds: KindSet,
}

/// A set of error kinds; network stands in it for DNS, its one permanent cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KindSet(u16);

/// What a source's health amounts to, by precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Only a person re-enables it.
    Disabled,
    /// Set aside.
    Quarantined,
    /// The latest poll failed; polled at its policy's gap.
    Failing,
    /// All is well.
    Healthy,
}

/// A change of status that people and programs want to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusEvent {
    /// What happened.
    pub kind: StatusEventKind,
    /// Why, for people.
    pub reason: String,
}

/// The kinds of [`StatusEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusEventKind {
    /// The first failure after a success.
    Failing,
    /// Set aside.
    Quarantined,
    /// Polled well again.
    Recovered,
    /// Not polled any more.
    Disabled,
    /// A person enabled it.
    Enabled,
    /// Nothing but permanent failures for so long that a person should decide.
    Dormant,
    /// What was told of it is taken back: it was not the source's fault.
    Excused,
}

/// What follows from a poll, or from a person's hand.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The new state.
    pub health: Health,
    /// When the source is polled next and why then; none: disabled, or set aside until a person comes.
    pub next: Option<Next>,
    /// No source of the host is asked before then.
    pub host_hold_until: Option<Time>,
    /// What changed.
    pub events: Vec<StatusEvent>,
}

impl KindSet {
    /// With this kind in it too.
    #[must_use]
    pub const fn with(self, kind: ErrorKind) -> Self {
        Self(self.0 | 1 << kind.index())
    }

    /// The kinds in it.
    pub fn iter(self) -> impl Iterator<Item = ErrorKind> {
        ErrorKind::all().filter(move |kind| self.0 & 1 << kind.index() != 0)
    }

    /// As stored: names with commas between them.
    pub fn to_text(self) -> String {
        self.iter().map(ErrorKind::name).collect::<Vec<_>>().join(",")
    }

    /// As stored; names that are no kinds are left out.
    pub fn from_text(text: &str) -> Self {
        text.split(',').filter_map(|name| name.parse().ok()).fold(Self::default(), Self::with)
    }

    /// `404, DNS`.
    fn labels(self) -> String {
        let label = |kind: ErrorKind| if kind.cause().is_some() { "DNS" } else { kind.label() };
        self.iter().map(label).collect::<Vec<_>>().join(", ")
    }
}

impl Serialize for KindSet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for KindSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self::from_text(&text))
    }
}

impl Status {
    /// Every status, by precedence.
    pub const ALL: [Status; 4] = [Self::Disabled, Self::Quarantined, Self::Failing, Self::Healthy];

    /// The name in database and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Quarantined => "quarantined",
            Self::Failing => "failing",
            Self::Healthy => "healthy",
        }
    }
}

impl StatusEventKind {
    /// The name in the outbox, the API and webhooks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failing => "source.failing",
            Self::Quarantined => "source.quarantined",
            Self::Recovered => "source.recovered",
            Self::Disabled => "source.disabled",
            Self::Enabled => "source.enabled",
            Self::Dormant => "source.dormant",
            Self::Excused => "source.excused",
        }
    }
}

impl StatusEvent {
    /// What was told of a source from then on is taken back.
    pub(crate) fn excused(since: Time) -> Self {
        let reason = format!("its failures since {} were not its own and do not count", When(since));
        Self { kind: StatusEventKind::Excused, reason }
    }
}

impl Failing {
    /// Transient or permanent, by the latest failure.
    pub fn class(&self) -> Class {
        self.kind.class().unwrap_or(Class::Transient)
    }

    /// How many failures count under a rule, and since when.
    pub fn run(&self, counts: Counts) -> (u32, Time) {
        match counts {
            Counts::Kind => (self.kind_run, self.kind_since),
            Counts::Any => (self.count, self.since),
            Counts::Permanent => self.permanent.map_or((0, self.since), |run| (run.count, run.since)),
        }
    }

    /// Whether a rule sets the source aside at the time of its latest poll.
    pub fn reaches(&self, aside: &Aside, polled_at: Time) -> bool {
        let (count, since) = self.run(aside.counts);
        count >= aside.threshold && polled_at.since(since) >= aside.over
    }

    /// Nothing but permanent failures for the policy's time, at the time of the latest poll.
    pub fn dormant(&self, policy: &Policy, polled_at: Time) -> bool {
        self.permanent.is_some_and(|run| polled_at.since(run.since) >= policy.age.dormant_after)
    }

    /// Adds one more failure to the row, or starts one.
    fn after(previous: Option<&Failing>, failure: &Failure, now: Time) -> Failing {
        // A clock that jumped back must not leave a start in the future.
        let past = |time: Time| time.min(now);
        let same = previous.filter(|row| row.kind.same_kind(failure.kind));
        let permanent = (failure.kind.class() == Some(Class::Permanent)).then(|| {
            let run = previous.and_then(|row| row.permanent);
            PermanentRun {
                count: run.map_or(0, |run| run.count).saturating_add(1),
                since: run.map_or(now, |run| past(run.since)),
                kinds: run.map_or(KindSet::default(), |run| run.kinds).with(failure.kind),
            }
        });
        Failing {
            count: previous.map_or(0, |row| row.count).saturating_add(1),
            since: previous.map_or(now, |row| past(row.since)),
            kind: failure.kind,
            status: failure.status,
            message: failure.message.clone(),
            kind_run: same.map_or(0, |row| row.kind_run).saturating_add(1),
            kind_since: same.map_or(now, |row| past(row.kind_since)),
            permanent,
        }
    }

    /// A row that was excused and is not any more.
    pub(crate) fn inherited(failure: &Failure, count: u32, since: Time) -> Failing {
        let row = Failing::after(None, failure, since);
        let permanent = row.permanent.map(|run| PermanentRun { count, ..run });
        Failing { count, kind_run: count, permanent, ..row }
    }

    /// `404 Not Found, 3 times in a row over 26 hours`.
    fn in_words(&self, counts: Counts, now: Time) -> String {
        let (count, since) = self.run(counts);
        match count {
            0 | 1 => self.message.clone(),
            _ => format!("{}, {count} times in a row over {}", self.message, now.since(since)),
        }
    }
}

impl Health {
    /// A source that a person has just added.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it amounts to.
    pub const fn status(&self) -> Status {
        match self {
            Health { disabled: Some(_), .. } => Status::Disabled,
            Health { quarantine: Some(_), .. } => Status::Quarantined,
            Health { failing: Some(_), .. } => Status::Failing,
            _ => Status::Healthy,
        }
    }

    /// Set aside, and not to be polled yet.
    pub fn cooling_down(&self, now: Time) -> bool {
        self.quarantine.as_ref().is_some_and(|aside| aside.retry_at.is_none_or(|at| at > now))
    }

    /// A person enables it, changes its URL, or lifts everything held against it: a clean sheet.
    #[must_use]
    pub fn cleared(&self) -> Health {
        Health {
            last_polled_at: self.last_polled_at,
            last_success_at: self.last_success_at,
            ..Health::default()
        }
    }

    /// A person disables it.
    #[must_use]
    pub fn disabled_by_hand(&self, reason: Option<String>) -> Health {
        Health { disabled: Some(Disabled { reason }), ..self.clone() }
    }

    /// A person sets it aside: for the time that `cooldown` gives where the reason is an error kind, else
    /// without end.
    #[must_use]
    pub fn set_aside_by_hand(&self, reason: &str, now: Time) -> Health {
        let retry_at = reason.parse().ok().and_then(Policy::cooldown_of).map(|span| now + span);
        let quarantine = Quarantine { at: now, reason: reason.to_owned(), retry_at, by_hand: true };
        Health { quarantine: Some(quarantine), ..self.clone() }
    }

    /// As it was before polls that were not its fault: only that it was asked, and what its server asked for,
    /// stays of them.
    #[must_use]
    pub fn excused(self, last_polled_at: Option<Time>, hold_until: Option<Time>) -> Health {
        Health { last_polled_at, hold_until, ..self }
    }

    /// A person lifts the quarantine; the row of failures stays, since it did happen.
    #[must_use]
    pub fn lifted(&self) -> Health {
        Health { quarantine: None, ..self.clone() }
    }
}

/// What follows from a poll that ended at `now`.
pub fn decide(at: &Situation<'_>, outcome: &Outcome, now: Time, jitter: Jitter) -> Decision {
    let hold_until = outcome.retry_after().map(|span| now + span.min(schedule::LONGEST_HOLD));
    let health = Health { hold_until, last_polled_at: Some(now), ..at.health.clone() };
    match outcome {
        Outcome::Fetched { .. } | Outcome::NotModified { .. } => succeeded(at, health, now, jitter),
        Outcome::Failed(failure) if failure.kind == ErrorKind::Internal => our_fault(at, health, now),
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
    if at.health.status() == Status::Healthy && events.is_empty() {
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
        let hold = health.hold_until.max(at.host.hold_until);
        let next = schedule::retry_at(at, row, polled_at, jitter).map(|next| next.not_before(hold));
        held.retry_at = next.map(|next| next.at);
        return next.filter(|_| health.disabled.is_none());
    }
    schedule::next_poll(&Situation { health, ..*at }, now, jitter)
}

/// `Auto-disabled after 5 consecutive 404 errors`; where kinds mix, `… permanent errors (404, DNS)`.
fn disabled_reason(row: &Failing) -> String {
    let (count, kinds) = match row.permanent {
        Some(run) if run.count >= row.kind_run => (run.count, run.kinds),
        _ => (row.count, KindSet::default().with(row.kind)),
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
        let outlasts = row.kind_run < row.count && (aside.is_some() || !at.policy.exempt_lifts);
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
