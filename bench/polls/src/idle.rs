//! The cost of being idle: `gleaner serve` with very many sources of which none is due. Measures the time until it
//! is ready, its resource usage while idle, and the time to load the first page.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner::clock::{RandomSource, SystemClock};
use gleaner::config::secret::Secret;
use gleaner::service::{Login, Service};
use gleaner::store::{Options, open};
use gleaner_core::time::{Span, Time};

use crate::Error;
use crate::api::{config, request};
use crate::gleaner_program::source;
use crate::measure::median;
use crate::report::Figure;
use crate::soak::{ServeProcess, cpu_seconds, rss_mb, serve};

/// How long idle usage is measured.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Time to settle before the measurement.
const SETTLE_TIME: Duration = Duration::from_secs(5);
const STARTS: usize = 5;
const PAGES: usize = 20;
const PASSWORD: &str = "correct horse battery";

/// Number of sources for start-up and first page, and for idle usage.
const START_SOURCES: usize = 1_000_000;
const IDLE_SOURCES: usize = 100_000;

pub(crate) fn run() -> Result<Vec<Figure>, Error> {
    let ([ready, _, rss, page], [_, idle, idle_rss, _]) = (measure(START_SOURCES)?, measure(IDLE_SOURCES)?);
    let named = [
        ("ready_ms", ready),
        ("first_page_ms", page),
        ("rss_mb_1m", rss),
        ("idle_percent_of_core", idle),
        ("idle_rss_mb", idle_rss),
    ];
    Ok(named.map(|(name, value)| (name.to_owned(), value)).into())
}

/// With this many sources: milliseconds until ready, percent of a core and megabytes while idle, milliseconds for
/// the first page.
fn measure(sources: usize) -> Result<[f64; 4], Error> {
    let directory = tempfile::TempDir::new()?;
    let database = directory.path().join("gleaner.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let session = runtime.block_on(fill(&database, sources))?;
    let mut starts = Vec::new();
    for _ in 1..STARTS {
        starts.push(start(directory.path(), &database)?.2);
    }
    let (process, address, took) = start(directory.path(), &database)?;
    starts.push(took);
    let pages = (0..PAGES).map(|_| first_page(address, &session)).collect::<Result<Vec<_>, _>>()?;
    std::thread::sleep(SETTLE_TIME);
    let before = cpu_seconds(process.0.id())?;
    std::thread::sleep(IDLE_TIME);
    let idle = (cpu_seconds(process.0.id())? - before) / IDLE_TIME.as_secs_f64();
    let rss = rss_mb(process.0.id())?;
    eprintln!("{sources} sources: {rss:.0} MB");
    Ok([median(starts), 100.0 * idle, rss, median(pages)])
}

/// Creates a database with sources that are due next year, and a logged-in user.
async fn fill(database: &Path, sources: usize) -> Result<String, Error> {
    let store = open(&Options::new(database.display().to_string())).await?;
    let now = Time::from_millis(i64::try_from(std::time::UNIX_EPOCH.elapsed()?.as_millis())?);
    let mut numbers = (0..sources).peekable();
    while numbers.peek().is_some() {
        let some: Vec<_> = numbers
            .by_ref()
            .take(10_000)
            .map(|n| source(&format!("https://h{n}.example/feed.xml"), now + Span::from_days(300)))
            .collect();
        store.create_sources(&some, now).await?;
    }
    let service = Service::new(store, config()?, std::sync::Arc::new(SystemClock), RandomSource::new());
    let actor = service.local().await?;
    let password = Secret::new(PASSWORD.to_owned());
    service.by(&actor).set_password(&actor.name, None, &password).await?;
    let login = Login::Password { name: actor.name, password, address: None, device: None };
    Ok(service.log_in(login, Span::from_days(1)).await?.granted.secret.expose().to_owned())
}

/// Starts it; returns its address, and the milliseconds until it was ready.
fn start(home: &Path, database: &Path) -> Result<(ServeProcess, SocketAddr, f64), Error> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let begun = Instant::now();
    let process = ServeProcess(serve(home, database, &address.to_string())?);
    while begun.elapsed() < Duration::from_secs(60) {
        let ready = "GET /readyz HTTP/1.1\r\nhost: bench\r\n\r\n";
        if TcpStream::connect(address).is_ok_and(|mut stream| request(&mut stream, ready).is_ok()) {
            return Ok((process, address, begun.elapsed().as_secs_f64() * 1000.0));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Err("it was not ready after a minute".into())
}

/// Milliseconds to load the first page.
fn first_page(address: SocketAddr, session: &str) -> Result<f64, Error> {
    let mut stream = TcpStream::connect(address)?;
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\ncookie: gleaner_session={session}\r\n\r\n");
    let begun = Instant::now();
    let page = String::from_utf8(request(&mut stream, &request)?)?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    if page.contains("Log out") { Ok(took) } else { Err("that was not the first page".into()) }
}
