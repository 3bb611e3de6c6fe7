//! Whose fault it is: what holds for any row of outcomes, and the stories that the rules were made for.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use gleaner_core::health::{Health, Status, decide};
use gleaner_core::incident::Asked;
use gleaner_core::judgement::{Excuse, HostMemory, Judgement, Notice, Poll, Verdict, judge};
use gleaner_core::network::{Guard, Leave};
use gleaner_core::outcome::ErrorKind::{
    Forbidden, Internal, Network, NotFound, RateLimited, UpstreamFailure,
};
use gleaner_core::outcome::{Cause, ErrorKind, Failure, Outcome};
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::schedule::{Hints, HostState, Situation};
use gleaner_core::time::{Jitter, Span, Time};
use proptest::prelude::*;

const OK: Outcome = Outcome::Fetched { retry_after: None };
const TIMEOUT: ErrorKind = Network(Cause::Timeout);

fn start() -> Time {
    Time::parse("2026-11-15T00:00:00Z").unwrap()
}

fn failed(kind: ErrorKind) -> Outcome {
    Outcome::Failed(Failure { kind, status: None, message: kind.to_string(), retry_after: None })
}

/// A few hosts with a few sources each, as an engine keeps them.
struct World {
    rules: Judgement,
    policy: Policy,
    health: BTreeMap<i64, Health>,
    memory: BTreeMap<i64, HostMemory>,
    guard: Guard,
    now: Time,
}

impl World {
    fn new(rules: Judgement, policy: &str) -> Self {
        Self {
            rules,
            policy: Policy::builtin(policy, Knobs::default()).unwrap(),
            health: BTreeMap::new(),
            memory: BTreeMap::new(),
            guard: Guard::default(),
            now: start(),
        }
    }

    fn poll(&mut self, host: i64, source: i64, outcome: &Outcome) -> Verdict {
        let health = self.health.entry(source).or_default().clone();
        // As a store would: what is kept goes through text and comes back the same.
        let memory = self.memory.entry(host).or_default();
        let latest = memory.latest_success;
        *memory = serde_json::from_str(&serde_json::to_string(memory).unwrap()).unwrap();
        memory.latest_success = latest;
        let at = Situation {
            health: &health,
            hints: &Hints::NONE,
            host: &HostState::default(),
            interval: Span::from_mins(30),
            policy: &self.policy,
        };
        let poll = Poll { asked: Asked { source, fence: 0 }, host, outcome };
        let verdict = judge(&self.rules, &at, &poll, memory, &mut self.guard, self.now, Jitter::new(0.5));
        self.health.insert(source, verdict.decision.health.clone());
        for taken in &verdict.taken_back {
            let health = self.health.get_mut(&taken.asked.source).unwrap();
            if health.last_polled_at == Some(taken.last_at) {
                *health = taken.health.clone();
            }
        }
        verdict
    }

    fn wait(&mut self, span: Span) {
        self.now = self.now + span;
    }

    fn status(&self, source: i64) -> Status {
        self.health[&source].status()
    }
}

/// All that counts: not when it was asked last, and not what its server asked for.
fn counted(health: &Health) -> Health {
    let mut health = health.clone().excused(None, None);
    if let Some(held) = &mut health.quarantine {
        held.retry_at = None;
    }
    health
}

fn minutes(n: u64) -> Span {
    Span::from_mins(n)
}

/// Ten sources that were well, then three of them meet the same trouble within some minutes.
fn incident(world: &mut World, kind: ErrorKind) -> Verdict {
    for source in 0..10 {
        world.poll(1, source, &OK);
    }
    for source in 0..2 {
        world.wait(minutes(2));
        assert_eq!(world.poll(1, source, &failed(kind)).excused, None);
    }
    world.wait(minutes(2));
    world.poll(1, 2, &failed(kind))
}

