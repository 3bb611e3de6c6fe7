//! `gleaner add`: adds a source.

use gleaner_core::backfill::Backfill;
use gleaner_core::source::Kind;
use serde_json::{Value, json};

use super::show::text;
use super::source_flags::SourceFlags;
use super::{Context, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// URL of a feed or of a page that names one, or a timeline on X such as @handle
    url: String,
    #[command(flatten)]
    flags: SourceFlags<false>,
    /// The same as --backfill none
    #[arg(long, conflicts_with = "backfill")]
    no_backfill: bool,
    /// Add the URL as it is, without looking at it first
    #[arg(long)]
    unchecked: bool,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let is_x = gleaner_core::x::timeline_url(&args.url).is_ok();
    let kind = if is_x { Kind::X } else { Kind::Feed };
    let backfill = if args.no_backfill { Backfill::None } else { Backfill::All };
    let mut fields = args.flags.to_json(&client).await?;
    for (name, default) in [("url", args.url.as_str()), ("kind", kind.name()), ("backfill", backfill.name())]
    {
        fields.entry(name).or_insert_with(|| default.into());
    }
    let fields = Value::Object(fields);
    let added = match args.unchecked {
        true => client.post("/sources", fields).await.map(|source| {
            let also_in = source["also_in"].clone();
            json!({ "source": source, "note": null, "also_in": also_in })
        }),
        false => client.post("/sources/find", fields).await,
    };
    let (source, is_new, note, also_in) = match added {
        Ok(added) => {
            let note = added["note"].as_str().map(str::to_owned);
            (added["source"].clone(), true, note, added["also_in"].clone())
        }
        // It already exists, which is what was asked for.
        Err(Failure::Refused { id: Some(id), code, .. }) if code == "duplicate" => {
            (client.get(&format!("/sources/{id}")).await?, false, None, json!([]))
        }
        Err(failure) => return Err(failure),
    };
    if args.json {
        let told = json!({ "id": source["id"], "is_new": is_new, "url": source["url"], "note": note, "also_in": also_in });
        return Ok(context.json_line(&told)?);
    }
    let (id, url) = (text(&source, "id"), text(&source, "url"));
    if is_new {
        writeln!(context.out, "added {url} as source {id}; a running gleaner polls it within a second")?;
    } else {
        writeln!(context.out, "{} is there already, as source {id}", args.url)?;
    }
    if let Some(note) = note {
        writeln!(context.out, "note: {note}")?;
    }
    for other in also_in.as_array().into_iter().flatten() {
        let (other, collection) = (text(other, "source_id"), text(other, "collection"));
        writeln!(
            context.out,
            "note: collection {collection} has the same URL, as source {other}, and both are polled now; to use that one \
             only: gleaner remove {id}"
        )?;
    }
    Ok(())
}
