//! What each policy does with a row of outcomes, as tables.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use gleaner_core::health::{Decision, Health, Status, decide, rederive};
use gleaner_core::outcome::ErrorKind::*;
use gleaner_core::outcome::{Cause, Class, ErrorKind, Failure, Outcome};
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::schedule::{Hints, Situation};
use gleaner_core::time::{Jitter, Span, Time};

fn start() -> Time {
    Time::parse("2026-11-15T00:00:00Z").unwrap()
}

fn failed(kind: ErrorKind) -> Outcome {
    Outcome::Failed(Failure { kind, status: None, message: kind.to_string(), retry_after: None })
}

fn policy(name: &str) -> Policy {
    Policy::builtin(name, Knobs::default()).unwrap()
}

const FETCHED: Outcome = Outcome::Fetched { retry_after: None };
const TIMEOUT: ErrorKind = Network(Cause::Timeout);
const DNS: ErrorKind = Network(Cause::Dns);
const MIDDLE: f64 = 0.5;

/// A source under a policy, polled whenever it is due, by default every hour.
struct Source {
    policy: Policy,
    interval: Span,
    health: Health,
    now: Time,
    last: Option<Decision>,
}

impl Source {
    fn new(name: &str) -> Self {
        Self::under(policy(name))
    }

    fn under(policy: Policy) -> Self {
        Self { policy, interval: Span::from_mins(60), health: Health::new(), now: start(), last: None }
    }

    /// Polls at the time it is due, or where nothing is due, at once.
    fn poll(&mut self, outcome: &Outcome) -> &Decision {
        if let Some(next) = self.last.as_ref().and_then(|last| last.next) {
            self.now = next.at;
        }
        self.poll_now(outcome)
    }

    fn poll_now(&mut self, outcome: &Outcome) -> &Decision {
        let decision = self.situation(&self.policy, |at| decide(at, outcome, self.now, Jitter::new(MIDDLE)));
        self.health = decision.health.clone();
        self.last.insert(decision)
    }

    fn rederive(&self, policy: &Policy) -> Decision {
        self.situation(policy, |at| rederive(at, self.now, Jitter::new(MIDDLE)))
    }

