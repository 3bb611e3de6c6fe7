//! When a document is fetched whole although its server may say that nothing changed.
//!
//! A server whose validators stay the same while its document changes answers 304 for ever, and no later entry would
//! ever arrive. Once in a while a request is therefore sent without them.

use crate::time::{Span, Time};

const EVERY: Span = Span::from_days(7);
/// For a source that is suspected of being frozen.
const EVERY_IF_FROZEN: Span = Span::from_days(1);

/// Whether a source is polled without its validators now: in the first poll of each of its periods, which begin at
/// different times for different sources.
pub fn is_due(source_id: i64, last_success_at: Option<Time>, is_frozen: bool, now: Time) -> bool {
    let every = if is_frozen { EVERY_IF_FROZEN } else { EVERY }.as_millis();
    let offset = (source_id.unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16) % every;
    let period = |at: Time| (i128::from(at.as_millis()) + i128::from(offset)).div_euclid(i128::from(every));
    last_success_at.is_some_and(|last| period(last) != period(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In how many polls of four weeks, one every half hour, the source's validators are left out.
    fn rechecks(source_id: i64, is_frozen: bool) -> Vec<u64> {
        let start = Time::from_millis(1_800_000_000_000);
        let at = |n: u64| start + Span::from_mins(30 * n);
        let due = |n: &u64| is_due(source_id, Some(at(n - 1)), is_frozen, at(*n));
        (1..=28 * 48).filter(due).collect()
    }

    #[test]
    fn once_a_week_or_once_a_day_where_it_is_frozen() {
        for source_id in 1..100 {
            assert_eq!((rechecks(source_id, false).len(), rechecks(source_id, true).len()), (4, 28));
        }
    }

    #[test]
    fn not_for_all_sources_at_once() {
        let first: std::collections::BTreeSet<u64> = (1..=100).map(|id| rechecks(id, false)[0]).collect();
        assert!(first.len() > 50, "{first:?}");
    }

    #[test]
    fn a_source_polled_rarely_is_always_fetched_whole() {
        let now = Time::from_millis(1_800_000_000_000);
        assert!(is_due(1, Some(now - Span::from_days(7)), false, now));
        assert!(!is_due(1, None, false, now), "nothing is known of it");
        assert!(!is_due(1, Some(now), true, now));
    }
}