#[test]
fn a_host_that_fails_as_a_whole_is_one_incident() {
    for policy in Policy::NAMES {
        let mut world = World::new(Judgement::default(), policy);
        let opened = incident(&mut world, NotFound);
        assert_eq!(opened.excused, Some(Excuse::Incident));
        let named: Vec<&str> = opened.notices.iter().map(Notice::name).collect();
        assert_eq!(named, ["host.down"]);
        let corrected = opened.taken_back[0].event().unwrap();
        assert_eq!(corrected.kind.name(), "source.excused");
        assert_eq!(
            corrected.reason,
            "its failures since 2026-11-15 00:02 UTC were not its own and do not count"
        );
        let taken: Vec<(i64, bool)> = opened.taken_back.iter().map(|t| (t.asked.source, t.told)).collect();
        assert_eq!(taken, [(0, true), (1, true)], "an event had told of them");
        assert!((0..10).all(|source| world.status(source) == Status::Healthy));
        let probe_at = opened.decision.host_hold_until.unwrap();
        assert_eq!(probe_at, world.now + minutes(5));
        // Canaries fail, at longer and longer gaps, an hour at most.
        let mut gaps = Vec::new();
        let mut probe_at = probe_at;
        for canary in 3..9 {
            world.now = probe_at;
            let verdict = world.poll(1, canary, &failed(NotFound));
            assert_eq!((verdict.excused, world.status(canary)), (Some(Excuse::Incident), Status::Healthy));
            probe_at = verdict.decision.host_hold_until.unwrap();
            gaps.push(probe_at.since(world.now).as_mins());
        }
        assert_eq!(gaps, [10, 20, 40, 60, 60, 60]);
        world.now = probe_at;
        let back = world.poll(1, 9, &OK);
        assert_eq!(back.notices.iter().map(Notice::name).collect::<Vec<_>>(), ["host.back"]);
        assert_eq!(back.notices[0].reason(world.now), "answers again after 4 hours of not_found");
        assert!(back.release.is_some() && back.memory_changed);
        assert!((0..10).all(|source| world.status(source) == Status::Healthy));
    }
}

#[test]
fn what_the_source_itself_failed_before_is_excused_with_it() {
    let mut world = World::new(Judgement::default(), "standard");
    for source in 0..10 {
        world.poll(1, source, &OK);
    }
    for source in 0..3 {
        assert_eq!(world.poll(1, source, &failed(NotFound)).excused, None, "all at once says little");
    }
    let first = world.now;
    world.wait(minutes(30));
    let opened = world.poll(1, 0, &failed(NotFound));
    assert_eq!((opened.excused, opened.excused_since), (Some(Excuse::Incident), Some(first)));
    let told: Vec<&str> = opened.decision.events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(told, ["source.excused"]);
    assert_eq!(opened.taken_back.len(), 2);
    assert!((0..10).all(|source| world.status(source) == Status::Healthy));
}

#[test]
fn after_three_days_each_source_is_on_its_own_with_its_time_counted() {
    let mut world = World::new(Judgement::default(), "standard");
    let opened = incident(&mut world, Network(Cause::Dns));
    world.now = opened.decision.host_hold_until.unwrap();
    let mut given_up = None;
    for turn in 0.. {
        let verdict = world.poll(1, turn % 10, &failed(Network(Cause::Dns)));
        if verdict.excused.is_none() {
            given_up = Some(verdict);
            break;
        }
        world.now = verdict.decision.host_hold_until.unwrap();
    }
    let given_up = given_up.unwrap();
    assert_eq!(given_up.notices.iter().map(Notice::name).collect::<Vec<_>>(), ["host.given_up"]);
    assert_eq!(given_up.decision.health.status(), Status::Quarantined, "three days are not forgotten");
    assert_eq!(given_up.decision.health.failing.unwrap().since, start() + minutes(2));
    world.wait(minutes(5));
    for source in 0..10 {
        assert_eq!(world.poll(1, source, &failed(Network(Cause::Dns))).excused, None);
        assert_eq!(world.status(source), Status::Quarantined);
    }
    world.poll(1, 4, &OK);
    assert_eq!(world.status(4), Status::Healthy);
    world.poll(1, 10, &OK);
    world.wait(minutes(5));
    world.poll(1, 10, &failed(Network(Cause::Dns)));
    assert_eq!(world.status(10), Status::Failing, "a success of the host ends it for good");
}

