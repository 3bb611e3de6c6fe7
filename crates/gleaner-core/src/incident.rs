//! Host incidents: when a host's sources fail together, it is the host, and none of them is to blame.
//!
//! What is kept of a host is small whatever the number of its sources: the failures since its latest success, of
//! at most [`Rules::at_once`] sources and no older than [`Rules::within`], and the incident that is going on. A
//! success forgets the failures, so that a calm host has nothing to keep. While an incident lasts the host is
//! held, and at each probe the source that has waited longest is asked; the others are simply overdue, so
//! deferring a hundred thousand of them writes nothing. The one who was asked goes to the end of the line.
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
    /// Failures of at least so many sources.
    pub least: usize,
    /// Being at least this share of those asked since the host's latest success.
    pub share: f64,
    /// Not longer ago than this.
    pub within: Span,
    /// Sources that fail one right after the other say little, unless it goes on for this long...
    pub lasting: Span,
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
    /// A source that answers again after a failure of the host's making makes its siblings due that fail alike.
    pub siblings: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            on: true,
            least: 3,
            share: 0.6,
            within: Span::from_hours(1),
            lasting: Span::from_mins(2),
            at_once: 20,
            probe_first: Span::from_mins(5),
            probe_longest: Span::from_hours(1),
            longest: Span::from_days(3),
            release_over: Span::from_mins(10),
            siblings: true,
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
    /// The kind of the latest.
    pub kind: ErrorKind,
    /// The first of them.
    pub first_at: Time,
    /// The latest.
    pub last_at: Time,
    /// What the server asked for with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_until: Option<Time>,
    /// The source's health before the first.
    pub before: Health,
    /// An event told of it, which a correcting one has to follow.
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
    /// How often it has been asked since.
    pub probes: u32,
    /// Nobody asks the host before.
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
    /// The incident that lasted too long, until the host's next success. Its time is held against its sources
    /// after all, else a dead host would be named a second time as late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Incident>,
    /// When the latest incident was noticed. A source that has not answered since is no evidence again: else a
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
    /// Its health: as it was before.
    pub health: Health,
    /// When it is due.
    pub next_poll_at: Time,
    /// An event told of the failures: a correcting one must follow.
    pub told: bool,
}

/// What a failure means for its host.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// Nothing: it is the source's own.
    Own,
    /// It is the host, as now is clear.
    Opened(Vec<TakenBack>),
    /// It still is the host.
    GoesOn,
}

impl Evidence {
    /// As it would be with these failures never counted.
    pub fn taken_back(self, next_poll_at: Time) -> TakenBack {
        TakenBack {
            asked: self.asked,
            first_at: self.first_at,
            last_at: self.last_at,
            health: self.before.excused(Some(self.last_at), self.hold_until),
            next_poll_at,
            told: self.told,
        }
    }

