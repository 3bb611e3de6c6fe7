//! The world as a poller sees it: answers polls, and measures the results.
//!
//! A poller calls [`Responses::poll`], and reports with [`Responses::set_state`] whether it quarantined the source.
//! It sees nothing of the world but the answers.

use fastrand::Rng;
use gleaner_core::outcome::{Cause, ErrorKind};

use super::measure::{Measures, SourceTally, Tally};
use super::world::{
    DAY, FailurePattern, LONG_AGO, MINUTE, NEVER, REDIRECT_LIFE, RequestLimit, Source, WINDOW, World,
};

/// The result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A document, or 304.
    Served {
        /// The number of posts that were not in the last document.
        new: usize,
        not_modified: bool,
    },
    /// A failure with its `Retry-After`, or 0.
    Failed(ErrorKind, i64),
}

/// The state of a run.
pub struct Responses<'w> {
    pub world: &'w World,
    rng: Rng,
    /// How long a redirect must last before the URL changes; `None` if it never does.
    moves_after: Option<i64>,
    sources: Vec<SourceRun>,
    accepted: Vec<i64>,
    local_outage_index: usize,
    tally: Tally,
}

/// The state of one source.
#[derive(Debug, Clone, Copy)]
struct SourceRun {
    /// The first outage that is not over.
    outage: usize,
    /// The first post that was not in the last document.
    post: usize,
    /// The first outage end that no success has followed yet.
    ended: usize,
    last_at: i64,
    last_ok: bool,
    last_success: i64,
    quarantined: bool,
    never_polled_again: bool,
    quarantined_at: i64,
    polls: u64,
    tally: SourceTally,
}

impl<'w> Responses<'w> {
    pub fn new(world: &'w World, seed: u64, moves_after: Option<i64>) -> Self {
        let run = |source: &Source| SourceRun {
            outage: 0,
            post: source.posts.partition_point(|at| *at < DAY),
            ended: 0,
            last_at: LONG_AGO,
            last_ok: false,
            last_success: LONG_AGO,
            quarantined: false,
            never_polled_again: false,
            quarantined_at: NEVER,
            polls: 0,
            tally: SourceTally::default(),
        };
        Self {
            world,
            rng: Rng::with_seed(seed ^ 0x9e37_79b9_7f4a_7c15),
            moves_after,
            sources: world.sources.iter().map(run).collect(),
            accepted: vec![LONG_AGO; world.hosts.len()],
            local_outage_index: 0,
            tally: Tally::new(world),
        }
    }

    /// The number of posts published by a time.
    pub fn published(&self, source: usize, now: i64) -> usize {
        self.world.sources[source].posts.partition_point(|at| *at <= now)
    }

    /// Whether there is a local network outage. Times must not decrease.
    pub fn local_outage(&mut self, now: i64) -> bool {
        while self.world.local_outages.get(self.local_outage_index).is_some_and(|(_, end)| *end <= now) {
            self.local_outage_index += 1;
        }
        self.world.local_outages.get(self.local_outage_index).is_some_and(|(start, _)| *start <= now)
    }

    pub fn poll(&mut self, index: usize, now: i64) -> Answer {
        let source = &self.world.sources[index];
        let run = &mut self.sources[index];
        run.polls += 1;
        if run.quarantined {
            self.tally.false_quarantine += source.up(run.last_at, now);
        }
        if run.last_ok && now - run.last_at < source.hint() {
            self.tally.early += 1;
        }
        let failure = self.failure(index, now);
        let run = &mut self.sources[index];
        (run.last_at, run.last_ok) = (now, failure.is_none());
        if let Some((kind, retry_after)) = failure {
            self.tally.wasted += u64::from(now >= source.dead_at);
            return Answer::Failed(kind, retry_after);
        }
        let first = run.last_success == LONG_AGO;
        run.last_success = now;
        let new = self.served(index, now);
        let new = if first { WINDOW } else { new };
        Answer::Served { new, not_modified: source.conditional && new == 0 }
    }

