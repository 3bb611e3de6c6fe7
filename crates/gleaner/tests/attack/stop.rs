//! A process that is told to stop, stops, whatever is held.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::http::{Reply, Server};
use crate::support::until;

/// The process's own limit.
const STOPS_WITHIN: Duration = Duration::from_secs(25);
const PATIENCE: Duration = Duration::from_secs(60);

/// A process of gleaner, killed at the end.
struct Process {
    child: Child,
    address: String,
    code: String,
    _directory: tempfile::TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = gleaner(&directory);
        command.args(["serve", "--set", "api.listen=127.0.0.1:0"]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (base, code) = line.split_once("/login?code=").unwrap_or_else(|| panic!("no link in {line:?}"));
        let address = base.rsplit_once("http://").unwrap().1.to_owned();
        Self { child, address, code: code.trim().to_owned(), _directory: directory }
    }

    async fn connect(&self, sent: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream
    }

    /// Sends JSON, and reads the whole answer.
    async fn post(&self, path: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        let mut stream = self
            .connect(&format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{headers}\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}",
            ))
            .await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Logs in by the link that the process has printed.
    async fn token(&self) -> String {
        let answer = self.post("/api/v1/login", "", &format!("{{\"code\":\"{}\"}}", self.code)).await;
        let token = answer.split_once("\"token\":\"").unwrap_or_else(|| panic!("{answer}")).1;
        token.split('"').next().unwrap().to_owned()
    }

    /// Tells it to stop; how long it took, and what it ended with.
    async fn stop(&mut self) -> (Duration, Option<i32>) {
        let begun = Instant::now();
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let child = &mut self.child;
        let ended =
            until(PATIENCE, async || child.try_wait().unwrap(), async || "it never ended".to_owned()).await;
        (begun.elapsed(), ended.code())
    }
}

fn gleaner(directory: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command
        .env_clear()
        .env("HOME", directory.path())
        .env("GLEANER_STORE__URL", directory.path().join("gleaner.db"))
        .env("GLEANER_FETCH__ALLOW_PRIVATE_NETWORKS", "[\"127.0.0.0/8\"]");
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_streams_and_bodies_do_not_keep_it() {
    let mut process = Process::start(&["api.max_connections=10"]);
    let token = process.token().await;
    let stream =
        format!("GET /api/v1/events/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n");
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = process.connect(&stream).await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        streams.push(stream);
    }
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(process.connect("GET /healthz HTT").await);
        held.push(process.connect("POST /api/v1/login HTTP/1.1\r\ncontent-length: 9999\r\n\r\n{").await);
        held.push(process.connect(&"GET /login HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3000)).await);
    }
    let (took, code) = process.stop().await;
    assert!(took < STOPS_WITHIN, "{took:?}");
    assert_eq!(code, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_never_answers_does_not_keep_it() {
    let server = Server::start().await;
    server.on_all(|_| Reply::raw("").stall());
    let mut process = Process::start(&["fetch.timeout_seconds=3600"]);
    let headers = format!("authorization: Bearer {}\r\n", process.token().await);
    let source = format!("{{\"url\":\"{}\",\"kind\":\"feed\"}}", server.url("/feed"));
    let added = process.post("/api/v1/sources", &headers, &source).await;
    assert!(added.starts_with("HTTP/1.1 201 "), "{added}");
    server.until_asked("/feed", 1).await;
    let (took, code) = process.stop().await;
    assert!(took < STOPS_WITHIN, "{took:?}");
    assert_eq!(code, Some(0));
}
