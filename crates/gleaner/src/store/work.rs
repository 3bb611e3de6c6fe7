//! Due work, and what became of it: claims, commits, and pages to be fetched.

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
    /// The time now.
    pub now: Time,
    /// How long the lease lasts without a heartbeat.
    pub lease: Span,
    /// Who claims.
    pub owner: String,
    /// At most so many hosts.
    pub hosts: u32,
    /// Of these at most so many that are not quick.
    pub slow_hosts: u32,
    /// At most so many sources of each.
    pub per_host: u32,
    /// What may be claimed of that.
    pub scope: ClaimScope,
}

impl ClaimRequest {
    /// A claim of all that is due, of so many hosts, whether they are quick or not.
    pub fn all(now: Time, lease: Span, owner: impl Into<String>, hosts: u32, per_host: u32) -> Self {
        let (owner, scope) = (owner.into(), ClaimScope::All);
        Self { now, lease, owner, hosts, slow_hosts: hosts, per_host, scope }
    }
}

/// Which due work a claim is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimScope {
    /// All of it, the longest due first.
    #[default]
    All,
    /// A probe of our own network: hosts and sources that worked, the latest success first.
    Probe,
}

/// A host that is ours for a while, with what is due of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The lease.
    pub lease: Lease,
    /// The host's name.
    pub host: String,
    /// No source of it is asked before then.
    pub hold_until: Option<Time>,
    /// What is known of whose fault its failures are.
    pub memory: HostMemory,
    /// Whether its latest poll was answered quickly.
    pub quick: bool,
    /// How many of its sources are polled, counted up to three.
    pub host_sources: u32,
    /// Sources that are due, the longest due first.
    pub sources: Vec<Source>,
    /// Pages that are due.
    pub articles: Vec<ArticleWork>,
}

/// Whether a source may be polled by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollHold {
    /// The source.
    pub source_id: i64,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Its host's name.
    pub host: String,
    /// Neither it nor its host is to be polled before then.
    pub until: Option<Time>,
}

/// Proof that a host is ours; a later claim raises the fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The host.
    pub host_id: i64,
    /// Its fence when we claimed it.
    pub fence: i64,
}

/// The end of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The lease.
    pub lease: Lease,
    /// The host is not to be asked before then: the delay after the latest request.
    pub free_at: Option<Time>,
    /// Its latest success, where there was one under this lease.
    pub served: Option<Success>,
    /// Whether its latest poll was answered quickly; none: as before.
    pub quick: Option<bool>,
}

impl Release {
    /// The end of a lease that nothing is to be said of.
    pub const fn of(lease: Lease) -> Self {
        Self { lease, free_at: None, served: None, quick: None }
    }
}

/// What a poll or a page means for others than its own source; nearly always nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sequel {
    /// The host's memory, where it has changed.
    pub memory: Option<HostMemory>,
    /// The host is back, and is not to be left alone any longer.
    pub lift_hold: bool,
    /// Failures of other sources that were not their own, each where its fence and its latest poll are still those
    /// that are named.
    pub taken_back: Vec<TakenBack>,
    /// Earlier failures of the source itself that are excused with it: whose, and since when.
    pub excused_since: Option<(i64, Time)>,
    /// Why they were not, and the id of the incident or outage.
    pub excuse: Option<(Excuse, String)>,
    /// Sources of the host that are spread.
    pub release: Option<judgement::Release>,
}

/// One poll's whole verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The lease it was made under.
    pub lease: Lease,
    /// The source.
    pub source_id: i64,
    /// The source's fence when it was claimed.
    pub fence: i64,
    /// The state it was claimed in, so that what did not change is not written.
    pub was: Health,
    /// The new state.
    pub health: Health,
    /// The next poll.
    pub next_poll_at: Option<Time>,
    /// The host is left alone until then.
    pub host_hold_until: Option<Time>,
    /// What to remember of the server; none: what it was.
    pub memory: Option<Memory>,
    /// Where the source has moved for good.
    pub moved: Option<Move>,
    /// A suspicion that begins or ends.
    pub suspect: Option<suspect::Change>,
    /// What is known of where a dead feed is now, where that changes.
    pub elsewhere: Option<ElsewhereChange>,
    /// Posts to store.
    pub new: Vec<(NewPost, Seen)>,
    /// Posts to change.
    pub changed: Vec<(i64, NewPost, Seen)>,
    /// What to remember of other entries.
    pub remember: Vec<Seen>,
    /// What to remember of copies of new entries: the key of the new entry, whose post is theirs, too.
    pub copies: Vec<(i64, Seen)>,
    /// Whether no two of its new posts may have the same text.
    pub unique_text: bool,
    /// Entries that the document no longer has.
    pub vanished: Vec<i64>,
    /// Pages to fetch.
    pub articles: Vec<NewArticleWork>,
    /// The row of the history.
    pub poll: PollRecord,
    /// What to tell the world, posts aside.
    pub events: Vec<NewEvent>,
    /// What it means for others.
    pub sequel: Option<Box<Sequel>>,
}

