//! The feeds that the attacked gleaner polls, on loopback: every path of every host is a feed with one entry; and
//! pages with many headlines.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Headlines per page.
const HEADLINES: usize = 100_000;

pub(crate) struct Farm {
    port: u16,
    polls: Arc<AtomicU64>,
}

impl Farm {
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await?;
        let (port, polls) = (listener.local_addr()?.port(), Arc::new(AtomicU64::new(0)));
        let headlines: Arc<str> = "<h2><a href=/x>Headline</a></h2>".repeat(HEADLINES).into();
        let counted = Arc::clone(&polls);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&counted), Arc::clone(&headlines)));
            }
        });
        Ok(Self { port, polls })
    }

    pub(crate) fn url(&self, host: Ipv4Addr, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// The number of fetched feeds.
    pub(crate) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }
}

async fn answer(mut stream: TcpStream, polls: Arc<AtomicU64>, headlines: Arc<str>) -> std::io::Result<()> {
    let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head: Vec<u8> = received.drain(..end + 4).collect();
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or("/");
            let (status, kind, body) = if path.starts_with("/feed") {
                let n = polls.fetch_add(1, Ordering::Relaxed);
                let item = format!(
                    "<item><guid>{path}-{n}</guid><description>Entry {n} of {path}</description></item>"
                );
                let feed = format!("<rss version='2.0'><channel><title>{path}</title>{item}</channel></rss>");
                ("200 OK", "application/rss+xml", feed)
            } else if path.starts_with("/headlines") {
                ("200 OK", "text/html", format!("<html><body>{headlines}</body></html>"))
            } else {
                ("404 Not Found", "text/plain", String::new())
            };
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
        }
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            read => received.extend_from_slice(&buffer[..read]),
        }
    }
}
