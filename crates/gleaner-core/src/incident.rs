//! Host incidents: when a host's sources fail together, it is the host, and none of them is to blame.
//!
//! Evidence comes from sources that worked until then, so that dead ones prove nothing. What is kept of a host is small
//! whatever the number of its sources: the failures since its latest success, of at most [`Rules::at_once`] sources and
//! no older than [`Rules::within`], and the incident that is going on. A success forgets the failures, so that a calm
//! host has nothing to keep. While an incident lasts the host is held, and at each probe the source that has waited
//! longest is fetched; the others are simply overdue, so deferring a hundred thousand of them writes nothing.
//!
//! A host is whatever the caller keeps one memory for. Where services limit or fail across their subdomains,
//! that is the registrable domain: the caller then groups sources, leases and memories by that name instead.
//!
//! Absent on purpose: who applies it. What is taken back and released is said here and written by the store.

use serde::{Deserialize, Serialize};

use crate::explain::When;
use crate::health::{Failing, Health, Status, StatusEvent};
use crate::outcome::{ErrorKind, Failure};
use crate::time::{Span, Time};

/// When failures are an incident, and what then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The switch.
    pub on: bool,
    /// Failures of at least so many sources; of all, where the host has two.
    pub least: usize,
    /// Not longer ago than this.
    pub within: Span,
    /// Sources that fail one right after the other say little, unless it goes on for this long...
    pub lasting: Span,
    /// ...on a host that has but two, for this long...
    pub lasting_of_two: Span,
    /// ...or unless there are so many of them. Nobody remembers more of a host.
    pub at_once: usize,
    /// The first probe comes after this, the next after twice that...
    pub probe_first: Span,
    /// ...and so on up to this.
    pub probe_longest: Span,
    /// What is older is no incident any more: each source on its own.
    pub longest: Span,
    /// Over this the sources that waited are spread when it ends.
    pub release_over: Span,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            on: true,
            least: 3,
            within: Span::from_hours(1),
            lasting: Span::from_mins(2),
            lasting_of_two: Span::from_mins(30),
            at_once: 20,
            probe_first: Span::from_mins(5),
            probe_longest: Span::from_hours(1),
            longest: Span::from_days(5),
            release_over: Span::from_mins(10),
        }
    }
}

/// A source as a poll knew it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Asked {
    /// Its id.
    pub source: i64,
    /// Its fence: whoever edits it raises that, and then nothing of before is written over it.
    pub fence: i64,
}

/// Failures of a source in a row that may turn out not to be its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Whose.
    pub asked: Asked,
    /// The first of them.
    pub first_at: Time,
    /// The latest.
    pub last_at: Time,
    /// What the server asked for with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_until: Option<Time>,
    /// The source's health before the first.
    pub before: Health,
    /// The facts as of the latest.
    pub row: Failing,
    /// When the source is due if none of them counts.
    pub next_poll_at: Time,
    /// An event reported them, which a correcting one has to follow.
    pub told: bool,
}

/// A host that fails as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// What its sources fail with.
    pub kind: ErrorKind,
    /// The first failure that was evidence.
    pub since: Time,
    /// When it was noticed.
    pub opened_at: Time,
    /// Failures of how many sources were taken back.
    pub sources: u32,
    /// How often it has been probed since.
    pub probes: u32,
    /// No source of the host is polled before.
    pub probe_at: Time,
}

/// What a host's memory has to keep of its failures.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Incidents {
    /// What is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<Incident>,
    /// Failures since the host's latest success, one entry a source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// When the evidence of its kind began, though its first entries may be dropped by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<(ErrorKind, Time)>,
    /// The latest failure of each kind that is no evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<(ErrorKind, Time)>,
    /// The incident that lasted too long, until the host's next success. Its time is held against its sources
    /// after all, else a dead host would be named a second time as late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Incident>,
    /// When the latest incident was noticed. A source that has not succeeded since is no evidence again: else a
    /// few dead ones could excuse each other for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_at: Option<Time>,
}

/// What is to be written over a source whose failures were not its own, if neither its fence nor the time of
/// its latest poll has changed since; then somebody knows better.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenBack {
    /// Which source.
    pub asked: Asked,
    /// The polls from then on stay in the history, marked as excused...
    pub first_at: Time,
    /// ...up to this one.
    pub last_at: Time,
    /// Its health: the facts of those polls, and all else as it was before them.
    pub health: Health,
    /// When it is due.
    pub next_poll_at: Time,
    /// An event reported the failures: a correcting one must follow.
    pub told: bool,
}

/// What a failure means for its host.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// Nothing: it is the source's own.
    Own,
    /// It is the host, as now is clear.
    Opened(Vec<TakenBack>),
}

/// What is known of a host beside its failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostFacts {
    /// How many sources it has that are polled, counted up to [`Rules::least`].
    pub sources: u32,
    /// Its latest success.
    pub latest_success_at: Option<Time>,
}

