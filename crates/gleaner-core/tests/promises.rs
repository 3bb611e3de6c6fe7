//! What holds for any row of outcomes under any valid policy: counts to `u32::MAX`, intervals of years, clocks
//! that jump.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use gleaner_core::health::{Decision, Failing, Health, Status, decide, rederive};
use gleaner_core::outcome::ErrorKind::{Internal, Network, NotFound};
use gleaner_core::outcome::{Cause, Class, ErrorKind, Failure, Level, Outcome};
use gleaner_core::overlay::{PolicyOverlay, build};
use gleaner_core::policy::{Age, Aside, Counts, Gap, Knobs, Policy, Rule, Then};
use gleaner_core::schedule::{Hints, LONGEST_HINT, LONGEST_HOLD, Situation};
use gleaner_core::time::{Jitter, Span, Time};
use proptest::prelude::*;

fn start() -> Time {
    Time::parse("2026-11-15T00:00:00Z").unwrap()
}

fn any_kind() -> impl Strategy<Value = ErrorKind> {
    prop::sample::select(ErrorKind::all().chain(Cause::ALL.into_iter().map(Network)).collect::<Vec<_>>())
}

/// From nothing to for ever, most of them short.
fn any_span() -> impl Strategy<Value = Span> {
    prop_oneof![
        (0..100_000_u64).prop_map(Span::from_secs),
        (0..50_000_u64).prop_map(Span::from_days),
        any::<u64>().prop_map(Span::from_millis),
    ]
}

/// What config lets through: up to a hundred years.
fn config_span() -> impl Strategy<Value = Span> {
    (1..36_500 * 24_u64).prop_map(Span::from_hours)
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let retry_after = || prop::option::weighted(0.2, any_span());
    let failure = (any_kind(), prop::option::of(100..600_u16), retry_after()).prop_map(
        |(kind, status, retry_after)| {
            Outcome::Failed(Failure { kind, status, message: kind.to_string(), retry_after })
        },
    );
    prop_oneof![
        6 => failure,
        1 => retry_after().prop_map(|retry_after| Outcome::Fetched { retry_after }),
        1 => retry_after().prop_map(|retry_after| Outcome::NotModified { retry_after }),
    ]
}

prop_compose! {
    fn any_rule()(
        gap in prop_oneof![
            Just(Gap::Interval),
            Just(Gap::Backoff),
            prop::option::of(0.001..10.0_f64).prop_map(|share| Gap::Age { share }),
        ],
        aside in prop::option::of((
            prop::sample::select(vec![Counts::Kind, Counts::Any, Counts::Permanent]),
            1..=12_u32,
            any_span(),
            prop_oneof![
                Just(Then::KeepPolling),
                config_span().prop_map(Then::CoolDown),
                Just(Then::WaitForPerson),
                Just(Then::Disable),
            ],
        )),
    ) -> Rule {
        let aside = aside.map(|(counts, threshold, over, then)| Aside { counts, threshold, over, then });
        Rule { level: Level::Warn, gap, aside }
    }
}

prop_compose! {
    fn any_policy()(
        rules in prop::collection::vec(any_rule().boxed(), ErrorKind::COUNT),
        spans in prop::array::uniform6(config_span()),
        shares in prop::array::uniform2(0.001..10.0_f64),
        exempt_lifts in any::<bool>(),
        judged in any::<bool>(),
    ) -> Policy {
        let [max_backoff, young_cap, young, cap, dormant_after, dormant_every] = spans;
        let [share_permanent, share_transient] = shares;
        let age = Age { share_permanent, share_transient, young_cap, young, cap, dormant_after, dormant_every };
        Policy { name: "any".into(), rules: rules.try_into().unwrap(), max_backoff, age, exempt_lifts, judged }
    }
}

fn shipped_policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(Policy::NAMES.to_vec())
        .prop_map(|name| Policy::builtin(name, Knobs::default()).unwrap())
}

prop_compose! {
    fn any_hints()(
        spans in prop::array::uniform4(prop::option::weighted(0.3, any_span())),
        skip_hours in prop_oneof![Just(0_u32), any::<u32>()],
        skip_days in prop_oneof![Just(0_u32), 0..128_u32],
        oldest in prop::option::of(any::<i64>()),
    ) -> Hints {
        let [max_age, expires, ttl, update_period] = spans;
        let oldest_entry = oldest.map(Time::from_millis);
        Hints { max_age, expires, ttl, update_period, skip_hours, skip_days, oldest_entry, ..Hints::NONE }
    }
}

/// How the clock moves, also backwards; what the poll ends in; and chance.
fn any_step() -> impl Strategy<Value = (i64, Outcome, f64)> {
    let day = 86_400_000_i64;
    let clock = prop_oneof![8 => 0..day, 1 => -400 * day..400 * day, 1 => any::<i64>()];
    (clock, any_outcome(), 0.0..1.0_f64)
}

