//! A long run at the highest rate that intervals allow: `gleaner serve` as it is, in a process of its own, with very many
//! sources that are polled every minute. What must stay flat is looked at from outside, every ten seconds.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gleaner::clock::{Clock as _, SystemClock};
use gleaner::store::{NewSource, Options, open};
use gleaner_core::time::Time;
use sqlx::{Connection as _, Executor as _, Row as _, SqliteConnection};

use crate::Failed;
use crate::api::KEY;
use crate::grounds::Grounds;
use crate::measure::median;
use crate::subject::source;

/// How many feeds the farm has; each is followed by several sources.
const FEEDS: u32 = 10_000;
/// How many entries a feed has, about: with more the file would be larger than many a disk.
const ENTRIES: u32 = 5;
/// Between two looks.
const LOOK: Duration = Duration::from_secs(10);
/// The farm publishes one more entry in each feed after so many looks.
const NEWS: usize = 60;
/// Sources that are added in one transaction.
const ADDED: usize = 1000;

/// What is seen in one look.
#[derive(Clone, Copy)]
struct Look {
    rss_mb: f64,
    files: f64,
    /// How late the longest due host is, in seconds.
    lag: f64,
    polls: f64,
}

/// The process, which ends when this is dropped.
pub(crate) struct Serving(pub(crate) Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs for so many minutes; says whether all stayed flat.
pub(crate) fn run(sources: usize, minutes: u64) -> Result<bool, Failed> {
    let directory = tempfile::tempdir()?;
    let (urls, database) = (directory.path().join("urls"), directory.path().join("gleaner.db"));
    let grounds =
        Grounds::with(&farm::Options { feeds: FEEDS, entries: ENTRIES, ..Default::default() }, &urls)?;
    let urls: Vec<String> = std::fs::read_to_string(&urls)?.lines().map(str::to_owned).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(fill(&database, &urls, sources))?;
    let serving = Serving(serve(directory.path(), &database, "127.0.0.1:0")?);
    let looks = runtime.block_on(look_on(&serving, &database, &grounds, minutes))?;
    let cpu = cpu_seconds(serving.0.id())?;
    report(sources, minutes, &looks, cpu)
}

/// A database with so many sources, due in turn over a minute.
async fn fill(database: &Path, urls: &[String], sources: usize) -> Result<(), Failed> {
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

/// `gleaner serve`, listening there.
pub(crate) fn serve(home: &Path, database: &Path, listen: &str) -> Result<Child, Failed> {
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

async fn look_on(
    serving: &Serving,
    database: &Path,
    grounds: &Grounds,
    minutes: u64,
) -> Result<Vec<Look>, Failed> {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}?mode=ro", database.display())).await?;
    let (begun, mut looks) = (Instant::now(), Vec::new());
    while begun.elapsed() < Duration::from_secs(60 * minutes) {
        tokio::time::sleep(LOOK).await;
        looks.push(look(serving.0.id(), &mut connection).await?);
        if looks.len().is_multiple_of(NEWS) {
            grounds.set_generation((looks.len() / NEWS) as u32)?;
        }
        if looks.len().is_multiple_of(6) {
            let Look { rss_mb, files, lag, polls } = looks[looks.len() - 1];
            eprintln!(
                "{:>3} min: {polls:.0} polls, {rss_mb:.0} MB, {files:.0} files, {lag:.1} s late",
                looks.len() / 6
            );
        }
    }
    Ok(looks)
}

async fn look(process: u32, connection: &mut SqliteConnection) -> Result<Look, Failed> {
    let rss_mb = rss_mb(process)?;
    let files = std::fs::read_dir(format!("/proc/{process}/fd"))?.count() as f64;
    let row = connection
        .fetch_one("SELECT (SELECT MIN(next_due) FROM hosts), (SELECT SUM(polls) FROM activity)")
        .await?;
    let now = SystemClock.now().as_millis() as f64;
    let due = row.try_get::<Option<i64>, _>(0)?.map_or(now, |due| due as f64);
    let polls = row.try_get::<Option<i64>, _>(1)?.unwrap_or(0) as f64;
    Ok(Look { rss_mb, files, lag: ((now - due) / 1000.0).max(0.0), polls })
}

/// The memory of a process that is resident now.
pub(crate) fn rss_mb(process: u32) -> Result<f64, Failed> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the process has ended")?;
    Ok(rss.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}

/// CPU seconds of a process, by the system's usual hundredths.
pub(crate) fn cpu_seconds(process: u32) -> Result<f64, Failed> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after = stat.rsplit_once(')').ok_or("no such process")?.1;
    let ticks: Vec<f64> =
        after.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

/// Prints one line of JSON: the second quarter of the run beside its last. The first is for warming up.
fn report(sources: usize, minutes: u64, looks: &[Look], cpu: f64) -> Result<bool, Failed> {
    let quarter = looks.len() / 4;
    let last = looks.last().ok_or("nothing was seen")?;
    let (early, late) = (&looks[quarter..2 * quarter.max(1)], &looks[looks.len() - quarter.max(1)..]);
    let of = |looks: &[Look], value: fn(&Look) -> f64| median(looks.iter().map(value).collect());
    let most = |value: fn(&Look) -> f64| looks[quarter..].iter().map(value).fold(0.0, f64::max);
    let (rss, rss_late) = (of(early, |look| look.rss_mb), of(late, |look| look.rss_mb));
    let (files, files_late) = (of(early, |look| look.files), of(late, |look| look.files));
    let (lag, lag_late) = (of(early, |look| look.lag), of(late, |look| look.lag));
    let seconds = LOOK.as_secs_f64() * looks.len() as f64;
    println!(
        "{{\"sources\":{sources},\"minutes\":{minutes},\"polls\":{:.0},\"polls_per_second\":{:.0},\
         \"cpu_s_per_1000\":{:.3},\"rss_mb\":{rss:.0},\"rss_mb_late\":{rss_late:.0},\"rss_mb_most\":{:.0},\
         \"files\":{files:.0},\"files_late\":{files_late:.0},\"files_most\":{:.0},\"lag_s\":{lag:.2},\
         \"lag_s_late\":{lag_late:.2},\"lag_s_most\":{:.2}}}",
        last.polls,
        last.polls / seconds,
        cpu / (last.polls / 1000.0),
        most(|look| look.rss_mb),
        most(|look| look.files),
        most(|look| look.lag),
    );
    Ok(rss_late <= rss * 1.1 + 5.0 && files_late <= files * 1.1 + 10.0 && lag_late <= lag + 2.0)
}
