//! Whether everything is there that gleaner needs: each finding says what is so, and what to do where it is wrong.
//!
//! Looks only: nothing is made, migrated or put right.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use gleaner_core::outcome::{Cause, ErrorKind, Failure};
use gleaner_core::time::{Span, Time};
use serde::Serialize;
use url::{Host, Url};

use super::sign_in_checks;
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, StoreUrl};
use crate::fetch::{Fetcher, NetworkOverrides, Request};
use crate::hex;
use crate::store::maintenance;
use crate::vault::{Vault, VaultError, random};

/// Less room than this is a worry, and less than that wrong.
const LITTLE: u64 = 1 << 30;
const NONE: u64 = 100 << 20;
/// Clocks that are further apart than this are wrong.
const APART: Span = Span::from_mins(1);

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, but somebody should look at it.
    Warning,
    /// It does not work.
    Wrong,
}

/// What was found out about one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// How it is.
    pub state: State,
    /// What is so.
    pub found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, state: State::Ok, found: found.into(), advice: None }
    }

    /// Something to look at.
    pub fn warning(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, state: State::Warning, found: found.into(), advice: Some(advice.into()) }
    }

    /// Something does not work.
    pub fn wrong(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, state: State::Wrong, found: found.into(), advice: Some(advice.into()) }
    }
}

/// Looks at everything but the configuration, which was read before, and the API's address. `url` is fetched to see
/// whether the world can be reached.
pub async fn examine(config: &Config, url: &Url) -> Vec<Finding> {
    let looked = look_at_database(config).await;
    let mut findings = vec![looked.finding];
    if let StoreUrl::Sqlite(path) = &config.store.url {
        findings.push(room(path).await);
    }
    findings.push(key(config, looked.state.as_ref().map_or(0, |state| state.sealed)));
    findings.push(clock(config, looked.state.as_ref()));
    findings.extend(sign_in_checks::proxy_header(config));
    match Fetcher::new(&config.fetch, &NetworkOverrides::default()) {
        Ok(fetcher) => {
            findings.push(names(config, &fetcher, url).await);
            findings.push(world(&fetcher, url).await);
            findings.extend(sign_in_checks::provider(config, &fetcher).await);
        }
        Err(error) => {
            let advice = "check fetch.proxy, and that /etc/resolv.conf can be read";
            findings.push(Finding::wrong("http", error.to_string(), advice));
        }
    }
    findings
}

struct Looked {
    finding: Finding,
    state: Option<maintenance::DatabaseState>,
}

async fn look_at_database(config: &Config) -> Looked {
    let shown = config.store.url.to_string();
    let none = |finding| Looked { finding, state: None };
    let url = match &config.store.url {
        StoreUrl::Sqlite(path) if !path.exists() => return none(not_there_yet(path)),
        StoreUrl::Sqlite(path) => path.display().to_string(),
        StoreUrl::Postgres(url) => url.expose().to_string(),
    };
    let state = match maintenance::inspect(&url).await {
        Ok(state) => state,
        Err(error) => {
            let advice = match &config.store.url {
                StoreUrl::Sqlite(_) => {
                    "check the file that store.url names, who owns it, and what else uses it"
                }
                StoreUrl::Postgres(_) => {
                    "check that the server runs, and user, password and database in store.url"
                }
            };
            return none(Finding::wrong("database", format!("{shown}: {error}"), advice));
        }
    };
    let finding = match state.version {
        0 => Finding::ok("database", format!("{shown} is empty; `gleaner serve` sets it up")),
        version if version > state.known => Finding::wrong(
            "database",
            format!("{shown} has schema version {version}, and this gleaner knows only {}", state.known),
            "use the gleaner that wrote it, or a newer one",
        ),
        version if version < state.known => {
            let words =
                format!("{shown} has schema version {version}; the next start brings it to {}", state.known);
            Finding::ok("database", words)
        }
        version => {
            Finding::ok("database", format!("{shown} can be read and written; schema version {version}"))
        }
    };
    Looked { finding, state: Some(state) }
}

/// A database that is still to be made needs a directory that can be written.
fn not_there_yet(path: &Path) -> Finding {
    let marker = maintenance::marker(path);
    if marker.exists() {
        return Finding::wrong(
            "database",
            format!("{} is missing, but it was there before", path.display()),
            format!(
                "restore a backup with `gleaner restore`, put the file back, or delete {} to begin anew",
                marker.display()
            ),
        );
    }
    let directory = existing(path);
    match probe(&directory) {
        Ok(_) => {
            Finding::ok("database", format!("{} is not there yet; `gleaner serve` makes it", path.display()))
        }
        Err(error) => Finding::wrong(
            "database",
            format!("{} cannot be made: {}: {error}", path.display(), directory.display()),
            "make the directory writable, or name another place with store.url",
        ),
    }
}

/// The directory of a file, or the nearest above that exists.
fn existing(path: &Path) -> PathBuf {
    let mut above = path.ancestors().skip(1);
    match above.find(|directory| directory.is_dir()) {
        Some(directory) => directory.to_owned(),
        None => PathBuf::from("."),
    }
}

/// Writes a file, and tells when the file system thinks that was.
fn probe(directory: &Path) -> std::io::Result<Option<Time>> {
    let name = hex::encode(&random::<8>().unwrap_or_default());
    let path = directory.join(format!(".gleaner-doctor-{name}"));
    std::fs::write(&path, b"")?;
    let modified = std::fs::metadata(&path).and_then(|file| file.modified());
    std::fs::remove_file(&path)?;
    let since = modified?.duration_since(std::time::UNIX_EPOCH).ok();
    Ok(since.and_then(|since| i64::try_from(since.as_millis()).ok()).map(Time::from_millis))
}

