//! Serves connections.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::fault::Fault;
use crate::ledger::{Ending, Validators};
use crate::listen::{self, Listeners};
use crate::request::{Request, head_length};
use crate::{State, control, lock, page};

/// Longer request heads are refused.
const HEAD_LIMIT: usize = 16 << 10;

/// How long a request without a response is held.
const TIMEOUT: Duration = Duration::from_secs(120);

/// `Retry-After` of a 429.
const RETRY_AFTER_SECS: u64 = 120;

/// The server side of a connection.
#[derive(Debug, Clone, Copy)]
enum Party {
    Host(u32),
    Control,
}

/// The open connections, each of which holds a clone; and their maximum number.
#[derive(Debug, Clone)]
struct Open(Arc<()>, usize);

impl Open {
    /// Whether idle connections may soon keep others out.
    fn is_tight(&self, hosts: u32) -> bool {
        Arc::strong_count(&self.0).saturating_sub(hosts as usize) > self.1 / 2
    }
}

/// Serves until stopped.
pub(crate) async fn run(state: Arc<State>, listeners: Listeners) {
    let open = Open(Arc::new(()), listeners.connections);
    let hosts = listeners.hosts.into_iter().zip((0..).map(Party::Host));
    for (socket, party) in hosts.chain([(listeners.control, Party::Control)]) {
        match listen::adopt(socket) {
            Ok(listener) => drop(tokio::spawn(accept(listener, party, Arc::clone(&state), open.clone()))),
            Err(error) => eprintln!("{party:?}: {error}"),
        }
    }
    state.stop.notified().await;
}

async fn accept(listener: TcpListener, party: Party, state: Arc<State>, open: Open) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (state, open) = (Arc::clone(&state), open.clone());
                tokio::spawn(async move {
                    // Disconnecting clients are recorded in the ledger.
                    drop(connection(stream, party, &state, &open).await);
                });
            }
            // At the limit of open files, connections wait in the kernel's queue.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(mut stream: TcpStream, party: Party, state: &State, open: &Open) -> io::Result<()> {
    let idle = Duration::from_millis(state.options.keep_alive_ms);
    let mut buffer = Vec::with_capacity(1024);
    loop {
        let length = loop {
            if let Some(length) = head_length(&buffer) {
                break length;
            }
            let read = timeout(idle, stream.read_buf(&mut buffer)).await;
            if !matches!(read, Ok(Ok(1..))) || buffer.len() > HEAD_LIMIT {
                return Ok(());
            }
        };
        let Some(request) = Request::parse(&buffer[..length]) else {
            return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        };
        let close = request.close;
        match party {
            Party::Host(host) => serve(&mut stream, &request, host, state).await?,
            Party::Control => stream.write_all(&control::answer(request.target, state)).await?,
        }
        if close || open.is_tight(state.options.hosts()) {
            return Ok(());
        }
        buffer.drain(..length);
    }
}

/// Responds to a request for a feed, and updates the ledger.
async fn serve(stream: &mut TcpStream, request: &Request<'_>, host: u32, state: &State) -> io::Result<()> {
    let documents = state.documents();
    if request.target == "/robots.txt" {
        return stream.write_all(&simple("404 Not Found", "")).await;
    }
    if let Some(page) = page::answer(&state.options, request.target, documents.generation) {
        return stream.write_all(&page).await;
    }
    let feed = request.feed().filter(|feed| state.options.host_of(*feed) == host);
    let Some((feed, document)) = feed.and_then(|feed| Some((feed, documents.get(feed)?))) else {
        lock(&state.ledger).misdirected();
        return stream.write_all(&simple("404 Not Found", "")).await;
    };
    let nth = lock(&state.ledger).begin(feed, host, request.validators, state.now());
    let fault = lock(&state.rates).draw(state.options.seed, feed, nth);
    if state.options.latency_ms > 0 {
        sleep(Duration::from_millis(state.options.latency_ms)).await;
    }
    let (etag, last_modified) = (document.etag.as_str(), document.last_modified.as_str());
    let (result, ending) = if let Some(fault) = fault {
        (fail(stream, fault, document.answer(&state.pool)).await, Ending::Fault(fault))
    } else if is_current(request.validators, etag, last_modified) {
        (stream.write_all(&document.not_modified).await, Ending::NotModified)
    } else {
        let result = write_parts(stream, &mut document.answer(&state.pool)).await;
        (result, Ending::Full { etag, last_modified })
    };
    let ending = if result.is_err() && fault.is_none() { Ending::CutShort } else { ending };
    let pause = match ending {
        Ending::Fault(Fault::RateLimited) => RETRY_AFTER_SECS,
        Ending::Full { .. } | Ending::NotModified => state.options.max_age.unwrap_or(0),
        _ => 0,
    };
    lock(&state.ledger).end(feed, host, &ending, state.now().saturating_add(pause.saturating_mul(1000)));
    result
}

/// RFC 9110: the date is ignored if there is an entity tag.
fn is_current(validators: Validators, etag: &str, last_modified: &str) -> bool {
    match validators {
        Validators { etag: Some(known), .. } => known == etag,
        Validators { modified: Some(known), .. } => known == last_modified,
        _ => false,
    }
}

/// Serves a fault. An error closes the connection.
async fn fail(stream: &mut TcpStream, fault: Fault, answer: Vec<IoSlice<'_>>) -> io::Result<()> {
    match fault {
        Fault::NotFound => stream.write_all(&simple("404 Not Found", "")).await,
        Fault::ServerError => stream.write_all(&simple("500 Internal Server Error", "")).await,
        Fault::RateLimited => {
            let header = format!("Retry-After: {RETRY_AFTER_SECS}\r\n");
            stream.write_all(&simple("429 Too Many Requests", &header)).await
        }
        Fault::Timeout => {
            // Returns early only if the client disconnects.
            drop(timeout(TIMEOUT, stream.read(&mut [0; 64])).await);
            Err(io::ErrorKind::TimedOut.into())
        }
        Fault::Reset => {
            let half = answer.len() / 2;
            write_parts(stream, &mut answer.into_iter().take(half).collect::<Vec<_>>()).await?;
            // Without lingering, closing sends a reset.
            socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO))?;
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
}

/// A response without a body.
fn simple(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{headers}\r\n").into_bytes()
}

async fn write_parts(stream: &mut TcpStream, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !parts.is_empty() {
        let written = stream.write_vectored(parts).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut parts, written);
    }
    Ok(())
}
