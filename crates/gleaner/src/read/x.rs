//! Parses answers of X's API v2: an account's id, and pages of a timeline as entries.
//!
//! Long posts are complete, short links are expanded, reposts and quotes include the other post's text. X reports
//! errors in two ways: by status, which `fetch` handles, and inside a 200, which is handled here. Images, polls,
//! places and counts are ignored.

use std::collections::HashMap;

use gleaner_core::classify::classify_status;
use gleaner_core::outcome::ErrorKind;
use gleaner_core::post::Entry;
use gleaner_core::time::Time;
use serde::Deserialize;

use super::x_text;

/// The query parameters that [`timeline`] depends on.
pub const TIMELINE_FIELDS: [(&str, &str); 3] = [
    ("tweet.fields", "id,text,note_tweet,created_at,author_id,entities,referenced_tweets"),
    ("expansions", "author_id,referenced_tweets.id,referenced_tweets.id.author_id"),
    ("user.fields", "id,name,username"),
];

/// Why an answer with a success status is unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XError {
    pub kind: ErrorKind,
    /// X's own words, if it has any.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// The id of the newest post.
    pub newest: Option<String>,
    /// The id of the oldest post.
    pub oldest: Option<String>,
    /// The token to request the next page with.
    pub next_token: Option<String>,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: Option<T>,
    #[serde(default)]
    includes: Includes,
    meta: Option<Meta>,
    #[serde(default)]
    errors: Vec<ApiError>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Includes {
    tweets: Vec<Tweet>,
    users: Vec<User>,
}

#[derive(Deserialize)]
struct User {
    id: String,
    username: String,
}

#[derive(Deserialize)]
struct Meta {
    next_token: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ApiError {
    title: String,
    detail: String,
    #[serde(rename = "type")]
    type_uri: String,
    status: Option<u16>,
}

/// A post in X's format.
#[derive(Deserialize)]
pub(super) struct Tweet {
    pub(super) id: String,
    #[serde(default)]
    pub(super) text: String,
    /// The full text of a long post.
    pub(super) note_tweet: Option<Note>,
    #[serde(default)]
    pub(super) entities: Entities,
    author_id: Option<String>,
    created_at: Option<String>,
    #[serde(default)]
    referenced_tweets: Vec<Reference>,
}

#[derive(Deserialize)]
pub(super) struct Note {
    pub(super) text: String,
    #[serde(default)]
    pub(super) entities: Entities,
}

#[derive(Deserialize, Default)]
pub(super) struct Entities {
    #[serde(default)]
    pub(super) urls: Vec<Link>,
}

#[derive(Deserialize)]
pub(super) struct Link {
    pub(super) url: String,
    pub(super) expanded_url: Option<String>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

/// Parses the answer to `GET /2/users/by/username/:username`: the account's id.
pub fn user_id(body: &[u8]) -> Result<String, XError> {
    let answer: Answer<User> = parse(body)?;
    match answer.data {
        Some(user) if is_id(&user.id) => Ok(user.id),
        Some(_) => Err(unreadable("the account's id is no number")),
        None => Err(problem(&answer.errors)),
    }
}

/// Parses the answer to `GET /2/users/:id/tweets` for this handle.
pub fn timeline(body: &[u8], handle: &str) -> Result<Timeline, XError> {
    let answer: Answer<Vec<Tweet>> = parse(body)?;
    // An empty timeline has `meta` but no `data`; besides posts, errors are about posts that they refer to.
    if answer.data.is_none() && answer.meta.is_none() {
        return Err(problem(&answer.errors));
    }
    let tweets = answer.data.unwrap_or_default();
    if tweets.iter().any(|tweet| !is_id(&tweet.id)) {
        return Err(unreadable("a post's id is no number"));
    }
    let context = Context {
        handle,
        tweets: answer.includes.tweets.iter().map(|tweet| (tweet.id.as_str(), tweet)).collect(),
        users: answer.includes.users.iter().map(|user| (user.id.as_str(), user.username.as_str())).collect(),
    };
    let ids = || tweets.iter().map(|tweet| tweet.id.as_str());
    Ok(Timeline {
        entries: tweets.iter().map(|tweet| context.entry(tweet)).collect(),
        newest: newest(ids()).map(str::to_owned),
        oldest: ids().min_by_key(|id| order(id)).map(str::to_owned),
        next_token: answer.meta.and_then(|meta| meta.next_token).filter(|token| !token.is_empty()),
    })
}

/// The newest post by id, since X numbers posts by time.
pub fn newest<'a>(ids: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ids.into_iter().max_by_key(|id| order(id))
}

/// A sort key for decimal numbers: longer ones are larger.
fn order(id: &str) -> (usize, &str) {
    (id.len(), id)
}

/// Whether a text is a valid id; it becomes part of a URL.
fn is_id(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0')
}

/// The other objects of a page.
struct Context<'a> {
    handle: &'a str,
    tweets: HashMap<&'a str, &'a Tweet>,
    users: HashMap<&'a str, &'a str>,
}

