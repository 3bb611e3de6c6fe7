//! Whose fault it is, as the engine acts on it: hosts that fail as a whole, our own network, limits, and `auto`.

use gleaner::store::{SourceEdit, Visibility};
use gleaner_core::health::Status;
use gleaner_core::judgement::Excuse;
use gleaner_core::source::Interval;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, Item, World};
use crate::support::http::Reply;
use crate::support::{Database, start};

on_both!(
    a_host_that_fails_as_a_whole_is_not_held_against_its_sources,
    one_dead_feed_does_not_hold_its_host_down,
    an_incident_outlives_a_restart_and_is_given_up_after_five_days,
    what_was_told_of_a_failing_source_is_corrected,
    pages_wait_with_their_host,
    an_evening_without_internet_marks_nothing,
    a_host_that_limits_is_paced_across_restarts,
    a_403_while_siblings_are_served_is_a_limit,
    a_domain_counts_as_one_host_where_that_is_set,
    switched_off_each_source_is_on_its_own,
    auto_asks_busy_sources_more_often,
);

const MINUTE: Span = Span::from_mins(1);

/// Sources `/0`, `/1`, … of a host, all polled well.
async fn family(world: &mut World, host: &str, size: usize) -> Vec<i64> {
    let mut ids = Vec::new();
    for place in 0..size {
        world.answer(&format!("/{place}"), Answer::feed(&["one"]));
        ids.push(world.add(host, &format!("/{place}")).await);
    }
    pass(world, Span::from_mins(31)).await;
    ids
}

/// Lets time pass, a minute at a time, and polls what is due.
async fn pass(world: &mut World, span: Span) {
    let end = world.now() + span;
    while world.now() < end {
        world.advance(MINUTE);
        world.poll_due().await;
    }
}

fn all_answer(world: &World, size: usize, answer: &Answer) {
    (0..size).for_each(|place| world.answer(&format!("/{place}"), answer.clone()));
}

async fn events(world: &World) -> Vec<String> {
    while world.store().number_events(1000).await.unwrap() > 0 {}
    let all = world.store().events(0, 1000).await.unwrap();
    all.into_iter().map(|event| event.event.kind).collect()
}

/// How many events reported a first failure that was not excused from the start.
async fn counted_failures(world: &World) -> usize {
    while world.store().number_events(1000).await.unwrap() > 0 {}
    let all = world.store().events(0, 1000).await.unwrap();
    let counts = |event: &&gleaner::store::Event| !event.event.payload.contains("does not count");
    all.iter().filter(|event| event.event.kind == "source.failing").filter(counts).count()
}

async fn count(world: &World, kind: &str) -> usize {
    events(world).await.iter().filter(|told| *told == kind).count()
}

async fn a_host_that_fails_as_a_whole_is_not_held_against_its_sources(db: Database) {
    let mut world = World::new(db, &[]).await;
    let ids = family(&mut world, "a.test", 6).await;
    let before = world.server().requests().len();
    all_answer(&world, 6, &Answer::Status(404));
    pass(&mut world, Span::from_hours(3)).await;
    for id in &ids {
        let source = world.source(*id).await;
        let row = source.health.failing.expect("its latest poll failed, whoever is to blame");
        assert_eq!((row.counted, row.excused_by.is_some()), (None, true), "{id}: {row:?}");
        let polls = world.polls(*id).await;
        let mut failed = polls.iter().map(|poll| &poll.record).filter(|poll| poll.error.is_some());
        assert!(
            failed.all(|poll| (poll.excused, &poll.excused_by) == (Some(Excuse::Incident), &row.excused_by))
        );
    }
    let asked = world.server().requests().len() - before;
    assert!(asked < 14, "{asked} requests in three hours: a few that were evidence, and probes");
    let host = world.store().hosts(&Visibility::default(), None, None, 10).await.unwrap().remove(0);
    let open = host.memory.incidents.open.expect("an incident is open");
    assert!(open.sources >= 3 && host.hold_until == Some(open.probe_at), "{host:?}");
    let id = open.id("a.test");
    assert_eq!(world.source(ids[0]).await.health.failing.unwrap().excused_by.as_ref(), Some(&id));
    let told = world.service().explain(ids[0]).await.unwrap();
    assert!(told.around[0].starts_with("Its host a.test fails as a whole since"), "{told:?}");
    assert!(told.next.contains("its host fails as a whole"), "{told:?}");
    assert!(told.summary.contains("Failing: 404") && told.summary.contains(&id), "{told:?}");
    assert!(told.evidence[0].contains(&id), "{told:?}");

    all_answer(&world, 6, &Answer::feed(&["one", "two"]));
    pass(&mut world, Span::from_mins(75)).await;
    for id in &ids {
        assert_eq!(world.bodies(*id).await, ["two", "one"], "each was asked soon after the first success");
    }
    assert_eq!((count(&world, "host.down").await, count(&world, "host.back").await), (1, 1));
    assert_eq!(count(&world, "source.quarantined").await, 0);
    let host = world.store().hosts(&Visibility::default(), None, None, 10).await.unwrap().remove(0);
    assert_eq!((host.memory.incidents.open, host.memory.incidents.evidence.len()), (None, 0));
}

