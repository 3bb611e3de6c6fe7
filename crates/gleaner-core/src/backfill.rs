//! Which of the entries that a document already has are stored by the first successful poll of a source.

use std::cmp::Reverse;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::identity::{EntryVerdict, Filter, Sifted};
use crate::time::Time;

/// Maximum number of entries that the first poll stores under [`Backfill::Recent`].
pub const RECENT_ENTRIES: u32 = 10;

/// Existing entries that the first poll stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backfill {
    /// None: only entries published after the source was created, and entries without a date.
    #[default]
    None,
    /// Up to [`RECENT_ENTRIES`] of the newest, none older than the maximum age.
    Recent,
    /// All, of any age.
    All,
}

/// A text that is not the name of a [`Backfill`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not one of none, recent, all")]
pub struct UnknownBackfill(pub String);

impl Backfill {
    /// Every choice.
    pub const CHOICES: [Backfill; 3] = [Self::None, Self::Recent, Self::All];

    /// The name in database, API and command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Recent => "recent",
            Self::All => "all",
        }
    }
}

impl Backfill {
    /// What the first poll stores, for people.
    pub const fn description(self) -> &'static str {
        match self {
            Self::None => "only entries published from now on",
            Self::Recent => "up to 10 recent entries each",
            Self::All => "all existing entries",
        }
    }
}

impl FromStr for Backfill {
    type Err = UnknownBackfill;

    fn from_str(name: &str) -> Result<Self, UnknownBackfill> {
        let found = Self::CHOICES.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| UnknownBackfill(name.chars().take(60).collect()))
    }
}

/// Keeps the newest of the new entries where the filter limits their number; the rest is remembered as seen, and counted
/// as `beyond_recent`. An entry without a date counts as published with the entry above it in the document. The order of
/// the document is kept.
#[must_use]
pub fn keep_recent(mut sifted: Sifted, filter: &Filter) -> Sifted {
    let Some(limit) = filter.at_most.map(|limit| limit as usize) else { return sifted };
    if sifted.new.len() <= limit {
        return sifted;
    }
    let mut above = sifted.new.iter().find_map(|(post, _)| post.published_at).unwrap_or(Time::from_millis(0));
    let mut newest: Vec<(Reverse<Time>, usize)> = Vec::with_capacity(sifted.new.len());
    for (place, (post, _)) in sifted.new.iter().enumerate() {
        above = post.published_at.unwrap_or(above);
        newest.push((Reverse(above), place));
    }
    newest.sort_unstable();
    let mut kept = vec![false; newest.len()];
    for (_, place) in newest.into_iter().take(limit) {
        if let Some(kept) = kept.get_mut(place) {
            *kept = true;
        }
    }
    // New entries and their verdicts stand in the same order.
    let mut verdicts = sifted.verdicts.iter_mut().filter(|verdict| **verdict == EntryVerdict::New);
    for ((post, seen), kept) in std::mem::take(&mut sifted.new).into_iter().zip(kept) {
        let verdict = verdicts.next();
        if kept {
            sifted.new.push((post, seen));
            continue;
        }
        sifted.remember.push(seen);
        sifted.skipped.beyond_recent += 1;
        if let Some(verdict) = verdict {
            *verdict = EntryVerdict::BeyondRecent;
        }
    }
    sifted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::sift;
    use crate::post::Entry;
    use crate::time::Span;

    fn entry(name: &str, hours_ago: Option<u64>) -> Entry {
        let published_at = hours_ago.map(|hours| now() - Span::from_hours(hours));
        Entry {
            guid: Some(name.to_owned()),
            title: Some(name.to_owned()),
            raw_content: Some(format!("text of {name}")),
            published_at,
            ..Entry::default()
        }
    }

    fn now() -> Time {
        Time::from_millis(1_790_000_000_000)
    }

    fn kept(entries: Vec<Entry>, filter: &Filter) -> (Vec<String>, u32, usize) {
        let text = |entry: &Entry| entry.raw_content.clone().unwrap_or_default();
        let sifted = keep_recent(sift(entries, &[], filter, true, now(), text), filter);
        let names = sifted.new.into_iter().map(|(post, _)| post.guid).collect();
        (names, sifted.skipped.beyond_recent, sifted.remember.len())
    }

    fn recent() -> Filter {
        Filter::new(now(), Some(Span::from_days(7)), true, Backfill::Recent, now())
    }

    #[test]
    fn the_newest_are_kept_in_the_order_of_the_document() {
        // Oldest first, as some feeds have it.
        let entries = (1..=25_u64).rev().map(|hours| entry(&format!("{hours}"), Some(hours))).collect();
        let (names, beyond, remembered) = kept(entries, &recent());
        assert_eq!(names, ["10", "9", "8", "7", "6", "5", "4", "3", "2", "1"]);
        assert_eq!((beyond, remembered), (15, 15), "the rest is seen, and counted");
    }

    #[test]
    fn entries_without_a_date_go_by_their_place() {
        let entries = (1..=25).map(|n| entry(&format!("{n}"), None)).collect();
        assert_eq!(kept(entries, &recent()).0, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
        let mut mixed: Vec<Entry> = (1..=10).map(|hours| entry(&format!("{hours}"), Some(hours))).collect();
        mixed.insert(2, entry("undated", None));
        mixed.push(entry("last", None));
        let names = kept(mixed, &recent()).0;
        assert!(names.contains(&"undated".to_owned()) && !names.contains(&"last".to_owned()), "{names:?}");
    }

    #[test]
    fn nothing_older_than_the_maximum_age_is_recent() {
        let (names, beyond, remembered) =
            kept(vec![entry("new", Some(1)), entry("old", Some(200))], &recent());
        assert_eq!((names, beyond, remembered), (vec!["new".to_owned()], 0, 1));
    }

    #[test]
    fn later_polls_and_other_choices_have_no_limit() {
        let all =
            |filter: &Filter| kept((1..=25).map(|n| entry(&format!("{n}"), None)).collect(), filter).0.len();
        let max_age = Some(Span::from_days(7));
        assert_eq!(all(&Filter::new(now(), max_age, false, Backfill::Recent, now())), 25);
        assert_eq!(all(&Filter::new(now(), max_age, true, Backfill::All, now())), 25);
        assert_eq!(all(&Filter::new(now(), max_age, true, Backfill::None, now())), 25);
    }

    #[test]
    fn names_are_read_back() {
        for choice in Backfill::CHOICES {
            assert_eq!(choice.name().parse(), Ok(choice));
        }
        assert!("true".parse::<Backfill>().is_err());
    }
}
