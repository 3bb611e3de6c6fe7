//! Runs gleaner's decisions in a simulated world: claims by host, [`judge`], and its effects as the engine applies
//! them.
//!
//! A host's sources are polled one after another, the longest overdue first; a host that is held or paced waits as
//! a whole. Polls take no time. Every poll uses the same decision code as the engine.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;
use gleaner_core::adaptive::{Budget, Habit};
use gleaner_core::health::{Health, Status};
use gleaner_core::incident::Asked;
use gleaner_core::judgement::{HostMemory, Judgement, Notice, Poll, Verdict, judge};
use gleaner_core::network::{Down, Guard, Leave};
use gleaner_core::outcome::{Failure, Outcome};
use gleaner_core::policy::Policy;
use gleaner_core::schedule::{Hints, Situation};
use gleaner_core::time::{Jitter, Span, Time};

use super::measure::Measures;
use super::responses::{Answer, Responses};
use super::world::{DAY, HOUR, LONG_AGO, NEVER, WINDOW, World};

/// The configuration of a run.
#[derive(Debug, Clone)]
pub struct Setup {
    pub policy: Policy,
    /// The rules of judgement.
    pub rules: Judgement,
    /// The interval of all sources; with `auto`, their mean.
    pub interval: Span,
    /// Whether intervals adapt to what sources publish.
    pub auto: bool,
}

/// The number of notices by name.
pub type Notices = std::collections::BTreeMap<&'static str, u64>;

/// After this time a permanent redirect changes the URL.
const MOVES_AFTER: i64 = 2 * DAY;
/// A pseudo host in the queue, for the worker's next network check.
const WORKER: u32 = u32::MAX;

struct Engine<'w, 's> {
    responses: Responses<'w>,
    setup: &'s Setup,
    rng: Rng,
    sources: Vec<SourceState>,
    hosts: Vec<HostQueue>,
    names: Vec<String>,
    queue: BinaryHeap<Reverse<(i64, u32)>>,
    guard: Guard,
    /// Hosts with due sources that wait for a local network outage to end.
    parked: VecDeque<u32>,
    notices: Notices,
    budget: Budget,
    scale: f64,
    scaled_at: i64,
}

struct SourceState {
    health: Health,
    next: i64,
    /// With `auto`: the publishing rhythm, as far as documents showed it.
    habit: Habit,
    class: Option<usize>,
    shown: usize,
}

#[derive(Default)]
struct HostQueue {
    due: BinaryHeap<Reverse<(i64, u32)>>,
    memory: HostMemory,
    delay_until: i64,
    wake_at: i64,
}

pub fn run(world: &World, setup: &Setup, seed: u64) -> (Measures, Notices) {
    let mut engine = Engine {
        responses: Responses::new(world, seed, Some(MOVES_AFTER)),
        setup,
        rng: Rng::with_seed(seed.wrapping_mul(7919).wrapping_add(1)),
        sources: Vec::new(),
        hosts: world.hosts.iter().map(|_| HostQueue::default()).collect(),
        names: (0..world.hosts.len()).map(|host| format!("h{host}")).collect(),
        queue: BinaryHeap::new(),
        guard: Guard::default(),
        parked: VecDeque::new(),
        notices: Notices::new(),
        budget: Budget::default(),
        scale: 0.0,
        scaled_at: LONG_AGO,
    };
    engine.start();
    while let Some(Reverse((at, who))) = engine.queue.pop() {
        if at >= world.end {
            break;
        }
        engine.wake(who, at);
    }
    (engine.responses.measures(), engine.notices)
}

impl Engine<'_, '_> {
    fn start(&mut self) {
        for (index, source) in self.responses.world.sources.iter().enumerate() {
            let next = self.part_of(self.setup.interval);
            let (health, habit) = (Health::new(), Habit::default());
            self.sources.push(SourceState { health, next, habit, class: None, shown: 0 });
            self.hosts[source.host].due.push(Reverse((next, index as u32)));
        }
        for host in 0..self.hosts.len() as u32 {
            self.plan(host);
        }
    }

    fn part_of(&mut self, span: Span) -> i64 {
        Jitter::new(self.rng.f64()).part_of(span).as_millis() as i64
    }

