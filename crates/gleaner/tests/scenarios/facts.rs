//! Facts and consequences: what failed is shown so, whoever is to blame, and only sources that worked say whose fault it
//! was.

use std::time::{Duration, Instant};

use gleaner_core::health::Status;
use gleaner_core::policy::Policy;
use gleaner_core::time::{Span, Time};

use super::on_both;
use super::world::{Answer, World};
use crate::support::http::Reply;
use crate::support::{Database, until};

on_both!(
    failed_latest_poll_is_never_healthy,
    never_polled_is_pending,
    seed_policies_are_not_judged_by_default,
    never_successful_sources_are_no_evidence,
    gone_feeds_of_a_host_stay_quarantined,
    dead_sources_do_not_stop_polling,
    names_that_do_not_exist_do_not_stop_polling,
    one_success_ends_a_network_outage,
    pacing_never_shortens_a_gap,
    slow_hosts_do_not_crowd_out_quick_ones,
    after_a_clock_jump_each_source_is_spread_over_its_own_interval,
);

const MINUTE: Span = Span::from_mins(1);
/// How long the real engine may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets time pass, a minute at a time, and polls what is due.
async fn pass(world: &mut World, span: Span) {
    let end = world.now() + span;
    while world.now() < end {
        world.advance(MINUTE);
        world.poll_due().await;
    }
}

async fn add_under(world: &mut World, policy: &str, host: &str, path: &str) -> i64 {
    world.add_with(host, path, |new| new.policy = Some(policy.to_owned())).await
}

async fn events(world: &World, kind: &str) -> usize {
    while world.store().number_events(1000).await.unwrap() > 0 {}
    let all = world.store().events(0, 10_000).await.unwrap();
    all.into_iter().filter(|event| event.event.kind == kind).count()
}

async fn failed_latest_poll_is_never_healthy(db: Database) {
    let mut world = World::new(db, &[]).await;
    let mut sources = Vec::new();
    for policy in Policy::NAMES {
        for size in [1, 2, 4] {
            for place in 0..size {
                let path = format!("/{policy}/{size}/{place}");
                world.answer(&path, Answer::feed(&["one"]));
                let id = add_under(&mut world, policy, &format!("{policy}{size}.test"), &path).await;
                sources.push((id, path));
            }
        }
    }
    for answer in [
        Answer::feed(&["one"]),
        Answer::Status(404),
        Answer::feed(&["two"]),
        Answer::Status(503),
        Answer::feed(&["three"]),
        Answer::Reset,
    ] {
        sources.iter().for_each(|(_, path)| world.answer(path, answer.clone()));
        for _ in 0..8 {
            world.advance(Span::from_mins(11));
            world.poll_due().await;
            for (id, path) in &sources {
                let Some(latest) = world.polls(*id).await.into_iter().next() else { continue };
                let status = world.source(*id).await.health.status();
                let failed = latest.record.error.is_some();
                let green = matches!(status, Status::Healthy | Status::Pending);
                assert_eq!(green, !failed, "{path} is {status:?}: {latest:?}");
            }
        }
    }
}

async fn never_polled_is_pending(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["one"]));
    world.answer("/moved", Answer::feed(&["one"]));
    let id = world.add("a.test", "/feed").await;
    assert_eq!(world.source(id).await.health.status(), Status::Pending);
    assert_eq!(world.service().explain(id).await.unwrap().summary, "Not polled yet.");
    assert_eq!(world.service().status_counts().await.unwrap().len(), 5);
    world.poll_due().await;
    assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    // Whatever was known of it before a person enabled it, or gave it another URL, says nothing of now.
    world.service().set_enabled(id, false).await.unwrap();
    assert_eq!(world.source(id).await.health.status(), Status::Disabled);
    world.service().set_enabled(id, true).await.unwrap();
    assert_eq!(world.source(id).await.health.status(), Status::Pending);
    world.poll_due().await;
    assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    let url = Some(world.server().url_of("a.test", "/moved").to_string());
    let fields = gleaner::service::SourceFields { url, ..Default::default() };
    world.service().change_source(id, None, &fields, Default::default()).await.unwrap();
    assert_eq!(world.source(id).await.health.status(), Status::Pending);
    world.answer("/moved", Answer::Status(404));
    world.poll_due().await;
    assert_eq!(world.source(id).await.health.status(), Status::Failing);
}

