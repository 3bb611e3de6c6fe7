//! `gleaner posts`: what was collected.

use gleaner_core::time::{Span, Time};
use serde_json::Value;

use super::show::{rows, text, when};
use super::source::id_of;
use super::table::shortened;
use super::{Context, Failure, collection};
use crate::clock::{Clock as _, SystemClock};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this post, with its text
    id: Option<i64>,
    /// Only those of this source, by id or URL; may be repeated
    #[arg(long, conflicts_with = "id")]
    source: Vec<String>,
    /// Only those of this collection
    #[arg(long, conflicts_with = "id")]
    collection: Option<String>,
    /// Only those with all these words in title or text
    #[arg(long, value_name = "WORDS", conflicts_with = "id")]
    search: Option<String>,
    /// Only those stored since then: 2026-11-15, 2026-11-15T08:00:00Z, 90m, 12h or 7d
    #[arg(long, value_name = "TIME", conflicts_with = "id")]
    since: Option<String>,
    /// At most so many, the newest first; 0: all
    #[arg(long, default_value_t = 50, conflicts_with = "id")]
    limit: usize,
    /// For programs: a JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &mut Context<'_>) -> Result<(), Failure> {
    let client = context.client().await?;
    if let Some(id) = args.id {
        let post = client.get(&format!("/posts/{id}")).await?;
        return if args.json { context.json(&post) } else { whole(&post, context) };
    }
    let mut search = Vec::new();
    for given in &args.source {
        search.push(("source_id", id_of(&client, given).await?.0.to_string()));
    }
    if let Some(name) = &args.collection {
        search.push(("collection_id", collection::id_of(&client, name).await?.to_string()));
    }
    if let Some(words) = &args.search {
        client.catch_up().await?;
        search.push(("q", words.clone()));
    }
    if let Some(since) = &args.since {
        search.push(("from", time(since, SystemClock.now())?.to_string()));
    }
    let most = if args.limit == 0 { usize::MAX } else { args.limit };
    let mut pages = client.pages("/posts", &search).of(most);
    let (mut told, mut table, mut cut) = (0, Vec::new(), false);
    while told < most
        && let Some(page) = pages.next().await?
    {
        cut = page.len() > most - told;
        let page = &page[..page.len().min(most - told)];
        told += page.len();
        if args.json {
            page.iter().try_for_each(|post| context.json_line(post))?;
        } else {
            table.extend(rows(page, row));
        }
    }
    if args.json {
        return Ok(());
    }
    context.list(false, &[], &["id", "source", "published", "title", "url"], table, "no posts")?;
    if cut || pages.has_more() {
        writeln!(context.out, "the newest {told}; --limit 0 lists all")?;
    }
    Ok(())
}

fn row(post: &Value) -> Vec<String> {
    let title = match text(post, "title").as_str() {
        "-" => text(post, "body"),
        title => title.to_owned(),
    };
    let numbers = ["id", "source_id"].map(|field| text(post, field));
    let rest = [when(post, "published_at"), shortened(&title, 80), text(post, "url")];
    [numbers.to_vec(), rest.to_vec()].concat()
}

/// One post, as people read it. Control characters in it cannot play tricks.
fn whole(post: &Value, context: &mut Context<'_>) -> Result<(), Failure> {
    writeln!(context.out, "{}", context.paint.bold(text(post, "title")))?;
    for field in ["url", "author", "published_at"] {
        match text(post, field).as_str() {
            "-" => {}
            value => writeln!(context.out, "{value}")?,
        }
    }
    writeln!(context.out)?;
    for line in post["body"].as_str().unwrap_or_default().lines() {
        writeln!(context.out, "{}", shortened(line, usize::MAX))?;
    }
    Ok(())
}

/// A time as people give it: a moment, a day, or how long ago.
pub(super) fn time(given: &str, now: Time) -> Result<Time, Failure> {
    let ago = |suffix: char, unit: fn(u64) -> Span| {
        let count = given.strip_suffix(suffix)?.parse().ok()?;
        Some(Time::from_millis(now.as_millis().saturating_sub_unsigned(unit(count).as_millis())))
    };
    Time::parse(given)
        .or_else(|| Time::parse(&format!("{given}T00:00:00Z")))
        .or_else(|| ago('m', Span::from_mins))
        .or_else(|| ago('h', Span::from_hours))
        .or_else(|| ago('d', Span::from_days))
        .ok_or_else(|| {
            let forms = "2026-11-15, 2026-11-15T08:00:00Z, 90m, 12h or 7d";
            Failure::Usage(format!("--since {given}: it is a time such as {forms}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_given_as_people_do() {
        let now = Time::parse("2026-11-15T12:00:00Z").unwrap();
        for (given, expected) in [
            ("2026-11-14", "2026-11-14T00:00:00Z"),
            ("2026-11-14T08:30:00Z", "2026-11-14T08:30:00Z"),
            ("90m", "2026-11-15T10:30:00Z"),
            ("12h", "2026-11-15T00:00:00Z"),
            ("7d", "2026-11-08T12:00:00Z"),
        ] {
            assert_eq!(time(given, now).unwrap(), Time::parse(expected).unwrap(), "{given}");
        }
        for wrong in ["", "d", "yesterday", "7w", "-3h", "2026-13-01"] {
            assert!(time(wrong, now).is_err(), "{wrong}");
        }
        assert!(time("18446744073709551615d", now).is_ok(), "long ago");
    }
}
