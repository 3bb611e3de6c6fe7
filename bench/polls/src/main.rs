//! The polling benchmark: gleaner beside a bare loop, over the same farm of feeds, in one run.
//!
//! Each of three rounds (all new; all unchanged; one new entry each) is run by both in turn, three times over, each
//! program in a process of its own. After each round the farm's ledger must show that every feed was asked exactly
//! once, and the database must hold exactly what was served; else the run fails. What counts is CPU seconds, by
//! their ratio: wall time on a busy machine says little. Absent on purpose: PostgreSQL, TLS, name resolution and
//! compression, whose cost both would share.

mod api;
mod bare;
mod child;
mod counters;
mod database;
mod due;
mod grounds;
mod growth;
mod measure;
mod report;
mod rounds;
mod soak;
mod standing;
mod subject;

use std::path::Path;
use std::process::ExitCode;

type Failed = Box<dyn std::error::Error + Send + Sync>;

const HELP: &str = "\
Measures gleaner beside a bare loop.

  --feeds N   so many feeds, nothing else, and no file written
  --api N     only how fast the API lists fifty of so many sources, beside a bare handler
  --soak N M  gleaner serve with so many sources, each polled every minute, for so many minutes
  --due N     only how much more 1,000 due sources cost among so many
  --growth    how claims, minutes, memory and the database grow from 1,000 to 1,000,000 sources
  --standing  how soon gleaner serve is ready with very many sources, and what it takes while nothing is due
  --latency   how long a round takes where every answer is held back, against what is possible
  --counters  instructions, allocations, statements and bytes a poll, against the table; --counters update writes it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["child", ref rest @ ..] => run_child(rest).map(|()| true),
        [] => full(),
        ["--feeds", feeds] => feeds.parse().map_err(Into::into).and_then(only),
        ["--api", sources] => {
            sources.parse().map_err(Into::into).and_then(api::run).map(|it| report::judge(&it))
        }
        ["--soak", sources, minutes] => match (sources.parse(), minutes.parse()) {
            (Ok(sources), Ok(minutes)) => soak::run(sources, minutes),
            _ => Err("--soak takes two numbers".into()),
        },
        ["--growth"] => growth::run(),
        ["--standing"] => standing::run().map(|it| report::judge(&it)),
        ["--latency"] => rounds::run_slow().map(|it| report::judge(&[it])),
        ["--counters"] => counters::run(false),
        ["--counters", "update"] => counters::run(true),
        ["--due", sources] => sources.parse().map_err(Into::into).and_then(rounds::run_due).map(told),
        _ => {
            print!("{HELP}");
            Ok(arguments == ["--help"])
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("polls: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Everything; says whether all limits are kept.
fn full() -> Result<bool, Failed> {
    let small = rounds::run(2000)?;
    let large = rounds::run(10_000)?;
    let due = rounds::run_due(100_000)?;
    let mut figures = report::figures(&large, "");
    figures.extend(report::figures(&small, "_2k"));
    figures.push(("due_ratio_100k".to_owned(), due));
    report::print(&[&small, &large], Some(due));
    report::write(&figures)?;
    Ok(report::judge(&figures))
}

fn only(feeds: u32) -> Result<bool, Failed> {
    let rounds = rounds::run(feeds)?;
    report::print(&[&rounds], None);
    Ok(report::judge(&report::figures(&rounds, "")))
}

fn told(due: f64) -> bool {
    report::judge(&[("due_ratio_100k".to_owned(), due)])
}

/// What this program is when it is a part of itself.
fn run_child(arguments: &[&str]) -> Result<(), Failed> {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match *arguments {
        ["serve"] => {
            let ended = gleaner::cli::main(["gleaner", "serve"].map(Into::into), std::env::vars_os());
            if ended == ExitCode::SUCCESS { Ok(()) } else { Err("gleaner serve has failed".into()) }
        }
        ["farm", feeds, entries, latency, urls] => {
            let (feeds, entries, latency_ms) = (feeds.parse()?, entries.parse()?, latency.parse()?);
            grounds::serve(
                farm::Options { feeds, entries, latency_ms, ..Default::default() },
                Path::new(urls),
            )
        }
        [part @ ("gleaner" | "pages"), urls, database, at_once] => runtime()?.block_on(async {
            let urls = lines(urls)?;
            let sources = if part == "pages" { subject::indexes(&urls) } else { subject::feeds(&urls) };
            child::obey(subject::Gleaner::open(sources, database, at_once).await?).await
        }),
        ["growth", urls, database, sources] => {
            runtime()?.block_on(growth::measure(&lines(urls)?, database, sources.parse()?))
        }
        ["bare", urls, database] => {
            runtime()?.block_on(async { child::obey(bare::Bare::open(&lines(urls)?, database).await?).await })
        }
        ["due", urls, database, sources] => runtime()?.block_on(async {
            child::obey(due::Due::open(&lines(urls)?, database, sources.parse()?).await?).await
        }),
        _ => Err(format!("no part is called {arguments:?}").into()),
    }
}

fn lines(path: &str) -> Result<Vec<String>, Failed> {
    Ok(std::fs::read_to_string(path)?.lines().map(str::to_owned).collect())
}
