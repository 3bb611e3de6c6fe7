//! `links`, from outside.

use std::io::Write as _;
use std::process::Stdio;

use super::{IntoRun as _, Place, Run};
use crate::support::http::{Reply, Server};

const PAGE: &str = "<html><body><nav><a href='/about-this-site'>About this site and us</a></nav>\
    <article><h2><a href='/2026/03/01/the-first-of-two-posts'>The first of two posts</a></h2></article>\
    <article><h2><a href='/2026/02/01/and-the-second-one-of-them'>And the second one of them</a></h2></article>\
    </body></html>";

/// Runs gleaner with this on standard input.
fn piped(args: &[&str], input: &str) -> Run {
    let place = Place::new();
    let mut child = place
        .command(&[&["links"], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn links_of_a_page_on_standard_input_are_printed_one_a_line() {
    let expected = "https://a.example/2026/03/01/the-first-of-two-posts\n\
        https://a.example/2026/02/01/and-the-second-one-of-them\n";
    for args in [&["--url", "https://a.example/"][..], &["-", "--url", "https://a.example/", "--plain"]] {
        assert_eq!(piped(args, PAGE).ok(), expected);
    }
    let selected = piped(&["--url", "https://a.example/", "--selector", "nav a"], PAGE).ok();
    assert_eq!(selected, "https://a.example/about-this-site\n");
}

#[test]
fn links_as_json_have_titles_and_dates() {
    let json = piped(&["--url", "https://a.example/", "--json"], PAGE).ok();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["url"], "https://a.example/");
    assert_eq!(value["links"][0]["title"], "The first of two posts");
    assert_eq!(value["links"][0]["published_at"], "2026-03-01T00:00:00Z");
    assert_eq!(value["links"].as_array().unwrap().len(), 2);
}

#[test]
fn where_there_is_nothing_to_follow_it_is_told_what_to_try() {
    let run = piped(&["--url", "https://a.example/"], "<p>Hello</p>");
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(
        run.err.contains("nothing there looks like a list of articles; tell with --selector"),
        "{}",
        run.err
    );
    let run = piped(&["--url", "https://a.example/", "--selector", "h5"], PAGE);
    assert!(run.err.contains("'h5' matches no links there"), "{}", run.err);
}

#[test]
fn wrong_usage_of_links_is_told() {
    for (args, message) in [
        (&[][..], "give a URL to fetch, or a page on standard input and with --url where it came from"),
        (&["https://a.example/", "--url", "https://a.example/"], "leave it out to fetch one"),
        (&["--url", "https://a.example/", "--selector", "a["], "'a[' is not a valid CSS selector"),
        (&["--url", "a.example"], "it must begin with http:// or https://"),
        (&["--url", "https://a.example/", "--json", "--plain"], "cannot be used with"),
    ] {
        let told = piped(args, PAGE).failed(2);
        assert!(told.contains(message), "{told}");
    }
}

#[tokio::test]
async fn links_of_a_page_are_fetched() {
    let server = Server::start().await;
    server.on("/news/", Reply::ok(PAGE));
    let place = Place::with_config("[fetch]\nallow_private_networks = [\"127.0.0.0/8\"]\n");
    let url = server.url("/news/");
    let mut command = place.command(&["--config", "gleaner.toml", "links", url.as_str()]);
    command.stdin(Stdio::null());
    let run = tokio::task::spawn_blocking(move || command.into_run()).await.unwrap();
    let expected = server.url("/2026/03/01/the-first-of-two-posts");
    assert_eq!(run.ok().lines().next(), Some(expected.as_str()));
}