/// How much room there is for the database to grow.
async fn room(path: &Path) -> Finding {
    let directory = existing(path);
    let told = tokio::task::spawn_blocking({
        let directory = directory.clone();
        move || std::process::Command::new("df").arg("-Pk").arg(&directory).output()
    });
    let text = match told.await {
        Ok(Ok(output)) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => return Finding::warning("disk", "how much room is left cannot be told", "look with `df`"),
    };
    // The fourth column of the second line, as POSIX has it.
    let free = text.lines().nth(1).and_then(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    let shown = directory.display();
    match free.map(|kilobytes| kilobytes.saturating_mul(1024)) {
        None => Finding::warning("disk", "how much room is left cannot be told", "look with `df`"),
        Some(free) => {
            let found = format!("{} MB free at {shown}", free >> 20);
            match free {
                ..NONE => Finding::wrong("disk", found, "free some space; without it nothing is recorded"),
                NONE..LITTLE => Finding::warning("disk", found, "free some space before it runs out"),
                _ => Finding::ok("disk", found),
            }
        }
    }
}

fn key(config: &Config, sealed: i64) -> Finding {
    let vault = Vault::for_store(&config.store);
    let place = vault.file().map_or("store.key".to_owned(), |file| file.display().to_string());
    match vault.has_key() {
        Ok(true) => Finding::ok("key", format!("{place} holds the key that secrets are encrypted with")),
        Ok(false) if sealed > 0 => Finding::wrong(
            "key",
            format!("{place} is missing, and {sealed} secrets in the database need it"),
            "put it back from a backup, or set all keys and credentials anew",
        ),
        Ok(false) => {
            Finding::ok("key", format!("{place} is not there yet; it is made when it is first needed"))
        }
        Err(error @ VaultError::Exposed { .. }) => Finding::wrong("key", error.to_string(), "do as it says"),
        Err(error) => {
            Finding::wrong("key", error.to_string(), "without it nobody can log in, and no key be kept")
        }
    }
}

/// What time it is here, for the database, for the file system, and by what is recorded.
fn clock(config: &Config, state: Option<&maintenance::DatabaseState>) -> Finding {
    let now = SystemClock.now();
    let apart = |other: Time| if other > now { other.since(now) } else { now.since(other) };
    let advice = "let the system keep its clock right, as with chrony or systemd-timesyncd";
    if let Some(state) = state {
        if apart(state.clock) > APART {
            let found = format!("here it is {now}, by the database's clock {}", state.clock);
            return Finding::wrong("clock", found, advice);
        }
        if let Some(latest) = state.latest.filter(|latest| *latest > now + APART) {
            let found = format!("here it is {now}, but something is recorded for {latest}");
            return Finding::wrong(
                "clock",
                found,
                format!("{advice}; was it ahead before, or is it behind now?"),
            );
        }
    }
    if let StoreUrl::Sqlite(path) = &config.store.url
        && let Ok(Some(written)) = probe(&existing(path))
        && apart(written) > APART
    {
        let found = format!("here it is {now}, by the file system of {} {written}", path.display());
        return Finding::wrong("clock", found, advice);
    }
    Finding::ok("clock", format!("it is {now}"))
}

async fn names(config: &Config, fetcher: &Fetcher, url: &Url) -> Finding {
    let name = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        _ => return Finding::ok("names", format!("{url} has no name to look up")),
    };
    if config.fetch.proxy.is_some() {
        return Finding::ok("names", "the proxy looks names up");
    }
    match fetcher.resolve(&name).await {
        Ok(addresses) => {
            let all = addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
            Finding::ok("names", format!("{name} is {all}"))
        }
        Err(failed) => {
            let failure = Failure::from(failed);
            Finding::wrong("names", format!("{name}: {}", failure.message), advice(&failure))
        }
    }
}

async fn world(fetcher: &Fetcher, url: &Url) -> Finding {
    let now = SystemClock.now();
    match fetcher.fetch(&Request { keep_connection: false, ..Request::new(url.clone()) }, now).await {
        Ok(response) => Finding::ok("http", format!("{url} answers with {} bytes", response.body.len())),
        Err(failed) => {
            let failure = Failure::from(failed);
            match failure.status {
                Some(status) => Finding::ok("http", format!("{url} answers, with status {status}")),
                None => Finding::wrong("http", format!("{url}: {}", failure.message), advice(&failure)),
            }
        }
    }
}

/// What a person can do about a network that does not work.
fn advice(failure: &Failure) -> &'static str {
    match failure.kind {
        ErrorKind::Network(Cause::Dns) => "if the name is right, check /etc/resolv.conf; or try --url",
        ErrorKind::Network(Cause::DnsUnavailable) => {
            "the name servers do not answer: check /etc/resolv.conf and the network"
        }
        ErrorKind::Network(Cause::Timeout | Cause::Connect | Cause::Reset) => {
            "check the network, the firewall, and whether a proxy is needed (fetch.proxy)"
        }
        ErrorKind::Network(Cause::Tls) => "check the clock, and whether something in between opens TLS",
        ErrorKind::Blocked => "fetch.allow_private_networks opens private networks; or try another --url",
        _ => "try another --url",
    }
}
