//! A source's health: what is held against it, what that amounts to, and what a person's hand does to it.
//!
//! What polls do to it is in `decide.rs`. Absent on purpose: history. Health keeps what the tables need, so that no
//! decision reads old polls.

mod decide;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::explain::When;
use crate::outcome::{Class, ErrorKind, Failure};
use crate::policy::{Aside, Counts, Policy};
use crate::schedule::Next;
use crate::time::{Span, Time};

pub use decide::{by_hand, decide, rederive};

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
    /// No poll has finished since the source was created, a person enabled it or its URL was changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awaiting_poll: bool,
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

/// A row of failures: the facts of all of them, and separately what counts towards thresholds and gaps.
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
    /// The id of the host incident or network outage that excuses the latest failure; none: it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excused_by: Option<String>,
    /// The failures of the row that count; none: all of them were excused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedRun>,
}

/// The failures of a row that count: those that were not excused.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CountedRun {
    /// How many, of any kind.
    pub count: u32,
    /// When the first was.
    pub since: Time,
    /// What the latest was.
    pub kind: ErrorKind,
    /// How many of that kind in a row.
    pub kind_run: u32,
    /// When the first of those was.
    pub kind_since: Time,
    /// The permanent ones that it ends in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// Not polled yet.
    Pending,
    /// The latest poll succeeded.
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
    pub const ALL: [Status; 5] =
        [Self::Disabled, Self::Quarantined, Self::Failing, Self::Pending, Self::Healthy];

    /// The name in database and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Quarantined => "quarantined",
            Self::Failing => "failing",
            Self::Pending => "pending",
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
        let reason = format!("its failures since {} do not count: they were not its own", When(since));
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
        let Some(run) = &self.counted else { return (0, self.since) };
        match counts {
            Counts::Kind => (run.kind_run, run.kind_since),
            Counts::Any => (run.count, run.since),
            Counts::Permanent => run.permanent.map_or((0, run.since), |run| (run.count, run.since)),
        }
    }

    /// Whether a rule sets the source aside at the time of its latest poll.
    pub fn reaches(&self, aside: &Aside, polled_at: Time) -> bool {
        let (count, since) = self.run(aside.counts);
        count >= aside.threshold && polled_at.since(since) >= aside.over
    }

    /// Nothing but permanent failures for the policy's time, at the time of the latest poll.
    pub fn dormant(&self, policy: &Policy, polled_at: Time) -> bool {
        let permanent = self.counted.as_ref().and_then(|run| run.permanent);
        permanent.is_some_and(|run| polled_at.since(run.since) >= policy.age.dormant_after)
    }

    /// So many failures in a row, all alike, the first of them at that time; all of them count.
    pub fn repeated(failure: &Failure, count: u32, since: Time) -> Failing {
        let row = Failing::after(None, failure, since);
        Failing { count, ..row }.all_counted()
    }

    /// One more failure that counts, or the first.
    fn after(previous: Option<&Failing>, failure: &Failure, now: Time) -> Failing {
        let run = previous.and_then(|row| row.counted.as_ref());
        let counted = Some(CountedRun::after(run, failure.kind, now));
        Failing { counted, ..Failing::facts(previous, failure, now) }
    }

    /// One more failure that does not count, or the first: only the facts change.
    pub(crate) fn excused(
        previous: Option<&Failing>,
        failure: &Failure,
        excused_by: String,
        now: Time,
    ) -> Failing {
        Failing { excused_by: Some(excused_by), ..Failing::facts(previous, failure, now) }
    }

    fn facts(previous: Option<&Failing>, failure: &Failure, now: Time) -> Failing {
        Failing {
            count: previous.map_or(0, |row| row.count).saturating_add(1),
            // A clock that jumped back must not leave a start in the future.
            since: previous.map_or(now, |row| row.since.min(now)),
            kind: failure.kind,
            status: failure.status,
            message: failure.message.clone(),
            excused_by: None,
            counted: previous.and_then(|row| row.counted),
        }
    }

    /// The same row with all of its failures counted, as of the kind of the latest.
    pub(crate) fn all_counted(&self) -> Failing {
        let (count, since, kind) = (self.count, self.since, self.kind);
        let permanent = (kind.class() == Some(Class::Permanent)).then(|| PermanentRun {
            count,
            since,
            kinds: KindSet::default().with(kind),
        });
        let run = CountedRun { count, since, kind, kind_run: count, kind_since: since, permanent };
        Failing { counted: Some(run), ..self.clone() }
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

impl CountedRun {
    fn after(previous: Option<&CountedRun>, kind: ErrorKind, now: Time) -> CountedRun {
        // A clock that jumped back must not leave a start in the future.
        let past = |time: Time| time.min(now);
        let same = previous.filter(|run| run.kind.same_kind(kind));
        let permanent = (kind.class() == Some(Class::Permanent)).then(|| {
            let run = previous.and_then(|run| run.permanent);
            PermanentRun {
                count: run.map_or(0, |run| run.count).saturating_add(1),
                since: run.map_or(now, |run| past(run.since)),
                kinds: run.map_or(KindSet::default(), |run| run.kinds).with(kind),
            }
        });
        CountedRun {
            count: previous.map_or(0, |run| run.count).saturating_add(1),
            since: previous.map_or(now, |run| past(run.since)),
            kind,
            kind_run: same.map_or(0, |run| run.kind_run).saturating_add(1),
            kind_since: same.map_or(now, |run| past(run.kind_since)),
            permanent,
        }
    }

    /// Transient or permanent, by the latest failure.
    pub fn class(&self) -> Class {
        self.kind.class().unwrap_or(Class::Transient)
    }
}

impl Health {
    /// A source that a person has just added. The default is one whose latest poll succeeded.
    pub fn new() -> Self {
        Self { awaiting_poll: true, ..Self::default() }
    }

    /// What it amounts to.
    pub const fn status(&self) -> Status {
        match self {
            Health { disabled: Some(_), .. } => Status::Disabled,
            Health { quarantine: Some(_), .. } => Status::Quarantined,
            Health { failing: Some(_), .. } => Status::Failing,
            Health { awaiting_poll: true, .. } => Status::Pending,
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
        Health { last_polled_at: self.last_polled_at, last_success_at: self.last_success_at, ..Health::new() }
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

    /// Whether the source worked until then: its latest poll before had succeeded, or its latest success was at most
    /// two intervals old.
    pub fn worked_until(&self, interval: Span, at: Time) -> bool {
        let lately = |success: Time| at.since(success) <= interval.doubled(1);
        let well = self.failing.as_ref().is_none_or(|row| row.since >= at);
        !self.awaiting_poll && self.last_success_at.is_some_and(|success| well || lately(success))
    }

    /// A person lifts the quarantine; the row of failures stays, since it did happen.
    #[must_use]
    pub fn lifted(&self) -> Health {
        Health { quarantine: None, ..self.clone() }
    }
}
