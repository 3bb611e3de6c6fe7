//! Converts parsed feeds to entries and hints.

use gleaner_core::classify::Fault;
use gleaner_core::post::Entry;
use gleaner_core::schedule::{Hints, WINDOW_ENTRIES};
use gleaner_core::time::{Span, Time};
use gleaner_feed::{Options, Text, TextKind};

use super::text::escape;
use super::{Document, MissingEntries, Page, ReadOptions, page_summary};

/// The `Accept` header for feeds.
pub const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/feed+json, \
    application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.5";

pub fn read(page: &Page<'_>, _: &ReadOptions<'_>) -> Result<Document, Fault> {
    let content_type = std::str::from_utf8(page.content_type).ok();
    let options = Options { content_type, url: Some(page.url.as_str()), ..Options::default() };
    let feed = gleaner_feed::parse(page.body, &options).map_err(|error| {
        let wall = page_summary::bot_wall(page).map(|wall| wall.message("feed"));
        Fault::Unreadable(wall.unwrap_or_else(|| error.to_string()))
    })?;
    let missing_entries = match feed.repairs {
        repairs if repairs.truncated => Some(MissingEntries::Truncated),
        repairs if repairs.entries_dropped => Some(MissingEntries::TooManyEntries),
        _ => None,
    };
    let hints = hints(&feed);
    let title = feed.title.as_ref().map(Text::plain).filter(|title| !title.is_empty());
    Ok(Document { title, hints, missing_entries, entries: feed.entries.into_iter().map(entry).collect() })
}

fn entry(entry: gleaner_feed::Entry) -> Entry {
    let published_at = published(&entry);
    let url = entry.url().map(str::to_owned);
    let author = entry.author().map(str::to_owned);
    let content = entry.content.map(|content| content.text).filter(|text| !text.is_blank()).or(entry.summary);
    Entry {
        guid: entry.id.map(String::from),
        url,
        title: entry.title.as_ref().map(Text::plain).filter(|title| !title.is_empty()),
        raw_content: content.map(to_html),
        author,
        published_at,
        shares_url: false,
    }
}

/// When an entry was published, or else last changed. The Unix epoch is not a date: otherwise every entry of such a
/// feed would be too old to store.
fn published(entry: &gleaner_feed::Entry) -> Option<Time> {
    let mut dates = [entry.published, entry.updated].into_iter().flatten().map(Time::from_millis);
    dates.find(|date| !date.is_clock_epoch())
}

/// Converts to HTML; plain text is escaped.
fn to_html(text: Text) -> String {
    match text.kind {
        TextKind::Plain if text.value.contains(['<', '>', '&']) => escape(&text.value),
        _ => text.value.into_string(),
    }
}

fn hints(feed: &gleaner_feed::Feed) -> Hints {
    let schedule = &feed.schedule;
    let dates = || feed.entries.iter().filter_map(published);
    let dated = dates().count() >= WINDOW_ENTRIES;
    Hints {
        ttl: schedule.ttl_minutes.map(|minutes| Span::from_mins(minutes.into())),
        update_period: schedule.update_interval().map(|seconds| Span::from_secs(seconds.into())),
        skip_hours: schedule.skip_hours.iter().map(|hour| 1 << hour).sum(),
        skip_days: schedule.skip_days.iter().map(|day| 1 << day).sum(),
        oldest_entry: dates().min().filter(|_| dated),
        ..Hints::NONE
    }
}
