//! What was collected, who owns it, and what lets in, as rows.

use gleaner_core::health::Status;
use gleaner_core::judgement::HostMemory;
use gleaner_core::post::NewPost;
use gleaner_core::time::Time;
use gleaner_core::visibility::CollectionAccess;

use super::Visibility;

/// A post as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Its id.
    pub id: i64,
    /// Its source.
    pub source_id: i64,
    /// What it says.
    pub content: NewPost,
    /// Counts changes of title or text, from 1.
    pub revision: i64,
    /// When it was first stored.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// What was done in an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// When the hour began; for what is to be added up, any time within it.
    pub hour: Time,
    /// Polls that ended.
    pub polls: i64,
    /// Those of them that failed.
    pub failed: i64,
    /// New posts.
    pub posts: i64,
}

/// A host as stored, with what is asked from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Its id.
    pub id: i64,
    /// Its name; empty where URLs have none.
    pub name: String,
    /// Which of its slots, where it may be asked several times at once.
    pub slot: u32,
    /// How many sources are asked from it.
    pub sources: i64,
    /// How many of them are failing or quarantined.
    pub failing: i64,
    /// No source of it is asked before then.
    pub hold_until: Option<Time>,
    /// When the earliest of its work is due, or its lease ends.
    pub next_due: Option<Time>,
    /// Who has it, until when.
    pub lease: Option<(String, Time)>,
    /// What is known of whose fault its failures are, and how far apart it wants to be asked.
    pub memory: HostMemory,
}

/// Sources that a rule of a policy holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The policy that they name; none: they name none.
    pub policy: Option<String>,
    /// What their last failure was, by name.
    pub kind: String,
    /// What became of them.
    pub status: Status,
    /// How many.
    pub sources: u64,
}

/// Which posts to list; all conditions hold at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PostFilter {
    /// Of these sources; none given: of all.
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

/// An article as a consumer makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArticle {
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Where it is.
    pub url: Option<String>,
    /// When it was published.
    pub published_at: Option<Time>,
    /// The posts it is made from.
    pub post_ids: Vec<i64>,
}

/// An article as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Article {
    /// Its id.
    pub id: i64,
    /// What it says.
    pub content: NewArticle,
    /// Whether its consumer is done with it.
    pub is_processed: bool,
    /// When it was made.
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
    /// Its id.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// Whose keys serve its sources.
    pub owner_id: i64,
    /// Seen by its owner and admins only.
    pub private: bool,
    /// When it was made.
    pub created_at: Time,
}

impl Collection {
    /// What decides who may see and change it.
    pub const fn access(&self) -> CollectionAccess {
        CollectionAccess { id: self.id, owner_id: self.owner_id, private: self.private }
    }
}

/// What people say about a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionEdit {
    /// What it is called.
    pub name: String,
    /// Whose keys serve its sources.
    pub owner_id: i64,
    /// Seen by its owner and admins only.
    pub private: bool,
}

/// What a token lets in to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// The API, for a program, by a name.
    Api,
    /// The API or the dashboard, for a person who logged in.
    Session,
    /// Output feeds, by their URL.
    Feed,
    /// Logging in, once.
    Link,
}

impl TokenKind {
    /// As it is stored.
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
    /// Whose it is.
    pub user_id: i64,
    /// What it lets in to.
    pub kind: TokenKind,
    /// What its owner calls it.
    pub name: String,
    /// What it is found by: never what lets in by itself.
    pub key: String,
    /// What it allows, separated by spaces.
    pub scopes: String,
    /// The only collections that it opens; none: all that its user may see.
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
    /// Its id.
    pub id: i64,
    /// What it is.
    pub token: NewToken,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Time>,
}

/// A password to be set, and who stays logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordChange {
    pub user_id: i64,
    /// None: the user has no password any more.
    pub hash: Option<String>,
    pub at: Time,
    /// The token that stays, with what it made: the caller's own.
    pub keep: Option<i64>,
}

/// What is known of a request that must not be carried out twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeated {
    /// It is the first of its key; carry it out.
    First,
    /// The first one is under way.
    Running,
    /// The key was used for another request.
    Other,
    /// It was answered so.
    Answered {
        /// The status.
        status: u16,
        /// The body.
        body: Vec<u8>,
    },
}
