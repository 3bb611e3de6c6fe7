//! Time and chance enter here, and nowhere else: everything below receives them as values.
#![expect(clippy::disallowed_methods, reason = "this is the one place that asks the clock and the dice")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gleaner_core::time::{Jitter, Span, Time};

/// What time it is.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Time;

    /// How long a length of this clock's time takes in the world.
    fn real(&self, span: Span) -> Duration {
        Duration::from_millis(span.as_millis())
    }

    /// How much of this clock's time passes meanwhile: what is there for the world's sake, such as how long a login
    /// or a lease is good, lasts as long there by any clock.
    fn meanwhile(&self, real: Span) -> Span {
        real
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Time::from_millis(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since),
            Err(before) => -millis(before.duration()),
        })
    }
}

/// A clock that stands still until it is set, for tests and for running a year in a minute.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows this time.
    pub fn new(now: Time) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Shows another time, also an earlier one.
    pub fn set(&self, now: Time) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    /// Shows a later time.
    pub fn advance(&self, span: Span) {
        self.set(self.now() + span);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A clock that is set by hand until it is let go, and from then on runs so many times as fast as the world's.
#[derive(Debug)]
pub struct FastClock {
    by_hand: ManualClock,
    speed: u32,
    let_go: OnceLock<(Time, Instant)>,
}

impl FastClock {
    /// Nothing waits for less in the world: what only looks now and then is not to look all the time.
    const LEAST_WAIT: Duration = Duration::from_millis(20);

    /// A clock that shows this time, and will run so many times as fast as the world's.
    pub fn new(now: Time, speed: u32) -> Self {
        Self { by_hand: ManualClock::new(now), speed: speed.max(1), let_go: OnceLock::new() }
    }

    /// Shows a later time; once it was let go, nothing happens.
    pub fn advance(&self, span: Span) {
        self.by_hand.advance(span);
    }

    /// Lets it run, from the time that it shows.
    pub fn let_go(&self) {
        self.let_go.get_or_init(|| (self.by_hand.now(), Instant::now()));
    }

    /// Whether it runs.
    pub fn runs(&self) -> bool {
        self.let_go.get().is_some()
    }
}

impl Clock for FastClock {
    fn now(&self) -> Time {
        let Some((begun, instant)) = self.let_go.get() else { return self.by_hand.now() };
        let passed = u64::try_from(instant.elapsed().as_millis()).unwrap_or(u64::MAX);
        *begun + self.meanwhile(Span::from_millis(passed))
    }

    fn real(&self, span: Span) -> Duration {
        (Duration::from_millis(span.as_millis()) / self.speed).max(Self::LEAST_WAIT)
    }

    fn meanwhile(&self, real: Span) -> Span {
        Span::from_millis(real.as_millis().saturating_mul(u64::from(self.speed)))
    }
}

/// Chance, from a seed: the same seed gives the same row.
#[derive(Debug)]
pub struct Chance(Mutex<fastrand::Rng>);

impl Chance {
    /// A row of its own each time.
    pub fn new() -> Self {
        Self(Mutex::new(fastrand::Rng::new()))
    }

    /// The row of this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    /// The next of the row.
    pub fn jitter(&self) -> Jitter {
        let mut rng = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Jitter::from_bits(rng.u64(..))
    }
}

impl Default for Chance {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_stands_until_it_is_let_go() {
        let clock = FastClock::new(Time::from_millis(0), 1800);
        clock.advance(Span::from_days(3));
        assert_eq!((clock.now(), clock.runs()), (Time::from_millis(0) + Span::from_days(3), false));
        clock.let_go();
        clock.advance(Span::from_days(3));
        assert!(clock.now().since(Time::from_millis(0)) < Span::from_days(6), "it goes by itself now");
        assert_eq!(clock.real(Span::from_hours(1)), Duration::from_secs(2));
        assert_eq!(clock.real(Span::from_secs(1)), FastClock::LEAST_WAIT);
        assert_eq!(clock.meanwhile(Span::from_secs(2)), Span::from_hours(1));
    }
}