/// Kinds that come from the host and not from what it is asked for.
const fn ails_a_host(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network(_) | ErrorKind::UpstreamFailure)
}

/// Whether failures of two kinds are evidence of the same incident.
const fn alike(kind: ErrorKind, other: ErrorKind) -> bool {
    ails_a_host(kind) && ails_a_host(other) || kind.same_kind(other)
}

/// Whether failures of a kind can be evidence of an incident at all.
const fn can_be_evidence(kind: ErrorKind) -> bool {
    use ErrorKind::{Forbidden, Gone, NotFound, Unauthorized};
    ails_a_host(kind) || matches!(kind, Unauthorized | Forbidden | NotFound | Gone)
}

impl Evidence {
    /// The source with the facts of these failures, none of which counts.
    pub fn taken_back(self, excused_by: &str, not_before: Time) -> TakenBack {
        let counted = self.before.failing.as_ref().and_then(|row| row.counted);
        let failing = Failing { excused_by: Some(excused_by.to_owned()), counted, ..self.row };
        TakenBack {
            asked: self.asked,
            first_at: self.first_at,
            last_at: self.last_at,
            health: Health {
                failing: Some(failing),
                last_polled_at: Some(self.last_at),
                hold_until: self.hold_until,
                ..self.before
            },
            next_poll_at: self.next_poll_at.max(not_before),
            told: self.told,
        }
    }

    /// Puts a source's newest failure with those that are known of it.
    pub(crate) fn add_to(self, known: &mut Vec<Evidence>) {
        match known.iter_mut().find(|entry| entry.asked.source == self.asked.source) {
            // Edited in between: what was before the edit is of no use.
            Some(entry) if entry.asked.fence != self.asked.fence => *entry = self,
            Some(entry) => {
                let (first_at, told) = (entry.first_at, entry.told);
                let before = std::mem::take(&mut entry.before);
                *entry = Self { first_at, before, told: told || self.told, ..self };
            }
            None => known.push(self),
        }
    }
}

impl TakenBack {
    /// The correcting event, where one is due.
    pub fn event(&self) -> Option<StatusEvent> {
        self.told.then(|| StatusEvent::excused(self.first_at))
    }
}

impl Incident {
    /// `a.example@2026-11-15T08:00:00Z`: the host and the time of the first failure.
    pub fn id(&self, host: &str) -> String {
        format!("{host}@{}", seconds(self.since))
    }

    /// Whether a failure of this kind can be excused by it.
    pub const fn covers(&self, kind: ErrorKind) -> bool {
        alike(self.kind, kind)
    }

    /// How long until the next probe, after so many.
    fn gap(probes: u32, rules: &Rules) -> Span {
        rules.probe_first.doubled(probes.saturating_sub(1)).min(rules.probe_longest.max(rules.probe_first))
    }

    /// `fails as a whole since …: not_found, 12 sources together; …; probed 3 times so far, next at …`.
    pub fn in_words(&self) -> String {
        let Incident { kind, sources, probes, .. } = self;
        let (since, next) = (When(self.since), When(self.probe_at));
        let probed = if *probes == 1 { "once".to_owned() } else { format!("{probes} times") };
        format!(
            "fails as a whole since {since}: {kind}, {sources} sources together; failures of sources that worked \
             until then do not count, and one source at a time is polled as a probe; probed {probed} so far, next at \
             {next}"
        )
    }
}

/// `2026-11-15T08:00:00Z`.
pub(crate) fn seconds(time: Time) -> String {
    let text = time.to_string();
    text.get(..19).map_or(text.clone(), |seconds| format!("{seconds}Z"))
}

impl Incidents {
    /// Whether a failure of a source can be evidence: it worked until now or is evidence already, is not set aside, and
    /// has succeeded since the latest incident.
    pub fn is_evidence(
        &self,
        source: i64,
        health: &Health,
        kind: ErrorKind,
        interval: Span,
        now: Time,
    ) -> bool {
        let known = || self.evidence.iter().any(|entry| entry.asked.source == source);
        let out = matches!(health.status(), Status::Disabled | Status::Quarantined);
        let since_latest = self.latest_at.is_none_or(|at| health.last_success_at > Some(at));
        let worked = || health.worked_until(interval, now) || known();
        can_be_evidence(kind) && since_latest && worked() && (!out || known())
    }

    /// A poll of the host succeeded: the incident that this ends, and whether anything changed.
    pub fn succeeded(&mut self) -> (Option<Incident>, bool) {
        let known = !self.evidence.is_empty() || !self.others.is_empty();
        let changed = self.open.is_some() || self.given_up.is_some() || known;
        self.forget_evidence();
        self.given_up = None;
        (self.open.take(), changed)
    }

    fn forget_evidence(&mut self) {
        (self.evidence, self.others, self.began) = (Vec::new(), Vec::new(), None);
    }

