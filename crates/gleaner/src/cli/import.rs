//! `gleaner import` and `gleaner export`: lists of sources.

use std::io::Read as _;
use std::path::PathBuf;

use axum::http::Method;
use serde_json::{Value, json};

use super::client::{Sent, query};
use super::show::{rows, text};
use super::{Context, Failure, collection, progress};
use crate::printable::escape_json;
use crate::service::{Backfill, Format, MAX_LIST_BYTES};

#[derive(Debug, clap::Args)]
pub(super) struct Import {
    /// An OPML file, or one with a JSON object per line; - reads standard input, and a URL is fetched
    #[arg(value_name = "FILE|URL|-")]
    list: String,
    /// opml or json [default: as the list looks]
    #[arg(long)]
    format: Option<Format>,
    /// All into this collection, instead of one for each folder
    #[arg(long)]
    collection: Option<String>,
    /// Existing entries that first polls store: none, recent (up to 10 of the newest within the maximum age) or all
    #[arg(long, value_name = "WHICH", default_value = "recent")]
    backfill: Backfill,
    /// For programs: JSON instead of words
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Export {
    /// opml, for other programs, or json, with every field that is not secret
    #[arg(long, default_value = "opml")]
    format: Format,
    /// Only this collection
    #[arg(long)]
    collection: Option<String>,
    /// Into this file, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn import(args: &Import, context: &mut Context<'_>) -> Result<(), Failure> {
    let body = request_body(&args.list)?;
    let client = context.client().await?;
    let mut parameters = vec![("backfill", args.backfill.name().to_owned())];
    parameters.extend(args.format.map(|format| ("format", format.to_string())));
    if let Some(name) = &args.collection {
        parameters.push(("collection_id", collection::id_of(&client, name).await?.to_string()));
    }
    let spinner = progress::spinner("importing");
    let imported = client.ask(Method::POST, &format!("/import{}", query(&parameters)), body).await;
    spinner.finish_and_clear();
    let imported = imported?;
    if args.json {
        context.json(&imported)?;
    } else {
        print(args, &imported, context)?;
    }
    match imported["bad"].as_u64() {
        None | Some(0) => Ok(()),
        Some(bad) => {
            context.out.flush()?;
            Err(Failure::Failed(format!("{bad} could not be imported, see the lines above; the others were")))
        }
    }
}

fn request_body(list: &str) -> Result<Sent, Failure> {
    if list.starts_with("http://") || list.starts_with("https://") {
        return Ok(Sent::Json(json!({ "url": list })));
    }
    let cannot = |error| Failure::Usage(format!("{list} cannot be read: {error}"));
    let mut bytes = Vec::new();
    // One byte more than allowed, to notice a list that is too large.
    let most = MAX_LIST_BYTES as u64 + 1;
    if list == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(Failure::Input)?;
    } else {
        std::fs::File::open(list).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(cannot)?;
    }
    if bytes.len() > MAX_LIST_BYTES {
        return Err(Failure::Usage(format!("{list} is larger than {} MB; split it", MAX_LIST_BYTES >> 20)));
    }
    Ok(Sent::File("application/octet-stream", bytes.into()))
}

fn print(args: &Import, imported: &Value, context: &mut Context<'_>) -> Result<(), Failure> {
    let report = imported["report"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !report.is_empty() {
        let row = |line: &Value| vec![text(line, "line"), text(line, "url"), text(line, "message")];
        context.table(&["line", "url", "what"], rows(report, row))?;
        writeln!(context.out)?;
    }
    let count = |field: &str| imported[field].as_u64().unwrap_or(0);
    let made = match count("collections") {
        0 => String::new(),
        1 => "; made 1 collection".to_owned(),
        n => format!("; made {n} collections"),
    };
    let (added, there, bad) = (count("added"), count("duplicates"), count("bad"));
    writeln!(context.out, "added {added}, {there} were there already, {bad} are bad{made}")?;
    if added > 0 {
        let minutes = count("first_polls_within_seconds").div_ceil(60);
        let stores = args.backfill.description();
        writeln!(
            context.out,
            "first polls within {minutes} minutes, by a running gleaner; they store {stores}"
        )?;
    }
    Ok(())
}

pub(super) async fn export(args: &Export, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let mut parameters = vec![("format", args.format.to_string())];
    if let Some(name) = &args.collection {
        parameters.push(("collection_id", collection::id_of(&client, name).await?.to_string()));
    }
    let list = client.bytes(Method::GET, &format!("/export{}", query(&parameters)), Sent::Nothing).await?;
    match &args.output {
        None => {
            let list = String::from_utf8_lossy(&list);
            let list = if args.format == Format::Json { escape_json(&list) } else { list };
            Ok(context.out.write_all(list.as_bytes())?)
        }
        Some(path) => {
            let cannot = |error| Failure::Failed(format!("{} cannot be written: {error}", path.display()));
            std::fs::write(path, &list).map_err(cannot)?;
            Ok(writeln!(context.out, "wrote {}", path.display())?)
        }
    }
}