    fn wake(&mut self, who: u32, now: i64) {
        if who != WORKER {
            let host = &mut self.hosts[who as usize];
            if host.wake_at != now {
                return;
            }
            host.wake_at = NEVER;
        }
        match (self.guard.leave(&self.setup.rules.guard, Time::from_millis(now)), who) {
            (Leave::All, WORKER) => {}
            (Leave::All, host) => self.work(host, now, false),
            (Leave::Probe, who) => {
                if who != WORKER {
                    self.parked.push_back(who);
                }
                let served = |host: &u32| self.hosts[*host as usize].memory.latest_success.map(|it| it.at);
                let best = (0..self.parked.len()).max_by_key(|place| self.parked.get(*place).map(served));
                if let Some(host) = best.and_then(|place| self.parked.remove(place)) {
                    self.work(host, now, true);
                }
            }
            (Leave::Wait(until), who) => {
                if who != WORKER {
                    self.parked.push_back(who);
                }
                self.queue.push(Reverse((until.as_millis(), WORKER)));
            }
        }
    }

    /// Polls the due sources of a host, or only one.
    fn work(&mut self, host: u32, now: i64, one: bool) {
        while let Some(source) = self.due(host, now) {
            self.poll(source, now);
            if one || self.guard.down().is_some() {
                break;
            }
        }
        self.plan(host);
    }

    /// The longest overdue source of a host, if the host may be polled.
    fn due(&mut self, host: u32, now: i64) -> Option<usize> {
        let queue = &mut self.hosts[host as usize];
        let Reverse((at, source)) = *queue.due.peek()?;
        if self.sources[source as usize].next != at {
            queue.due.pop();
            return self.due(host, now);
        }
        if at > now || queue.delay_until > now {
            return None;
        }
        queue.due.pop();
        Some(source as usize)
    }

    /// Schedules the host's next wake-up.
    fn plan(&mut self, host: u32) {
        let queue = &mut self.hosts[host as usize];
        while queue.due.peek().is_some_and(|Reverse((at, source))| self.sources[*source as usize].next != *at)
        {
            queue.due.pop();
        }
        queue.wake_at = NEVER;
        if let Some(Reverse((at, _))) = queue.due.peek() {
            queue.wake_at = (*at).max(queue.delay_until);
            self.queue.push(Reverse((queue.wake_at, host)));
        }
    }

    fn poll(&mut self, index: usize, now: i64) {
        let world = self.responses.world;
        let source = &world.sources[index];
        let answer = self.responses.poll(index, now);
        let outcome = match answer {
            Answer::Served { not_modified: true, .. } => Outcome::NotModified { retry_after: None },
            Answer::Served { .. } => Outcome::Fetched { retry_after: None },
            Answer::Failed(kind, retry_after) => Outcome::Failed(Failure {
                kind,
                status: None,
                message: String::new(),
                retry_after: (retry_after > 0).then(|| Span::from_millis(retry_after as u64)),
            }),
        };
        let interval = self.interval(index, outcome.failure().is_none(), now);
        let hints = self.hints(index, now);
        let at = Situation {
            health: &self.sources[index].health,
            hints: &hints,
            interval,
            policy: &self.setup.policy,
        };
        let asked = Asked { source: index as i64, fence: 0 };
        let host = &self.names[source.host];
        let host_sources = world.hosts[source.host].members.len().min(3) as u32;
        let poll = Poll { asked, host, domain: host, host_sources, outcome: &outcome };
        let jitter = Jitter::new(self.rng.f64());
        let memory = &mut self.hosts[source.host].memory;
        let verdict =
            judge(&self.setup.rules, &at, &poll, memory, &mut self.guard, Time::from_millis(now), jitter);
        self.commit(index, verdict, now);
        let state = &self.sources[index];
        let quarantined = matches!(state.health.status(), Status::Quarantined | Status::Disabled);
        self.responses.set_state(index, quarantined, state.next == NEVER);
    }

    /// The interval of a source; after a success, updated with what the document showed.
    fn interval(&mut self, index: usize, served: bool, now: i64) -> Span {
        if !self.setup.auto {
            return self.setup.interval;
        }
        let (rules, time) = (&self.setup.rules.adaptive, Time::from_millis(now));
        if now - self.scaled_at >= HOUR {
            (self.scaled_at, self.scale) = (now, self.budget.scale(self.setup.interval, rules));
        }
        let count = if served { self.responses.published(index, now) } else { 0 };
        let state = &mut self.sources[index];
        if count > state.shown || served && state.class.is_none() {
            let posts = &self.responses.world.sources[index].posts;
            let from = state.shown.max(count.saturating_sub(WINDOW));
            state.habit.saw(posts[from..count].iter().map(|at| Time::from_millis(*at)), time);
            state.shown = count;
        } else if served {
            state.habit.saw([], time);
        }
        if served {
            let class = Some(Budget::class(state.habit.weight(rules, time)));
            self.budget.change(state.class, class);
            state.class = class;
        }
        if state.class.is_none() {
            self.setup.interval
        } else {
            state.habit.interval(self.scale, rules, time)
        }
    }

