//! What goes wrong on purpose, and how often.

use std::io;

use crate::words::Random;

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 404.
    NotFound,
    /// 500.
    ServerError,
    /// 429, with a `Retry-After` of two minutes.
    RateLimited,
    /// No answer until the client gives up.
    Timeout,
    /// Half an answer, then a reset.
    Reset,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] =
        [Fault::NotFound, Fault::ServerError, Fault::RateLimited, Fault::Timeout, Fault::Reset];

    /// As options and the ledger call it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::NotFound => "not_found",
            Fault::ServerError => "server_error",
            Fault::RateLimited => "rate_limited",
            Fault::Timeout => "timeout",
            Fault::Reset => "reset",
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<Fault> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// The share of requests that meet each fault, from 0 to 1; together at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates([f64; Fault::ALL.len()]);

impl Rates {
    /// Sets the share of one.
    pub fn set(&mut self, fault: Fault, share: f64) {
        self.0[fault as usize] = share;
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        let sound =
            self.0.iter().all(|share| (0.0..=1.0).contains(share)) && self.0.iter().sum::<f64>() <= 1.0;
        if sound {
            Ok(())
        } else {
            Err(io::Error::other("rates of faults lie in 0..1, and sum up to at most 1"))
        }
    }

    /// What the `nth` request for a feed meets. The same every time, whatever else is asked in between.
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
