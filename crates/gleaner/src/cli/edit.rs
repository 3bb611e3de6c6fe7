//! `gleaner edit`: sets fields of one source, or of many at once.

use serde_json::{Map, Value, json};

use super::client::Client;
use super::show::text;
use super::source::id_of;
use super::source_flags::SourceFlags;
use super::{Context, Failure, collection};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Sources, by id or URL
    #[arg(required_unless_present = "select", value_name = "SOURCE")]
    sources: Vec<String>,
    /// All sources that match, instead of naming them: all, suspect, or status=, kind=, host=, q= or in-collection= with a
    /// value; may be repeated, and all must match
    #[arg(long, value_name = "FILTER", conflicts_with = "sources")]
    select: Vec<String>,
    #[command(flatten)]
    flags: SourceFlags<true>,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    if args.flags.is_empty() {
        return Err(Failure::Usage("say what is to change, as in --interval 15; --help lists it".to_owned()));
    }
    let client = context.client().await?;
    if let ([source], []) = (args.sources.as_slice(), args.select.as_slice()) {
        let (id, _) = id_of(&client, source).await?;
        let fields = args.flags.to_json(&client).await?;
        let changed = names(&fields);
        let source = client.patch(&format!("/sources/{id}"), Value::Object(fields)).await?;
        let words = format!("changed {changed} of source {id} ({})", text(&source, "url"));
        return context.say(args.json, &source, &words);
    }
    let mut request = Map::new();
    if args.select.is_empty() {
        let mut ids = Vec::with_capacity(args.sources.len());
        for source in &args.sources {
            ids.push(id_of(&client, source).await?.0);
        }
        request.insert("ids".to_owned(), json!(ids));
    } else {
        request.insert("filter".to_owned(), filter(&args.select, &client).await?);
    }
    let fields = args.flags.to_json(&client).await?;
    let changed = names(&fields);
    request.insert("action".to_owned(), "edit".into());
    request.insert("fields".to_owned(), Value::Object(fields));
    edit_many(args, &client, request, &changed, context).await
}

fn names(fields: &Map<String, Value>) -> String {
    fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Edits page by page, and reports each failure.
async fn edit_many(
    args: &Args,
    client: &Client,
    mut request: Map<String, Value>,
    changed: &str,
    context: &mut Context<'_>,
) -> Result<(), Failure> {
    let (mut done, mut failed) = (0_u64, 0_u64);
    loop {
        let page = client.post("/sources/bulk", Value::Object(request.clone())).await?;
        for item in page["items"].as_array().into_iter().flatten() {
            let is_ok = item["ok"] == true;
            done += u64::from(is_ok);
            failed += u64::from(!is_ok);
            if args.json {
                context.json_line(item)?;
            } else if !is_ok {
                let why = item["problem"]["detail"].as_str().unwrap_or("it failed");
                writeln!(context.out, "source {}: {why}", text(item, "id"))?;
            }
        }
        match page["next_cursor"].as_i64() {
            Some(cursor) => request.insert("cursor".to_owned(), cursor.into()),
            None => break,
        };
    }
    if !args.json {
        let sources = if done == 1 { "source" } else { "sources" };
        writeln!(context.out, "set {changed} of {done} {sources}")?;
    }
    match failed {
        0 => Ok(()),
        _ => {
            context.out.flush()?;
            Err(Failure::Failed(format!("{failed} sources could not be changed")))
        }
    }
}

/// The filter of a bulk request.
async fn filter(select: &[String], client: &Client) -> Result<Value, Failure> {
    let mut filter = Map::new();
    for condition in select {
        match condition.split_once('=') {
            None if condition == "all" => {}
            None if condition == "suspect" => {
                filter.insert("suspect".to_owned(), true.into());
            }
            Some(("in-collection", name)) => {
                let id = collection::id_of(client, name).await?;
                filter.insert("collection_id".to_owned(), id.into());
            }
            Some((key @ ("status" | "kind" | "host" | "q"), value)) => {
                filter.insert(key.to_owned(), value.into());
            }
            _ => {
                return Err(Failure::Usage(format!(
                    "--select {condition}: it takes all, suspect, or status=, kind=, host=, q= or in-collection= with a value"
                )));
            }
        }
    }
    Ok(Value::Object(filter))
}
