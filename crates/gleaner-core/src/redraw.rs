//! Next polls of many sources drawn anew at once: when a host is back, when the local network is, and when the clock has
//! jumped.
//!
//! Pure: the store reads the times of sources in batches, asks here for the new ones, and writes those.

use crate::judgement::Release;
use crate::network::Down;
use crate::source::Interval;
use crate::time::{Span, Time};

/// A large prime, which strews neighbouring ids over the whole span.
const STREW: i64 = 15_485_863;

/// Sources spread over a span of time, each at a point of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redraw {
    /// The beginning of the span.
    pub from: Time,
    /// Its length.
    pub over: Span,
    /// Another seed gives another order.
    pub seed: i64,
}

impl Redraw {
    /// The point of one source: at or after the beginning of the span, and before its end.
    pub fn at(&self, source_id: i64) -> Time {
        let over = i64::try_from(self.over.as_millis()).unwrap_or(i64::MAX).max(1);
        let point = source_id.wrapping_mul(STREW).wrapping_add(self.seed).rem_euclid(over);
        self.from + Span::from_millis(point.unsigned_abs())
    }
}

/// What is stored of when a source was and will be polled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollTimes {
    /// Identifies the source.
    pub source_id: i64,
    /// None: disabled, or quarantined until a person acts.
    pub next_poll_at: Option<Time>,
    /// The end of its quarantine.
    pub retry_at: Option<Time>,
    /// Its server asked not to be polled before.
    pub hold_until: Option<Time>,
    /// The latest poll.
    pub last_polled_at: Option<Time>,
    /// The host incident or network outage that excuses its latest failure.
    pub excused_by: Option<String>,
    /// How often it is polled.
    pub interval: Interval,
}

impl PollTimes {
    fn is_held(&self, now: Time) -> bool {
        self.hold_until.is_some_and(|until| until > now)
    }
}

impl Release {
    /// The new times of one of the host's sources; none: they stay.
    ///
    /// Overdue sources are spread, and where the release says so those that were excused and are due later than its end. No
    /// other source is polled earlier by it.
    pub fn redraw(&self, times: &PollTimes, now: Time) -> Option<PollTimes> {
        let next = times.next_poll_at?;
        let waits = self.excused && times.excused_by.is_some() && next > now + self.over;
        if next > now && (!waits || times.is_held(now)) {
            return None;
        }
        let drawn = Redraw { from: now, over: self.over, seed: now.as_millis() }.at(times.source_id);
        let retry_at = times.retry_at.map(|_| drawn);
        Some(PollTimes { next_poll_at: Some(drawn), retry_at, ..times.clone() })
    }
}

/// How stored times are corrected after a jump of the clock or an outage of the local network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The time now.
    pub now: Time,
    /// The interval of sources that have none of their own.
    pub interval: Span,
    /// Each source is spread over its interval, but not over more than this.
    pub within: Span,
    /// No rule puts a poll further ahead than this.
    pub longest: Span,
    /// No lease lasts longer than this.
    pub lease: Span,
    /// Whether overdue sources are spread, too.
    pub overdue: bool,
    /// Whether sources that a network outage excused are polled again soon.
    pub excused: bool,
}

/// The corrected times of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrected {
    /// The new times.
    pub times: PollTimes,
    /// It was polled by a clock that was ahead, so that what its host was told by that clock is void, too.
    pub was_ahead: bool,
    /// Its next poll was drawn anew.
    pub drawn: bool,
}

/// Which stored times [`Spread::correct`] may change; all others it leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspicious {
    /// Polled after this.
    pub polled_after: Time,
    /// Due after this.
    pub due_after: Time,
    /// Due at this time or before; none: what is overdue stays.
    pub due_by: Option<Time>,
    /// Due at this time or after, where an earlier spread was made by a clock that was ahead.
    pub spread_ahead_at: Option<Time>,
    /// Excused by an outage whose id begins with this.
    pub excused_by: Option<&'static str>,
}

impl Spread {
    /// A source's own interval may be the longest of all: a year is more than anybody sets.
    pub const LONGEST: Span = Span::from_days(366);

    /// Corrects the times of one source; none: they stay. `last_spread` is when overdue sources were spread last.
    ///
    /// A source that was polled in the future was timed by a clock that was ahead, by more than clocks of several machines
    /// differ: it waits for its own gap from now on. So does one that was spread by such a clock and not polled since. Then a time
    /// that no rule could have set, and what is overdue or excused, is drawn within the source's own interval.
    pub fn correct(&self, times: &PollTimes, last_spread: Option<Time>) -> Option<Corrected> {
        let (mut new, now) = (times.clone(), self.now);
        let ahead = times.last_polled_at.filter(|polled| *polled > now + self.lease);
        if let Some(polled) = ahead {
            let shift = polled.since(now);
            new.next_poll_at = times.next_poll_at.map(|next| next - shift);
            new.retry_at = times.retry_at.map(|retry| retry - shift);
            new.last_polled_at = Some(now);
        }
        let own = self.own_span(times);
        if let (Some(last), Some(next)) = (last_spread.filter(|last| *last > now), new.next_poll_at)
            && next >= last
            && next <= last + own
        {
            new.next_poll_at = Some(next - last.since(now));
        }
        let drawn = new.next_poll_at.is_some_and(|next| self.is_drawn(&new, next));
        if drawn {
            new.next_poll_at = Some(Redraw { from: now, over: own, seed: 0 }.at(times.source_id));
        }
        (new != *times).then_some(Corrected { times: new, was_ahead: ahead.is_some(), drawn })
    }

    /// Which rows have to be read at all.
    pub fn suspicious(&self, last_spread: Option<Time>) -> Suspicious {
        Suspicious {
            polled_after: self.now + self.lease,
            due_after: self.now + self.longest,
            due_by: self.overdue.then_some(self.now),
            spread_ahead_at: last_spread.filter(|last| *last > self.now),
            excused_by: self.excused.then_some(Down::ID_PREFIX),
        }
    }

    fn is_drawn(&self, times: &PollTimes, next: Time) -> bool {
        let by_outage = times.excused_by.as_ref().is_some_and(|id| id.starts_with(Down::ID_PREFIX));
        next > self.now + self.longest
            || self.overdue && next <= self.now
            || self.excused && by_outage && next > self.now && !times.is_held(self.now)
    }

    /// The span that a source is spread over: its own interval, within bounds.
    fn own_span(&self, times: &PollTimes) -> Span {
        match times.interval {
            Interval::Minutes(minutes) if minutes > 0 => Span::from_mins(minutes.into()).min(self.within),
            _ => self.interval.min(self.within),
        }
    }
}
