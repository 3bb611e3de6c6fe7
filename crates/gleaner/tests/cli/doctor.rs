//! `doctor`: what is so, what is wrong, and what to do about it.

use super::site::Site;
use super::{Place, Run};
use crate::support::http::{Reply, Server};

/// Runs it beside the server that this runtime drives, against that URL.
async fn doctor(site: Site, url: &str, args: &[&'static str]) -> (Site, Run) {
    let args: Vec<String> =
        ["doctor", "--url", url].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
    let work = move || {
        let run = site.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        (site, run)
    };
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// What it says of one thing.
fn of<'a>(run: &'a Run, what: &str) -> &'a str {
    run.out.lines().find(|line| line.starts_with(what)).unwrap_or_else(|| panic!("{what}: {}", run.out))
}

#[tokio::test]
async fn all_is_well() {
    let server = Server::start().await;
    server.on("/", Reply::ok("hello"));
    let url = server.url("/").to_string();
    let (site, run) = doctor(Site::local(), &url, &[]).await;
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert_eq!(
        of(&run, "database"),
        "database  ok       gleaner.db is not there yet; `gleaner serve` makes it"
    );
    assert!(!site.place.path().join("gleaner.db").exists(), "it only looks");
    site.run(&["key", "show", "x"]).ok();
    site.run_with(&["key", "set", "x"], "hunter2").ok();
    let (site, run) = doctor(site, &url, &[]).await;
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert_eq!(
        of(&run, "database"),
        "database  ok       gleaner.db can be read and written; schema version 1"
    );
    assert!(of(&run, "disk").contains("MB free at"));
    assert_eq!(
        of(&run, "key"),
        "key       ok       gleaner.db.key holds the key that secrets are encrypted with"
    );
    assert!(of(&run, "clock").contains("ok       it is 2"));
    assert!(of(&run, "names").ends_with("has no name to look up"));
    assert_eq!(of(&run, "http"), format!("http      ok       {url} answers with 5 bytes"));
    assert_eq!(of(&run, "address"), "address   ok       127.0.0.1:0 is free for the API");
    let (_, json) = doctor(site, &url, &["--json"]).await;
    let told: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(told["findings"].as_array().unwrap().len(), 8);
    assert!(told["findings"].as_array().unwrap().iter().all(|finding| finding["state"] == "ok"), "{told}");
}

#[tokio::test]
async fn what_is_wrong_is_told() {
    let site = Site::local();
    site.run_with(&["key", "set", "x"], "hunter2").ok();
    std::fs::remove_file(site.place.path().join("gleaner.db.key")).unwrap();
    // Nobody listens there, and nobody may.
    let (site, run) = doctor(site, "http://127.0.0.1:1/", &["--set", "api.listen=192.0.2.1:80"]).await;
    assert_eq!((run.code, run.err.as_str()), (1, "error: 3 of 8 things are wrong\n"), "{}", run.out);
    assert!(
        of(&run, "key").contains("WRONG    gleaner.db.key is missing, and 1 secrets in the database need it")
    );
    assert!(of(&run, "http").contains("WRONG    http://127.0.0.1:1/: "), "{}", run.out);
    assert!(of(&run, "address").contains("WRONG    192.0.2.1:80 cannot be listened on: "), "{}", run.out);
    assert_eq!(run.out.matches("do: ").count(), 3, "{}", run.out);
    site.place.write("gleaner.db", "this is no database, and long enough to be told so by whoever opens it");
    let (site, run) = doctor(site, "http://127.0.0.1:1/", &[]).await;
    assert!(
        of(&run, "database").contains("WRONG    gleaner.db: the database gleaner.db failed"),
        "{}",
        run.out
    );
    let (_, run) = doctor(site, "http://name.invalid/", &["--set", "fetch.dns_timeout_seconds=1"]).await;
    assert!(of(&run, "names").contains("WRONG    name.invalid: "), "{}", run.out);
    let wrong =
        Place::with_config("[source]\nmax_failure = 3\n").run(&["--config", "gleaner.toml", "doctor"]);
    assert_eq!(wrong.code, 1, "{}", wrong.err);
    assert!(
        wrong.out.starts_with("config    WRONG    ") && wrong.out.contains("max_failure"),
        "{}",
        wrong.out
    );
}

#[tokio::test]
async fn a_running_gleaner_is_known() {
    let (mut site, server) = (Site::local(), Server::start().await);
    server.on("/", Reply::ok("hello"));
    site.serve();
    let address = site.url().trim_start_matches("http://").to_owned();
    let set = format!("api.listen={address}");
    let mut command = site.place.command(&[
        "--config",
        "gleaner.toml",
        "doctor",
        "--set",
        &set,
        "--url",
        server.url("/").as_str(),
    ]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains(&format!("address   ok       a gleaner answers at {address}\n")), "{out}");
    assert_eq!(output.status.code(), Some(0), "{out}");
}

#[test]
fn a_health_check_asks_only_whether_it_lives() {
    let mut site = Site::local();
    let err = site.run(&["--set", "api.listen=127.0.0.1:1", "doctor", "--live"]).failed(6);
    assert!(err.contains("127.0.0.1:1"), "{err}");
    site.serve();
    let listen = format!("api.listen={}", site.url().trim_start_matches("http://"));
    let out = site.place.run(&["--config", "gleaner.toml", "--set", &listen, "doctor", "--live"]).ok();
    assert!(out.starts_with("gleaner is alive at 127.0.0.1:"), "{out}");
}