async fn seed_policies_are_not_judged_by_default(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    let hours = |hours: u64| Span::from_hours(hours);
    // How long after each failure the next poll comes, and what the last one leads to.
    let tables: [(&str, Vec<Span>, Status, Option<Span>); 3] = [
        ("backoff", vec![hours(2), hours(4), hours(8), hours(16)], Status::Disabled, None),
        ("cooldown", vec![hours(2), hours(4)], Status::Quarantined, Some(hours(48))),
        ("quarantine", vec![hours(1); 4], Status::Quarantined, None),
    ];
    for (policy, gaps, status, last) in tables {
        let mut ids = Vec::new();
        for place in 0..4 {
            let path = format!("/{policy}/{place}");
            world.answer(&path, Answer::feed(&["one"]));
            ids.push(add_under(&mut world, policy, &format!("{policy}.test"), &path).await);
        }
        world.poll_due().await;
        (0..4).for_each(|place| world.answer(&format!("/{policy}/{place}"), Answer::Status(404)));
        let failures = gaps.len() as u32 + 1;
        world.advance(hours(1));
        world.poll_due().await;
        for (done, gap) in (1..).zip(gaps) {
            for id in &ids {
                let source = world.source(*id).await;
                assert_eq!(
                    (source.health.status(), world.failures(*id).await),
                    (Status::Failing, done),
                    "{policy}"
                );
                assert_eq!(source.next_poll_at, Some(world.now() + gap), "{policy}");
            }
            world.advance(gap);
            world.poll_due().await;
        }
        for id in &ids {
            let source = world.source(*id).await;
            assert_eq!((source.health.status(), world.failures(*id).await), (status, failures), "{policy}");
            assert_eq!(source.next_poll_at, last.map(|gap| world.now() + gap), "{policy}");
            assert!(world.polls(*id).await.iter().all(|poll| poll.record.excused.is_none()));
        }
    }
    assert_eq!((events(&world, "host.down").await, events(&world, "source.excused").await), (0, 0));
}

async fn never_successful_sources_are_no_evidence(db: Database) {
    let mut world = World::new(db, &[]).await;
    let mut dead = Vec::new();
    for place in 0..4 {
        world.answer(&format!("/dead{place}"), Answer::Status(404));
        dead.push(world.add("a.test", &format!("/dead{place}")).await);
    }
    pass(&mut world, Span::from_hours(3)).await;
    assert_eq!(events(&world, "host.down").await, 0);
    for id in &dead {
        let source = world.source(*id).await;
        let row = source.health.failing.expect("404 is a fact");
        assert_eq!(row.counted.map(|run| run.count), Some(row.count));
        assert!(row.count >= 3 && row.message == "404 Not Found", "{row:?}");
        assert_eq!(world.service().explain(*id).await.unwrap().status, Status::Failing);
    }
    // The host fails as a whole, as those that worked say; the dead ones are not excused by it.
    let mut live = Vec::new();
    for place in 0..4 {
        world.answer(&format!("/live{place}"), Answer::feed(&["one"]));
        live.push(world.add("a.test", &format!("/live{place}")).await);
    }
    pass(&mut world, Span::from_mins(31)).await;
    (0..4).for_each(|place| world.answer(&format!("/live{place}"), Answer::Status(503)));
    (0..4).for_each(|place| world.answer(&format!("/dead{place}"), Answer::Status(503)));
    pass(&mut world, Span::from_hours(12)).await;
    assert_eq!(events(&world, "host.down").await, 1);
    for id in &dead {
        let polls = world.polls(*id).await;
        assert!(polls.iter().all(|poll| poll.record.excused.is_none()), "{polls:?}");
        assert_eq!(polls[0].record.status_code, Some(503), "and still polled, at its own gap");
    }
    for id in &live {
        let row = world.source(*id).await.health.failing.expect("a fact all the same");
        assert!(row.excused_by.is_some() && row.counted.is_none(), "{row:?}");
    }
}

async fn gone_feeds_of_a_host_stay_quarantined(db: Database) {
    let mut world = World::new(db, &[]).await;
    let mut ids = Vec::new();
    for place in 0..3 {
        world.answer(&format!("/{place}"), Answer::feed(&["one"]));
        ids.push(world.add("a.test", &format!("/{place}")).await);
    }
    world.poll_due().await;
    for place in 0..3 {
        world.answer(&format!("/{place}"), Answer::Status(410));
        pass(&mut world, Span::from_mins(50)).await;
        for id in &ids[..=place] {
            assert_eq!(world.source(*id).await.health.status(), Status::Quarantined, "after {place}");
        }
    }
}