    /// Puts a source's newest failure with those that are known of it.
    pub(crate) fn add_to(self, known: &mut Vec<Evidence>) {
        match known.iter_mut().find(|entry| entry.asked.source == self.asked.source) {
            // Edited in between: what was before the edit is of no use.
            Some(entry) if entry.asked.fence != self.asked.fence => *entry = self,
            Some(entry) => {
                entry.kind = self.kind;
                entry.last_at = self.last_at;
                entry.hold_until = self.hold_until;
                entry.told |= self.told;
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
    /// How long until the next probe, after so many.
    fn gap(probes: u32, rules: &Rules) -> Span {
        rules.probe_first.doubled(probes.saturating_sub(1)).min(rules.probe_longest.max(rules.probe_first))
    }

    /// `fails as a whole since …: not_found, 12 sources in a row; …; asked 3 times so far, next at …`.
    pub fn in_words(&self) -> String {
        let Incident { kind, sources, probes, .. } = self;
        let (since, next) = (When(self.since), When(self.probe_at));
        let asked = if *probes == 1 { "once".to_owned() } else { format!("{probes} times") };
        format!(
            "fails as a whole since {since}: {kind}, {sources} sources in a row; nothing is held against them, and \
             one after the other is asked whether it is back; asked {asked} so far, next at {next}"
        )
    }
}

impl Incidents {
    /// Whether a failure can be evidence: not of a source that is out already, and not one that says nothing.
    fn is_evidence(&self, evidence: &Evidence) -> bool {
        let before = &evidence.before;
        let counts = !matches!(evidence.kind, ErrorKind::RateLimited | ErrorKind::Internal);
        let out = matches!(before.status(), Status::Disabled | Status::Quarantined);
        counts && !out && self.latest_at.is_none_or(|at| before.last_success_at > Some(at))
    }

    /// A poll of the host succeeded: the incident that this ends, and whether anything changed.
    pub fn succeeded(&mut self) -> (Option<Incident>, bool) {
        let changed = self.open.is_some() || self.given_up.is_some() || !self.evidence.is_empty();
        (self.evidence, self.given_up) = (Vec::new(), None);
        (self.open.take(), changed)
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

    /// What a source that fails as its host did has failed before, if that was an incident for too long.
    pub fn inherited(&self, health: &Health, failure: &Failure) -> Option<Health> {
        let incident = self.given_up.filter(|incident| incident.kind.same_kind(failure.kind))?;
        let known = health.last_polled_at.is_some_and(|at| at >= incident.since);
        if !known || health.failing.is_some() || health.last_success_at > Some(incident.since) {
            return None;
        }
        let row = Failing::inherited(failure, incident.probes, incident.since);
        Some(Health { failing: Some(row), ..health.clone() })
    }

    /// What a failure of a source means for the host.
    pub fn failed(&mut self, evidence: Evidence, rules: &Rules, now: Time) -> Finding {
        if self.probed(rules, now).is_some() {
            return Finding::GoesOn;
        }
        self.evidence.retain(|entry| entry.last_at <= now && now.since(entry.last_at) <= rules.within);
        if !self.is_evidence(&evidence) {
            return Finding::Own;
        }
        let kind = evidence.kind;
        evidence.add_to(&mut self.evidence);
        if !self.suffices(kind, rules, now) {
            let most = rules.at_once.max(rules.least);
            let over = self.evidence.len().saturating_sub(most);
            self.evidence.drain(..over);
            return Finding::Own;
        }
        let probe_at = now + Incident::gap(1, rules);
        let same: Vec<Evidence> = std::mem::take(&mut self.evidence)
            .into_iter()
            .filter(|entry| entry.kind.same_kind(kind))
            .collect();
        let since = same.iter().map(|entry| entry.first_at).min().unwrap_or(now);
        let sources = u32::try_from(same.len()).unwrap_or(u32::MAX);
        self.open = Some(Incident { kind, since, opened_at: now, sources, probes: 1, probe_at });
        self.latest_at = Some(now);
        Finding::Opened(same.into_iter().map(|entry| entry.taken_back(probe_at)).collect())
    }

    /// While an incident is open: one more probe failed. When the next one is.
    pub fn probed(&mut self, rules: &Rules, now: Time) -> Option<Time> {
        let open = self.open.as_mut()?;
        open.probes = open.probes.saturating_add(1);
        open.probe_at = now + Incident::gap(open.probes, rules);
        Some(open.probe_at)
    }

    /// Whether the failures of this kind are enough to call it the host.
    fn suffices(&self, kind: ErrorKind, rules: &Rules, now: Time) -> bool {
        let mut same = self.evidence.iter().filter(|entry| entry.kind.same_kind(kind));
        let first = same.clone().map(|entry| entry.first_at).min().unwrap_or(now);
        let count = same.by_ref().count();
        let lasted = now.since(first) >= rules.lasting || count >= rules.at_once;
        count >= rules.least && count as f64 >= rules.share * self.evidence.len() as f64 && lasted
    }
}
