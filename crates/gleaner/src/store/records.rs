//! What was collected, and who owns it, as rows.

use gleaner_core::post::NewPost;
use gleaner_core::time::Time;

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
    /// Its id.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// Its password's hash; none: no password set.
    pub password_hash: Option<String>,
    /// Whether it manages users.
    pub is_admin: bool,
    /// When it was made.
    pub created_at: Time,
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
    /// When it was made.
    pub created_at: Time,
}

/// Where events are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its id.
    pub id: i64,
    /// Whose it is.
    pub owner_id: i64,
    /// The target.
    pub url: String,
    /// What signs, encrypted.
    pub secret: Vec<u8>,
    /// Which kinds of events, separated by commas; empty: all.
    pub events: String,
    /// Whether it is used.
    pub enabled: bool,
    /// When it was made.
    pub created_at: Time,
}