    fn hints(&self, index: usize, now: i64) -> Hints {
        let source = &self.responses.world.sources[index];
        if source.hint() == 0 {
            return Hints::NONE;
        }
        let span = |ms: i64| (ms > 0).then(|| Span::from_millis(ms as u64));
        let count = self.responses.published(index, now);
        let oldest = source.posts[count.saturating_sub(WINDOW)..count].first().filter(|_| count >= 10);
        Hints {
            max_age: span(source.max_age),
            ttl: span(source.ttl),
            oldest_entry: oldest.map(|at| Time::from_millis(*at)),
            ..Hints::NONE
        }
    }

    fn commit(&mut self, index: usize, verdict: Verdict, now: i64) {
        let host = self.responses.world.sources[index].host;
        let decision = verdict.decision;
        self.sources[index].health = decision.health;
        self.set_next(index, decision.next.map_or(NEVER, |next| next.at.as_millis()));
        let hold = decision.host_hold_until.map_or(0, Time::as_millis);
        let delay_until = hold.max(now + verdict.host_gap.as_millis() as i64);
        let queue = &mut self.hosts[host];
        queue.delay_until = queue.delay_until.max(delay_until);
        for taken in verdict.taken_back {
            let other = taken.asked.source as usize;
            if self.sources[other].health.last_polled_at == Some(taken.last_at) {
                self.sources[other].health = taken.health;
                self.set_next(other, taken.next_poll_at.as_millis());
                self.plan(self.responses.world.sources[other].host as u32);
                let quarantined = self.sources[other].health.status() == Status::Quarantined;
                self.responses.set_state(other, quarantined, false);
            }
        }
        if let Some(release) = verdict.release {
            let over = now + release.over.as_millis() as i64;
            for other in &self.responses.world.hosts[host].members {
                let other = *other as usize;
                let state = &self.sources[other];
                let excused = release.excused
                    && state.health.failing.as_ref().is_some_and(|row| row.excused_by.is_some())
                    && state.health.hold_until.is_none_or(|hold| hold.as_millis() <= now);
                if state.next <= now || excused && state.next > over && state.next != NEVER {
                    let at = now + self.part_of(release.over);
                    self.set_next(other, at);
                }
            }
        }
        if let Some(over) = verdict.resume_over {
            for parked in std::mem::take(&mut self.parked) {
                for member in &self.responses.world.hosts[parked as usize].members {
                    if self.sources[*member as usize].next <= now {
                        let at = now + self.part_of(over);
                        self.set_next(*member as usize, at);
                    }
                }
                self.plan(parked);
            }
            for index in 0..self.sources.len() {
                let state = &self.sources[index];
                let by = state.health.failing.as_ref().and_then(|row| row.excused_by.as_deref());
                let excused = by.is_some_and(|by| by.starts_with(Down::ID_PREFIX));
                if excused && state.next > now && state.next != NEVER {
                    let at = now + self.part_of(over);
                    self.set_next(index, at);
                    self.plan(self.responses.world.sources[index].host as u32);
                }
            }
        }
        for notice in verdict.notices {
            self.note(notice, index, now);
        }
    }

    fn note(&mut self, notice: Notice, index: usize, now: i64) {
        let local = self.responses.local_outage(now);
        let down = self.responses.world.sources[index].up(now, now + 1) == 0;
        let name = match (&notice, local, down) {
            (Notice::HostDown(_), true, _) => "host.down, local outage",
            (Notice::HostDown(_), _, true) => "host.down, true",
            (Notice::HostDown(_), ..) => "host.down, false",
            (Notice::NetworkDown(_), true, _) => "network.down, true",
            (Notice::NetworkDown(_), ..) => "network.down, false",
            _ => notice.name(),
        };
        *self.notices.entry(name).or_default() += 1;
    }

    /// Sets the next poll of a source, and the retry time of its quarantine.
    fn set_next(&mut self, index: usize, at: i64) {
        let state = &mut self.sources[index];
        if state.next == at && at != NEVER {
            return;
        }
        state.next = at;
        if let Some(held) = &mut state.health.quarantine
            && held.retry_at.is_some()
        {
            held.retry_at = Some(Time::from_millis(at));
        }
        if at != NEVER {
            let host = self.responses.world.sources[index].host;
            self.hosts[host].due.push(Reverse((at, index as u32)));
        }
    }
}
