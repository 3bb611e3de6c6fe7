//! The command line: one file per subcommand, each a translation of words into calls.
//!
//! What goes wrong becomes an exit code in one place, [`Failure`]. Absent on purpose: rules of its own.

mod add;
mod config;
mod extract;
mod key;
mod links;
mod list;
mod paint;
mod policy;
mod serve;
mod table;
mod try_url;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::config::dirs::{self, Env};
use crate::config::{CONFIG_VARIABLE, Config, ENV_PREFIX, File, Flag, Inputs, Loaded};
use crate::service::{Service, ServiceError};
use paint::Paint;

const AFTER_HELP: &str = "\
Settings come from the config file, GLEANER_… variables (GLEANER_SOURCE__MAX_FAILURES=3) and --set, the last
winning. `gleaner config` lists all of them.

Exit codes:
  0  done
  1  failed; the message says at what
  2  wrong usage or configuration; nothing was done";

/// A self-healing source poller.
#[derive(Parser)]
#[command(name = "gleaner", version, after_help = AFTER_HELP, subcommand_required = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command. Not to be printed: a secret may be among them.
#[derive(clap::Args)]
struct Global {
    /// The config file [default: $GLEANER_CONFIG, else gleaner/config.toml in the user's config directory, if
    /// there]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set something for this run, as in --set source.max_failures=3; may be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Poll what is due, until told to stop
    Serve(serve::Args),
    /// Look at a URL: what would be stored of it, and what skipped; stores nothing
    Try(try_url::Args),
    /// Find the article of a page: its text, title, author and date; stores nothing
    Extract(extract::Args),
    /// Look at an index page: which links a watchlist would follow
    Links(links::Args),
    /// Add a source
    Add(add::Args),
    /// List sources, and how they are
    List(list::Args),
    /// Users' keys for services such as X: set, asked after, removed
    Key(key::Args),
    /// Print the configuration in effect, and where each value came from
    Config(config::Args),
    /// Look at policies: what failures do to sources
    Policy(policy::Args),
}

/// Why a command did not do what it was asked; the one place that knows exit codes.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something asked for does not exist or does not go together.
    #[error("{0}")]
    Usage(String),
    /// The configuration is wrong.
    #[error("the configuration is wrong:\n{0}")]
    Config(String),
    /// What was asked for could not be done.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Standard input cannot be read.
    #[error("cannot read the input: {0}")]
    Input(#[source] io::Error),
    /// Standard output cannot be written to.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// What the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config(_) => 2,
            Self::Service(ServiceError::Invalid(_)) => 2,
            Self::Service(_) | Self::Input(_) | Self::Output(_) => 1,
        }
    }
}

/// What a command works with.
struct Context<'a> {
    loaded: Loaded,
    out: &'a mut dyn Write,
    paint: Paint,
}

impl Context<'_> {
    /// The service over the configured database.
    async fn service(&self) -> Result<Service, Failure> {
        Ok(Service::open(self.loaded.config.clone()).await?)
    }
}

/// Runs what waits for others.
fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

/// Runs gleaner with the process's arguments and environment.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    vars: impl IntoIterator<Item = (OsString, OsString)>,
) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to fail differently.
            let _ = error.print();
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked { ExitCode::SUCCESS } else { ExitCode::from(2) };
        }
    };
    match environment(vars).and_then(|env| run(&cli, env)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has read enough: `gleaner config | head`.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&format!("error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: &Cli, env: Env) -> Result<(), Failure> {
    let paint = Paint::new(io::stdout().is_terminal(), &env);
    let loaded = load(&cli.global, env)?;
    for warning in &loaded.warnings {
        complain(&format!("warning: {warning}"));
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut context = Context { loaded, out: &mut out, paint };
    match &cli.command {
        Command::Config(args) => config::run(args, &mut context)?,
        Command::Policy(args) => policy::run(args, &mut context)?,
        Command::Serve(args) => block_on(serve::run(args, &mut context))?,
        Command::Try(args) => block_on(try_url::run(args, &mut context))?,
        Command::Extract(args) => block_on(extract::run(args, &mut context))?,
        Command::Links(args) => block_on(links::run(args, &mut context))?,
        Command::Add(args) => block_on(add::run(args, &mut context))?,
        Command::List(args) => block_on(list::run(args, &mut context))?,
        Command::Key(args) => block_on(key::run(args, &mut context))?,
    }
    Ok(out.flush()?)
}

/// Says something on standard error; where that is closed there is nobody to tell.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The environment as text. What is not text is passed over, unless it was meant for gleaner.
fn environment(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Env, Failure> {
    let mut env = Env::new();
    for (name, value) in vars {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                env.insert(name, value);
            }
            (Ok(name), Err(_)) if name.starts_with(ENV_PREFIX) => {
                return Err(Failure::Config(format!("{name}: the value is not UTF-8 text")));
            }
            _ => {}
        }
    }
    Ok(env)
}

fn load(global: &Global, env: Env) -> Result<Loaded, Failure> {
    let file = config_file(global, &env)?;
    let flags = global.set.iter().map(|set| Flag { name: "--set".to_owned(), assignment: set.clone() });
    let inputs = Inputs { file, env, flags: flags.collect(), read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).map_err(|errors| Failure::Config(errors.to_string()))
}

/// The config file: one that was named must be there, the usual one need not.
fn config_file(global: &Global, env: &Env) -> Result<Option<File>, Failure> {
    let variable = env.get(CONFIG_VARIABLE).filter(|path| !path.is_empty());
    let (path, named) = match (&global.config, variable) {
        (Some(path), _) => (path.clone(), Some("--config")),
        (None, Some(path)) => (PathBuf::from(path), Some(CONFIG_VARIABLE)),
        (None, None) => match dirs::config_file(env) {
            Some(path) => (path, None),
            None => return Ok(None),
        },
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(File { path, text })),
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let by = named.map(|by| format!(" (named by {by})")).unwrap_or_default();
            Err(Failure::Config(format!("{}{by}: cannot be read: {error}", path.display())))
        }
    }
}
