//! The farm that everybody polls, in a process of its own, and what its ledger must say after a round.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use farm::{Farm, Options};

use crate::Failed;
use crate::child::Child;

/// A farm that is running.
pub(crate) struct Grounds {
    _process: Child,
    control: String,
    pub(crate) feeds: u64,
    /// Entries in all documents together.
    pub(crate) entries: u64,
}

/// Serves until its input ends.
pub(crate) fn serve(options: Options, urls: &Path) -> Result<(), Failed> {
    let farm = Farm::start(options)?;
    std::fs::write(urls, farm.urls().join("\n"))?;
    println!("ready");
    println!("{}", farm.control());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

impl Grounds {
    /// Starts a farm, which writes its URLs to a file, one a line.
    pub(crate) fn start(feeds: u32, urls: &Path) -> Result<Self, Failed> {
        Self::with(&Options { feeds, ..Options::default() }, urls)
    }

    /// The same with other entries, or slower.
    pub(crate) fn with(options: &Options, urls: &Path) -> Result<Self, Failed> {
        let [feeds, entries, latency] =
            [u64::from(options.feeds), options.entries.into(), options.latency_ms].map(|n| n.to_string());
        let mut process = Child::start(&["farm", &feeds, &entries, &latency, &urls.display().to_string()])?;
        let control = process.line()?;
        let mut grounds = Self { _process: process, control, feeds: options.feeds.into(), entries: 0 };
        grounds.entries = number(&grounds.ask("/expected")?, "entries")?;
        Ok(grounds)
    }

    /// Renders and serves another generation: each has one entry that the one before had not.
    pub(crate) fn set_generation(&self, generation: u32) -> Result<(), Failed> {
        self.ask(&format!("/generation?n={generation}")).map(drop)
    }

    /// Forgets who asked.
    pub(crate) fn reset(&self) -> Result<(), Failed> {
        self.ask("/reset").map(drop)
    }

    /// What the farm itself has cost so far.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, Failed> {
        number(&self.ask("/cpu")?, "cpu_s")
    }

    /// Fails unless each of the first `asked` feeds was asked exactly `times`, and answered as it should be.
    pub(crate) fn check(&self, asked: u64, times: u64, not_modified: bool) -> Result<(), Failed> {
        let ledger = self.ask("/ledger")?;
        let answered = if not_modified { "not_modified" } else { "full" };
        let wanted = [
            ("asked", asked),
            ("requests", asked * times),
            ("most_requests", times),
            (answered, asked * times),
            ("most_at_once", 1),
            ("faults", 0),
            ("misdirected", 0),
        ];
        for (name, wanted) in wanted {
            let found: u64 = number(&ledger, name)?;
            if found != wanted {
                return Err(format!("the farm's ledger says {name} {found}, not {wanted}: {ledger}").into());
            }
        }
        Ok(())
    }

    fn ask(&self, path: &str) -> Result<String, Failed> {
        let mut stream = TcpStream::connect(&self.control)?;
        write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let body = answer.strip_prefix("HTTP/1.1 200 ").and_then(|rest| rest.split_once("\r\n\r\n"));
        body.map(|(_, body)| body.to_owned()).ok_or_else(|| format!("{path}: {answer}").into())
    }
}

/// A number of a flat JSON object.
fn number<T: std::str::FromStr>(json: &str, name: &str) -> Result<T, Failed> {
    let value = json.split(&format!("\"{name}\":")).nth(1).and_then(|rest| rest.split([',', '}']).next());
    value.and_then(|value| value.parse().ok()).ok_or_else(|| format!("no {name} in {json}").into())
}
