//! What gleaner counts and measures about itself, in Prometheus' text format.
//!
//! Numbers in atomics, each named here once: there is no label that grows with what is polled, and counting costs a
//! few nanoseconds. Absent on purpose: a registry that anybody can add to, and a label per URL, host or source.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gleaner_core::outcome::ErrorKind;
use gleaner_core::time::{Span, Time};

/// Seconds, from a cached answer to a limit passed.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// How late a poll is, in seconds.
const LAG: [f64; 10] = [0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];
/// Polls in one transaction.
const BATCH: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];

/// Everything that is measured.
#[derive(Debug)]
pub struct Metrics {
    /// Polls by outcome.
    polls: Vec<(&'static str, AtomicU64)>,
    /// New posts.
    pub posts_new: AtomicU64,
    /// Posts that changed.
    pub posts_updated: AtomicU64,
    /// Bytes that came.
    pub bytes: AtomicU64,
    /// Pages of entries that were fetched, whatever came of it.
    pub pages: AtomicU64,
    /// How long polls took.
    pub poll_seconds: Histogram,
    /// How long after they were due polls began.
    pub due_lag_seconds: Histogram,
    /// How many polls one transaction took.
    pub batch_size: Histogram,
    /// How long transactions took.
    pub commit_seconds: Histogram,
    /// How long requests to the API took.
    pub request_seconds: Histogram,
    /// Requests to the API by the class of their answer.
    requests: [AtomicU64; 5],
    /// Hosts that are being asked.
    pub hosts_in_flight: AtomicU64,
    /// Since when our own network is down, in milliseconds since 1970; 0: it is not.
    network_down: AtomicI64,
    last_tick: Mutex<Option<Instant>>,
    started: Instant,
}

impl Default for Metrics {
    fn default() -> Self {
        let outcomes = ["fetched", "not_modified"].into_iter().chain(ErrorKind::all().map(ErrorKind::name));
        Self {
            polls: outcomes.map(|name| (name, AtomicU64::new(0))).collect(),
            posts_new: AtomicU64::new(0),
            posts_updated: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            poll_seconds: Histogram::new(&SECONDS),
            due_lag_seconds: Histogram::new(&LAG),
            batch_size: Histogram::new(&BATCH),
            commit_seconds: Histogram::new(&SECONDS),
            request_seconds: Histogram::new(&SECONDS),
            requests: Default::default(),
            hosts_in_flight: AtomicU64::new(0),
            network_down: AtomicI64::new(0),
            last_tick: Mutex::new(None),
            started: Instant::now(),
        }
    }
}

impl Metrics {
    /// Counts a poll; a failure goes by the name of its kind.
    pub fn polled(&self, outcome: &str, took: Span, bytes: u64) {
        if let Some((_, count)) = self.polls.iter().find(|(name, _)| *name == outcome) {
            add(count, 1);
        }
        add(&self.bytes, bytes);
        self.poll_seconds.observe(took.as_millis() as f64 / 1000.0);
    }

    /// How many polls there were.
    pub fn polls(&self) -> u64 {
        self.polls.iter().map(|(_, count)| count.load(Ordering::Relaxed)).sum()
    }

    /// Counts a request by its status.
    pub fn requested(&self, status: u16, took: Duration) {
        if let Some(count) = self.requests.get(usize::from(status / 100).wrapping_sub(1)) {
            add(count, 1);
        }
        self.request_seconds.observe(took.as_secs_f64());
    }

    /// What a worker here knows of our own network: down since then, or up.
    pub fn set_network_down(&self, since: Option<Time>) {
        self.network_down.store(since.map_or(0, Time::as_millis), Ordering::Relaxed);
    }

    /// Since when our own network is down, as far as a worker here knows.
    pub fn network_down_since(&self) -> Option<Time> {
        Some(self.network_down.load(Ordering::Relaxed)).filter(|since| *since != 0).map(Time::from_millis)
    }

    /// The scheduler is alive.
    pub fn ticked(&self) {
        *self.last_tick.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Instant::now());
    }

