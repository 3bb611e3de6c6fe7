//! `gleaner workers`: the processes that share this database.

use serde_json::Value;

use super::show::{rows, text, when};
use super::{Context, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let workers = client.all("/workers").await?;
    let row = |worker: &Value| {
        let late = worker["due_lag_seconds"].as_f64().map_or("-".to_owned(), |late| format!("{late:.1} s"));
        vec![
            text(worker, "name"),
            text(worker, "role"),
            state(worker),
            text(worker, "hosts"),
            text(worker, "polls_per_hour"),
            late,
            text(worker, "polls"),
            text(worker, "posts"),
            when(worker, "seen_at"),
        ]
    };
    let heading = ["name", "role", "state", "hosts", "polls/h", "late", "polls", "posts", "last heard of"];
    let none = "nobody serves from this database; `gleaner serve` does";
    context.list(args.json, &workers, &heading, rows(&workers, row), none)
}

fn state(worker: &Value) -> String {
    let down = worker["network_down_since"].is_string();
    let state = match (worker["silent"] == true, down) {
        (true, _) => "silent",
        (_, true) => "no network",
        _ => "well",
    };
    state.to_owned()
}