impl<'a> Context<'a> {
    fn entry(&self, tweet: &'a Tweet) -> Entry {
        let author = self.author(tweet).unwrap_or(self.handle);
        Entry {
            guid: Some(tweet.id.clone()),
            url: Some(format!("https://x.com/{author}/status/{}", tweet.id)),
            title: None,
            raw_content: Some(self.content(tweet)),
            author: Some(format!("@{author}")),
            published_at: tweet.created_at.as_deref().and_then(Time::parse),
            shares_url: false,
        }
    }

    fn author(&self, tweet: &Tweet) -> Option<&'a str> {
        self.users.get(tweet.author_id.as_deref()?).copied()
    }

    /// A post's text as HTML, including what it reposts or quotes, if that is available.
    fn content(&self, tweet: &'a Tweet) -> String {
        if let Some(reposted) = self.referenced(tweet, "retweeted") {
            let who = self.author(reposted).unwrap_or("unknown");
            let text = match self.referenced(reposted, "quoted") {
                Some(quoted) => self.quoting(reposted, quoted),
                None => x_text::html(reposted, None),
            };
            return format!("RT @{who}: {text}");
        }
        match self.referenced(tweet, "quoted") {
            Some(quoted) => self.quoting(tweet, quoted),
            None => x_text::html(tweet, None),
        }
    }

    fn quoting(&self, tweet: &'a Tweet, quoted: &'a Tweet) -> String {
        let own = x_text::html(tweet, Some(&quoted.id));
        let who = self.author(quoted).unwrap_or("unknown");
        format!("<p>{own}</p><blockquote>@{who}: {}</blockquote>", x_text::html(quoted, None))
    }

    fn referenced(&self, tweet: &'a Tweet, kind: &str) -> Option<&'a Tweet> {
        let reference = tweet.referenced_tweets.iter().find(|reference| reference.kind == kind)?;
        self.tweets.get(reference.id.as_str()).copied()
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, XError> {
    serde_json::from_slice(body).map_err(|error| unreadable(&format!("{error}")))
}

fn unreadable(why: &str) -> XError {
    XError { kind: ErrorKind::ParseError, message: format!("X sent an unexpected answer: {why}") }
}

/// X's error. A suspended account has the type of a missing one, so its title is checked first.
fn problem(errors: &[ApiError]) -> XError {
    let Some(error) = errors.first() else { return unreadable("neither posts nor a reason for none") };
    let kind =
        match (error.title.as_str(), error.type_uri.rsplit('/').next().unwrap_or_default(), error.status) {
            ("Forbidden", _, _) | (_, "not-authorized-for-resource" | "client-forbidden", _) => {
                ErrorKind::Forbidden
            }
            (_, "resource-not-found", _) => ErrorKind::NotFound,
            (_, "usage-capped" | "rate-limit-exceeded", _) => ErrorKind::RateLimited,
            (_, _, Some(status)) => classify_status(status),
            _ => ErrorKind::Unexpected,
        };
    let words = if error.detail.is_empty() { &error.title } else { &error.detail };
    let words: String = words.chars().filter(|char| !char.is_control()).take(300).collect();
    XError {
        kind,
        message: if words.is_empty() { "X gives no reason".to_owned() } else { format!("X says: {words}") },
    }
}

#[cfg(test)]
#[path = "x_tests.rs"]
mod tests;
