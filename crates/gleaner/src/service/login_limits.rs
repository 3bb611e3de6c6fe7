//! Limits on guesses of passwords: by address, by name, and by known device.
//!
//! An attempt is counted before the password is looked at, so that a thousand at once are no more than one after the
//! other. Counters live in a table of fixed size and are found by a hash: nothing that a stranger sends is kept.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use gleaner_core::time::{Span, Time};

/// Attempts are counted for so long, from the first on.
const WINDOW: Span = Span::from_mins(1);
/// Counters; each takes 16 bytes. Two subjects seldom share one: hashing passwords allows a few thousand attempts a minute.
const COUNTERS: usize = 1 << 16;

/// Whose attempts are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Subject<'a> {
    /// All from an address, whatever name they try.
    Address(IpAddr),
    /// All for a name, wherever they come from.
    Name(&'a str),
    /// Those from an address for a name.
    NameFrom(&'a str, Option<IpAddr>),
    /// Those of a device that has logged in with this name before.
    Device(&'a str),
    /// Those of somebody who is logged in as this user, and gives the password once more.
    Account(i64),
    /// Sign-ins from an address by an OpenID Connect provider, begun or ended.
    #[cfg(feature = "oidc")]
    Provider(Option<IpAddr>),
}

impl Subject<'_> {
    /// How many attempts a minute.
    const fn limit(&self) -> u32 {
        match self {
            Self::NameFrom(..) | Self::Account(_) => 5,
            Self::Device(_) => 10,
            Self::Address(_) => 20,
            Self::Name(_) => 50,
            #[cfg(feature = "oidc")]
            Self::Provider(_) => 30,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Counter {
    count: u32,
    since: Time,
}

/// The counters of a process.
pub(super) struct LoginLimits {
    counters: Mutex<Vec<Counter>>,
    hasher: RandomState,
}

impl Default for LoginLimits {
    fn default() -> Self {
        Self { counters: Mutex::default(), hasher: RandomState::new() }
    }
}

/// An attempt that was counted. Dropped, it stays counted: whoever hangs up early has guessed all the same.
#[must_use = "a success must be given back"]
pub(super) struct Attempt {
    places: Vec<usize>,
}

impl LoginLimits {
    /// Counts an attempt against each of these subjects, or says how long to wait.
    pub(super) fn count(&self, subjects: &[Subject<'_>], now: Time) -> Result<Attempt, Span> {
        let places = subjects.iter().map(|subject| self.place(subject)).collect::<Vec<_>>();
        let mut counters = self.lock();
        for (subject, place) in subjects.iter().zip(&places) {
            let Counter { count, since } = counters[*place];
            if is_current(since, now) && count >= subject.limit() {
                return Err((since + WINDOW).since(now));
            }
        }
        for place in &places {
            let counter = &mut counters[*place];
            if !is_current(counter.since, now) {
                *counter = Counter { count: 0, since: now };
            }
            counter.count = counter.count.saturating_add(1);
        }
        Ok(Attempt { places })
    }

    /// Takes back an attempt that was no guess.
    pub(super) fn give_back(&self, attempt: Attempt) {
        let mut counters = self.lock();
        for place in attempt.places {
            counters[place].count = counters[place].count.saturating_sub(1);
        }
    }

    /// Forgets what was counted for a subject.
    pub(super) fn forget(&self, subject: &Subject<'_>) {
        let place = self.place(subject);
        self.lock()[place].count = 0;
    }

    fn place(&self, subject: &Subject<'_>) -> usize {
        let subject = match *subject {
            Subject::Address(address) => Subject::Address(network_of(address)),
            Subject::NameFrom(name, address) => Subject::NameFrom(name, address.map(network_of)),
            #[cfg(feature = "oidc")]
            Subject::Provider(address) => Subject::Provider(address.map(network_of)),
            other => other,
        };
        // Both are powers of two.
        self.hasher.hash_one(subject) as usize % COUNTERS
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Counter>> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        if counters.is_empty() {
            // Not before it is needed: most commands never log anybody in.
            *counters = vec![Counter { count: 0, since: Time::from_millis(0) }; COUNTERS];
        }
        counters
    }
}

fn is_current(since: Time, now: Time) -> bool {
    since <= now && now.since(since) < WINDOW
}

/// One customer has a whole /64 of IPv6 addresses.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_millis(1_000_000_000 + seconds * 1000)
    }

    #[test]
    fn each_subject_has_its_own_limit_and_window() {
        let limits = LoginLimits::default();
        let address = "192.0.2.1".parse().unwrap();
        let subjects =
            [Subject::Address(address), Subject::Name("ada"), Subject::NameFrom("ada", Some(address))];
        for _ in 0..5 {
            drop(limits.count(&subjects, at(0)).unwrap());
        }
        assert_eq!(limits.count(&subjects, at(20)).err(), Some(Span::from_secs(40)));
        let elsewhere = "192.0.2.2".parse().unwrap();
        let others =
            [Subject::Address(elsewhere), Subject::Name("ada"), Subject::NameFrom("ada", Some(elsewhere))];
        assert!(limits.count(&others, at(20)).is_ok(), "another address is not locked out");
        assert!(limits.count(&subjects, at(60)).is_ok(), "the window is over");
        assert!(limits.count(&subjects, at(-100)).is_ok(), "a clock that was set back locks nobody out");
    }

    #[test]
    fn names_are_limited_over_all_addresses_and_addresses_over_all_names() {
        let limits = LoginLimits::default();
        let guess = |name: &'static str, n: u32| {
            let address = IpAddr::from([10, 0, (n / 256) as u8, n as u8]);
            let subjects =
                [Subject::Address(address), Subject::Name(name), Subject::NameFrom(name, Some(address))];
            limits.count(&subjects, at(0)).is_ok()
        };
        assert_eq!((0..100).filter(|n| guess("ada", *n)).count(), 50);
        let address: IpAddr = "2001:db8::1".parse().unwrap();
        let names: Vec<String> = (0..100).map(|n| format!("name {n}")).collect();
        let tried = names.iter().enumerate().filter(|(n, name)| {
            // The same network, whatever its last half.
            let address = IpAddr::V6(Ipv6Addr::from_bits(match address {
                IpAddr::V6(address) => address.to_bits() + *n as u128,
                IpAddr::V4(_) => 0,
            }));
            limits.count(&[Subject::Address(address), Subject::Name(name)], at(0)).is_ok()
        });
        assert_eq!(tried.count(), 20);
    }

    #[test]
    fn a_success_counts_for_nothing() {
        let limits = LoginLimits::default();
        for _ in 0..100 {
            let attempt = limits.count(&[Subject::Name("ada"), Subject::Device("d")], at(0)).unwrap();
            limits.give_back(attempt);
        }
        let refused = (0..11).filter(|_| limits.count(&[Subject::Device("d")], at(0)).is_err()).count();
        assert_eq!(refused, 1);
        limits.forget(&Subject::Device("d"));
        assert!(limits.count(&[Subject::Device("d")], at(0)).is_ok());
    }
}