/// Sources that answer, at their own hosts, all polled once.
async fn healthy(world: &mut World, places: std::ops::Range<usize>) -> Vec<i64> {
    let mut ids = Vec::new();
    for place in places {
        world.answer(&format!("/healthy{place}"), Answer::feed(&["one"]));
        ids.push(world.add(&format!("healthy{place}.test"), &format!("/healthy{place}")).await);
    }
    world.poll_due().await;
    ids
}

/// For two hours each of them is polled when it is due.
async fn polled_on_time(world: &mut World, ids: &[i64]) {
    let mut polls = vec![0; ids.len()];
    for _ in 0..120 {
        world.advance(MINUTE);
        world.poll_due().await;
        for (id, polls) in ids.iter().zip(&mut polls) {
            let source = world.source(*id).await;
            let next = source.next_poll_at.expect("it is to be polled");
            assert!(next > world.now(), "{id} was due at {next} and is not polled at {}", world.now());
            *polls += u32::from(source.health.last_success_at == Some(world.now()));
        }
        assert_eq!(world.metrics().network_down_since(), None);
    }
    assert!(polls.iter().all(|polls| *polls >= 4), "{polls:?}");
    assert_eq!(events(world, "network.down").await, 0);
}

async fn dead_sources_do_not_stop_polling(db: Database) {
    let mut world = World::new(db, &[]).await;
    let ids = healthy(&mut world, 0..10).await;
    for place in 0..100 {
        world.add_refused(&format!("dead{place}.test")).await;
    }
    polled_on_time(&mut world, &ids).await;
    for source in world.all_sources().await.iter().skip(10) {
        let row = source.health.failing.as_ref().expect("refused");
        assert!(row.excused_by.is_none() && row.count >= 3, "{row:?}");
    }
}

async fn names_that_do_not_exist_do_not_stop_polling(db: Database) {
    let mut world = World::new(db, &[]).await;
    let ids = healthy(&mut world, 0..3).await;
    for place in 0..30 {
        world.add_url(&format!("http://nobody{place}.invalid/feed"), |_| ()).await;
    }
    polled_on_time(&mut world, &ids).await;
}

async fn one_success_ends_a_network_outage(db: Database) {
    let mut world = World::new(db, &[]).await;
    let mut ids = healthy(&mut world, 0..24).await;
    world.advance(Span::from_mins(5));
    ids.extend(healthy(&mut world, 24..40).await);
    (0..40).for_each(|place| world.answer(&format!("/healthy{place}"), Answer::Reset));
    world.advance(Span::from_mins(26));
    world.poll_due().await;
    assert_eq!(events(&world, "network.down").await, 1);
    let down = world.metrics().network_down_since();
    assert!(down.is_some());
    for source in world.all_sources().await {
        let row = source.health.failing.filter(|row| row.excused_by.is_some());
        assert!(row.is_none_or(|row| row.counted.is_none()));
    }
    // One that never worked is due, too, and is never the one that is asked whether it is over.
    world.add_refused("dead.test").await;
    let before = world.server().requests().len();
    world.advance(Span::from_mins(5));
    world.poll_due().await;
    let asked = world.asked_paths().split_off(before);
    // A reset is tried a second time at once.
    assert!((1..=2).contains(&asked.len()), "one probe: {asked:?}");
    let place: usize = asked[0].trim_start_matches("/healthy").parse().unwrap();
    assert!(place >= 24, "of a source that is due: {place}");
    (0..40).for_each(|place| world.answer(&format!("/healthy{place}"), Answer::feed(&["two"])));
    pass(&mut world, Span::from_mins(6)).await;
    assert_eq!(events(&world, "network.back").await, 1);
    pass(&mut world, Span::from_mins(20)).await;
    for id in ids {
        assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    }
}

