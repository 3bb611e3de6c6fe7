//! `gleaner poll`: polls known sources now, and says what came of it.
//!
//! Without a server the sources are polled in this process, by the scheduler's own path; with one, the server polls them.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::client::{Client, query};
use super::show::text;
use super::source::named;
use super::table::shortened;
use super::{Context, Failure, complain, progress, serve};
use crate::service::{BULK, PollEnd, SourceReport};

/// Hosts that the server is asked to poll at once where each poll is a request of its own.
const HOSTS_AT_ONCE: usize = 16;
/// First and longest pause between two looks at what the server has polled.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long the server may take without polling a single one of the sources.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Sources, by id or URL
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    sources: Vec<String>,
    /// All that are enabled and not cooling down
    #[arg(long)]
    all: bool,
    /// Even those whose servers asked to be left alone
    #[arg(long)]
    force: bool,
    /// Wait for the outcome; without --server that is always so
    #[arg(long)]
    wait: bool,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    let sources = chosen(&client, args).await?;
    let bar = progress::bar("polling", sources.len() as u64);
    let mut tally = Tally::new(args, &sources, &bar, &mut *context.out);
    match client.in_process() {
        Some((service, actor)) => {
            let ids: Vec<i64> = sources.keys().copied().collect();
            let mut report = |id, report| tally.take(id, of_report(report));
            let by = service.by(actor);
            let new_posts = by.poll_sources(&ids, args.force, &mut report, serve::stop()).await?;
            tally.page_posts = new_posts.saturating_sub(tally.new_posts);
        }
        None if args.force => poll_one_by_one(&client, &sources, args.wait, &mut tally).await?,
        None => poll_by_server(&client, &sources, args.wait, &mut tally).await?,
    }
    let result = tally.finish();
    context.out.flush()?;
    result
}

/// A chosen source.
struct Chosen {
    url: String,
    host: String,
}

impl Chosen {
    fn of(source: &Value) -> Self {
        Self { url: text(source, "url"), host: text(source, "host") }
    }
}

/// The chosen sources by id.
async fn chosen(client: &Client, args: &Args) -> Result<BTreeMap<i64, Chosen>, Failure> {
    let mut chosen = BTreeMap::new();
    for given in &args.sources {
        let source = named(client, given).await?;
        chosen.extend(source["id"].as_i64().map(|id| (id, Chosen::of(&source))));
    }
    if args.all {
        let active = [("feed_active", "true".to_owned())];
        let mut pages = client.pages("/sources", &active);
        while let Some(page) = pages.next().await? {
            chosen
                .extend(page.iter().filter_map(|source| Some((source["id"].as_i64()?, Chosen::of(source)))));
        }
    }
    Ok(chosen)
}

/// What became of a source; `poll` has the fields of a poll as far as they are known.
struct Outcome {
    name: &'static str,
    poll: Value,
    /// Why it was not polled.
    reason: Option<String>,
}

impl Outcome {
    fn not_polled(name: &'static str, reason: String) -> Self {
        Self { name, poll: json!({}), reason: Some(reason) }
    }

    /// A row of the history.
    fn of_poll(poll: &Value) -> Self {
        let name = match poll["outcome"].as_str() {
            Some("failed") => "failed",
            Some("not_modified") => "not_modified",
            _ => "fetched",
        };
        Self { name, poll: poll.clone(), reason: None }
    }

    /// What the API said instead of polling.
    fn of_problem(code: &str, detail: String) -> Self {
        let name = match code {
            "retry_after" => "held",
            "source_disabled" => "disabled",
            _ => "not_polled",
        };
        Self::not_polled(name, detail)
    }
}

fn of_report(report: SourceReport) -> Outcome {
    match report {
        SourceReport::Polled(PollEnd::Fetched { new, changed }) => Outcome {
            name: "fetched",
            poll: json!({ "new_posts": new, "updated_posts": changed }),
            reason: None,
        },
        SourceReport::Polled(PollEnd::NotModified) => Outcome {
            name: "not_modified",
            poll: json!({ "new_posts": 0, "updated_posts": 0 }),
            reason: None,
        },
        SourceReport::Polled(PollEnd::Failed(failure)) => Outcome {
            name: "failed",
            poll: json!({
                "new_posts": 0,
                "updated_posts": 0,
                "error_type": failure.kind.name(),
                "error_cause": failure.kind.cause().map(|cause| cause.name()),
                "error": failure.message,
                "status_code": failure.status,
            }),
            reason: None,
        },
        SourceReport::Held(until) => Outcome::not_polled(
            "held",
            format!("its server asked to be left alone until {until} (Retry-After); --force polls it now"),
        ),
        SourceReport::Disabled => {
            Outcome::not_polled("disabled", "it is disabled; `gleaner enable` enables it".to_owned())
        }
        SourceReport::Missing => Outcome::not_polled("not_polled", "it was removed meanwhile".to_owned()),
        SourceReport::NotPolled(why) => Outcome::not_polled("not_polled", why),
    }
}

