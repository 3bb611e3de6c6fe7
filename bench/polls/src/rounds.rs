//! Who runs which round when, and what must be true afterwards.

use farm::Options;
use tempfile::TempDir;

use crate::Failed;
use crate::child::{Child, Counts, Measured};
use crate::due::{DUE, MINUTES};
use crate::grounds::Grounds;
use crate::measure::median;
use crate::report::Figure;

/// How many are asked at once, as is the default.
pub(crate) const AT_ONCE: &str = "64";
/// How often everything is repeated.
const REPETITIONS: usize = 3;

/// What is served, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// Nobody has seen any of it.
    Cold,
    /// Everybody has seen all of it.
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

    /// What a database holds after it.
    fn counts(self, farm: &Grounds) -> Counts {
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
    /// What the farm spent on gleaner.
    pub(crate) farm_cpu: f64,
}

/// All rounds over so many feeds.
pub(crate) struct Rounds {
    pub(crate) feeds: u32,
    pub(crate) pairs: Vec<Pair>,
}

impl Rounds {
    /// The median of something over the repetitions of a round.
    pub(crate) fn median(&self, round: Round, of: impl Fn(&Pair) -> f64) -> f64 {
        median(self.pairs.iter().filter(|pair| pair.round == round).map(of).collect())
    }

    /// The most memory that gleaner ever took.
    pub(crate) fn rss_mb(&self) -> f64 {
        self.pairs.iter().map(|pair| pair.gleaner.rss_mb).fold(0.0, f64::max)
    }
}

/// Runs all rounds of both programs over so many feeds.
pub(crate) fn run(feeds: u32) -> Result<Rounds, Failed> {
    let directory = TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let farm = Grounds::start(feeds, place("urls").as_ref())?;
    let mut pairs = Vec::new();
    for repetition in 0..REPETITIONS {
        let files = [place(&format!("gleaner-{repetition}.db")), place(&format!("bare-{repetition}.db"))];
        let mut gleaner = Child::start(&["gleaner", &place("urls"), &files[0], AT_ONCE])?;
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
                // Some of them are gone already; the directory goes in the end.
                let _ = std::fs::remove_file(format!("{file}{end}"));
            }
        }
    }
    Ok(Rounds { feeds, pairs })
}

/// One round of one program, checked; with what the farm spent on it.
fn run_one(farm: &Grounds, child: &mut Child, round: Round) -> Result<(Measured, f64), Failed> {
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

/// Feeds and milliseconds of a round whose answers are held back.
const SLOW: (u32, u64) = (4000, 50);

/// How much longer a round takes than its answers are held back, with as many at once as may be.
pub(crate) fn run_slow() -> Result<Figure, Failed> {
    let directory = TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let (feeds, latency_ms) = SLOW;
    let farm = Grounds::with(&Options { feeds, latency_ms, ..Options::default() }, place("urls").as_ref())?;
    let mut gleaner = Child::start(&["gleaner", &place("urls"), &place("gleaner.db"), AT_ONCE])?;
    run_one(&farm, &mut gleaner, Round::Cold)?;
    let wall = run_one(&farm, &mut gleaner, Round::Unchanged)?.0.wall;
    let least = f64::from(feeds) / AT_ONCE.parse::<f64>()? * latency_ms as f64 / 1000.0;
    eprintln!("{feeds} feeds, each after {latency_ms} ms: {wall:.2} s; the limit allows {least:.2} s");
    Ok(("slow_ratio".to_owned(), wall / least))
}

/// How much more a minute with a thousand due sources costs where there are so many in all.
pub(crate) fn run_due(sources: u32) -> Result<f64, Failed> {
    let directory = TempDir::new()?;
    let place = |name: &str| directory.path().join(name).display().to_string();
    let feeds = DUE * MINUTES;
    let farm = Grounds::start(u32::try_from(feeds)?, place("urls").as_ref())?;
    let start = |sources: u32| {
        let database = place(&format!("{sources}.db"));
        Child::start(&["due", &place("urls"), &database, &sources.to_string()])
    };
    let (mut many, mut few) = (start(sources)?, start(u32::try_from(DUE)?)?);
    let mut ratios = Vec::new();
    for _ in 0..REPETITIONS {
        let cpu = |child: &mut Child, asked: usize| -> Result<f64, Failed> {
            farm.reset()?;
            let measured = child.round()?;
            farm.check(asked as u64, (feeds / asked) as u64, true)?;
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