    /// How long ago the scheduler was last alive; none: there is none here.
    pub fn tick_age(&self) -> Option<Duration> {
        let last = *self.last_tick.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        last.map(|last| last.elapsed())
    }

    /// All of it as text, with how many sources there are by status.
    pub fn render(&self, sources: &[(&str, u64)]) -> String {
        let mut text = Text::default();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let polls: Vec<(String, u64)> =
            self.polls.iter().map(|(name, count)| (label("outcome", name), read(count))).collect();
        text.all("gleaner_polls_total", "counter", "Polls by outcome.", &polls);
        let sources: Vec<(String, u64)> =
            sources.iter().map(|(name, count)| (label("status", name), *count)).collect();
        text.all("gleaner_sources", "gauge", "Sources by status.", &sources);
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(&self.requests);
        let requests: Vec<(String, u64)> =
            classes.map(|(class, count)| (label("status", class), read(count))).collect();
        text.all(
            "gleaner_http_requests_total",
            "counter",
            "Requests by the class of their answer.",
            &requests,
        );
        text.one("gleaner_posts_new_total", "counter", "New posts.", read(&self.posts_new));
        text.one("gleaner_posts_updated_total", "counter", "Posts that changed.", read(&self.posts_updated));
        text.one("gleaner_pages_total", "counter", "Pages of entries that were fetched.", read(&self.pages));
        text.one("gleaner_fetched_bytes_total", "counter", "Bytes that came.", read(&self.bytes));
        let in_flight = read(&self.hosts_in_flight);
        text.one("gleaner_hosts_in_flight", "gauge", "Hosts that are being asked.", in_flight);
        let down = u8::from(self.network_down_since().is_some());
        text.one("gleaner_own_network_down", "gauge", "Whether our own network is down.", down);
        for (name, help, histogram) in [
            ("gleaner_poll_duration_seconds", "How long polls took.", &self.poll_seconds),
            ("gleaner_due_lag_seconds", "How long after they were due polls began.", &self.due_lag_seconds),
            ("gleaner_batch_size", "Polls in one transaction.", &self.batch_size),
            ("gleaner_commit_duration_seconds", "How long transactions took.", &self.commit_seconds),
            ("gleaner_http_request_duration_seconds", "How long requests took.", &self.request_seconds),
        ] {
            histogram.render(name, help, &mut text);
        }
        if let Some(age) = self.tick_age() {
            let help = "Seconds since the scheduler was last alive.";
            text.one("gleaner_tick_age_seconds", "gauge", help, age.as_secs_f64());
        }
        let uptime = self.started.elapsed().as_secs_f64();
        text.one("gleaner_uptime_seconds", "gauge", "Seconds since it started.", uptime);
        if let Some(bytes) = resident_bytes() {
            text.one("process_resident_memory_bytes", "gauge", "Memory in use.", bytes);
        }
        if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
            text.one("process_open_fds", "gauge", "Open files.", files.count());
        }
        text.0
    }
}

/// Which processes share the database, as text: those that are heard from by role, those that fell silent, and those whose
/// own network is down.
pub fn render_workers(roles: &[(&str, u64)], silent: u64, network_down: u64) -> String {
    let mut text = Text::default();
    let roles: Vec<(String, u64)> = roles.iter().map(|(role, count)| (label("role", role), *count)).collect();
    text.all("gleaner_workers", "gauge", "Processes that are heard from, by role.", &roles);
    text.one("gleaner_workers_silent", "gauge", "Processes that fell silent within a day.", silent);
    let help = "Processes whose own network is down.";
    text.one("gleaner_workers_network_down", "gauge", help, network_down);
    text.0
}

/// How far the stream of events has got, as text.
pub fn render_stream(sent: u64, waiting: u64, failing: bool) -> String {
    let mut text = Text::default();
    text.one("gleaner_stream_messages_total", "counter", "Messages that the broker has taken.", sent);
    text.one("gleaner_stream_waiting_events", "gauge", "Events that wait for the broker.", waiting);
    let help = "Whether nothing can be sent to the broker.";
    text.one("gleaner_stream_failing", "gauge", help, u8::from(failing));
    text.0
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{value}\"}}")
}

