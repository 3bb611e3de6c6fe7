//! What a person says about a source, and what it resolves to.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::schedule::SHORTEST_INTERVAL;
use crate::time::Span;

/// Longest interval between two polls that can be set, for one source or as the default of all.
pub const LONGEST_INTERVAL: Span = Span::from_days(365);
/// Longest pause after a source that can be set, for one source, a kind or a host.
pub const LONGEST_POLL_DELAY: Span = Span::from_days(1);

/// What a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// RSS, Atom or JSON Feed.
    #[serde(alias = "rss", alias = "atom")]
    Feed,
    /// One page whose content changes.
    Website,
    /// An index page whose links are followed.
    Watchlist,
    /// A timeline on X.
    #[serde(alias = "twitter")]
    X,
}

/// A name that is no kind of source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no kind of source; there are feed, website, watchlist, x")]
pub struct UnknownSourceKind(pub String);

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Self::Feed, Self::Website, Self::Watchlist, Self::X];

    /// The name in database, API and config.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feed => "feed",
            Self::Website => "website",
            Self::Watchlist => "watchlist",
            Self::X => "x",
        }
    }
}

impl FromStr for Kind {
    type Err = UnknownSourceKind;
    fn from_str(name: &str) -> Result<Self, UnknownSourceKind> {
        match name {
            "rss" | "atom" => Ok(Self::Feed),
            "twitter" => Ok(Self::X),
            _ => Self::ALL
                .into_iter()
                .find(|kind| kind.name() == name)
                .ok_or_else(|| UnknownSourceKind(name.to_owned())),
        }
    }
}

/// Which entries of a source are duplicates, and not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// Copies of an entry: the same title, text and date.
    #[default]
    Entry,
    /// Whatever has the text of another entry.
    Content,
}

/// A name that is no rule of what is a duplicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no rule of what is a duplicate; there are entry, content")]
pub struct UnknownDuplicates(pub String);

impl Duplicates {
    /// Every rule.
    pub const ALL: [Duplicates; 2] = [Self::Entry, Self::Content];

    /// The name in database, API and config.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Content => "content",
        }
    }
}

impl FromStr for Duplicates {
    type Err = UnknownDuplicates;
    fn from_str(name: &str) -> Result<Self, UnknownDuplicates> {
        let of_name = Self::ALL.into_iter().find(|rule| rule.name() == name);
        of_name.ok_or_else(|| UnknownDuplicates(name.to_owned()))
    }
}

/// How often a source is polled, as a person set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interval {
    /// As config says.
    #[default]
    Default,
    /// Every so many minutes.
    Minutes(u32),
    /// By the source's own habit.
    Auto,
}

impl Interval {
    /// The interval to go by: the default where the source has none of its own, and never below a minute.
    pub fn resolve(self, default: Span) -> Span {
        match self {
            Self::Minutes(minutes) => Span::from_mins(minutes.into()),
            Self::Default | Self::Auto => default,
        }
        .max(SHORTEST_INTERVAL)
    }

    /// As stored: none for the default, 0 for auto.
    pub const fn to_stored(self) -> Option<i64> {
        match self {
            Self::Default => None,
            Self::Minutes(minutes) => Some(minutes as i64),
            Self::Auto => Some(0),
        }
    }

    /// As stored; what is out of range is the nearest that is not.
    pub fn from_stored(stored: Option<i64>) -> Self {
        match stored {
            None => Self::Default,
            Some(minutes) if minutes <= 0 => Self::Auto,
            Some(minutes) => Self::Minutes(u32::try_from(minutes).unwrap_or(u32::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_programs_are_understood() {
        for (name, kind) in [("rss", Kind::Feed), ("atom", Kind::Feed), ("twitter", Kind::X), ("x", Kind::X)]
        {
            assert_eq!(name.parse::<Kind>().unwrap(), kind);
            assert_eq!(serde_json::from_str::<Kind>(&format!("\"{name}\"")).unwrap(), kind);
        }
        assert_eq!(
            "podcast".parse::<Kind>().unwrap_err().to_string(),
            "'podcast' is no kind of source; there are feed, website, watchlist, x"
        );
    }

    #[test]
    fn intervals_have_a_floor() {
        let default = Span::from_mins(30);
        assert_eq!(Interval::Default.resolve(default), default);
        assert_eq!(Interval::Minutes(0).resolve(default), SHORTEST_INTERVAL);
        for interval in [Interval::Default, Interval::Auto, Interval::Minutes(7), Interval::Minutes(u32::MAX)]
        {
            assert_eq!(Interval::from_stored(interval.to_stored()), interval);
        }
    }
}
