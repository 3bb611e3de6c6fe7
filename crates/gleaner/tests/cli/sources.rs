//! Sources from the command line: added, changed, shown, polled, explained and removed, on either way.

use tokio::runtime::Runtime;

use super::site::{Site, on_both_ways};
use crate::support::http::{Reply, Server};

on_both_ways!(
    sources_are_added_changed_and_removed,
    every_field_is_a_flag,
    many_sources_are_edited,
    a_credential_stays_with_its_origin,
    sources_are_polled_and_explained,
    sources_are_named_by_id_or_url,
    suspects_are_listed_and_explained,
    pages_are_tried,
);

const FEED: &str = "<rss version='2.0'><channel><title>News</title><item><guid>1</guid><title>One</title></item>\
    <item><guid>2</guid><title>Two</title></item></channel></rss>";

/// A web that runs beside the test, which waits for processes.
fn web() -> (Runtime, Server) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    (runtime, server)
}

fn suspects_are_listed_and_explained(site: &Site) {
    let (_runtime, server) = web();
    server.on("/feed", Reply::ok(FEED));
    server.on("/other", Reply::ok(FEED));
    for path in ["/feed", "/other"] {
        site.run(&["add", server.url(path).as_str()]).ok();
    }
    site.run(&["poll", "1", "--wait"]).ok();
    assert_eq!(site.run(&["list", "--suspect"]).ok(), "no such sources\n");
    server.on("/feed", Reply::ok("<html><title>Just a moment...</title>"));
    assert_eq!(site.run(&["poll", "1", "--wait"]).code, 1, "a page is no feed");
    let listed = site.run(&["list", "--suspect"]).ok();
    assert!(listed.contains("/feed") && !listed.contains("/other"), "{listed}");
    let shown = site.run(&["show", "1"]).ok();
    assert!(shown.contains("bot_wall: the page's title says"), "{shown}");
    let told = site.run(&["explain", "1"]).ok();
    assert!(told.contains("noticed:\n  Suspect since ") && told.contains("set fetch.contact"), "{told}");
}

/// Without a server, which would fetch them meanwhile.
#[test]
fn article_pages_are_listed_and_retried() {
    let site = &Site::local();
    let (_runtime, server) = web();
    let links: String =
        (0..3).map(|n| format!("<article><h2><a href=/p{n}>Story {n}</a></h2></article>")).collect();
    server.on("/index", Reply::ok(links).header("Content-Type", "text/html"));
    let url = server.url("/index").to_string();
    site.run(&["add", "--kind", "watchlist", &url]).ok();
    site.run(&["edit", "1", "--article-selector", "h2 a"]).ok();
    assert_eq!(
        site.run(&["pages", "1"]).ok(),
        format!("{url}: no article pages wait, failed or were given up\n")
    );
    let polled = site.run(&["poll", "1", "--wait"]).ok();
    assert!(polled.contains("0 new, 0 changed"), "{polled}");
    // Its pages were fetched, too; the server has none of them.
    let listed = site.run(&["pages", "1"]).ok();
    assert!(listed.contains("/p2") && listed.contains("failed"), "{listed}");
    assert_eq!(site.run(&["pages", "1", "--json"]).ok().lines().count(), 3);
    assert_eq!(site.run(&["pages", "1", "--state", "given_up", "--json"]).ok(), "");
    let shown = site.run(&["show", "1"]).ok();
    assert!(shown.contains("pages_failed"), "{shown}");
    assert!(shown.contains("3 article pages: 0 fetched, 3 failed, 0 given up"), "{shown}");
    let told = site.run(&["explain", "1"]).ok();
    assert!(told.contains("3 failed"), "{told}");
    assert_eq!(site.run(&["pages", "1", "--retry"]).ok(), format!("{url}: 0 pages are fetched again\n"));
}

