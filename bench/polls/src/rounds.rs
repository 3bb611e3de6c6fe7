//! Runs the rounds, and checks their results.

use farm::Options;
use tempfile::TempDir;

use crate::Error;
use crate::child::{Child, Counts, Measured};
use crate::due::{DUE, MINUTES};
use crate::farm_process::FarmProcess;
use crate::measure::median;
use crate::report::Figure;

/// Concurrent requests; gleaner's default.
pub(crate) const CONCURRENCY: &str = "64";
/// Number of repetitions.
const REPETITIONS: usize = 3;

/// What the farm serves in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// Everything is new.
    Cold,
    /// Nothing is new.
    Unchanged,
    /// One entry of each feed is new.
    OneNew,
}

impl Round {
    pub(crate) const ALL: [Round; 3] = [Round::Cold, Round::Unchanged, Round::OneNew];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Round::Cold => "cold",
            Round::Unchanged => "unchanged",
            Round::OneNew => "one_new",
        }
    }

    fn generation(self) -> u32 {
        match self {
            Round::Cold | Round::Unchanged => 0,
            Round::OneNew => 1,
        }
    }

    /// The expected rows of a database afterwards.
    fn counts(self, farm: &FarmProcess) -> Counts {
        let posts = farm.entries + farm.feeds * u64::from(self.generation());
        Counts { posts, seen: posts, polls: farm.feeds * (1 + self as u64) }
    }
}

/// One round of both programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) round: Round,
    pub(crate) gleaner: Measured,
    pub(crate) bare: Measured,
    /// CPU seconds of the farm during gleaner's round.
    pub(crate) farm_cpu: f64,
}

pub(crate) struct Rounds {
    pub(crate) feeds: u32,
    pub(crate) pairs: Vec<Pair>,
}

impl Rounds {
    /// The median over the repetitions of a round.
    pub(crate) fn median(&self, round: Round, of: impl Fn(&Pair) -> f64) -> f64 {
        median(self.pairs.iter().filter(|pair| pair.round == round).map(of).collect())
    }

    /// Maximum memory of gleaner.
    pub(crate) fn rss_mb(&self) -> f64 {
        self.pairs.iter().map(|pair| pair.gleaner.rss_mb).fold(0.0, f64::max)
    }
}

pub(crate) fn run(feeds: u32) -> Result<Rounds, Error> {
    let directory = TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let farm = FarmProcess::start(feeds, place("urls").as_ref())?;
    let mut pairs = Vec::new();
    for repetition in 0..REPETITIONS {
        let files = [place(&format!("gleaner-{repetition}.db")), place(&format!("bare-{repetition}.db"))];
        let mut gleaner = Child::start(&["gleaner", &place("urls"), &files[0], CONCURRENCY])?;
        let mut bare = Child::start(&["bare", &place("urls"), &files[1]])?;
        for round in Round::ALL {
            farm.set_generation(round.generation())?;
            let first = repetition.is_multiple_of(2);
            let mut other = if first { None } else { Some(run_one(&farm, &mut bare, round)?.0) };
            let (measured, farm_cpu) = run_one(&farm, &mut gleaner, round)?;
            let bare = match other.take() {
                Some(other) => other,
                None => run_one(&farm, &mut bare, round)?.0,
            };
            let pair = Pair { round, gleaner: measured, bare, farm_cpu };
            eprintln!(
                "{feeds} feeds, {:9} gleaner {:6.2} s, bare {:6.2} s: {:.2}",
                round.name(),
                measured.cpu,
                bare.cpu,
                bare.cpu / measured.cpu
            );
            pairs.push(pair);
        }
        drop((gleaner, bare));
        for file in &files {
            for end in ["", "-wal", "-shm"] {
                // Some files are already gone; the directory is removed in the end.
                let _ = std::fs::remove_file(format!("{file}{end}"));
            }
        }
    }
    Ok(Rounds { feeds, pairs })
}

/// Runs and checks one round of one program; also returns the farm's CPU seconds.
fn run_one(farm: &FarmProcess, child: &mut Child, round: Round) -> Result<(Measured, f64), Error> {
    farm.reset()?;
    let before = farm.cpu_seconds()?;
    let measured = child.round()?;
    let farm_cpu = farm.cpu_seconds()? - before;
    farm.check(farm.feeds, 1, round == Round::Unchanged)?;
    let wanted = round.counts(farm);
    if measured.counts != wanted {
        return Err(format!("{}: {:?} are stored, not {wanted:?}", round.name(), measured.counts).into());
    }
    Ok((measured, farm_cpu))
}

/// Feeds, and delay of their responses in milliseconds.
const SLOW: (u32, u64) = (4000, 50);

/// The duration of a round with delayed responses, relative to the minimum possible with the default concurrency.
pub(crate) fn run_slow() -> Result<Figure, Error> {
    let directory = TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let (feeds, latency_ms) = SLOW;
    let farm =
        FarmProcess::with(&Options { feeds, latency_ms, ..Options::default() }, place("urls").as_ref())?;
    let mut gleaner = Child::start(&["gleaner", &place("urls"), &place("gleaner.db"), CONCURRENCY])?;
    run_one(&farm, &mut gleaner, Round::Cold)?;
    let wall = run_one(&farm, &mut gleaner, Round::Unchanged)?.0.wall;
    let least = f64::from(feeds) / CONCURRENCY.parse::<f64>()? * latency_ms as f64 / 1000.0;
    eprintln!("{feeds} feeds, each after {latency_ms} ms: {wall:.2} s; the limit allows {least:.2} s");
    Ok(("slow_ratio".to_owned(), wall / least))
}

/// The cost of a minute with a thousand due sources among many, relative to the same without the others.
pub(crate) fn run_due(sources: u32) -> Result<f64, Error> {
    let directory = TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let feeds = DUE * MINUTES;
    let farm = FarmProcess::start(u32::try_from(feeds)?, place("urls").as_ref())?;
    let start = |sources: u32| {
        let database = place(&format!("{sources}.db"));
        Child::start(&["due", &place("urls"), &database, &sources.to_string()])
    };
    let (mut many, mut few) = (start(sources)?, start(u32::try_from(DUE)?)?);
    let mut ratios = Vec::new();
    for _ in 0..REPETITIONS {
        let cpu = |child: &mut Child, requested: usize| -> Result<f64, Error> {
            farm.reset()?;
            let measured = child.round()?;
            farm.check(requested as u64, (feeds / requested) as u64, true)?;
            Ok(measured.cpu)
        };
        let (among_few, among_many) = (cpu(&mut few, DUE)?, cpu(&mut many, feeds)?);
        eprintln!(
            "{feeds} polls, {DUE} due each minute: {among_many:.2} s among {sources}, {among_few:.2} s among {DUE}"
        );
        ratios.push(among_many / among_few);
    }
    Ok(median(ratios))
}
