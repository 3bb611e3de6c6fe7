//! `gleaner demo` as people run it: a process that shows everything within seconds, and leaves nothing behind.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::until;

/// How long something that is to happen may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A demo, and where it puts its temporary files.
struct Demo {
    child: Child,
    out: BufReader<ChildStdout>,
    temporary: TempDir,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Demo {
    fn start(args: &[&str]) -> Self {
        let temporary = TempDir::new().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_gleaner"))
            .args(["demo", "--listen", "127.0.0.1:0"])
            .args(args)
            .env_clear()
            .env("TMPDIR", temporary.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out, temporary }
    }

    /// What it prints, up to and with a line.
    fn printed(&mut self, last: &str) -> String {
        let mut text = String::new();
        while text.lines().last() != Some(last) {
            assert_ne!(self.out.read_line(&mut text).unwrap(), 0, "it ended after: {text}");
        }
        text
    }

    /// Ends it by a signal, and checks that nothing is left.
    fn end(mut self, signal: &str) {
        Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert_eq!(entries(self.temporary.path()), 0, "the temporary directory is empty again");
    }
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

/// A client with what lets in.
struct Client {
    client: reqwest::Client,
    base: String,
    token: String,
}

impl Client {
    /// Comes in by the link.
    async fn new(base: &str, login: &str) -> Self {
        // Only the first of a process's tests installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        #[expect(clippy::disallowed_methods, reason = "a client of the demo, not of the world")]
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let code = login.split_once("/login?code=").unwrap().1;
        let mut client = Self { client, base: base.to_owned(), token: String::new() };
        client.token =
            client.post("login", &json!({ "code": code })).await["token"].as_str().unwrap().to_owned();
        client
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Value {
        let request = if self.token.is_empty() { request } else { request.bearer_auth(&self.token) };
        let text = request.send().await.unwrap().error_for_status().unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.client.post(format!("{}/api/v1/{path}", self.base));
        self.send(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// What the dashboard's page to add a source finds at an address.
    async fn look_at(&self, url: &str) -> String {
        let cookie = format!("gleaner_session={}", self.token);
        let page = self.client.get(format!("{}/add", self.base)).header("cookie", &cookie);
        let page = page.send().await.unwrap().text().await.unwrap();
        let form_token =
            page.split("name=\"form_token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let form = self.client.post(format!("{}/add", self.base)).header("cookie", &cookie);
        let form = form.header("x-form-token", form_token);
        let form =
            form.header("content-type", "application/x-www-form-urlencoded").body(format!("url={url}"));
        form.send().await.unwrap().text().await.unwrap()
    }

    async fn items(&self, path: &str) -> Vec<Value> {
        let answer = self.send(self.client.get(format!("{}/api/v1/{path}", self.base))).await;
        answer["items"].as_array().unwrap().clone()
    }

    /// Asks again and again, until it is so.
    async fn until(&self, what: &str, path: &str, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let look = async || Some(self.items(path).await).filter(|items| is_so(items));
        until(PATIENCE, look, async || format!("{what}: {:#?}", self.items(path).await)).await
    }
}

fn all<'a>(items: &'a [Value], field: &str) -> BTreeSet<&'a str> {
    items.iter().filter_map(|item| item[field].as_str()).collect()
}

#[tokio::test]
async fn a_demo_shows_everything_and_leaves_nothing() {
    let mut demo = Demo::start(&["--json", "--ahead", "2"]);
    let said: Value = serde_json::from_str(&demo.printed("}")).unwrap();
    assert_eq!(entries(demo.temporary.path()), 1, "a directory of its own");
    let (base, login) = (said["url"].as_str().unwrap().to_owned(), said["login_url"].as_str().unwrap());
    let client = Client::new(&base, login).await;
    let sources = client.items("sources?limit=100").await;
    assert!(sources.len() > 40);
    assert_eq!(all(&sources, "kind"), ["feed", "watchlist", "website", "x"].into());
    let statuses = ["disabled", "failing", "healthy", "quarantined"].into();
    client.until("every status", "sources?limit=100", |now| all(now, "status") == statuses).await;
    for kind in ["feed", "watchlist", "website", "x"] {
        let of_kind = |source: &&Value| source["kind"] == kind && source["status"] == "healthy";
        let id = &sources.iter().find(of_kind).unwrap()["id"];
        client
            .until("posts of every kind", &format!("posts?source_id={id}"), |posts| !posts.is_empty())
            .await;
    }
    let newest = |posts: &[Value]| posts.iter().filter_map(|post| post["id"].as_i64()).max().unwrap_or(0);
    let before = newest(&client.items("posts?limit=1").await);
    client.until("more posts", "posts?limit=1", |posts| newest(posts) > before + 20).await;
    for kind in ["source.failing", "source.quarantined", "source.recovered"] {
        let path = format!("events?types={kind}&limit=100");
        let latest =
            client.items(&path).await.iter().filter_map(|event| event["id"].as_i64()).max().unwrap_or(0);
        let more = |events: &[Value]| events.iter().any(|event| event["id"].as_i64() > Some(latest));
        client.until(kind, &path, more).await;
    }
    let looked = client.look_at("http://newcomer.example/").await;
    assert!(
        looked.contains("http://newcomer.example/feed.rss"),
        "the page to add one finds it, too: {looked}"
    );
    let found = client.post("sources/find", &json!({ "url": "http://newcomer.example/" })).await;
    assert_eq!(found["source"]["url"], "http://newcomer.example/feed.rss", "a page names its feed: {found}");
    demo.end("-INT");
    assert!(client.client.get(&base).send().await.is_err(), "nobody listens any more");
}

#[test]
fn a_demo_says_what_to_look_at() {
    let mut demo = Demo::start(&["--ahead", "0"]);
    let said = demo.printed("Ctrl-C ends it and leaves nothing behind.");
    assert!(said.starts_with("Log in, once: http://127.0.0.1:"), "{said}");
    assert!(said.contains("/login?code=") && said.contains("The Moth Almanac"), "{said}");
    assert!(said.lines().filter(|line| line.contains("/sources/")).count() >= 4, "{said}");
    assert!(said.lines().count() < 25, "{said}");
    demo.end("-TERM");
}

#[tokio::test]
async fn who_ends_a_demo_early_finds_nothing_either() {
    let demo = Demo::start(&["--ahead", "30"]);
    let begun =
        || std::fs::read_dir(demo.temporary.path()).unwrap().flatten().any(|one| entries(&one.path()) > 0);
    until(PATIENCE, async || begun().then_some(()), async || "it begins".to_owned()).await;
    demo.end("-INT");
}

#[test]
fn what_a_demo_cannot_do_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (args, words) in [
        (&["--listen", &address][..], "--listen takes another"),
        (&["--speed", "0"], "0 is not in 1..=1440"),
        (&["--server", "http://127.0.0.1:1"], "works where the database is"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_gleaner")).arg("demo").args(args).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(words), "{args:?}: {told}");
    }
}
