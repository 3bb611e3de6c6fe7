//! `gleaner key`: users' keys for services, which are set and never shown.

use std::io::{IsTerminal as _, Read as _};

use super::{Context, Failure};
use crate::config::secret::Secret;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Set a key, read from standard input; sources that wait for it are polled at once
    Set(Whose),
    /// Say whether there is a key
    Show(Whose),
    /// Remove a key
    Remove(Whose),
}

#[derive(Debug, clap::Args)]
struct Whose {
    /// What the key is for: x
    service: String,
    /// Whose key; it serves the collections that the user owns
    #[arg(long, default_value = "admin")]
    user: String,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let local = context.service().await?;
    let actor = local.local().await?;
    let service = local.by(&actor);
    match &args.action {
        Action::Set(Whose { service: name, user }) => {
            let woken = service.set_key(user, name, &read()?).await?;
            writeln!(
                context.out,
                "{user}'s key for {name} is set; {woken} sources that waited for it are due"
            )?;
        }
        Action::Show(Whose { service: name, user }) => {
            let has = if service.has_key(user, name).await? { "a" } else { "no" };
            writeln!(context.out, "{user} has {has} key for {name}")?;
        }
        Action::Remove(Whose { service: name, user }) => {
            let removed = if service.remove_key(user, name).await? { "removed" } else { "not there" };
            writeln!(context.out, "{user}'s key for {name} is {removed}")?;
        }
    }
    Ok(())
}

/// Not by argument: those are for everybody on the machine to see.
fn read() -> Result<Secret, Failure> {
    if std::io::stdin().is_terminal() {
        super::complain("paste the key, then press Enter and Ctrl-D");
    }
    let mut text = String::new();
    let read = std::io::stdin().take(64 * 1024).read_to_string(&mut text);
    read.map_err(|error| Failure::Usage(format!("the key cannot be read from standard input: {error}")))?;
    Ok(Secret::new(text))
}
