//! Options of a farm.

use std::io;
use std::net::Ipv4Addr;

use crate::fault::Rates;

#[derive(Debug, Clone)]
pub struct Options {
    pub feeds: u32,
    /// Number of hosts; at most one per feed.
    pub hosts: u32,
    /// The port of all addresses; 0 chooses a free one.
    pub port: u16,
    /// Seed of all texts.
    pub seed: u64,
    /// Average entries per feed; each has up to a fifth more or fewer.
    pub entries: u32,
    /// Publication time of the first entry of generation 1, in seconds since 1970.
    pub epoch: u64,
    /// Delay of each response.
    pub latency_ms: u64,
    /// `Cache-Control: max-age` in seconds, if any.
    pub max_age: Option<u64>,
    /// How long an idle connection stays open.
    pub keep_alive_ms: u64,
    /// Fault rates.
    pub rates: Rates,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            feeds: 100,
            hosts: u32::MAX,
            port: 0,
            seed: 1,
            entries: 25,
            // 2026-11-15T00:00:00Z
            epoch: 1_794_700_800,
            latency_ms: 0,
            max_age: None,
            keep_alive_ms: 5000,
            rates: Rates::default(),
        }
    }
}

impl Options {
    /// The actual number of hosts.
    pub(crate) fn hosts(&self) -> u32 {
        self.hosts.min(self.feeds).max(1)
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        // 127.1.0.0 to 127.255.255.255: the first 65,536 addresses are left to other programs.
        if self.hosts() > 0x00fe_0000 {
            return Err(io::Error::other("127.0.0.0/8 has no room for so many hosts"));
        }
        self.rates.check()
    }

    pub(crate) fn address(host: u32) -> Ipv4Addr {
        Ipv4Addr::from(0x7f01_0001 + host)
    }

    /// The host of a feed.
    pub(crate) fn host_of(&self, feed: u32) -> u32 {
        feed % self.hosts()
    }

    pub(crate) fn url(&self, feed: u32, port: u16) -> String {
        format!("http://{}:{port}/feed/{feed}.xml", Self::address(self.host_of(feed)))
    }

    /// 30 % are Atom.
    pub(crate) fn is_atom(feed: u32) -> bool {
        feed % 10 >= 7
    }

    /// The number of entries of a feed, which is the same in every generation.
    pub(crate) fn entries_of(&self, feed: u32) -> u32 {
        let spread = self.entries / 5;
        self.entries - spread + feed % (2 * spread + 1)
    }
}