    /// The failure of a poll at a time, if it fails.
    fn failure(&mut self, index: usize, now: i64) -> Option<(ErrorKind, i64)> {
        if self.local_outage(now) {
            let resolver = self.rng.f64() < 0.6;
            let cause = if resolver { Cause::DnsUnavailable } else { Cause::Timeout };
            return Some((ErrorKind::Network(cause), 0));
        }
        let source = &self.world.sources[index];
        let run = &mut self.sources[index];
        while source.down.get(run.outage).is_some_and(|outage| outage.end <= now) {
            run.outage += 1;
        }
        if let Some(outage) = source.down.get(run.outage).filter(|outage| outage.start <= now) {
            return Some((outage.kind, 0));
        }
        if source.move_at != NEVER && now >= source.move_at + REDIRECT_LIFE {
            let moved = self.moves_after.is_some_and(|after| run.last_success >= source.move_at + after);
            if !moved {
                return Some((ErrorKind::NotFound, 0));
            }
        }
        if let RequestLimit::OnePerMinute(kind, retry_after) = self.world.hosts[source.host].request_limit {
            if now - self.accepted[source.host] < MINUTE {
                self.tally.refused += 1;
                return Some((kind, retry_after));
            }
            self.accepted[source.host] = now;
        }
        if source.flaky > 0.0 && self.rng.f64() < source.flaky {
            let server = self.rng.bool();
            return Some(if server {
                (ErrorKind::UpstreamFailure, 0)
            } else {
                (ErrorKind::Network(Cause::Timeout), 0)
            });
        }
        None
    }

    /// Records a success: the number of new posts, and recoveries.
    fn served(&mut self, index: usize, now: i64) -> usize {
        let source = &self.world.sources[index];
        let run = &mut self.sources[index];
        let from = run.post;
        while source.posts.get(run.post).is_some_and(|at| *at <= now) {
            self.tally.stored(self.world, source, &mut run.tally, run.post, now);
            run.post += 1;
        }
        while let Some(end) = self.tally.end(index, run.ended).filter(|end| *end <= now) {
            self.tally.recovered(source.failure_pattern, now - end);
            run.ended += 1;
        }
        run.post - from
    }

    /// Sets the state that the poller leaves a source in after a poll.
    pub fn set_state(&mut self, index: usize, quarantined: bool, never_polled_again: bool) {
        let run = &mut self.sources[index];
        (run.quarantined, run.never_polled_again) = (quarantined, never_polled_again);
        if quarantined && run.quarantined_at == NEVER && run.last_at >= self.world.sources[index].dead_at {
            run.quarantined_at = run.last_at;
        }
    }

    pub fn measures(mut self) -> Measures {
        let world = self.world;
        for (index, (source, run)) in world.sources.iter().zip(&mut self.sources).enumerate() {
            if run.quarantined {
                self.tally.false_quarantine += source.up(run.last_at, world.end);
            }
            let given_up = run.never_polled_again || source.dead_at < NEVER;
            self.tally.left(world, source, &mut run.tally, run.post, given_up);
            while let Some(end) = self.tally.end(index, run.ended) {
                self.tally.recovered(source.failure_pattern, world.end - end);
                run.ended += 1;
            }
            self.tally.polls += run.polls;
            let down = source.down.iter().any(|o| o.start < world.end && world.end <= o.end);
            self.tally.lost += u64::from(run.never_polled_again && source.dead_at == NEVER && !down);
            if source.dead_at < NEVER && run.quarantined_at < NEVER {
                self.tally.dead_quarantined.push(run.quarantined_at - source.dead_at);
            }
        }
        self.tally.measures(world)
    }
}

impl FailurePattern {
    /// The index of the recovery measurement that its outages count for.
    pub(super) const fn recovery_index(self) -> Option<usize> {
        match self {
            Self::Sleeping | Self::Certificate | Self::LongOutage | Self::Unreadable => Some(0),
            Self::DailyOutage => Some(1),
            Self::Healthy | Self::Flaky => Some(2),
            Self::RateLimited | Self::Moved | Self::Dead => None,
        }
    }
}
