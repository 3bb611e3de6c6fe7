//! CPU time of this process.

/// CPU seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuTime {
    /// In user mode.
    pub user: f64,
    /// In kernel mode.
    pub system: f64,
}

/// Reads the CPU time of this process; `None` without `/proc`.
pub fn cpu_time() -> Option<CpuTime> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name, which may contain anything; its closing bracket is the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let hertz = rustix::param::clock_ticks_per_second() as f64;
    let mut next = || Some(fields.next()?.parse::<u64>().ok()? as f64 / hertz);
    Some(CpuTime { user: next()?, system: next()? })
}
