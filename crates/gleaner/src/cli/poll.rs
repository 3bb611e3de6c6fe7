//! `gleaner poll`: known sources, now.

use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};

use super::client::{Client, query};
use super::show::text;
use super::source::id_of;
use super::table::shortened;
use super::{Context, Failure, complain, progress};

/// How many are waited for at once; a host is asked by one at a time whatever this is.
const AT_ONCE: usize = 8;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Sources, by id or URL
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    sources: Vec<String>,
    /// All that are enabled and not cooling down
    #[arg(long)]
    all: bool,
    /// Even those whose servers asked to be left alone
    #[arg(long)]
    force: bool,
    /// Wait for the outcome; without --server that is always so
    #[arg(long)]
    wait: bool,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    // A poll that nobody waits for ends with its process.
    let wait = args.wait || client.over_http().is_none();
    let sources = chosen(&client, args).await?;
    let bar = progress::bar("polling", sources.len() as u64);
    let polls = sources.into_iter().map(|(id, url)| {
        let client = &client;
        async move { (id, url, poll(client, id, wait, args.force).await) }
    });
    let mut polls = stream::iter(polls).buffer_unordered(if args.all { AT_ONCE } else { 1 });
    let (mut failed, mut first) = (0_u64, None);
    while let Some((id, url, polled)) = polls.next().await {
        bar.inc(1);
        match polled {
            Ok(poll) if args.json => bar.suspend(|| context.json_line(&poll))?,
            Ok(poll) => bar.suspend(|| writeln!(context.out, "{}", words(&url, &poll)))?,
            Err(failure) => {
                failed += 1;
                // Of one source its own failure is told, with its own exit code.
                if args.all || args.sources.len() > 1 {
                    bar.suspend(|| complain(&format!("source {id} ({url}): {failure}")));
                }
                first.get_or_insert(failure);
            }
        }
    }
    bar.finish_and_clear();
    match (first, failed) {
        (Some(failure), 1) if args.sources.len() == 1 => Err(failure),
        (Some(_), failed) => {
            Err(Failure::Failed(format!("{failed} could not be polled; each was told above")))
        }
        (None, _) => Ok(()),
    }
}

async fn chosen(client: &Client, args: &Args) -> Result<Vec<(i64, String)>, Failure> {
    let mut chosen = Vec::new();
    for given in &args.sources {
        chosen.push(id_of(client, given).await?);
    }
    if args.all {
        let active = [("feed_active", "true".to_owned())];
        let mut pages = client.pages("/sources", &active);
        while let Some(page) = pages.next().await? {
            chosen
                .extend(page.iter().filter_map(|source| Some((source["id"].as_i64()?, text(source, "url")))));
        }
    }
    Ok(chosen)
}

async fn poll(client: &Client, id: i64, wait: bool, force: bool) -> Result<Value, Failure> {
    let how = query(&[("wait", wait.to_string()), ("force", force.to_string())]);
    client.post(&format!("/sources/{id}/poll{how}"), json!({})).await
}

/// What a poll ended in.
fn words(url: &str, poll: &Value) -> String {
    if poll.get("poll_id").is_some() {
        return format!("{url}: being polled");
    }
    let ended = match poll["outcome"].as_str() {
        Some("failed") => format!("failed: {}", text(poll, "error")),
        Some("not_modified") => "not modified".to_owned(),
        _ => format!("{} new, {} changed", text(poll, "new_posts"), text(poll, "updated_posts")),
    };
    let ended = match poll["pages"].as_i64().unwrap_or(0) {
        0 => ended,
        1 => format!("{ended}, 1 article page to fetch"),
        pages => format!("{ended}, {pages} article pages to fetch"),
    };
    shortened(&format!("{url}: {ended}"), 1000)
}
