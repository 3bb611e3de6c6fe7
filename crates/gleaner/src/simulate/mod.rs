//! Simulates half a year of thousands of sources in seconds: gleaner's decisions in a world where the truth is
//! known.
//!
//! `world` generates the world from a seed, `responses` answers polls and measures, `run` drives the decision code
//! of gleaner-core. There is no database, network or clock. The rules of other feed readers run in the same world,
//! in `bench/rivals`.

pub mod measure;
pub mod responses;
pub mod run;
pub mod world;

#[cfg(test)]
mod tests {
    use gleaner_core::judgement::Judgement;
    use gleaner_core::policy::{Knobs, Policy};
    use gleaner_core::time::Span;

    use super::measure::Measures;
    use super::run::{Setup, run};
    use super::world::{FailurePattern, RequestLimit, World};

    fn setup(policy: &str, rules: Judgement, auto: bool) -> Setup {
        let policy = Policy { judged: true, ..Policy::builtin(policy, Knobs::default()).unwrap() };
        Setup { policy, rules, interval: Span::from_mins(30), auto }
    }

    fn figure(measures: &Measures, name: &str) -> f64 {
        measures.get(name).unwrap()
    }

    #[test]
    fn without_failures_posts_wait_half_an_interval() {
        let mut world = World::build(5, 200, 30);
        world.local_outages.clear();
        world.hosts.iter_mut().for_each(|host| host.request_limit = RequestLimit::None);
        for source in &mut world.sources {
            (source.failure_pattern, source.flaky, source.max_age, source.ttl) =
                (FailurePattern::Healthy, 0.0, 0, 0);
            source.down.clear();
        }
        let (measures, notices) = run(&world, &setup("standard", Judgement::default(), false), 5);
        assert!((figure(&measures, "delay_min") - 15.0).abs() < 0.3, "{measures:?}");
        assert!((figure(&measures, "requests_per_source_day") - 48.0).abs() < 0.1, "{measures:?}");
        assert_eq!(figure(&measures, "missed_pct"), 0.0);
        assert!(notices.is_empty(), "{notices:?}");
        let (auto, _) = run(&world, &setup("standard", Judgement::default(), true), 5);
        assert!(figure(&auto, "delay_min") < 10.0, "{auto:?}");
        assert!(figure(&auto, "requests_per_source_day") < 50.0, "{auto:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_figures() {
        let (one, other) = (World::build(3, 300, 20), World::build(3, 300, 20));
        let judged = setup("cooldown", Judgement::default(), true);
        assert_eq!(run(&one, &judged, 3), run(&other, &judged, 3));
        assert_ne!(run(&one, &judged, 3), run(&World::build(4, 300, 20), &judged, 3));
    }

    #[test]
    fn judgement_never_loses_more() {
        let world = World::build(2, 600, 60);
        for policy in Policy::NAMES {
            let (plain, _) = run(&world, &setup(policy, Judgement::off(), false), 2);
            let (judged, notices) = run(&world, &setup(policy, Judgement::default(), false), 2);
            assert!(figure(&judged, "missed_pct") <= figure(&plain, "missed_pct"), "{policy}: {judged:?}");
            assert!(figure(&judged, "lost") <= figure(&plain, "lost"), "{policy}: {judged:?}");
            assert!(notices.contains_key("host.down, true"), "{policy}: {notices:?}");
            assert_eq!(notices.get("network.down, false"), None, "{policy}: it was not us");
        }
        let (standard, notices) = run(&world, &setup("standard", Judgement::default(), false), 2);
        assert_eq!(figure(&standard, "lost"), 0.0);
        assert!(figure(&standard, "after_window_h") <= 1.1, "{standard:?}");
        assert!(figure(&standard, "after_local_outage_h") <= 0.5, "{standard:?}");
        assert_eq!(notices["network.down, true"] as usize, world.local_outages.len());
    }
}
