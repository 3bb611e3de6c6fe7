//! `gleaner show` and `gleaner explain`: one source, as it is and why.

use serde_json::{Value, json};

use super::show::{rows, text, when};
use super::source::{id_of, named};
use super::table::{aligned, shortened};
use super::{Context, Failure};
use crate::printable::shell_quoted;

/// How many polls are shown.
const POLLS: usize = 10;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The source, by id or URL
    source: String,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

/// All about one source, with its latest polls.
pub(super) async fn show(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let source = named(&client, &args.source).await?;
    let path = format!("/sources/{}/polls", text(&source, "id"));
    let polls = client.pages(&path, &[]).of(POLLS).next().await?.unwrap_or_default();
    if args.json {
        return context.json(&json!({ "source": source, "polls": polls }));
    }
    let heading = source["name"].as_str().map_or_else(|| text(&source, "url"), |name| shortened(name, 200));
    writeln!(context.out, "{}", context.paint.bold(heading))?;
    let fields =
        source.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let known =
        |field: &String| !source[field.as_str()].is_null() && !source[field.as_str()].eq(&Value::from(""));
    // Most sources have no article pages.
    let counts_nothing = |field: &String| field.starts_with("pages_") && source[field.as_str()] == 0;
    let lines: Vec<Vec<String>> = fields
        .iter()
        .filter(|field| known(field) && !counts_nothing(field))
        .map(|field| {
            let value = match field.as_str() {
                "suspect" => {
                    let suspect = &source[field.as_str()];
                    format!("{}: {}", text(suspect, "reason"), text(suspect, "evidence"))
                }
                "proposal" => text(&source[field.as_str()], "url"),
                time if time.ends_with("_at") => when(&source, time),
                other => text(&source, other),
            };
            vec![format!("  {field}"), value]
        })
        .collect();
    context.out.write_all(aligned(&lines).as_bytes())?;
    if polls.is_empty() {
        return Ok(writeln!(context.out, "\nnot polled yet")?);
    }
    writeln!(context.out)?;
    context.table(&["polled", "outcome", "new", "changed", "times", "what"], rows(&polls, poll_row))
}

/// A poll of the history.
pub(super) fn poll_row(poll: &Value) -> Vec<String> {
    let what = match (text(poll, "error").as_str(), poll["excused"].as_str()) {
        ("-", _) => pages_and_note(poll),
        (error, Some(_)) => match poll["excused_by"].as_str() {
            Some(by) => format!("{error} (does not count: {by})"),
            None => format!("{error} (does not count)"),
        },
        (error, None) => error.to_owned(),
    };
    let numbers = ["new_posts", "updated_posts", "count"].map(|field| text(poll, field));
    [vec![when(poll, "last_at"), text(poll, "outcome")], numbers.to_vec(), vec![shortened(&what, 100)]]
        .concat()
}

/// What has come of a poll's article pages so far, and what else is noted of it.
fn pages_and_note(poll: &Value) -> String {
    let note = text(poll, "note");
    if poll["pages"].as_i64().unwrap_or(0) == 0 {
        return note;
    }
    let [pages, fetched, failed, given_up] =
        ["pages", "pages_fetched", "pages_failed", "pages_given_up"].map(|field| text(poll, field));
    let pages = format!("{pages} article pages: {fetched} fetched, {failed} failed, {given_up} given up");
    if note == "-" { pages } else { format!("{pages}; {note}") }
}

/// Why a source is where it is.
pub(super) async fn explain(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let (id, url) = id_of(&client, &args.source).await?;
    let told = client.get(&format!("/sources/{id}/explain")).await?;
    if args.json {
        return context.json(&told);
    }
    let paint = context.paint;
    writeln!(
        context.out,
        "{}: {}",
        paint.bold(format!("{url} is {}", text(&told, "status"))),
        text(&told, "summary")
    )?;
    writeln!(context.out, "rule: {}", text(&told, "rule"))?;
    writeln!(context.out, "next poll: {}", text(&told, "next"))?;
    for (heading, field) in [
        ("noticed", "notices"),
        ("what is known around it", "around"),
        ("what led here", "evidence"),
        ("what would change it", "changes"),
    ] {
        let lines: Vec<&str> =
            told[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !lines.is_empty() {
            writeln!(context.out, "{heading}:")?;
            lines.iter().try_for_each(|line| writeln!(context.out, "  {}", shortened(line, 500)))?;
        }
    }
    if let Some(url) = told["proposal"].as_str() {
        writeln!(context.out, "to use it: gleaner edit {id} --url {}", shell_quoted(url))?;
    }
    Ok(())
}
