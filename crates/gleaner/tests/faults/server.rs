//! A PostgreSQL server of a test's own, to be stopped, paused and cut off; and a wire to it that can be cut.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinHandle;

/// A server in a directory of its own; it listens on a socket there and on no port.
pub(crate) struct Postgres {
    directory: tempfile::TempDir,
    bin: PathBuf,
}

impl Postgres {
    pub(crate) fn start() -> Self {
        let found = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let bin =
            found.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").is_file()).max();
        let bin = bin.expect("PostgreSQL is installed; `make setup` does it");
        let server = Self { directory: tempfile::tempdir().unwrap(), bin };
        let user = Command::new("id").arg("-u").output().unwrap();
        if user.stdout == b"0\n" {
            let owned = Command::new("chown").arg("postgres").arg(server.path()).status().unwrap();
            assert!(owned.success());
        }
        let data = server.data();
        server.run("initdb", &["-D", &data, "-U", "gleaner", "-A", "trust", "-E", "UTF8", "--no-sync"]);
        server.control("start", "fast");
        server
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn data(&self) -> String {
        self.path().join("data").display().to_string()
    }

    /// Runs one of the server's programs, which refuse to run as root.
    fn run(&self, program: &str, args: &[&str]) {
        let program = self.bin.join(program);
        let as_root = std::fs::metadata(self.path()).map(|found| {
            use std::os::unix::fs::MetadataExt as _;
            found.uid() != std::fs::metadata("/proc/self").map_or(0, |own| own.uid())
        });
        let mut command = if as_root.unwrap() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let ran =
            command.args(args).current_dir(self.path()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(ran.unwrap().success(), "{args:?}");
    }

    /// `start`, `stop` or `restart`; a mode of `immediate` is a crash.
    pub(crate) fn control(&self, what: &str, mode: &str) {
        let (data, log) = (self.data(), self.path().join("log").display().to_string());
        let options = format!("-k {} -c listen_addresses='' -c fsync=off", self.path().display());
        self.run("pg_ctl", &["-D", &data, "-l", &log, "-w", "-m", mode, "-o", &options, what]);
    }

    /// Where a client finds it.
    pub(crate) fn url(&self) -> String {
        format!("postgres://gleaner@localhost/postgres?host={}", self.path().display())
    }

    /// Sends a signal to the server and all its processes.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.path().join("data/postmaster.pid")).unwrap();
        let pid = pid.lines().next().unwrap().trim().to_owned();
        let children = Command::new("pgrep").args(["-P", &pid]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        // The first starts no others once it stands still.
        for one in std::iter::once(pid.as_str()).chain(children.split_whitespace()) {
            // One that has just ended is as good as paused.
            let _ = Command::new("kill").args([signal, one]).stderr(Stdio::null()).status().unwrap();
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.control("stop", "immediate");
            return;
        }
        self.signal("-KILL");
    }
}

/// What a wire does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// It carries everything.
    Whole = 0,
    /// Connections are reset, and new ones refused.
    Cut = 1,
    /// Whatever is sent is lost, and nobody is told: a cable that was pulled.
    Silent = 2,
}

/// A port that leads to the server.
pub(crate) struct Line {
    port: u16,
    state: Arc<AtomicU8>,
    task: JoinHandle<()>,
}

impl Line {
    pub(crate) async fn to(server: &Postgres) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = server.path().join(".s.PGSQL.5432");
        let state = Arc::new(AtomicU8::new(Wire::Whole as u8));
        let task = tokio::spawn(accept(listener, socket, Arc::clone(&state)));
        Self { port, state, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://gleaner@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    pub(crate) fn set(&self, wire: Wire) {
        self.state.store(wire as u8, Ordering::SeqCst);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, socket: PathBuf, state: Arc<AtomicU8>) {
    let mut open = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        if let Ok(server) = UnixStream::connect(&socket).await {
            open.spawn(carry(stream, server, Arc::clone(&state)));
        }
    }
}

/// Carries bytes both ways. A connection over which something was lost stays silent for ever.
async fn carry(mut client: TcpStream, mut server: UnixStream, state: Arc<AtomicU8>) {
    let (mut up, mut down, mut lost) = ([0; 16_384], [0; 16_384], false);
    let mut look = tokio::time::interval(std::time::Duration::from_millis(10));
    loop {
        let is = |wire: Wire| state.load(Ordering::SeqCst) == wire as u8;
        if is(Wire::Cut) {
            let _ = client.set_zero_linger();
            return;
        }
        let (count, to_server) = tokio::select! {
            read = client.read(&mut up) => (read, true),
            read = server.read(&mut down), if !lost => (read, false),
            _ = look.tick() => continue,
        };
        let Ok(count @ 1..) = count else { return };
        lost |= is(Wire::Silent);
        if lost {
            continue;
        }
        let sent = if to_server {
            server.write_all(&up[..count]).await
        } else {
            client.write_all(&down[..count]).await
        };
        if sent.is_err() {
            return;
        }
    }
}