    fn situation<T>(&self, policy: &Policy, ask: impl FnOnce(&Situation<'_>) -> T) -> T {
        let hints = Hints::NONE;
        ask(&Situation { health: &self.health, hints: &hints, interval: self.interval, policy })
    }

    /// `failing +2h`, `quarantined +48h`, `disabled`.
    fn state(&self) -> String {
        let next = self.last.as_ref().and_then(|last| last.next);
        let gap = next.map_or(String::new(), |next| match next.at.since(self.now).as_mins() {
            minutes if minutes % 60 == 0 => format!(" +{}h", minutes / 60),
            minutes => format!(" +{minutes}m"),
        });
        format!("{}{gap}", self.health.status().name())
    }
}

/// After this row of failures, one whenever it is due, the source is in this state.
fn check(policy: &str, kinds: &[ErrorKind], expected: &str) {
    let mut source = Source::new(policy);
    for kind in kinds {
        source.poll(&failed(*kind));
    }
    assert_eq!(
        source.state(),
        expected,
        "{policy} after {} failures, at last {:?}",
        kinds.len(),
        kinds.last()
    );
}

#[test]
fn backoff_doubles_up_to_its_cap_and_disables_after_permanent_failures() {
    for (count, expected) in [(1, "+2h"), (2, "+4h"), (3, "+8h"), (4, "+16h"), (5, "+24h"), (50, "+24h")] {
        check("backoff", &vec![TIMEOUT; count], &format!("failing {expected}"));
    }
    check("backoff", &[NotFound; 4], "failing +16h");
    check("backoff", &[NotFound; 5], "disabled");
    check("backoff", &[NotFound, NotFound, NotFound, TIMEOUT, NotFound], "failing +24h");
    check("backoff", &[TIMEOUT, NotFound, DNS, Gone, Forbidden, Unauthorized], "disabled");
    check("backoff", &[ParseError; 50], "failing +24h");
}

#[test]
fn cooldown_sets_aside_by_the_newest_kinds_threshold() {
    check("cooldown", &[Forbidden; 4], "failing +16h");
    check("cooldown", &[Forbidden; 5], "quarantined +24h");
    check("cooldown", &[NotFound; 2], "failing +4h");
    check("cooldown", &[NotFound; 3], "quarantined +48h");
    check("cooldown", &[Gone], "quarantined +72h");
    check("cooldown", &[UpstreamFailure; 9], "failing +24h");
    check("cooldown", &[UpstreamFailure; 10], "quarantined +6h");
    check("cooldown", &[TIMEOUT; 10], "quarantined +12h");
    check("cooldown", &[DNS; 10], "quarantined +12h");
    check("cooldown", &[ParseError; 5], "quarantined +24h");
    check("cooldown", &[Blocked; 5], "quarantined +24h");
    check("cooldown", &[TooLarge; 5], "quarantined +24h");
    check("cooldown", &[UpstreamFailure, UpstreamFailure, NotFound], "quarantined +48h");
    for kind in [RateLimited, Unexpected, Unauthorized] {
        check("cooldown", &[kind; 50], "failing +24h");
    }
    // A retry that fails starts a new cooldown, by its own kind; one that is never set aside leaves it.
    check("cooldown", &[Gone, UpstreamFailure], "quarantined +6h");
    check("cooldown", &[Gone, RateLimited], "failing +4h");
}

#[test]
fn quarantine_keeps_the_interval_and_waits_for_a_person() {
    check("quarantine", &[TIMEOUT; 4], "failing +1h");
    check("quarantine", &[TIMEOUT, NotFound, RateLimited, Gone, Unexpected], "quarantined");
    check("quarantine", &[NotFound; 9], "quarantined");
}

#[test]
fn standard_waits_by_age_and_never_gives_up() {
    // An hour's interval, half or a quarter of the age, never below the hour.
    check("standard", &[NotFound], "failing +1h");
    check("standard", &[NotFound; 3], "failing +1h");
    check("standard", &[Gone], "quarantined +1h");
    check("standard", &[Blocked], "quarantined +1h");
    check("standard", &[RateLimited; 3], "failing +8h");
    check("standard", &[RateLimited; 50], "failing +24h");
    check("standard", &[Internal; 3], "pending +1h");
    let mut source = Source::new("standard");
    let mut aside_after = None;
    while source.now.since(start()) < Span::from_days(400) {
        source.poll(&failed(NotFound));
        if source.health.status() == Status::Quarantined {
            aside_after.get_or_insert(source.now.since(start()));
        }
    }
    let aside_after = aside_after.unwrap();
    assert!(aside_after >= Span::from_days(1) && aside_after < Span::from_days(2), "{aside_after}");
    assert_eq!(source.state(), "quarantined +720h", "dormant: once in 30 days");
}

#[test]
fn a_person_is_asked_once_when_a_source_goes_dormant() {
    let mut source = Source::new("standard");
    let mut asked = Vec::new();
    while source.now.since(start()) < Span::from_days(200) {
        let at = source.poll(&failed(DNS)).clone();
        asked.extend(
            at.events.iter().filter(|event| event.kind.name() == "source.dormant").map(|_| source.now),
        );
    }
    assert_eq!(asked.len(), 1);
    assert!(asked[0].since(start()) >= Span::from_days(90));
}

#[test]
fn transient_failures_are_asked_again_within_six_hours_for_a_week() {
    let mut source = Source::new("standard");
    while source.now.since(start()) < Span::from_days(6) {
        source.poll(&failed(TIMEOUT));
    }
    assert_eq!(source.state(), "quarantined +6h");
    while source.now.since(start()) < Span::from_days(60) {
        source.poll(&failed(TIMEOUT));
    }
    assert_eq!(source.state(), "quarantined +168h");
}

#[test]
fn a_daily_window_of_404s_is_no_reason_to_set_aside() {
    let mut source = Source::new("standard");
    for _ in 0..20 {
        let end = source.now + Span::from_hours(6);
        while source.now < end {
            source.poll(&failed(NotFound));
        }
        assert_eq!(source.health.status(), Status::Failing);
        source.poll(&FETCHED);
        source.now = source.now + Span::from_hours(18);
        source.last = None;
    }
}

#[test]
fn what_failures_leave_in_health() {
    let mut source = Source::new("backoff");
    source.poll(&failed(TIMEOUT));
    let row = source.health.failing.clone().unwrap();
    assert_eq!((row.count, row.class(), row.since), (1, Class::Transient, start()));
    for kind in [NotFound, NotFound, DNS, NotFound] {
        source.poll(&failed(kind));
    }
    let row = source.health.failing.clone().unwrap();
    let run = row.counted.unwrap();
    assert_eq!((row.count, run.count, run.kind_run, run.permanent.unwrap().count), (5, 5, 1, 4));
    source.poll(&failed(Gone));
    let reason = source.health.disabled.clone().unwrap().reason.unwrap();
    assert_eq!(reason, "Auto-disabled after 5 consecutive permanent errors (404, 410, DNS)");
    let mut source = Source::new("backoff");
    for _ in 0..5 {
        source.poll(&failed(NotFound));
    }
    let reason = source.health.disabled.clone().unwrap().reason.unwrap();
    assert_eq!(reason, "Auto-disabled after 5 consecutive 404 errors");
}

#[test]
fn every_change_of_status_is_told_once() {
    let mut source = Source::new("cooldown");
    let mut told = Vec::new();
    for kind in [NotFound, NotFound, NotFound, NotFound, UpstreamFailure] {
        told.extend(source.poll(&failed(kind)).events.iter().map(|event| event.kind.name()));
    }
    told.extend(source.poll(&FETCHED).events.iter().map(|event| event.kind.name()));
    told.extend(source.poll(&FETCHED).events.iter().map(|event| event.kind.name()));
    assert_eq!(told, ["source.failing", "source.quarantined", "source.recovered"]);
}

#[test]
fn a_new_cooldown_begins_with_the_retry_and_standard_keeps_its_first_moment() {
    let mut source = Source::new("cooldown");
    source.poll(&failed(Gone));
    source.poll(&failed(Gone));
    assert_eq!(source.health.quarantine.as_ref().unwrap().at, source.now);
    let mut source = Source::new("standard");
    source.poll(&failed(Gone));
    source.poll(&failed(TIMEOUT));
    let held = source.health.quarantine.clone().unwrap();
    assert_eq!((held.at, held.reason.as_str()), (start(), "network"), "only the reason follows");
}

#[test]
fn retry_after_holds_source_and_host() {
    let mut source = Source::new("standard");
    let limited = |span| {
        let message = "429 Too Many Requests".into();
        Outcome::Failed(Failure { kind: RateLimited, status: Some(429), message, retry_after: Some(span) })
    };
    let decision = source.poll_now(&limited(Span::from_hours(5))).clone();
    assert_eq!(decision.next.unwrap().at, start() + Span::from_hours(5));
    assert_eq!(decision.host_hold_until, Some(start() + Span::from_hours(1)));
    let decision = source.poll_now(&limited(Span::from_days(70))).clone();
    assert_eq!(decision.next.unwrap().at, start() + Span::from_days(7));
    let decision = source.poll_now(&Outcome::Fetched { retry_after: Some(Span::from_hours(3)) }).clone();
    assert_eq!(decision.next.unwrap().at, start() + Span::from_hours(3));
    assert_eq!((decision.host_hold_until, decision.health.status()), (None, Status::Healthy));
    assert_eq!(source.poll_now(&FETCHED).health.hold_until, None, "the next answer says nothing of it");
}

#[test]
fn our_own_failure_moves_nothing_but_the_next_try() {
    for name in Policy::NAMES {
        let mut source = Source::new(name);
        source.interval = Span::from_mins(10);
        source.poll(&failed(Forbidden));
        let before = source.health.clone();
        let decision = source.poll_now(&failed(Internal)).clone();
        assert_eq!(Health { last_polled_at: before.last_polled_at, ..decision.health }, before);
        assert_eq!(decision.next.unwrap().at, source.now + Span::from_hours(1));
        assert!(decision.events.is_empty());
    }
}

#[test]
fn by_hand() {
    let mut source = Source::new("standard");
    source.poll(&failed(NotFound));
    let aside = source.health.set_aside_by_hand("not_found", start());
    assert_eq!(aside.quarantine.clone().unwrap().retry_at, Some(start() + Span::from_hours(48)));
    let after = |hours| start() + Span::from_hours(hours);
    assert!(aside.cooling_down(after(47)) && !aside.cooling_down(after(48)));
    let endless = source.health.set_aside_by_hand("too noisy", start());
    assert!(endless.cooling_down(start() + Span::from_days(9999)));
    assert_eq!(endless.lifted().status(), Status::Failing);
    assert_eq!(endless.cleared().status(), Status::Pending);
    // A forced poll that fails leaves a person's word alone; one that succeeds heals.
    source.health = endless;
    source.poll_now(&failed(Gone));
    assert_eq!(source.state(), "quarantined");
    assert_eq!(source.health.quarantine.as_ref().unwrap().reason, "too noisy");
    source.poll_now(&FETCHED);
    assert_eq!(source.state(), "healthy +1h");
    assert_eq!(source.health.disabled_by_hand(Some("not now".into())).status(), Status::Disabled);
}

#[test]
fn a_changed_policy_rederives_status_and_never_disables() {
    let mut source = Source::new("backoff");
    for _ in 0..4 {
        source.poll(&failed(NotFound));
    }
    let decision = source.rederive(&policy("cooldown"));
    assert_eq!(decision.health.status(), Status::Quarantined);
    assert_eq!(decision.next.unwrap().at, source.now + Span::from_hours(48));
    assert_eq!(decision.events[0].kind.name(), "source.quarantined");
    source.health = decision.health;
    let strict = Policy::builtin("backoff", Knobs { max_failures: 1, ..Knobs::default() }).unwrap();
    let decision = source.rederive(&strict);
    assert_eq!(decision.health.status(), Status::Failing, "not even where the new threshold is passed");
    // What a person set aside stays.
    source.health = source.health.set_aside_by_hand("not now", source.now);
    for name in Policy::NAMES {
        let decision = source.rederive(&policy(name));
        assert_eq!((decision.health, decision.next), (source.health.clone(), None));
    }
}

#[test]
fn custom_knobs_reach_their_tables() {
    let knobs = Knobs { max_failures: 3, max_backoff: Span::from_hours(6) };
    let mut source = Source::under(Policy::builtin("backoff", knobs).unwrap());
    for _ in 0..3 {
        source.poll(&failed(NotFound));
    }
    assert_eq!(source.state(), "disabled");
    let mut source = Source::under(Policy::builtin("backoff", knobs).unwrap());
    for _ in 0..10 {
        source.poll(&failed(TIMEOUT));
    }
    assert_eq!(source.state(), "failing +6h");
}
