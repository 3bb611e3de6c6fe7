//! `gleaner completions` and `gleaner man`: what shells and `man` want to know.

use std::path::PathBuf;

use clap_complete::Shell;

use super::{Context, Failure, command};

#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// Which shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(super) struct Man {
    /// The directory they go into, as in ~/.local/share/man/man1
    directory: PathBuf,
}

pub(super) fn completions(args: &Completions, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "gleaner", &mut script);
    Ok(context.out.write_all(&script)?)
}

pub(super) fn man(args: &Man, context: &mut Context<'_>) -> Result<(), Failure> {
    let failed = |error| {
        Failure::Failed(format!("manual pages cannot be written into {}: {error}", args.directory.display()))
    };
    std::fs::create_dir_all(&args.directory).map_err(failed)?;
    clap_mangen::generate_to(command(), &args.directory).map_err(failed)?;
    let pages = std::fs::read_dir(&args.directory).map_err(failed)?.count();
    Ok(writeln!(context.out, "wrote {pages} pages into {}", args.directory.display())?)
}
