//! When other feed readers poll next: their formulas, reimplemented.
//!
//! Batches run on a grid (`tick`), with each source at a fixed offset of up to five minutes. Other features of the
//! readers (push, budgets per domain, batch sizes) are left out.

use fastrand::Rng;
use gleaner_core::outcome::ErrorKind;

use crate::simulate::responses::Answer;
use crate::simulate::world::{DAY, HOUR, MINUTE, NEVER, Source, WINDOW};

/// A reader's state of a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    /// Consecutive failures.
    failures: u32,
    /// Disabled, or practically so.
    pub(crate) quarantined: bool,
    /// Its offset within a batch.
    offset: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Miniflux: disabled after three errors; follows the server's hints except on 304.
    Miniflux,
    /// FreshRSS: never backs off; disabled by a 410; a 429 holds the host.
    FreshRss,
    /// CommaFeed: by the average gap between entries; one more hour per failure, at most four.
    CommaFeed,
    /// lion-reader: follows the server's hints; 30 minutes, doubled per failure; a week after ten.
    LionReader,
    /// feedbin: the fourth power of the failures in seconds; no hints.
    Feedbin,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    pub(crate) name: &'static str,
    rule: Rule,
    interval: i64,
    tick: i64,
}

pub(crate) const READERS: [Reader; 10] = [
    reader("miniflux 60", Rule::Miniflux, 60, 60),
    reader("miniflux 30", Rule::Miniflux, 30, 5),
    reader("FreshRSS 60", Rule::FreshRss, 60, 60),
    reader("FreshRSS 30", Rule::FreshRss, 30, 30),
    reader("CommaFeed 5", Rule::CommaFeed, 5, 0),
    reader("CommaFeed 30", Rule::CommaFeed, 30, 0),
    reader("lion-reader 60", Rule::LionReader, 60, 0),
    reader("lion-reader 30", Rule::LionReader, 30, 0),
    reader("feedbin 60", Rule::Feedbin, 60, 0),
    reader("feedbin 30", Rule::Feedbin, 30, 0),
];

/// CommaFeed's maximum interval.
const COMMAFEED_LONGEST: i64 = 4 * HOUR;

const fn reader(name: &'static str, rule: Rule, interval: i64, tick: i64) -> Reader {
    Reader { name, rule, interval: interval * MINUTE, tick: tick * MINUTE }
}

impl Reader {
    /// How long a redirect must last before the URL changes; `None` if it never does.
    pub(crate) const fn moves_after(&self) -> Option<i64> {
        match self.rule {
            Rule::Miniflux => None,
            Rule::FreshRss | Rule::CommaFeed => Some(0),
            Rule::LionReader => Some(7 * DAY),
            Rule::Feedbin => Some(6 * DAY),
        }
    }

    pub(crate) fn first(&self, state: &mut State, rng: &mut Rng) -> i64 {
        state.offset = rng.i64(0..5 * MINUTE);
        if self.tick > 0 { state.offset } else { rng.i64(0..self.interval) }
    }

    pub(crate) fn batch(&self, state: &State, at: i64) -> i64 {
        match (self.rule, self.tick) {
            (_, 0) => at,
            // A source that is due exactly at a tick is polled at the next one.
            (Rule::Miniflux, tick) if at % tick != 0 => (at / tick + 1) * tick + state.offset,
            (Rule::Miniflux, _) => at + state.offset,
            (_, tick) => (at - state.offset + tick - 1).div_euclid(tick) * tick + state.offset,
        }
    }

