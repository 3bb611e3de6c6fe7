//! Measures requests per second and latencies of the API, compared to a bare handler.
//!
//! Each server runs in turn in its own process. gleaner reads a page of fifty sources from the database for each
//! request, with all its layers (token, limits, metrics); the bare handler returns the same bytes from memory.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use gleaner::clock::{RandomSource, SystemClock};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::service::{Scope, Service};
use gleaner::store::{Options, open};
use gleaner::web::{self, Web};
use gleaner_core::time::Span;
use tokio::net::TcpListener;

use crate::Error;
use crate::gleaner_program::{begin, source};
use crate::report::Figure;

/// Concurrent clients.
const CLIENTS: usize = 8;
/// Duration of each measurement.
const DURATION: Duration = Duration::from_secs(4);
/// Number of repetitions.
const REPETITIONS: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Speed {
    per_second: f64,
    p99_ms: f64,
}

/// Measures and compares both.
pub(crate) fn run(sources: usize) -> Result<Vec<Figure>, Error> {
    let directory = tempfile::TempDir::new()?;
    let database = directory.path().join("api.db").display().to_string();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (api, token) = runtime.block_on(start(&database, sources))?;
    let request = format!(
        "GET /api/v1/sources?limit=50&cursor={} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\r\n",
        sources / 2
    );
    let body = request(&mut TcpStream::connect(api)?, &request)?;
    let bare = runtime.block_on(start_bare(body.clone()))?;
    let bare_request = "GET / HTTP/1.1\r\nhost: bench\r\n\r\n";
    let (mut ratios, mut slowest) = (Vec::new(), Vec::new());
    for _ in 0..REPETITIONS {
        let (ours, theirs) = (load(api, &request)?, load(bare, bare_request)?);
        eprintln!(
            "50 of {sources} sources, {} bytes: {:.0}/s, p99 {:.1} ms; from memory {:.0}/s, p99 {:.1} ms",
            body.len(),
            ours.per_second,
            ours.p99_ms,
            theirs.per_second,
            theirs.p99_ms
        );
        ratios.push(ours.per_second / theirs.per_second);
        slowest.push(ours.p99_ms);
    }
    let median = crate::measure::median;
    Ok(vec![("api_ratio".to_owned(), median(ratios)), ("api_p99_ms".to_owned(), median(slowest))])
}

async fn start(database: &str, sources: usize) -> Result<(SocketAddr, String), Error> {
    let store = open(&Options::new(database)).await?;
    let all: Vec<_> =
        (0..sources).map(|n| source(&format!("https://h{n}.example/feed.xml"), begin())).collect();
    for some in all.chunks(1000) {
        store.create_sources(some, begin()).await?;
    }
    let service = Arc::new(Service::new(store, config()?, Arc::new(SystemClock), RandomSource::new()));
    let actor = service.local().await?;
    let token = service.by(&actor).create_token("bench", &[Scope::Read], Span::from_days(1)).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let web = Web { service };
    tokio::spawn(async move { web::serve(listener, &web, std::future::pending()).await });
    Ok((address, token.secret.expose().to_owned()))
}

async fn start_bare(body: Vec<u8>) -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let body = bytes::Bytes::from(body);
    let handler = get(move || {
        let body = body.clone();
        async move { ([("content-type", "application/json")], body) }
    });
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", handler)).await });
    Ok(address)
}

/// The vault's key.
pub(crate) const KEY: &str = "abababababababababababababababababababababababababababababababab";

pub(crate) fn config() -> Result<Config, Error> {
    let set = |assignment: String| Flag { name: "bench".into(), assignment };
    let key = format!("store.key=\"{KEY}\"");
    let flags = vec![set(key), set("api.requests_per_minute=0".to_owned())];
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Ok(Config::load(&inputs).map_err(|errors| errors.to_string())?.config)
}

/// Repeats a request with several concurrent clients.
fn load(server: SocketAddr, request: &str) -> Result<Speed, Error> {
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let mut times: Vec<Duration> = std::thread::scope(|scope| -> Result<_, Error> {
        let client = || -> Result<Vec<Duration>, Error> {
            let mut stream = TcpStream::connect(server)?;
            stream.set_nodelay(true)?;
            let mut times = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let sent_at = Instant::now();
                request(&mut stream, request)?;
                times.push(sent_at.elapsed());
            }
            Ok(times)
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        std::thread::sleep(DURATION);
        stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for client in clients {
            all.extend(client.join().map_err(|_| "a client panicked")??);
        }
        Ok(all)
    })?;
    let per_second = times.len() as f64 / begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    Ok(Speed { per_second, p99_ms: p99.as_secs_f64() * 1000.0 })
}

/// One request on a kept connection; returns the body of a successful response.
pub(crate) fn request(stream: &mut TcpStream, request: &str) -> Result<Vec<u8>, Error> {
    stream.write_all(request.as_bytes())?;
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    if !line.starts_with("HTTP/1.1 200") {
        return Err(format!("the server said {}", line.trim()).into());
    }
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}