async fn one_dead_feed_does_not_hold_its_host_down(db: Database) {
    let mut world = World::new(db, &[]).await;
    let ids = family(&mut world, "a.test", 4).await;
    all_answer(&world, 4, &Answer::Status(503));
    pass(&mut world, Span::from_hours(1)).await;
    assert_eq!(count(&world, "host.down").await, 1);
    all_answer(&world, 4, &Answer::feed(&["one", "two"]));
    world.answer("/0", Answer::Status(503));
    pass(&mut world, Span::from_hours(4)).await;
    for id in &ids[1..] {
        assert_eq!(world.bodies(*id).await, ["two", "one"]);
    }
    assert_eq!(world.source(ids[0]).await.health.status(), Status::Failing, "now it is its own");
}

async fn an_incident_outlives_a_restart_and_is_given_up_after_five_days(db: Database) {
    let mut world = World::new(db, &[]).await;
    let ids = family(&mut world, "a.test", 4).await;
    all_answer(&world, 4, &Answer::Status(500));
    pass(&mut world, Span::from_hours(1)).await;
    let before = world.server().requests().len();
    world.restart().await;
    pass(&mut world, Span::from_hours(1)).await;
    assert!(world.server().requests().len() - before <= 3, "probed as before, not asked anew");
    for _ in 0..130 {
        world.advance(Span::from_hours(1));
        world.poll_due().await;
    }
    assert_eq!(count(&world, "host.given_up").await, 1);
    for id in &ids {
        let health = world.source(*id).await.health;
        let row = health.failing.expect("each is on its own now");
        assert!(world.now().since(row.since) > Span::from_days(5), "since it began: {row:?}");
        let run = row.counted.expect("what was excused counts now");
        assert_eq!((run.count, run.since, row.excused_by), (row.count, row.since, None));
    }
}

async fn what_was_told_of_a_failing_source_is_corrected(db: Database) {
    let mut world = World::new(db, &[]).await;
    family(&mut world, "a.test", 5).await;
    all_answer(&world, 5, &Answer::Status(500));
    pass(&mut world, Span::from_hours(2)).await;
    let (told, corrected) = (counted_failures(&world).await, count(&world, "source.excused").await);
    assert!(told >= 2, "those before it was clear");
    assert_eq!(told, corrected);
}

async fn pages_wait_with_their_host(db: Database) {
    let mut world = World::new(db, &[]).await;
    let mut ids = Vec::new();
    for place in 0..4 {
        world.answer(&format!("/{place}"), Answer::feed(&["one"]));
        let full = |new: &mut gleaner::service::SourceSettings| new.full_content = true;
        ids.push(world.add_with("a.test", &format!("/{place}"), full).await);
    }
    pass(&mut world, Span::from_mins(31)).await;
    let mut item = Item::new("a page");
    item.link = world.server().url_of("a.test", "/page").to_string();
    item.published = world.now();
    // The feed still comes, then all of the host is down, the page with it.
    world.answer("/0", Answer::items(&[item]));
    world.answer("/page", Answer::Status(503));
    pass(&mut world, Span::from_mins(1)).await;
    let source = world.source(ids[0]).await;
    world.clock().set(source.next_poll_at.unwrap());
    world.poll_due().await;
    all_answer(&world, 4, &Answer::Status(503));
    pass(&mut world, Span::from_hours(2)).await;
    assert_eq!(count(&world, "host.down").await, 1);
    let tries = world.requests("/page");
    assert!(tries <= 3, "{tries}");
    world.answer(
        "/page",
        Answer::body("<html><body><article><p>All of it, at last.</p></article></body></html>"),
    );
    all_answer(&world, 4, &Answer::feed(&["one"]));
    pass(&mut world, Span::from_hours(8)).await;
    let bodies = world.bodies(ids[0]).await;
    assert!(bodies.iter().any(|body| body.contains("at last") || body.contains("a page")), "{bodies:?}");
}

