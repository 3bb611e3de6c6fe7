//! Sources, events and housekeeping, as they go into a store and come out of it.

use gleaner_core::adaptive::Habit;
use gleaner_core::elsewhere::Elsewhere;
use gleaner_core::follow::PageCounts;
use gleaner_core::health::{Decision, Health, Status};
use gleaner_core::link;
use gleaner_core::outcome::ErrorKind;
use gleaner_core::post::ContentHash;
use gleaner_core::schedule::Hints;
use gleaner_core::source::Kind;
use gleaner_core::suspect::Suspected;
use gleaner_core::time::Time;

use super::{NewAudit, Visibility};

pub use crate::event_payload::NewEvent;
pub use crate::source_fields::SourceSettings;
pub use gleaner_core::redraw::Spread;

/// The host that asks for a source, as work is grouped by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostKey {
    /// The name; empty where the URL has none.
    pub name: String,
    /// Which of the host's slots, where it may be asked several times at once.
    pub slot: u32,
}

/// A source to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSource {
    pub settings: SourceSettings,
    /// [`gleaner_core::link::canonical`] of its URL: unique in a collection.
    pub canonical_url: String,
    pub host: HostKey,
    /// Pending, or disabled or quarantined from the beginning.
    pub health: Health,
    /// First poll; none if it is disabled, or quarantined until a person ends that.
    pub next_poll_at: Option<Time>,
}

/// What became of a source to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It is new, under this id.
    New(i64),
    /// The collection has that URL already, under this id.
    Exists(i64),
}

impl Created {
    /// The id, whether new or not.
    pub const fn id(self) -> i64 {
        match self {
            Self::New(id) | Self::Exists(id) => id,
        }
    }
}

/// A source as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub id: i64,
    /// What a person says about it.
    pub settings: SourceSettings,
    pub health: Health,
    /// Its next poll; none: disabled, or set aside until a person comes.
    pub next_poll_at: Option<Time>,
    /// What its server said.
    pub memory: Memory,
    /// What it is suspected of, though it answers.
    pub suspect: Option<Suspected>,
    /// What it is suspected of, because its article pages fail.
    pub pages_suspect: Option<Suspected>,
    /// Its article pages that wait, failed or were given up.
    pub pages: PageCounts,
    /// Of a dead feed: where it may be now.
    pub elsewhere: Option<Elsewhere>,
    /// The name of its host.
    pub host: String,
    /// Which of the host's slots asks for it.
    pub slot: u32,
    /// Counts edits.
    pub version: i64,
    /// Raised by edits: a poll under an older one is discarded.
    pub fence: i64,
    pub created_at: Time,
    /// When a person last changed it.
    pub updated_at: Time,
}

/// What is remembered of a source's server, and written only by a poll that read a document or found an account.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// `ETag`, byte for byte.
    pub etag: Option<Vec<u8>>,
    /// `Last-Modified`, byte for byte.
    pub last_modified: Option<Vec<u8>>,
    /// A hash of the latest body.
    pub body_hash: Option<i64>,
    /// Which version of the reader made something of it; what another one remembers is not used.
    pub reader_version: Option<i64>,
    /// Its word on when to come back.
    pub hints: Hints,
    /// A permanent redirect under observation, as JSON.
    pub redirect: Option<String>,
    /// Where a timeline was read up to, as JSON.
    pub cursor: Option<String>,
    /// Under the interval `auto`: what the source is wont to publish.
    pub habit: Option<AdaptiveState>,
}

/// What a source is wont to publish, as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveState {
    pub habit: Habit,
    /// Which class of sources that makes it, as [`gleaner_core::adaptive::Budget::class`] has it.
    pub class: u8,
}

