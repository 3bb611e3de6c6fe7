//! A long run at the maximum polling rate: `gleaner serve` in its own process, with many sources that are polled
//! every minute. Memory, files and lag are sampled from outside every ten seconds, and must not grow.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gleaner::clock::{Clock as _, SystemClock};
use gleaner::store::{NewSource, Options, open};
use gleaner_core::time::Time;
use sqlx::{Connection as _, Executor as _, Row as _, SqliteConnection};

use crate::Error;
use crate::api::KEY;
use crate::farm_process::FarmProcess;
use crate::gleaner_program::source;
use crate::measure::median;

/// Feeds of the farm; each is used by several sources.
const FEEDS: u32 = 10_000;
/// Entries per feed, few enough for the database to fit on the disk.
const ENTRIES: u32 = 5;
/// Time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);
/// The farm publishes another entry per feed after this many samples.
const SAMPLES_PER_ENTRY: usize = 60;
/// Sources added per transaction.
const ADDED: usize = 1000;

#[derive(Clone, Copy)]
struct Sample {
    rss_mb: f64,
    files: f64,
    /// How overdue the longest overdue host is, in seconds.
    lag: f64,
    polls: f64,
}

/// The process, which is stopped when this is dropped.
pub(crate) struct ServeProcess(pub(crate) Child);

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs for this many minutes; returns whether nothing grew.
pub(crate) fn run(sources: usize, minutes: u64) -> Result<bool, Error> {
    let directory = tempfile::tempdir()?;
    let (urls, database) = (directory.path().join("urls"), directory.path().join("gleaner.db"));
    let farm_process =
        FarmProcess::with(&farm::Options { feeds: FEEDS, entries: ENTRIES, ..Default::default() }, &urls)?;
    let urls: Vec<String> = std::fs::read_to_string(&urls)?.lines().map(str::to_owned).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(fill(&database, &urls, sources))?;
    let serving = ServeProcess(serve(directory.path(), &database, "127.0.0.1:0")?);
    let samples = runtime.block_on(sample_repeatedly(&serving, &database, &farm_process, minutes))?;
    let cpu = cpu_seconds(serving.0.id())?;
    report(sources, minutes, &samples, cpu)
}

/// Creates a database with sources that are due over the next minute.
async fn fill(database: &Path, urls: &[String], sources: usize) -> Result<(), Error> {
    let store = open(&Options::new(database.display().to_string())).await?;
    let now = SystemClock.now();
    let all: Vec<NewSource> = (0..sources)
        .map(|n| {
            let at = Time::from_millis(now.as_millis() + (n as i64 * 7919) % 60_000);
            source(&format!("{}?n={}", urls[n % urls.len()], n / urls.len()), at)
        })
        .collect();
    for some in all.chunks(ADDED) {
        store.create_sources(some, now).await?;
    }
    Ok(())
}

/// Starts `gleaner serve`.
pub(crate) fn serve(home: &Path, database: &Path, listen: &str) -> Result<Child, Error> {
    let child = Command::new(std::env::current_exe()?)
        .args(["child", "serve"])
        .env_clear()
        .env("HOME", home)
        .env("GLEANER_STORE__URL", database)
        .env("GLEANER_API__LISTEN", listen)
        .env("GLEANER_STORE__KEY", KEY)
        .env("GLEANER_FETCH__ALLOW_PRIVATE_NETWORKS", "[\"127.0.0.0/8\"]")
        .env("GLEANER_SOURCE__POLL_INTERVAL_MINUTES", "1")
        .env("GLEANER_SOURCE__MAX_ARTICLE_AGE_DAYS", "0")
        .env("GLEANER_LOG__LEVEL", "error")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    Ok(child)
}

