//! `gleaner poll` over many sources: all of them, once each, with a summary, on either way.

use std::process::Stdio;

use gleaner::clock::{Clock as _, SystemClock};
use gleaner::store::{ClaimRequest, Options, SourceFilter, open};
use gleaner_core::time::Span;
use tokio::runtime::Runtime;

use super::IntoRun as _;
use super::site::{Site, on_both_ways};
use crate::support::http::{Reply, Server};

on_both_ways!(
    all_sources_of_one_host_are_polled,
    failed_polls_are_named_and_fail_the_command,
    held_sources_are_reported_and_forced,
);

fn feed(n: usize) -> String {
    format!(
        "<rss version='2.0'><channel><title>Feed {n}</title><item><guid>{n}</guid><title>One of {n}</title></item></channel></rss>"
    )
}

fn web() -> (Runtime, Server) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    (runtime, server)
}

/// Imports `count` feeds of one host.
fn import(site: &Site, server: &Server, count: usize) {
    let line =
        |n: usize| format!("{{\"url\":\"{}\",\"backfill\":\"all\"}}\n", server.url(&format!("/feed/{n}")));
    site.run_with(&["import", "-"], &(0..count).map(line).collect::<String>()).ok();
}

fn all_sources_of_one_host_are_polled(site: &Site) {
    let (_runtime, server) = web();
    for n in 0..60 {
        server.on(&format!("/feed/{n}"), Reply::ok(feed(n)).header("etag", "\"1\""));
    }
    import(site, &server, 60);
    let told = site.run(&["poll", "--all", "--wait"]).ok();
    // A server may have polled some of them before it was asked to.
    assert!(told.lines().last().unwrap().starts_with("60 polled: "), "{told}");
    let stored = site.run(&["posts", "--json", "--limit", "100"]).ok();
    assert_eq!(stored.lines().count(), 60);
    assert_eq!(server.most_at_once(), 1, "one host, one request at a time");
    let again = site.run(&["poll", "--all", "--wait"]).ok();
    assert_eq!(again, "60 polled: 60 unchanged\n");
}

fn failed_polls_are_named_and_fail_the_command(site: &Site) {
    let (_runtime, server) = web();
    server.on("/feed/0", Reply::ok(feed(0)));
    server.on("/feed/1", Reply::status(503));
    import(site, &server, 2);
    let run = site.run(&["poll", "--all", "--wait"]);
    assert_eq!(run.code, 1, "{}", run.out);
    let line = format!("{}: failed: 503 Service Unavailable\n", server.url("/feed/1"));
    assert!(run.out.contains(&line), "{}", run.out);
    assert!(
        run.out.lines().last().unwrap().starts_with("2 polled: ") && run.out.ends_with("1 failed\n"),
        "{}",
        run.out
    );
    assert_eq!(run.err, "error: 1 failed; each is named above\n");
    let alone = site.run(&["poll", "2", "--wait"]);
    assert_eq!((alone.code, alone.out.as_str()), (1, line.as_str()));
    let json = site.run(&["poll", "2", "--wait", "--json"]);
    let poll: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&poll["outcome"], &poll["error_type"]), (&"failed".into(), &"upstream_failure".into()));
    assert_eq!((json.code, poll["source_id"].as_i64()), (1, Some(2)));
}