/// A filter of sources; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceFilter {
    /// Of this status, by name.
    pub status: Option<Status>,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// In this collection.
    pub collection_id: Option<i64>,
    /// On this host.
    pub host: Option<String>,
    /// With this text in URL or name.
    pub text: Option<String>,
    /// Enabled and not cooling down at that time.
    pub active_at: Option<Time>,
    /// Not polled until a person comes, and it was no person who said so.
    pub waits_for_person: bool,
    /// Failing, set aside or disabled, and this was the last error.
    pub error: Option<ErrorKind>,
    /// Suspected of something.
    pub suspect: bool,
    /// Going by this policy.
    pub goes_by_policy: Option<PolicyFilter>,
    /// In collections that may be seen.
    pub visibility: Visibility,
}

/// The sources that go by a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFilter {
    /// Those that name it.
    pub name: String,
    /// And, where it is the default, those that name none of these.
    pub unless: Option<Vec<String>>,
}

/// A change to a source: settings, state, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceEdit {
    pub id: i64,
    /// The version that was read; another one: somebody was faster.
    pub version: i64,
    /// The fence that was read, where the state is changed from what it said.
    pub fence: i64,
    /// The latest poll when it was read; another one: its state is no longer what was read.
    pub polled_at: Option<Time>,
    /// What a person says now.
    pub settings: SourceSettings,
    /// See [`NewSource::canonical_url`].
    pub canonical_url: String,
    /// Who asks now.
    pub host: HostKey,
    pub health: Health,
    pub next_poll_at: Option<Time>,
    /// Whether validators and cursor are dropped, because they speak of something else now.
    pub forget: bool,
    /// Events to write with it.
    pub events: Vec<NewEvent>,
    /// What the audit log says of it.
    pub audit: Option<NewAudit>,
}

impl SourceEdit {
    /// An edit of a source as it was read, that changes nothing yet.
    pub fn of(source: &Source) -> Self {
        Self {
            id: source.id,
            version: source.version,
            fence: source.fence,
            polled_at: source.health.last_polled_at,
            settings: source.settings.clone(),
            canonical_url: link::canonical(&source.settings.url),
            host: HostKey { name: source.host.clone(), slot: source.slot },
            health: source.health.clone(),
            next_poll_at: source.next_poll_at,
            forget: false,
            events: Vec::new(),
            audit: None,
        }
    }

    /// The same with what was decided about the source, and the word of it.
    #[must_use]
    pub fn deciding(self, decision: Decision) -> Self {
        let events = NewEvent::of_decision(self.id, &self.settings.url, &decision);
        Self { next_poll_at: decision.next.map(|next| next.at), events, health: decision.health, ..self }
    }
}

/// An event as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Stable, and the same in every channel.
    pub id: i64,
    /// Its place in the stream; none: not numbered yet.
    pub seq: Option<i64>,
    pub event: NewEvent,
    pub created_at: Time,
}

/// What retention deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleanup {
    /// Unprocessed articles published before; none: all are kept.
    pub articles_before: Option<Time>,
    /// Posts of no article stored before; none: all are kept.
    pub posts_before: Option<Time>,
    /// Remembered entries that left their document before.
    pub seen_before: Time,
    /// Poll rows whose latest poll was before.
    pub polls_before: Time,
    /// How many poll rows a source keeps.
    pub polls_per_source: u32,
    /// Activity of hours before.
    pub activity_before: Time,
    /// Article pages that were given up before.
    pub pages_before: Time,
    /// Events and deliveries from before.
    pub events_before: Time,
    /// Rows of the audit log from before.
    pub audit_before: Time,
    /// Maximum number of rows of each table in one transaction.
    pub batch: u32,
}

/// What retention deleted, by table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanupCounts {
    pub articles: u64,
    pub posts: u64,
    /// Remembered entries.
    pub seen: u64,
    pub polls: u64,
    pub events: u64,
    /// Rows of webhooks' logs.
    pub deliveries: u64,
    /// Rows of the audit log.
    pub audit: u64,
    /// Article pages that were given up.
    pub pages: u64,
    /// Whether another batch is left.
    pub more: bool,
}

/// The hash of a post, from what a database holds.
pub(super) fn stored_hash(bytes: Vec<u8>) -> ContentHash {
    ContentHash(<[u8; 32]>::try_from(bytes).unwrap_or_default())
}