/// Counts what became of the sources and prints it.
struct Tally<'a> {
    args: &'a Args,
    sources: &'a BTreeMap<i64, Chosen>,
    bar: &'a ProgressBar,
    out: &'a mut dyn Write,
    written: std::io::Result<()>,
    counts: HashMap<&'static str, u64>,
    with_new: u64,
    with_changed: u64,
    new_posts: u64,
    /// New posts from article pages, which are fetched after the polls.
    page_posts: u64,
    /// Of a single source, why it was not polled.
    refused: Option<(&'static str, String)>,
}

impl<'a> Tally<'a> {
    fn new(
        args: &'a Args,
        sources: &'a BTreeMap<i64, Chosen>,
        bar: &'a ProgressBar,
        out: &'a mut dyn Write,
    ) -> Self {
        Self {
            args,
            sources,
            bar,
            out,
            written: Ok(()),
            counts: HashMap::new(),
            with_new: 0,
            with_changed: 0,
            new_posts: 0,
            page_posts: 0,
            refused: None,
        }
    }

    fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    fn is_alone(&self) -> bool {
        self.sources.len() == 1 && !self.args.all
    }

    fn take(&mut self, id: i64, outcome: Outcome) {
        let number = |field: &str| outcome.poll[field].as_u64().unwrap_or(0);
        let (new, changed) = (number("new_posts"), number("updated_posts"));
        *self.counts.entry(outcome.name).or_default() += 1;
        self.with_new += u64::from(new > 0);
        self.with_changed += u64::from(new == 0 && changed > 0);
        self.new_posts += new;
        self.bar.inc(1);
        let url = self.sources.get(&id).map(|source| source.url.clone()).unwrap_or_default();
        let (json, all, alone) = (self.args.json, self.args.all, self.is_alone());
        if let Some(reason) = &outcome.reason
            && !json
        {
            match alone {
                true => self.refused = Some((outcome.name, format!("source {id} ({url}): {reason}"))),
                false => self.bar.suspend(|| complain(&format!("source {id} ({url}): {reason}"))),
            }
            return;
        }
        let line = if json {
            let mut line = json!({ "source_id": id, "url": url, "outcome": outcome.name });
            if let (Some(line), Some(poll)) = (line.as_object_mut(), outcome.poll.as_object()) {
                for (field, value) in poll {
                    line.entry(field.as_str()).or_insert_with(|| value.clone());
                }
                line.extend(outcome.reason.clone().map(|reason| ("reason".to_owned(), reason.into())));
            }
            if alone {
                self.refused =
                    outcome.reason.map(|reason| (outcome.name, format!("source {id} ({url}): {reason}")));
            }
            line.to_string()
        } else {
            let ended = match outcome.name {
                // Of many, those are named that something is to be said of.
                "not_modified" | "fetched" if all && new + changed == 0 => return,
                "failed" => format!("failed: {}", text(&outcome.poll, "error")),
                "not_modified" => "not modified".to_owned(),
                "requested" => "being polled".to_owned(),
                _ => format!("{new} new, {changed} changed"),
            };
            shortened(&format!("{url}: {ended}"), 1000)
        };
        let (bar, out) = (self.bar, &mut self.out);
        let written = bar.suspend(|| writeln!(out, "{line}"));
        if self.written.is_ok() {
            self.written = written;
        }
    }

    /// Prints the summary. An error where a source was not polled, or its poll failed.
    fn finish(self) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        let of = |name: &str| self.count(name);
        let (failed, held, disabled, left) = (of("failed"), of("held"), of("disabled"), of("not_polled"));
        let polled = of("fetched") + of("not_modified") + failed;
        let (alone, json, requested) = (self.is_alone(), self.args.json, of("requested"));
        let mut rest: Vec<String> =
            [(failed, "failed"), (held, "held"), (disabled, "disabled"), (left, "not polled")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}"))
                .collect();
        let Self { out, written, with_new, with_changed, new_posts, page_posts, refused, .. } = self;
        written?;
        if !alone && !json {
            let mut parts = Vec::new();
            if requested > 0 {
                writeln!(out, "{requested} are being polled by the server; --wait waits for them")?;
            }
            if with_new > 0 {
                parts.push(format!("{with_new} with {}", new(new_posts)));
            }
            if with_changed > 0 {
                parts.push(format!("{with_changed} with changed posts"));
            }
            parts.push(format!("{} unchanged", polled - failed - with_new - with_changed));
            parts.append(&mut rest.clone());
            if polled > 0 || requested == 0 {
                writeln!(out, "{polled} polled: {}", parts.join(", "))?;
            }
        }
        if page_posts > 0 && !json {
            writeln!(out, "{} from article pages", new(page_posts))?;
        }
        match refused {
            Some(("held" | "disabled", detail)) => {
                Err(Failure::Refused { status: 409, code: String::new(), detail, id: None })
            }
            Some((_, detail)) => Err(Failure::Failed(detail)),
            None if rest.is_empty() => Ok(()),
            None if alone => Err(Failure::Failed("the poll failed".to_owned())),
            None => {
                let last = rest.pop().unwrap_or_default();
                let rest = if rest.is_empty() { last } else { format!("{} and {last}", rest.join(", ")) };
                Err(Failure::Failed(format!("{rest}; each is named above")))
            }
        }
    }
}

