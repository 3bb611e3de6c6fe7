//! `gleaner list`: sources and how they are.

use serde_json::Value;

use super::show::{text, when};
use super::table::shortened;
use super::{Context, Failure, collection};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only these: disabled, quarantined, failing, pending or healthy
    #[arg(long)]
    status: Option<String>,
    /// Only these: feed, website, watchlist or x
    #[arg(long)]
    kind: Option<String>,
    /// Only those on this host
    #[arg(long)]
    host: Option<String>,
    /// Only those in this collection
    #[arg(long)]
    collection: Option<String>,
    /// Only those that answer and yet seem to be wrong
    #[arg(long)]
    suspect: bool,
    /// Only those with this text in URL or name
    text: Option<String>,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let given = [("status", &args.status), ("kind", &args.kind), ("host", &args.host), ("q", &args.text)];
    let mut search: Vec<(&str, String)> =
        given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
    if let Some(name) = &args.collection {
        search.push(("collection_id", collection::id_of(&client, name).await?.to_string()));
    }
    if args.suspect {
        search.push(("suspect", "true".to_owned()));
    }
    let (mut pages, mut rows) = (client.pages("/sources", &search), Vec::new());
    while let Some(page) = pages.next().await? {
        if args.json {
            page.iter().try_for_each(|source| context.json_line(source))?;
        } else {
            rows.extend(page.iter().map(row));
        }
    }
    if args.json {
        return Ok(());
    }
    let none = if search.is_empty() { "no sources; `gleaner add URL` adds one" } else { "no such sources" };
    context.list(false, &[], &["id", "status", "next poll", "last error", "url"], rows, none)
}

/// Where nothing failed, what it is suspected of stands for the error.
fn row(source: &Value) -> Vec<String> {
    let error = match (text(source, "last_error").as_str(), source["suspect"]["reason"].as_str()) {
        ("-", Some(reason)) => format!("suspect: {}", reason.replace('_', " ")),
        (error, _) => shortened(error, 50),
    };
    vec![text(source, "id"), text(source, "status"), when(source, "next_poll_at"), error, text(source, "url")]
}
