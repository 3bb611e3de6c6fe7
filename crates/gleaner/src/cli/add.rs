//! `gleaner add`: a source, by its URL.

use gleaner_core::backfill::Backfill;
use gleaner_core::source::Kind;
use serde_json::{Value, json};

use super::show::text;
use super::{Context, Failure, collection};

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
    /// Which of its entries are duplicates and not stored: entry (copies of an entry) or content (whatever has the text of
    /// another) [default: as configured]
    #[arg(long, value_name = "RULE")]
    duplicates: Option<String>,
    /// Existing entries that its first poll stores: none, recent (up to 10 of the newest within the maximum age) or all
    #[arg(long, value_name = "WHICH", default_value = "all")]
    backfill: Backfill,
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
    let kind = args.kind.unwrap_or(if is_x { Kind::X } else { Kind::Feed });
    let backfill = if args.no_backfill { Backfill::None } else { args.backfill };
    let mut fields = json!({ "url": args.url, "kind": kind, "backfill": backfill.name() });
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields[name] = value;
        }
    };
    set("name", args.name.clone().map(Value::from));
    set("poll_interval_minutes", args.interval.map(Value::from));
    set("poll_delay_seconds", args.delay.map(Value::from));
    set("policy", args.policy.clone().map(Value::from));
    set("duplicates", args.duplicates.clone().map(Value::from));
    if let Some(name) = &args.collection {
        set("collection_id", Some(collection::id_of(&client, name).await?.into()));
    }
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
        // To be there is all that was asked.
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