fn sources_are_added_changed_and_removed(site: &Site) {
    let (_runtime, server) = web();
    server.on("/feed", Reply::ok(FEED));
    let url = server.url("/feed").to_string();
    let added = site.run(&["add", &url]).ok();
    assert_eq!(added, format!("added {url} as source 1; a running gleaner polls it within a second\n"));
    assert_eq!(site.run(&["add", &url]).ok(), format!("{url} is there already, as source 1\n"));
    site.run(&["collection", "create", "news"]).ok();
    let args =
        ["edit", "1", "--interval", "15", "--name", "Mine", "--collection", "news", "--policy", "backoff"];
    let changed = site.run(&args).ok();
    let words = format!("changed collection_id, name, policy, poll_interval_minutes of source 1 ({url})\n");
    assert_eq!(changed, words);
    let shown = site.json(&["show", "1"]);
    let source = &shown["source"];
    assert_eq!((&source["name"], &source["poll_interval_minutes"]), (&"Mine".into(), &15.into()));
    assert_eq!((&source["policy"], &source["collection_id"]), (&"backoff".into(), &2.into()));
    let by_content = site.json(&["edit", "1", "--duplicates", "content"]);
    assert_eq!(by_content["duplicates"], "content");
    let usual = site.json(&["edit", "1", "--duplicates", "default"]);
    assert!(usual["duplicates"].is_null(), "{usual}");
    let usual = site.json(&["edit", "1", "--interval", "default", "--policy", "default", "--name", ""]);
    assert!(usual["name"].is_null() && usual["policy"].is_null(), "{usual}");
    assert!(usual["poll_interval_minutes"].is_null(), "{usual}");
    for (args, words) in [
        (&["edit", "1"][..], "say what is to change"),
        (
            &["edit", "1", "--interval", "soon"],
            "poll_interval_minutes must be a whole number of minutes from 1 to 525600, or \"auto\"",
        ),
        (&["edit", "1", "--policy", "strict"], "there is no policy 'strict'"),
        (&["edit", "1", "--duplicates", "none"], "duplicates must be \"entry\" or \"content\""),
        (&["edit", "1", "--kind", "podcast"], "'podcast' is no kind of source"),
        (&["edit", "1", "--url", "ftp://a.example/"], "only http and https are polled"),
    ] {
        let failed = site.run(args).failed(2);
        assert!(failed.contains(words), "{failed}");
    }
    assert_eq!(site.run(&["disable", "1"]).ok(), format!("source 1 ({url}) is disabled\n"));
    assert_eq!(site.json(&["show", "1"])["source"]["status"], "disabled");
    let refused = site.run(&["poll", "1"]).failed(4);
    assert!(refused.contains("disabled"), "{refused}");
    assert_eq!(site.run(&["enable", &url]).ok(), format!("source 1 ({url}) is enabled, and due now\n"));
    let aside = site.run(&["disable", "1", "--aside", "too much noise"]).ok();
    assert_eq!(aside, format!("source 1 ({url}) is set aside until it is enabled\n"));
    let listed = site.run(&["list", "--status", "quarantined"]).ok();
    assert!(listed.contains(&url), "{listed}");
    site.run(&["enable", "1"]).ok();
    assert_eq!(site.run(&["list", "--status", "quarantined"]).ok(), "no such sources\n");
    let refused = site.run(&["remove", "1"]).failed(2);
    assert!(refused.contains("no terminal to ask on; add --yes"), "{refused}");
    assert_eq!(site.json(&["show", "1"])["source"]["id"], 1, "nothing was removed");
    let removed = site.run(&["remove", "1", "--yes"]).ok();
    assert_eq!(removed, format!("source 1 ({url}) is removed, and its posts with it\n"));
    assert_eq!(site.run(&["show", "1"]).failed(3), "error: source 1 does not exist\n");
}

