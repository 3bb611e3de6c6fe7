//! `gleaner list`: sources and how they are.

use gleaner_core::health::Status;
use gleaner_core::source::Kind;
use serde_json::json;

use super::table::{aligned, shortened};
use super::{Context, Failure};
use crate::service::{Source, SourceFilter};

/// Sources read at once.
const PAGE: u32 = 500;

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
    /// Only those with this text in URL or name
    text: Option<String>,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let filter = filter(args)?;
    let local = context.service().await?;
    let actor = local.local().await?;
    let service = local.by(&actor);
    let mut rows = vec![["id", "status", "next poll", "last error", "url"].map(str::to_owned).to_vec()];
    let mut after = None;
    loop {
        let page = service.list(&filter, after, PAGE).await?;
        for source in &page {
            if args.json {
                writeln!(context.out, "{}", as_json(source))?;
            } else {
                rows.push(row(source));
            }
        }
        after = page.last().map(|source| source.id);
        if page.len() < PAGE as usize {
            break;
        }
    }
    if !args.json {
        let text = match rows.len() {
            1 => "no sources; `gleaner add URL` adds one\n".to_owned(),
            _ => aligned(&rows),
        };
        context.out.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn filter(args: &Args) -> Result<SourceFilter, Failure> {
    let status = args.status.as_deref().map(|name| {
        let found = Status::ALL.into_iter().find(|status| status.name() == name);
        let names = Status::ALL.map(Status::name).join(", ");
        found.ok_or_else(|| Failure::Usage(format!("there is no status '{name}'; there are {names}")))
    });
    let kind = args
        .kind
        .as_deref()
        .map(|name| name.parse::<Kind>().map_err(|error| Failure::Usage(error.to_string())));
    Ok(SourceFilter {
        status: status.transpose()?,
        kind: kind.transpose()?,
        host: args.host.clone(),
        text: args.text.clone(),
        ..SourceFilter::default()
    })
}

fn row(source: &Source) -> Vec<String> {
    let time = |at: Option<gleaner_core::time::Time>| at.map_or("-".to_owned(), |at| at.to_string());
    let error = source.health.failing.as_ref().map_or("-".to_owned(), |row| shortened(&row.message, 50));
    vec![
        source.id.to_string(),
        source.health.status().name().to_owned(),
        time(source.next_poll_at),
        error,
        shortened(&source.settings.url, 300),
    ]
}

fn as_json(source: &Source) -> serde_json::Value {
    let row = source.health.failing.as_ref();
    json!({
        "id": source.id,
        "url": source.settings.url,
        "kind": source.settings.kind,
        "name": source.settings.name,
        "status": source.health.status(),
        "consecutive_failures": row.map_or(0, |row| row.count),
        "last_error_type": row.map(|row| row.kind.name()),
        "last_error": row.map(|row| &row.message),
        "last_polled_at": source.health.last_polled_at,
        "next_poll_at": source.next_poll_at,
    })
}
