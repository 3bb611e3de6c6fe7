//! When other readers poll next, as their code has it; written anew here, the formulas alone.
//!
//! Batches run on a grid (`tick`), each source at a fixed place within five minutes of it. What readers do
//! beside it (push, budgets a domain, batch sizes) is left out.

use fastrand::Rng;
use gleaner_core::outcome::ErrorKind;

use crate::simulate::truth::Answer;
use crate::simulate::world::{DAY, HOUR, MINUTE, NEVER, Source, WINDOW};

/// What a reader keeps of a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    /// Failures in a row.
    failures: u32,
    /// Given up, or as good as.
    pub(crate) aside: bool,
    /// Its place within a batch.
    offset: i64,
}

/// A reader's rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Miniflux: three errors and out; the server's hints unless 304.
    Miniflux,
    /// FreshRSS: never backs off; a 410 and out; a 429 holds the host.
    FreshRss,
    /// CommaFeed: by the average gap between entries; an hour more with each failure, at most four.
    CommaFeed,
    /// lion-reader: the server's hints; 30 minutes doubled, after ten a week.
    LionReader,
    /// feedbin: the fourth power of the failures, in seconds; no hints.
    Feedbin,
}

/// A rule with its settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    /// As the table calls it.
    pub(crate) name: &'static str,
    rule: Rule,
    interval: i64,
    tick: i64,
}

/// Those that are compared.
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

/// CommaFeed waits no longer.
const COMMAFEED_LONGEST: i64 = 4 * HOUR;

const fn reader(name: &'static str, rule: Rule, interval: i64, tick: i64) -> Reader {
    Reader { name, rule, interval: interval * MINUTE, tick: tick * MINUTE }
}

impl Reader {
    /// How long a redirect must have been seen until it is followed for good; none: it never is.
    pub(crate) const fn moves_after(&self) -> Option<i64> {
        match self.rule {
            Rule::Miniflux => None,
            Rule::FreshRss | Rule::CommaFeed => Some(0),
            Rule::LionReader => Some(7 * DAY),
            Rule::Feedbin => Some(6 * DAY),
        }
    }

    /// A source's first poll.
    pub(crate) fn first(&self, state: &mut State, rng: &mut Rng) -> i64 {
        state.offset = rng.i64(0..5 * MINUTE);
        if self.tick > 0 { state.offset } else { rng.i64(0..self.interval) }
    }

    /// The next batch.
    pub(crate) fn batch(&self, state: &State, at: i64) -> i64 {
        match (self.rule, self.tick) {
            (_, 0) => at,
            // What is due exactly at a tick is not yet past then.
            (Rule::Miniflux, tick) if at % tick != 0 => (at / tick + 1) * tick + state.offset,
            (Rule::Miniflux, _) => at + state.offset,
            (_, tick) => (at - state.offset + tick - 1).div_euclid(tick) * tick + state.offset,
        }
    }

    /// When a source is polled after this answer; [`NEVER`] where a person has to come. `host_until` is when its
    /// host may be asked again, for those who keep that.
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
                (state.failures, state.aside) = (0, false);
                self.after_success(source, state, not_modified, now, rng)
            }
            Answer::Refused(kind, retry_after) => {
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
                let wait = self.by_habit(source, now).max(forgotten(source.max_age));
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
                state.aside = true;
                NEVER
            }
            Rule::Miniflux => {
                let asked = if kind == ErrorKind::RateLimited { retry_after } else { 0 };
                self.batch(state, now + self.interval.max(asked).min(DAY))
            }
            Rule::FreshRss if kind == ErrorKind::Gone => {
                state.aside = true;
                NEVER
            }
            Rule::FreshRss => self.batch(state, now + self.tick),
            Rule::CommaFeed => {
                state.aside = count >= 6;
                let wait = if count <= 2 { self.interval } else { HOUR * i64::from(count - 2) };
                now + wait.min(COMMAFEED_LONGEST.max(self.interval)).max(retry_after.min(COMMAFEED_LONGEST))
            }
            Rule::LionReader => {
                state.aside = count >= 10;
                let wait = if state.aside { 7 * DAY } else { 30 * MINUTE << (count - 1) };
                let wait = if kind == ErrorKind::RateLimited { wait.min(6 * HOUR) } else { wait };
                now + wait.max(retry_after)
            }
            Rule::Feedbin => {
                state.aside = count >= 23;
                let seconds = i64::from(count.clamp(8, 23)).pow(4);
                now + self.interval.max(retry_after.min(8 * HOUR)).max(seconds * 1000)
            }
        }
    }

    /// CommaFeed: half the average gap of what the feed shows, or more rarely where it has been silent for weeks.
    fn by_habit(&self, source: &Source, now: i64) -> i64 {
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
