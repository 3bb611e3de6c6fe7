//! Where gleaner connects to: what is configured, and nothing else. There is no telemetry and no look for updates.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::site::Site;
use crate::support::http::{Reply, Server};
use crate::support::until;

/// Addresses in a trace of `connect` and `sendto`, as `address:port`; local sockets leave none.
fn addresses(trace: &str) -> Vec<String> {
    let quoted = |line: &str, before: &str| Some(line.split_once(before)?.1.split_once('"')?.0.to_owned());
    let address = |line: &str| {
        let port = line.split_once("sin_port=htons(").or_else(|| line.split_once("sin6_port=htons("))?;
        let port = port.1.split_once(')')?.0;
        let ip = quoted(line, "inet_addr(\"").or_else(|| quoted(line, "AF_INET6, \""))?;
        Some(format!("{ip}:{port}"))
    };
    trace.lines().filter_map(address).collect()
}

#[test]
fn it_connects_only_where_it_is_told_to() {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    server.on("/feed", Reply::ok("<rss version='2.0'><channel><title>News</title></channel></rss>"));
    let site = Site::local();
    site.run(&["add", server.url("/feed").as_str()]).ok();
    let gleaner = site.place.command(&["--config", "gleaner.toml", "serve"]);
    let mut traced = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", "trace"])
        .arg(gleaner.get_program())
        .args(gleaner.get_args())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", "/home/nobody-at-all")
        .current_dir(site.place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(traced.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"api\":")), "it says where it answers");
    std::thread::spawn(move || lines.for_each(drop));
    let trace = || std::fs::read_to_string(site.place.path().join("trace")).unwrap();
    let url = server.url("/");
    let expected = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    // Polled at once, since it was added by hand.
    runtime.block_on(until(
        Duration::from_secs(30),
        async || addresses(&trace()).contains(&expected).then_some(()),
        async || trace(),
    ));
    let recorded = async || site.json(&["show", "1"])["source"]["last_success_at"].as_str().map(|_| ());
    runtime.block_on(until(Duration::from_secs(30), recorded, async || trace()));
    // The traced process, which outlives its tracer: any thread of it will do.
    let pid = trace().split_whitespace().next().unwrap().to_owned();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    traced.wait().unwrap();
    let trace = trace();
    let found = addresses(&trace);
    let elsewhere: Vec<&String> = found.iter().filter(|address| **address != expected).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}\n{trace}");
}
