//! `gleaner try`: previews a URL without storing anything.

use serde_json::json;

use super::paint::Paint;
use super::table::{aligned, shortened};
use super::{Context, Failure};
use crate::printable::escape_json;
use crate::service::{Backfill, Candidate, Preview, PreviewEntry, preview_url};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A feed, a page that names one, an index page or a page
    url: String,
    /// Preview it as a source that is added without the entries published before now
    #[arg(long)]
    no_backfill: bool,
    /// For programs: JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    // Only the server knows what it can reach; without one no database is needed.
    let preview = match &context.server.url {
        Some(_) => {
            let body = json!({ "url": args.url, "backfill": !args.no_backfill });
            let response = context.client().await?.post("/try", body).await?;
            let unreadable =
                |error| Failure::Failed(format!("the server's response cannot be read: {error}"));
            serde_json::from_value(response).map_err(unreadable)?
        }
        None => {
            let backfill = if args.no_backfill { Backfill::None } else { Backfill::All };
            preview_url(&context.loaded.config, &args.url, backfill).await?
        }
    };
    if args.json {
        let text = serde_json::to_string_pretty(&preview).unwrap_or_default();
        writeln!(context.out, "{}", escape_json(&text))?;
    } else {
        context.out.write_all(describe(&preview, context.paint).as_bytes())?;
    }
    Ok(())
}

fn describe(preview: &Preview, paint: Paint) -> String {
    let Candidate { kind, url, title, entries, entry_count, stored_count, is_read, notes, .. } =
        &preview.best;
    let title = title.as_deref().unwrap_or("(without a title)");
    let mut text =
        format!("{}\n{} {}\n\n", paint.bold(shortened(title, 100)), kind.name(), shortened(url, 500));
    if !entries.is_empty() {
        let mut rows = vec![["published", "verdict", "title", "link"].map(str::to_owned).to_vec()];
        rows.extend(entries.iter().map(row));
        text.push_str(&aligned(&rows));
        text.push('\n');
    }
    text.extend(notes.iter().map(|note| format!("note: {note}\n")));
    if *is_read {
        let entries = if *entry_count == 1 { "entry" } else { "entries" };
        text.push_str(&format!("{entry_count} {entries}, {stored_count} would be stored; nothing was.\n"));
    }
    if !preview.alternatives.is_empty() {
        let rows: Vec<_> = preview.alternatives.iter().map(alternative).collect();
        text.push_str(&format!("\nOther ways to follow it:\n{}", aligned(&rows)));
    }
    text
}

fn row(entry: &PreviewEntry) -> Vec<String> {
    vec![
        entry.published_at.map_or("-".to_owned(), |at| at.to_string()),
        entry.verdict.clone(),
        shortened(entry.title.as_deref().unwrap_or(&entry.body), 60),
        shortened(entry.url.as_deref().unwrap_or("-"), 200),
    ]
}

fn alternative(candidate: &Candidate) -> Vec<String> {
    let details = match (candidate.is_read, candidate.is_comments) {
        (true, _) => {
            let counts =
                format!("{} of {} entries would be stored", candidate.stored_count, candidate.entry_count);
            let notes = candidate.notes.iter().map(|note| format!("; {}", shortened(note, 200)));
            std::iter::once(counts).chain(notes).collect()
        }
        (false, true) => "readers' comments".to_owned(),
        (false, false) => shortened(candidate.title.as_deref().unwrap_or_default(), 80),
    };
    vec![String::new(), candidate.kind.name().to_owned(), shortened(&candidate.url, 500), details]
}
