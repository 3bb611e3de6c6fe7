//! The cost of a poll in counts that do not depend on the machine's load: instructions, allocations, SQL
//! statements, bytes written. Counted by callgrind and by the kernel, and compared to the table in the repository.
//!
//! Each row is a round over the same feeds, in a process under valgrind. Instructions in the kernel are not
//! counted, nor is anything before and after a round.

use std::collections::BTreeMap;
use std::path::Path;

use tempfile::TempDir;

use crate::Error;
use crate::child::Child;
use crate::farm_process::FarmProcess;
use crate::rounds::CONCURRENCY;

/// Feeds per round: enough for batches to be shared as in production.
const FEEDS: u32 = 400;
/// A count that is worse by more than this factor fails.
const WORSE: f64 = 1.05;
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counters.tsv");
const COLUMNS: [&str; 4] = ["instructions", "allocations", "statements alone", "bytes alone"];

/// The cost of a poll, in the order of [`COLUMNS`].
type Counts = [f64; 4];

/// Functions whose calls count as allocations, and those that run one statement each.
const ALLOCATES: [&str; 4] = ["malloc", "calloc", "realloc", "posix_memalign"];
const RUNS: [&str; 2] = ["sqlite3_reset", "sqlite3_exec"];

/// Counts, and returns whether nothing is worse; or updates the table.
pub(crate) fn run(update: bool) -> Result<bool, Error> {
    let directory = TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let farm = FarmProcess::start(FEEDS, place("urls").as_ref())?;
    let count = |part: &str, at_once: &str, generations: &[u32]| {
        let database = place(&format!("{part}-{at_once}.db"));
        rounds(&farm, &[part, &place("urls"), &database, at_once], generations, directory.path())
    };
    // How many polls share a transaction varies: what each poll writes is counted with one poll per transaction.
    let both = |part: &str, generations: &[u32]| -> Result<Vec<Counts>, Error> {
        let (many, alone) = (count(part, CONCURRENCY, generations)?, count(part, "1", generations)?);
        let pairs = many.into_iter().zip(alone);
        Ok(pairs.map(|([first, second, ..], [.., third, fourth])| [first, second, third, fourth]).collect())
    };
    let (feeds, pages) = (both("gleaner", &[0, 0, 1])?, both("pages", &[0, 1])?);
    let found = [("cold", feeds[0]), ("unchanged", feeds[1]), ("one_new", feeds[2]), ("article", pages[1])];
    if update {
        std::fs::write(TABLE, table(&found))?;
        print!("{}", table(&found));
        return Ok(true);
    }
    compare(&found, &std::fs::read_to_string(TABLE)?)
}

/// Runs a program under callgrind, one round per generation; returns the cost per feed.
fn rounds(
    farm: &FarmProcess,
    program: &[&str],
    generations: &[u32],
    directory: &Path,
) -> Result<Vec<Counts>, Error> {
    let out = directory.join(format!("{}.callgrind", program[0]));
    let tool = [
        "valgrind".to_owned(),
        "--quiet".to_owned(),
        "--tool=callgrind".to_owned(),
        "--compress-strings=no".to_owned(),
        // Each dump contains what happened since the previous one: before a round, and during it.
        "--dump-before=*polls::child::mark*".to_owned(),
        format!("--callgrind-out-file={}", out.display()),
    ];
    let mut child = Child::start_under(&tool, program)?;
    let mut all = Vec::new();
    for (number, generation) in generations.iter().enumerate() {
        farm.set_generation(*generation)?;
        eprintln!("{} {}: counting", program[0], number + 1);
        let written = child.round()?.written;
        let dump = std::fs::read_to_string(format!("{}.{}", out.display(), 2 * number + 2))?;
        let [instructions, allocations, statements] = counted(&dump)?;
        all.push([instructions, allocations, statements, written].map(|count| count / f64::from(FEEDS)));
    }
    Ok(all)
}

/// Instructions, allocations and statements of a dump.
fn counted(dump: &str) -> Result<[f64; 3], Error> {
    let total =
        dump.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    let mut calls: BTreeMap<&str, f64> = BTreeMap::new();
    let mut called = "";
    for line in dump.lines() {
        if let Some(name) = line.strip_prefix("cfn=") {
            called = name.split('@').next().unwrap_or(name);
        } else if let Some(count) = line.strip_prefix("calls=") {
            *calls.entry(called).or_default() +=
                count.split(' ').next().unwrap_or_default().parse::<f64>()?;
        }
    }
    let sum = |names: &[&str]| names.iter().filter_map(|name| calls.get(name)).sum::<f64>();
    Ok([total.ok_or("a dump without a total")?.trim().parse()?, sum(&ALLOCATES), sum(&RUNS)])
}

fn table(found: &[(&str, Counts)]) -> String {
    let row = |(path, counts): &(&str, Counts)| {
        let cells: Vec<String> = counts.iter().map(|count| rounded(*count)).collect();
        format!("{path}\t{}\n", cells.join("\t"))
    };
    format!("a poll\t{}\n{}", COLUMNS.join("\t"), found.iter().map(row).collect::<String>())
}

fn rounded(count: f64) -> String {
    if count < 100.0 { format!("{count:.2}") } else { format!("{count:.0}") }
}

/// Prints each count beside the table's.
fn compare(found: &[(&str, Counts)], table: &str) -> Result<bool, Error> {
    let mut kept = true;
    println!("  {:10} {:16} {:>12} {:>12} {:>7}", "a poll", "", "counted", "table", "ratio");
    for (path, counts) in found {
        let row =
            table.lines().find_map(|line| line.strip_prefix(&format!("{path}\t"))).ok_or("no such row")?;
        let known: Vec<f64> = row.split('\t').map(str::parse).collect::<Result<_, _>>()?;
        for ((name, count), known) in COLUMNS.iter().zip(counts).zip(known) {
            let ratio = count / known;
            let verdict = match ratio {
                worse if worse > WORSE => "FAIL",
                better if better < 2.0 - WORSE => "better: update the table with `make counters UPDATE=1`",
                _ => "pass",
            };
            kept &= ratio <= WORSE;
            println!(
                "  {path:10} {name:16} {:>12} {:>12} {ratio:7.3}  {verdict}",
                rounded(*count),
                rounded(known)
            );
        }
    }
    Ok(kept)
}