#[test]
fn the_dead_do_not_excuse_each_other_for_ever() {
    let mut world = World::new(Judgement::default(), "standard");
    let mut opened = 0;
    // Three of four are gone for good; the fourth is well.
    for source in 0..4 {
        world.poll(1, source, &OK);
    }
    for _ in 0..100 {
        for source in 0..3 {
            world.wait(minutes(10));
            opened += u32::from(world.poll(1, source, &failed(NotFound)).excused.is_some());
        }
        world.wait(minutes(10));
        world.poll(1, 3, &OK);
    }
    assert_eq!(opened, 1);
    assert!((0..3).all(|source| world.status(source) == Status::Quarantined));
}

#[test]
fn some_failures_are_no_evidence() {
    let mut world = World::new(Judgement::default(), "standard");
    for round in 0..30 {
        for source in 0..10 {
            world.wait(minutes(1));
            let kind = if round % 2 == 0 { RateLimited } else { Internal };
            assert_eq!(world.poll(1, source, &failed(kind)).excused, None);
        }
    }
    // A success in between says that it is not the host.
    for _ in 0..30 {
        for source in 0..10 {
            world.wait(minutes(1));
            let outcome = if source % 3 == 0 { OK } else { failed(UpstreamFailure) };
            assert_eq!(world.poll(1, source, &outcome).excused, None);
        }
    }
}

#[test]
fn when_nothing_answers_it_is_us() {
    let mut world = World::new(Judgement::default(), "standard");
    for source in 0..40 {
        world.poll(source / 4, source, &OK);
    }
    let before: Vec<Health> = world.health.values().map(counted).collect();
    let mut last = None;
    for source in 0..20 {
        world.wait(Span::from_secs(1));
        assert_eq!(world.guard.leave(&world.rules.guard, world.now), Leave::All);
        let kind = if source % 7 == 0 { ErrorKind::Blocked } else { TIMEOUT };
        last = Some(world.poll(source / 4, source, &failed(kind)));
    }
    let down = last.unwrap();
    assert_eq!(down.excused, Some(Excuse::OwnNetwork));
    assert_eq!(down.taken_back.len(), 19);
    assert_eq!(world.health.values().map(counted).collect::<Vec<_>>(), before);
    let mut gaps = Vec::new();
    for probe in 0..5 {
        let Leave::Wait(until) = world.guard.leave(&world.rules.guard, world.now) else {
            panic!("it is down")
        };
        gaps.push(until.since(world.now).as_mins());
        world.now = until;
        assert_eq!(world.guard.leave(&world.rules.guard, world.now), Leave::Probe);
        let verdict = world.poll(5, 20 + probe, &failed(Network(Cause::DnsUnavailable)));
        assert_eq!((verdict.excused, verdict.resume_over), (Some(Excuse::OwnNetwork), None));
    }
    assert_eq!(gaps, [1, 2, 4, 5, 5]);
    assert_eq!(world.health.values().map(counted).collect::<Vec<_>>(), before);
    world.wait(minutes(5));
    let back = world.poll(9, 39, &failed(NotFound));
    assert!(back.resume_over.is_some(), "a 404 is an answer, too");
    assert_eq!((back.excused, world.status(39)), (None, Status::Failing));
    assert_eq!(world.guard.leave(&world.rules.guard, world.now), Leave::All);
}

