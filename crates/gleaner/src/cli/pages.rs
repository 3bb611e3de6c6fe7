//! `gleaner pages`: a source's article pages that wait, failed or were given up.

use serde_json::{Value, json};

use super::show::{rows, text, when};
use super::source::id_of;
use super::table::shortened;
use super::{Context, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The source, by id or URL
    source: String,
    /// Fetch the pages that were given up again, at once
    #[arg(long)]
    retry: bool,
    /// Only pages of this state
    #[arg(long, value_name = "STATE", value_parser = ["waiting", "failed", "given_up"], conflicts_with = "retry")]
    state: Option<String>,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let (id, url) = id_of(&client, &args.source).await?;
    if args.retry {
        let retried = client.post(&format!("/sources/{id}/pages/retry"), json!({})).await?;
        if args.json {
            return Ok(writeln!(context.out, "{retried}")?);
        }
        let count = text(&retried, "retried");
        let words = if count == "1" { "page is" } else { "pages are" };
        return Ok(writeln!(context.out, "{url}: {count} {words} fetched again")?);
    }
    let state = args.state.iter().map(|state| ("state", state.clone())).collect::<Vec<_>>();
    let path = format!("/sources/{id}/pages");
    let mut pages = client.pages(&path, &state);
    let mut found = Vec::new();
    while let Some(page) = pages.next().await? {
        if args.json {
            page.iter().try_for_each(|page| writeln!(context.out, "{page}"))?;
        } else {
            found.extend(page);
        }
    }
    match (args.json, found.is_empty()) {
        (true, _) => Ok(()),
        (false, true) => Ok(writeln!(context.out, "{url}: no article pages wait, failed or were given up")?),
        (false, false) => context.table(&["page", "state", "tries", "next try", "error"], rows(&found, row)),
    }
}

fn row(page: &Value) -> Vec<String> {
    let error = shortened(&text(page, "error"), 100);
    vec![
        shortened(&text(page, "url"), 100),
        text(page, "state").replace('_', " "),
        text(page, "tries"),
        when(page, "next_try_at"),
        error,
    ]
}
