//! Claims of due work, commits of polls, and pages to be fetched.

use gleaner_core::elsewhere::Elsewhere;
use gleaner_core::follow::PageState;
use gleaner_core::health::Health;
use gleaner_core::identity::{Seen, Skipped};
use gleaner_core::incident::TakenBack;
use gleaner_core::judgement::{self, Excuse, HostMemory};
use gleaner_core::outcome::ErrorKind;
use gleaner_core::pacing::Success;
use gleaner_core::post::NewPost;
use gleaner_core::redirect::Redirect;
use gleaner_core::source::Kind;
use gleaner_core::suspect;
use gleaner_core::time::{Span, Time};

use super::{HostKey, Memory, NewEvent, Source};

/// What to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    pub now: Time,
    /// How long the lease lasts without a heartbeat.
    pub lease: Span,
    /// Who claims.
    pub owner: String,
    /// Maximum number of hosts.
    pub hosts: u32,
    /// Maximum of them that are not quick.
    pub slow_hosts: u32,
    /// Maximum number of sources of each host.
    pub per_host: u32,
    /// Which due work is claimed.
    pub scope: ClaimScope,
}

impl ClaimRequest {
    /// Claims all due work of that many hosts, quick or not.
    pub fn all(now: Time, lease: Span, owner: impl Into<String>, hosts: u32, per_host: u32) -> Self {
        let (owner, scope) = (owner.into(), ClaimScope::All);
        Self { now, lease, owner, hosts, slow_hosts: hosts, per_host, scope }
    }
}

/// Which due work a claim is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimScope {
    /// All of it, longest due first.
    #[default]
    All,
    /// A probe of the local network: hosts and sources that worked, latest success first.
    Probe,
}

/// A leased host with its due work.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub lease: Lease,
    /// The host's name.
    pub host: String,
    /// None of its sources is fetched before.
    pub hold_until: Option<Time>,
    /// What is known of its incidents and pacing.
    pub memory: HostMemory,
    /// Its latest response came quickly.
    pub quick: bool,
    /// How many of its sources are polled, counted up to three.
    pub host_sources: u32,
    /// Due sources, longest due first.
    pub sources: Vec<Source>,
    /// Due pages.
    pub articles: Vec<ArticleWork>,
}

/// Whether a source may be polled manually.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollHold {
    pub source_id: i64,
    /// Whether it is enabled.
    pub enabled: bool,
    pub host: String,
    /// Neither it nor its host may be polled before.
    pub until: Option<Time>,
}

/// A claim of a host; a later claim raises the fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub host_id: i64,
    /// The host's fence when it was claimed.
    pub fence: i64,
}

/// The end of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    pub lease: Lease,
    /// The end of the delay after the latest request: the host is not fetched before.
    pub delay_until: Option<Time>,
    /// The latest success under this lease.
    pub served: Option<Success>,
    /// Whether the latest response came quickly; none: as before.
    pub quick: Option<bool>,
}

impl Release {
    /// Ends a lease and changes nothing else.
    pub const fn of(lease: Lease) -> Self {
        Self { lease, delay_until: None, served: None, quick: None }
    }
}

/// A verdict's effects beyond the polled source; rarely any.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostEffects {
    /// The host's memory, if it has changed.
    pub memory: Option<HostMemory>,
    /// The host is back, so that its hold ends.
    pub lift_hold: bool,
    /// Failures of other sources that were not their own. Each applies only if the source's fence and latest poll are still those
    /// that are named.
    pub taken_back: Vec<TakenBack>,
    /// Earlier failures of the source itself that are excused, too: the source, and since when.
    pub excused_since: Option<(i64, Time)>,
    /// Why they are excused, and the id of the incident or outage.
    pub excuse: Option<(Excuse, String)>,
    /// Sources of the host to be spread.
    pub release: Option<judgement::Release>,
}

/// All that a poll writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The lease that it was made under.
    pub lease: Lease,
    pub source_id: i64,
    /// The source's fence when it was claimed.
    pub fence: i64,
    /// The health that it was claimed with, so that unchanged columns are not written.
    pub was: Health,
    pub health: Health,
    pub next_poll_at: Option<Time>,
    /// The host is not fetched before.
    pub host_hold_until: Option<Time>,
    /// What to remember of the server; none: no change.
    pub memory: Option<Memory>,
    /// Where the source has moved for good.
    pub moved: Option<SourceMove>,
    /// A suspicion that begins or ends.
    pub suspect: Option<suspect::Change>,
    /// A change of what is known about the new address of a dead feed.
    pub elsewhere: Option<RelocationChange>,
    /// Posts to store.
    pub new: Vec<(NewPost, Seen)>,
    /// Posts to change.
    pub changed: Vec<(i64, NewPost, Seen)>,
    /// What to remember of other entries.
    pub remember: Vec<Seen>,
    /// What to remember of copies of new entries, each with the key of the entry whose post it shares.
    pub copies: Vec<(i64, Seen)>,
    /// Whether no two of its new posts may have the same text.
    pub unique_text: bool,
    /// Entries that the document no longer has.
    pub vanished: Vec<i64>,
    /// Pages to fetch.
    pub articles: Vec<NewArticleWork>,
    /// The row of the history.
    pub poll: PollRecord,
    /// Events, other than those of posts.
    pub events: Vec<NewEvent>,
    /// Effects beyond the source.
    pub host_effects: Option<Box<HostEffects>>,
}

/// A change of what is known about the new address of a dead feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelocationChange {
    /// The new knowledge.
    Now(Elsewhere),
    /// The feed answers again at its own address.
    Ended,
}