#[test]
fn a_limiting_host_gets_a_spacing() {
    let mut world = World::new(Judgement::default(), "standard");
    for source in 0..3 {
        world.poll(1, source, &OK);
    }
    let gap = |verdict: &Verdict| verdict.host_gap.as_millis() / 1000;
    assert_eq!(gap(&world.poll(1, 0, &failed(Forbidden))), 30, "siblings are served");
    assert_eq!(gap(&world.poll(1, 1, &failed(RateLimited))), 60);
    for _ in 0..10 {
        world.poll(1, 1, &failed(RateLimited));
    }
    let most = world.poll(1, 1, &failed(RateLimited));
    assert_eq!(gap(&most), 600);
    assert!(
        most.decision.next.unwrap().at.since(world.now) > minutes(60),
        "refused so often, it waits longer"
    );
    let mut served = 0;
    while world.memory[&1].pace.gap > Span::ZERO {
        world.wait(minutes(10));
        world.poll(1, 2, &OK);
        served += 1;
    }
    assert!((700..760).contains(&served), "{served}");
    // A source that is forbidden for good does not slow down the others.
    for _ in 0..20 {
        world.wait(minutes(20));
        world.poll(1, 2, &OK);
        world.poll(1, 0, &failed(Forbidden));
    }
    assert!(world.memory[&1].pace.gap <= minutes(4), "{}", world.memory[&1].pace.gap);
}

fn any_kind() -> impl Strategy<Value = ErrorKind> {
    let kinds = ErrorKind::all().chain(Cause::ALL.into_iter().map(Network)).collect::<Vec<_>>();
    prop_oneof![Just(NotFound), Just(TIMEOUT), prop::sample::select(kinds)]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let retry_after = || prop::option::weighted(0.1, (0..100_000_u64).prop_map(Span::from_secs));
    prop_oneof![
        5 => (any_kind(), retry_after()).prop_map(|(kind, retry_after)| Outcome::Failed(Failure {
            kind,
            status: None,
            message: kind.to_string(),
            retry_after,
        })),
        1 => retry_after().prop_map(|retry_after| Outcome::Fetched { retry_after }),
    ]
}

/// Which source of which host, how long after the one before in seconds, and how it ended.
fn any_polls() -> impl Strategy<Value = Vec<(i64, i64, u64, Outcome)>> {
    let gap = prop_oneof![4 => 0..600_u64, 1 => 0..200_000_u64];
    prop::collection::vec((0..3_i64, 0..6_i64, gap, any_outcome()), 1..200)
}

