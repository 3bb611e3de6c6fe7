//! `gleaner backup` and `gleaner restore`: the database as one file, with its key beside it.

use std::path::PathBuf;

use serde_json::json;

use super::{Context, Failure, progress};
use crate::service::{Copied, back_up, restore as put_back};

#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    /// Where to; the key that opens what is encrypted goes beside it, as FILE.key
    file: PathBuf,
    /// Overwrite what is there
    #[arg(long)]
    force: bool,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Restore {
    /// What `gleaner backup` wrote
    file: PathBuf,
    /// Move the database that is there aside, even if a gleaner uses it
    #[arg(long)]
    force: bool,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

pub(super) async fn backup(args: &Backup, context: &mut Context<'_>) -> Result<(), Failure> {
    context.must_be_local("backup")?;
    let spinner = progress::spinner("copying the database");
    let copied = back_up(&context.loaded.config, &args.file, args.force).await;
    spinner.finish_and_clear();
    let copied = copied?;
    let key = match &copied.key {
        Some(key) => format!("; the key is in {}, keep it as safe", key.display()),
        None => String::new(),
    };
    let words = format!("wrote {} ({} bytes){key}", copied.database.display(), copied.bytes);
    context.say(args.json, &as_json(&copied), &words)
}

pub(super) async fn restore(args: &Restore, context: &mut Context<'_>) -> Result<(), Failure> {
    context.must_be_local("restore")?;
    let spinner = progress::spinner("checking and copying");
    let copied = put_back(&context.loaded.config, &args.file, args.force).await;
    spinner.finish_and_clear();
    let copied = copied?;
    let mut words = format!("restored {} from {}", copied.database.display(), args.file.display());
    if copied.key.is_none() {
        words += "; there is no key beside it, so what is encrypted needs the key that was in use";
    }
    if let Some(replaced) = &copied.replaced {
        words += &format!("; what was there is {}", replaced.display());
    }
    context.say(args.json, &as_json(&copied), &words)
}

fn as_json(copied: &Copied) -> serde_json::Value {
    json!({
        "database": copied.database, "bytes": copied.bytes, "key": copied.key, "replaced": copied.replaced,
    })
}