/// A source that has counted for ages.
fn worn(count: u32) -> Health {
    let message = "404 Not Found".into();
    let failure = Failure { kind: NotFound, status: Some(404), message, retry_after: None };
    let row = Failing::repeated(&failure, count, start());
    Health { failing: Some(row), last_polled_at: Some(start()), ..Health::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decide_is_total_and_keeps_its_promises(
        policy in prop_oneof![shipped_policy(), any_policy().boxed()],
        hints in any_hints().boxed(),
        interval in any_span(),
        count in prop::option::weighted(0.3, prop_oneof![Just(u32::MAX), 1..=u32::MAX]),
        steps in prop::collection::vec(any_step().boxed(), 1..40),
    ) {
        let mut health = count.map_or_else(Health::new, worn);
        let mut now = start();
        for (clock, outcome, chance) in steps {
            now = Time::from_millis(now.as_millis().saturating_add(clock));
            let at = Situation { health: &health, hints: &hints, interval, policy: &policy };
            let decision = decide(&at, &outcome, now, Jitter::new(chance));
            prop_assert_eq!(&decision, &decide(&at, &outcome, now, Jitter::new(chance)), "same in, same out");
            keeps_its_promises(&at, &outcome, now, &decision)?;
            health = decision.health;
        }
    }

    #[test]
    fn deriving_again_under_the_same_policy_changes_no_status(
        policy in shipped_policy(),
        steps in prop::collection::vec((any_outcome(), 1..100_u64), 1..40),
    ) {
        let (hints, interval) = (Hints::NONE, Span::from_mins(30));
        let (mut health, mut now) = (Health::new(), start());
        for (outcome, hours) in steps {
            now = now + Span::from_hours(hours);
            let at = Situation { health: &health, hints: &hints, interval, policy: &policy };
            let decided = decide(&at, &outcome, now, Jitter::new(0.5)).health;
            let again = rederive(&Situation { health: &decided, ..at }, now, Jitter::new(0.5));
            prop_assert_eq!(again.health.status(), decided.status());
            prop_assert!(again.events.is_empty());
            health = decided;
        }
    }

    #[test]
    fn overlays_of_any_number_are_taken_or_refused(threshold: i64, hours: f64, share: f64) {
        let number = |n: f64| format!("{n:?}").replace("NaN", "nan");
        let (hours, share) = (number(hours), number(share));
        let toml = format!(
            "[p]\nbase = 'cooldown'\nmax_backoff_hours = {hours}\n[p.age]\nshare_permanent = {share}\n\
             [p.on.gone]\nthreshold = {threshold}\ncooldown_hours = {hours}"
        );
        let overlays: BTreeMap<String, PolicyOverlay> = toml::from_str(&toml).unwrap();
        if let Ok(policies) = build(Knobs::default(), &overlays) {
            prop_assert!(policies["p"].rule(ErrorKind::Gone).aside.unwrap().threshold >= 1);
        }
    }
}

fn keeps_its_promises(
    at: &Situation<'_>,
    outcome: &Outcome,
    now: Time,
    decision: &Decision,
) -> Result<(), TestCaseError> {
    let health = &decision.health;
    prop_assert_eq!(health.last_polled_at, Some(now));
    let held = health.quarantine.as_ref();
    match decision.next {
        Some(next) => {
            prop_assert!(health.disabled.is_none());
            next_is_in_bounds(at, outcome, now, next.at)?;
            prop_assert!(
                held.is_none_or(|held| held.retry_at == Some(next.at)),
                "set aside until the next poll"
            );
        }
        None => {
            let waits = held.is_some_and(|held| held.retry_at.is_none() && !held.reason.is_empty());
            prop_assert!(health.disabled.is_some() || waits, "no next poll, and no reason: {:?}", health);
        }
    }
    match outcome {
        Outcome::Failed(failure) if failure.kind == Internal => {
            prop_assert_eq!(&health.failing, &at.health.failing);
            prop_assert_eq!(health.status(), at.health.status());
        }
        Outcome::Failed(failure) => {
            let row = health.failing.as_ref().unwrap();
            let before = at.health.failing.as_ref().map_or(0, |row| row.count);
            prop_assert_eq!((row.kind, row.count), (failure.kind, before.saturating_add(1)));
            let run = row.counted.as_ref().unwrap();
            prop_assert_eq!((run.kind, run.count, run.since), (row.kind, row.count, row.since), "all count");
            prop_assert!(run.kind_run >= 1 && run.kind_run <= run.count);
            prop_assert!(run.since <= now && run.kind_since <= now);
            prop_assert_eq!(run.permanent.is_some(), failure.kind.class() == Some(Class::Permanent));
            prop_assert!(!matches!(health.status(), Status::Healthy | Status::Pending));
        }
        _ => {
            // A success always heals; only a person enables.
            let healed = if at.health.disabled.is_some() { Status::Disabled } else { Status::Healthy };
            prop_assert_eq!(health.status(), healed);
            prop_assert!(health.failing.is_none() && held.is_none());
            prop_assert_eq!(health.last_success_at, Some(now));
        }
    }
    Ok(())
}

/// Never before a floor, never beyond what policy, server and host can ask for.
fn next_is_in_bounds(
    at: &Situation<'_>,
    outcome: &Outcome,
    now: Time,
    next: Time,
) -> Result<(), TestCaseError> {
    let interval = at.interval.max(Span::from_mins(1));
    let retry_after = outcome.retry_after().map_or(Span::ZERO, |span| span.min(LONGEST_HOLD));
    let least = if outcome.failure().is_some() { interval.min(Span::from_hours(1)) } else { interval };
    let floor = now + least.max(retry_after);
    prop_assert!(next >= floor, "{} is before {}", next, floor);
    let longest = at.policy.longest_gap(interval).max(LONGEST_HINT).max(LONGEST_HOLD);
    let cap = now + longest;
    prop_assert!(next <= cap, "{} is beyond {}", next, cap);
    Ok(())
}
