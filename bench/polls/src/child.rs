//! A program under test, in a process of its own: told to run a round, it answers with what that took.
//!
//! One line each way. Setting up, counting what is stored and waiting for orders are outside what is measured.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failed;
use crate::measure::{bytes_written, cpu_seconds, peak_rss_mb, raise_file_limit};

/// What is in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) posts: u64,
    pub(crate) seen: u64,
    /// Polls in the history, also those that share a row.
    pub(crate) polls: u64,
}

/// What a round took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) cpu: f64,
    pub(crate) wall: f64,
    /// The most memory since the process began.
    pub(crate) rss_mb: f64,
    /// Bytes that were written, to files and connections.
    pub(crate) written: f64,
    pub(crate) counts: Counts,
}

/// What polls every feed once when told to.
pub(crate) trait Program {
    /// The part that is measured.
    async fn round(&mut self) -> Result<(), Failed>;
    /// What is stored.
    async fn counts(&self) -> Result<Counts, Failed>;
}

/// Runs a round for each line of the input, until there is none.
pub(crate) async fn obey(mut program: impl Program) -> Result<(), Failed> {
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

/// A function that callgrind knows by its name: here begins, or ends, what is counted.
#[inline(never)]
fn mark() {
    std::hint::black_box(());
}

/// Such a process, seen from outside. It ends when this is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Child {
    /// Starts this program as another, and waits until it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Result<Self, Failed> {
        Self::start_under(&[], arguments)
    }

    /// The same, watched by another program.
    pub(crate) fn start_under(tool: &[String], arguments: &[&str]) -> Result<Self, Failed> {
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
    pub(crate) fn line(&mut self) -> Result<String, Failed> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            return Err(format!("a process under test ended: {}", self.process.wait()?).into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// One round.
    pub(crate) fn round(&mut self) -> Result<Measured, Failed> {
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
        // Without input it ends by itself; if not, it has nothing to lose.
        self.orders = None;
        if !matches!(self.process.try_wait(), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(200));
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}