    /// Ends an incident that lasted too long: each source is on its own again.
    pub fn give_up(&mut self, rules: &Rules, now: Time) -> Option<Incident> {
        let open = self.open.as_mut()?;
        // A clock that jumped back must not make it last longer.
        open.opened_at = open.opened_at.min(now);
        if now.since(open.opened_at) < rules.longest {
            return None;
        }
        self.given_up = self.open.take();
        self.given_up
    }

    /// What was excused of a source in an incident that lasted too long counts, now that it fails again.
    pub fn inherited(&self, health: &Health, failure: &Failure) -> Option<Health> {
        let incident = self.given_up.filter(|incident| incident.covers(failure.kind))?;
        let excused = |row: &&Failing| row.excused_by.is_some() && row.since >= incident.since;
        let row = health.failing.as_ref().filter(excused)?;
        Some(Health { failing: Some(row.all_counted()), ..health.clone() })
    }

    /// A failure that is no evidence. It is remembered for a while, since it may say that the sources do not all fail
    /// alike.
    pub fn failed_otherwise(&mut self, kind: ErrorKind, rules: &Rules, now: Time) {
        self.drop_old(rules, now);
        match self.others.iter_mut().find(|(other, _)| other.same_kind(kind)) {
            Some((_, at)) => *at = now,
            None => self.others.push((kind, now)),
        }
    }

    fn drop_old(&mut self, rules: &Rules, now: Time) {
        self.evidence.retain(|entry| entry.last_at <= now && now.since(entry.last_at) <= rules.within);
        self.others.retain(|(_, at)| *at <= now && now.since(*at) <= rules.within);
        if self.evidence.is_empty() {
            self.began = None;
        }
    }

    /// What one more piece of evidence means for the host.
    pub fn failed(
        &mut self,
        evidence: Evidence,
        host: &str,
        facts: HostFacts,
        interval: Span,
        rules: &Rules,
        now: Time,
    ) -> Finding {
        self.drop_old(rules, now);
        let kind = evidence.row.kind;
        if !self.began.is_some_and(|(began, _)| alike(began, kind)) {
            self.began = Some((kind, now));
        }
        evidence.add_to(&mut self.evidence);
        if !self.suffices(kind, facts, interval, rules, now) {
            let most = rules.at_once.max(rules.least);
            let over = self.evidence.len().saturating_sub(most);
            self.evidence.drain(..over);
            return Finding::Own;
        }
        let probe_at = now + Incident::gap(1, rules);
        let began = self.began.filter(|(began, _)| alike(*began, kind)).map(|(_, at)| at);
        let mut same = std::mem::take(&mut self.evidence);
        self.forget_evidence();
        same.retain(|entry| alike(entry.row.kind, kind));
        let first = same.iter().map(|entry| entry.first_at).chain(began).min();
        let since = first.unwrap_or(now).min(now);
        let sources = u32::try_from(same.len()).unwrap_or(u32::MAX);
        let incident = Incident { kind, since, opened_at: now, sources, probes: 1, probe_at };
        self.open = Some(incident);
        self.latest_at = Some(now);
        let id = incident.id(host);
        Finding::Opened(same.into_iter().map(|entry| entry.taken_back(&id, probe_at)).collect())
    }

    /// While an incident is open: one more probe failed. When the next one is.
    pub fn probed(&mut self, rules: &Rules, now: Time) -> Option<Time> {
        let open = self.open.as_mut()?;
        open.probes = open.probes.saturating_add(1);
        open.probe_at = now + Incident::gap(open.probes, rules);
        Some(open.probe_at)
    }

    /// Whether the failures like this one are enough to call it the host. An answer that refuses a single document
    /// (401, 403, 404, 410) is the host's only where every source polled within [`Rules::within`] got it: where none failed
    /// otherwise, and the latest success is so long ago that each has been polled again since.
    fn suffices(&self, kind: ErrorKind, facts: HostFacts, interval: Span, rules: &Rules, now: Time) -> bool {
        let same = self.evidence.iter().filter(|entry| alike(entry.row.kind, kind));
        let count = same.clone().count();
        let first = same.map(|entry| entry.first_at).min().unwrap_or(now);
        let (least, lasting) =
            if facts.sources == 2 { (2, rules.lasting_of_two) } else { (rules.least, rules.lasting) };
        let lasted = now.since(first) >= lasting || count >= rules.at_once;
        let refused_alike = || {
            let kinds = self.evidence.iter().map(|entry| entry.row.kind);
            let others = self.others.iter().map(|(other, _)| *other);
            let round = interval.min(rules.within);
            kinds.chain(others).all(|other| other.same_kind(kind))
                && facts.latest_success_at.is_none_or(|success| now.since(success) >= round)
        };
        count >= least && lasted && (ails_a_host(kind) || refused_alike())
    }
}
