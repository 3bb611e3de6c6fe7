//! What is read by output feeds: the latest posts of a collection, and what broke and healed.

use gleaner_core::time::{Span, Time};
use sha2::{Digest as _, Sha256};

use super::{Actor, By, EventQuery, Service, ServiceError, Told};
use crate::store::{Post, SourceName, TokenKind};
use crate::{hex, read};

/// The longest HTML of a post that a feed repeats; of a longer one, the text is shown.
const HTML_BYTES: usize = 100_000;
/// How much of a text is shown.
const TEXT_CHARS: usize = 20_000;
/// How much of a text stands for a title that is missing.
const TITLE_CHARS: usize = 80;

/// How many posts a feed of a collection has where the reader does not say.
const USUAL_POSTS: u32 = 50;
/// The most posts that a feed has.
const MAX_POSTS: u32 = 1000;
/// Posts stored within this are all in a feed, up to [`MAX_POSTS`].
const RECENT: Span = Span::from_hours(25);

/// What an output feed shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFeed {
    /// What it is called.
    pub title: String,
    /// Tells it from all others; it does not change.
    pub id: String,
    /// When anything in it last changed.
    pub updated_at: Time,
    /// The newest first.
    pub items: Vec<FeedItem>,
}

/// Something in an output feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedItem {
    /// Tells it from all others; it does not change.
    pub id: String,
    /// A line.
    pub title: String,
    /// Where it is read.
    pub url: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// What it came from, by name.
    pub source: Option<String>,
    /// When it was published.
    pub published_at: Option<Time>,
    /// When it was stored, or last changed.
    pub updated_at: Time,
    /// What it says.
    pub content: FeedContent,
}

/// What an item says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedContent {
    /// HTML without anything that acts.
    Html(String),
    /// Plain text.
    Text(String),
}

impl Service {
    /// Whom a feed's token lets read.
    pub async fn feed_reader(&self, token: &str) -> Result<Actor, ServiceError> {
        let unknown =
            || ServiceError::Unauthenticated("the feed's token is not valid, or not any more".into());
        let now = self.clock.now();
        let found = self.token_of_stranger(TokenKind::Feed, token).await?;
        let (token, user) = found.filter(|(token, _)| token.token.expires_at > now).ok_or_else(unknown)?;
        if token.last_used_at.is_none_or(|used| now.since(used) >= Span::from_mins(1)) {
            self.store.touch_token(token.id, now).await?;
        }
        Ok(Actor::by_token(user, &token))
    }
}

impl By<'_> {
    /// The latest posts of a collection: so many, or by default `USUAL_POSTS` and all others that were stored within
    /// `RECENT`, so that a reader who comes once a day misses none.
    pub async fn collection_feed(&self, name: &str, limit: Option<u32>) -> Result<OutputFeed, ServiceError> {
        let found = self.collections().await?.into_iter().find(|collection| collection.name == name);
        let collection = found.ok_or_else(|| ServiceError::missing("collection", name))?;
        let usual = limit.map_or(USUAL_POSTS, |limit| limit.min(MAX_POSTS));
        let mut posts = self.store.latest_posts(collection.id, usual).await?;
        let recent = self.clock.now() - RECENT;
        let more =
            posts.len() >= USUAL_POSTS as usize && posts.last().is_some_and(|post| post.created_at > recent);
        if limit.is_none() && more {
            posts = self.store.latest_posts(collection.id, MAX_POSTS).await?;
            posts.retain(|post| post.created_at > recent);
        }
        let mut ids: Vec<i64> = posts.iter().map(|post| post.source_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let sources = self.visible_names(&ids).await?;
        let updated_at = posts.iter().map(|post| post.updated_at).max().unwrap_or(collection.created_at);
        // Cleaning takes its time, and is nothing for the async threads.
        let made = tokio::task::spawn_blocking(move || {
            posts.into_iter().map(|post| item(&post, sources.get(&post.source_id))).collect()
        });
        let interrupted = |_| ServiceError::conflict("interrupted", "gleaner is stopping; try again");
        let items = made.await.map_err(interrupted)?;
        let id = urn(&format!("collection {} {}", collection.id, collection.created_at));
        Ok(OutputFeed { title: collection.name, id, updated_at, items })
    }

    /// What broke and what healed, in words.
    pub async fn events_feed(&self, limit: u32) -> Result<OutputFeed, ServiceError> {
        let query = EventQuery { kinds: "source.*,webhook.*,import.*".to_owned(), source_id: None };
        let events = self.events(&query, None, limit).await?;
        let updated_at = events.iter().map(|told| told.created_at).max().unwrap_or(Time::from_millis(0));
        let items = events.iter().map(event_item).collect();
        Ok(OutputFeed {
            title: "What broke and what healed".to_owned(),
            id: urn("events"),
            updated_at,
            items,
        })
    }
}

