//! `gleaner list`: sources and how they are.

use serde_json::Value;

use super::show::{text, when};
use super::table::shortened;
use super::{Context, Failure, collection};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only these: disabled, quarantined, failing or healthy
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
    let (mut pages, mut rows) = (client.pages("/sources", &search), Vec::new());
    while let Some(page) = pages.next().await? {
        if args.json {
            page.iter().try_for_each(|source| writeln!(context.out, "{source}"))?;
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

fn row(source: &Value) -> Vec<String> {
    let error = shortened(&text(source, "last_error"), 50);
    vec![text(source, "id"), text(source, "status"), when(source, "next_poll_at"), error, text(source, "url")]
}