fn held_sources_are_reported_and_forced(site: &Site) {
    let (_runtime, server) = web();
    server.on("/feed/0", Reply::status(503).header("retry-after", "3600"));
    server.on("/feed/1", Reply::ok(feed(1)));
    import(site, &server, 2);
    assert_eq!(site.run(&["poll", "--all", "--wait"]).code, 1);
    let asked = server.requests().len();
    let run = site.run(&["poll", "1", "2", "--wait"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.ends_with("1 polled: 1 unchanged, 1 held\n"), "{}", run.out);
    assert!(
        run.err.contains("left alone until") && run.err.contains(server.url("/feed/0").as_str()),
        "{}",
        run.err
    );
    let alone = site.run(&["poll", "1", "--wait"]).failed(4);
    assert!(alone.contains("left alone until"), "{alone}");
    assert_eq!(server.requests().len(), asked + 1, "the one that is held was not asked");
    server.on("/feed/0", Reply::ok(feed(0)));
    let forced = site.run(&["poll", "1", "2", "--wait", "--force"]).ok();
    assert!(
        forced.starts_with(&format!("{}: 1 new, 0 changed\n", server.url("/feed/0")))
            || forced.contains("2 polled"),
        "{forced}"
    );
    assert_eq!(site.run(&["list", "--status", "failing"]).ok(), "no such sources\n");
}

#[test]
fn an_interrupted_run_gives_its_leases_back() {
    let site = Site::local();
    let (runtime, server) = web();
    server.on("/feed/0", Reply::raw("").stall());
    server.on("/feed/1", Reply::ok(feed(1)));
    import(&site, &server, 2);
    let mut command = site.command(&["poll", "--all"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    runtime.block_on(server.until_asked("/feed/0", 1));
    let stopped =
        std::process::Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(stopped.success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("interrupted") && told.contains("2 not polled"), "{told}");
    runtime.block_on(async {
        let url = site.place.path().join("gleaner.db").display().to_string();
        let store = open(&Options::new(url)).await.unwrap();
        let ids: Vec<i64> = store
            .sources(&SourceFilter::default(), None, 10)
            .await
            .unwrap()
            .iter()
            .map(|source| source.id)
            .collect();
        let now = SystemClock.now();
        let request = ClaimRequest::all(now, Span::from_secs(60), "other", 1, 9);
        let claims = store.claim_sources(&ids, &request).await.unwrap();
        assert_eq!(
            claims.iter().map(|claim| claim.sources.len()).sum::<usize>(),
            2,
            "free for others at once"
        );
    });
}

#[test]
fn pages_of_a_watchlist_are_fetched_too() {
    let site = Site::local();
    let (_runtime, server) = web();
    let text = "A sentence of some length that makes an article of this page. ".repeat(20);
    let link = |n| format!("<h2><a href='/article/{n}'>The story of number {n}</a></h2>");
    server.on(
        "/blog",
        Reply::ok(format!("<html><body>{}</body></html>", (1..=3).map(link).collect::<String>())),
    );
    for n in 1..=3 {
        let page = format!(
            "<html><title>Story {n}</title><body><article><h1>Story {n}</h1><p>{n} {text}</p></article></body></html>"
        );
        server.on(&format!("/article/{n}"), Reply::ok(page));
    }
    let url = server.url("/blog").to_string();
    site.run(&["add", &url, "--kind", "watchlist", "--unchecked"]).ok();
    let told = site.run(&["poll", "--all"]).ok();
    assert_eq!(told, "1 polled: 1 unchanged\n3 new posts from article pages\n");
    assert_eq!(site.run(&["posts", "--json"]).ok().lines().count(), 3);
    assert_eq!(server.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_are_polled_side_by_side() {
    const HOSTS: u8 = 12;
    let site = Site::local();
    let mut servers = Vec::new();
    for n in 1..=HOSTS {
        servers.push(Server::start_on([127, 0, 1, n]).await);
    }
    // Nobody answers before all were asked.
    let asked = std::sync::Arc::new(std::sync::Barrier::new(usize::from(HOSTS)));
    for server in &servers {
        let asked = std::sync::Arc::clone(&asked);
        server.on_all(move |_| {
            tokio::task::block_in_place(|| asked.wait());
            Reply::ok(feed(1))
        });
    }
    let lines: String =
        servers.iter().map(|server| format!("{{\"url\":\"{}\"}}\n", server.url("/feed"))).collect();
    site.run_with(&["import", "-"], &lines).ok();
    let command = site.command(&["poll", "--all"]);
    let run = tokio::task::spawn_blocking(move || command.into_run()).await.unwrap();
    assert_eq!((run.code, run.out.contains("12 polled: ")), (0, true), "{}{}", run.out, run.err);
}
