//! `gleaner extract`, from outside.

use std::io::Write as _;
use std::process::Stdio;

use super::{IntoRun as _, Place, Run};
use crate::support::http::{Reply, Server};

const PAGE: &str = "<html lang=en><head><title>A long walk home | Valley</title><meta name=author content='Jane Doe'>\
    <meta property='article:published_time' content='2024-05-17T10:00:00Z'></head><body><nav>Home</nav><article>\
    <h1>A long walk home</h1><p>It was late when we left, later than we had planned, and the road was longer than \
    anybody remembered, but the night was warm, and nobody wished to wait for the morning bus.</p><p>So we walked, and \
    talked of <a href='/rain' onclick='x()'>the rain</a>, of the harvest, and of the people who had stayed.</p>\
    </article></body></html>";

/// Runs gleaner with this on its standard input.
fn piped(args: &[&str], input: &str) -> Run {
    let place = Place::new();
    let mut command = place.command(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn prints_the_text_of_what_is_piped_in() {
    insta::assert_snapshot!(piped(&["extract"], PAGE).ok());
}

#[test]
fn prints_html_that_is_harmless() {
    let html = piped(&["extract", "-", "--html", "--url", "https://valley.example/a"], PAGE).ok();
    assert!(html.contains("https://valley.example/rain") && !html.contains("onclick"), "{html}");
}

#[test]
fn prints_all_of_it_as_json() {
    let args = ["extract", "--json", "--url", "https://valley.example/a"];
    insta::assert_snapshot!(piped(&args, PAGE).ok());
}

#[test]
fn says_what_is_wrong() {
    assert!(piped(&["extract", "--url", "no url"], PAGE).failed(2).contains("no url"));
    let both = piped(&["extract", "https://a.example/", "--url", "https://b.example/"], "").failed(2);
    assert!(both.contains("--url is for HTML on standard input"), "{both}");
}

#[tokio::test]
async fn fetches_a_page() {
    let server = Server::start().await;
    server.on("/walk", Reply::ok(PAGE));
    let url = server.url("/walk");
    let place = Place::with_config("[fetch]\nallow_private_networks = [\"127.0.0.0/8\"]\n");
    let run = |url: String| {
        let mut command = place.command(&["--config", "gleaner.toml", "extract", "--json", &url]);
        command.stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.into_run())
    };
    let found = run(url.to_string()).await.unwrap().ok();
    let value: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(
        (value["title"].as_str(), value["url"].as_str()),
        (Some("A long walk home"), Some(url.as_str()))
    );
    assert_eq!(run(server.url("/missing").to_string()).await.unwrap().code, 1);
}
