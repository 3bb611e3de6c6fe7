//! `try`, `add`, `list` and `serve`, from outside.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use gleaner::store::{Options, PostFilter, SourceFilter, open};

use super::{IntoRun as _, Place, Run};
use crate::support::http::{Reply, Server};

const FEED: &str = "<rss version='2.0'><channel><title>News of the day</title>\
    <item><guid>1</guid><title>Young</title><link>https://a.example/1</link><description>&lt;p&gt;Fresh&lt;/p&gt;</description></item>\
    <item><guid>2</guid><title>Old</title><pubDate>Mon, 01 Jan 2001 00:00:00 GMT</pubDate></item></channel></rss>";

/// A place whose config lets loopback through and keeps its database there.
fn place() -> Place {
    Place::with_config("[fetch]\nallow_private_networks = [\"127.0.0.0/8\"]\n[store]\nurl = \"gleaner.db\"\n")
}

/// Runs gleaner beside the server that this runtime drives.
async fn run(place: &Place, args: &[&str]) -> Run {
    let mut command = place.command(&[&["--config", "gleaner.toml"], args].concat());
    command.stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.into_run()).await.unwrap()
}

#[tokio::test]
async fn try_shows_what_would_be_stored_and_stores_nothing() {
    let (server, place) = (Server::start().await, place());
    server.on("/feed", Reply::ok(FEED));
    let url = server.url("/feed");
    let tried = run(&place, &["try", url.as_str()]).await;
    assert_eq!((tried.code, tried.err.as_str()), (0, ""), "{}", tried.out);
    let lines: Vec<&str> = tried.out.lines().collect();
    assert_eq!((lines[0], lines[1]), ("News of the day", format!("feed {url}").as_str()));
    assert!(tried.out.ends_with("2 entries, 2 would be stored; nothing was.\n"), "{}", tried.out);
    let tried = run(&place, &["try", "--no-backfill", url.as_str()]).await;
    assert!(tried.out.contains("skipped: published before the source is added"), "{}", tried.out);
    assert!(tried.out.ends_with("2 entries, 1 would be stored; nothing was.\n"), "{}", tried.out);
    assert!(!place.path().join("gleaner.db").exists());
    let json = run(&place, &["try", "--json", url.as_str()]).await;
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["entries"][0]["body"], "Fresh");
}

#[tokio::test]
async fn try_finds_the_feeds_of_a_page() {
    let (server, place) = (Server::start().await, place());
    server.on(
        "/",
        Reply::ok("<html><link rel=alternate type='application/rss+xml' href='/feed.xml'><p>Hello</html>"),
    );
    server.on("/bare", Reply::ok("<html><p>Hello</html>"));
    let tried = run(&place, &["try", server.url("/").as_str()]).await;
    assert!(tried.out.contains(server.url("/feed.xml").as_str()), "{}", tried.out);
    let tried = run(&place, &["try", server.url("/bare").as_str()]).await;
    assert!(tried.out.contains(&format!("website {}", server.url("/bare"))), "{}", tried.out);
    assert!(tried.out.ends_with("1 entry, 1 would be stored; nothing was.\n"), "{}", tried.out);
}

#[tokio::test]
async fn wrong_urls_are_told() {
    let place = place();
    for (url, code, message) in [
        ("ftp://example.org/", 2, "only http and https are polled"),
        ("http://10.0.0.1/feed", 1, "blocked"),
        ("http://[::1]/feed", 1, "blocked"),
    ] {
        let tried = run(&place, &["try", url]).await;
        assert_eq!(tried.code, code, "{}", tried.err);
        assert!(tried.err.contains(message), "{}", tried.err);
    }
    let added = run(&place, &["add", "https://"]).await;
    assert_eq!(added.code, 2, "{}", added.err);
    let added = run(&place, &["add", "https://a.example/", "--unchecked", "--policy", "strict"]).await;
    assert!(added.err.contains("there is no policy 'strict'; there are backoff, cooldown"), "{}", added.err);
    let added = run(&place, &["add", "https://a.example/", "--unchecked", "--collection", "x"]).await;
    assert!(added.err.contains("there is no collection 'x'; there are default"), "{}", added.err);
}

