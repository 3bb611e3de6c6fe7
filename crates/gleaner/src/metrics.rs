//! Metrics in Prometheus' text format.
//!
//! Plain atomics, each named once in this file. There is no registry, and no label per URL, host or source, so the
//! number of series does not grow with the number of sources.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gleaner_core::outcome::ErrorKind;
use gleaner_core::time::{Span, Time};

/// Bucket bounds in seconds, from a cached response to a timeout.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Bucket bounds in seconds, for delays of polls.
const LAG: [f64; 10] = [0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];
/// Bucket bounds for the number of polls in one transaction.
const BATCH: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];

#[derive(Debug)]
pub struct Metrics {
    /// By outcome.
    polls: Vec<(&'static str, AtomicU64)>,
    pub posts_new: AtomicU64,
    pub posts_updated: AtomicU64,
    /// Received bytes.
    pub bytes: AtomicU64,
    /// Fetched article pages, whether successful or not.
    pub pages: AtomicU64,
    pub poll_seconds: Histogram,
    /// Delay between due time and start of polls.
    pub due_lag_seconds: Histogram,
    /// Polls per transaction.
    pub batch_size: Histogram,
    /// Duration of transactions.
    pub commit_seconds: Histogram,
    /// Duration of API requests.
    pub request_seconds: Histogram,
    /// API requests by status class.
    requests: [AtomicU64; 5],
    /// Hosts that are being polled.
    pub hosts_in_flight: AtomicU64,
    /// Start of the local network outage in milliseconds since 1970; 0 if there is none.
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
    /// Counts a poll; `outcome` is the name of the error kind for failures.
    pub fn record_poll(&self, outcome: &str, took: Span, bytes: u64) {
        if let Some((_, count)) = self.polls.iter().find(|(name, _)| *name == outcome) {
            add(count, 1);
        }
        add(&self.bytes, bytes);
        self.poll_seconds.observe(took.as_millis() as f64 / 1000.0);
    }

    pub fn polls(&self) -> u64 {
        self.polls.iter().map(|(_, count)| count.load(Ordering::Relaxed)).sum()
    }

    pub fn record_request(&self, status: u16, took: Duration) {
        if let Some(count) = self.requests.get(usize::from(status / 100).wrapping_sub(1)) {
            add(count, 1);
        }
        self.request_seconds.observe(took.as_secs_f64());
    }

    /// Sets the start of a local network outage, or that there is none.
    pub fn set_network_down(&self, since: Option<Time>) {
        self.network_down.store(since.map_or(0, Time::as_millis), Ordering::Relaxed);
    }

    /// Start of the local network outage, if there is one.
    pub fn network_down_since(&self) -> Option<Time> {
        Some(self.network_down.load(Ordering::Relaxed)).filter(|since| *since != 0).map(Time::from_millis)
    }

    /// Records that the scheduler is running.
    pub fn record_tick(&self) {
        *self.last_tick.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Instant::now());
    }

    /// Time since the scheduler last ran; `None` if none runs in this process.
    pub fn tick_age(&self) -> Option<Duration> {
        let last = *self.last_tick.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        last.map(|last| last.elapsed())
    }

