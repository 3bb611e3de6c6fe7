//! `gleaner policy replay`: the recorded polls under another policy, and what would have been different.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use gleaner_core::overlay::PolicyOverlay;
use gleaner_core::time::Span;
use serde_json::{Value, json};

use super::client::Client;
use super::posts::time;
use super::show::{text, when};
use super::source::id_of;
use super::{Context, Failure, collection, progress};
use crate::clock::{Clock as _, SystemClock};

/// Sources that are asked for at once.
const PAGE: usize = 50;
/// A file with a table is no larger.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The policy to try: a name, or a file with a table such as `policy show --toml` prints
    #[arg(long, value_name = "NAME|FILE")]
    policy: String,
    /// Only polls since then: 2026-11-15, 2026-11-15T08:00:00Z, 90m, 12h or 7d
    #[arg(long, value_name = "TIME", default_value = "30d")]
    since: String,
    /// Only this source, by id or URL; may be repeated
    #[arg(long)]
    source: Vec<String>,
    /// Only sources of this collection
    #[arg(long, conflicts_with = "source")]
    collection: Option<String>,
    /// Show at most so many sources, those that differ most; 0: all
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// For programs: all of it, as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut asked = tried(&args.policy)?;
    asked["since"] = json!(time(&args.since, SystemClock.now())?);
    let client = context.client().await?;
    if let Some(name) = &args.collection {
        asked["collection_id"] = json!(collection::id_of(&client, name).await?);
    }
    let mut ids = Vec::new();
    for given in &args.source {
        ids.push(id_of(&client, given).await?.0);
    }
    let whole = gather(&client, asked, &ids).await?;
    if args.json { context.json(&whole.as_json()) } else { whole.tell(args.limit, context) }
}

/// What to try, as the API takes it: a name, or the table of a file. No name has a dot or a slash.
fn tried(given: &str) -> Result<Value, Failure> {
    if !given.contains(['.', '/', '\\']) {
        return Ok(json!({ "policy": given }));
    }
    let wrong = |why: String| Failure::Usage(format!("--policy {given}: {why}"));
    let mut read = String::new();
    std::fs::File::open(given)
        .and_then(|file| file.take(LARGEST).read_to_string(&mut read))
        .map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    let (name, table) = table(&read, given).map_err(wrong)?;
    Ok(json!({ "policy": name, "table": table }))
}

/// The one table of a file, as `[policies.NAME]` or alone under the file's own name.
fn table(text: &str, file: &str) -> Result<(String, PolicyOverlay), String> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        policies: BTreeMap<String, PolicyOverlay>,
    }
    let whole: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    if !whole.contains_key("policies") {
        let name = Path::new(file).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
        return Ok((name, toml::from_str(text).map_err(|error| error.to_string())?));
    }
    let Config { policies } = toml::from_str(text).map_err(|error| error.to_string())?;
    let names = policies.keys().cloned().collect::<Vec<_>>().join(", ");
    let mut policies = policies.into_iter();
    match (policies.next(), policies.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(format!("it must have one table [policies.NAME]; it has {names}")),
    }
}

/// All pages together.
#[derive(Default)]
struct Whole {
    /// The first answer, for what is the same in all of them.
    first: Value,
    earliest: Option<String>,
    sources: u64,
    recorded: u64,
    replayed: u64,
    /// The sources that differ, the most different first.
    items: Vec<Value>,
}