/// Memory in use, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// How often something was at most so large.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    counts: Vec<AtomicU64>,
    /// In thousandths.
    sum: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Notes a value; less than nothing is nothing.
    pub fn observe(&self, value: f64) {
        let value = value.max(0.0);
        let place = self.bounds.partition_point(|bound| *bound < value);
        add(&self.counts[place], 1);
        add(&self.sum, (value * 1000.0) as u64);
    }

    /// How many values there were, and their sum.
    pub fn total(&self) -> (u64, f64) {
        let count = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        (count, self.sum.load(Ordering::Relaxed) as f64 / 1000.0)
    }

    fn render(&self, name: &str, help: &str, text: &mut Text) {
        text.head(name, "histogram", help);
        let mut total = 0;
        for (place, count) in self.counts.iter().enumerate() {
            total += count.load(Ordering::Relaxed);
            let bound = self.bounds.get(place).map_or_else(|| "+Inf".to_owned(), f64::to_string);
            text.line(&format!("{name}_bucket"), &label("le", &bound), total);
        }
        text.line(&format!("{name}_sum"), "", self.sum.load(Ordering::Relaxed) as f64 / 1000.0);
        text.line(&format!("{name}_count"), "", total);
    }
}

/// The format. Writing to a text cannot fail.
#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        self.line(name, "", value);
    }

    fn all(&mut self, name: &str, kind: &str, help: &str, values: &[(String, u64)]) {
        self.head(name, kind, help);
        for (labels, value) in values {
            self.line(name, labels, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told() {
        let metrics = Metrics::default();
        metrics.polled("fetched", Span::from_millis(30), 100);
        metrics.polled("not_found", Span::from_millis(6000), 0);
        metrics.polled("no such outcome", Span::ZERO, 0);
        metrics.batch_size.observe(200.0);
        metrics.batch_size.observe(201.0);
        metrics.requested(404, Duration::from_millis(1));
        metrics.requested(0, Duration::ZERO);
        let text = metrics.render(&[("healthy", 7)]);
        for line in [
            "gleaner_polls_total{outcome=\"fetched\"} 1",
            "gleaner_polls_total{outcome=\"not_found\"} 1",
            "gleaner_polls_total{outcome=\"gone\"} 0",
            "gleaner_sources{status=\"healthy\"} 7",
            "gleaner_fetched_bytes_total 100",
            "gleaner_http_requests_total{status=\"4xx\"} 1",
            "gleaner_poll_duration_seconds_bucket{le=\"0.025\"} 1",
            "gleaner_poll_duration_seconds_bucket{le=\"0.05\"} 2",
            "gleaner_poll_duration_seconds_bucket{le=\"10\"} 3",
            "gleaner_poll_duration_seconds_sum 6.03",
            "gleaner_batch_size_bucket{le=\"200\"} 1",
            "gleaner_batch_size_bucket{le=\"+Inf\"} 2",
            "gleaner_batch_size_count 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("tick_age"), "nobody ticks here");
        metrics.ticked();
        assert!(metrics.render(&[]).contains("gleaner_tick_age_seconds 0"));
    }

    #[test]
    fn the_dashboard_for_grafana_shows_what_there_is() {
        let metrics = Metrics::default();
        metrics.ticked();
        let text = metrics.render(&[("healthy", 1)]);
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../../deploy/grafana.json")).unwrap();
        let panels = file["panels"].as_array().unwrap();
        let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
        let queries: Vec<&str> = queries.filter_map(|target| target["expr"].as_str()).collect();
        assert!(queries.len() >= 12);
        for query in queries {
            let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let named: Vec<&str> =
                words.filter(|word| word.starts_with("gleaner_") || word.starts_with("process_")).collect();
            assert!(!named.is_empty(), "{query}");
            for name in named {
                let there = text.lines().any(|line| line.split(['{', ' ']).next() == Some(name));
                assert!(there, "{name} of '{query}'");
            }
        }
    }
}
