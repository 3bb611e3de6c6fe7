//! Generates a world: hosts, sources, their posts and their failures, from a seed.
//!
//! The shares of failures are invented but realistic: hosts that answer 404 for hours every day, hosts that limit
//! requests, servers that sleep, certificates that expire, feeds that return after a month, and local network
//! outages. Times are milliseconds from the start of the run.

use fastrand::Rng;
use gleaner_core::outcome::{Cause, ErrorKind};

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;
/// A time that never comes.
pub const NEVER: i64 = i64::MAX;
/// Before the start of the run.
pub const LONG_AGO: i64 = -1000 * DAY;
/// Number of entries in a feed.
pub const WINDOW: usize = 20;
/// How long a 301 is served before the old URL answers 404.
pub const REDIRECT_LIFE: i64 = 60 * DAY;
/// How far posts go back before the start.
const PAST: i64 = 60 * DAY;

/// How a host treats requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLimit {
    None,
    /// Answers one request per minute, and refuses others with this error and `Retry-After` (none if 0).
    OnePerMinute(ErrorKind, i64),
}

/// The failure pattern of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailurePattern {
    Healthy,
    /// The whole host answers 404 for some hours every day.
    DailyOutage,
    /// The host limits requests.
    RateLimited,
    /// The host fails now and then.
    Flaky,
    /// The host sleeps from time to time, as if solar-powered.
    Sleeping,
    /// The host's certificate expires once.
    Certificate,
    /// Unavailable for 20 to 40 days, once.
    LongOutage,
    /// Unreadable for one to three days, once.
    Unreadable,
    /// Moved to another URL.
    Moved,
    /// Gone for good.
    Dead,
}

/// A period in which a source fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    pub start: i64,
    /// [`NEVER`] if it is permanent.
    pub end: i64,
    pub kind: ErrorKind,
}

#[derive(Debug, Clone)]
pub struct Host {
    pub request_limit: RequestLimit,
    /// Indexes of its sources.
    pub members: Vec<u32>,
}

#[derive(Debug, Clone)]
pub struct Source {
    pub host: usize,
    pub failure_pattern: FailurePattern,
    /// Posts per day.
    pub rate: f64,
    /// The share of polls that fail at random.
    pub flaky: f64,
    /// Outages, in order.
    pub down: Vec<Outage>,
    /// When it died; [`NEVER`] if it is alive.
    pub dead_at: i64,
    /// When it started to redirect; [`NEVER`] if it does not.
    pub move_at: i64,
    /// `Cache-Control: max-age`; 0 if not sent.
    pub max_age: i64,
    /// RSS `ttl`; 0 if not sent.
    pub ttl: i64,
    /// Whether it answers 304 if nothing is new.
    pub conditional: bool,
    /// Publication times of its posts, in order.
    pub posts: Vec<i64>,
}

#[derive(Debug, Clone)]
pub struct World {
    pub hosts: Vec<Host>,
    pub sources: Vec<Source>,
    /// Local network outages.
    pub local_outages: Vec<(i64, i64)>,
    pub end: i64,
}

/// Failure pattern, outages, and share of random failures that all sources of a host have.
type HostFailures = (FailurePattern, Vec<Outage>, f64);

impl Source {
    /// The longest of the server's polling hints; 0 for none.
    pub fn hint(&self) -> i64 {
        self.max_age.max(self.ttl)
    }

    /// How long the source was up within a period.
    pub fn up(&self, from: i64, to: i64) -> i64 {
        let down = self.down.iter().map(|outage| (to.min(outage.end) - from.max(outage.start)).max(0));
        ((to - from).max(0) - down.sum::<i64>()).max(0)
    }
}

