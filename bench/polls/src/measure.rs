//! Resource usage of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of all threads, in user and kernel mode.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Maximum resident memory in megabytes; `None` without `/proc`.
pub(crate) fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
}

/// Bytes written to files and connections so far; 0 without `/proc`.
pub(crate) fn bytes_written() -> f64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok());
    written.unwrap_or(0.0)
}

/// Raises the limit of open files: ten thousand hosts in a few seconds leave as many idle connections.
pub(crate) fn raise_file_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // If that is not allowed, the farm closes connections early, and the round is checked all the same.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