async fn an_evening_without_internet_marks_nothing(db: Database) {
    let mut world = World::new(db, &[]).await;
    let mut ids = Vec::new();
    for host in 0..8 {
        for place in 0..4 {
            world.answer(&format!("/{place}"), Answer::feed(&["one"]));
            ids.push(world.add(&format!("h{host}.test"), &format!("/{place}")).await);
        }
    }
    pass(&mut world, Span::from_mins(31)).await;
    let before = world.server().requests().len();
    all_answer(&world, 4, &Answer::Reset);
    pass(&mut world, Span::from_hours(5)).await;
    let asked = world.server().requests().len() - before;
    // A reset is tried a second time at once.
    assert!(asked < 220, "32 as evidence or under way and a probe every 5 minutes, not {asked}");
    for source in world.all_sources().await {
        let counted = source.health.failing.as_ref().and_then(|row| row.counted);
        assert_eq!((source.health.quarantine, counted), (None, None), "{:?}", source.health.failing);
    }
    assert_eq!(count(&world, "network.down").await, 1);
    let polls: usize = {
        let mut polls = 0;
        for id in &ids {
            let failed = world.polls(*id).await.into_iter().filter(|poll| poll.record.error.is_some());
            polls += failed.inspect(|poll| assert!(poll.record.excused.is_some(), "{poll:?}")).count();
        }
        polls
    };
    assert!(polls < 110, "32 as evidence or under way and a probe every 5 minutes, not {polls}");
    assert_eq!(counted_failures(&world).await, count(&world, "source.excused").await);
    all_answer(&world, 4, &Answer::feed(&["one", "two"]));
    pass(&mut world, Span::from_mins(25)).await;
    for id in &ids {
        assert_eq!(world.bodies(*id).await, ["two", "one"], "all are asked again within minutes");
    }
    assert_eq!(count(&world, "network.back").await, 1);
    assert_eq!(count(&world, "source.quarantined").await, 0);
}

/// A host that refuses whoever asks twice within this.
fn limits(world: &World, within: Span, refusal: u16) {
    let clock = world.share_clock();
    let mut latest = None;
    world.server().on_all(move |_| {
        use gleaner::clock::Clock as _;
        let now = clock.now();
        let refused = latest.is_some_and(|at| now.since(at) < within);
        latest = Some(now);
        if refused { Reply::status(refusal) } else { Reply::ok(super::world::rss("")) }
    });
}

async fn refusals(world: &World, ids: &[i64]) -> usize {
    let mut refused = 0;
    for id in ids {
        let polls = world.polls(*id).await;
        refused += polls.iter().filter(|poll| matches!(poll.record.status_code, Some(403 | 429))).count();
    }
    refused
}

async fn a_host_that_limits_is_paced_across_restarts(db: Database) {
    let mut world = World::new(db, &[]).await;
    limits(&world, Span::from_secs(100), 429);
    let mut ids = Vec::new();
    for place in 0..8 {
        ids.push(world.add("a.test", &format!("/{place}")).await);
    }
    pass(&mut world, Span::from_hours(6)).await;
    let learned = refusals(&world, &ids).await;
    assert!((2..20).contains(&learned), "{learned} refusals until it was learned");
    world.restart().await;
    pass(&mut world, Span::from_hours(6)).await;
    let later = refusals(&world, &ids).await - learned;
    assert!(later <= 6, "{later} refusals in the six hours after that");
    let host = world.store().hosts(&Visibility::default(), None, None, 10).await.unwrap().remove(0);
    assert!(host.memory.pace.gap >= Span::from_secs(15), "{:?}", host.memory.pace);
    assert_eq!(count(&world, "host.paced").await, 1);
    let told = world.service().explain(ids[0]).await.unwrap();
    assert!(told.around.iter().any(|line| line.contains("asked at most every")), "{told:?}");
    for id in &ids {
        let success = world.source(*id).await.health.last_success_at.expect("each is served");
        assert!(world.now().since(success) < Span::from_hours(2));
    }
}

async fn a_403_while_siblings_are_served_is_a_limit(db: Database) {
    let mut world = World::new(db, &[]).await;
    limits(&world, Span::from_secs(100), 403);
    let mut ids = Vec::new();
    for place in 0..6 {
        ids.push(world.add("a.test", &format!("/{place}")).await);
    }
    pass(&mut world, Span::from_hours(6)).await;
    assert_eq!(count(&world, "host.paced").await, 1);
    let refused = refusals(&world, &ids).await;
    assert!(refused < 20, "{refused} refusals");
    assert_eq!(count(&world, "source.quarantined").await, 0);
}

