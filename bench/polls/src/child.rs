//! A program under test in its own process: told to run a round, it answers with its measurements.
//!
//! One line in each direction. Setup, counting rows and waiting are not measured.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Error;
use crate::measure::{bytes_written, cpu_seconds, peak_rss_mb, raise_file_limit};

/// The rows of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) posts: u64,
    pub(crate) seen: u64,
    /// Polls in the history, including those that share a row.
    pub(crate) polls: u64,
}

/// The measurements of a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) cpu: f64,
    pub(crate) wall: f64,
    /// Maximum memory since the process started.
    pub(crate) rss_mb: f64,
    /// Bytes written to files and connections.
    pub(crate) written: f64,
    pub(crate) counts: Counts,
}

/// A program that polls every feed once per round.
pub(crate) trait Program {
    /// The measured part.
    async fn round(&mut self) -> Result<(), Error>;
    async fn counts(&self) -> Result<Counts, Error>;
}

/// Runs a round for each input line.
pub(crate) async fn run_rounds(mut program: impl Program) -> Result<(), Error> {
    raise_file_limit();
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        line?;
        mark();
        let (written, cpu, begun) = (bytes_written(), cpu_seconds(), Instant::now());
        program.round().await?;
        let (cpu, wall) = (cpu_seconds() - cpu, begun.elapsed().as_secs_f64());
        let written = bytes_written() - written;
        mark();
        let rss = peak_rss_mb().ok_or("there is no /proc/self/status")?;
        let Counts { posts, seen, polls } = program.counts().await?;
        println!("{cpu} {wall} {rss} {written} {posts} {seen} {polls}");
    }
    Ok(())
}

/// A function that callgrind finds by name: it starts and ends counting.
#[inline(never)]
fn mark() {
    std::hint::black_box(());
}

/// A child process. It ends when this is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Child {
    /// Starts this program as a child, and waits until it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Result<Self, Error> {
        Self::start_under(&[], arguments)
    }

    /// The same under another program, such as valgrind.
    pub(crate) fn start_under(tool: &[String], arguments: &[&str]) -> Result<Self, Error> {
        let this = std::env::current_exe()?;
        let mut command = match tool {
            [] => Command::new(this),
            [program, options @ ..] => {
                let mut command = Command::new(program);
                command.args(options).arg(this);
                command
            }
        };
        let mut process =
            command.arg("child").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (orders, answers) = (process.stdin.take(), process.stdout.take().ok_or("no output")?);
        let mut child = Self { process, orders, answers: BufReader::new(answers) };
        match child.line()?.as_str() {
            "ready" => Ok(child),
            other => Err(format!("{arguments:?} said '{other}'").into()),
        }
    }

    /// The next line of its output.
    pub(crate) fn line(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            return Err(format!("a process under test ended: {}", self.process.wait()?).into());
        }
        Ok(line.trim_end().to_owned())
    }

    pub(crate) fn round(&mut self) -> Result<Measured, Error> {
        let orders = self.orders.as_mut().ok_or("no input")?;
        writeln!(orders, "round")?;
        orders.flush()?;
        let line = self.line()?;
        let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [cpu, wall, rss_mb, written, posts, seen, polls] = numbers[..] else {
            return Err(format!("cannot read '{line}'").into());
        };
        let counts = Counts { posts: posts as u64, seen: seen as u64, polls: polls as u64 };
        Ok(Measured { cpu, wall, rss_mb, written, counts })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It ends by itself when its input is closed; otherwise it is killed.
        self.orders = None;
        if !matches!(self.process.try_wait(), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(200));
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}