#[tokio::test]
async fn add_finds_out_what_a_url_is() {
    let (server, place) = (Server::start().await, place());
    let link = |href: &str| format!("<link rel=alternate type='application/rss+xml' href='{href}'>");
    server.on("/feed", Reply::ok(FEED));
    server.on("/feed?2", Reply::ok(FEED));
    server
        .on("/page", Reply::ok(format!("<html>{}{}<p>Hello</html>", link("/feed"), link("/comments/feed"))));
    server.on("/blog", Reply::ok(format!("<html>{}{}<p>Hello</html>", link("/feed"), link("/other"))));
    server.on("/away", Reply::status(503));
    let added = run(&place, &["add", server.url("/page").as_str()]).await;
    assert!(
        added.out.starts_with(&format!("added {} as source 1", server.url("/feed"))),
        "{}{}",
        added.out,
        added.err
    );
    let several = run(&place, &["add", server.url("/blog").as_str()]).await;
    assert_eq!(several.code, 2);
    assert!(several.err.contains("names several feeds; add one of them:"), "{}", several.err);
    assert!(several.err.contains(server.url("/other").as_str()), "{}", several.err);
    let away = run(&place, &["add", server.url("/away").as_str()]).await;
    assert!(
        away.out.contains("as source 2")
            && away.out.contains("note: it cannot be read now (503 Service Unavailable)"),
        "{}",
        away.out
    );
    let private = run(&place, &["add", "http://192.168.1.1/feed", "--unchecked"]).await;
    assert!(private.err.contains("cannot be polled: 192.168.1.1 is"), "{}", private.err);
    let named = run(&place, &["add", server.url("/feed?2").as_str()]).await;
    assert_eq!(named.code, 0, "{}", named.err);
    let listed = run(&place, &["list", "--json", "feed?2"]).await;
    let value: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(value["name"], "News of the day", "a feed goes by its title");
}

#[tokio::test]
async fn added_sources_are_listed() {
    let place = place();
    let empty = run(&place, &["list"]).await;
    assert_eq!(empty.out, "no sources; `gleaner add URL` adds one\n");
    let added = run(&place, &["add", "https://a.example/feed", "--interval", "15", "--unchecked"]).await;
    assert_eq!(
        added.out,
        "added https://a.example/feed as source 1; a running gleaner polls it within a second\n"
    );
    let again = run(&place, &["add", "https://a.example/feed#top", "--unchecked"]).await;
    assert_eq!(again.out, "https://a.example/feed#top is there already, as source 1\n");
    let listed = run(&place, &["list", "--status", "pending"]).await;
    assert!(listed.out.lines().nth(1).unwrap().starts_with("1   pending"), "{}", listed.out);
    let json = run(&place, &["list", "--json", "a.example"]).await;
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((value["id"].as_i64(), value["url"].as_str()), (Some(1), Some("https://a.example/feed")));
    let wrong = run(&place, &["list", "--status", "tired"]).await;
    assert_eq!(
        (wrong.code, wrong.err.contains("there are disabled, quarantined, failing, pending, healthy")),
        (2, true)
    );
}

#[tokio::test]
async fn serve_polls_and_stops_cleanly() {
    let (server, place) = (Server::start().await, place());
    server.on("/feed", Reply::ok(FEED));
    run(&place, &["add", server.url("/feed").as_str()]).await;
    let mut command = place.command(&["--config", "gleaner.toml", "serve", "--set", "log.format=json"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let log = std::thread::spawn(move || lines.map_while(std::io::Result::ok).collect::<Vec<_>>());
    let url = place.path().join("gleaner.db").display().to_string();
    let store = open(&Options::new(url)).await.unwrap();
    // Who adds a feed wants to see something: old entries come, too.
    while store.posts(&PostFilter::default(), None, 10).await.unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    let stopped =
        std::process::Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().unwrap();
    assert!(stopped.success());
    let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    let log = log.join().unwrap();
    assert!(status.success(), "{log:#?}");
    assert!(log.iter().any(|line| line.contains("gleaner is polling")), "{log:#?}");
    assert!(log.last().unwrap().contains("gleaner has stopped"), "{log:#?}");
    let source = store.sources(&SourceFilter::default(), None, 10).await.unwrap().remove(0);
    assert!(source.health.last_success_at.is_some() && source.next_poll_at > source.health.last_polled_at);
}

#[test]
fn no_log_shows_the_token_of_a_feed() {
    let place = place();
    let loud =
        ["--set", "api.listen=\"127.0.0.1:0\"", "--set", "log.format=json", "--set", "log.level=trace"];
    let mut command = place.command(&[&["--config", "gleaner.toml", "serve"][..], &loud].concat());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = Vec::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(std::io::Result::ok);
    let address = lines.find_map(|line| {
        let api = serde_json::from_str::<serde_json::Value>(&line).ok()?["api"].as_str().map(str::to_owned);
        log.push(line);
        Some(api?.trim_start_matches("http://").trim_end_matches('/').to_owned())
    });
    let rest = std::thread::spawn(move || lines.collect::<Vec<_>>());
    for path in
        ["/feeds/default.atom?token=sesame", "/feeds/?token=sesame", "/feeds/a/b?limit=x&token=sesame"]
    {
        let mut stream = std::net::TcpStream::connect(address.as_deref().unwrap()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        assert!(!answer.contains("sesame"), "{answer}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    log.extend(rest.join().unwrap());
    assert!(log.len() > 10, "{log:#?}");
    assert!(!log.iter().any(|line| line.contains("sesame")), "{log:#?}");
}
