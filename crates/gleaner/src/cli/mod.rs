//! The command line: one file per subcommand, each a translation of words into calls.
//!
//! What goes wrong becomes an exit code in one place, [`Failure`]. Absent on purpose: rules of its own.

mod add;
mod ask;
mod audit;
mod backup;
mod client;
mod collection;
mod completions;
mod config;
mod context;
mod demo;
mod doctor;
mod edit;
mod events;
mod explain;
mod extract;
mod failure;
mod import;
mod key;
mod links;
mod list;
mod load;
mod manage;
mod pages;
mod paint;
mod policy;
mod poll;
mod posts;
mod progress;
pub mod reference;
mod remote;
mod replay;
mod serve;
mod show;
#[cfg(feature = "simulate")]
mod simulate;
mod source;
mod source_flags;
mod table;
mod token;
mod try_url;
mod user;
mod workers;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config::dirs::Env;
use crate::config::secret::Secret;
use context::{Context, Server, TOKEN_VARIABLE};
pub use failure::Failure;
use paint::Paint;

use crate::printable::Printable;

const AFTER_HELP: &str = "\
Settings come from the config file, GLEANER_… variables (GLEANER_SOURCE__MAX_FAILURES=3) and --set, the last
winning. `gleaner config` lists all of them.

Commands work on the configured database itself; with --server, on a gleaner that runs elsewhere.";

/// A self-healing source poller.
#[derive(Parser)]
#[command(name = "gleaner", version, subcommand_required = true)]
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
    /// Ask a gleaner that runs there, instead of the database
    #[arg(long, global = true, value_name = "URL")]
    server: Option<String>,
    /// What holds the access token for --server [default: $GLEANER_TOKEN, else it is asked for]
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Poll what is due, until told to stop
    Serve(serve::Args),
    /// Look at gleaner at work: a small internet of its own, by a fast clock; leaves nothing behind
    Demo(demo::Args),
    /// Look at a URL: what would be stored of it, and what skipped; stores nothing
    Try(try_url::Args),
    /// Find the article of a page: its text, title, author and date; stores nothing
    Extract(extract::Args),
    /// Look at an index page: which links a watchlist would follow
    Links(links::Args),
    /// Add a source
    Add(add::Args),
    /// Set fields of a source, or of many at once
    Edit(edit::Args),
    /// Enable sources, or end their quarantine; they are polled at once
    Enable(manage::Enable),
    /// Disable sources, until somebody enables them
    Disable(manage::Disable),
    /// Remove sources with their posts and history
    Remove(manage::Remove),
    /// Add the sources of a list: OPML, or a JSON object a line
    Import(import::Import),
    /// Write sources as a list
    Export(import::Export),
    /// List sources, and how they are
    List(list::Args),
    /// Show a source and its latest polls
    Show(explain::Args),
    /// Poll sources now
    Poll(poll::Args),
    /// List posts, or show one
    Posts(posts::Args),
    /// List a source's article pages that wait, failed or were given up, or retry those
    Pages(pages::Args),
    /// Explain why a source is where it is, and what would change it
    Explain(explain::Args),
    /// List what happened, or follow it as it happens
    Events(events::Args),
    /// List the processes that share this database: what each does, and how fast
    Workers(workers::Args),
    /// Users' keys for services such as X: set, asked after, removed
    Key(key::Args),
    /// Users: added, listed, removed, their passwords, links to log in
    User(user::Args),
    /// Access tokens: made, listed, revoked
    Token(token::Args),
    /// Collections: made, listed, renamed, removed
    Collection(collection::Args),
    /// List the audit log: who changed what from where, and who logged in
    Audit(audit::Args),
    /// Print the configuration in effect, and where each value came from
    Config(config::Args),
    /// Look at policies: what failures do to sources
    Policy(policy::Args),
    /// Run half a year of decisions in an invented world, and say what they come to
    #[cfg(feature = "simulate")]
    Simulate(simulate::Args),
    /// Check that everything is there that gleaner needs, and say what to do where it is not
    Doctor(doctor::Args),
    /// Copy the database into a file, while gleaner runs
    Backup(backup::Backup),
    /// Put such a copy in the database's place
    Restore(backup::Restore),
    /// Print a script that completes commands in a shell
    Completions(completions::Completions),
    /// Write manual pages
    Man(completions::Man),
}

