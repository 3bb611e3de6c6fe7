//! Hostile clients. Each runs until it is dropped, and reconnects when its connection is closed.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use crate::http::{Answer, address, connect, request, send};

/// Delay before a closed connection is opened again.
const RECONNECT_DELAY: Duration = Duration::from_millis(200);

/// What a hostile connection does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Misbehaviour {
    /// Sends requests and reads no responses.
    NeverReads,
    /// Sends headers one byte at a time.
    SlowHeaders,
    /// Announces a body, and sends half of it.
    HalfABody,
    /// Opens a connection and sends nothing.
    Silent,
}

const MISBEHAVIOURS: [Misbehaviour; 4] =
    [Misbehaviour::NeverReads, Misbehaviour::SlowHeaders, Misbehaviour::HalfABody, Misbehaviour::Silent];

/// Hostile connections of all kinds, half of them from one address.
pub(crate) fn connections(count: usize, to: SocketAddr) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for n in 0..count {
        let from = if n % 2 == 0 { Ipv4Addr::LOCALHOST } else { address(30, n) };
        tasks.spawn(async move {
            loop {
                let _ = misbehave(MISBEHAVIOURS[n / 2 % MISBEHAVIOURS.len()], from, to).await;
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
        });
    }
    tasks
}

async fn misbehave(misbehaviour: Misbehaviour, from: Ipv4Addr, to: SocketAddr) -> std::io::Result<()> {
    let mut stream = connect(from, to).await?;
    match misbehaviour {
        Misbehaviour::NeverReads => {
            let requests =
                "GET /login HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\n\r\n".repeat(100);
            loop {
                stream.write_all(requests.as_bytes()).await?;
            }
        }
        Misbehaviour::SlowHeaders => {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nx: ").await?;
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                stream.write_all(b"x").await?;
            }
        }
        Misbehaviour::HalfABody => {
            let head = "POST /api/v1/login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 16000\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&[b' '; 8000]).await?;
            stream.read_to_end(&mut Vec::new()).await.map(drop)
        }
        Misbehaviour::Silent => stream.read_to_end(&mut Vec::new()).await.map(drop),
    }
}

/// Responses by status; 0 stands for no response.
#[derive(Debug)]
pub(crate) struct Statuses([AtomicU64; 600]);

impl Statuses {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(std::array::from_fn(|_| AtomicU64::new(0))))
    }

    pub(crate) fn count(&self, answer: &std::io::Result<Answer>) {
        let status = answer.as_ref().map_or(0, |answer| usize::from(answer.status).min(599));
        self.0[status].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn of(&self, status: usize) -> u64 {
        self.0[status].load(Ordering::Relaxed)
    }

    pub(crate) fn json(&self) -> String {
        let some = (0..self.0.len()).filter(|status| self.of(*status) > 0);
        let fields: Vec<String> = some.map(|status| format!("\"{status}\":{}", self.of(status))).collect();
        format!("{{{}}}", fields.join(","))
    }
}

/// A login request with a guessed password.
pub(crate) fn guess(name: &str, password: &str) -> Vec<u8> {
    let body = format!("{{\"name\":\"{name}\",\"password\":\"{password}\"}}");
    request("POST", "/api/v1/login", None, Some(("application/json", &body)))
}

/// Login attempts from many addresses with many names, at this rate.
pub(crate) fn logins(per_second: u32, to: SocketAddr, statuses: &Arc<Statuses>) -> JoinSet<()> {
    let (mut tasks, statuses) = (JoinSet::new(), Arc::clone(statuses));
    tasks.spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_secs(1) / per_second);
        let mut running = JoinSet::new();
        for n in 0_usize.. {
            tick.tick().await;
            while running.try_join_next().is_some() {}
            let statuses = Arc::clone(&statuses);
            running.spawn(async move {
                let name = if n % 2 == 0 { "admin".to_owned() } else { format!("user {n}") };
                let request = guess(&name, "wrong horse");
                statuses.count(&send(address(31, n), to, &request, Duration::from_secs(30)).await);
            });
        }
    });
    tasks
}

/// Sends all requests at once.
pub(crate) async fn at_once(
    count: usize,
    to: SocketAddr,
    from: impl Fn(usize) -> Ipv4Addr,
    request: impl Fn(usize) -> Vec<u8>,
) -> Arc<Statuses> {
    let (statuses, mut tasks) = (Statuses::new(), JoinSet::new());
    for n in 0..count {
        let (from, request, statuses) = (from(n), request(n), Arc::clone(&statuses));
        tasks.spawn(async move { statuses.count(&send(from, to, &request, Duration::from_secs(60)).await) });
    }
    tasks.join_all().await;
    statuses
}
