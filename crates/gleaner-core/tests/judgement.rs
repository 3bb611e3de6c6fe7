//! Whose fault it is: what holds for any row of outcomes, and the stories that the rules were made for.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::health::{CountedRun, Decision, Health, Quarantine, Status, decide};
use gleaner_core::incident::Asked;
use gleaner_core::judgement::{Excuse, HostMemory, Judgement, Notice, Poll, Verdict, judge};
use gleaner_core::network::{Guard, Leave};
use gleaner_core::outcome::ErrorKind::{
    Forbidden, Gone, Internal, Network, NotFound, RateLimited, UpstreamFailure,
};
use gleaner_core::outcome::{Cause, ErrorKind, Failure, Outcome};
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::schedule::{Hints, Situation};
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
    members: BTreeMap<i64, BTreeSet<i64>>,
    interval: Span,
    guard: Guard,
    now: Time,
}

impl World {
    /// Under a policy that is judged, whether it ships so or not.
    fn new(rules: Judgement, policy: &str) -> Self {
        let policy = Policy::builtin(policy, Knobs::default()).unwrap();
        Self::under(rules, Policy { judged: true, ..policy })
    }

    fn under(rules: Judgement, policy: Policy) -> Self {
        Self {
            rules,
            policy,
            health: BTreeMap::new(),
            memory: BTreeMap::new(),
            members: BTreeMap::new(),
            interval: Span::from_mins(30),
            guard: Guard::default(),
            now: start(),
        }
    }

    fn poll(&mut self, host: i64, source: i64, outcome: &Outcome) -> Verdict {
        let health = self.known(source);
        let members = self.members.entry(host).or_default();
        members.insert(source);
        let host_sources = members.len().min(3) as u32;
        // As a store would: what is kept goes through text and comes back the same.
        let memory = self.memory.entry(host).or_default();
        let latest = memory.latest_success;
        *memory = serde_json::from_str(&serde_json::to_string(memory).unwrap()).unwrap();
        memory.latest_success = latest;
        let at =
            Situation { health: &health, hints: &Hints::NONE, interval: self.interval, policy: &self.policy };
        let name = format!("h{host}.example");
        let poll =
            Poll { asked: Asked { source, fence: 0 }, host: &name, domain: &name, host_sources, outcome };
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

    /// What the policy alone decides.
    fn plain(&mut self, source: i64, outcome: &Outcome) -> Decision {
        let at = Situation {
            health: &self.known(source),
            hints: &Hints::NONE,
            interval: self.interval,
            policy: &self.policy,
        };
        decide(&at, outcome, self.now, Jitter::new(0.5))
    }

    fn known(&mut self, source: i64) -> Health {
        let unpolled = Health::new();
        self.health.entry(source).or_insert(unpolled).clone()
    }

    fn wait(&mut self, span: Span) {
        self.now = self.now + span;
    }

    fn status(&self, source: i64) -> Status {
        self.health[&source].status()
    }
}

/// All that counts: what is held against a source, and none of the facts.
fn counted(health: &Health) -> (bool, Option<Quarantine>, Option<CountedRun>) {
    let quarantine = health.quarantine.clone().map(|held| Quarantine { retry_at: None, ..held });
    (health.disabled.is_some(), quarantine, health.failing.as_ref().and_then(|row| row.counted))
}

fn minutes(n: u64) -> Span {
    Span::from_mins(n)
}

/// Ten sources that were well, then three of them meet the same trouble within some minutes of the next round.
fn incident(world: &mut World, kind: ErrorKind) -> Verdict {
    for source in 0..10 {
        world.poll(1, source, &OK);
    }
    world.wait(minutes(30));
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
            "its failures since 2026-11-15 00:32 UTC do not count: they were not its own"
        );
        let taken: Vec<(i64, bool)> = opened.taken_back.iter().map(|t| (t.asked.source, t.told)).collect();
        assert_eq!(taken, [(0, true), (1, true)], "an event had told of them");
        let id = Some("h1.example@2026-11-15T00:32:00Z".to_owned());
        for source in 0..3 {
            let row = world.health[&source].failing.clone().unwrap();
            assert_eq!((row.count, row.kind, row.counted, row.excused_by), (1, NotFound, None, id.clone()));
            assert_eq!(world.status(source), Status::Failing, "a fact is a fact");
        }
        assert!((3..10).all(|source| world.status(source) == Status::Healthy));
        let probe_at = opened.decision.host_hold_until.unwrap();
        assert_eq!(probe_at, world.now + minutes(5));
        // Canaries fail, at longer and longer gaps, an hour at most.
        let mut gaps = Vec::new();
        let mut probe_at = probe_at;
        for canary in 3..9 {
            world.now = probe_at;
            let verdict = world.poll(1, canary, &failed(NotFound));
            assert_eq!((verdict.excused, world.status(canary)), (Some(Excuse::Incident), Status::Failing));
            let next = verdict.decision.next.unwrap().at;
            assert!(next >= world.now + minutes(30), "not before its policy's own gap");
            probe_at = verdict.decision.host_hold_until.unwrap();
            gaps.push(probe_at.since(world.now).as_mins());
        }
        assert_eq!(gaps, [10, 20, 40, 60, 60, 60]);
        world.now = probe_at;
        let back = world.poll(1, 9, &OK);
        assert_eq!(back.notices.iter().map(Notice::name).collect::<Vec<_>>(), ["host.back"]);
        assert_eq!(back.notices[0].reason(world.now), "answers again after 4 hours of not_found");
        assert!(back.release.is_some_and(|release| release.excused) && back.memory_changed);
        assert!((0..9).all(|source| counted(&world.health[&source]) == (false, None, None)));
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
    assert!((0..3).all(|source| counted(&world.health[&source]) == (false, None, None)));
    assert_eq!(world.health[&0].failing.as_ref().unwrap().count, 2, "the facts stay");
}

