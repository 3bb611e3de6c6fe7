//! How cost grows with the number of sources, of which a thousand are due: from a thousand to a million, on both
//! databases.
//!
//! Each size is a process with its own database, which it fills and then polls by the minute. Memory and CPU of
//! PostgreSQL's own processes are not measured.

use std::time::Instant;

use gleaner::store::{ClaimRequest, Release, Store};
use gleaner_core::time::{Span, Time};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use crate::Error;
use crate::child::Child;
use crate::due::{DUE, Due, MINUTES};
use crate::farm_process::FarmProcess;
use crate::measure::{cpu_seconds, median, peak_rss_mb, raise_file_limit};

const SIZES: [usize; 4] = [1000, 10_000, 100_000, 1_000_000];

/// Prints a line for each size on each database; PostgreSQL if `TEST_POSTGRES` is set.
pub(crate) fn run() -> Result<bool, Error> {
    let directory = tempfile::TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let _farm = FarmProcess::start(u32::try_from(DUE * MINUTES)?, place("urls").as_ref())?;
    println!("  database    sources   claim ms   minute: CPU s   memory MB   on disk MB");
    for size in SIZES {
        let line = |kind: &str, url: &str| -> Result<(), Error> {
            let mut child = Child::start(&["growth", &place("urls"), url, &size.to_string()])?;
            let line = child.line()?;
            let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
            let [claim, minute, rss, disk] = numbers[..] else { return Err(line.into()) };
            println!("  {kind:9} {size:9} {claim:10.1} {minute:15.3} {rss:11.0} {disk:12.0}");
            Ok(())
        };
        line("SQLite", &place(&format!("{size}.db")))?;
        if let Ok(server) = std::env::var("TEST_POSTGRES") {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let name = format!("growth_{size}");
            runtime.block_on(async {
                let mut connection = PgConnection::connect(&server).await?;
                connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await?;
                Ok::<_, Error>(())
            })?;
            line("PostgreSQL", &server.replacen("/postgres?", &format!("/{name}?"), 1))?;
        }
    }
    Ok(true)
}

/// One size: prints the time to claim a thousand sources, the CPU time of a minute, the memory, and the size of the
/// database.
pub(crate) async fn measure(urls: &[String], database: &str, sources: usize) -> Result<(), Error> {
    raise_file_limit();
    println!("ready");
    let mut due = Due::open(urls, database, sources).await?;
    let (mut claims, mut minutes) = (Vec::new(), Vec::new());
    for _ in 0..MINUTES {
        due.advance();
        claims.push(claim(due.store(), due.now()).await?);
        let cpu = cpu_seconds();
        due.poll().await?;
        minutes.push(cpu_seconds() - cpu);
    }
    let rss = peak_rss_mb().ok_or("there is no /proc/self/status")?;
    let bytes = if database.starts_with("postgres") {
        let mut connection = PgConnection::connect(database).await?;
        let size = "SELECT pg_database_size(current_database())";
        connection.fetch_one(size).await?.try_get::<i64, _>(0)? as u64
    } else {
        std::fs::metadata(database)?.len()
    };
    println!("{} {} {rss} {}", median(claims), median(minutes), bytes >> 20);
    Ok(())
}

/// Milliseconds to claim everything that is due; the claims are released again.
async fn claim(store: &dyn Store, now: Time) -> Result<f64, Error> {
    let request = ClaimRequest::all(now, Span::from_mins(1), "growth", 100, 50);
    let (mut leases, begun) = (Vec::new(), Instant::now());
    loop {
        let claims = store.claim(&request).await?;
        if claims.is_empty() {
            break;
        }
        leases.extend(claims.iter().map(|claim| Release::of(claim.lease)));
    }
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    if leases.len() != DUE {
        return Err(format!("{} hosts were due, not {DUE}", leases.len()).into());
    }
    store.release(&leases).await?;
    Ok(took)
}