fn any_policy() -> impl Strategy<Value = &'static str> {
    prop::sample::select(Policy::NAMES.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// With everything off, judging is deciding.
    #[test]
    fn with_all_switches_off_it_is_the_plain_policy(policy in any_policy(), polls in any_polls()) {
        let mut world = World::new(Judgement::off(), policy);
        for (host, source, gap, outcome) in polls {
            world.wait(Span::from_secs(gap));
            let health = world.health.entry(host * 10 + source).or_default().clone();
            let at = Situation {
                health: &health,
                hints: &Hints::NONE,
                host: &HostState::default(),
                interval: Span::from_mins(30),
                policy: &world.policy,
            };
            let plain = decide(&at, &outcome, world.now, Jitter::new(0.5));
            let verdict = world.poll(host, host * 10 + source, &outcome);
            prop_assert_eq!(&verdict.decision, &plain);
            prop_assert_eq!(&world.memory[&host], &HostMemory::default());
            prop_assert_eq!(&world.guard, &Guard::default());
            prop_assert!(verdict.excused.is_none() && verdict.taken_back.is_empty() && verdict.release.is_none());
            prop_assert!(verdict.notices.is_empty() && verdict.host_gap == Span::ZERO);
        }
    }

    /// A failure that is excused moves nothing that counts, and what is taken back is as if it had not been.
    #[test]
    fn excused_failures_leave_no_trace(policy in any_policy(), polls in any_polls()) {
        let mut world = World::new(Judgement::default(), policy);
        // Beside each source, its health had the failures in doubt never been: by source, since its latest poll
        // that was a success or is settled as its own.
        let mut without: BTreeMap<i64, Vec<(Time, Health)>> = BTreeMap::new();
        for (host, source, gap, outcome) in polls {
            world.wait(Span::from_secs(gap));
            let source = host * 10 + source;
            let before = world.health.entry(source).or_default().clone();
            let others = world.health.clone();
            without.entry(source).or_default().push((world.now, before.clone()));
            let verdict = world.poll(host, source, &outcome);
            let mut taken: Vec<(i64, Time, &Health)> =
                verdict.taken_back.iter().map(|t| (t.asked.source, t.first_at, &t.health)).collect();
            for (other, first_at, health) in taken.drain(..) {
                let known = without[&other].iter().find(|(at, _)| *at == first_at);
                let (_, was) = known.expect("only what was polled is taken back");
                prop_assert_eq!(counted(health), counted(was));
            }
            if verdict.excused.is_some() {
                let now = &verdict.decision.health;
                let same = without[&source].iter().any(|(_, was)| counted(was) == counted(now));
                prop_assert!(same, "a counter moved: {:?}", now);
                if verdict.taken_back.is_empty() && verdict.notices.is_empty() {
                    prop_assert_eq!(counted(now), counted(&before), "frozen");
                }
                // Whom nobody names, nobody touches.
                let named: Vec<i64> = verdict.taken_back.iter().map(|t| t.asked.source).collect();
                for (other, health) in &world.health {
                    if *other != source && !named.contains(other) {
                        prop_assert_eq!(health, &others[other]);
                    }
                }
            }
        }
    }

    /// Whatever its sources answer, an incident ends: by a success at once, else after three days, counted anew
    /// from a clock that jumped back. Two jumps make that nine days at most, with a probe at least hourly.
    #[test]
    fn an_incident_always_ends(
        kinds in prop::collection::vec((any_kind(), 0..10_i64), 3 * 80),
        back in prop::option::of(0..60_usize),
        jumps in prop::collection::vec((0..3 * 80_usize, -10_000_000_i64..10_000_000), 0..3),
    ) {
        let mut rules = Judgement::default();
        rules.guard.on = false;
        let mut world = World::new(rules, "standard");
        let opened = incident(&mut world, NotFound);
        prop_assert_eq!(opened.excused, Some(Excuse::Incident));
        world.now = opened.decision.host_hold_until.unwrap();
        let began = world.now;
        let mut jumped = false;
        for (step, (kind, source)) in kinds.into_iter().enumerate() {
            if back == Some(step) {
                world.poll(1, source, &OK);
                prop_assert!(world.memory[&1].incidents.open.is_none());
                return Ok(());
            }
            if let Some((_, by)) = jumps.iter().find(|(at, _)| *at == step) {
                world.now = Time::from_millis(world.now.as_millis() + by * 1000);
                jumped = true;
            }
            world.poll(1, source, &failed(kind));
            let Some(open) = world.memory[&1].incidents.open.filter(|_| kind != Internal) else {
                if kind == Internal {
                    world.wait(minutes(60));
                    continue;
                }
                return Ok(());
            };
            prop_assert!(open.probe_at.since(world.now) <= minutes(60), "somebody is asked within the hour");
            prop_assert!(jumped || world.now.since(began) <= Span::from_days(3));
            world.now = world.now.max(open.probe_at);
        }
        prop_assert!(world.memory[&1].incidents.open.is_none());
    }

    /// However many sources a host has, little is kept of it.
    #[test]
    fn a_hosts_memory_is_bounded(polls in prop::collection::vec((0..100_000_i64, any_kind(), 0..5_u64), 1..100)) {
        let mut world = World::new(Judgement::default(), "standard");
        for (source, kind, gap) in polls {
            world.wait(Span::from_secs(gap));
            world.poll(1, source, &failed(kind));
            prop_assert!(world.memory[&1].incidents.evidence.len() <= 20);
        }
    }
}