async fn gather(client: &Client, mut asked: Value, ids: &[i64]) -> Result<Whole, Failure> {
    let mut whole = Whole::default();
    let bar = progress::bar("replaying", ids.len() as u64);
    let mut chunks = ids.chunks(PAGE);
    asked["limit"] = json!(PAGE);
    if let Some(chunk) = chunks.next() {
        asked["source_ids"] = json!(chunk);
    }
    loop {
        let page = client.post("/replay", asked.clone()).await?;
        whole.add(&page);
        bar.set_length(page["total"].as_u64().unwrap_or(0).max(ids.len() as u64));
        bar.set_position(whole.sources);
        if whole.first.is_null() {
            whole.first = page.clone();
        }
        match (chunks.next(), &page["next_cursor"]) {
            (Some(chunk), _) => asked["source_ids"] = json!(chunk),
            (None, Value::Null) => break,
            (None, cursor) => asked["cursor"] = cursor.clone(),
        }
    }
    bar.finish_and_clear();
    whole.items.sort_by_key(|item| std::cmp::Reverse(weight(item)));
    Ok(whole)
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// How different a source would have been: what is lost first, then what is late, then its status, then requests.
fn weight(item: &Value) -> [u64; 4] {
    let apart = |what: &str| {
        number(item, &format!("/{what}/recorded")).abs_diff(number(item, &format!("/{what}/replayed")))
    };
    [
        number(item, "/missing_posts"),
        number(item, "/late_seconds"),
        apart("set_aside_seconds"),
        apart("requests"),
    ]
}

impl Whole {
    fn add(&mut self, page: &Value) {
        self.sources += number(page, "/sources");
        self.recorded += number(page, "/requests/recorded");
        self.replayed += number(page, "/requests/replayed");
        // Times of one form, UTC, are in order as texts.
        let earliest = page["earliest_poll_at"].as_str().map(str::to_owned);
        self.earliest = self.earliest.take().into_iter().chain(earliest).min();
        self.items.extend(page["items"].as_array().into_iter().flatten().cloned());
    }

    fn sum(&self, path: &str) -> u64 {
        self.items.iter().map(|item| number(item, path)).fold(0, u64::saturating_add)
    }

    fn as_json(&self) -> Value {
        let late =
            ["late_posts", "late_seconds", "missing_posts"].map(|field| self.sum(&format!("/{field}")));
        json!({
            "policy": self.first["policy"],
            "since": self.first["since"],
            "until": self.first["until"],
            "earliest_poll_at": self.earliest,
            "sources": self.sources,
            "different": self.items.len(),
            "requests": { "recorded": self.recorded, "replayed": self.replayed },
            "set_aside_seconds": {
                "recorded": self.sum("/set_aside_seconds/recorded"),
                "replayed": self.sum("/set_aside_seconds/replayed"),
            },
            "late_posts": late[0],
            "late_seconds": late[1],
            "missing_posts": late[2],
            "items": self.items,
        })
    }

    /// A summary, and the sources that differ most.
    fn tell(&self, limit: usize, context: &mut Context<'_>) -> Result<(), Failure> {
        let policy = text(&self.first, "policy");
        let Some(earliest) = &self.earliest else {
            return Ok(writeln!(context.out, "no polls are recorded since {}", when(&self.first, "since"))?);
        };
        let from = when(&json!({ "at": earliest }), "at");
        let heading = format!("{} under {policy}, polls since {from}", count(self.sources, "source"));
        writeln!(context.out, "{}", context.paint.bold(heading))?;
        if self.items.is_empty() {
            return Ok(writeln!(context.out, "nothing would have been different")?);
        }
        for line in self.summary() {
            writeln!(context.out, "  {line}")?;
        }
        writeln!(context.out)?;
        let shown = if limit == 0 { self.items.len() } else { limit.min(self.items.len()) };
        let rows = self.items.iter().take(shown).map(row).collect();
        context.table(&["id", "requests", "set aside", "would have been", "posts", "url"], rows)?;
        match self.items.len() - shown {
            0 => Ok(()),
            more => {
                Ok(writeln!(context.out, "and {more} more; --limit 0 shows all, --json tells everything")?)
            }
        }
    }

    fn summary(&self) -> Vec<String> {
        let requests = match self.replayed.cmp(&self.recorded) {
            std::cmp::Ordering::Less => format!("{} saved", self.recorded - self.replayed),
            std::cmp::Ordering::Greater => format!("{} more", self.replayed - self.recorded),
            std::cmp::Ordering::Equal => "as many".to_owned(),
        };
        let aside = |which: &str| {
            let path = format!("/set_aside_seconds/{which}");
            let times = self.items.iter().filter(|item| number(item, &path) > 0).count();
            format!("{} for {}", count(times as u64, "source"), Span::from_secs(self.sum(&path)))
        };
        let (late, missing) = (self.sum("/late_posts"), self.sum("/missing_posts"));
        let mean = Span::from_secs(self.sum("/late_seconds").checked_div(late).unwrap_or(0));
        let posts = match late {
            0 => "none late".to_owned(),
            late => format!("{late} late, by {mean} on average"),
        };
        vec![
            format!("different: {}", count(self.items.len() as u64, "source")),
            format!("requests:  {} instead of {}, {requests}", self.replayed, self.recorded),
            format!(
                "set aside: {} instead of {}, of those that differ",
                aside("replayed"),
                aside("recorded")
            ),
            format!("posts:     {posts}; {missing} not found by the end"),
        ]
    }
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn row(item: &Value) -> Vec<String> {
    let requests =
        format!("{} -> {}", number(item, "/requests/recorded"), number(item, "/requests/replayed"));
    let posts = match (number(item, "/late_posts"), number(item, "/missing_posts")) {
        (0, 0) => "-".to_owned(),
        (late, 0) => format!("{late} late, up to {}", Span::from_secs(number(item, "/latest_seconds"))),
        (0, missing) => format!("{missing} missing"),
        (late, missing) => format!("{late} late, {missing} missing"),
    };
    let [was, would] = ["recorded", "replayed"].map(|which| asides(item, which));
    vec![text(item, "id"), requests, was, would, posts, text(item, "url")]
}

/// When a source was first set aside, what for and how long in all.
fn asides(item: &Value, which: &str) -> String {
    let all = item.pointer(&format!("/set_aside/{which}")).and_then(Value::as_array);
    let Some(first) = all.and_then(|all| all.first()) else { return "-".to_owned() };
    let times = match all.map_or(0, Vec::len) {
        1 => String::new(),
        more => format!(", {more} times"),
    };
    let long = Span::from_secs(number(item, &format!("/set_aside_seconds/{which}")));
    let since = when(first, "from");
    let since = since.get(..16).unwrap_or(&since);
    format!("{} {since}, {} for {long}{times}", text(first, "status"), text(first, "reason"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_table() {
        let (name, overlay) = table("[policies.mine]\nbase = 'standard'\n", "x.toml").unwrap();
        assert_eq!((name.as_str(), overlay.base.as_deref()), ("mine", Some("standard")));
        let (name, overlay) = table("max_backoff_hours = 6\n", "dir/backoff.toml").unwrap();
        assert_eq!((name.as_str(), overlay.max_backoff_hours), ("backoff", Some(6.0)));
        for (wrong, why) in [
            ("[policies]", "one table"),
            ("[policies.a]\n[policies.b]", "it has a, b"),
            ("[source]\n[policies.a]", "unknown field `source`"),
            ("[on.gone]\nthrehsold = 2", "unknown field `threhsold`"),
            ("= 3", "TOML parse error"),
        ] {
            let told = table(wrong, "x.toml").unwrap_err();
            assert!(told.contains(why), "{wrong}: {told}");
        }
    }
}