fn every_field_is_a_flag(site: &Site) {
    site.run(&["collection", "create", "news"]).ok();
    let args = [
        "add",
        "https://a.example/",
        "--unchecked",
        "--kind",
        "watchlist",
        "--name",
        "A",
        "--collection",
        "news",
        "--interval",
        "525600",
        "--delay",
        "86400",
        "--policy",
        "backoff",
        "--duplicates",
        "content",
        "--article-selector",
        "h2 a",
        "--ignore-selector",
        ".ads",
        "--full-content",
        "true",
        "--backfill",
        "recent",
        "--ignore-robots",
        "true",
        "--enabled",
        "false",
        "--credential",
        "basic:ada",
    ];
    let added = site.run_with(&args, "hidden-word\n").ok();
    assert!(added.starts_with("added https://a.example/ as source 1;"), "{added}");
    let read = site.json(&["show", "1"])["source"].clone();
    let expected = serde_json::json!({
        "kind": "watchlist", "name": "A", "collection_id": 2, "poll_interval_minutes": 525_600,
        "poll_delay_seconds": 86_400, "policy": "backoff", "duplicates": "content", "article_selector": "h2 a",
        "ignore_selector": ".ads", "full_content": true, "backfill": "recent", "ignore_robots": true,
        "enabled": false, "has_credential": true,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&read[name], value, "{name}");
    }
    assert!(!read.to_string().contains("hidden-word"), "{read}");
    let removed = site.json(&["edit", "1", "--credential", "none", "--article-selector", ""]);
    assert_eq!((&removed["has_credential"], &removed["article_selector"]), (&false.into(), &().into()));
    for (args, words) in [
        (&["add", "https://b.example/", "--unchecked", "--interval", "525601"][..], "from 1 to 525600"),
        (&["add", "https://b.example/", "--unchecked", "--delay", "86401"], "from 0 to 86400"),
        (&["add", "https://b.example/", "--unchecked", "--ignore-robots", "maybe"], "must be true or false"),
        (&["add", "https://b.example/", "--unchecked", "--article-selector", "((("], "selector"),
        (
            &["add", "https://b.example/", "--unchecked", "--credential", "secret"],
            "basic:USER or header:NAME",
        ),
        (&["--set", "source.poll_interval_minutes=525601", "list"], "from 1 to 525600"),
    ] {
        let failed = site.run(args).failed(2);
        assert!(failed.contains(words), "{failed}");
    }
}