    /// When a source is polled after this answer; [`NEVER`] if it is disabled. `host_until` is when the host may be
    /// polled again, for readers that track that.
    pub(crate) fn next(
        &self,
        source: &Source,
        state: &mut State,
        answer: Answer,
        now: i64,
        host_until: &mut i64,
        rng: &mut Rng,
    ) -> i64 {
        match answer {
            Answer::Served { not_modified, .. } => {
                (state.failures, state.quarantined) = (0, false);
                self.after_success(source, state, not_modified, now, rng)
            }
            Answer::Failed(kind, retry_after) => {
                state.failures += 1;
                if kind == ErrorKind::RateLimited && self.rule == Rule::FreshRss {
                    let hold = if retry_after > 0 { retry_after } else { 25 * MINUTE };
                    *host_until = now + hold.min(2 * DAY);
                }
                self.after_failure(state, kind, retry_after, now)
            }
        }
    }

    fn after_success(&self, source: &Source, state: &State, unchanged: bool, now: i64, rng: &mut Rng) -> i64 {
        let forgotten = |hint: i64| if unchanged { 0 } else { hint };
        match self.rule {
            Rule::Miniflux => self.batch(state, now + self.interval.max(forgotten(source.hint().min(DAY)))),
            Rule::FreshRss => self.batch(state, now + self.interval.max(source.max_age)),
            Rule::CommaFeed => {
                let wait = self.by_average_gap(source, now).max(forgotten(source.max_age));
                now + wait.min(COMMAFEED_LONGEST)
            }
            Rule::LionReader => {
                let wait = match source.max_age {
                    0 => self.interval.max(forgotten(source.ttl)),
                    max_age => max_age.max(10 * MINUTE),
                };
                now + wait.min(7 * DAY) + rng.i64(0..=(wait / 10).min(30 * MINUTE))
            }
            Rule::Feedbin => now + self.interval,
        }
    }

    fn after_failure(&self, state: &mut State, kind: ErrorKind, retry_after: i64, now: i64) -> i64 {
        let count = state.failures;
        match self.rule {
            Rule::Miniflux if count >= 3 => {
                state.quarantined = true;
                NEVER
            }
            Rule::Miniflux => {
                let wait = if kind == ErrorKind::RateLimited { retry_after } else { 0 };
                self.batch(state, now + self.interval.max(wait).min(DAY))
            }
            Rule::FreshRss if kind == ErrorKind::Gone => {
                state.quarantined = true;
                NEVER
            }
            Rule::FreshRss => self.batch(state, now + self.tick),
            Rule::CommaFeed => {
                state.quarantined = count >= 6;
                let wait = if count <= 2 { self.interval } else { HOUR * i64::from(count - 2) };
                now + wait.min(COMMAFEED_LONGEST.max(self.interval)).max(retry_after.min(COMMAFEED_LONGEST))
            }
            Rule::LionReader => {
                state.quarantined = count >= 10;
                let wait = if state.quarantined { 7 * DAY } else { 30 * MINUTE << (count - 1) };
                let wait = if kind == ErrorKind::RateLimited { wait.min(6 * HOUR) } else { wait };
                now + wait.max(retry_after)
            }
            Rule::Feedbin => {
                state.quarantined = count >= 23;
                let seconds = i64::from(count.clamp(8, 23)).pow(4);
                now + self.interval.max(retry_after.min(8 * HOUR)).max(seconds * 1000)
            }
        }
    }

    /// CommaFeed: half the average gap between the feed's entries, or longer if it has been silent for weeks.
    fn by_average_gap(&self, source: &Source, now: i64) -> i64 {
        let count = source.posts.partition_point(|at| *at <= now);
        let shown = &source.posts[count.saturating_sub(WINDOW)..count];
        let idle = shown.last().map_or(NEVER, |latest| now - latest);
        match idle / DAY {
            30.. => COMMAFEED_LONGEST,
            14.. => COMMAFEED_LONGEST / 2,
            7.. => COMMAFEED_LONGEST / 4,
            _ => {
                let gap = match shown {
                    [first, .., last] => (last - first) / (shown.len() as i64 - 1),
                    _ => NEVER,
                };
                (gap / 2).max(self.interval).min(self.interval.max(HOUR))
            }
        }
    }
}