/// A source's new address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceMove {
    pub url: String,
    /// See [`super::NewSource::canonical_url`].
    pub canonical_url: String,
    /// The host that it is fetched from now on.
    pub host: HostKey,
    /// The URL before.
    pub from: String,
    /// Why, for people.
    pub reason: String,
    /// The observation, kept if another source of the collection has the new URL.
    pub redirect: Redirect,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Stored, with the ids of new and changed posts.
    Stored { new: Vec<i64>, changed: Vec<i64> },
    /// The lease had run out, or the source was edited or deleted meanwhile: nothing was written.
    Discarded,
}

/// One poll, for the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollRecord {
    /// When it ended.
    pub at: Time,
    /// [`gleaner_core::outcome::Outcome::name`].
    pub outcome: String,
    /// What failed.
    pub error: Option<(ErrorKind, String)>,
    /// The HTTP status.
    pub status_code: Option<u16>,
    /// How long it took.
    pub duration: Span,
    /// How many bytes came.
    pub bytes: u64,
    /// What was skipped, and why.
    pub skipped: Skipped,
    /// What was wrong with the document, though it could be read.
    pub note: Option<String>,
    /// The rule that applied.
    pub rule: Option<String>,
    /// Why the failure does not count against the source, where it does not.
    pub excused: Option<Excuse>,
    /// The id of the host incident or network outage that excuses it.
    pub excused_by: Option<String>,
}

/// A row of the history: one poll, or several unchanged ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    pub id: i64,
    /// The first of them.
    pub first_at: Time,
    pub count: i64,
    /// Posts that were new.
    pub new_posts: i64,
    /// Posts that changed.
    pub updated_posts: i64,
    /// Article pages that it queued, and what has come of them so far.
    pub pages: PollPages,
    /// The latest of them.
    pub record: PollRecord,
}

/// Article pages of one poll. New posts that come from them are among its new posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollPages {
    /// How many it queued.
    pub queued: i64,
    /// How many of them were fetched.
    pub fetched: i64,
    /// How many failed and are tried again.
    pub failed: i64,
    /// How many were given up.
    pub given_up: i64,
}

/// What a page is fetched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkPurpose {
    /// The article of an entry.
    Article,
    /// The first page of a dead feed's site, which may advertise the feed's new address.
    Relocation,
}

impl WorkPurpose {
    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Article => "article",
            Self::Relocation => "relocation",
        }
    }

    pub(super) fn from_name(name: &str) -> Self {
        if name == Self::Relocation.name() { Self::Relocation } else { Self::Article }
    }
}

/// A page to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArticleWork {
    /// The host that it is fetched from.
    pub host: HostKey,
    pub purpose: WorkPurpose,
    /// The entry it belongs to, which the same commit remembers as seen; 0 for work that is no entry's.
    pub entry_key: i64,
    pub url: String,
    /// What is already known, as JSON: of an article the post so far.
    pub draft: String,
    /// When it may first be fetched.
    pub next_try_at: Time,
}

/// An article page that waits, failed or was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingPage {
    pub id: i64,
    pub url: String,
    pub state: PageState,
    /// Number of tries.
    pub tries: i64,
    /// The error of the latest try.
    pub error: Option<String>,
    /// When the latest try failed.
    pub failed_at: Option<Time>,
    /// The next try; none: it was given up.
    pub next_try_at: Option<Time>,
    /// When it was queued.
    pub created_at: Time,
}

/// A page to be fetched, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArticleWork {
    pub id: i64,
    pub source_id: i64,
    pub purpose: WorkPurpose,
    /// The entry it belongs to; 0 for work that is no entry's.
    pub entry_key: i64,
    pub url: String,
    /// See [`NewArticleWork::draft`].
    pub draft: String,
    /// Number of tries.
    pub tries: i64,
    /// The kind of its source.
    pub kind: Kind,
    /// The delay after a request of its source.
    pub poll_delay: Option<Span>,
    /// Whether robots.txt is ignored.
    pub ignore_robots: bool,
    /// The URL of its source.
    pub source_url: String,
    /// The encrypted credentials of its source.
    pub secret: Option<Vec<u8>>,
    /// Whether its source is enabled.
    pub enabled: bool,
}

/// The result of fetching a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArticleOutcome {
    /// It becomes a post.
    Post(Box<NewPost>),
    /// Its text replaces that of its entry's post. Title, author and date are only filled in where the post has none.
    Text {
        post: Box<NewPost>,
        /// Whether a different text counts as a revision.
        revises: bool,
    },
    /// It was fetched and is not used, for these reasons.
    Unused(Skipped),
    /// It failed, and is tried again.
    Retry {
        at: Time,
        error: String,
        /// Whether the try counts; an excused one does not.
        counts: bool,
    },
    /// It is given up, and can be retried by a person; its entry stays seen.
    GivenUp { error: String },
    /// Relocation work that found nothing and is dropped.
    Dropped,
    /// A site was searched for the new address of a dead feed.
    Looked {
        /// What is known now; stored if the feed is still dead.
        elsewhere: Box<Elsewhere>,
        /// An event to write with it.
        event: Option<NewEvent>,
    },
}

/// All that the fetch of a page writes.
#[derive(Debug, Clone, PartialEq)]
pub struct ArticleCommit {
    /// The lease that it was made under.
    pub lease: Lease,
    pub work_id: i64,
    pub source_id: i64,
    /// When it ended.
    pub at: Time,
    /// The host is not fetched before.
    pub host_hold_until: Option<Time>,
    pub outcome: ArticleOutcome,
    /// Whether no other such post of the source may have its text.
    pub unique_text: bool,
    /// Events, other than those of posts.
    pub events: Vec<NewEvent>,
    /// Effects beyond the source.
    pub host_effects: Option<Box<HostEffects>>,
}
