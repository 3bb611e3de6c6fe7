//! The README, followed as a new user would: its commands as they stand, in a clean home, with the tests' own build.
//!
//! What is out there is stood in for: gleaner asks through a proxy of the test's, which answers for every host (see
//! [`answer`]); https becomes http on the way. `cargo run --release --` is the tests' build. What goes on until it is stopped (`serve`,
//! `demo`, a stream) is started, and stopped at the end of the page. `page.rs` says how a page is read, and what a
//! comment in it can say. Absent on purpose: knowledge of any page. What it says is what is run.

mod page;

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use page::Step;

use crate::support::http::{Received, Reply, Server};

/// What goes on until it is stopped.
const ENDLESS: [&str; 4] = ["gleaner serve", "gleaner demo", "/events/stream", "--follow"];
/// Where the README says that gleaner answers.
const USUAL: [&str; 2] = ["127.0.0.1:8080", "localhost:8080"];

#[tokio::test]
async fn the_readme_does_what_it_says() {
    follow("README.md").await;
}

#[tokio::test]
async fn the_pages_on_concepts_and_policies_do_what_they_say() {
    follow("docs/concepts.md").await;
    follow("docs/policies.md").await;
}

/// Takes every step of a page.
async fn follow(page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let steps = page::steps(&std::fs::read_to_string(path).unwrap());
    assert!(!steps.is_empty(), "{page} has nothing to follow");
    let internet = Server::start().await;
    internet.on_all(answer);
    let proxy = format!("http://{}", internet.address());
    let page = page.to_owned();
    let walk = tokio::task::spawn_blocking(move || {
        let mut reader = Reader::new(proxy);
        steps.iter().for_each(|step| reader.take(&page, step));
        reader.stop(&page);
    });
    walk.await.unwrap();
}

/// Somebody new, who has nothing but a home and the page.
struct Reader {
    home: tempfile::TempDir,
    proxy: String,
    /// Where gleaner answers, once it does.
    api: Option<String>,
    /// The latest access token, which the page calls `$TOKEN`.
    token: String,
    running: Vec<(String, Child)>,
}

impl Reader {
    fn new(proxy: String) -> Self {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gleaner"), bin.join("gleaner")).unwrap();
        Self { home, proxy, api: None, token: String::new(), running: Vec::new() }
    }

    fn take(&mut self, page: &str, step: &Step) {
        let place = format!("{page}:{}", step.line);
        let mut printed = String::new();
        for line in &step.commands {
            let line = line.replace("cargo run --release --", "gleaner");
            if ENDLESS.iter().any(|endless| line.contains(endless)) {
                self.start(&place, &line, step.output.as_deref(), &mut printed);
                continue;
            }
            let Output { status, stdout, stderr } = self.shell(&line).output().unwrap();
            let (out, err) = (self.seen(&stdout), self.seen(&stderr));
            let may_fail = step.output.as_ref().is_some_and(|output| output.starts_with("error:"));
            assert!(status.success() || may_fail, "{place}: {line}\n{out}{err}");
            if line.starts_with("gleaner token create") {
                self.token = out.trim().to_owned();
            }
            printed += &out;
            printed += &err;
        }
        if let Some(expected) = &step.output {
            assert!(
                page::agrees(expected, &printed),
                "{place} says\n{expected}\nbut it is\n{printed}\n(`…` stands for anything)"
            );
        }
    }

