//! The attacked process.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Error;
use crate::http::{Answer, request, send};

/// Timeout of requests that are not expected to be slow.
const WAIT: Duration = Duration::from_secs(60);

pub(crate) struct Gleaner {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    _directory: tempfile::TempDir,
}

impl Drop for Gleaner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary from `GLEANER_BIN`, or else the latest build, preferring release builds.
fn binary() -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os("GLEANER_BIN") {
        return Ok(path.into());
    }
    let target = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"));
    let built = ["release", "debug"].map(|profile| target.join(profile).join("gleaner"));
    let found = built.into_iter().find(|path| path.exists());
    found.ok_or_else(|| "there is no binary: run cargo build --release first".into())
}

impl Gleaner {
    pub(crate) async fn start(settings: &[&str]) -> Result<Self, Error> {
        let (directory, path) = (tempfile::tempdir()?, binary()?);
        println!("binary {}", path.display());
        let mut command = Command::new(path);
        command.arg("serve").env_clear().env("HOME", directory.path());
        command.env("GLEANER_STORE__URL", directory.path().join("gleaner.db"));
        for setting in settings {
            command.args(["--set", setting]);
        }
        let log = std::fs::File::create(std::env::temp_dir().join("gleaner-attack.log"))?;
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("no output")?;
        BufReader::new(out).read_line(&mut line)?;
        let (base, code) = line.trim().split_once("/login?code=").ok_or("no login link was printed")?;
        let address: SocketAddr = base.rsplit_once("http://").ok_or("no address was printed")?.1.parse()?;
        let mut gleaner = Self { child, address, token: String::new(), _directory: directory };
        let login = gleaner.send("POST", "/login", Some(&format!("{{\"code\":\"{code}\"}}"))).await?;
        login.field("token").ok_or("the link does not log in")?.clone_into(&mut gleaner.token);
        Ok(gleaner)
    }

    /// A request below `/api/v1`, as an admin.
    pub(crate) async fn send(&self, method: &str, path: &str, json: Option<&str>) -> Result<Answer, Error> {
        self.send_as(method, path, json.map(|json| ("application/json", json))).await
    }

    pub(crate) async fn send_as(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Result<Answer, Error> {
        let token = Some(self.token.as_str()).filter(|token| !token.is_empty());
        let request = request(method, &format!("/api/v1{path}"), token, body);
        Ok(send(Ipv4Addr::LOCALHOST, self.address, &request, WAIT).await?)
    }

    /// Resident memory in megabytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
    }

    /// Sends SIGTERM; returns how long stopping took, or `None` if the process had to be killed.
    pub(crate) async fn stop(&mut self, wait: Duration) -> Result<Option<Duration>, Error> {
        let begun = Instant::now();
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        while begun.elapsed() < wait {
            if self.child.try_wait()?.is_some() {
                return Ok(Some(begun.elapsed()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(None)
    }
}
