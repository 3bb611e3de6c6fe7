//! `posts`, `events` and `key`, on either way.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use tokio::runtime::Runtime;

use super::site::{Site, on_both_ways};
use crate::support::http::{Reply, Server};

on_both_ways!(
    nothing_from_outside_reaches_a_terminal_hidden,
    posts_are_listed_and_searched,
    events_are_listed,
    events_are_followed,
    keys_are_set
);

const FEED: &str = "<rss version='2.0'><channel><title>News</title>\
    <item><guid>1</guid><title>Whales sing</title><link>https://a.example/1</link>\
    <description>Deep in the sea\u{1b}[2J.</description></item>\
    <item><guid>2</guid><title>Owls hoot</title></item></channel></rss>";

/// A site with one source that was polled.
fn polled(site: &Site) -> (Runtime, Server) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    server.on("/feed", Reply::ok(FEED));
    site.run(&["add", server.url("/feed").as_str()]).ok();
    let run = site.run(&["poll", "1", "--wait"]);
    assert_eq!(run.code, 0, "{}", run.err);
    (runtime, server)
}

/// Every command that prints what a feed or a person wrote, with what must not be printed in all of it.
fn nothing_from_outside_reaches_a_terminal_hidden(site: &Site) {
    const HIDDEN: [char; 8] =
        ['\u{1b}', '\u{9b}', '\u{7}', '\r', '\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}'];
    let evil = |text: &str| format!("{text}{}", HIDDEN.iter().collect::<String>());
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    let item = format!(
        "<guid>1</guid><title>{0}</title><description>{0}</description><author>{0}</author>",
        evil("words")
    );
    let feed = format!(
        "<rss version='2.0'><channel><title>{}</title><item>{item}</item></channel></rss>",
        evil("News")
    );
    server.on("/feed", Reply::ok(&feed));
    let page = format!(
        "<html><title>{0}</title><article><h1>{0}</h1><p>{0} {1}</p></article>",
        evil("T"),
        "long text. ".repeat(80)
    );
    server.on("/page", Reply::ok(&page).header("Content-Type", "text/html"));
    site.run(&["collection", "create", &format!("c{}", '\u{200b}')]);
    site.run(&["add", server.url("/feed").as_str(), "--name", &format!("n{}", '\u{202e}')]);
    site.run(&["poll", "1", "--wait"]).ok();
    let page = server.url("/page").to_string();
    let feed = server.url("/feed").to_string();
    let commands: [&[&str]; 16] = [
        &["list"],
        &["list", "--json"],
        &["show", "1"],
        &["show", "1", "--json"],
        &["explain", "1"],
        &["posts"],
        &["posts", "1"],
        &["posts", "--json"],
        &["events"],
        &["events", "--json"],
        &["collection", "list"],
        &["export"],
        &["export", "--format", "json"],
        &["try", &feed],
        &["extract", &page],
        &["extract", &page, "--html"],
    ];
    for command in commands {
        let run = site.run(command);
        let shown = format!("{}{}", run.out, run.err);
        assert!(!shown.is_empty() && !shown.contains(HIDDEN), "{command:?}: {shown:?}");
        if command.contains(&"--json") {
            let lines = run.out.lines().filter(|line| line.starts_with('{') && line.ends_with('}'));
            lines.for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).unwrap()));
        }
    }
    let listed = site.run(&["list", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!(value["name"], "n\u{202e}", "programs lose nothing");
}

fn posts_are_listed_and_searched(site: &Site) {
    let _web = polled(site);
    let listed = site.run(&["posts"]).ok();
    assert!(listed.starts_with("id  source  published  title"), "{listed}");
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.contains("Whales sing  https://a.example/1"), "{listed}");
    let titles = |args: &[&str]| -> Vec<String> {
        let out = site.run(&[&["posts", "--json"], args].concat()).ok();
        let title =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["title"].to_string();
        out.lines().map(title).collect()
    };
    // A server makes posts known to the search a moment after they came.
    while titles(&["--search", "sea"]).is_empty() {}
    assert_eq!(titles(&["--search", "sea"]), ["\"Whales sing\""]);
    assert_eq!(titles(&["--source", "1", "--since", "1h"]).len(), 2);
    assert_eq!(titles(&["--limit", "1"]).len(), 1);
    let cut = site.run(&["posts", "--limit", "1"]).ok();
    assert!(cut.ends_with("the newest 1; --limit 0 lists all\n"), "{cut}");
    assert!(!site.run(&["posts", "--limit", "2"]).ok().contains("--limit"), "these are all");
    assert_eq!(titles(&["--collection", "default", "--limit", "0"]).len(), 2);
    assert_eq!(titles(&["--since", "2999-01-01"]).len(), 0);
    assert_eq!(site.run(&["posts", "--search", "nothing"]).ok(), "no posts\n");
    let id = site.run(&["posts", "--json", "--search", "whales"]).ok();
    let id = serde_json::from_str::<serde_json::Value>(&id).unwrap()["id"].to_string();
    let post = site.run(&["posts", &id]).ok();
    assert_eq!(post, "Whales sing\nhttps://a.example/1\n\nDeep in the sea[2J.\n");
    site.run(&["posts", "99"]).failed(3);
    let since = site.run(&["posts", "--since", "yesterday"]).failed(2);
    assert!(since.starts_with("error: --since yesterday: it is a time such as 2026-11-15"), "{since}");
}