    /// Renders all metrics, with the number of sources by status.
    pub fn render(&self, sources: &[(&str, u64)]) -> String {
        let mut text = TextFormat::default();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let polls: Vec<(String, u64)> =
            self.polls.iter().map(|(name, count)| (label("outcome", name), read(count))).collect();
        text.labelled("gleaner_polls_total", "counter", "Polls by outcome.", &polls);
        let sources: Vec<(String, u64)> =
            sources.iter().map(|(name, count)| (label("status", name), *count)).collect();
        text.labelled("gleaner_sources", "gauge", "Sources by status.", &sources);
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(&self.requests);
        let requests: Vec<(String, u64)> =
            classes.map(|(class, count)| (label("status", class), read(count))).collect();
        text.labelled("gleaner_http_requests_total", "counter", "API requests by status class.", &requests);
        text.single("gleaner_posts_new_total", "counter", "New posts.", read(&self.posts_new));
        text.single(
            "gleaner_posts_updated_total",
            "counter",
            "Posts that changed.",
            read(&self.posts_updated),
        );
        text.single("gleaner_pages_total", "counter", "Article pages that were fetched.", read(&self.pages));
        text.single("gleaner_fetched_bytes_total", "counter", "Received bytes.", read(&self.bytes));
        let in_flight = read(&self.hosts_in_flight);
        text.single("gleaner_hosts_in_flight", "gauge", "Hosts that are being polled.", in_flight);
        let down = u8::from(self.network_down_since().is_some());
        text.single("gleaner_network_down", "gauge", "Whether there is a local network outage.", down);
        for (name, help, histogram) in [
            ("gleaner_poll_duration_seconds", "Duration of polls.", &self.poll_seconds),
            ("gleaner_due_lag_seconds", "Delay between due time and start of polls.", &self.due_lag_seconds),
            ("gleaner_batch_size", "Polls in one transaction.", &self.batch_size),
            ("gleaner_commit_duration_seconds", "Duration of transactions.", &self.commit_seconds),
            ("gleaner_http_request_duration_seconds", "Duration of API requests.", &self.request_seconds),
        ] {
            histogram.render(name, help, &mut text);
        }
        if let Some(age) = self.tick_age() {
            let help = "Seconds since the scheduler last ran.";
            text.single("gleaner_tick_age_seconds", "gauge", help, age.as_secs_f64());
        }
        let uptime = self.started.elapsed().as_secs_f64();
        text.single("gleaner_uptime_seconds", "gauge", "Seconds since it started.", uptime);
        if let Some(bytes) = resident_bytes() {
            text.single("process_resident_memory_bytes", "gauge", "Memory in use.", bytes);
        }
        if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
            text.single("process_open_fds", "gauge", "Open files.", files.count());
        }
        text.0
    }
}

/// Renders metrics of the processes that share the database: active ones by role, silent ones, and those with a
/// local network outage.
pub fn render_workers(roles: &[(&str, u64)], silent: u64, network_down: u64) -> String {
    let mut text = TextFormat::default();
    let roles: Vec<(String, u64)> = roles.iter().map(|(role, count)| (label("role", role), *count)).collect();
    text.labelled("gleaner_workers", "gauge", "Active processes by role.", &roles);
    text.single(
        "gleaner_workers_silent",
        "gauge",
        "Processes that stopped reporting within the last day.",
        silent,
    );
    let help = "Processes with a local network outage.";
    text.single("gleaner_workers_network_down", "gauge", help, network_down);
    text.0
}

/// Renders metrics of the NATS stream.
pub fn render_stream(sent: u64, waiting: u64, failing: bool) -> String {
    let mut text = TextFormat::default();
    text.single("gleaner_stream_messages_total", "counter", "Messages that the broker has accepted.", sent);
    text.single("gleaner_stream_waiting_events", "gauge", "Events waiting for the broker.", waiting);
    let help = "Whether sending to the broker fails.";
    text.single("gleaner_stream_failing", "gauge", help, u8::from(failing));
    text.0
}

pub fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{value}\"}}")
}

/// Resident memory, where `/proc` exists.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// A cumulative histogram.
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

    /// Adds a value; negative values count as zero.
    pub fn observe(&self, value: f64) {
        let value = value.max(0.0);
        let place = self.bounds.partition_point(|bound| *bound < value);
        add(&self.counts[place], 1);
        add(&self.sum, (value * 1000.0) as u64);
    }

    /// The number of values, and their sum.
    pub fn total(&self) -> (u64, f64) {
        let count = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        (count, self.sum.load(Ordering::Relaxed) as f64 / 1000.0)
    }

    fn render(&self, name: &str, help: &str, text: &mut TextFormat) {
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

/// Builds the text format. Writing to a string cannot fail.
#[derive(Default)]
struct TextFormat(String);

impl TextFormat {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        self.line(name, "", value);
    }

    fn labelled(&mut self, name: &str, kind: &str, help: &str, values: &[(String, u64)]) {
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
    fn counts_are_rendered() {
        let metrics = Metrics::default();
        metrics.record_poll("fetched", Span::from_millis(30), 100);
        metrics.record_poll("not_found", Span::from_millis(6000), 0);
        metrics.record_poll("no such outcome", Span::ZERO, 0);
        metrics.batch_size.observe(200.0);
        metrics.batch_size.observe(201.0);
        metrics.record_request(404, Duration::from_millis(1));
        metrics.record_request(0, Duration::ZERO);
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
        metrics.record_tick();
        assert!(metrics.render(&[]).contains("gleaner_tick_age_seconds 0"));
    }

    #[test]
    fn grafana_dashboard_uses_existing_metrics() {
        let metrics = Metrics::default();
        metrics.record_tick();
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
