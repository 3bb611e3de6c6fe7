//! Recorded polls under another policy: hand-made histories with exact ends, and what holds for all of them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use gleaner_core::health::{Failing, Health, Status, decide};
use gleaner_core::outcome::ErrorKind::{Internal, NotFound, RateLimited, UpstreamFailure};
use gleaner_core::outcome::{Cause, ErrorKind, Failure, Outcome};
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::replay::{Late, Recorded, Replayed, SetAside, Subject, Window, replay};
use gleaner_core::schedule::{Hints, Situation};
use gleaner_core::time::{Jitter, Span, Time};
use proptest::prelude::*;

const HOUR: Span = Span::from_hours(1);

fn policy(name: &str) -> Policy {
    Policy::builtin(name, Knobs::default()).unwrap()
}

/// So many hours after the tests' midnight.
fn at(hours: f64) -> Time {
    let midnight = Time::parse("2026-11-01T00:00:00Z").unwrap();
    if hours < 0.0 { midnight - HOUR.scale(-hours) } else { midnight + HOUR.scale(hours) }
}

fn failed(kind: ErrorKind) -> Outcome {
    Outcome::Failed(Failure { kind, status: None, message: kind.to_string(), retry_after: None })
}

const FETCHED: Outcome = Outcome::Fetched { retry_after: None };
const UNCHANGED: Outcome = Outcome::NotModified { retry_after: None };

fn poll(hours: f64, outcome: Outcome, rule: Option<&str>) -> Recorded {
    Recorded { at: at(hours), outcome, rule: rule.map(str::to_owned), posts: 0, excused: false }
}

/// A day of a source polled hourly that goes by one policy, under another.
fn day(history: &[Recorded], own: &str, other: &str) -> Replayed {
    with(&Health::new(), history, own, other)
}

fn with(health: &Health, history: &[Recorded], own: &str, other: &str) -> Replayed {
    let own = policy(own);
    let subject = Subject { health, hints: &Hints::NONE, interval: HOUR, policy: &own };
    replay(&subject, history, &policy(other), Window { since: at(0.0), until: at(24.0) })
}

fn aside(from: f64, to: Option<f64>, status: Status, reason: ErrorKind) -> SetAside {
    SetAside { from: at(from), to: to.map(at), status, reason }
}

/// 404 from midnight on; `quarantine` waits for a person from 04:00 on, who comes at 10:00; well from 11:00 on.
fn until_a_person_came() -> Vec<Recorded> {
    let mut history: Vec<Recorded> =
        (0..4).map(|hour| poll(f64::from(hour), failed(NotFound), Some("retry"))).collect();
    history.push(poll(4.0, failed(NotFound), None));
    history.push(poll(10.0, failed(NotFound), Some("retry")));
    history.push(Recorded { posts: 2, ..poll(11.0, FETCHED, Some("interval")) });
    history.extend((12..=24).map(|hour| poll(f64::from(hour), UNCHANGED, Some("interval"))));
    history
}

#[test]
fn another_policy_asks_at_its_own_times() {
    let replayed = day(&until_a_person_came(), "quarantine", "standard");
    let aside = [aside(4.0, Some(10.0), Status::Quarantined, NotFound)];
    assert_eq!((replayed.really.requests, replayed.really.set_aside.as_slice()), (20, &aside[..]));
    // At 0, 1, 2, 3, 4.5 and 6.75 hours; at 10, since a person asked; half its age later, and every hour from then on.
    assert_eq!((replayed.instead.requests, replayed.instead.set_aside.as_slice()), (17, &[][..]));
    let late = Late { posts: 2, total: Span::from_hours(8), longest: Span::from_hours(4), missing: 0 };
    assert_eq!(replayed.late, late);
    assert_eq!(replayed.really.time_aside(Window { since: at(5.0), until: at(24.0) }), Span::from_hours(5));
}

#[test]
fn a_policy_that_gives_up_misses_the_rest() {
    // Under `standard`, hourly: 0, 1, 2, 3, 4:30, 6:45, 10:07, 15:11; it is back then, with a post.
    let times = [0.0, 1.0, 2.0, 3.0, 4.5, 6.75, 10.125];
    let mut history: Vec<Recorded> =
        times.iter().map(|hour| poll(*hour, failed(NotFound), Some("age"))).collect();
    history.push(Recorded { posts: 1, ..poll(15.1875, FETCHED, Some("interval")) });
    history.extend((0..8).map(|n| poll(16.1875 + f64::from(n), UNCHANGED, Some("interval"))));
    let replayed = day(&history, "standard", "backoff");
    assert_eq!((replayed.really.requests, replayed.really.set_aside.len()), (16, 0));
    // Doubling: at 0, 2, 6 (which the poll at 6:45 answers), 14:45 (15:11): by then it is back.
    assert_eq!((replayed.instead.requests, replayed.instead.set_aside.len()), (12, 0));
    assert_eq!(replayed.late, Late::default());
    // A name that is gone, until 15:11: at 0, 2 and 6:45 is often enough for one that gives up after three.
    let dns = ErrorKind::Network(Cause::Dns);
    for poll in &mut history[..7] {
        poll.outcome = failed(dns);
    }
    let knobs = Knobs { max_failures: 3, ..Knobs::default() };
    let (own, other) = (policy("standard"), Policy::builtin("backoff", knobs).unwrap());
    let health = Health::new();
    let subject = Subject { health: &health, hints: &Hints::NONE, interval: HOUR, policy: &own };
    let replayed = replay(&subject, &history, &other, Window { since: at(0.0), until: at(24.0) });
    assert_eq!(replayed.instead.set_aside, [aside(6.75, None, Status::Disabled, dns)]);
    assert_eq!((replayed.instead.requests, replayed.late.missing), (3, 1));
}

