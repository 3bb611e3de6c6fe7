//! `gleaner add`: a source, by its URL.

use gleaner_core::source::{Interval, Kind};
use gleaner_core::time::Span;

use super::{Context, Failure};
use crate::service::NewSource;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A feed's address, or that of a page that names one, or a timeline on X such as @handle
    url: String,
    /// What it is: feed, website, watchlist or x [default: x for a timeline on X, else feed]
    #[arg(long)]
    kind: Option<Kind>,
    /// What to call it
    #[arg(long)]
    name: Option<String>,
    /// The collection it goes into [default: default]
    #[arg(long)]
    collection: Option<String>,
    /// Minutes between two polls [default: as configured]
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..))]
    interval: Option<u32>,
    /// Seconds to leave its host alone after it
    #[arg(long, value_name = "SECONDS")]
    delay: Option<u32>,
    /// The policy it goes by [default: as configured]
    #[arg(long)]
    policy: Option<String>,
    /// Leave out what was published before now
    #[arg(long)]
    no_backfill: bool,
    /// Add the URL as it is, without looking at it first
    #[arg(long)]
    unchecked: bool,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let is_x = gleaner_core::x::timeline_url(&args.url).is_ok();
    let source = NewSource {
        kind: args.kind.unwrap_or(if is_x { Kind::X } else { Kind::Feed }),
        name: args.name.clone(),
        collection: args.collection.clone(),
        interval: args.interval.map_or(Interval::Default, Interval::Minutes),
        poll_delay: args.delay.map(|seconds| Span::from_secs(seconds.into())),
        policy: args.policy.clone(),
        backfill: !args.no_backfill,
        ..NewSource::feed(&args.url)
    };
    let local = context.service().await?;
    let actor = local.local().await?;
    let service = local.by(&actor);
    let added = if args.unchecked { service.add(&source).await? } else { service.add_found(&source).await? };
    if args.json {
        let note = added.note;
        let told =
            serde_json::json!({ "id": added.id, "is_new": added.is_new, "url": added.url, "note": note });
        writeln!(context.out, "{told}")?;
        return Ok(());
    }
    if added.is_new {
        writeln!(
            context.out,
            "added {} as source {}; a running gleaner polls it within a second",
            added.url, added.id
        )?;
    } else {
        writeln!(context.out, "{} is there already, as source {}", added.url, added.id)?;
    }
    if let Some(note) = added.note {
        writeln!(context.out, "note: {note}")?;
    }
    Ok(())
}
