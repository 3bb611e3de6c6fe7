//! What stands still must cost nothing: `gleaner serve` with very many sources of which none is due. How soon it is ready,
//! what it takes while nothing happens, and how soon the first page is there.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner::clock::{Chance, SystemClock};
use gleaner::config::secret::Secret;
use gleaner::service::{Login, Service};
use gleaner::store::{Options, open};
use gleaner_core::time::{Span, Time};

use crate::Failed;
use crate::api::{ask, config};
use crate::measure::median;
use crate::report::Figure;
use crate::soak::{Serving, cpu_seconds, rss_mb, serve};
use crate::subject::source;

/// How long nothing is watched to happen.
const WATCHED: Duration = Duration::from_secs(30);
/// How long it may settle before.
const SETTLES: Duration = Duration::from_secs(5);
const STARTS: usize = 5;
const PAGES: usize = 20;
const PASSWORD: &str = "correct horse battery";

/// Sources while it starts and shows itself, and while it is idle.
const MOST: usize = 1_000_000;
const MANY: usize = 100_000;

/// All figures.
pub(crate) fn run() -> Result<Vec<Figure>, Failed> {
    let ([ready, _, rss, page], [_, idle, idle_rss, _]) = (measure(MOST)?, measure(MANY)?);
    let named = [
        ("ready_ms", ready),
        ("first_page_ms", page),
        ("rss_mb_1m", rss),
        ("idle_percent_of_core", idle),
        ("idle_rss_mb", idle_rss),
    ];
    Ok(named.map(|(name, value)| (name.to_owned(), value)).into())
}

/// With so many sources: milliseconds until it is ready, percents of a core and megabytes while idle, milliseconds for the
/// first page.
fn measure(sources: usize) -> Result<[f64; 4], Failed> {
    let directory = tempfile::TempDir::new()?;
    let database = directory.path().join("gleaner.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let session = runtime.block_on(fill(&database, sources))?;
    let mut starts = Vec::new();
    for _ in 1..STARTS {
        starts.push(start(directory.path(), &database)?.2);
    }
    let (serving, address, took) = start(directory.path(), &database)?;
    starts.push(took);
    let pages = (0..PAGES).map(|_| first_page(address, &session)).collect::<Result<Vec<_>, _>>()?;
    std::thread::sleep(SETTLES);
    let before = cpu_seconds(serving.0.id())?;
    std::thread::sleep(WATCHED);
    let idle = (cpu_seconds(serving.0.id())? - before) / WATCHED.as_secs_f64();
    let rss = rss_mb(serving.0.id())?;
    eprintln!("{sources} sources: {rss:.0} MB");
    Ok([median(starts), 100.0 * idle, rss, median(pages)])
}

/// A database with so many sources that are due next year, and somebody who is logged in.
async fn fill(database: &Path, sources: usize) -> Result<String, Failed> {
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
    let service = Service::new(store, config()?, std::sync::Arc::new(SystemClock), Chance::new());
    let actor = service.local().await?;
    let password = Secret::new(PASSWORD.to_owned());
    service.by(&actor).set_password(&actor.name, None, &password).await?;
    let login = Login::Password { name: actor.name, password, address: None, device: None };
    Ok(service.log_in(login, Span::from_days(1)).await?.granted.secret.expose().to_owned())
}

/// Starts it; where it answers, and how many milliseconds it took to be ready.
fn start(home: &Path, database: &Path) -> Result<(Serving, SocketAddr, f64), Failed> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let begun = Instant::now();
    let serving = Serving(serve(home, database, &address.to_string())?);
    while begun.elapsed() < Duration::from_secs(60) {
        let ready = "GET /readyz HTTP/1.1\r\nhost: bench\r\n\r\n";
        if TcpStream::connect(address).is_ok_and(|mut stream| ask(&mut stream, ready).is_ok()) {
            return Ok((serving, address, begun.elapsed().as_secs_f64() * 1000.0));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Err("it was not ready after a minute".into())
}

/// The milliseconds from the question for the first page to its last byte.
fn first_page(address: SocketAddr, session: &str) -> Result<f64, Failed> {
    let mut stream = TcpStream::connect(address)?;
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\ncookie: gleaner_session={session}\r\n\r\n");
    let begun = Instant::now();
    let page = String::from_utf8(ask(&mut stream, &request)?)?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    if page.contains("Log out") { Ok(took) } else { Err("that was not the first page".into()) }
}
