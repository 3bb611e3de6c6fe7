//! `gleaner simulate`: half a year of the decisions in a world with ground truth, as a table.
//!
//! Nothing is asked and nothing is stored; the configuration gives the policies, as they are in effect.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum;
use gleaner_core::judgement::Judgement;
use gleaner_core::policy::Policy;
use gleaner_core::time::Span;
use serde_json::{Map, Value, json};

use super::{Context, Failure};
use crate::simulate::measure::{COLUMNS, Measures, table};
use crate::simulate::run::{Notices, Setup, run as run_world};
use crate::simulate::world::World;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this policy; may be repeated [default: the four that ship]
    #[arg(long, value_name = "NAME")]
    policy: Vec<String>,
    /// How many sources the world has
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sources: u32,
    /// How many days are run
    #[arg(long, default_value_t = 180, value_parser = clap::value_parser!(u32).range(10..=3650))]
    days: u32,
    /// What the world is drawn from; may be repeated, the figures are means then
    #[arg(long, value_name = "N", default_values_t = [1])]
    seed: Vec<u64>,
    /// The interval of all sources, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_080))]
    interval: u32,
    /// Leave out a part of judgement, to see what it is worth
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    without: Vec<Part>,
    /// With intervals that follow what each source publishes, too
    #[arg(long)]
    auto: bool,
    /// For programs: an object a line instead of a table
    #[arg(long)]
    json: bool,
}

/// What can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Hosts that fail as a whole
    Incidents,
    /// Our own network
    Guard,
    /// Hosts that limit how often they are asked
    Pacing,
}

/// A row of the table.
struct Row {
    name: String,
    setup: Setup,
}

/// What came of it, with the seed's place.
type OneRun = (usize, Measures, Notices);

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let policies = policies(args, context)?;
    let rows: Vec<Row> = policies.iter().flat_map(|policy| rows_of(args, policy)).collect();
    let worlds: Vec<(u64, World)> =
        args.seed.iter().map(|seed| (*seed, World::build(*seed, args.sources as usize, args.days))).collect();
    let results = all(&rows, &worlds);
    let text = if args.json {
        rows.iter().zip(&results).map(|(row, runs)| format!("{}\n", as_json(args, row, runs))).collect()
    } else {
        let means = rows.iter().zip(&results).map(|(row, runs)| (row.name.clone(), mean(runs)));
        table(&means.collect::<Vec<_>>())
    };
    Ok(context.out.write_all(text.as_bytes())?)
}

fn policies(args: &Args, context: &Context<'_>) -> Result<Vec<Policy>, Failure> {
    let known = &context.loaded.config.policies;
    let names: Vec<&str> = match args.policy.as_slice() {
        [] => Policy::NAMES.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    let find = |name: &str| {
        let names = || known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let missing = || Failure::Usage(format!("there is no policy '{name}'; there are {}", names()));
        known.get(name).cloned().ok_or_else(missing)
    };
    names.into_iter().map(find).collect()
}

/// A policy alone, with judgement, and where asked for with `auto`.
fn rows_of(args: &Args, policy: &Policy) -> Vec<Row> {
    let mut judged = Judgement::default();
    judged.incidents.on = !args.without.contains(&Part::Incidents);
    judged.guard.on = !args.without.contains(&Part::Guard);
    judged.pacing.on = !args.without.contains(&Part::Pacing);
    let interval = Span::from_mins(args.interval.into());
    let row = |what: &str, rules: Judgement, auto: bool| Row {
        name: format!("{}{what}", policy.name),
        setup: Setup { policy: Policy { judged: true, ..policy.clone() }, rules, interval, auto },
    };
    let mut rows = vec![row("", Judgement::off(), false), row(", judged", judged, false)];
    if args.auto {
        rows.push(row(", judged, auto", judged, true));
    }
    rows
}

/// Every row in every world, as many at once as there are cores.
fn all(rows: &[Row], worlds: &[(u64, World)]) -> Vec<Vec<OneRun>> {
    let results: Vec<Mutex<Vec<OneRun>>> = rows.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let (row, place) = (job / worlds.len(), job % worlds.len());
            let (Some(row), Some(result), Some((seed, world))) =
                (rows.get(row), results.get(row), worlds.get(place))
            else {
                return;
            };
            let (measures, notices) = run_world(world, &row.setup, *seed);
            if let Ok(mut result) = result.lock() {
                result.push((place, measures, notices));
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(rows.len() * worlds.len()) {
            scope.spawn(work);
        }
    });
    let sorted = results.into_iter().map(|result| {
        let mut runs = result.into_inner().unwrap_or_default();
        // The order in which threads came by must not show in the last digit of a mean.
        runs.sort_by_key(|run| run.0);
        runs
    });
    sorted.collect()
}

fn mean(runs: &[OneRun]) -> Measures {
    Measures::mean(&runs.iter().map(|run| run.1.clone()).collect::<Vec<_>>())
}

fn as_json(args: &Args, row: &Row, runs: &[OneRun]) -> Value {
    let rules = &row.setup.rules;
    let on = [
        ("incidents", rules.incidents.on),
        ("guard", rules.guard.on),
        ("pacing", rules.pacing.on),
        ("auto", row.setup.auto),
    ];
    let judgement: Vec<&str> = on.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let measures =
        COLUMNS.iter().zip(mean(runs).0).map(|((name, ..), value)| ((*name).to_owned(), json!(value)));
    let mut notices = Notices::new();
    for (name, count) in runs.iter().flat_map(|run| &run.2) {
        *notices.entry(name).or_default() += count;
    }
    json!({
        "policy": row.setup.policy.name,
        "judgement": judgement,
        "interval_minutes": args.interval,
        "sources": args.sources,
        "days": args.days,
        "seeds": args.seed,
        "measures": measures.collect::<Map<String, Value>>(),
        "noticed": notices,
    })
}
