//! Times drawn anew: whatever the clock did, no source is lost and none comes before its turn.

use gleaner_core::judgement::Release;
use gleaner_core::network::Down;
use gleaner_core::redraw::{PollTimes, Redraw, Spread};
use gleaner_core::schedule::host_due;
use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};
use proptest::prelude::*;

const DAY: i64 = 86_400_000;

fn time() -> impl Strategy<Value = Time> {
    (-1000 * DAY..5000 * DAY).prop_map(Time::from_millis)
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![Just(Span::ZERO), (0..366 * DAY as u64).prop_map(Span::from_millis)]
}

fn interval() -> impl Strategy<Value = Interval> {
    prop_oneof![Just(Interval::Default), Just(Interval::Auto), (0..600_000_u32).prop_map(Interval::Minutes)]
}

fn excuse() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), Just(Some("i1".to_owned())), Just(Some(format!("{}1", Down::ID_PREFIX))),]
}

prop_compose! {
    fn times()(
        source_id in 1..i64::MAX, next_poll_at in proptest::option::of(time()), retry_at in proptest::option::of(time()),
        hold_until in proptest::option::of(time()), last_polled_at in proptest::option::of(time()),
        excused_by in excuse(), interval in interval(),
    ) -> PollTimes {
        PollTimes { source_id, next_poll_at, retry_at, hold_until, last_polled_at, excused_by, interval }
    }
}

prop_compose! {
    fn spread()(
        now in time(), interval in span(), within in span(), lease in 0..600_000_u64, overdue: bool, excused: bool,
    ) -> Spread {
        let lease = Span::from_millis(lease);
        Spread { now, interval, within, longest: Spread::LONGEST, lease, overdue, excused }
    }
}

proptest! {
    #[test]
    fn a_point_is_within_the_span(source_id: i64, seed: i64, from in time(), over in span()) {
        let at = Redraw { from, over, seed }.at(source_id);
        prop_assert!(at >= from && at < from + over.max(Span::from_millis(1)));
    }

    #[test]
    fn a_release_draws_what_is_overdue_and_delays_nobody_else(
        times in times(), now in time(), over in span(), excused: bool,
    ) {
        let release = Release { over, excused };
        let overdue = times.next_poll_at.is_some_and(|next| next <= now);
        let Some(new) = release.redraw(&times, now) else {
            prop_assert!(!overdue);
            return Ok(());
        };
        let next = new.next_poll_at.unwrap();
        prop_assert!(next >= now && next <= now + over.max(Span::from_millis(1)));
        prop_assert!(overdue || Some(next) < times.next_poll_at, "it comes no later than before");
        prop_assert_eq!(new.retry_at, times.retry_at.map(|_| next));
        prop_assert_eq!(PollTimes { next_poll_at: None, retry_at: None, ..new },
            PollTimes { next_poll_at: None, retry_at: None, ..times });
    }

    #[test]
    fn after_a_correction_nothing_waits_for_a_time_that_no_rule_could_have_set(
        times in times(), spread in spread(), last in proptest::option::of(time()),
    ) {
        let corrected = spread.correct(&times, last);
        let new = corrected.map_or_else(|| times.clone(), |corrected| corrected.times);
        prop_assert_eq!(new.next_poll_at.is_some(), times.next_poll_at.is_some(), "none is lost, and none is added");
        prop_assert!(new.last_polled_at <= Some(spread.now + spread.lease));
        if let Some(next) = new.next_poll_at {
            prop_assert!(next <= spread.now + spread.longest);
            prop_assert!(!spread.overdue || next >= spread.now);
        }
        // A second correction at the same time finds no clock that was ahead, and nothing too far away.
        let plain = Spread { overdue: false, excused: false, ..spread };
        prop_assert_eq!(plain.correct(&new, None), None);
    }

    #[test]
    fn whatever_is_corrected_is_among_what_is_read(
        times in times(), spread in spread(), last in proptest::option::of(time()),
    ) {
        if spread.correct(&times, last).is_some() {
            let rows = spread.suspicious(last);
            let due = |holds: &dyn Fn(Time) -> bool| times.next_poll_at.is_some_and(holds);
            prop_assert!(
                times.last_polled_at > Some(rows.polled_after)
                    || due(&|next| next > rows.due_after)
                    || due(&|next| rows.due_by.is_some_and(|by| next <= by))
                    || due(&|next| rows.spread_ahead_at.is_some_and(|at| next >= at))
                    || rows.excused_by.zip(times.excused_by.as_ref()).is_some_and(|(start, id)| id.starts_with(start))
            );
        }
    }

    #[test]
    fn a_host_is_due_with_its_earliest_work_but_not_before_a_hold_or_its_delay(
        work in proptest::option::of(time()), hold in proptest::option::of(time()), free in proptest::option::of(time()),
    ) {
        let due = host_due(work, hold, free);
        prop_assert_eq!(due.is_some(), work.is_some());
        prop_assert!(due.is_none() || due >= work && due >= hold && due >= free);
        prop_assert!(due == work || due == hold || due == free);
    }
}

#[test]
fn neighbours_are_spread_evenly() {
    let redraw = Redraw { from: Time::from_millis(0), over: Span::from_hours(1), seed: 7 };
    let mut quarters = [0; 4];
    for id in 1..=1000 {
        quarters[(redraw.at(id).as_millis() / 900_000) as usize] += 1;
    }
    assert!(quarters.iter().all(|count| (200..300).contains(count)), "{quarters:?}");
}