#[test]
fn a_healthy_source_is_the_same_under_all() {
    // Late, on hints, and asleep for ten hours: nothing of it is a policy's doing.
    let history: Vec<Recorded> = [0.0, 1.0, 2.1, 12.0, 13.0, 14.0, 18.0]
        .map(|hour| Recorded { posts: 1, ..poll(hour, FETCHED, Some("interval")) })
        .into();
    for other in Policy::NAMES {
        assert!(!day(&history, "standard", other).differs(), "{other}");
    }
}

#[test]
fn nobody_polls_while_gleaner_sleeps() {
    let history = [
        poll(0.0, failed(UpstreamFailure), Some("age")),
        // Due at 01:00, polled at 20:00.
        poll(20.0, failed(UpstreamFailure), Some("age")),
    ];
    let replayed = day(&history, "standard", "quarantine");
    // Asked at 0; at 20 again, when it woke up; then every hour, where it would have been awake.
    assert_eq!((replayed.really.requests, replayed.instead.requests), (2, 5));
    assert_eq!(replayed.instead.set_aside, [aside(23.0, None, Status::Quarantined, UpstreamFailure)]);
}

#[test]
fn what_was_excused_says_nothing() {
    let mut history: Vec<Recorded> =
        (0..24).map(|hour| poll(f64::from(hour), UNCHANGED, Some("interval"))).collect();
    for poll in &mut history[3..10] {
        poll.outcome = failed(UpstreamFailure);
        poll.rule = Some("incident".into());
        poll.excused = true;
    }
    let replayed = day(&history, "standard", "quarantine");
    assert!(!replayed.differs(), "{replayed:?}");
    assert_eq!(replayed.really.requests, 17);
    for poll in &mut history {
        poll.excused = false;
    }
    // The same failures, not excused: it is the host that timed what followed, until `quarantine` waits for a person.
    let aside = [aside(7.0, None, Status::Quarantined, UpstreamFailure)];
    assert_eq!(day(&history, "standard", "quarantine").instead.set_aside, aside);
}

#[test]
fn our_own_fault_is_nobody_elses() {
    let mut history: Vec<Recorded> =
        (0..24).map(|hour| poll(f64::from(hour), UNCHANGED, Some("interval"))).collect();
    for poll in &mut history[3..12] {
        poll.outcome = failed(Internal);
        poll.rule = Some("our_fault".into());
    }
    assert!(!day(&history, "standard", "quarantine").differs());
}

#[test]
fn a_server_that_named_a_time_is_left_alone_until_then() {
    let history = [
        poll(0.0, failed(RateLimited), Some("retry_after")),
        poll(6.0, failed(RateLimited), Some("backoff")),
        poll(10.0, UNCHANGED, Some("interval")),
    ];
    // An hour would do for `quarantine`, but the server said six: at 0, and from 6 on hourly, until it was five times.
    let replayed = day(&history, "standard", "quarantine");
    assert_eq!(replayed.instead.requests, 5);
    assert_eq!(replayed.instead.set_aside, [aside(9.0, None, Status::Quarantined, RateLimited)]);
}

#[test]
fn a_row_of_failures_may_be_older_than_the_history() {
    let message = "404 Not Found".into();
    let failure = Failure { kind: NotFound, status: Some(404), message, retry_after: None };
    let row = Failing::repeated(&failure, 60, at(-30.0 * 24.0));
    let health = Health { failing: Some(row), last_polled_at: Some(at(2.0)), ..Health::new() };
    let history = [poll(2.0, failed(NotFound), Some("age"))];
    let replayed = with(&health, &history, "standard", "standard");
    assert!(!replayed.differs(), "{replayed:?}");
    assert_eq!(replayed.really.set_aside, [aside(2.0, None, Status::Quarantined, NotFound)]);
    // Its age is known: `cooldown` sets it aside for two days at once, and does not begin to count anew.
    let replayed = with(&health, &history, "standard", "cooldown");
    assert_eq!((replayed.instead.requests, replayed.instead.set_aside.len()), (1, 1));
}

