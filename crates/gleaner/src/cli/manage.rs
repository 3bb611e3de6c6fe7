//! `gleaner enable`, `disable` and `remove`: what becomes of known sources.

use serde_json::{Value, json};

use super::show::text;
use super::source::{id_of, named};
use super::{Context, Failure, ask};

#[derive(Debug, clap::Args)]
pub(super) struct Enable {
    /// Sources, by id or URL
    #[arg(required = true)]
    sources: Vec<String>,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Disable {
    /// Sources, by id or URL
    #[arg(required = true)]
    sources: Vec<String>,
    /// Set it aside instead: for an error kind's time, as in not_found, or for words, until it is enabled
    #[arg(long, value_name = "REASON")]
    aside: Option<String>,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Remove {
    /// Sources, by id or URL
    #[arg(required = true)]
    sources: Vec<String>,
    /// Do not ask first; needed where there is no terminal
    #[arg(long)]
    yes: bool,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn enable(args: &Enable, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    for given in &args.sources {
        let source = named(&client, given).await?;
        let path = format!("/sources/{}", text(&source, "id"));
        let changed = match source["status"].as_str() {
            Some("quarantined") => client.patch(&format!("{path}/feed-enable"), json!({})).await?,
            _ => client.patch(&path, json!({ "enabled": true })).await?,
        };
        tell(context, args.json, &changed, "is enabled, and due now")?;
    }
    Ok(())
}

pub(super) async fn disable(args: &Disable, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    for given in &args.sources {
        let (id, _) = id_of(&client, given).await?;
        let (changed, words) = match &args.aside {
            Some(reason) => {
                let path = format!("/sources/{id}/feed-disable");
                let changed = client.patch(&path, json!({ "reason": reason })).await?;
                let until = match text(&changed, "retry_at").as_str() {
                    "-" => "until it is enabled".to_owned(),
                    at => format!("until {at}"),
                };
                (changed, format!("is set aside {until}"))
            }
            None => {
                let changed = client.patch(&format!("/sources/{id}"), json!({ "enabled": false })).await?;
                (changed, "is disabled".to_owned())
            }
        };
        tell(context, args.json, &changed, &words)?;
    }
    Ok(())
}

pub(super) async fn remove(args: &Remove, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    // A source that does not exist is noticed before anything is removed.
    let mut sources = Vec::with_capacity(args.sources.len());
    for given in &args.sources {
        sources.push(id_of(&client, given).await?);
    }
    for (id, url) in sources {
        if !args.yes && !ask::sure(&format!("Remove {url}, with all its posts?"))? {
            return Err(Failure::Failed(format!("{url} was not removed")));
        }
        client.delete(&format!("/sources/{id}")).await?;
        let told = json!({ "id": id, "url": url, "removed": true });
        tell(context, args.json, &told, "is removed, and its posts with it")?;
    }
    Ok(())
}

fn tell(context: &mut Context<'_>, json: bool, source: &Value, words: &str) -> Result<(), Failure> {
    if json {
        return Ok(context.json_line(source)?);
    }
    Ok(writeln!(context.out, "source {} ({}) {words}", text(source, "id"), text(source, "url"))?)
}
