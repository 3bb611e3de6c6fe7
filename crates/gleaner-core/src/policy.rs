//! Policies: tables that say what each error kind does to a source's health.
//!
//! All that a policy can do is in its table; `health` and `schedule` only read it. Four tables ship, config can
//! lay changes over them (see [`crate::overlay`]). Absent on purpose: conditions, scripts, and per-source
//! tables; a source names a policy.

use crate::outcome::{Class, ErrorKind, Level};
use crate::time::Span;

/// A whole policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// What config and sources call it.
    pub name: String,
    /// One rule a kind, in the order of [`ErrorKind::index`].
    pub rules: [Rule; ErrorKind::COUNT],
    /// The longest gap that [`Gap::Backoff`] gives.
    pub max_backoff: Span,
    /// What [`Gap::Age`] reads.
    pub age: Age,
    /// Whether a kind that is never set aside ends a quarantine that it meets.
    pub exempt_lifts: bool,
    /// Whether the cause of a failure is judged: host incidents, local network outages and pacing.
    pub judged: bool,
}

/// What one error kind does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// How loud the failure is in the log.
    pub level: Level,
    /// How long until the next poll.
    pub gap: Gap,
    /// When the source is set aside; none: never.
    pub aside: Option<Aside>,
}

/// How long a failing source waits for its next poll.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gap {
    /// As if nothing had happened.
    Interval,
    /// The interval doubled for each failure in a row, up to the policy's cap.
    Backoff,
    /// In proportion to how long the source has been failing; the share is that of the class unless given.
    Age {
        /// This kind's own share of the outage's age.
        share: Option<f64>,
    },
}

/// When and how a source is set aside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aside {
    /// Which failures count.
    pub counts: Counts,
    /// How many of them in a row it takes; at least 1.
    pub threshold: u32,
    /// How long the run must have lasted.
    pub over: Span,
    /// What happens then.
    pub then: Then,
}

/// Which failures in a row count towards a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Those of the same kind.
    Kind,
    /// All.
    Any,
    /// Permanent ones; a transient one starts anew.
    Permanent,
}

/// What being set aside means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Quarantined: named and shown as such, still polled at the rule's gap.
    KeepPolling,
    /// Quarantined, and polled again when the time is over.
    CoolDown(Span),
    /// Quarantined until a person retries it.
    WaitForPerson,
    /// Disabled; only a person enables it again.
    Disable,
}

/// How gaps grow with the age of an outage: `share × age`, between the shorter of interval and an hour, and a cap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Age {
    /// Share of the age for permanent kinds.
    pub share_permanent: f64,
    /// Share of the age for transient kinds.
    pub share_transient: f64,
    /// The cap for transient kinds while the outage is young.
    pub young_cap: Span,
    /// How long an outage is young.
    pub young: Span,
    /// The cap otherwise.
    pub cap: Span,
    /// After so long of nothing but permanent failures, a source is dormant.
    pub dormant_after: Span,
    /// How often a dormant source is polled.
    pub dormant_every: Span,
}

/// What `[source]` in config sets for the tables that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knobs {
    /// Permanent failures in a row until `backoff` disables.
    pub max_failures: u32,
    /// The longest gap that backoff gives.
    pub max_backoff: Span,
}

impl Default for Knobs {
    fn default() -> Self {
        Self { max_failures: 5, max_backoff: Span::from_hours(24) }
    }
}

const HOUR: Span = Span::from_hours(1);
const DAY: Span = Span::from_days(1);

impl Age {
    /// The ages of `standard`.
    pub const STANDARD: Age = Age {
        share_permanent: 0.5,
        share_transient: 0.25,
        young_cap: Span::from_hours(6),
        young: Span::from_days(7),
        cap: Span::from_days(7),
        dormant_after: Span::from_days(90),
        dormant_every: Span::from_days(30),
    };

    /// The share of the age that a failure of this class waits.
    pub const fn share(&self, class: Class) -> f64 {
        match class {
            Class::Permanent => self.share_permanent,
            Class::Transient => self.share_transient,
        }
    }

    /// The cap for this class at this age.
    pub fn cap(&self, class: Class, age: Span) -> Span {
        match class {
            Class::Transient if age < self.young => self.young_cap,
            _ => self.cap,
        }
    }
}

