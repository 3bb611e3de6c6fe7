//! Reads a feed from standard input and prints its main fields as JSON, for comparison with other parsers.
//!
//! The values are those that other parsers report: the last author as written, and the entry in which a truncated
//! document ended is included.

use std::io::{Read, Write};
use std::process::ExitCode;

use gleaner_feed::{Entry, Options, Person, parse};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut bytes = Vec::new();
    if let Err(error) = std::io::stdin().lock().read_to_end(&mut bytes) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    match parse(&bytes, &Options::default()) {
        Ok(feed) => {
            let entries: Vec<Value> =
                feed.entries.iter().chain(feed.cut_entry.as_deref()).map(entry_json).collect();
            let title = feed.title.as_ref().map(|title| title.value.as_str());
            let line = json!({ "title": title, "entries": entries });
            match writeln!(std::io::stdout().lock(), "{line}") {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn entry_json(entry: &Entry) -> Value {
    let author = |person: &Person| person.name.clone().or_else(|| person.email.clone());
    let enclosures: Vec<Value> = entry
        .enclosures
        .iter()
        .map(|file| json!({ "url": file.url, "type": file.mime, "length": file.length }))
        .collect();
    json!({
        "id": entry.id,
        "title": entry.title.as_ref().map(|title| &title.value),
        "url": entry.url(),
        "published": entry.published.or(entry.updated).or(entry.created).map(|time| time.div_euclid(1000)),
        "author": entry.authors.iter().rev().find_map(author),
        "content": entry.content.as_ref().map(|content| &content.text.value),
        "summary": entry.summary.as_ref().map(|summary| &summary.value),
        "enclosures": enclosures,
    })
}
