//! Events, in the order in which they are published.

use std::collections::HashMap;

use async_trait::async_trait;
use gleaner_core::time::Time;

use super::{Event, NewEvent, Post, Result, Visibility};

pub use crate::event_payload::POSTS_PER_EVENT;

/// Events: written in the transaction of what they report, numbered after its commit, read by number.
#[async_trait]
pub trait Events: Send + Sync {
    /// Writes events that belong to no other transaction.
    async fn append_events(&self, events: &[NewEvent], now: Time) -> Result<()>;

    /// Numbers committed events that have no number yet; returns how many. Whoever sees a number sees all before it.
    async fn number_events(&self, limit: u32) -> Result<u64>;

    /// Lists numbered events after that number.
    async fn events(&self, after_seq: i64, limit: u32) -> Result<Vec<Event>> {
        self.list_events(&EventFilter::default(), EventCursor::After(after_seq), limit).await
    }

    /// Lists numbered events that match a filter.
    async fn list_events(&self, filter: &EventFilter, from: EventCursor, limit: u32) -> Result<Vec<Event>>;

    /// Returns the range of numbers that are kept.
    async fn kept_events(&self) -> Result<EventRange>;

    /// Returns the fields of posts that events report; deleted posts are left out.
    async fn post_heads(&self, ids: &[i64]) -> Result<HashMap<i64, PostHead>>;

    /// Returns the fields of sources that events report; deleted sources are left out.
    async fn source_names(&self, ids: &[i64]) -> Result<HashMap<i64, SourceName>>;

    /// Lists the latest posts of a collection, newest first.
    async fn latest_posts(&self, collection_id: i64, limit: u32) -> Result<Vec<Post>>;
}

/// Where to read events from, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventCursor {
    /// After this number, the oldest first.
    After(i64),
    /// Before this number, the newest first.
    Before(i64),
}

/// A filter of events; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    /// Of one of these types; empty: of all.
    pub kinds: Vec<KindPattern>,
    /// About this source.
    pub source_id: Option<i64>,
    /// About what may be seen.
    pub visibility: Visibility,
}

/// Every type of events.
pub const EVENT_KINDS: [&str; 24] = [
    "post.created",
    "post.updated",
    "source.failing",
    "source.quarantined",
    "source.recovered",
    "source.disabled",
    "source.enabled",
    "source.dormant",
    "source.excused",
    "source.suspect",
    "source.cleared",
    "source.proposal",
    "source.moved",
    "source.move_refused",
    "page.given_up",
    "host.down",
    "host.back",
    "host.given_up",
    "host.paced",
    "network.down",
    "network.back",
    "import.finished",
    "webhook.failing",
    "webhook.recovered",
];

/// A type of events, or all that begin alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindPattern {
    /// This one: `source.failing`.
    Is(String),
    /// These: `source.` for `source.*`.
    Begins(String),
}

impl KindPattern {
    /// Reads `source.failing` or `source.*`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        match text.split_once('.') {
            _ if text.len() > 64 => None,
            Some((area, "*")) if is_word(area) => Some(Self::Begins(format!("{area}."))),
            Some((area, what)) if is_word(area) && is_word(what) => Some(Self::Is(text.to_owned())),
            _ => None,
        }
    }

    /// Whether there is an event of such a type.
    pub fn is_known(&self) -> bool {
        EVENT_KINDS.iter().any(|kind| self.fits(kind))
    }

    /// The type or family that is most like a text, if any is.
    pub fn nearest(text: &str) -> Option<String> {
        let families = EVENT_KINDS.iter().filter_map(|kind| Some(format!("{}.*", kind.split_once('.')?.0)));
        let all = families.chain(EVENT_KINDS.iter().map(|kind| (*kind).to_owned()));
        let scored = all.map(|known| (strsim::jaro_winkler(&known, text), known));
        scored.filter(|(score, _)| *score >= 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
    }

    /// Whether a type is meant.
    pub fn fits(&self, kind: &str) -> bool {
        match self {
            Self::Is(name) => kind == name,
            Self::Begins(start) => kind.starts_with(start.as_str()),
        }
    }
}

/// The range of event numbers that are kept; empty where `first > last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRange {
    /// The oldest event that is still there.
    pub first: i64,
    /// The latest number that was given.
    pub last: i64,
}

/// The fields of a post that events report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostHead {
    pub id: i64,
    /// Cut to 500 characters.
    pub title: Option<String>,
    /// None where it is longer than 4096 characters.
    pub url: Option<String>,
    /// Cut to 500 characters.
    pub author: Option<String>,
    pub published_at: Option<Time>,
    /// Counts changes.
    pub revision: i64,
}

/// The fields of a source that events report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceName {
    pub collection_id: i64,
    pub url: String,
    pub name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_types_or_beginnings() {
        let fits = |pattern: &str, kind: &str| KindPattern::parse(pattern).map(|pattern| pattern.fits(kind));
        assert_eq!(fits("source.*", "source.failing"), Some(true));
        assert_eq!(fits("source.*", "sources.failing"), Some(false));
        assert_eq!(fits("post.created", "post.created"), Some(true));
        assert_eq!(fits("post.created", "post.updated"), Some(false));
        assert!(
            KindPattern::parse("post.*").unwrap().is_known()
                && !KindPattern::parse("psot.*").unwrap().is_known()
        );
        for (typed, meant) in
            [("psot.*", "post.*"), ("post.create", "post.created"), ("sources.*", "source.*")]
        {
            assert_eq!(KindPattern::nearest(typed).as_deref(), Some(meant));
        }
        assert_eq!(KindPattern::nearest("zzz.qqq"), None);
        for wrong in ["", "*", "source", "source.", ".*", "Source.*", "a.b.c", "a.b%", "source.fail*"] {
            assert_eq!(KindPattern::parse(wrong), None, "{wrong}");
        }
    }
}

#[cfg(test)]
mod listed_kinds {
    use std::path::{Path, PathBuf};

    use super::EVENT_KINDS;

    fn files(directory: PathBuf) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(path) } else { vec![path] }).collect()
    }

    /// A webhook or a filter that names a type which is not listed is refused.
    #[test]
    fn every_type_of_events_in_the_code_is_listed() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let areas: Vec<String> =
            EVENT_KINDS.iter().map(|kind| format!("{}.", kind.split('.').next().unwrap())).collect();
        let mut missing = Vec::new();
        for file in
            files(crates.join("gleaner/src")).into_iter().chain(files(crates.join("gleaner-core/src")))
        {
            // Settings begin with `source.`, too; tests name types that do not exist.
            let name = file.display().to_string();
            if name.contains("/config/")
                || name.contains("source_fields")
                || name.contains("test")
                || !name.ends_with(".rs")
            {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let pieces: Vec<&str> = code.split('"').collect();
            for pair in pieces.chunks_exact(2) {
                let (before, literal) = (pair[0], pair[1]);
                // Rows of the audit log have names of their own.
                if ["audit(", "audited(", "audit_entry(", "action != "]
                    .iter()
                    .any(|end| before.ends_with(end))
                {
                    continue;
                }
                let word = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
                let named =
                    areas.iter().any(|area| literal.len() > area.len() && literal.starts_with(area.as_str()));
                // A manual test of one webhook is no event.
                let is_other =
                    literal.ends_with(".js") || literal.ends_with(".html") || literal == "webhook.test";
                if named && !is_other && literal.chars().all(word) && !EVENT_KINDS.contains(&literal) {
                    missing.push(format!("{name}: {literal}"));
                }
            }
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }
}
