//! Sources as lists show them: nothing that only polls need, and texts where the database put them.

use std::borrow::Cow;

use gleaner_core::backfill::Backfill;
use gleaner_core::elsewhere::Elsewhere;
use gleaner_core::health::Health;
use gleaner_core::source::{Duplicates, Interval, Kind};
use gleaner_core::suspect::Suspected;
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Deserializer, Serialize};

use super::Source;
use super::packed::{elsewhere, health, suspected};
use crate::source_fields::StoredValue;

/// What is done with each source of a list, in turn.
pub type Show<'s> = &'s mut (dyn FnMut(Listed<'_>) + Send);

/// What lists show of a source. Its fields are in the order of the database's columns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Listed<'a> {
    /// Its id.
    pub id: i64,
    /// What is polled.
    #[serde(borrow)]
    pub url: Text<'a>,
    /// What it is.
    pub kind: Kind,
    /// What people call it.
    pub name: Option<Text<'a>>,
    /// The collection it belongs to.
    pub collection_id: i64,
    /// How often it is polled.
    #[serde(deserialize_with = "interval")]
    pub interval: Interval,
    /// The pause after it.
    #[serde(deserialize_with = "seconds")]
    pub poll_delay: Option<Span>,
    /// Which links of a watchlist are followed.
    pub article_selector: Option<Text<'a>>,
    /// What of a website always changes and is left out.
    pub ignore_selector: Option<Text<'a>>,
    /// Whether each new entry's page is fetched.
    #[serde(deserialize_with = "StoredValue::decode")]
    pub full_content: bool,
    /// Existing entries that the first poll stores.
    pub backfill: Backfill,
    /// Its own policy.
    pub policy: Option<Text<'a>>,
    /// Which of its entries are duplicates.
    pub duplicates: Option<Duplicates>,
    /// The latest poll.
    #[serde(deserialize_with = "opt_time")]
    pub last_polled_at: Option<Time>,
    /// The latest poll that succeeded.
    #[serde(deserialize_with = "opt_time")]
    pub last_success_at: Option<Time>,
    /// Its next poll; none: disabled, or set aside until a person comes.
    #[serde(deserialize_with = "opt_time")]
    pub next_poll_at: Option<Time>,
    /// When it was added.
    #[serde(deserialize_with = "time")]
    pub created_at: Time,
    /// When a person last changed it.
    #[serde(deserialize_with = "time")]
    pub updated_at: Time,
    /// The name of its host.
    pub host: Text<'a>,
    /// Counts edits.
    pub version: i64,
    /// What it is suspected of.
    #[serde(deserialize_with = "suspected")]
    pub suspect: Option<Suspected>,
    /// Of a dead feed: where it may be now.
    #[serde(deserialize_with = "elsewhere")]
    pub elsewhere: Option<Elsewhere>,
    /// Article pages that were not fetched yet.
    pub pages_waiting: i64,
    /// Article pages that failed and are tried again.
    pub pages_failed: i64,
    /// Article pages that were given up.
    pub pages_given_up: i64,
    /// What is held against it; none: all is well.
    #[serde(deserialize_with = "health")]
    pub health: Option<Health>,
}

/// A text that stays where it is, unless something is escaped in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl From<Source> for Listed<'_> {
    fn from(source: Source) -> Self {
        let Source { id, settings, health, next_poll_at, suspect, pages_suspect, pages, .. } = source;
        let Source { elsewhere, host, version, .. } = source;
        let (created_at, updated_at) = (source.created_at, source.updated_at);
        Self {
            id,
            url: settings.url.into(),
            kind: settings.kind,
            name: settings.name.map(Text::from),
            collection_id: settings.collection_id,
            interval: settings.interval,
            poll_delay: settings.poll_delay,
            article_selector: settings.article_selector.map(Text::from),
            ignore_selector: settings.ignore_selector.map(Text::from),
            full_content: settings.full_content,
            backfill: settings.backfill,
            policy: settings.policy.map(Text::from),
            duplicates: settings.duplicates,
            last_polled_at: health.last_polled_at,
            last_success_at: health.last_success_at,
            next_poll_at,
            created_at,
            updated_at,
            host: host.into(),
            version,
            suspect: suspect.or(pages_suspect),
            elsewhere,
            pages_waiting: pages.waiting.into(),
            pages_failed: pages.failed.into(),
            pages_given_up: pages.given_up.into(),
            health: Some(health),
        }
    }
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
    i64::deserialize(from).map(Time::from_millis)
}

fn opt_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Time>, D::Error> {
    Ok(Option::<i64>::deserialize(from)?.map(Time::from_millis))
}

fn interval<'de, D: Deserializer<'de>>(from: D) -> Result<Interval, D::Error> {
    Option::<i64>::deserialize(from).map(Interval::from_stored)
}

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Span>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(Span::from_secs))
}
