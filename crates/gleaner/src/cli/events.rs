//! `gleaner events`: what happened, and what happens.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, query};
use super::posts::time;
use super::remote::Remote;
use super::show::{text, when};
use super::source::id_of;
use super::table::shortened;
use super::{Context, Failure, complain};
use crate::clock::{Clock as _, SystemClock};

/// How often a database is looked at for what is new.
const LOOK: Duration = Duration::from_secs(1);
/// How long to wait before a server is asked again that hung up.
const AGAIN: Duration = Duration::from_secs(2);
/// No event is longer.
const LONGEST: usize = 16 << 20;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Sub>,
    /// Only these types, separated by commas, as in source.failing,post.*
    #[arg(long = "type", value_name = "TYPES")]
    kind: Option<String>,
    /// Only those about this source, by id or URL
    #[arg(long)]
    source: Option<String>,
    /// At most so many of the latest; with --follow, to begin with
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Go on with what happens from now on
    #[arg(long, short)]
    follow: bool,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// Send events to NATS again, under the same ids
    Replay {
        /// Those since then: 2026-11-15, 2026-11-15T08:00:00Z, 90m, 12h or 7d
        #[arg(long)]
        since: String,
        /// For programs: JSON instead of words
        #[arg(long)]
        json: bool,
    },
}

async fn replay(since: &str, json: bool, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    client.catch_up().await?;
    let since = time(since, SystemClock.now())?;
    let sent = client.post("/events/replay", json!({ "since": since })).await?;
    let words = format!("{} events are sent to NATS again, by the worker that sends", text(&sent, "events"));
    context.say(json, &sent, &words)
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    if let Some(Sub::Replay { since, json }) = &args.command {
        return replay(since, *json, context).await;
    }
    let client = context.client().await?;
    let mut which = Vec::new();
    which.extend(args.kind.clone().map(|kinds| ("type", kinds)));
    if let Some(given) = &args.source {
        which.push(("source_id", id_of(&client, given).await?.0.to_string()));
    }
    client.catch_up().await?;
    let mut latest = latest(&client, &which, args.limit).await?;
    latest.reverse();
    let mut last = 0;
    for event in &latest {
        last = event["id"].as_i64().unwrap_or(last);
        tell(event, args.json, context)?;
    }
    if latest.is_empty() && !args.follow && !args.json {
        writeln!(context.out, "nothing has happened yet")?;
    }
    if !args.follow {
        return Ok(());
    }
    context.out.flush()?;
    match client.over_http() {
        Some(remote) => follow(remote, which, last, args.json, context).await,
        None => look(&client, which, last, args.json, context).await,
    }
}

async fn latest(client: &Client, which: &[(&str, String)], most: usize) -> Result<Vec<Value>, Failure> {
    let mut events = Vec::new();
    let mut pages = client.pages("/events", which).of(most.max(1));
    while events.len() < most
        && let Some(page) = pages.next().await?
    {
        events.extend(page);
    }
    events.truncate(most);
    Ok(events)
}

fn tell(event: &Value, json: bool, context: &mut Context<'_>) -> Result<(), Failure> {
    if json {
        return Ok(context.json_line(event)?);
    }
    Ok(writeln!(context.out, "{}", line(event))?)
}

/// An event on a line.
fn line(event: &Value) -> String {
    let source = &event["source"];
    let about = ["name", "url"].iter().find_map(|field| source[*field].as_str()).unwrap_or_default();
    let data = &event["data"];
    let posts: Vec<&str> =
        data["posts"].as_array().into_iter().flatten().filter_map(|post| post["title"].as_str()).collect();
    let what = match data["reason"].as_str() {
        Some(reason) => reason.to_owned(),
        None if !posts.is_empty() => posts.join("; "),
        None if about.is_empty() => data.to_string(),
        None => String::new(),
    };
    let parts = [about, &what].map(|part| shortened(part, 120));
    format!("{}  {:<20}  {}", when(event, "created_at"), text(event, "type"), parts.join("  "))
        .trim_end()
        .to_owned()
}

/// Looks at the database again and again.
async fn look(
    client: &Client,
    mut which: Vec<(&str, String)>,
    mut last: i64,
    json: bool,
    context: &mut Context<'_>,
) -> Result<(), Failure> {
    which.push(("order", "asc".to_owned()));
    loop {
        client.catch_up().await?;
        let after = [which.clone(), vec![("limit", "500".to_owned()), ("cursor", last.to_string())]].concat();
        let page = client.get(&format!("/events{}", query(&after))).await?;
        let events = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        for event in events {
            last = event["id"].as_i64().unwrap_or(last);
            tell(event, json, context)?;
        }
        context.out.flush()?;
        if events.is_empty() {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Listens to a server, and comes again where it hangs up.
async fn follow(
    remote: &Remote,
    which: Vec<(&str, String)>,
    mut last: i64,
    json: bool,
    context: &mut Context<'_>,
) -> Result<(), Failure> {
    loop {
        let after = [which.clone(), vec![("after", last.to_string())]].concat();
        let mut response = remote.stream(&format!("/api/v1/events/stream{}", query(&after))).await?;
        let mut parser = Parser::default();
        while let Ok(Some(chunk)) = response.chunk().await {
            for event in parser.take(&chunk) {
                last = event["id"].as_i64().unwrap_or(last);
                tell(&event, json, context)?;
            }
            context.out.flush()?;
        }
        complain("the server hung up; asking again");
        tokio::time::sleep(AGAIN).await;
    }
}

/// Takes server-sent events apart: the data of each, as JSON.
#[derive(Debug, Default)]
struct Parser {
    buffer: Vec<u8>,
    data: Vec<u8>,
}

impl Parser {
    fn take(&mut self, chunk: &[u8]) -> Vec<Value> {
        self.buffer.extend_from_slice(chunk);
        let mut events = Vec::new();
        while let Some(end) = memchr::memchr(b'\n', &self.buffer) {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = line.trim_ascii_end();
            if let Some(data) = line.strip_prefix(b"data:") {
                self.data.extend_from_slice(data.trim_ascii_start());
            } else if line.is_empty() && !self.data.is_empty() {
                events.extend(serde_json::from_slice(&std::mem::take(&mut self.data)).ok());
            }
        }
        if self.buffer.len() + self.data.len() > LONGEST {
            *self = Self::default();
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn streams_are_taken_apart_wherever_they_are_cut() {
        let stream =
            b": hello\n\nid: 1\nevent: a\ndata: {\"id\":1}\n\nid: 2\r\ndata: {\"id\":\ndata: 2}\r\n\r\n:\n\n";
        for size in [1, 2, 3, 7, stream.len()] {
            let mut parser = Parser::default();
            let events: Vec<Value> = stream.chunks(size).flat_map(|chunk| parser.take(chunk)).collect();
            assert_eq!(events, [json!({ "id": 1 }), json!({ "id": 2 })], "{size}");
        }
    }

    #[test]
    fn events_are_lines() {
        let event = json!({
            "id": 1, "type": "source.failing", "created_at": "2026-11-15T08:30:00Z",
            "source": { "id": 1, "url": "https://a.example/\u{1b}", "name": null },
            "data": { "reason": "404 Not Found" },
        });
        assert_eq!(
            line(&event),
            "2026-11-15 08:30:00  source.failing        https://a.example/   404 Not Found"
        );
        let import = json!({ "type": "import.finished", "created_at": null, "data": { "added": 3 } });
        assert_eq!(line(&import), "-  import.finished         {\"added\":3}");
    }
}
