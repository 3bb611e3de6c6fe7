//! The guard of our own network: when nothing answers, it is us.
//!
//! One value a worker, in memory only; a restart looks anew. It is fed each poll and asked before each claim.
//! While the network is down nothing is claimed but one source now and then, the longest due, as a probe; the
//! first answer of any kind ends it. Nothing is held against any source.
//!
//! Absent on purpose: requests of its own. What the sources answer is the evidence, so that there is no
//! stranger's address to ask and nothing to set up.

use std::collections::VecDeque;

use crate::health::Status;
use crate::incident::{Evidence, TakenBack};
use crate::outcome::{ErrorKind, Outcome};
use crate::time::{Span, Time};

/// When failures are our own, and what then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The switch.
    pub on: bool,
    /// So many polls in a row...
    pub polls: usize,
    /// ...over at least so many hosts.
    pub hosts: usize,
    /// The first probe comes after this, the next after twice that...
    pub probe_first: Span,
    /// ...and so on up to this.
    pub probe_longest: Span,
    /// Over this everything that waited is spread in the end.
    pub resume_over: Span,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            on: true,
            polls: 20,
            hosts: 5,
            probe_first: Span::from_mins(1),
            probe_longest: Span::from_mins(5),
            resume_over: Span::from_mins(15),
        }
    }
}

/// What a worker knows of its own network.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guard {
    /// The latest polls, as long as all of them failed as if nobody were there; of which host each.
    failures: VecDeque<(i64, Evidence)>,
    down: Option<Down>,
}

/// Our own network is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Down {
    /// Since when, as far as polls tell.
    pub since: Time,
    /// How often it was tried.
    pub probes: u32,
    /// When it is tried next.
    pub probe_at: Time,
}

/// What a worker may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// All that is due.
    All,
    /// One source, as a probe; the longest due.
    Probe,
    /// Nothing until then.
    Wait(Time),
}

/// What a poll says of our own network.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// Nothing.
    Fine,
    /// It is down, as now is clear: stop claiming, and take this back.
    WentDown(Vec<TakenBack>),
    /// It is still down.
    StillDown,
    /// It is back: spread what waited, and go on.
    CameBack(Down),
}

impl Guard {
    /// Whether it is down.
    pub const fn down(&self) -> Option<&Down> {
        self.down.as_ref()
    }

    /// What may be claimed now. A probe is granted once; where its outcome gets lost, there will be another.
    pub fn leave(&mut self, rules: &Rules, now: Time) -> Leave {
        match &mut self.down {
            Some(_) if !rules.on => {
                self.down = None;
                Leave::All
            }
            None => Leave::All,
            Some(down) if down.probe_at <= now => {
                down.probe_at = now + gap(down.probes.saturating_add(1), rules);
                Leave::Probe
            }
            // A clock that jumped back must not make us wait longer.
            Some(down) => {
                down.probe_at = down.probe_at.min(now + rules.probe_longest);
                Leave::Wait(down.probe_at)
            }
        }
    }

    /// Looks at a poll's outcome. The evidence is made only where it may be needed.
    pub fn polled(
        &mut self,
        rules: &Rules,
        host: i64,
        outcome: &Outcome,
        evidence: impl FnOnce() -> Evidence,
        now: Time,
    ) -> Finding {
        let kind = outcome.failure().map(|failure| failure.kind);
        match kind.filter(|kind| is_ours(*kind) && self.down.is_none()) {
            Some(_) => self.failed(rules, host, evidence(), now),
            None => self.asked(rules, outcome, now),
        }
    }

    /// Looks at an outcome that is no evidence that it went down: whether it is still down, or back.
    pub fn asked(&mut self, rules: &Rules, outcome: &Outcome, now: Time) -> Finding {
        match (outcome.failure().map(|failure| failure.kind), &mut self.down) {
            (Some(ErrorKind::Internal), _) => Finding::Fine,
            (Some(kind), None) if is_ours(kind) => Finding::Fine,
            (Some(kind), Some(down)) if is_ours(kind) => {
                down.probes = down.probes.saturating_add(1);
                down.probe_at = now + gap(down.probes, rules);
                Finding::StillDown
            }
            (_, down) => {
                self.failures.clear();
                down.take().map_or(Finding::Fine, Finding::CameBack)
            }
        }
    }

    fn failed(&mut self, rules: &Rules, host: i64, evidence: Evidence, now: Time) -> Finding {
        // That a source which is out already fails again says nothing, either way.
        if matches!(evidence.before.status(), Status::Disabled | Status::Quarantined) {
            return Finding::Fine;
        }
        self.failures.push_back((host, evidence));
        while self.failures.len() > rules.polls.max(1) {
            self.failures.pop_front();
        }
        let mut hosts: Vec<i64> = self.failures.iter().map(|(host, _)| *host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        if self.failures.len() < rules.polls || hosts.len() < rules.hosts {
            return Finding::Fine;
        }
        let probe_at = now + gap(0, rules);
        let since = self.failures.front().map_or(now, |(_, first)| first.first_at);
        self.down = Some(Down { since, probes: 0, probe_at });
        let mut known = Vec::new();
        for (_, evidence) in self.failures.drain(..) {
            evidence.add_to(&mut known);
        }
        Finding::WentDown(known.into_iter().map(|evidence| evidence.taken_back(probe_at)).collect())
    }
}

/// Kinds that may be our own network's. A captive portal sends every name to an address of its own, which the
/// guard of fetch refuses.
pub(crate) const fn is_ours(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network(_) | ErrorKind::Blocked)
}

/// How long until the next probe, after so many.
fn gap(probes: u32, rules: &Rules) -> Span {
    rules.probe_first.doubled(probes).min(rules.probe_longest.max(rules.probe_first))
}
