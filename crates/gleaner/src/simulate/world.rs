//! A world with ground truth: hosts, sources, their posts and their troubles, drawn from a seed.
//!
//! The shares of troubles are invented, though not out of thin air: hosts that answer 404 for hours every day,
//! hosts that limit how often they are asked, servers that sleep, certificates that run out, feeds that come back
//! after a month, and evenings without a network of our own. Times are milliseconds from the start of the run.

use fastrand::Rng;
use gleaner_core::outcome::{Cause, ErrorKind};

/// A minute.
pub const MINUTE: i64 = 60_000;
/// An hour.
pub const HOUR: i64 = 60 * MINUTE;
/// A day.
pub const DAY: i64 = 24 * HOUR;
/// Never, and for ever.
pub const NEVER: i64 = i64::MAX;
/// Before anything happened.
pub const LONG_AGO: i64 = -1000 * DAY;
/// How many entries a feed shows.
pub const WINDOW: usize = 20;
/// A 301 is served so long, then the old URL answers 404.
pub const REDIRECT_LIFE: i64 = 60 * DAY;
/// Posts go back so far before the start.
const PAST: i64 = 60 * DAY;

/// What a host does to whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It answers.
    Plain,
    /// It answers one request a minute, and refuses the others with this, and with a `Retry-After` where it is not 0.
    Limit(ErrorKind, i64),
}

/// What is the matter with a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    /// Nothing.
    Healthy,
    /// Its host answers 404 for everything, some hours a day.
    Window,
    /// Its host limits requests.
    Limit,
    /// Its host fails now and then.
    Flaky,
    /// Its host sleeps from time to time.
    Solar,
    /// Its host's certificate runs out once.
    Certificate,
    /// Away for 20 to 40 days, once.
    Back,
    /// Unreadable for a day or three, once.
    Unreadable,
    /// Moved to another URL.
    Moved,
    /// Gone for good.
    Dead,
}

/// From when to when a source answers with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// From.
    pub start: i64,
    /// Until; [`NEVER`] for good.
    pub end: i64,
    /// With what.
    pub kind: ErrorKind,
}

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    /// What it does.
    pub manner: Manner,
    /// Its sources.
    pub members: Vec<u32>,
}

/// A source.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its host.
    pub host: usize,
    /// What is the matter with it.
    pub label: Label,
    /// Posts a day.
    pub rate: f64,
    /// The share of polls that fail for nothing.
    pub flaky: f64,
    /// When it is down, in order.
    pub down: Vec<Outage>,
    /// From when on it is dead; [`NEVER`] where it lives.
    pub dead_at: i64,
    /// From when on it redirects; [`NEVER`] where it does not.
    pub move_at: i64,
    /// `Cache-Control: max-age`, 0 where not sent.
    pub max_age: i64,
    /// RSS `ttl`, 0 where not sent.
    pub ttl: i64,
    /// Whether it answers 304 where nothing is new.
    pub conditional: bool,
    /// When its posts are published, in order.
    pub posts: Vec<i64>,
}

/// All of it.
#[derive(Debug, Clone)]
pub struct World {
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The sources.
    pub sources: Vec<Source>,
    /// When our own network is down.
    pub own: Vec<(i64, i64)>,
    /// The end of the run.
    pub end: i64,
}

/// What a host's sources share.
type Trouble = (Label, Vec<Outage>, f64);

impl Source {
    /// The longest wait that its server asks for; 0 for none.
    pub fn hint(&self) -> i64 {
        self.max_age.max(self.ttl)
    }

    /// How much of a time the source was up.
    pub fn up(&self, from: i64, to: i64) -> i64 {
        let down = self.down.iter().map(|outage| (to.min(outage.end) - from.max(outage.start)).max(0));
        ((to - from).max(0) - down.sum::<i64>()).max(0)
    }
}

impl World {
    /// Draws a world.
    pub fn build(seed: u64, sources: usize, days: u32) -> World {
        let mut draw = Draw { rng: Rng::with_seed(seed), end: i64::from(days) * DAY };
        let own = draw.own_outages();
        let mut world = World { hosts: Vec::new(), sources: Vec::new(), own, end: draw.end };
        for share in [0.06, 0.026, 0.014] {
            let down = draw.daily_windows(days);
            world.add_host((sources as f64 * share) as usize, Manner::Plain, &(Label::Window, down, 0.0));
        }
        for (kind, retry_after) in [(ErrorKind::RateLimited, 10); 3]
            .into_iter()
            .chain([(ErrorKind::RateLimited, 0); 2])
            .chain([(ErrorKind::Forbidden, 0)])
        {
            let size = (sources as f64 / 5000.0 * draw.rng.u32(10..=16) as f64) as usize;
            let manner = Manner::Limit(kind, retry_after * MINUTE);
            world.add_host(size.max(3), manner, &(Label::Limit, Vec::new(), 0.0));
        }
        while world.sources.len() < sources {
            let size = draw.host_size();
            match draw.host_trouble() {
                Some(trouble) => world.add_host(size, Manner::Plain, &trouble),
                None => {
                    world.add_host(size, Manner::Plain, &(Label::Healthy, Vec::new(), 0.0));
                    let first = world.sources.len() - size;
                    for source in &mut world.sources[first..] {
                        (source.label, source.down) = draw.source_trouble();
                    }
                }
            }
        }
        for source in &mut world.sources {
            draw.habits(source);
        }
        world
    }