fn many_sources_are_edited(site: &Site) {
    for n in 0..3 {
        site.run(&["add", "--unchecked", &format!("https://a.example/{n}")]).ok();
    }
    let changed =
        site.run(&["edit", "1", "https://a.example/1", "--interval", "15", "--policy", "backoff"]).ok();
    assert_eq!(changed, "set policy, poll_interval_minutes of 2 sources\n");
    let intervals = || {
        let listed = site.run(&["list", "--json"]).ok();
        let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        listed.lines().map(|line| read(line)["poll_interval_minutes"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(intervals(), ["15", "15", "null"]);
    site.run(&["disable", "3"]).ok();
    let selected = site.run(&["edit", "--select", "status=disabled", "--interval", "auto"]).ok();
    assert_eq!(selected, "set poll_interval_minutes of 1 source\n");
    assert_eq!(intervals(), ["15", "15", "\"auto\""]);
    let all = site.run(&["edit", "--select", "all", "--interval", "default", "--json"]).ok();
    assert_eq!(all.lines().count(), 3);
    assert_eq!(intervals(), ["null", "null", "null"]);
    for (args, words) in [
        (&["edit", "1", "2", "--name", "both"][..], "name cannot be set of many sources at once"),
        (&["edit", "--select", "colour=red", "--interval", "15"], "--select colour=red: it takes"),
        (&["edit", "--interval", "15"], "required"),
    ] {
        let failed = site.run(args).failed(2);
        assert!(failed.contains(words), "{failed}");
    }
}

/// A feed behind a password is read with it; a page cannot direct the password to another origin.
fn a_credential_stays_with_its_origin(site: &Site) {
    let ((_one, server), (_two, other)) = (web(), web());
    server.on_all(|request| match request.header("authorization") {
        Some(_) => Reply::ok(FEED),
        None => Reply::status(401),
    });
    let page = |feed: &str| {
        Reply::ok(format!("<html><link rel=alternate type='application/rss+xml' href='{feed}'><p>Hi</html>"))
    };
    server.on("/page", page(other.url("/feed").as_str()));
    other.on("/feed", Reply::ok(FEED));
    let url = server.url("/feed").to_string();
    site.run_with(&["add", &url, "--credential", "basic:ada"], "hidden-word\n").ok();
    assert_eq!(site.json(&["show", "1"])["source"]["name"], "News", "it was read with its credential");
    let page = server.url("/page").to_string();
    let args = ["add", &page, "--credential", "basic:ada"];
    let refused = site.run_with(&args, "hidden-word\n").failed(2);
    assert!(refused.contains("which is not of the same origin"), "{refused}");
    assert!(other.requests().iter().all(|request| request.header("authorization").is_none()));
}

fn sources_are_polled_and_explained(site: &Site) {
    let (_runtime, server) = web();
    server.on("/feed", Reply::ok(FEED));
    server.on("/gone", Reply::status(410));
    let (feed, gone) = (server.url("/feed").to_string(), server.url("/gone").to_string());
    site.run(&["add", &feed, "--unchecked"]).ok();
    site.run(&["add", &gone, "--unchecked", "--name", "Gone"]).ok();
    // A gleaner that runs may have been faster.
    let polled = site.run(&["poll", "1", "--wait"]);
    assert_eq!(polled.code, 0, "{}", polled.err);
    assert!(polled.out.starts_with(&format!("{feed}: ")), "{}", polled.out);
    let polled = site.run(&["poll", &gone, "--wait", "--json"]);
    let poll: serde_json::Value = serde_json::from_str(&polled.out).unwrap();
    assert_eq!((polled.code, &poll["error_type"]), (1, &"gone".into()), "{}", polled.err);
    let shown = site.run(&["show", "2"]).ok();
    assert!(shown.starts_with("Gone\n  "), "{shown}");
    assert!(shown.contains("  last_error            410 Gone\n"), "{shown}");
    assert!(shown.contains("polled") && shown.contains("failed"), "{shown}");
    let told = site.run(&["explain", "2"]).ok();
    assert!(told.starts_with(&format!("{gone} is quarantined: ")), "{told}");
    for words in
        ["\nrule: ", "\nnext poll: ", "\nwhat led here:\n  ", "\nwhat would change it:\n  ", "410 Gone"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(site.json(&["explain", "2"])["status"], "quarantined");
    let all = site.run(&["poll", "--all", "--wait", "--json"]).ok();
    let polls: Vec<serde_json::Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(polls.iter().any(|poll| poll["source_id"] == 1), "{all}");
    site.run(&["poll", "3"]).failed(3);
    site.run(&["poll"]).failed(2);
    site.run(&["poll", "1", "--all"]).failed(2);
}

fn sources_are_named_by_id_or_url(site: &Site) {
    let add = |url: &str| site.run(&["add", "--unchecked", url]).ok();
    add("https://a.example/feed?b=1");
    add("https://a.example/feed?b=2");
    add("@NASA");
    let id = |given: &str| site.json(&["show", given])["source"]["id"].as_i64().unwrap();
    assert_eq!((id("https://a.example/feed?b=2"), id("https://a.example/feed?b=1#top")), (2, 1));
    assert_eq!((id("https://a.example/feed?b=2&fbclid=x"), id("@nasa"), id("3")), (2, 3, 3));
    let missing = site.run(&["show", "https://a.example/feed"]).failed(3);
    assert_eq!(missing, "error: there is no source https://a.example/feed; `gleaner add` adds one\n");
    let neither = site.run(&["show", "nasa!"]).failed(2);
    assert_eq!(neither, "error: 'nasa!' is neither an id nor a URL; `gleaner list` shows both\n");
    site.run(&["collection", "create", "news"]).ok();
    site.run(&["add", "--unchecked", "https://a.example/feed?b=2", "--collection", "news"]).ok();
    let several = site.run(&["show", "https://a.example/feed?b=2"]).failed(2);
    assert!(several.contains("is in several collections; name it by its id: 2, 4"), "{several}");
    assert_eq!(site.run(&["list", "--collection", "news", "--json"]).ok().lines().count(), 1);
}

fn pages_are_tried(site: &Site) {
    let (_runtime, server) = web();
    server
        .on("/", Reply::ok("<html><link rel=alternate type='application/rss+xml' href='/feed'><p>Hi</html>"));
    server.on("/feed", Reply::ok(FEED));
    let tried = site.run(&["try", server.url("/").as_str()]).ok();
    assert!(tried.contains(server.url("/feed").as_str()), "{tried}");
    let tried = site.run(&["try", server.url("/feed").as_str()]).ok();
    assert!(tried.ends_with("2 entries, 2 would be stored; nothing was.\n"), "{tried}");
    let added = site.run(&["add", server.url("/").as_str()]).ok();
    assert!(added.starts_with(&format!("added {} as source 1;", server.url("/feed"))), "{added}");
    assert_eq!(site.json(&["show", "1"])["source"]["name"], "News");
}