#[test]
fn after_five_days_each_source_is_on_its_own_with_its_time_counted() {
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
    let row = given_up.decision.health.failing.unwrap();
    let run = row.counted.unwrap();
    assert_eq!(
        (run.count, run.since, run.kind_run),
        (row.count, row.since, row.count),
        "the facts count now"
    );
    assert!(row.count >= 5 && row.excused_by.is_none(), "{row:?}");
    world.wait(minutes(12 * 60));
    for source in 0..10 {
        assert_eq!(world.poll(1, source, &failed(Network(Cause::Dns))).excused, None);
        assert_eq!(world.status(source), Status::Quarantined, "five days are not forgotten");
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
    let before: Vec<_> = world.health.values().map(counted).collect();
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
    let refused = world.poll(1, 0, &failed(Forbidden));
    assert_eq!(gap(&refused), 30, "siblings are served");
    let next = refused.decision.next.unwrap().at;
    assert!(next >= world.now + minutes(30), "not before its interval: {next}");
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

#[test]
fn sources_that_never_succeeded_prove_nothing() {
    for kind in [NotFound, Gone, Network(Cause::Connect), UpstreamFailure] {
        let mut world = World::new(Judgement::default(), "standard");
        for _ in 0..10 {
            for source in 0..4 {
                world.wait(minutes(10));
                let verdict = world.poll(1, source, &failed(kind));
                assert_eq!((verdict.excused, verdict.notices.len()), (None, 0), "{kind}");
                assert!(matches!(world.status(source), Status::Failing | Status::Quarantined));
            }
        }
        assert!(world.memory[&1].incidents.open.is_none());
    }
}

#[test]
fn an_incident_excuses_only_sources_that_worked_until_it_began() {
    let mut world = World::new(Judgement::default(), "standard");
    world.poll(1, 18, &OK);
    world.wait(Span::from_hours(3));
    // One that never worked, and one that failed before.
    for _ in 0..3 {
        world.poll(1, 17, &failed(TIMEOUT));
        world.poll(1, 18, &failed(TIMEOUT));
        world.wait(minutes(40));
    }
    let opened = incident(&mut world, UpstreamFailure);
    assert_eq!(opened.excused, Some(Excuse::Incident));
    world.wait(minutes(5));
    for (source, kind) in [(17, TIMEOUT), (18, UpstreamFailure), (6, NotFound)] {
        let health = world.known(source);
        let verdict = world.poll(1, source, &failed(kind));
        assert_eq!(verdict.excused, None, "{source}");
        assert!(world.health[&source].failing.as_ref().unwrap().counted.is_some());
        assert!(verdict.decision.next.unwrap().at >= world.now + minutes(30), "{health:?}");
    }
    assert!(world.memory[&1].incidents.open.is_some(), "they are no probes either");
    assert_eq!(
        world.poll(1, 5, &failed(TIMEOUT)).excused,
        Some(Excuse::Incident),
        "5xx and no answer are alike"
    );
}

#[test]
fn two_sources_are_enough_where_the_host_has_two() {
    let mut world = World::new(Judgement::default(), "standard");
    for source in 0..2 {
        world.poll(1, source, &OK);
    }
    world.wait(minutes(30));
    assert_eq!(world.poll(1, 0, &failed(TIMEOUT)).excused, None);
    world.wait(minutes(3));
    assert_eq!(world.poll(1, 1, &failed(TIMEOUT)).excused, None, "it may be chance");
    world.wait(minutes(27));
    assert_eq!(world.poll(1, 0, &failed(TIMEOUT)).excused, Some(Excuse::Incident));
    assert_eq!(world.health[&1].failing.as_ref().unwrap().counted, None);
    let mut alone = World::new(Judgement::default(), "standard");
    alone.poll(1, 0, &OK);
    for _ in 0..10 {
        alone.wait(minutes(30));
        assert_eq!(alone.poll(1, 0, &failed(TIMEOUT)).excused, None);
    }
}

#[test]
fn a_refusal_of_documents_is_the_hosts_only_where_all_get_it() {
    // One of four answers otherwise, or was served not long ago.
    for other in [OK, failed(ErrorKind::ParseError), failed(TIMEOUT)] {
        let mut world = World::new(Judgement::default(), "standard");
        for source in 0..4 {
            world.poll(1, source, &OK);
        }
        for _ in 0..3 {
            world.wait(minutes(28));
            world.poll(1, 3, &other);
            for source in 0..3 {
                world.wait(minutes(1));
                assert_eq!(world.poll(1, source, &failed(NotFound)).excused, None, "{other:?}");
            }
            world.poll(1, 3, &other);
        }
    }
}

#[test]
fn dead_sources_are_no_outage() {
    let mut world = World::new(Judgement::default(), "standard");
    for round in 0..20 {
        for source in 0..30 {
            world.wait(Span::from_secs(10));
            let verdict = world.poll(source, source, &failed(Network(Cause::Dns)));
            assert_eq!(verdict.excused, None, "round {round}");
            assert_eq!(world.guard.down(), None);
        }
    }
}

#[test]
fn related_hosts_are_no_outage() {
    let mut world = World::new(Judgement::default(), "standard");
    for source in 0..40 {
        world.poll(1, source, &OK);
    }
    world.wait(minutes(30));
    for source in 0..40 {
        let verdict = world.poll(1, source, &failed(TIMEOUT));
        assert_ne!(verdict.excused, Some(Excuse::OwnNetwork));
    }
}

#[test]
fn a_poll_that_is_not_judged_ends_an_outage_too() {
    let mut world = World::new(Judgement::default(), "standard");
    for source in 0..40 {
        world.poll(source, source, &OK);
    }
    for source in 0..20 {
        world.poll(source, source, &failed(TIMEOUT));
    }
    assert!(world.guard.down().is_some());
    world.policy.judged = false;
    let own = world.poll(30, 30, &failed(TIMEOUT));
    assert_eq!((own.excused, world.status(30)), (None, Status::Failing));
    let back = world.poll(31, 31, &OK);
    assert!(back.resume_over.is_some() && world.guard.down().is_none());
}

#[test]
fn spacing_never_shortens_a_wait() {
    for (policy, interval) in Policy::NAMES.into_iter().flat_map(|name| [(name, 1), (name, 60), (name, 600)])
    {
        let mut world = World::new(Judgement::default(), policy);
        world.interval = minutes(interval);
        for source in 0..3 {
            world.poll(1, source, &OK);
        }
        for refusal in [RateLimited, Forbidden] {
            for _ in 0..4 {
                world.wait(minutes(2));
                world.poll(1, 2, &OK);
                let plain = world.plain(0, &failed(refusal)).next;
                let verdict = world.poll(1, 0, &failed(refusal));
                let Some(next) = verdict.decision.next else { continue };
                assert!(next.at >= plain.unwrap().at, "{policy}: the policy's own gap");
                // A source that gets a 403 again and again gets it for a reason of its own.
                let Some(hold) = verdict.decision.host_hold_until else { continue };
                assert!(next.at >= world.now + world.interval, "{policy}: its interval");
                assert!(next.at >= hold, "{policy}: its host's hold");
            }
        }
    }
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
            let plain = world.plain(host * 10 + source, &outcome);
            let verdict = world.poll(host, host * 10 + source, &outcome);
            prop_assert_eq!(&verdict.decision, &plain);
            let memory = HostMemory { latest_success: None, ..world.memory[&host].clone() };
            prop_assert_eq!(&memory, &HostMemory::default());
            prop_assert_eq!(&world.guard, &Guard::default());
            prop_assert!(verdict.excused.is_none() && verdict.taken_back.is_empty() && verdict.release.is_none());
            prop_assert!(verdict.notices.is_empty() && verdict.host_gap == Span::ZERO);
        }
    }

    /// Under a policy that is not judged, any number of sources of a host follow its table exactly.
    #[test]
    fn a_policy_that_is_not_judged_is_its_table(policy in any_policy(), polls in any_polls()) {
        let policy = Policy::builtin(policy, Knobs::default()).unwrap();
        let mut world = World::under(Judgement::default(), Policy { judged: false, ..policy });
        for (host, source, gap, outcome) in polls {
            world.wait(Span::from_secs(gap));
            let plain = world.plain(host * 10 + source, &outcome);
            let verdict = world.poll(host, host * 10 + source, &outcome);
            prop_assert_eq!(&verdict.decision, &plain);
            prop_assert!(verdict.excused.is_none() && verdict.taken_back.is_empty() && verdict.release.is_none());
            prop_assert!(verdict.notices.is_empty() && verdict.host_gap == Span::ZERO);
        }
    }

    /// Whoever is to blame: a source whose latest poll failed is shown so, and no poll comes before its policy's gap.
    #[test]
    fn never_falsely_green(
        policy in any_policy(),
        judged in any::<bool>(),
        interval in 1..120_u64,
        polls in any_polls(),
    ) {
        let policy = Policy::builtin(policy, Knobs::default()).unwrap();
        let mut world = World::under(Judgement::default(), Policy { judged, ..policy });
        world.interval = minutes(interval);
        let least = world.interval.min(minutes(60));
        let mut latest: BTreeMap<i64, bool> = BTreeMap::new();
        for (host, source, gap, outcome) in polls {
            world.wait(Span::from_secs(gap));
            let source = host * 10 + source;
            let plain = world.plain(source, &outcome);
            let verdict = world.poll(host, source, &outcome);
            match outcome.failure().map(|failure| failure.kind) {
                Some(Internal) => {}
                failure => {
                    latest.insert(source, failure.is_none());
                }
            }
            match (verdict.excused, verdict.decision.next, plain.next) {
                (None, Some(next), Some(own)) => prop_assert!(next.at >= own.at, "{:?} {:?}", next, own),
                (Some(_), Some(next), _) => prop_assert!(next.at >= world.now + least, "{:?}", next),
                (_, None, own) => prop_assert_eq!(own, None),
                (None, Some(_), None) => prop_assert!(false, "it waits for a person"),
            }
            for taken in &verdict.taken_back {
                prop_assert!(taken.next_poll_at >= taken.last_at + least);
            }
            for (source, health) in &world.health {
                let status = health.status();
                match latest.get(source) {
                    Some(true) => prop_assert!(matches!(status, Status::Healthy | Status::Disabled)),
                    Some(false) => {
                        prop_assert!(!matches!(status, Status::Healthy | Status::Pending), "{:?}", health);
                        let row = health.failing.as_ref().unwrap();
                        prop_assert_eq!(row.excused_by.is_some(), judged && row.excused_by.is_some());
                    }
                    None => prop_assert_eq!(status, Status::Pending),
                }
            }
        }
    }

    /// A failure that is excused moves nothing that counts, and of what is taken back only the facts stay.
    #[test]
    fn excused_failures_do_not_count(policy in any_policy(), polls in any_polls()) {
        let mut world = World::new(Judgement::default(), policy);
        // Beside each source, its health had the failures in doubt never been: by source, since its latest poll
        // that was a success or is settled as its own.
        let mut without: BTreeMap<i64, Vec<(Time, Health)>> = BTreeMap::new();
        for (host, source, gap, outcome) in polls {
            world.wait(Span::from_secs(gap));
            let source = host * 10 + source;
            let before = world.known(source);
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
                if verdict.excused_since.is_none() {
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

    /// Whatever its sources answer, an incident ends: by a success at once, else after five days, counted anew
    /// from a clock that jumped back. Two jumps make that 15 days at most, with a probe at least hourly.
    #[test]
    fn an_incident_always_ends(
        kinds in prop::collection::vec((any_kind(), 0..10_i64), 3 * 130),
        back in prop::option::of(0..60_usize),
        jumps in prop::collection::vec((0..3 * 130_usize, -10_000_000_i64..10_000_000), 0..3),
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
            let verdict = world.poll(1, source, &failed(kind));
            let Some(open) = world.memory[&1].incidents.open else { return Ok(()) };
            if verdict.excused.is_none() {
                world.wait(minutes(60));
                continue;
            }
            prop_assert!(open.probe_at.since(world.now) <= minutes(60), "somebody is asked within the hour");
            prop_assert!(jumped || world.now.since(began) <= Span::from_days(5));
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