impl Policy {
    /// The names of the tables that ship.
    pub const NAMES: [&'static str; 4] = ["standard", "backoff", "cooldown", "quarantine"];

    /// One of the tables that ship.
    pub fn builtin(name: &str, knobs: Knobs) -> Option<Policy> {
        let rule: fn(ErrorKind, Knobs) -> Rule = match name {
            "standard" => standard,
            "backoff" => backoff,
            "cooldown" => cooldown,
            "quarantine" => quarantine,
            _ => return None,
        };
        let mut kinds = ErrorKind::all();
        let rules = std::array::from_fn(|_| rule(kinds.next().unwrap_or(ErrorKind::Internal), knobs));
        Some(Policy {
            name: name.to_owned(),
            rules,
            max_backoff: knobs.max_backoff,
            age: Age::STANDARD,
            exempt_lifts: name == "cooldown",
            judged: name == "standard",
        })
    }

    /// What this policy does about a kind.
    pub const fn rule(&self, kind: ErrorKind) -> &Rule {
        &self.rules[kind.index()]
    }

    /// Whether any rule waits by backoff, so that `max_backoff_hours` matters.
    pub fn uses_backoff(&self) -> bool {
        self.rules.iter().any(|rule| rule.gap == Gap::Backoff)
    }

    /// Whether any rule counts permanent failures until it disables, so that `max_failures` matters.
    pub fn uses_max_failures(&self) -> bool {
        self.rules.iter().any(|rule| rule.aside.is_some_and(|aside| aside.then == Then::Disable))
    }

    /// The longest time this policy lets pass until the next poll of a source with that interval, where the
    /// server asks for nothing.
    pub fn longest_gap(&self, interval: Span) -> Span {
        let cooldowns = self.rules.iter().filter_map(|rule| match rule.aside?.then {
            Then::CoolDown(span) => Some(span),
            _ => None,
        });
        let by_age = [self.age.cap, self.age.young_cap, self.age.dormant_every];
        cooldowns.chain(by_age).fold(interval.max(self.max_backoff).max(HOUR), Span::max)
    }

    /// How long `cooldown` sets a source aside for a kind; by hand that holds under every policy.
    pub fn cooldown_of(kind: ErrorKind) -> Option<Span> {
        match cooldown(kind, Knobs::default()).aside?.then {
            Then::CoolDown(span) => Some(span),
            _ => None,
        }
    }
}

/// Ours: gaps by the outage's age, names a source quarantined once that is certain, never gives up.
fn standard(kind: ErrorKind, _: Knobs) -> Rule {
    use ErrorKind::*;
    let (threshold, over) = match kind {
        NotFound => (3, DAY),
        Gone | Blocked => (1, Span::ZERO),
        UpstreamFailure | Network(_) => (5, Span::from_days(3)),
        _ => (5, DAY),
    };
    Rule {
        level: kind.level(),
        gap: match kind {
            RateLimited => Gap::Backoff,
            ParseError => Gap::Age { share: Some(0.5) },
            _ => Gap::Age { share: None },
        },
        aside: match kind {
            RateLimited | Unexpected | Internal => None,
            _ => Some(Aside { counts: Counts::Kind, threshold, over, then: Then::KeepPolling }),
        },
    }
}

/// Doubles the interval at each failure, and disables after so many permanent ones in a row.
fn backoff(kind: ErrorKind, knobs: Knobs) -> Rule {
    use ErrorKind::*;
    let permanent = Aside {
        counts: Counts::Permanent,
        threshold: knobs.max_failures,
        over: Span::ZERO,
        then: Then::Disable,
    };
    Rule {
        level: kind.level(),
        gap: Gap::Backoff,
        // Network stands here for its one permanent cause, DNS; the others start the run anew.
        aside: matches!(kind, Unauthorized | Forbidden | NotFound | Gone | Network(_) | Blocked)
            .then_some(permanent),
    }
}

/// Doubles the interval at each failure, and sets aside for a time that fits the kind.
fn cooldown(kind: ErrorKind, _: Knobs) -> Rule {
    use ErrorKind::*;
    let hours = match kind {
        Forbidden => Some((5, 24)),
        NotFound => Some((3, 48)),
        Gone => Some((1, 72)),
        UpstreamFailure => Some((10, 6)),
        Network(_) => Some((10, 12)),
        ParseError | TooLarge | Blocked => Some((5, 24)),
        RateLimited | Unauthorized | Unexpected | Internal => None,
    };
    Rule {
        level: if kind == Unauthorized { Level::Error } else { kind.level() },
        gap: Gap::Backoff,
        aside: hours.map(|(threshold, hours)| Aside {
            counts: Counts::Any,
            threshold,
            over: Span::ZERO,
            then: Then::CoolDown(Span::from_hours(hours)),
        }),
    }
}

/// Keeps the interval, and sets aside until a person comes.
fn quarantine(kind: ErrorKind, _: Knobs) -> Rule {
    let any = Aside { counts: Counts::Any, threshold: 5, over: Span::ZERO, then: Then::WaitForPerson };
    Rule { level: kind.level(), gap: Gap::Interval, aside: (kind != ErrorKind::Internal).then_some(any) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Cause;

    #[test]
    fn each_policy_covers_every_kind() {
        for name in Policy::NAMES {
            let policy = Policy::builtin(name, Knobs::default()).unwrap();
            for kind in ErrorKind::all() {
                let exempt = policy.rule(kind).aside.is_none();
                assert!(exempt || kind != ErrorKind::Internal, "{name} sets aside for our own faults");
            }
        }
        assert_eq!(Policy::builtin("strict", Knobs::default()), None);
    }

    #[test]
    fn the_longest_gap_knows_every_table() {
        let policy = |name| Policy::builtin(name, Knobs::default()).unwrap();
        let interval = Span::from_mins(30);
        assert_eq!(policy("standard").longest_gap(interval), Span::from_days(30));
        assert_eq!(policy("quarantine").longest_gap(Span::from_days(100)), Span::from_days(100));
        assert_eq!(Policy::cooldown_of(ErrorKind::Network(Cause::Dns)), Some(Span::from_hours(12)));
        assert_eq!(Policy::cooldown_of(ErrorKind::RateLimited), None);
    }
}