/// So many new posts.
fn new(posts: u64) -> String {
    if posts == 1 { "1 new post".to_owned() } else { format!("{posts} new posts") }
}

/// Asks the server for all at once: makes them due, and looks what became of them.
async fn poll_by_server(
    client: &Client,
    sources: &BTreeMap<i64, Chosen>,
    wait: bool,
    tally: &mut Tally<'_>,
) -> Result<(), Failure> {
    let ids: Vec<i64> = sources.keys().copied().collect();
    // The latest poll of each before it is polled: its row, and how many polls that stands for.
    let mut pending: BTreeMap<i64, Option<(i64, i64)>> = BTreeMap::new();
    for chunk in ids.chunks(BULK as usize) {
        let before = if wait { latest(client, chunk).await? } else { HashMap::new() };
        let answer = client.post("/sources/bulk", json!({ "ids": chunk, "action": "poll" })).await?;
        for item in answer["items"].as_array().into_iter().flatten() {
            let Some(id) = item["id"].as_i64() else { continue };
            match item["problem"].as_object() {
                Some(problem) => {
                    let of = |field: &str| problem.get(field).and_then(Value::as_str).unwrap_or_default();
                    tally.take(id, Outcome::of_problem(of("code"), of("detail").to_owned()));
                }
                None if wait => {
                    pending.insert(id, before.get(&id).map(place));
                }
                None => tally.take(id, Outcome { name: "requested", poll: json!({}), reason: None }),
            }
        }
    }
    let (mut pause, mut progress_at) = (FIRST_PAUSE, Instant::now());
    while !pending.is_empty() && progress_at.elapsed() < PATIENCE {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        let ids: Vec<i64> = pending.keys().copied().collect();
        for chunk in ids.chunks(BULK as usize) {
            for (id, poll) in latest(client, chunk).await? {
                if pending.get(&id).is_some_and(|before| *before != Some(place(&poll))) {
                    pending.remove(&id);
                    tally.take(id, Outcome::of_poll(&poll));
                    progress_at = Instant::now();
                }
            }
        }
    }
    for id in pending.into_keys() {
        let reason = format!("the server did not poll it; no poll ended within {} s", PATIENCE.as_secs());
        tally.take(id, Outcome::not_polled("not_polled", reason));
    }
    Ok(())
}

/// What tells a poll of a source from the one before: unchanged polls in a row share a row of the history.
fn place(poll: &Value) -> (i64, i64) {
    (poll["id"].as_i64().unwrap_or(0), poll["count"].as_i64().unwrap_or(0))
}

async fn latest(client: &Client, ids: &[i64]) -> Result<HashMap<i64, Value>, Failure> {
    let mut answer = client.post("/sources/latest-polls", json!({ "ids": ids })).await?;
    let polls = match answer["items"].take() {
        Value::Array(polls) => polls,
        _ => Vec::new(),
    };
    Ok(polls.into_iter().filter_map(|poll| Some((poll["source_id"].as_i64()?, poll))).collect())
}

/// A request for each, host by host: only so the server polls in spite of `Retry-After`.
async fn poll_one_by_one(
    client: &Client,
    sources: &BTreeMap<i64, Chosen>,
    wait: bool,
    tally: &mut Tally<'_>,
) -> Result<(), Failure> {
    let mut hosts: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (id, source) in sources {
        hosts.entry(&source.host).or_default().push(*id);
    }
    let how = query(&[("wait", wait.to_string()), ("force", "true".to_owned())]);
    let polls = hosts.into_values().map(|ids| {
        let how = &how;
        async move {
            let mut polled = Vec::with_capacity(ids.len());
            for id in ids {
                polled.push((id, client.post(&format!("/sources/{id}/poll{how}"), json!({})).await));
            }
            polled
        }
    });
    let mut polls = stream::iter(polls).buffer_unordered(HOSTS_AT_ONCE);
    while let Some(host) = polls.next().await {
        for (id, polled) in host {
            tally.take(
                id,
                match polled {
                    Ok(poll) if poll.get("poll_id").is_some() && wait => Outcome::not_polled(
                        "not_polled",
                        "it is still being polled; `gleaner show` tells what comes of it".to_owned(),
                    ),
                    Ok(poll) if poll.get("poll_id").is_some() => {
                        Outcome { name: "requested", poll: json!({}), reason: None }
                    }
                    Ok(poll) => Outcome::of_poll(&poll),
                    Err(Failure::Refused { status, code, detail, .. }) if (400..500).contains(&status) => {
                        Outcome::of_problem(&code, detail)
                    }
                    Err(failure) => return Err(failure),
                },
            );
        }
    }
    Ok(())
}
