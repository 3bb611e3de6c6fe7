//! The only source of time and randomness; everything else receives them as values.
#![expect(
    clippy::disallowed_methods,
    reason = "the only place that reads the clock and the random number generator"
)]

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gleaner_core::time::{Jitter, Span, Time};

pub trait Clock: Send + Sync {
    fn now(&self) -> Time;

    /// How long a span of this clock takes in real time.
    fn real_duration(&self, span: Span) -> Duration {
        Duration::from_millis(span.as_millis())
    }

    /// How much of this clock's time passes in a span of real time. Used for what must last in real time, such as
    /// sessions and leases.
    fn span_of_real(&self, real: Span) -> Span {
        real
    }
}

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

/// A clock that only changes when it is set, for tests and simulated time.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn new(now: Time) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Sets the time, which may be earlier.
    pub fn set(&self, now: Time) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    pub fn advance(&self, span: Span) {
        self.set(self.now() + span);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A clock that is set manually until it is started, and then runs `speed` times as fast as real time.
#[derive(Debug)]
pub struct FastClock {
    manual: ManualClock,
    speed: u32,
    started: OnceLock<(Time, Instant)>,
}

impl FastClock {
    /// Minimum real wait, so that periodic checks do not run continuously.
    const MIN_WAIT: Duration = Duration::from_millis(20);

    pub fn new(now: Time, speed: u32) -> Self {
        Self { manual: ManualClock::new(now), speed: speed.max(1), started: OnceLock::new() }
    }

    /// Advances the time; without effect once the clock is started.
    pub fn advance(&self, span: Span) {
        self.manual.advance(span);
    }

    /// Starts the clock at the time that it shows.
    pub fn start(&self) {
        self.started.get_or_init(|| (self.manual.now(), Instant::now()));
    }

    pub fn is_running(&self) -> bool {
        self.started.get().is_some()
    }
}

impl Clock for FastClock {
    fn now(&self) -> Time {
        let Some((started_at, instant)) = self.started.get() else { return self.manual.now() };
        let passed = u64::try_from(instant.elapsed().as_millis()).unwrap_or(u64::MAX);
        *started_at + self.span_of_real(Span::from_millis(passed))
    }

    fn real_duration(&self, span: Span) -> Duration {
        (Duration::from_millis(span.as_millis()) / self.speed).max(Self::MIN_WAIT)
    }

    fn span_of_real(&self, real: Span) -> Span {
        Span::from_millis(real.as_millis().saturating_mul(u64::from(self.speed)))
    }
}

/// Random numbers from a seed: the same seed gives the same sequence.
#[derive(Debug)]
pub struct RandomSource(Mutex<fastrand::Rng>);

impl RandomSource {
    /// Seeded randomly.
    pub fn new() -> Self {
        Self(Mutex::new(fastrand::Rng::new()))
    }

    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    pub fn jitter(&self) -> Jitter {
        let mut rng = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Jitter::from_bits(rng.u64(..))
    }
}

impl Default for RandomSource {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_stands_still_until_started() {
        let clock = FastClock::new(Time::from_millis(0), 1800);
        clock.advance(Span::from_days(3));
        assert_eq!((clock.now(), clock.is_running()), (Time::from_millis(0) + Span::from_days(3), false));
        clock.start();
        clock.advance(Span::from_days(3));
        assert!(clock.now().since(Time::from_millis(0)) < Span::from_days(6), "it goes by itself now");
        assert_eq!(clock.real_duration(Span::from_hours(1)), Duration::from_secs(2));
        assert_eq!(clock.real_duration(Span::from_secs(1)), FastClock::MIN_WAIT);
        assert_eq!(clock.span_of_real(Span::from_secs(2)), Span::from_hours(1));
    }
}