fn events_are_listed(site: &Site) {
    let _web = polled(site);
    site.run_with(&["import", "-"], "<opml/>").ok();
    let wait = || loop {
        // A server numbers what happened a moment after it did.
        let told = site.run(&["events", "--type", "import.*", "--json"]).ok();
        if !told.is_empty() {
            return serde_json::from_str::<serde_json::Value>(&told).unwrap();
        }
    };
    let import = wait();
    assert_eq!(import["data"], serde_json::json!({ "added": 0, "duplicates": 0, "bad": 0 }));
    let told = site.run(&["events"]).ok();
    assert!(told.contains("post.created") && told.contains("import.finished"), "{told}");
    let about = site.run(&["events", "--source", "1", "--type", "post.created"]).ok();
    assert!(about.contains("Whales sing"), "{about}");
    site.run(&["events", "--type", "nonsense"]).failed(2);
    site.run(&["events", "--source", "9"]).failed(3);
}

fn events_are_followed(site: &Site) {
    // The database is made before two processes want it at once.
    assert_eq!(site.run(&["events"]).ok(), "nothing has happened yet\n");
    let mut command = site.command(&["events", "--follow", "--json", "--type", "import.finished"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for added in 0..2 {
        let list = format!("<opml><outline xmlUrl='https://{added}.example/'/></opml>");
        site.run_with(&["import", "-"], &list).ok();
    }
    let told: Vec<serde_json::Value> =
        lines.take(2).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        told.iter().all(|event| event["type"] == "import.finished" && event["data"]["added"] == 1),
        "{told:?}"
    );
    assert!(told[0]["id"].as_i64() < told[1]["id"].as_i64());
}

fn keys_are_set(site: &Site) {
    assert_eq!(site.run(&["key", "show", "x"]).ok(), "admin has no key for x\n");
    assert_eq!(site.run(&["key", "remove", "x"]).ok(), "admin's key for x is not there\n");
    assert_eq!(
        site.run_with(&["key", "set", "x"], "hunter2-hunter2\n").ok(),
        "admin's key for x is set; 0 sources that waited for it are due\n"
    );
    let shown = site.json(&["key", "show", "x"]);
    assert!(shown["updated_at"].is_string() && !shown.to_string().contains("hunter2"), "{shown}");
    assert_eq!(site.run(&["key", "remove", "x"]).ok(), "admin's key for x is removed\n");
    let wrong = site.run_with(&["key", "set", "y"], "abc").failed(2);
    assert_eq!(wrong, "error: 'y' is no service that takes a key; there are x\n");
}