fn item(post: &Post, source: Option<&SourceName>) -> FeedItem {
    let content = &post.content;
    let title = content.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    FeedItem {
        id: urn(&format!("post {} {} {}", post.source_id, post.id, content.guid)),
        title: title.map_or_else(|| short(&content.body, TITLE_CHARS), |title| short(title, TEXT_CHARS)),
        url: content.url.clone().filter(|url| is_web_address(url)),
        author: content.author.as_deref().map(|author| short(author, TITLE_CHARS)),
        source: source.map(|source| source.name.clone().unwrap_or_else(|| source.url.clone())),
        published_at: content.published_at,
        updated_at: post.updated_at,
        content: match &content.raw_content {
            Some(html) if html.len() <= HTML_BYTES => FeedContent::Html(cleaned(html)),
            _ => FeedContent::Text(short(&content.body, TEXT_CHARS)),
        },
    }
}

/// HTML without scripts, styles and the like; first made shallow, since others choose how deep it is.
fn cleaned(html: &str) -> String {
    ammonia::clean(&read::tree::parse(html).html())
}

fn event_item(told: &Told) -> FeedItem {
    let text = |key: &str| told.data.get(key).and_then(|value| value.as_str());
    let source = told.source.as_ref();
    let url = source.and_then(|source| source.url.clone());
    let named = source.and_then(|source| source.name.clone()).or_else(|| url.clone());
    let name = named.clone().or_else(|| text("name").map(str::to_owned)).unwrap_or_else(|| "it".to_owned());
    let host = text("host").unwrap_or("a host");
    let reason = text("reason").or(text("error")).unwrap_or("no reason is known");
    let field = |key: &str| text(key).unwrap_or("an unknown URL").to_owned();
    let title = match told.kind.as_str() {
        "source.failing" => format!("{name} fails: {reason}"),
        "source.quarantined" => format!("{name} was set aside: {reason}"),
        "source.recovered" => format!("{name} works again"),
        "source.disabled" => format!("{name} was disabled: {reason}"),
        "source.enabled" => format!("{name} was enabled"),
        "source.dormant" => format!("{name} has failed for so long that a person should look: {reason}"),
        "source.suspect" => format!("{name} answers, but something seems to be wrong: {reason}"),
        "source.proposal" => format!("{name} may have another address: {reason}"),
        "source.moved" => format!("{name} has moved from {} to {}: {reason}", field("from"), field("to")),
        "source.move_refused" => format!("{name} was not moved: {reason}"),
        "page.given_up" => format!("A page of {name} was given up: {reason}"),
        "source.cleared" => format!("{name} is suspected of nothing any more"),
        "source.excused" => format!("{name} was not to blame: {reason}"),
        "host.down" | "host.back" | "host.given_up" | "host.paced" => format!("{host} {reason}"),
        "network.down" | "network.back" => format!("Our own network: {reason}"),
        "webhook.failing" => format!("The webhook {name} fails, and events are given up: {reason}"),
        "webhook.recovered" => format!("The webhook {name} works again"),
        "import.finished" => "An import has finished".to_owned(),
        other => other.to_owned(),
    };
    let next = text("next_poll_at").map(|at| format!(" It is asked again at {at}."));
    let where_it_is = url.as_deref().map(|url| format!(" {url}")).unwrap_or_default();
    let content = format!("{title}.{}{where_it_is}", next.unwrap_or_default());
    FeedItem {
        id: urn(&format!("event {} {}", told.id, told.created_at)),
        title: short(&title, 500),
        url: url.filter(|url| is_web_address(url)),
        author: None,
        source: named.map(|name| short(&name, 500)),
        published_at: Some(told.created_at),
        updated_at: told.created_at,
        content: FeedContent::Text(short(&content, TEXT_CHARS)),
    }
}

/// A name for something that no other thing has, as a UUID made from what it is.
fn urn(what: &str) -> String {
    let hash = Sha256::digest(format!("gleaner {what}"));
    let digits = hex::encode(&hash[..16]);
    let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..]);
    // Version 8: made in a way of its own.
    format!("urn:uuid:{a}-{b}-8{c}-8{d}-{e}")
}

fn short(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let kept: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() { format!("{kept}…") } else { kept }
}

/// Whether a link leads to a page: others are code, or open something on the reader's machine.
fn is_web_address(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}
