//! `gleaner doctor`: whether everything is there that gleaner needs.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::Method;
use serde_json::json;
use tokio::net::TcpListener;
use url::Url;

use super::client::Sent;
use super::remote::Remote;
use super::table::shortened;
use super::{Context, Failure};
use crate::config::Config;
use crate::printable::escape_json;
use crate::service::{Finding, State, examine};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to fetch, to see whether the world can be reached
    #[arg(long, value_name = "URL", default_value = "https://example.com/")]
    url: String,
    /// Ask only the gleaner that listens at api.listen whether it is alive, as a container's health check does
    #[arg(long, conflicts_with = "url")]
    live: bool,
    /// For programs: JSON instead of words
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    context.must_be_local("doctor")?;
    if args.live {
        let config = context.loaded.config.clone();
        return live(&config, args.json, context).await;
    }
    let url =
        Url::parse(&args.url).map_err(|error| Failure::Usage(format!("--url {}: {error}", args.url)))?;
    let config = context.loaded.config.clone();
    let mut findings = vec![match context.loaded.warnings.len() {
        0 => Finding::ok("config", "the configuration is right"),
        n => Finding::warning(
            "config",
            format!("{n} warnings, see above"),
            "`gleaner config` shows what is set",
        ),
    }];
    findings.extend(examine(&config, &url).await);
    findings.push(address(&config).await);
    tell(&findings, args.json, context)?;
    match findings.iter().filter(|finding| finding.state == State::Wrong).count() {
        0 => Ok(()),
        n => {
            context.out.flush()?;
            Err(Failure::Failed(format!("{n} of {} things are wrong", findings.len())))
        }
    }
}

/// What there is to say where the configuration cannot even be read.
pub(super) fn of_config(args: &Args, why: &str, out: &mut dyn std::io::Write) -> Result<(), Failure> {
    let finding = Finding::wrong("config", why, "`gleaner config` lists what can be set, and to what");
    if args.json {
        writeln!(out, "{}", escape_json(&format!("{:#}", json!({ "findings": [finding] }))))?;
    } else {
        write!(out, "{}", line(&finding))?;
    }
    out.flush()?;
    Err(Failure::Failed("the configuration is wrong, so nothing else was looked at".to_owned()))
}

fn tell(findings: &[Finding], json: bool, context: &mut Context<'_>) -> Result<(), Failure> {
    if json {
        return context.json(&json!({ "findings": findings }));
    }
    for finding in findings {
        context.out.write_all(line(finding).as_bytes())?;
    }
    Ok(())
}

fn line(finding: &Finding) -> String {
    let state = match finding.state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Wrong => "WRONG",
    };
    let found: Vec<String> = finding.found.lines().map(|line| shortened(line, 2000)).collect();
    let advice = finding.advice.as_ref().map(|advice| format!("{:19}do: {advice}\n", "")).unwrap_or_default();
    format!("{:9} {state:8} {}\n{advice}", finding.what, found.join(&format!("\n{:19}", "")))
}

/// Whether the API can listen where it is to, or does already.
async fn address(config: &Config) -> Finding {
    let listen = config.api.listen;
    let error = match TcpListener::bind(listen).await {
        Ok(_) => return Finding::ok("address", format!("{listen} is free for the API")),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::AddrInUse && is_ours(&format!("http://{listen}")).await {
        return Finding::ok("address", format!("a gleaner answers at {listen}"));
    }
    let advice = "stop what listens there, or set api.listen to another address";
    Finding::wrong("address", format!("{listen} cannot be listened on: {error}"), advice)
}

/// Asks the gleaner on this machine whether it is alive.
async fn live(config: &Config, json: bool, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut listen = config.api.listen;
    if listen.ip().is_unspecified() {
        listen.set_ip(if listen.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    let remote = Remote::new(&format!("http://{listen}"), "doctor")?;
    match remote.ask(Method::GET, "/healthz", Sent::Nothing).await? {
        (200, _) => context.say(json, &json!({ "live": true }), &format!("gleaner is alive at {listen}")),
        (status, _) => Err(Failure::Unreachable(format!("{listen} answered /healthz with status {status}"))),
    }
}

/// Only gleaner refuses a bad token in these words.
async fn is_ours(base: &str) -> bool {
    let Ok(remote) = Remote::new(base, "doctor") else { return false };
    match remote.ask(Method::GET, "/api/v1/me", Sent::Nothing).await {
        Ok((401, body)) => serde_json::from_slice::<serde_json::Value>(&body)
            .is_ok_and(|problem| problem["code"] == "unauthenticated"),
        _ => false,
    }
}
