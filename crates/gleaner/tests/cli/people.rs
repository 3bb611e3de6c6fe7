//! `user`, `token` and `collection`, on the database itself and through a server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::site::{Site, on_both_ways};
use super::{IntoRun as _, Run};

on_both_ways!(
    users_are_managed,
    tokens_are_managed,
    collections_are_managed,
    what_was_done_is_in_the_audit_log
);

fn users_are_managed(site: &Site) {
    let added = site.run(&["user", "add", "ada"]).ok();
    assert_eq!(added, "added user ada; `gleaner user link ada` makes a link to log in with\n");
    let again = site.run(&["user", "add", "ada"]).failed(4);
    assert_eq!(again, "error: user ada already exists\n");
    let short = site.run_with(&["user", "password", "ada"], "short\n").failed(2);
    assert_eq!(short, "error: a password has at least 10 characters\n");
    assert_eq!(site.run_with(&["user", "password", "ada"], "correct horse\n").ok(), "set ada's password\n");
    let bo = site.run_with(&["user", "add", "bo b/..", "--admin", "--password"], "correct horse\n").ok();
    assert_eq!(bo, "added user bo b/..\n");
    let listed = site.run(&["user", "list"]).ok();
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split("  ").collect()).collect();
    assert!(rows[0][0].starts_with("name"), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("ada      no     yes")), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("bo b/..  yes    yes")), "{listed}");
    let json = site.run(&["user", "list", "--json"]).ok();
    let ada: serde_json::Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&ada["name"], &ada["has_password"]), (&"ada".into(), &true.into()));
    let link = site.run(&["user", "link", "ada"]);
    assert!(link.out.starts_with("http://127.0.0.1:") && link.out.contains("/login?code="), "{}", link.out);
    assert!(link.err.starts_with("good once, until 2"), "{}", link.err);
    assert_eq!(site.run(&["user", "remove", "bo b/.."]).ok(), "removed user bo b/..\n");
    assert_eq!(site.run(&["user", "remove", "bo b/.."]).failed(3), "error: user bo b/.. does not exist\n");
    let last = site.run(&["user", "remove", "admin"]).failed(4);
    assert_eq!(last, "error: admin is the last admin; make another one first\n");
}

fn tokens_are_managed(site: &Site) {
    let made = site.run(&["token", "create", "podcast", "--days", "7"]);
    assert_eq!((made.code, made.out.split('.').count()), (0, 3), "{}", made.out);
    assert!(made.err.starts_with("it grants 'read' until "), "{}", made.err);
    site.run(&["token", "create", "podcast"]).failed(4);
    let wrong = site.run(&["token", "create", "long", "--days", "4000"]).failed(2);
    assert_eq!(wrong, "error: a token lasts 1 to 3650 days\n");
    let listed = site.run(&["token", "list"]).ok();
    assert!(listed.lines().any(|line| line.starts_with("podcast") && line.contains(" read ")), "{listed}");
    assert!(!listed.contains(made.out.trim()));
    assert_eq!(site.run(&["token", "revoke", "podcast"]).ok(), "revoked token podcast\n");
    assert_eq!(site.run(&["token", "revoke", "podcast"]).failed(3), "error: token podcast does not exist\n");
    let feed = site.json(&["token", "create", "reader", "--feed"]);
    assert_eq!(feed["scopes"], "read");
    assert!(site.run(&["token", "list", "--feed"]).ok().contains("reader"));
    site.run(&["token", "revoke", "reader", "--feed"]).ok();
}

fn collections_are_managed(site: &Site) {
    assert_eq!(site.run(&["collection", "create", "news"]).ok(), "made collection news\n");
    site.run(&["collection", "create", "news"]).failed(4);
    let renamed = site.run(&["collection", "rename", "news", "old news"]).ok();
    assert_eq!(renamed, "collection news is called old news\n");
    let missing = site.run(&["collection", "remove", "news"]).failed(3);
    assert_eq!(missing, "error: there is no collection 'news'; there are default, old news\n");
    let owner = site.run(&["collection", "rename", "old news", "--owner", "nobody"]).failed(2);
    assert_eq!(owner, "error: there is no user nobody\n");
    site.run(&["collection", "rename", "old news"]).failed(2);
    let listed = site.run(&["collection", "list"]).ok();
    assert!(listed.lines().any(|line| line.starts_with("2   old news  admin  shared  2")), "{listed}");
    let private = site.run(&["collection", "create", "mine", "--private"]).ok();
    assert_eq!(private, "made private collection mine\n");
    let limited =
        site.run(&["token", "create", "limited", "--collection", "mine", "--collection", "default"]);
    assert_eq!(limited.code, 0, "{}", limited.err);
    let listed = site.run(&["token", "list"]).ok();
    let row = |line: &str| line.split_whitespace().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert!(listed.lines().map(row).any(|row| row == ["limited", "read", "2"]), "{listed}");
    site.run(&["token", "create", "nowhere", "--collection", "nothing"]).failed(3);
    let listed = site.run(&["collection", "list"]).ok();
    assert!(listed.lines().any(|line| line.starts_with("3   mine      admin  private  2")), "{listed}");
    let shared = site.run(&["collection", "rename", "mine", "--shared"]).ok();
    assert_eq!(shared, "collection mine is called mine; everybody sees it\n");
    site.run(&["collection", "rename", "mine", "--shared", "--private"]).failed(2);
    assert_eq!(site.run(&["collection", "remove", "old news"]).ok(), "removed collection old news\n");
}

