//! Whose fault it is: one function from a poll's outcome to what follows for the source, its host, and the worker.
//!
//! [`judge`] stands where [`decide`](crate::health::decide) stood, around it: claim, fetch, read, judge, commit. With every switch off,
//! and under a policy that is not judged, its decision is `decide`'s. Every failure stays a fact of its source; judgement
//! decides what counts, and when the next poll is. Pure as everything here: `now` and chance are values, and the two memories that
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
//! - *In the worker*: one [`Guard`](crate::network::Guard), asked with [`Guard::leave`](crate::network::Guard::leave) before each claim; [`Verdict::resume_over`] spreads
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
use crate::explain::When;
use crate::health::Decision;
use crate::incident::{self, Asked, Incident, Incidents, TakenBack};
pub use crate::judge::{judge, judge_page};
use crate::network::{self, Down};
use crate::outcome::Outcome;
use crate::pacing::{self, Pace, Success};
use crate::time::{Span, Time};

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
    /// Its host, by name.
    pub host: &'a str,
    /// The registrable domain of that, or the host itself: hosts of one domain are related.
    pub domain: &'a str,
    /// How many sources of the host are polled, counted up to three.
    pub host_sources: u32,
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

impl Excuse {
    /// The name in the poll history and the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Incident => "incident",
            Self::OwnNetwork => "own_network",
        }
    }

    /// The excuse of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Incident, Self::OwnNetwork].into_iter().find(|excuse| excuse.name() == name)
    }

    /// Why a failure does not count, for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Incident => "does not count: its host failed as a whole",
            Self::OwnNetwork => "does not count: the local network was down",
        }
    }
}

/// Sources of a host that are spread over a stretch of time, each at a random point of it: all that are overdue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// How long the stretch is.
    pub over: Span,
    /// Also those whose latest failure was excused and that are due later. No other source's next poll comes earlier.
    pub excused: bool,
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
    /// For the source, as a policy decides it, or with nothing but the facts changed where the failure is excused.
    pub decision: Decision,
    /// Whether and why it is; by which incident or outage stands in the health.
    pub excused: Option<Excuse>,
    /// The host's memory has changed and must be stored with the poll.
    pub memory_changed: bool,
    /// The learned spacing: the host is not asked before that has passed.
    pub host_gap: Span,
    /// Where earlier failures of the source itself are excused with it: since when. They stay in the history, marked.
    pub excused_since: Option<Time>,
    /// Evidence of other sources to be taken back.
    pub taken_back: Vec<TakenBack>,
    /// Sources of the host to be released.
    pub release: Option<Release>,
    /// Our own network is back: everything overdue is spread over this.
    pub resume_over: Option<Span>,
    /// What is to be told.
    pub notices: Vec<Notice>,
}

/// What follows from the fetch of an entry's page. It says nothing of its source, and something of its host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageVerdict {
    /// The failure is not the page's, and no try of it is spent.
    pub excused: bool,
    /// The host is left alone until then.
    pub host_hold_until: Option<Time>,
    /// As in [`Verdict`].
    pub memory_changed: bool,
    /// As in [`Verdict`].
    pub host_gap: Span,
    /// As in [`Verdict`].
    pub release: Option<Release>,
    /// As in [`Verdict`].
    pub resume_over: Option<Span>,
    /// As in [`Verdict`].
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

    /// What happened, for people; of whom, the caller says.
    pub fn reason(&self, now: Time) -> String {
        match self {
            Self::HostDown(incident) => incident.in_words(),
            Self::HostBack(incident) => {
                format!("answers again after {} of {}", now.since(incident.since), incident.kind)
            }
            Self::HostGivenUp(incident) => format!(
                "has failed as a whole for {} with {}; from now on it counts against each of its sources",
                now.since(incident.since),
                incident.kind
            ),
            Self::HostPaced(pace) => pace.in_words().unwrap_or_default(),
            Self::NetworkDown(down) => format!(
                "local network outage: polls of unrelated hosts fail since {}; no failure counts, and polling resumes \
                 when a probe succeeds",
                When(down.since)
            ),
            Self::NetworkBack(down) => format!("the local network is back after {}", now.since(down.since)),
        }
    }
}

impl Verdict {
    pub(crate) fn plain(decision: Decision) -> Self {
        Self {
            decision,
            excused: None,
            memory_changed: false,
            host_gap: Span::ZERO,
            excused_since: None,
            taken_back: Vec::new(),
            release: None,
            resume_over: None,
            notices: Vec::new(),
        }
    }
}
