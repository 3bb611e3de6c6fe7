//! Workers and API nodes as processes of their own, each with a wire of its own to one PostgreSQL.

use std::fs::File;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gleaner::store::{Options, open};
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

use super::farm::Farm;
use super::nats::Nats;
use crate::faults::server::{Line, Postgres, Wire};
use crate::support::{start, until};

/// How long a host stays a worker's that is not heard from.
pub(super) const LEASE: Duration = Duration::from_secs(3);
/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Site {
    pub(super) postgres: Postgres,
    pub(super) nats: Nats,
    pub(super) farm: Farm,
    pub(super) workers: Vec<Process>,
    apis: Vec<(Process, u16)>,
    directory: TempDir,
    started: usize,
}

pub(super) struct Process {
    child: Child,
    line: Line,
}

impl Process {
    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub(super) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(super) fn go_on(&self) {
        self.signal("-CONT");
    }

    pub(super) fn cut_off(&self) {
        self.line.set(Wire::Cut);
    }

    pub(super) fn mend(&self) {
        self.line.set(Wire::Whole);
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops as a person would have it stopped.
    pub(super) async fn stop(&mut self) {
        self.signal("-TERM");
        let stopped = async || self.child.try_wait().unwrap();
        let status = until(PATIENCE, stopped, async || "it stops".to_owned()).await;
        assert!(status.success(), "it stops well: {status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    pub(super) async fn new(farm: Farm) -> Self {
        let postgres = Postgres::start();
        let store = open(&Options::new(postgres.url())).await.unwrap();
        for piece in farm.sources().chunks(500) {
            store.create_sources(piece, start()).await.unwrap();
        }
        let (nats, directory) = (Nats::start().await, tempfile::tempdir().unwrap());
        Self { postgres, nats, farm, workers: Vec::new(), apis: Vec::new(), directory, started: 0 }
    }

    /// Starts a process in a role.
    async fn start(&mut self, role: &str, listen: Option<u16>) -> Process {
        self.started += 1;
        let log = File::create(self.directory.path().join(format!("{role}-{}.log", self.started))).unwrap();
        let line = Line::to(&self.postgres).await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command
            .args(["serve", "--role", role])
            .env_clear()
            .env("HOME", self.directory.path())
            .env("GLEANER_STORE__URL", line.url())
            .env("GLEANER_STORE__KEY", "0".repeat(64))
            .env("GLEANER_STORE__MAX_CONNECTIONS", "5")
            .env("GLEANER_SERVE__LEASE_SECONDS", LEASE.as_secs().to_string())
            .env("GLEANER_NATS__URL", self.nats.url())
            .env("GLEANER_FETCH__ALLOW_PRIVATE_NETWORKS", "[\"127.0.0.0/8\"]")
            .env("GLEANER_FETCH__CONCURRENCY", "16")
            .env("GLEANER_FETCH__CONTACT", format!("https://worker.example/{}", self.started))
            .env("GLEANER_LOG__LEVEL", "info")
            .stdout(Stdio::null())
            .stderr(log);
        if let Some(port) = listen {
            command.env("GLEANER_API__LISTEN", format!("127.0.0.1:{port}"));
        }
        Process { child: command.spawn().unwrap(), line }
    }

    pub(super) async fn add_worker(&mut self) {
        let worker = self.start("worker", None).await;
        self.workers.push(worker);
    }

    pub(super) async fn add_api(&mut self) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let api = self.start("api", Some(port)).await;
        self.apis.push((api, port));
    }

    /// A worker in the place of another.
    pub(super) async fn replace(&mut self, place: usize) -> Process {
        let worker = self.start("worker", None).await;
        std::mem::replace(&mut self.workers[place], worker)
    }

    /// Waits until every API node says that it is ready.
    pub(super) async fn apis_are_ready(&self) {
        // Only the first of a process's tests installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        #[expect(clippy::disallowed_methods, reason = "a client of the process, not of the world")]
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        for (_, port) in &self.apis {
            let url = format!("http://127.0.0.1:{port}/readyz");
            let ready = async || client.get(&url).send().await.is_ok_and(|answer| answer.status() == 200);
            self.until("an API node is ready", ready).await;
        }
    }

    /// Makes everything due again that nobody holds, as if all intervals had passed.
    pub(super) async fn make_due(&self) {
        // While the server restarts there is nobody to do it to.
        let Ok(mut database) = PgConnection::connect(&self.postgres.url()).await else { return };
        // What a worker that stands still has locked waits for it, and nobody else does.
        let sql = "UPDATE source_state SET next_poll_at = 0 WHERE source_id IN \
                       (SELECT source_id FROM source_state WHERE next_poll_at > 0 AND host_id IN \
                           (SELECT id FROM hosts WHERE lease_owner IS NULL) FOR UPDATE SKIP LOCKED)";
        let _ = sqlx::raw_sql(sql).execute(&mut database).await;
        let sql = "UPDATE hosts SET next_due = 0 WHERE id IN \
                       (SELECT id FROM hosts WHERE lease_owner IS NULL AND next_due > 0 FOR UPDATE SKIP LOCKED)";
        let _ = sqlx::raw_sql(sql).execute(&mut database).await;
    }

    /// How many hosts a process holds.
    pub(super) async fn held_by(&self, process: u32) -> i64 {
        let like = format!("%.{process}.%");
        let sql = "SELECT COUNT(*) FROM hosts WHERE lease_owner LIKE $1";
        let Ok(mut database) = PgConnection::connect(&self.postgres.url()).await else { return 1 };
        sqlx::query_scalar(sql).bind(like).fetch_one(&mut database).await.unwrap_or(1)
    }

    /// Waits until others have what a process held; how long that took.
    pub(super) async fn taken_over(&self, process: u32) -> Duration {
        let begun = Instant::now();
        self.until("others take over", async || self.held_by(process).await == 0).await;
        begun.elapsed()
    }

    /// All is polled again and again until this holds.
    pub(super) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let look = async || {
            let so = holds().await;
            if !so {
                self.make_due().await;
            }
            so.then_some(())
        };
        until(PATIENCE, look, async || format!("{what}\n{}", self.logs())).await;
    }

    /// The end of what every process said.
    pub(super) fn logs(&self) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(self.directory.path()).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let from = text.len().saturating_sub(3000);
                let tail = text.get(from..).unwrap_or(&text);
                all.push_str(&format!("--- {}\n{tail}\n", path.display()));
            }
        }
        all
    }

    pub(super) fn id(&self, worker: usize) -> u32 {
        self.workers[worker].child.id()
    }

    /// Stops everybody.
    pub(super) async fn stop(&mut self) {
        for mut worker in std::mem::take(&mut self.workers) {
            worker.stop().await;
        }
        for (mut api, _) in std::mem::take(&mut self.apis) {
            api.stop().await;
        }
    }
}
