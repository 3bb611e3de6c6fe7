//! The measurements of a run: delays, missed posts, wasted requests, lost sources.

use std::fmt::Write as _;

use super::world::{DAY, FailurePattern, HOUR, MINUTE, NEVER, RequestLimit, Source, WINDOW, World};

/// The delay that a missed post counts as in means.
const MISSED: i64 = 7 * DAY;

/// The measurements of one run, or the mean of several.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measures(pub [f64; COLUMNS.len()]);

/// JSON name, table heading, and number of decimals of each measurement.
pub const COLUMNS: [(&str, &str, usize); 19] = [
    ("requests_per_source_day", "req/src/day", 1),
    ("early_per_hinted_day", "early", 1),
    ("delay_no_hints_min", "no-hint min", 1),
    ("delay_min", "delay min", 0),
    ("delay_p95_min", "p95 min", 0),
    ("within_hour_pct", "<=1h %", 1),
    ("missed_pct", "missed %", 2),
    ("delay_effective_min", "eff. min", 0),
    ("delay_per_source_min", "per-src min", 0),
    ("waste_per_dead_month", "waste/mo", 1),
    ("provoked_per_limiting_host_day", "429/host/day", 2),
    ("recovery_h", "recov h", 1),
    ("recovery_p95_h", "p95 h", 1),
    ("after_window_h", "window h", 2),
    ("after_local_outage_h", "local h", 2),
    ("lost", "lost", 0),
    ("false_quarantine_source_days", "false quar.", 0),
    ("dead_quarantined_pct", "dead quar. %", 0),
    ("dead_quarantined_after_days", "after days", 1),
];

/// The counts of one source.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SourceTally {
    posts: u64,
    missed: u64,
    delay: i64,
}

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) polls: u64,
    pub(super) early: u64,
    pub(super) wasted: u64,
    pub(super) refused: u64,
    pub(super) lost: u64,
    pub(super) false_quarantine: i64,
    pub(super) dead_quarantined: Vec<i64>,
    delays: Vec<f32>,
    no_hints: (i64, u64),
    late: i64,
    within_hour: u64,
    posts: u64,
    missed: u64,
    per_source: Vec<f64>,
    recovery: [Vec<f32>; 3],
    ends: Vec<Vec<i64>>,
}

impl Tally {
    pub(super) fn new(world: &World) -> Self {
        let over = |ends: Vec<i64>| ends.into_iter().filter(|end| *end < world.end - DAY).collect();
        let ends = world.sources.iter().map(|source| match source.failure_pattern.recovery_index() {
            Some(2) => over(world.local_outages.iter().map(|(_, end)| *end).collect()),
            Some(_) => over(source.down.iter().map(|outage| outage.end).collect()),
            None => Vec::new(),
        });
        Self { ends: ends.collect(), ..Self::default() }
    }

    /// The end of the nth outage of a source after which a recovery is measured.
    pub(super) fn end(&self, source: usize, place: usize) -> Option<i64> {
        self.ends[source].get(place).copied()
    }

    /// Counts a stored post.
    pub(super) fn stored(
        &mut self,
        world: &World,
        source: &Source,
        one: &mut SourceTally,
        post: usize,
        now: i64,
    ) {
        let Some(available) = measured(world, source, post) else { return };
        let pushed_out = source.posts.get(post + WINDOW).is_some_and(|at| *at <= now);
        self.post(source, one, (!pushed_out).then_some(now - available));
    }

    /// Counts the posts of a source that were not fetched by the end of the run.
    pub(super) fn left(
        &mut self,
        world: &World,
        source: &Source,
        one: &mut SourceTally,
        from: usize,
        given_up: bool,
    ) {
        for post in from..source.posts.len() {
            let Some(available) = measured(world, source, post) else { continue };
            let pushed_out = source.posts.get(post + WINDOW).is_some_and(|at| *at <= world.end);
            self.post(source, one, (!pushed_out && !given_up).then_some(world.end - available));
        }
        if one.posts > 0 {
            let late = one.delay as f64 + (MISSED as f64) * one.missed as f64;
            self.per_source.push((late / one.posts as f64).min(MISSED as f64));
        }
    }

    fn post(&mut self, source: &Source, one: &mut SourceTally, delay: Option<i64>) {
        self.posts += 1;
        one.posts += 1;
        let Some(delay) = delay else {
            self.missed += 1;
            one.missed += 1;
            return;
        };
        one.delay += delay;
        self.late += delay.min(MISSED);
        self.within_hour += u64::from(delay <= HOUR);
        self.delays.push(delay as f32 / MINUTE as f32);
        if source.hint() == 0 {
            self.no_hints.0 += delay;
            self.no_hints.1 += 1;
        }
    }