fn what_was_done_is_in_the_audit_log(site: &Site) {
    site.run(&["collection", "create", "audited"]).ok();
    site.run(&["collection", "rename", "audited", "again"]).ok();
    let listed = site.run(&["audit", "--action", "collection"]).ok();
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("when") && lines.len() == 3, "{listed}");
    assert!(lines[1].contains("collection.update") && lines[1].contains("collection audited"), "{listed}");
    let json = site.run(&["audit", "--json", "--user", "admin", "--since", "1h"]).ok();
    let newest: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(newest["changes"], serde_json::json!({ "name": ["audited", "again"] }));
    let via = newest["via"].as_str().unwrap();
    assert!(via.starts_with("command line (OS user ") || via == "token tests", "{via}");
    assert_eq!(site.run(&["audit", "--user", "nobody"]).ok(), "nothing was written down\n");
    assert_eq!(site.run(&["audit", "--limit", "1", "--json"]).ok().lines().count(), 1);
}

#[test]
fn ones_own_password_is_changed_with_the_current_one() {
    let site = Site::served();
    site.run_with(&["user", "password", "admin"], "correct horse\n").ok();
    let wrong = site.run_with(&["user", "password", "admin"], "wrong horse\nanother horse\n").failed(2);
    assert_eq!(wrong, "error: this is not your current password\n");
    site.run_with(&["user", "password", "admin"], "correct horse\nanother horse\n").ok();
    // On the machine itself nobody asks.
    let local = site.place.command(&["--config", "gleaner.toml", "user", "password", "admin"]);
    assert_eq!(with_input(local, "a third horse\n").code, 0);
}

fn with_input(mut command: Command, input: &str) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_token_that_another_process_revokes_ends_its_stream() {
    let site = Site::served();
    let made = site.run(&["token", "create", "follower"]);
    assert_eq!(made.code, 0, "{}", made.err);
    site.place.write("token", &made.out);
    let mut follow = site.command(&["events", "--follow"]);
    follow.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut follow = follow.spawn().unwrap();
    let mut err = BufReader::new(follow.stderr.take().unwrap()).lines();
    let until_open = || {
        // The token is marked as used by the request that opens the stream.
        let listed =
            site.place.command(&["--config", "gleaner.toml", "token", "list", "--json"]).into_run().out;
        let mut rows = listed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.any(|row| row["name"] == "follower" && row["last_used_at"].is_string())
    };
    let begun = Instant::now();
    while !until_open() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the stream is not open");
    }
    let revoke = site.place.command(&["--config", "gleaner.toml", "token", "revoke", "follower"]).into_run();
    assert_eq!(revoke.code, 0, "{}", revoke.err);
    // It hears that the stream is over, comes again, and is not let in.
    let said: Vec<String> = err.by_ref().map_while(Result::ok).collect();
    assert!(said.last().unwrap().contains("the access token is not valid"), "{said:?}");
    assert_eq!(follow.wait().unwrap().code(), Some(5));
}

#[test]
fn a_server_must_be_one() {
    let mut site = Site::local();
    let args = |server: &'static str| ["--server", server, "user", "list"];
    for wrong in ["example.org", "ftp://example.org", "http://me@example.org/", "http://a.example/?b"] {
        let failed = site.run(&args(wrong)).failed(2);
        assert!(
            failed.starts_with(&format!("error: --server {wrong}: it must be")) || wrong == "example.org"
        );
    }
    let who = site.run(&args("http://127.0.0.1:1")).failed(5);
    assert!(who.contains("--server needs an access token: --token-file FILE or GLEANER_TOKEN;"), "{who}");
    let mut command = site.command(&args("http://127.0.0.1:1"));
    let output = command.env("GLEANER_TOKEN", "abc").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(6), "{err}");
    assert!(
        err.starts_with("error: cannot reach gleaner at http://127.0.0.1:1: Connection refused"),
        "{err}"
    );
    site.serve();
    site.place.write("token", "abc");
    let refused = site.run(&["user", "list"]).failed(5);
    assert_eq!(
        refused,
        "error: the access token is not valid, or not any more; `gleaner token create NAME` makes one\n"
    );
}
