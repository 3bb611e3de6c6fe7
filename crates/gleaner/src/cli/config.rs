//! `gleaner config`: the configuration in effect.

use clap::Subcommand;
use serde_json::json;

use super::{Context, Failure};
use crate::config::render;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Sub>,
    /// For programs: JSON instead of commented TOML
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Only say whether the configuration is right
    Check,
}

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    match (&args.command, args.json) {
        // Reading it was the check: mistakes ended the run before it came here.
        (Some(Sub::Check), _) => writeln!(context.out, "the configuration is right")?,
        (None, true) => {
            let warnings: Vec<String> = context.loaded.warnings.iter().map(ToString::to_string).collect();
            let whole = json!({ "settings": render::rows(&context.loaded), "warnings": warnings });
            writeln!(context.out, "{whole:#}")?;
        }
        (None, false) => {
            writeln!(context.out, "# The configuration in effect; after each value, where it came from.\n")?;
            write!(context.out, "{}", render::toml(&context.loaded))?;
        }
    }
    Ok(())
}