/// What changes of where a dead feed may be now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElsewhereChange {
    /// It is this from now on.
    Now(Elsewhere),
    /// The feed is back where it was.
    Ended,
}

/// A source's new address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The URL.
    pub url: String,
    /// See [`super::NewSource::canonical_url`].
    pub canonical_url: String,
    /// Who asks from now on.
    pub host: HostKey,
    /// The URL before.
    pub from: String,
    /// Why, for people.
    pub reason: String,
    /// What was observed, to be kept where another source of the collection has the new URL.
    pub redirect: Redirect,
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// Stored, with the ids of the posts that are new and of those that changed.
    Stored {
        /// New posts.
        new: Vec<i64>,
        /// Changed posts.
        changed: Vec<i64>,
    },
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
    /// Its id.
    pub id: i64,
    /// The first of them.
    pub first_at: Time,
    /// How many.
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
    /// Identifies the page among all.
    pub id: i64,
    /// Where it is.
    pub url: String,
    /// Where it stands.
    pub state: PageState,
    /// How often it was tried.
    pub tries: i64,
    /// Why the latest try failed.
    pub error: Option<String>,
    /// When the latest try failed.
    pub failed_at: Option<Time>,
    /// When it is tried next; none: it was given up.
    pub next_try_at: Option<Time>,
    /// When it was queued.
    pub created_at: Time,
}

/// A page to be fetched, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArticleWork {
    /// Its id.
    pub id: i64,
    pub source_id: i64,
    pub purpose: WorkPurpose,
    /// The entry it belongs to; 0 for work that is no entry's.
    pub entry_key: i64,
    pub url: String,
    /// See [`NewArticleWork::draft`].
    pub draft: String,
    /// How often it was tried.
    pub tries: i64,
    /// The kind of its source.
    pub kind: Kind,
    /// Its source's own pause.
    pub poll_delay: Option<Span>,
    /// Whether robots.txt is not asked.
    pub ignore_robots: bool,
    /// The URL of its source.
    pub source_url: String,
    /// The credentials of its source, encrypted.
    pub secret: Option<Vec<u8>>,
    /// Whether its source is enabled.
    pub enabled: bool,
}

/// What became of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArticleOutcome {
    /// It is a post now.
    Post(Box<NewPost>),
    /// Its text replaces that of its entry's post. Title, author and date are only filled in where the post has none.
    Text {
        /// The text.
        post: Box<NewPost>,
        /// Whether another text than before is a revision.
        revises: bool,
    },
    /// It was fetched and changes nothing, for these reasons.
    Unused(Skipped),
    /// It failed, and is tried again.
    Retry {
        /// When.
        at: Time,
        /// What happened.
        error: String,
        /// Whether that was one of its tries; not where it was not its fault.
        counts: bool,
    },
    /// It is given up, and stays to be retried by a person; its entry stays seen.
    GivenUp {
        /// What happened.
        error: String,
    },
    /// A look at a site that came to nothing.
    Dropped,
    /// It was looked at for another feed, in place of a dead one.
    Looked {
        /// What is known now; kept if the feed is still dead.
        elsewhere: Box<Elsewhere>,
        /// What to tell the world then.
        event: Option<NewEvent>,
    },
}

/// The end of one piece of article work.
#[derive(Debug, Clone, PartialEq)]
pub struct ArticleCommit {
    /// The lease it was made under.
    pub lease: Lease,
    /// The work.
    pub work_id: i64,
    /// The source it is for.
    pub source_id: i64,
    /// When it ended.
    pub at: Time,
    /// The host is left alone until then.
    pub host_hold_until: Option<Time>,
    /// What became of it.
    pub outcome: ArticleOutcome,
    /// Whether no other such post of the source may have its text.
    pub unique_text: bool,
    /// What to tell the world, posts aside.
    pub events: Vec<NewEvent>,
    /// What it means for others.
    pub sequel: Option<Box<Sequel>>,
}
