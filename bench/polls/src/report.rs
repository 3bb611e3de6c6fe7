//! The results: a table, a JSON object, and whether the limits are kept.

use std::path::PathBuf;

use crate::Error;
use crate::rounds::{Round, Rounds};

/// A named result.
pub(crate) type Figure = (String, f64);

/// A limit on a result.
struct Limit {
    name: &'static str,
    least: Option<f64>,
    most: Option<f64>,
}

const LIMITS: [Limit; 15] = [
    at_least("cold_ratio", 0.8),
    at_least("unchanged_ratio", 0.8),
    at_least("one_new_ratio", 0.8),
    at_most("cold_cpu_s_per_1k", 0.6),
    at_most("unchanged_cpu_s_per_1k", 0.12),
    at_most("one_new_cpu_s_per_1k", 0.3),
    at_most("rss_mb", 150.0),
    // The work is the same; the rest is pages of scattered rows and noise: 1.23 to 1.33 in six runs on one machine.
    at_most("due_ratio_100k", 1.35),
    at_least("api_ratio", 0.25),
    at_most("api_p99_ms", 10.0),
    at_most("slow_ratio", 1.15),
    at_most("ready_ms", 200.0),
    at_most("idle_percent_of_core", 0.5),
    at_most("idle_rss_mb", 60.0),
    at_most("first_page_ms", 50.0),
];

const fn at_least(name: &'static str, least: f64) -> Limit {
    Limit { name, least: Some(least), most: None }
}

const fn at_most(name: &'static str, most: f64) -> Limit {
    Limit { name, least: None, most: Some(most) }
}

/// All results of one size; `suffix` distinguishes it from the others.
pub(crate) fn figures(rounds: &Rounds, suffix: &str) -> Vec<Figure> {
    let thousands = f64::from(rounds.feeds) / 1000.0;
    let mut figures = Vec::new();
    for round in Round::ALL {
        let mut push = |name: String, value: f64| figures.push((format!("{name}{suffix}"), value));
        let name = round.name();
        push(format!("{name}_ratio"), rounds.median(round, |pair| pair.bare.cpu / pair.gleaner.cpu));
        push(format!("{name}_cpu_s_per_1k"), rounds.median(round, |pair| pair.gleaner.cpu / thousands));
        push(format!("bare_{name}_cpu_s_per_1k"), rounds.median(round, |pair| pair.bare.cpu / thousands));
        push(format!("farm_{name}_cpu_s_per_1k"), rounds.median(round, |pair| pair.farm_cpu / thousands));
        let rate = |wall: f64| f64::from(rounds.feeds) / wall;
        push(format!("{name}_feeds_per_s"), rounds.median(round, |pair| rate(pair.gleaner.wall)));
        push(format!("bare_{name}_feeds_per_s"), rounds.median(round, |pair| rate(pair.bare.wall)));
    }
    figures.push((format!("rss_mb{suffix}"), rounds.rss_mb()));
    figures
}

/// Prints the table.
pub(crate) fn print(all: &[&Rounds], due: Option<f64>) {
    println!();
    println!("  CPU s per 1,000 feeds      gleaner     bare    ratio   feeds/s     bare     farm");
    for rounds in all {
        for chunk in figures(rounds, "").chunks_exact(6) {
            let [ratio, gleaner, bare, farm, rate, bare_rate] = [0, 1, 2, 3, 4, 5].map(|n| chunk[n].1);
            let name = chunk[0].0.trim_end_matches("_ratio");
            println!(
                "  {:6} feeds, {name:10}   {gleaner:8.3} {bare:8.3} {ratio:8.2} {rate:9.0} {bare_rate:8.0} {farm:8.3}",
                rounds.feeds
            );
        }
        println!("  {:6} feeds, most memory  {:7.0} MB", rounds.feeds, rounds.rss_mb());
    }
    if let Some(due) = due {
        println!("  1,000 due among 100,000 sources: {due:.2} of what they cost among 1,000");
    }
}

/// Prints each limited result with its limit; returns whether all are kept.
pub(crate) fn judge(figures: &[Figure]) -> bool {
    println!();
    let mut kept = true;
    for Limit { name, least, most } in LIMITS {
        let Some((_, value)) = figures.iter().find(|(figure, _)| figure == name) else { continue };
        let (passes, limit) = match (least, most) {
            (Some(least), _) => (*value >= least, format!(">= {least}")),
            (_, most) => (*value <= most.unwrap_or(f64::MAX), format!("<= {}", most.unwrap_or(f64::MAX))),
        };
        kept &= passes;
        println!("  {name:24} {value:8.3}   {limit:8}  {}", if passes { "pass" } else { "FAIL" });
    }
    kept
}

/// Writes the results to `bench/results.json` in the target directory.
pub(crate) fn write(figures: &[Figure]) -> Result<(), Error> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")), PathBuf::from);
    let directory = target.join("bench");
    std::fs::create_dir_all(&directory)?;
    let lines: Vec<String> =
        figures.iter().map(|(name, value)| format!("  \"{name}\": {value:.4}")).collect();
    std::fs::write(directory.join("results.json"), format!("{{\n{}\n}}\n", lines.join(",\n")))?;
    Ok(())
}
