//! `gleaner try`: what a URL is, and what would be stored of it.

use serde_json::json;

use super::table::{aligned, shortened};
use super::{Context, Failure};
use crate::printable::escape_json;
use crate::service::{Trial, TrialEntry, TrialFeed, try_url};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A feed, or a page that names one
    url: String,
    /// As if it were added without what was published before now
    #[arg(long)]
    no_backfill: bool,
    /// For programs: JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    // Only the server knows what it can reach; here it needs no database.
    let trial = match &context.server.url {
        Some(_) => {
            let asked = json!({ "url": args.url, "backfill": !args.no_backfill });
            let told = context.client().await?.post("/try", asked).await?;
            let odd = |error| Failure::Failed(format!("the server's answer cannot be read: {error}"));
            serde_json::from_value(told).map_err(odd)?
        }
        None => try_url(&context.loaded.config, &args.url, !args.no_backfill).await?,
    };
    if args.json {
        let text = serde_json::to_string_pretty(&trial).unwrap_or_default();
        writeln!(context.out, "{}", escape_json(&text))?;
    } else {
        context.out.write_all(shown(&trial, context.paint).as_bytes())?;
    }
    Ok(())
}

fn shown(trial: &Trial, paint: super::paint::Paint) -> String {
    let notes: String = trial.notes.iter().map(|note| format!("note: {note}\n")).collect();
    if !trial.feeds.is_empty() {
        let feed = |feed: &TrialFeed| {
            let title = feed.title.as_deref().unwrap_or_default();
            vec!["".to_owned(), shortened(&feed.url, 500), shortened(title, 80)]
        };
        let feeds = aligned(&trial.feeds.iter().map(feed).collect::<Vec<_>>());
        return format!(
            "{} is a page that names these feeds; try or add one of them:\n{feeds}{notes}",
            trial.url
        );
    }
    let title = trial.title.as_deref().unwrap_or("(without a title)");
    let mut rows = vec![["published", "verdict", "title", "link"].map(str::to_owned).to_vec()];
    rows.extend(trial.entries.iter().map(row));
    let stored = trial.entries.iter().filter(|entry| entry.verdict == "stored").count();
    let counts = format!("{} entries, {stored} would be stored; nothing was.", trial.entries.len());
    format!("{}\n{}\n\n{}\n{notes}{counts}\n", paint.bold(shortened(title, 100)), trial.url, aligned(&rows))
}

fn row(entry: &TrialEntry) -> Vec<String> {
    vec![
        entry.published_at.map_or("-".to_owned(), |at| at.to_string()),
        entry.verdict.clone(),
        shortened(entry.title.as_deref().unwrap_or(&entry.body), 60),
        shortened(entry.url.as_deref().unwrap_or("-"), 200),
    ]
}