async fn sample_repeatedly(
    serving: &ServeProcess,
    database: &Path,
    farm_process: &FarmProcess,
    minutes: u64,
) -> Result<Vec<Sample>, Error> {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}?mode=ro", database.display())).await?;
    let (begun, mut samples) = (Instant::now(), Vec::new());
    while begun.elapsed() < Duration::from_secs(60 * minutes) {
        tokio::time::sleep(SAMPLE_INTERVAL).await;
        samples.push(sample(serving.0.id(), &mut connection).await?);
        if samples.len().is_multiple_of(SAMPLES_PER_ENTRY) {
            farm_process.set_generation((samples.len() / SAMPLES_PER_ENTRY) as u32)?;
        }
        if samples.len().is_multiple_of(6) {
            let Sample { rss_mb, files, lag, polls } = samples[samples.len() - 1];
            eprintln!(
                "{:>3} min: {polls:.0} polls, {rss_mb:.0} MB, {files:.0} files, {lag:.1} s late",
                samples.len() / 6
            );
        }
    }
    Ok(samples)
}

async fn sample(process: u32, connection: &mut SqliteConnection) -> Result<Sample, Error> {
    let rss_mb = rss_mb(process)?;
    let files = std::fs::read_dir(format!("/proc/{process}/fd"))?.count() as f64;
    let row = connection
        .fetch_one("SELECT (SELECT MIN(next_due) FROM hosts), (SELECT SUM(polls) FROM activity)")
        .await?;
    let now = SystemClock.now().as_millis() as f64;
    let due = row.try_get::<Option<i64>, _>(0)?.map_or(now, |due| due as f64);
    let polls = row.try_get::<Option<i64>, _>(1)?.unwrap_or(0) as f64;
    Ok(Sample { rss_mb, files, lag: ((now - due) / 1000.0).max(0.0), polls })
}

/// Resident memory of a process.
pub(crate) fn rss_mb(process: u32) -> Result<f64, Error> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the process has ended")?;
    Ok(rss.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}

/// CPU seconds of a process, at 100 clock ticks per second.
pub(crate) fn cpu_seconds(process: u32) -> Result<f64, Error> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after = stat.rsplit_once(')').ok_or("no such process")?.1;
    let ticks: Vec<f64> =
        after.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

/// Prints a JSON line that compares the second quarter of the run with the last one. The first quarter is for
/// warming up.
fn report(sources: usize, minutes: u64, samples: &[Sample], cpu: f64) -> Result<bool, Error> {
    let quarter = samples.len() / 4;
    let last = samples.last().ok_or("nothing was seen")?;
    let (early, late) = (&samples[quarter..2 * quarter.max(1)], &samples[samples.len() - quarter.max(1)..]);
    let of = |samples: &[Sample], value: fn(&Sample) -> f64| median(samples.iter().map(value).collect());
    let most = |value: fn(&Sample) -> f64| samples[quarter..].iter().map(value).fold(0.0, f64::max);
    let (rss, rss_late) = (of(early, |sample| sample.rss_mb), of(late, |sample| sample.rss_mb));
    let (files, files_late) = (of(early, |sample| sample.files), of(late, |sample| sample.files));
    let (lag, lag_late) = (of(early, |sample| sample.lag), of(late, |sample| sample.lag));
    let seconds = SAMPLE_INTERVAL.as_secs_f64() * samples.len() as f64;
    println!(
        "{{\"sources\":{sources},\"minutes\":{minutes},\"polls\":{:.0},\"polls_per_second\":{:.0},\
         \"cpu_s_per_1000\":{:.3},\"rss_mb\":{rss:.0},\"rss_mb_late\":{rss_late:.0},\"rss_mb_most\":{:.0},\
         \"files\":{files:.0},\"files_late\":{files_late:.0},\"files_most\":{:.0},\"lag_s\":{lag:.2},\
         \"lag_s_late\":{lag_late:.2},\"lag_s_most\":{:.2}}}",
        last.polls,
        last.polls / seconds,
        cpu / (last.polls / 1000.0),
        most(|sample| sample.rss_mb),
        most(|sample| sample.files),
        most(|sample| sample.lag),
    );
    Ok(rss_late <= rss * 1.1 + 5.0 && files_late <= files * 1.1 + 10.0 && lag_late <= lag + 2.0)
}
