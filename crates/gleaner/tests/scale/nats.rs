//! A NATS server of a test's own, to be killed, wiped and set back; and what its stream holds.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::{self, stream::Stream};
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::support::until;

/// A server that keeps its streams in a directory of its own.
pub(super) struct Nats {
    directory: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

/// What a stream holds of posts.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The ids of messages that tell that a post was created, by post.
    pub(super) ids: HashMap<i64, Vec<String>>,
    /// All messages.
    pub(super) messages: usize,
}

impl Nats {
    pub(super) async fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut nats = Self { directory: tempfile::tempdir().unwrap(), port, child: None };
        nats.run().await;
        nats
    }

    /// Starts it where it does not run, and waits until it answers.
    pub(super) async fn run(&mut self) {
        let child = Command::new("nats-server")
            .args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"])
            .arg(self.directory.path().join("data"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed; `make setup` does it");
        self.child = Some(child);
        let answers = async || async_nats::connect(self.url()).await.ok();
        until(Duration::from_secs(20), answers, async || "nats-server answers".to_owned()).await;
    }

    pub(super) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Loses everything, while it does not run.
    pub(super) fn wipe(&self) {
        std::fs::remove_dir_all(self.directory.path().join("data")).unwrap();
    }

    /// Remembers what it holds, while it does not run.
    pub(super) fn remember(&self) {
        let copy = self.directory.path().join("copy");
        let _ = std::fs::remove_dir_all(&copy);
        copy_all(&self.directory.path().join("data"), &copy);
    }

    /// Loses what it took since it was to remember, as a machine does that loses power.
    pub(super) fn set_back(&self) {
        let copy = self.directory.path().join("copy");
        if copy.is_dir() {
            self.wipe();
            copy_all(&copy, &self.directory.path().join("data"));
        }
    }

    pub(super) async fn stream(&self) -> Option<Stream> {
        let client = async_nats::connect(self.url()).await.ok()?;
        jetstream::new(client).get_stream("gleaner").await.ok()
    }

    /// All that the stream holds, of the subjects of new posts.
    pub(super) async fn held(&self) -> Held {
        let stream = self.stream().await.expect("the stream is there");
        let total = usize::try_from(stream.cached_info().state.messages).unwrap();
        let config = pull::Config {
            ack_policy: AckPolicy::None,
            deliver_policy: DeliverPolicy::All,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.unwrap();
        let mut held = Held::default();
        while held.messages < total {
            let mut batch = consumer.fetch().max_messages(1000).messages().await.unwrap();
            let before = held.messages;
            while let Some(Ok(message)) = batch.next().await {
                held.messages += 1;
                let kind: Vec<&str> = message.subject.split('.').skip(2).collect();
                if kind != ["post", "created"] {
                    continue;
                }
                let id = message.headers.as_ref().unwrap().get("Nats-Msg-Id").unwrap().to_string();
                let told: Value = serde_json::from_slice(&message.payload).unwrap();
                let posts = told["data"]["posts"].as_array().unwrap();
                assert_eq!(posts.len(), 1, "a message is about one post");
                held.ids.entry(posts[0]["id"].as_i64().unwrap()).or_default().push(id);
            }
            assert!(held.messages > before, "the stream tells what it holds");
        }
        held
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

fn copy_all(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").args([from, to]).status().unwrap();
    assert!(copied.success());
}
