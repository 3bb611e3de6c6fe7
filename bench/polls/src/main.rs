//! The polling benchmark: gleaner compared to a minimal loop, over the same feed farm, in one run.
//!
//! Each of three rounds (all new; all unchanged; one new entry each) is run by both programs in turn, three times,
//! each program in its own process. After each round the farm's ledger must show that every feed was requested
//! exactly once, and the database must contain exactly what was served; otherwise the run fails. The result is the
//! ratio of CPU seconds, because wall time is unreliable on a busy machine. PostgreSQL, TLS, name resolution and
//! compression are not measured, since both would pay for them.

mod api;
mod bare;
mod child;
mod counters;
mod database;
mod due;
mod farm_process;
mod gleaner_program;
mod growth;
mod idle;
mod measure;
mod report;
mod rounds;
mod soak;

use std::path::Path;
use std::process::ExitCode;

type Error = Box<dyn std::error::Error + Send + Sync>;

const HELP: &str = "\
Measures gleaner compared to a minimal loop.

  --feeds N   rounds over N feeds only, without writing a file
  --api N     requests per second for a list of fifty of N sources, compared to a bare handler
  --soak N M  gleaner serve with N sources, each polled every minute, for M minutes
  --due N     the cost of 1,000 due sources among N, relative to the same without the others
  --growth    claims, polls, memory and database size from 1,000 to 1,000,000 sources
  --idle      start-up time and idle usage of gleaner serve with very many sources
  --latency   the duration of a round with delayed responses, relative to the minimum
  --counters  instructions, allocations, statements and bytes per poll, compared to the table; --counters update writes it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["child", ref rest @ ..] => run_child(rest).map(|()| true),
        [] => full(),
        ["--feeds", feeds] => feeds.parse().map_err(Into::into).and_then(rounds_only),
        ["--api", sources] => {
            sources.parse().map_err(Into::into).and_then(api::run).map(|it| report::judge(&it))
        }
        ["--soak", sources, minutes] => match (sources.parse(), minutes.parse()) {
            (Ok(sources), Ok(minutes)) => soak::run(sources, minutes),
            _ => Err("--soak takes two numbers".into()),
        },
        ["--growth"] => growth::run(),
        ["--idle"] => idle::run().map(|it| report::judge(&it)),
        ["--latency"] => rounds::run_slow().map(|it| report::judge(&[it])),
        ["--counters"] => counters::run(false),
        ["--counters", "update"] => counters::run(true),
        ["--due", sources] => {
            sources.parse().map_err(Into::into).and_then(rounds::run_due).map(check_due_ratio)
        }
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

/// Everything; returns whether all limits are kept.
fn full() -> Result<bool, Error> {
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

fn rounds_only(feeds: u32) -> Result<bool, Error> {
    let rounds = rounds::run(feeds)?;
    report::print(&[&rounds], None);
    Ok(report::judge(&report::figures(&rounds, "")))
}

fn check_due_ratio(due: f64) -> bool {
    report::judge(&[("due_ratio_100k".to_owned(), due)])
}

/// Runs a child process of the benchmark.
fn run_child(arguments: &[&str]) -> Result<(), Error> {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match *arguments {
        ["serve"] => {
            let ended = gleaner::cli::main(["gleaner", "serve"].map(Into::into), std::env::vars_os());
            if ended == ExitCode::SUCCESS { Ok(()) } else { Err("gleaner serve has failed".into()) }
        }
        ["farm", feeds, entries, latency, urls] => {
            let (feeds, entries, latency_ms) = (feeds.parse()?, entries.parse()?, latency.parse()?);
            farm_process::serve(
                farm::Options { feeds, entries, latency_ms, ..Default::default() },
                Path::new(urls),
            )
        }
        [part @ ("gleaner" | "pages"), urls, database, at_once] => runtime()?.block_on(async {
            let urls = lines(urls)?;
            let sources =
                if part == "pages" { gleaner_program::indexes(&urls) } else { gleaner_program::feeds(&urls) };
            child::run_rounds(gleaner_program::Gleaner::open(sources, database, at_once).await?).await
        }),
        ["growth", urls, database, sources] => {
            runtime()?.block_on(growth::measure(&lines(urls)?, database, sources.parse()?))
        }
        ["bare", urls, database] => runtime()?
            .block_on(async { child::run_rounds(bare::Bare::open(&lines(urls)?, database).await?).await }),
        ["due", urls, database, sources] => runtime()?.block_on(async {
            child::run_rounds(due::Due::open(&lines(urls)?, database, sources.parse()?).await?).await
        }),
        _ => Err(format!("unknown child command {arguments:?}").into()),
    }
}

fn lines(path: &str) -> Result<Vec<String>, Error> {
    Ok(std::fs::read_to_string(path)?.lines().map(str::to_owned).collect())
}