/// How long threads have to end when all is done.
const SHUTDOWN: std::time::Duration = std::time::Duration::from_millis(500);

/// Runs what waits for others.
fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    // What still runs on a thread of its own, such as the parsing of a page, is not waited for.
    runtime.shutdown_timeout(SHUTDOWN);
    done
}

/// The command line as clap knows it.
fn command() -> clap::Command {
    Cli::command().after_help(format!("{AFTER_HELP}\n\n{}", failure::EXIT_CODES))
}

/// Runs gleaner with the process's arguments and environment.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    vars: impl IntoIterator<Item = (OsString, OsString)>,
) -> ExitCode {
    let cli = command().try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to fail differently.
            let _ = error.print();
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked { ExitCode::SUCCESS } else { ExitCode::from(2) };
        }
    };
    match load::environment(vars).and_then(|env| run(cli, env)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has read enough: `gleaner config | head`.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&format!("error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: Cli, mut env: Env) -> Result<(), Failure> {
    let paint = Paint::new(io::stdout().is_terminal(), &env);
    // The one variable besides the config file's that is no setting.
    let token = env.remove(TOKEN_VARIABLE).filter(|token| !token.is_empty()).map(Secret::new);
    let Global { config, set, server, token_file } = cli.global;
    // Declared before all that may write there: it goes last.
    let place = matches!(cli.command, Command::Demo(_)).then(demo::place).transpose()?;
    let loaded = match (&place, &cli.command) {
        (Some(place), _) => demo::settings(place, &set)?,
        (None, command) => match (load::config(config.as_ref(), &set, env), command) {
            (Err(Failure::Config(why)), Command::Doctor(args)) => {
                return doctor::of_config(args, &why, &mut Printable::new(io::stdout()));
            }
            (loaded, _) => loaded?,
        },
    };
    for warning in &loaded.warnings {
        complain(&format!("warning: {warning}"));
    }
    let mut out = Printable::new(io::BufWriter::new(io::stdout().lock()));
    let server = Server { url: server, token_file, token };
    let mut context = Context { loaded, out: &mut out, paint, server };
    block_on(dispatch(&cli.command, &mut context))?;
    Ok(out.flush()?)
}

async fn dispatch(command: &Command, context: &mut Context<'_>) -> Result<(), Failure> {
    match command {
        Command::Config(args) => config::run(args, context),
        Command::Policy(args) => policy::run(args, context).await,
        #[cfg(feature = "simulate")]
        Command::Simulate(args) => simulate::run(args, context),
        Command::Serve(args) => serve::run(args, context).await,
        Command::Demo(args) => demo::run(args, context).await,
        Command::Try(args) => try_url::run(args, context).await,
        Command::Extract(args) => extract::run(args, context).await,
        Command::Links(args) => links::run(args, context).await,
        Command::Add(args) => add::run(args, context).await,
        Command::Edit(args) => edit::run(args, context).await,
        Command::Enable(args) => manage::enable(args, context).await,
        Command::Disable(args) => manage::disable(args, context).await,
        Command::Remove(args) => manage::remove(args, context).await,
        Command::Import(args) => import::import(args, context).await,
        Command::Export(args) => import::export(args, context).await,
        Command::List(args) => list::run(args, context).await,
        Command::Show(args) => explain::show(args, context).await,
        Command::Poll(args) => poll::run(args, context).await,
        Command::Posts(args) => posts::run(args, context).await,
        Command::Pages(args) => pages::run(args, context).await,
        Command::Events(args) => events::run(args, context).await,
        Command::Workers(args) => workers::run(args, context).await,
        Command::Explain(args) => explain::explain(args, context).await,
        Command::Key(args) => key::run(args, context).await,
        Command::User(args) => user::run(args, context).await,
        Command::Token(args) => token::run(args, context).await,
        Command::Collection(args) => collection::run(args, context).await,
        Command::Audit(args) => audit::run(args, context).await,
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::Backup(args) => backup::backup(args, context).await,
        Command::Restore(args) => backup::restore(args, context).await,
        Command::Completions(args) => completions::completions(args, context),
        Command::Man(args) => completions::man(args, context),
    }
}

/// Says something on standard error; where that is closed there is nobody to tell.
fn complain(text: &str) {
    let _ = writeln!(Printable::new(io::stderr()), "{text}");
}