/// What the world answers, so many hours at a time.
fn any_world() -> impl Strategy<Value = Vec<(u32, Outcome)>> {
    let kinds = ErrorKind::all().filter(|kind| *kind != Internal).collect::<Vec<_>>();
    let failure =
        (prop::sample::select(kinds), prop::option::weighted(0.2, 1..100_u64)).prop_map(|(kind, hours)| {
            let retry_after = hours.map(Span::from_hours);
            Outcome::Failed(Failure { kind, status: None, message: kind.to_string(), retry_after })
        });
    let outcome = prop_oneof![2 => Just(FETCHED), 3 => failure];
    prop::collection::vec((1..400_u32, outcome), 1..12)
}

/// The history that `decide` makes of a world: by any chance, now and then late, now and then asleep or by hand.
fn recorded(
    own: &Policy,
    world: &[(u32, Outcome)],
    dice: &[(f64, u64, u64)],
) -> (Vec<Recorded>, Health, Time) {
    let (mut health, mut now, mut history) = (Health::new(), at(0.0), Vec::new());
    let until = at(world.iter().map(|(hours, _)| f64::from(*hours)).sum());
    let mut dice = dice.iter().cycle();
    while now < until && history.len() < 3000 {
        let mut end = 0.0;
        let met = world.iter().find(|(hours, _)| {
            end += f64::from(*hours);
            now < at(end)
        });
        let outcome = met.map_or(FETCHED, |(_, outcome)| outcome.clone());
        let (chance, lag, event) = dice.next().unwrap();
        let situation = Situation { health: &health, hints: &Hints::NONE, interval: HOUR, policy: own };
        let decision = decide(&situation, &outcome, now, Jitter::new(*chance));
        let rule = decision.next.map(|next| next.why.name().to_owned());
        history.push(Recorded {
            at: now,
            posts: u64::from(outcome == FETCHED),
            outcome,
            rule,
            excused: false,
        });
        health = decision.health;
        now = match decision.next {
            Some(next) if event % 40 == 0 => next.at + Span::from_hours(*event),
            Some(next) if event % 41 == 0 => now + next.at.since(now).half(),
            Some(next) => next.at + Span::from_secs(*lag),
            None if event % 2 == 0 => break,
            None => {
                health = health.cleared();
                now + Span::from_hours(50)
            }
        };
    }
    // A history never tells of what the server asked for, only that it did.
    for poll in &mut history {
        if let Outcome::Failed(failure) = &mut poll.outcome {
            failure.retry_after = None;
        }
    }
    (history, health, until)
}

fn any_dice() -> impl Strategy<Value = Vec<(f64, u64, u64)>> {
    prop::collection::vec((0.0..1.0, 0..1800_u64, 1..1000_u64), 1..50)
}

proptest! {
    #[test]
    fn the_same_policy_changes_nothing(
        own in prop::sample::select(Policy::NAMES.to_vec()),
        world in any_world(),
        dice in any_dice(),
        since in -100.0..2000.0_f64,
    ) {
        let own = policy(own);
        let (history, health, until) = recorded(&own, &world, &dice);
        let subject = Subject { health: &health, hints: &Hints::NONE, interval: HOUR, policy: &own };
        let replayed = replay(&subject, &history, &own, Window { since: at(since), until });
        prop_assert!(!replayed.differs(), "{replayed:?}");
    }

    #[test]
    fn every_replay_ends_and_adds_up(
        names in prop::array::uniform2(prop::sample::select(Policy::NAMES.to_vec())),
        world in any_world(),
        dice in any_dice(),
        jumps in prop::collection::vec((0..3000_usize, -2000.0..2000.0_f64), 0..4),
    ) {
        let [own, other] = names.map(policy);
        let (mut history, health, until) = recorded(&own, &world, &dice);
        for (place, hours) in jumps {
            let place = place % history.len();
            history[place].at = at(hours);
        }
        let subject = Subject { health: &health, hints: &Hints::NONE, interval: HOUR, policy: &own };
        let window = Window { since: at(0.0), until };
        let replayed = replay(&subject, &history, &other, window);
        let posts: u64 = history.iter().filter(|poll| window.since <= poll.at && poll.at <= until).map(|poll| poll.posts).sum();
        let Late { posts: late, total, longest, missing } = replayed.late;
        prop_assert!(late + missing <= posts);
        prop_assert!(longest <= total && total <= Span::from_millis(longest.as_millis() * late));
        for course in [&replayed.really, &replayed.instead] {
            prop_assert!(course.time_aside(window) <= until.since(window.since));
            for pair in course.set_aside.windows(2) {
                prop_assert!(pair[0].to.is_some_and(|to| to <= pair[1].from));
            }
        }
        // No policy asks more often than at its interval.
        let most = until.since(at(0.0)).as_hours() + 2 + history.len() as u64;
        prop_assert!(replayed.instead.requests <= most, "{} of {most}", replayed.instead.requests);
    }
}