    fn add_host(&mut self, size: usize, manner: Manner, (label, down, flaky): &Trouble) {
        let host = self.hosts.len();
        let first = self.sources.len() as u32;
        self.hosts.push(Host { manner, members: (first..first + size as u32).collect() });
        self.sources.extend((0..size).map(|_| Source {
            host,
            label: *label,
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

/// Chance, and what all draws need.
struct Draw {
    rng: Rng,
    end: i64,
}

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.rng.f64()
    }

    /// A number of days, as time.
    fn days(&mut self, low: f64, high: f64) -> i64 {
        (self.between(low, high) * DAY as f64) as i64
    }

    /// A day of the run, the run taken as 180 days.
    fn day_of_run(&mut self, low: f64, high: f64) -> i64 {
        let scale = self.end as f64 / (180 * DAY) as f64;
        (self.between(low, high) * scale * DAY as f64) as i64
    }

    /// One outage of so many days.
    fn spell(&mut self, (low, high): (f64, f64), last: f64, kind: ErrorKind) -> Vec<Outage> {
        let start = self.day_of_run(5.0, last);
        vec![Outage { start, end: start + self.days(low, high), kind }]
    }

    fn for_good(&mut self, kind: ErrorKind) -> Vec<Outage> {
        vec![Outage { start: self.day_of_run(10.0, 150.0), end: NEVER, kind }]
    }

    fn own_outages(&mut self) -> Vec<(i64, i64)> {
        let (mut outages, mut at) = (Vec::new(), 7 * DAY);
        while at < self.end - 2 * DAY {
            outages.push((at, at + (self.between(1.0, 6.0) * HOUR as f64) as i64));
            at += self.days(10.0, 20.0);
        }
        outages
    }

    fn daily_windows(&mut self, days: u32) -> Vec<Outage> {
        let hour = self.between(0.0, 18.0);
        let window = |day: u32, draw: &mut Draw| {
            let start = i64::from(day) * DAY + ((hour + draw.between(-1.0, 1.0)) * HOUR as f64) as i64;
            let end = start + (draw.between(2.0, 5.0) * HOUR as f64) as i64;
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

    /// A condition that all feeds of an ordinary host share.
    fn host_trouble(&mut self) -> Option<Trouble> {
        use ErrorKind::{Network, ParseError, UpstreamFailure};
        Some(match self.rng.f64() {
            x if x < 0.08 => (Label::Flaky, Vec::new(), self.between(0.03, 0.10)),
            x if x < 0.14 => (Label::Solar, self.naps(), 0.0),
            x if x < 0.17 => (Label::Certificate, self.spell((2.0, 10.0), 150.0, Network(Cause::Tls)), 0.0),
            x if x < 0.195 => (Label::Dead, self.for_good(Network(Cause::Dns)), 0.0),
            x if x < 0.215 => (Label::Dead, self.for_good(ParseError), 0.0),
            x if x < 0.235 => {
                let kinds = [Network(Cause::Dns), Network(Cause::Connect), UpstreamFailure];
                let kind = kinds[self.rng.usize(0..3)];
                (Label::Back, self.spell((20.0, 40.0), 125.0, kind), 0.0)
            }
            _ => return None,
        })
    }

    /// 6 hours to 5 days each, most of them short.
    fn naps(&mut self) -> Vec<Outage> {
        let (mut naps, mut at) = (Vec::new(), self.day_of_run(0.0, 40.0));
        while at < self.end {
            let end = at + (6.0 * HOUR as f64 * 20.0_f64.powf(self.rng.f64())) as i64;
            let cause = if self.rng.bool() { Cause::Connect } else { Cause::Timeout };
            naps.push(Outage { start: at, end, kind: ErrorKind::Network(cause) });
            at = end + self.days(5.0, 50.0);
        }
        naps
    }

    /// A condition of one feed on a host that is well.
    fn source_trouble(&mut self) -> (Label, Vec<Outage>) {
        match self.rng.f64() {
            x if x < 0.04 => (Label::Dead, self.for_good(ErrorKind::NotFound)),
            x if x < 0.05 => (Label::Dead, self.for_good(ErrorKind::Gone)),
            x if x < 0.065 => (Label::Back, self.spell((20.0, 40.0), 125.0, ErrorKind::NotFound)),
            x if x < 0.105 => (Label::Unreadable, self.spell((1.0, 3.0), 150.0, ErrorKind::ParseError)),
            x if x < 0.135 => (Label::Moved, Vec::new()),
            _ => (Label::Healthy, Vec::new()),
        }
    }

    /// How often a source publishes, and what its server says.
    fn habits(&mut self, source: &mut Source) {
        source.rate = 0.02 * 2500.0_f64.powf(self.rng.f64());
        let dead = source.down.iter().find(|outage| outage.end == NEVER);
        source.dead_at = dead.map_or(NEVER, |outage| outage.start);
        if source.label == Label::Moved {
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

    /// By chance, more by day than by night. A site that is down, not merely misconfigured, publishes nothing.
    fn posts(&mut self, source: &Source) -> Vec<i64> {
        let phase = self.between(0.0, 1.0);
        let silent = matches!(source.label, Label::Solar | Label::Back | Label::Dead);
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