    /// Records the time from the end of an outage to the next success.
    pub(super) fn recovered(&mut self, failure_pattern: FailurePattern, after: i64) {
        if let Some(which) = failure_pattern.recovery_index() {
            self.recovery[which].push(after as f32 / HOUR as f32);
        }
    }

    pub(super) fn measures(mut self, world: &World) -> Measures {
        let days = world.end as f64 / DAY as f64;
        let sources = world.sources.len() as f64;
        let hinted = world.sources.iter().filter(|source| source.hint() > 0).count() as f64;
        let dead: Vec<i64> = world.sources.iter().map(|s| s.dead_at).filter(|at| *at < NEVER).collect();
        let dead_months = dead.iter().map(|at| world.end - at).sum::<i64>() as f64 / (30 * DAY) as f64;
        let limiting = world
            .hosts
            .iter()
            .filter(|host| matches!(host.request_limit, RequestLimit::OnePerMinute(..)))
            .count() as f64;
        let minutes = |ms: f64| ms / MINUTE as f64;
        let posts = self.posts.max(1) as f64;
        let (no_hints, count) = self.no_hints;
        let delay_p95 = quantile(&mut self.delays, 0.95);
        let dead_quarantined: f64 = self.dead_quarantined.iter().map(|at| *at as f64 / DAY as f64).sum();
        Measures([
            self.polls as f64 / sources / days,
            self.early as f64 / hinted.max(1.0) / days,
            minutes(no_hints as f64) / count.max(1) as f64,
            mean(&self.delays),
            delay_p95,
            100.0 * self.within_hour as f64 / posts,
            100.0 * self.missed as f64 / posts,
            minutes(self.late as f64 + MISSED as f64 * self.missed as f64) / posts,
            minutes(self.per_source.iter().sum::<f64>()) / self.per_source.len().max(1) as f64,
            self.wasted as f64 / dead_months.max(1e-9),
            self.refused as f64 / limiting.max(1.0) / days,
            mean(&self.recovery[0]),
            quantile(&mut self.recovery[0], 0.95),
            mean(&self.recovery[1]),
            mean(&self.recovery[2]),
            self.lost as f64,
            self.false_quarantine as f64 / DAY as f64,
            100.0 * self.dead_quarantined.len() as f64 / dead.len().max(1) as f64,
            dead_quarantined / self.dead_quarantined.len().max(1) as f64,
        ])
    }
}

/// When a post could first have been fetched; `None` if it is not measured or was never available.
fn measured(world: &World, source: &Source, post: usize) -> Option<i64> {
    let published = *source.posts.get(post)?;
    if published < DAY || published >= world.end - DAY {
        return None;
    }
    let out_of_outage = |at: i64| {
        let place = source.down.partition_point(|outage| outage.start <= at);
        let outage = place.checked_sub(1).map(|place| source.down[place]);
        outage.filter(|outage| at < outage.end).map_or(at, |outage| outage.end)
    };
    let out_of_own = |at: i64| {
        let place = world.local_outages.partition_point(|(start, _)| *start <= at);
        let own = place.checked_sub(1).map(|place| world.local_outages[place].1);
        own.filter(|end| at < *end).unwrap_or(at)
    };
    let available = out_of_outage(out_of_own(out_of_outage(published)));
    (available < world.end - DAY).then_some(available)
}

fn mean(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len().max(1) as f64
}

fn quantile(values: &mut [f32], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = ((values.len() - 1) as f64 * share) as usize;
    f64::from(*values.select_nth_unstable_by(place, f32::total_cmp).1)
}

impl Measures {
    /// The mean of several runs.
    pub fn mean(runs: &[Measures]) -> Measures {
        let mut mean = Measures::default();
        for run in runs {
            for (sum, value) in mean.0.iter_mut().zip(run.0) {
                *sum += value / runs.len() as f64;
            }
        }
        mean
    }

    /// A measurement by its JSON name.
    pub fn get(&self, name: &str) -> Option<f64> {
        COLUMNS.iter().position(|column| column.0 == name).map(|place| self.0[place])
    }
}

/// Renders a Markdown table.
pub fn table(rows: &[(String, Measures)]) -> String {
    let name_width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0).max(6);
    let mut text = format!("| {:name_width$} |", "policy");
    for (_, heading, _) in COLUMNS {
        let _ = write!(text, " {heading} |");
    }
    text.push_str(&format!("\n|{}|", "-".repeat(name_width + 2)));
    for (_, heading, _) in COLUMNS {
        let _ = write!(text, "{}:|", "-".repeat(heading.len() + 1));
    }
    text.push('\n');
    for (name, measures) in rows {
        let _ = write!(text, "| {name:name_width$} |");
        for ((_, heading, decimals), value) in COLUMNS.iter().zip(measures.0) {
            let _ = write!(text, " {value:>width$.decimals$} |", width = heading.len());
        }
        text.push('\n');
    }
    text
}
