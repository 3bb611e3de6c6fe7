//! `gleaner audit`: who changed what from where, and who logged in.

use serde_json::Value;

use super::posts::time;
use super::show::{rows, text, when};
use super::{Context, Failure};
use crate::clock::{Clock as _, SystemClock};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only what this user did
    #[arg(long)]
    user: Option<String>,
    /// Only such actions: source.update, or source for all that was done to sources
    #[arg(long)]
    action: Option<String>,
    /// Only from this address
    #[arg(long)]
    address: Option<String>,
    /// Only since then: 2026-11-15, 2026-11-15T08:00:00Z, 90m, 12h or 7d
    #[arg(long)]
    since: Option<String>,
    /// At most so many of the latest [default: 50; with --json, all]
    #[arg(long)]
    limit: Option<usize>,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let mut which = Vec::new();
    let given = [("user", &args.user), ("action", &args.action), ("address", &args.address)];
    which.extend(given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    if let Some(since) = &args.since {
        which.push(("from", time(since, SystemClock.now())?.to_string()));
    }
    let mut left = args.limit.unwrap_or(if args.json { usize::MAX } else { 50 });
    let (mut pages, mut found) = (client.pages("/audit", &which).of(left.max(1)), Vec::new());
    while left > 0
        && let Some(mut page) = pages.next().await?
    {
        page.truncate(left);
        left -= page.len();
        if args.json {
            page.iter().try_for_each(|row| context.json_line(row))?;
        } else {
            found.extend(page);
        }
    }
    if args.json {
        return Ok(());
    }
    let row = |row: &Value| {
        let count = row["count"].as_i64().unwrap_or(1);
        let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
        let what = format!("{} {}", text(row, "target_kind"), text(row, "target_name"));
        let user = format!("{} by {}", text(row, "user_name"), text(row, "via"));
        vec![when(row, "at"), user, text(row, "address"), format!("{}{times}", text(row, "action")), what]
    };
    let heading = ["when", "user", "from", "action", "what"];
    context.list(false, &found, &heading, rows(&found, row), "nothing was written down")
}
