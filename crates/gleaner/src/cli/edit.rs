//! `gleaner edit`: what is said about a source.

use clap::ArgAction;
use gleaner_core::source::Kind;
use serde_json::{Map, Value, json};

use super::show::text;
use super::source::id_of;
use super::{Context, Failure, collection};

/// What makes something the usual again.
const USUAL: &str = "default";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The source, by id or URL
    source: String,
    /// Another address; failures are forgotten, and it is polled at once
    #[arg(long)]
    url: Option<String>,
    /// What it is: feed, website, watchlist or x
    #[arg(long)]
    kind: Option<Kind>,
    /// What to call it; empty: nothing
    #[arg(long)]
    name: Option<String>,
    /// The collection it goes into
    #[arg(long)]
    collection: Option<String>,
    /// Minutes between two polls, auto, or default
    #[arg(long, value_name = "MINUTES")]
    interval: Option<String>,
    /// Seconds to leave its host alone after it, or default
    #[arg(long, value_name = "SECONDS")]
    delay: Option<String>,
    /// The policy it goes by, or default
    #[arg(long)]
    policy: Option<String>,
    /// Which of its entries are duplicates and not stored: entry (copies of an entry), content (whatever has the text of
    /// another), or default
    #[arg(long, value_name = "RULE")]
    duplicates: Option<String>,
    /// Which links of a watchlist are followed; empty: those that look like articles
    #[arg(long, value_name = "CSS")]
    article_selector: Option<String>,
    /// What of a website always changes and is left out; empty: nothing
    #[arg(long, value_name = "CSS")]
    ignore_selector: Option<String>,
    /// Whether each new entry's page is fetched
    #[arg(long, value_name = "true|false", action = ArgAction::Set)]
    full_content: Option<bool>,
    /// Whether robots.txt is not asked
    #[arg(long, value_name = "true|false", action = ArgAction::Set)]
    ignore_robots: Option<bool>,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut fields = fields(args)?;
    if fields.is_empty() && args.collection.is_none() {
        return Err(Failure::Usage("say what is to change, as in --interval 15; --help lists it".to_owned()));
    }
    let client = context.client().await?;
    let (id, _) = id_of(&client, &args.source).await?;
    if let Some(name) = &args.collection {
        fields.insert("collection_id".to_owned(), collection::id_of(&client, name).await?.into());
    }
    let changed: Vec<String> = fields.keys().cloned().collect();
    let source = client.patch(&format!("/sources/{id}"), Value::Object(fields)).await?;
    let words = format!("changed {} of source {id} ({})", changed.join(", "), text(&source, "url"));
    context.say(args.json, &source, &words)
}

fn fields(args: &Args) -> Result<Map<String, Value>, Failure> {
    let words = |text: &Option<String>| text.as_ref().map(|text| Value::from(text.as_str()));
    let or_usual = |text: &Option<String>| {
        text.as_ref().map(|text| if text == USUAL { Value::Null } else { Value::from(text.as_str()) })
    };
    let number = |name: &str, text: &Option<String>| match text.as_deref() {
        None => Ok(None),
        Some(USUAL) => Ok(Some(Value::Null)),
        Some("auto") if name == "--interval" => Ok(Some("auto".into())),
        Some(text) => match text.parse::<u32>() {
            Ok(number) => Ok(Some(number.into())),
            Err(_) => {
                let auto = if name == "--interval" { ", auto" } else { "" };
                Err(Failure::Usage(format!("{name} {text}: it takes a whole number{auto} or default")))
            }
        },
    };
    let given = [
        ("url", words(&args.url)),
        ("kind", args.kind.map(|kind| json!(kind))),
        ("name", words(&args.name)),
        ("poll_interval_minutes", number("--interval", &args.interval)?),
        ("poll_delay_seconds", number("--delay", &args.delay)?),
        ("policy", or_usual(&args.policy)),
        ("duplicates", or_usual(&args.duplicates)),
        ("article_selector", words(&args.article_selector)),
        ("ignore_selector", words(&args.ignore_selector)),
        ("full_content", args.full_content.map(Value::from)),
        ("ignore_robots", args.ignore_robots.map(Value::from)),
    ];
    Ok(given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}
