//! Rows of posts, articles, hosts, users, collections and tokens.

use gleaner_core::health::Status;
use gleaner_core::judgement::HostMemory;
use gleaner_core::post::NewPost;
use gleaner_core::time::Time;
use gleaner_core::visibility::CollectionAccess;

use super::Visibility;

/// A post as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub id: i64,
    pub source_id: i64,
    /// Its content.
    pub content: NewPost,
    /// Counts changes of title or text, from 1.
    pub revision: i64,
    /// When it was first stored.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Polls and posts of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// The beginning of the hour; for rows to be added up, any time within it.
    pub hour: Time,
    /// Polls that ended.
    pub polls: i64,
    /// Those of them that failed.
    pub failed: i64,
    pub posts: i64,
}

/// A host as stored, with counts of its sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub id: i64,
    /// Empty where URLs have none.
    pub name: String,
    /// Which of its slots, if several requests at once are allowed.
    pub slot: u32,
    /// Number of its sources.
    pub sources: i64,
    /// Number of those that are failing or quarantined.
    pub failing: i64,
    /// None of its sources is fetched before.
    pub hold_until: Option<Time>,
    /// When its earliest work is due, or its lease ends.
    pub next_due: Option<Time>,
    /// The owner of its lease, and its end.
    pub lease: Option<(String, Time)>,
    /// What is known of its incidents and pacing.
    pub memory: HostMemory,
}

/// Number of sources that a rule of a policy keeps failing, quarantined or disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSources {
    /// The policy that they name; none: the default one.
    pub policy: Option<String>,
    /// The name of the kind of their last failure.
    pub kind: String,
    /// Their status.
    pub status: Status,
    pub sources: u64,
}

/// A filter of posts; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PostFilter {
    /// Of these sources; empty: of all.
    pub source_ids: Vec<i64>,
    /// Linked to no article.
    pub unlinked: bool,
    /// Stored at or after.
    pub from: Option<Time>,
    /// Stored before.
    pub until: Option<Time>,
    /// Of sources in this collection.
    pub collection_id: Option<i64>,
    /// With all these words in title or text; in quotation marks, one after the other.
    pub text: Option<String>,
    /// Only the beginning of each text, and no HTML: enough for a list.
    pub brief: bool,
    /// Of sources that may be seen.
    pub visibility: Visibility,
}

/// An article to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArticle {
    pub title: String,
    pub body: String,
    pub url: Option<String>,
    pub published_at: Option<Time>,
    /// The posts it is made from.
    pub post_ids: Vec<i64>,
}

/// An article as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Article {
    pub id: i64,
    /// Its content.
    pub content: NewArticle,
    /// Whether its consumer has processed it.
    pub is_processed: bool,
    pub created_at: Time,
}

/// A user as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: i64,
    pub name: String,
    /// None: no password set.
    pub password_hash: Option<String>,
    /// When the password was last set.
    pub password_set_at: Option<Time>,
    /// Whether the user manages users.
    pub is_admin: bool,
    /// The account at an OpenID Connect provider that signs the user in.
    pub oidc: Option<OidcAccount>,
    pub created_at: Time,
}

/// An account at an OpenID Connect provider. The provider never gives a subject to another person; names and mail
/// addresses it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcAccount {
    pub issuer: String,
    pub subject: String,
}

/// A collection as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    pub id: i64,
    pub name: String,
    /// The user whose keys serve its sources.
    pub owner_id: i64,
    /// Seen by its owner and admins only.
    pub private: bool,
    pub created_at: Time,
}

impl Collection {
    /// The fields that decide who may see and change it.
    pub const fn access(&self) -> CollectionAccess {
        CollectionAccess { id: self.id, owner_id: self.owner_id, private: self.private }
    }
}

/// The fields of a collection that people set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionEdit {
    pub name: String,
    /// The user whose keys serve its sources.
    pub owner_id: i64,
    /// Seen by its owner and admins only.
    pub private: bool,
}

/// What a token gives access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// The API, for a program.
    Api,
    /// The API or the dashboard, for a person who logged in.
    Session,
    /// Output feeds, as part of their URL.
    Feed,
    /// One login.
    Link,
}

impl TokenKind {
    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Session => "session",
            Self::Feed => "feed",
            Self::Link => "link",
        }
    }

    /// The kind that is stored under this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Api, Self::Session, Self::Feed, Self::Link].into_iter().find(|kind| kind.name() == name)
    }
}

/// A token to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub user_id: i64,
    /// What it gives access to.
    pub kind: TokenKind,
    /// Chosen by its owner.
    pub name: String,
    /// What it is found by: an id or a hash, never the secret itself.
    pub key: String,
    /// Separated by spaces.
    pub scopes: String,
    /// The only collections it gives access to; none: all that its user may see.
    pub collection_ids: Option<Vec<i64>>,
    pub created_at: Time,
    pub expires_at: Time,
    /// The session that made it, itself or through another token; none: the command line did.
    pub made_by_session: Option<i64>,
    /// Of a session: when its user last proved who they are.
    pub proved_at: Option<Time>,
}

/// A token as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: i64,
    pub token: NewToken,
    /// Accurate to a minute.
    pub last_used_at: Option<Time>,
}

/// A password to be set, and who stays logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordChange {
    pub user_id: i64,
    /// None: the user has no password any more.
    pub hash: Option<String>,
    pub at: Time,
    /// The token that stays, with those that it made: the caller's own.
    pub keep: Option<i64>,
}

/// The state of a request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdempotencyState {
    /// The first with its key: it is to be carried out.
    First,
    /// The first one is still running.
    Running,
    /// The key was used for a different request.
    Other,
    /// The first one had this response.
    Answered { status: u16, body: Vec<u8> },
}
