//! Deliberate faults, and their rates.

use std::io;

use crate::words::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 404.
    NotFound,
    /// 500.
    ServerError,
    /// 429, with a `Retry-After` of two minutes.
    RateLimited,
    /// No response until the client gives up.
    Timeout,
    /// Half a response, then a reset.
    Reset,
}

impl Fault {
    pub const ALL: [Fault; 5] =
        [Fault::NotFound, Fault::ServerError, Fault::RateLimited, Fault::Timeout, Fault::Reset];

    /// The name in options and in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Fault::NotFound => "not_found",
            Fault::ServerError => "server_error",
            Fault::RateLimited => "rate_limited",
            Fault::Timeout => "timeout",
            Fault::Reset => "reset",
        }
    }

    pub fn by_name(name: &str) -> Option<Fault> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// The share of requests with each fault, from 0 to 1; together at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates([f64; Fault::ALL.len()]);

impl Rates {
    pub fn set(&mut self, fault: Fault, share: f64) {
        self.0[fault as usize] = share;
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        let valid =
            self.0.iter().all(|share| (0.0..=1.0).contains(share)) && self.0.iter().sum::<f64>() <= 1.0;
        if valid {
            Ok(())
        } else {
            Err(io::Error::other("fault rates must be between 0 and 1, and their sum at most 1"))
        }
    }

    /// The fault of the `nth` request for a feed, which depends on nothing else.
    pub(crate) fn draw(&self, seed: u64, feed: u32, nth: u64) -> Option<Fault> {
        if self.0 == [0.0; Fault::ALL.len()] {
            return None;
        }
        let mut left = Random::new(seed ^ 0xfa01, u64::from(feed), nth).share();
        Fault::ALL.into_iter().find(|fault| {
            left -= self.0[*fault as usize];
            left < 0.0
        })
    }
}
