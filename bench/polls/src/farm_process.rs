//! The feed farm in its own process, and checks of its ledger after a round.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use farm::{Farm, Options};

use crate::Error;
use crate::child::Child;

/// A running farm.
pub(crate) struct FarmProcess {
    _process: Child,
    control: String,
    pub(crate) feeds: u64,
    /// Total number of entries.
    pub(crate) entries: u64,
}

/// Serves until its input ends.
pub(crate) fn serve(options: Options, urls: &Path) -> Result<(), Error> {
    let farm = Farm::start(options)?;
    std::fs::write(urls, farm.urls().join("\n"))?;
    println!("ready");
    println!("{}", farm.control());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

impl FarmProcess {
    /// Starts a farm, which writes its URLs to a file, one per line.
    pub(crate) fn start(feeds: u32, urls: &Path) -> Result<Self, Error> {
        Self::with(&Options { feeds, ..Options::default() }, urls)
    }

    /// The same with other options.
    pub(crate) fn with(options: &Options, urls: &Path) -> Result<Self, Error> {
        let [feeds, entries, latency] =
            [u64::from(options.feeds), options.entries.into(), options.latency_ms].map(|n| n.to_string());
        let mut process = Child::start(&["farm", &feeds, &entries, &latency, &urls.display().to_string()])?;
        let control = process.line()?;
        let mut farm_process = Self { _process: process, control, feeds: options.feeds.into(), entries: 0 };
        farm_process.entries = number(&farm_process.request("/expected")?, "entries")?;
        Ok(farm_process)
    }

    /// Serves another generation: each has one entry more than the previous one.
    pub(crate) fn set_generation(&self, generation: u32) -> Result<(), Error> {
        self.request(&format!("/generation?n={generation}")).map(drop)
    }

    /// Clears the ledger.
    pub(crate) fn reset(&self) -> Result<(), Error> {
        self.request("/reset").map(drop)
    }

    /// CPU seconds of the farm so far.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, Error> {
        number(&self.request("/cpu")?, "cpu_s")
    }

    /// Fails unless each of the first `requested` feeds was requested exactly `times`, and answered as expected.
    pub(crate) fn check(&self, requested: u64, times: u64, not_modified: bool) -> Result<(), Error> {
        let ledger = self.request("/ledger")?;
        let answered = if not_modified { "not_modified" } else { "full" };
        let wanted = [
            ("requested", requested),
            ("requests", requested * times),
            ("most_requests", times),
            (answered, requested * times),
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

    fn request(&self, path: &str) -> Result<String, Error> {
        let mut stream = TcpStream::connect(&self.control)?;
        write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let body = answer.strip_prefix("HTTP/1.1 200 ").and_then(|rest| rest.split_once("\r\n\r\n"));
        body.map(|(_, body)| body.to_owned()).ok_or_else(|| format!("{path}: {answer}").into())
    }
}

/// A number in a flat JSON object.
fn number<T: std::str::FromStr>(json: &str, name: &str) -> Result<T, Error> {
    let value = json.split(&format!("\"{name}\":")).nth(1).and_then(|rest| rest.split([',', '}']).next());
    value.and_then(|value| value.parse().ok()).ok_or_else(|| format!("no {name} in {json}").into())
}