async fn a_domain_counts_as_one_host_where_that_is_set(db: Database) {
    let setting = "source.host_overrides.\"many.example\".scope=\"domain\"";
    let mut world = World::new(db, &[setting]).await;
    for name in ["a.many.example", "b.many.example", "c.other.example", "d.other.example"] {
        world.add(name, "/0").await;
    }
    let names = |sources: Vec<gleaner::store::Source>| {
        sources.into_iter().map(|source| source.host).collect::<Vec<_>>()
    };
    let hosts = names(world.all_sources().await);
    assert_eq!(hosts, ["many.example", "many.example", "c.other.example", "d.other.example"]);
    // The settings change, and sources go where they belong.
    world.engine_reschedule().await;
    let changed = world
        .restart_with(&[
            "judgement.scope=\"domain\"",
            "source.host_overrides.\"a.many.example\".scope=\"host\"",
        ])
        .await;
    assert_eq!(changed, 3);
    let hosts = names(world.all_sources().await);
    assert_eq!(hosts, ["a.many.example", "many.example", "other.example", "other.example"]);
}

async fn switched_off_each_source_is_on_its_own(db: Database) {
    let off = ["judgement.host_incidents=false", "judgement.own_network=false", "judgement.pacing=false"];
    let mut world = World::new(db, &off).await;
    let ids = family(&mut world, "a.test", 5).await;
    all_answer(&world, 5, &Answer::Status(404));
    pass(&mut world, Span::from_hours(6)).await;
    for id in &ids {
        let health = world.source(*id).await.health;
        assert!(health.failing.is_some_and(|row| row.count >= 3));
        assert!(world.polls(*id).await.iter().all(|poll| poll.record.excused.is_none()));
    }
    assert_eq!(count(&world, "host.down").await, 0);
    let host = world.store().hosts(&Visibility::default(), None, None, 10).await.unwrap().remove(0);
    assert_eq!(host.memory.incidents, gleaner_core::incident::Incidents::default());
}

async fn auto_asks_busy_sources_more_often(db: Database) {
    let mut world = World::new(db, &[]).await;
    let busy: Vec<Item> = (0..20)
        .map(|n| {
            let mut item = Item::new(&format!("busy {n}"));
            item.published = start() - Span::from_hours(2 * n);
            item
        })
        .collect();
    let mut quiet = Item::new("quiet");
    quiet.published = start() - Span::from_days(20);
    world.answer("/busy", Answer::items(&busy));
    world.answer("/quiet", Answer::items(&[quiet]));
    let mut ids = Vec::new();
    for path in ["/busy", "/quiet"] {
        ids.push(world.add(&format!("{}.test", &path[1..]), path).await);
    }
    pass(&mut world, Span::from_mins(31)).await;
    for id in &ids {
        // Switched on later: validators are left out once, so that there is a document to learn from.
        let source = world.source(*id).await;
        let mut edit = SourceEdit::of(&source);
        edit.settings.interval = Interval::Auto;
        world.store().edit_source(&edit, world.now()).await.unwrap();
        world.poll_next(*id).await;
        let source = world.source(*id).await;
        assert!(source.memory.habit.is_some());
    }
    assert_eq!(
        world.store().adaptive_classes().await.unwrap().iter().map(|(_, count)| count).sum::<u64>(),
        2
    );
    let before = (world.requests("/busy"), world.requests("/quiet"));
    pass(&mut world, Span::from_hours(24)).await;
    let (busy, quiet) = (world.requests("/busy") - before.0, world.requests("/quiet") - before.1);
    assert!(busy >= 2 * quiet, "{busy} and {quiet}");
    assert!(
        (60..130).contains(&(busy + quiet)),
        "the budget of two sources every 30 minutes: {busy} and {quiet}"
    );
    let told = world.service().explain(ids[0]).await.unwrap();
    assert!(told.around.iter().any(|line| line.contains("it publishes")), "{told:?}");
    // And off again: nothing of it is left.
    let source = world.source(ids[1]).await;
    let mut edit = SourceEdit::of(&source);
    edit.settings.interval = Interval::Default;
    world.store().edit_source(&edit, world.now()).await.unwrap();
    world.poll_next(ids[1]).await;
    assert_eq!(world.source(ids[1]).await.memory.habit, None);
}
