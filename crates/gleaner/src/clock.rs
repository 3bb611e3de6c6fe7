//! Time and chance enter here, and nowhere else: everything below receives them as values.
#![expect(clippy::disallowed_methods, reason = "this is the one place that asks the clock and the dice")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gleaner_core::time::{Jitter, Span, Time};

/// What time it is.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Time;

    /// How long a length of this clock's time takes in the world.
    fn real(&self, span: Span) -> Duration {
        Duration::from_millis(span.as_millis())
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