impl World {
    pub fn build(seed: u64, sources: usize, days: u32) -> World {
        let mut generator = Generator { rng: Rng::with_seed(seed), end: i64::from(days) * DAY };
        let local_outages = generator.local_network_outages();
        let mut world = World { hosts: Vec::new(), sources: Vec::new(), local_outages, end: generator.end };
        for share in [0.06, 0.026, 0.014] {
            let down = generator.daily_windows(days);
            world.add_host(
                (sources as f64 * share) as usize,
                RequestLimit::None,
                &(FailurePattern::DailyOutage, down, 0.0),
            );
        }
        for (kind, retry_after) in [(ErrorKind::RateLimited, 10); 3]
            .into_iter()
            .chain([(ErrorKind::RateLimited, 0); 2])
            .chain([(ErrorKind::Forbidden, 0)])
        {
            let size = (sources as f64 / 5000.0 * generator.rng.u32(10..=16) as f64) as usize;
            let request_limit = RequestLimit::OnePerMinute(kind, retry_after * MINUTE);
            world.add_host(size.max(3), request_limit, &(FailurePattern::RateLimited, Vec::new(), 0.0));
        }
        while world.sources.len() < sources {
            let size = generator.host_size();
            match generator.host_failures() {
                Some(failures) => world.add_host(size, RequestLimit::None, &failures),
                None => {
                    world.add_host(size, RequestLimit::None, &(FailurePattern::Healthy, Vec::new(), 0.0));
                    let first = world.sources.len() - size;
                    for source in &mut world.sources[first..] {
                        (source.failure_pattern, source.down) = generator.source_failures();
                    }
                }
            }
        }
        for source in &mut world.sources {
            generator.publishing(source);
        }
        world
    }

    fn add_host(
        &mut self,
        size: usize,
        request_limit: RequestLimit,
        (failure_pattern, down, flaky): &HostFailures,
    ) {
        let host = self.hosts.len();
        let first = self.sources.len() as u32;
        self.hosts.push(Host { request_limit, members: (first..first + size as u32).collect() });
        self.sources.extend((0..size).map(|_| Source {
            host,
            failure_pattern: *failure_pattern,
            rate: 1.0,
            flaky: *flaky,
            down: down.clone(),
            dead_at: NEVER,
            move_at: NEVER,
            max_age: 0,
            ttl: 0,
            conditional: true,
            posts: Vec::new(),
        }));
    }
}

/// Random generator of a world.
struct Generator {
    rng: Rng,
    end: i64,
}

