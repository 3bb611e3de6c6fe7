//! When a healthy source is polled next: its interval, and what its server asks for.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use gleaner_core::health::Health;
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::schedule::{Hint, Hints, Situation, Why, first_poll, next_poll, poll_delay};
use gleaner_core::time::{Jitter, Span, Time};

/// A Sunday.
fn start() -> Time {
    Time::parse("2026-11-15T08:10:00Z").unwrap()
}

fn check(interval: Span, hints: Hints, expected: Span, why: Why) {
    let policy = Policy::builtin("standard", Knobs::default()).unwrap();
    let health =
        Health { last_polled_at: Some(start()), last_success_at: Some(start()), ..Health::default() };
    let at = Situation { health: &health, hints: &hints, interval, policy: &policy };
    let next = next_poll(&at, start(), Jitter::new(0.5)).unwrap();
    assert_eq!((next.at.since(start()), next.why), (expected, why), "{hints:?}");
}

const MINUTES_30: Span = Span::from_mins(30);

#[test]
fn the_interval_has_a_floor_of_a_minute() {
    check(MINUTES_30, Hints::NONE, MINUTES_30, Why::Interval);
    check(Span::ZERO, Hints::NONE, Span::from_mins(1), Why::Interval);
}

#[test]
fn a_servers_word_is_a_floor() {
    let hours = |n| Some(Span::from_hours(n));
    let with = |hints: Hints, hours, hint| check(MINUTES_30, hints, Span::from_hours(hours), Why::Hint(hint));
    with(Hints { max_age: hours(2), ..Hints::NONE }, 2, Hint::MaxAge);
    with(Hints { expires: hours(3), ..Hints::NONE }, 3, Hint::Expires);
    with(Hints { max_age: hours(2), expires: hours(3), ..Hints::NONE }, 2, Hint::MaxAge);
    with(Hints { max_age: hours(2), ttl: hours(4), ..Hints::NONE }, 4, Hint::Ttl);
    with(Hints { update_period: hours(5), ..Hints::NONE }, 5, Hint::UpdatePeriod);
    with(Hints { max_age: hours(1000), ..Hints::NONE }, 24, Hint::MaxAge);
    check(MINUTES_30, Hints { max_age: Some(Span::from_mins(5)), ..Hints::NONE }, MINUTES_30, Why::Interval);
    let week = Span::from_days(7);
    check(week, Hints { max_age: hours(2), ..Hints::NONE }, week, Why::Interval);
}

#[test]
fn a_busy_feed_is_never_left_alone_for_more_than_half_its_window() {
    let busy = Hints {
        max_age: Some(Span::from_hours(12)),
        oldest_entry: Some(start() - Span::from_hours(6)),
        ..Hints::NONE
    };
    check(MINUTES_30, busy, Span::from_hours(3), Why::Hint(Hint::MaxAge));
    let busier = Hints { oldest_entry: Some(start() - Span::from_mins(20)), ..busy };
    check(MINUTES_30, busier, MINUTES_30, Why::Interval);
    let from_the_future = Hints { oldest_entry: Some(start() + Span::from_hours(6)), ..busy };
    check(MINUTES_30, from_the_future, MINUTES_30, Why::Interval);
}

#[test]
fn skipped_hours_and_days_are_skipped_for_a_day_at_most() {
    let skip = |hours: &[u32], days: &[u32]| Hints {
        skip_hours: hours.iter().map(|hour| 1 << hour).sum(),
        skip_days: days.iter().map(|day| 1 << day).sum(),
        ..Hints::NONE
    };
    // 08:40 is asked for; 08 to 10 are skipped, so that it is 11:00.
    check(MINUTES_30, skip(&[8, 9, 10], &[]), Span::from_mins(170), Why::Hint(Hint::Skip));
    check(MINUTES_30, skip(&[9, 10], &[]), MINUTES_30, Why::Interval);
    // Sunday is skipped: Monday begins 15:50 h later.
    check(MINUTES_30, skip(&[], &[6]), Span::from_mins(15 * 60 + 50), Why::Hint(Hint::Skip));
    check(MINUTES_30, skip(&[], &[6, 0]), Span::from_hours(24), Why::Hint(Hint::Skip));
    let always = Hints { skip_hours: u32::MAX, ..Hints::NONE };
    check(MINUTES_30, always, Span::from_hours(24), Why::Hint(Hint::Skip));
}

#[test]
fn first_polls_spread_over_the_first_interval() {
    let at = |chance| first_poll(start(), MINUTES_30, Jitter::new(chance)).at.since(start());
    assert_eq!((at(0.0), at(0.5)), (Span::ZERO, Span::from_mins(15)));
    assert!(at(1.0) < MINUTES_30);
}

#[test]
fn the_delay_is_the_sources_else_the_hosts_else_the_kinds() {
    let (one, two, three) = (Span::from_secs(1), Span::from_secs(2), Span::from_secs(3));
    assert_eq!(poll_delay(Some(one), Some(two), Some(three)), one);
    assert_eq!(poll_delay(None, Some(two), Some(three)), two);
    assert_eq!(poll_delay(None, None, Some(three)), three);
    assert_eq!(poll_delay(None, None, None), Span::ZERO);
    assert_eq!(poll_delay(Some(Span::ZERO), Some(two), None), Span::ZERO, "none of its own is said by 0");
}