    /// A line of the page, as a shell takes it.
    fn shell(&self, line: &str) -> Command {
        let mut line = line.replace("https://", "http://");
        if let Some(api) = &self.api {
            USUAL.iter().for_each(|usual| line = line.replace(usual, api));
        }
        let mut command = Command::new("bash");
        command.args(["-c", &line]).env_clear().current_dir(self.home.path());
        command.env("HOME", self.home.path()).env("PATH", self.path()).env("TOKEN", &self.token);
        command.env("GLEANER_FETCH__PROXY", &self.proxy).env("GLEANER_API__LISTEN", "127.0.0.1:0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn path(&self) -> String {
        let bin: PathBuf = self.home.path().join("bin");
        format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
    }

    /// What was printed, as it would be outside of a test.
    fn seen(&self, bytes: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        if let Some(api) = &self.api {
            text = text.replace(api, USUAL[0]);
        }
        text.replace(&self.home.path().display().to_string(), "~")
    }

    /// Starts what goes on, and waits until it has said where it answers, and what the page says that it does. Of two
    /// servers, the first is stopped before the second is started, as a reader would.
    fn start(&mut self, place: &str, line: &str, expected: Option<&str>, printed: &mut String) {
        let is_stream = line.contains("/events/stream") || line.contains("--follow");
        if !is_stream {
            self.stop(place);
            self.api = None;
        }
        let mut child = self.shell(&format!("exec {line}")).spawn().unwrap();
        let said = lines_of(&mut child);
        self.running.push((format!("{place}: {line}"), child));
        // A stream may have nothing to say for now; that it goes on is looked at in the end.
        while !is_stream && (self.api.is_none() || expected.is_some_and(|text| !page::agrees(text, printed)))
        {
            let said = said.recv_timeout(Duration::from_secs(60));
            let said = said.unwrap_or_else(|why| {
                panic!(
                    "{place}: {line}: {why}\nit says\n{}\nbut it is\n{printed}",
                    expected.unwrap_or("nothing")
                )
            });
            self.api = self.api.take().or_else(|| {
                let (_, after) = said.split_once("http://127.0.0.1:")?;
                let port: String = after.chars().take_while(char::is_ascii_digit).collect();
                Some(format!("127.0.0.1:{port}"))
            });
            *printed += &self.seen(said.as_bytes());
            printed.push('\n');
        }
    }

    /// Stops what still goes on, the latest first.
    fn stop(&mut self, page: &str) {
        for (line, mut child) in std::mem::take(&mut self.running).into_iter().rev() {
            assert!(child.try_wait().unwrap().is_none(), "{page}: ended by itself: {line}");
            let pid = child.id().to_string();
            assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
            let status = child.wait().unwrap();
            assert!(status.success() || !line.contains("gleaner"), "{line} ended with {status}");
        }
    }
}

/// What a process says, on either way, line by line. It is read to its end, since a full pipe would stop it.
fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    for stream in [Box::new(out) as Box<dyn Read + Send>, Box::new(err)] {
        let sender = sender.clone();
        std::thread::spawn(move || {
            BufReader::new(stream).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
    }
    receiver
}

impl Drop for Reader {
    /// Where a test failed on the way.
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What every host of the test's internet answers: a front page that names its feed, that feed, and a blog without one.
fn answer(request: &Received) -> Reply {
    let path = request.path.split_once("://").map_or(request.path.as_str(), |(_, rest)| rest);
    let (host, path) = path.split_once('/').unwrap_or((path, ""));
    let page = |body: String| Reply::ok(format!("<html><head><title>{host}</title>{body}</html>"));
    match path {
        "" => page("<link rel=alternate type='application/rss+xml' title='Garden Notes' href='/feed.xml'></head><p>Hello".into()),
        "feed.xml" => Reply::ok(feed(host)).header("Content-Type", "application/rss+xml"),
        "blog" => {
            let link = |n: u32| format!("<article><h2><a href='/blog/2026/post-{n}'>How to prune a hedge, part {n}</a></h2><p>Some words about hedges.</article>");
            let links: String = (1..=4).rev().map(link).collect();
            page(format!("</head><nav><a href='/'>Home</a><a href='/about'>About</a></nav><main>{links}</main>"))
        }
        _ if path.starts_with("blog/") => {
            let text = "<p>Hedges want pruning in late summer, when birds have left their nests and the growth of the year is done.".repeat(5);
            page(format!("</head><article><h1>How to prune a hedge</h1>{text}</article>"))
        }
        _ => Reply::status(404),
    }
}

fn feed(host: &str) -> String {
    let item = |n: u32| {
        format!(
            "<item><guid>{n}</guid><title>Garden Notes {n}</title><link>http://{host}/posts/{n}</link><description>The text of number {n}.</description></item>"
        )
    };
    let items: String = (1..=3).rev().map(item).collect();
    format!(
        "<rss version='2.0'><channel><title>Garden Notes</title><link>http://{host}/</link>{items}</channel></rss>"
    )
}
