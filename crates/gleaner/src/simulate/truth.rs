//! The world as a poller meets it: what a poll at a time answers, and what comes of it, measured as it happens.
//!
//! Whoever decides asks [`Truth::ask`], and says with [`Truth::settle`] where it leaves the source. It never
//! sees more of the world than an answer.

use fastrand::Rng;
use gleaner_core::outcome::{Cause, ErrorKind};

use super::measure::{Measures, SourceTally, Tally};
use super::world::{DAY, LONG_AGO, Label, MINUTE, Manner, NEVER, REDIRECT_LIFE, Source, WINDOW, World};

/// What a poll answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A document, or the word that nothing changed.
    Served {
        /// How many of its posts were not there at the last poll.
        new: usize,
        /// 304.
        not_modified: bool,
    },
    /// A failure, and the `Retry-After` with it, or 0.
    Refused(ErrorKind, i64),
}

/// A run through a world.
pub struct Truth<'w> {
    /// The world.
    pub world: &'w World,
    rng: Rng,
    /// How long a redirect must have been seen until the URL is moved; none: it never is.
    moves_after: Option<i64>,
    sources: Vec<Run>,
    accepted: Vec<i64>,
    own: usize,
    tally: Tally,
}

/// One source during a run.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The first outage that is not over.
    outage: usize,
    /// The first post that was not there at the last success.
    post: usize,
    /// The first end of an outage after which no success came yet.
    ended: usize,
    last_at: i64,
    last_ok: bool,
    last_success: i64,
    aside: bool,
    never: bool,
    known_at: i64,
    polls: u64,
    tally: SourceTally,
}

impl<'w> Truth<'w> {
    /// Begins a run.
    pub fn new(world: &'w World, seed: u64, moves_after: Option<i64>) -> Self {
        let run = |source: &Source| Run {
            outage: 0,
            post: source.posts.partition_point(|at| *at < DAY),
            ended: 0,
            last_at: LONG_AGO,
            last_ok: false,
            last_success: LONG_AGO,
            aside: false,
            never: false,
            known_at: NEVER,
            polls: 0,
            tally: SourceTally::default(),
        };
        Self {
            world,
            rng: Rng::with_seed(seed ^ 0x9e37_79b9_7f4a_7c15),
            moves_after,
            sources: world.sources.iter().map(run).collect(),
            accepted: vec![LONG_AGO; world.hosts.len()],
            own: 0,
            tally: Tally::new(world),
        }
    }

    /// How many posts there are at a time.
    pub fn published(&self, source: usize, now: i64) -> usize {
        self.world.sources[source].posts.partition_point(|at| *at <= now)
    }

    /// Whether our own network is down. Times must not go back.
    pub fn own_down(&mut self, now: i64) -> bool {
        while self.world.own.get(self.own).is_some_and(|(_, end)| *end <= now) {
            self.own += 1;
        }
        self.world.own.get(self.own).is_some_and(|(start, _)| *start <= now)
    }

    /// Polls a source.
    pub fn ask(&mut self, index: usize, now: i64) -> Answer {
        let source = &self.world.sources[index];
        let run = &mut self.sources[index];
        run.polls += 1;
        if run.aside {
            self.tally.false_aside += source.up(run.last_at, now);
        }
        if run.last_ok && now - run.last_at < source.hint() {
            self.tally.early += 1;
        }
        let failure = self.failure(index, now);
        let run = &mut self.sources[index];
        (run.last_at, run.last_ok) = (now, failure.is_none());
        if let Some((kind, retry_after)) = failure {
            self.tally.wasted += u64::from(now >= source.dead_at);
            return Answer::Refused(kind, retry_after);
        }
        let first = run.last_success == LONG_AGO;
        run.last_success = now;
        let new = self.served(index, now);
        let new = if first { WINDOW } else { new };
        Answer::Served { new, not_modified: source.conditional && new == 0 }
    }

    /// What a source answers at a time, if it is an error.
    fn failure(&mut self, index: usize, now: i64) -> Option<(ErrorKind, i64)> {
        if self.own_down(now) {
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
        if let Manner::Limit(kind, retry_after) = self.world.hosts[source.host].manner {
            if now - self.accepted[source.host] < MINUTE {
                self.tally.provoked += 1;
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

    /// A success: what is new, and what it says of recoveries.
    fn served(&mut self, index: usize, now: i64) -> usize {
        let source = &self.world.sources[index];
        let run = &mut self.sources[index];
        let from = run.post;
        while source.posts.get(run.post).is_some_and(|at| *at <= now) {
            self.tally.stored(self.world, source, &mut run.tally, run.post, now);
            run.post += 1;
        }
        while let Some(end) = self.tally.end(index, run.ended).filter(|end| *end <= now) {
            self.tally.recovered(source.label, now - end);
            run.ended += 1;
        }
        run.post - from
    }

    /// Where whoever decides leaves a source after a failure: set aside or not, to be polled again or never.
    pub fn settle(&mut self, index: usize, aside: bool, never: bool) {
        let run = &mut self.sources[index];
        (run.aside, run.never) = (aside, never);
        if aside && run.known_at == NEVER && run.last_at >= self.world.sources[index].dead_at {
            run.known_at = run.last_at;
        }
    }

    /// Ends the run.
    pub fn measures(mut self) -> Measures {
        let world = self.world;
        for (index, (source, run)) in world.sources.iter().zip(&mut self.sources).enumerate() {
            if run.aside {
                self.tally.false_aside += source.up(run.last_at, world.end);
            }
            let given_up = run.never || source.dead_at < NEVER;
            self.tally.left(world, source, &mut run.tally, run.post, given_up);
            while let Some(end) = self.tally.end(index, run.ended) {
                self.tally.recovered(source.label, world.end - end);
                run.ended += 1;
            }
            self.tally.polls += run.polls;
            let down = source.down.iter().any(|o| o.start < world.end && world.end <= o.end);
            self.tally.lost += u64::from(run.never && source.dead_at == NEVER && !down);
            if source.dead_at < NEVER && run.known_at < NEVER {
                self.tally.known.push(run.known_at - source.dead_at);
            }
        }
        self.tally.measures(world)
    }
}

impl Label {
    /// Which figure of recovery its outages count for.
    pub(super) const fn recovers(self) -> Option<usize> {
        match self {
            Self::Solar | Self::Certificate | Self::Back | Self::Unreadable => Some(0),
            Self::Window => Some(1),
            Self::Healthy | Self::Flaky => Some(2),
            Self::Limit | Self::Moved | Self::Dead => None,
        }
    }
}