impl Generator {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.rng.f64()
    }

    /// A random span of days.
    fn days(&mut self, low: f64, high: f64) -> i64 {
        (self.between(low, high) * DAY as f64) as i64
    }

    /// A random day of the run, scaled as if the run had 180 days.
    fn day_of_run(&mut self, low: f64, high: f64) -> i64 {
        let scale = self.end as f64 / (180 * DAY) as f64;
        (self.between(low, high) * scale * DAY as f64) as i64
    }

    /// One outage of a random number of days.
    fn single_outage(&mut self, (low, high): (f64, f64), last: f64, kind: ErrorKind) -> Vec<Outage> {
        let start = self.day_of_run(5.0, last);
        vec![Outage { start, end: start + self.days(low, high), kind }]
    }

    fn permanent_outage(&mut self, kind: ErrorKind) -> Vec<Outage> {
        vec![Outage { start: self.day_of_run(10.0, 150.0), end: NEVER, kind }]
    }

    fn local_network_outages(&mut self) -> Vec<(i64, i64)> {
        let (mut outages, mut at) = (Vec::new(), 7 * DAY);
        while at < self.end - 2 * DAY {
            outages.push((at, at + (self.between(1.0, 6.0) * HOUR as f64) as i64));
            at += self.days(10.0, 20.0);
        }
        outages
    }

    fn daily_windows(&mut self, days: u32) -> Vec<Outage> {
        let hour = self.between(0.0, 18.0);
        let window = |day: u32, generator: &mut Generator| {
            let start = i64::from(day) * DAY + ((hour + generator.between(-1.0, 1.0)) * HOUR as f64) as i64;
            let end = start + (generator.between(2.0, 5.0) * HOUR as f64) as i64;
            Outage { start, end, kind: ErrorKind::NotFound }
        };
        (0..days).map(|day| window(day, self)).collect()
    }

    fn host_size(&mut self) -> usize {
        let mut place = self.rng.u32(0..100);
        for (size, weight) in [(1, 45), (2, 20), (3, 13), (5, 10), (8, 8)] {
            if place < weight {
                return size;
            }
            place -= weight;
        }
        15
    }

    /// A failure pattern that all sources of an ordinary host share.
    fn host_failures(&mut self) -> Option<HostFailures> {
        use ErrorKind::{Network, ParseError, UpstreamFailure};
        Some(match self.rng.f64() {
            x if x < 0.08 => (FailurePattern::Flaky, Vec::new(), self.between(0.03, 0.10)),
            x if x < 0.14 => (FailurePattern::Sleeping, self.sleeping_outages(), 0.0),
            x if x < 0.17 => (
                FailurePattern::Certificate,
                self.single_outage((2.0, 10.0), 150.0, Network(Cause::Tls)),
                0.0,
            ),
            x if x < 0.195 => (FailurePattern::Dead, self.permanent_outage(Network(Cause::Dns)), 0.0),
            x if x < 0.215 => (FailurePattern::Dead, self.permanent_outage(ParseError), 0.0),
            x if x < 0.235 => {
                let kinds = [Network(Cause::Dns), Network(Cause::Connect), UpstreamFailure];
                let kind = kinds[self.rng.usize(0..3)];
                (FailurePattern::LongOutage, self.single_outage((20.0, 40.0), 125.0, kind), 0.0)
            }
            _ => return None,
        })
    }

    /// Outages of 6 hours to 5 days, mostly short.
    fn sleeping_outages(&mut self) -> Vec<Outage> {
        let (mut sleeping_outages, mut at) = (Vec::new(), self.day_of_run(0.0, 40.0));
        while at < self.end {
            let end = at + (6.0 * HOUR as f64 * 20.0_f64.powf(self.rng.f64())) as i64;
            let cause = if self.rng.bool() { Cause::Connect } else { Cause::Timeout };
            sleeping_outages.push(Outage { start: at, end, kind: ErrorKind::Network(cause) });
            at = end + self.days(5.0, 50.0);
        }
        sleeping_outages
    }

    /// A failure pattern of one source on a working host.
    fn source_failures(&mut self) -> (FailurePattern, Vec<Outage>) {
        match self.rng.f64() {
            x if x < 0.04 => (FailurePattern::Dead, self.permanent_outage(ErrorKind::NotFound)),
            x if x < 0.05 => (FailurePattern::Dead, self.permanent_outage(ErrorKind::Gone)),
            x if x < 0.065 => {
                (FailurePattern::LongOutage, self.single_outage((20.0, 40.0), 125.0, ErrorKind::NotFound))
            }
            x if x < 0.105 => {
                (FailurePattern::Unreadable, self.single_outage((1.0, 3.0), 150.0, ErrorKind::ParseError))
            }
            x if x < 0.135 => (FailurePattern::Moved, Vec::new()),
            _ => (FailurePattern::Healthy, Vec::new()),
        }
    }

    /// Sets how often a source publishes, and its server's hints.
    fn publishing(&mut self, source: &mut Source) {
        source.rate = 0.02 * 2500.0_f64.powf(self.rng.f64());
        let dead = source.down.iter().find(|outage| outage.end == NEVER);
        source.dead_at = dead.map_or(NEVER, |outage| outage.start);
        if source.failure_pattern == FailurePattern::Moved {
            source.move_at = self.day_of_run(10.0, 90.0);
        }
        source.conditional = self.rng.f64() < 0.7;
        if self.rng.f64() < 0.25 {
            let hint = match self.rng.u32(0..100) {
                0..30 => 10,
                30..70 => 60,
                70..90 => 360,
                _ => 1440,
            };
            let to = if self.rng.bool() { &mut source.max_age } else { &mut source.ttl };
            *to = hint * MINUTE;
        }
        source.posts = self.posts(source);
    }

    /// Random publication times, more by day than by night. A site that is down, not merely misconfigured,
    /// publishes nothing.
    fn posts(&mut self, source: &Source) -> Vec<i64> {
        let phase = self.between(0.0, 1.0);
        let silent = matches!(
            source.failure_pattern,
            FailurePattern::Sleeping | FailurePattern::LongOutage | FailurePattern::Dead
        );
        let most = source.rate * 1.7;
        let (mut posts, mut at) = (Vec::new(), -PAST as f64);
        loop {
            at += -(1.0 - self.rng.f64()).ln() / most * DAY as f64;
            if at >= self.end as f64 {
                return posts;
            }
            let swing = 1.0 + 0.7 * (std::f64::consts::TAU * (at / DAY as f64 - phase)).sin();
            let down = |at: i64| source.down.iter().any(|outage| outage.start <= at && at < outage.end);
            if self.rng.f64() * 1.7 < swing && !(silent && down(at as i64)) {
                posts.push(at as i64);
            }
        }
    }
}