async fn pacing_never_shortens_a_gap(db: Database) {
    let mut world = World::new(db, &["source.poll_interval_minutes=60"]).await;
    for (place, policy) in Policy::NAMES.into_iter().enumerate() {
        for (status, judged) in [(429, "limits"), (403, "refuses")] {
            let host = format!("{judged}{place}.test");
            let (served, refused) =
                (format!("/{policy}/{status}/served"), format!("/{policy}/{status}/refused"));
            world.answer(&served, Answer::feed(&["one"]));
            world.answer(&refused, Answer::feed(&["one"]));
            add_under(&mut world, policy, &host, &served).await;
            let id = add_under(&mut world, policy, &host, &refused).await;
            world.poll_due().await;
            world.answer(&refused, Answer::Status(status));
            for failure in 1..=4 {
                // The learned distance may delay it by some minutes.
                world.clock().set(world.source(id).await.next_poll_at.unwrap());
                while world.failures(id).await < failure {
                    world.poll_due().await;
                    world.advance(MINUTE);
                }
                let source = world.source(id).await;
                let Some(next) = source.next_poll_at else { continue };
                let gap = next.since(source.health.last_polled_at.unwrap());
                assert!(gap >= Span::from_mins(60), "{policy} {status}: its interval, not {gap}");
                let own = match (policy, status) {
                    ("standard", 429) | ("backoff" | "cooldown", _) => {
                        Span::from_hours(1).doubled(failure).min(Span::from_hours(24))
                    }
                    _ => Span::from_hours(1),
                };
                assert!(gap >= own, "{policy} {status}: the policy's gap {own}, not {gap}");
            }
        }
    }
}

async fn slow_hosts_do_not_crowd_out_quick_ones(db: Database) {
    // 500 hosts that take 25 s each, at a hundredth of that; 64 places.
    let mut world = World::new(db, &["fetch.timeout_seconds=0.25", "fetch.concurrency=64"]).await;
    world.answer("/quick", Answer::feed(&["one"]));
    let quick = world.add("quick.test", "/quick").await;
    world.poll_due().await;
    world.server().on_all(|_| Reply::raw("").stall());
    for place in 0..500 {
        world.add(&format!("slow{place}.test"), &format!("/slow{place}")).await;
    }
    // Every slow host has been due for longer.
    world.advance(Span::from_mins(31));
    let store = world.store();
    let again = async || {
        let health = store.source(quick).await.unwrap().health;
        (health.last_success_at != Some(crate::support::start())).then_some(())
    };
    let polled = until(PATIENCE, again, async || "the quick host was not polled again".to_owned());
    world.run_until(polled).await;
    let asked = world.asked_paths();
    let place = asked.iter().rposition(|path| path == "/quick").unwrap();
    let before = asked[..place].iter().filter(|path| path.starts_with("/slow")).count();
    // A minute is two rounds of 25 s and a bit.
    assert!(before <= 2 * 64, "{before} slow requests were begun before the quick host was asked");
    let slow = asked.iter().filter(|path| path.starts_with("/slow")).count();
    assert!(slow >= 48, "and slow hosts are polled as well: {slow}");
}

async fn after_a_clock_jump_each_source_is_spread_over_its_own_interval(db: Database) {
    let mut world = World::new(db, &[]).await;
    let mut ids = Vec::new();
    for place in 0..40 {
        let path = format!("/{place}");
        world.answer(&path, Answer::feed(&["one"]));
        let minutes = if place % 2 == 0 { Some(1) } else { None };
        let every = |new: &mut gleaner::service::SourceSettings| {
            if let Some(minutes) = minutes {
                new.interval = gleaner_core::source::Interval::Minutes(minutes);
            }
        };
        ids.push((minutes, world.add_with(&format!("h{place}.test"), &path, every).await));
    }
    world.poll_due().await;
    // The loop runs when the clock jumps.
    let (clock, metrics, store) = (world.share_clock(), world.metrics(), world.store());
    let (begun, now) = (Instant::now(), world.now() + Span::from_days(3));
    let stop = async {
        let ticked = async || metrics.tick_age().filter(|age| *age <= begun.elapsed()).map(drop);
        until(PATIENCE, ticked, async || "the loop does not run".to_owned()).await;
        clock.set(now);
        let spread = async || {
            let all = store.sources(&Default::default(), None, 1000).await.unwrap();
            all.iter().all(|source| source.next_poll_at >= Some(now)).then_some(())
        };
        until(PATIENCE, spread, async || "some sources are overdue still".to_owned()).await;
    };
    world.run_until(stop).await;
    let mut later = 0;
    for (minutes, id) in ids {
        let next: Time = world.source(id).await.next_poll_at.unwrap();
        let within = minutes.map_or(Span::from_mins(30), |minutes| Span::from_mins(minutes.into()));
        assert!(next >= now && next.since(now) < within, "{minutes:?}: {}", next.since(now));
        later += u32::from(next.since(now) >= MINUTE);
    }
    assert!(later >= 10, "the others over their half hour");
}
