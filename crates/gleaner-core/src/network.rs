//! Local network outages: when polls of unrelated hosts all fail as if nobody were there, it is us.
//!
//! One value a worker, in memory only; a restart looks anew. It sees each poll and is asked before each claim. Only
//! sources that worked until then are evidence: dead ones fail whatever our network does. While it is down nothing is
//! claimed but one source now and then as a probe; the first answer of any kind ends it. No failure counts meanwhile.
//!
//! Absent on purpose: requests of its own. What the sources answer is the evidence, so that there is no
//! stranger's address to ask and nothing to set up.

use std::collections::VecDeque;

use crate::incident::{Evidence, TakenBack, seconds};
use crate::judgement::Poll;
use crate::outcome::{ErrorKind, Outcome};
use crate::time::{Span, Time};

/// When failures are our own, and what then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The switch.
    pub on: bool,
    /// So many polls in a row...
    pub polls: usize,
    /// ...of at least so many unrelated hosts.
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
    /// The latest polls that say anything, as long as all of them failed as if nobody were there; of which domain each.
    failures: VecDeque<(String, Evidence)>,
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
    /// One source that worked before, as a probe.
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

    /// A granted probe found nothing to poll: it is granted again.
    pub fn probe_later(&mut self, now: Time) {
        if let Some(down) = &mut self.down {
            down.probe_at = down.probe_at.min(now);
        }
    }

    /// Looks at a poll's outcome. The evidence is made only where it may be needed, knowing whether the source is
    /// evidence already; none: its failure says nothing.
    pub fn polled(
        &mut self,
        rules: &Rules,
        poll: &Poll<'_>,
        evidence: impl FnOnce(bool) -> Option<Evidence>,
        now: Time,
    ) -> Finding {
        let kind = poll.outcome.failure().map(|failure| failure.kind);
        if self.down.is_some() || !kind.is_some_and(is_ours) {
            return self.asked(rules, poll.outcome, now);
        }
        let known = self.failures.iter().any(|(_, entry)| entry.asked == poll.asked);
        match evidence(known) {
            Some(evidence) => self.failed(rules, poll.domain, evidence, now),
            None => Finding::Fine,
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

    fn failed(&mut self, rules: &Rules, domain: &str, evidence: Evidence, now: Time) -> Finding {
        self.failures.push_back((domain.to_owned(), evidence));
        while self.failures.len() > rules.polls.max(1) {
            self.failures.pop_front();
        }
        let mut domains: Vec<&str> = self.failures.iter().map(|(domain, _)| domain.as_str()).collect();
        domains.sort_unstable();
        domains.dedup();
        if self.failures.len() < rules.polls || domains.len() < rules.hosts {
            return Finding::Fine;
        }
        let probe_at = now + gap(0, rules);
        let since = self.failures.front().map_or(now, |(_, first)| first.first_at);
        let down = Down { since, probes: 0, probe_at };
        self.down = Some(down);
        let mut known = Vec::new();
        for (_, evidence) in self.failures.drain(..) {
            evidence.add_to(&mut known);
        }
        let id = down.id();
        Finding::WentDown(known.into_iter().map(|entry| entry.taken_back(&id, probe_at)).collect())
    }
}

impl Down {
    /// What the ids of all network outages begin with; no host's name has a space.
    pub const ID_PREFIX: &'static str = "network outage@";

    /// `network outage@2026-11-15T08:00:00Z`.
    pub fn id(&self) -> String {
        format!("{}{}", Self::ID_PREFIX, seconds(self.since))
    }
}

/// Kinds that may be our own network's. A captive portal sends every name to an address of its own, which the
/// guard of fetch refuses.
pub(crate) fn is_ours(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network(_) | ErrorKind::Blocked)
}

/// How long until the next probe, after so many.
fn gap(probes: u32, rules: &Rules) -> Span {
    rules.probe_first.doubled(probes).min(rules.probe_longest.max(rules.probe_first))
}
