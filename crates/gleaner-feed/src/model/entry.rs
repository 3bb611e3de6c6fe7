//! Entries of a feed and their parts.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Link, Rel, Str, Text};

/// One entry of a feed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// The identifier: RSS's `guid`, Atom's `id`, or `rdf:about` of an RDF item.
    pub id: Option<Str>,
    /// Whether the identifier may be used as the entry's URL (RSS's `isPermaLink`, which defaults to true).
    pub id_is_permalink: bool,
    /// The title, as written; [`Text::plain`] gives it without markup.
    pub title: Option<Text>,
    /// The entry's page; see also [`Entry::url`].
    pub link: Option<Str>,
    /// All other links except enclosures and comments, in document order.
    pub links: Vec<Link>,
    /// When the entry was published.
    pub published: Option<i64>,
    /// When the entry last changed.
    pub updated: Option<i64>,
    /// When the entry was created (Atom 0.3, Dublin Core).
    pub created: Option<i64>,
    /// The authors, in document order.
    pub authors: Vec<Person>,
    /// The contributors.
    pub contributors: Vec<Person>,
    /// The entry's categories.
    pub categories: Vec<Category>,
    /// The summary, or RSS's `description`.
    pub summary: Option<Text>,
    /// The full content.
    pub content: Option<Content>,
    /// Attached files.
    pub enclosures: Vec<Enclosure>,
    /// Media RSS: contents and thumbnails, in document order.
    pub media: Vec<Media>,
    /// Podcast fields.
    pub itunes: Option<Box<Itunes>>,
    /// The page with the comments.
    pub comments: Option<Str>,
    /// The feed of the comments.
    pub comments_feed: Option<Str>,
    /// The number of comments.
    pub comment_count: Option<u32>,
    /// The feed that the entry was copied from.
    pub source: Option<Box<Source>>,
    /// The location.
    pub place: Option<Box<Place>>,
    /// The copyright notice.
    pub rights: Option<Text>,
    /// The entry's own language, if given.
    pub language: Option<Str>,
    /// The base URL of relative links in its texts, if the document gives one (`xml:base`).
    pub base: Option<Str>,
}

impl Entry {
    /// The entry's URL: its page, else its identifier if that is a URL, else another link.
    pub fn url(&self) -> Option<&str> {
        let id = self.id.as_deref().filter(|id| self.id_is_permalink && is_web_address(id));
        let other = || self.links.iter().find(|link| matches!(link.rel, Rel::Alternate | Rel::SelfLink));
        self.link.as_deref().or(id).or_else(|| other().map(|link| link.href.as_str()))
    }

    /// The author to display: the first one with a name.
    pub fn author(&self) -> Option<&str> {
        self.authors.iter().find_map(|person| person.name.as_deref())
    }

    /// Whether it has nothing to display or to identify it by.
    pub(crate) fn is_blank(&self) -> bool {
        self.id.is_none()
            && self.title.is_none()
            && self.link.is_none()
            && self.links.is_empty()
            && self.summary.is_none()
            && self.content.is_none()
            && self.enclosures.is_empty()
            && self.media.is_empty()
            && self.published.is_none()
            && self.updated.is_none()
    }
}

pub(crate) fn is_web_address(text: &str) -> bool {
    let head = text.as_bytes();
    let starts =
        |scheme: &[u8]| head.len() > scheme.len() && head[..scheme.len()].eq_ignore_ascii_case(scheme);
    starts(b"http://") || starts(b"https://")
}

/// A person or organisation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Person {
    /// The name.
    pub name: Option<Str>,
    /// The email address.
    pub email: Option<Str>,
    /// The home page.
    pub uri: Option<Str>,
}

impl Person {
    pub(crate) fn is_blank(&self) -> bool {
        self.name.is_none() && self.email.is_none() && self.uri.is_none()
    }
}

/// A category, tag or keyword.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Category {
    /// The category's term.
    pub term: Str,
    /// The scheme or domain; shared, because feeds repeat few of them often.
    pub scheme: Option<Arc<str>>,
    /// The label to display.
    pub label: Option<Str>,
}

/// The full content of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// The text; empty if the content is external.
    pub text: Text,
    /// The media type, if it is neither text nor HTML.
    pub mime: Option<Cow<'static, str>>,
    /// The URL of external content.
    pub src: Option<Str>,
}

/// A file attached to an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enclosure {
    /// The URL.
    pub url: Str,
    /// The media type.
    pub mime: Option<Cow<'static, str>>,
    /// The size in bytes.
    pub length: Option<u64>,
    /// The title.
    pub title: Option<Str>,
}

/// An image, audio or video of Media RSS. Those with the same `group` are variants of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Media {
    /// The file's URL, if there is a file.
    pub url: Option<Str>,
    /// The media type.
    pub mime: Option<Cow<'static, str>>,
    /// `image`, `audio`, `video`, `document` or `executable`.
    pub medium: Option<Cow<'static, str>>,
    /// The size in bytes.
    pub length: Option<u64>,
    /// The duration in seconds.
    pub duration: Option<u32>,
    /// The width in pixels.
    pub width: Option<u32>,
    /// The height in pixels.
    pub height: Option<u32>,
    /// The title.
    pub title: Option<Str>,
    /// The description.
    pub description: Option<Str>,
    /// Thumbnail URLs, best first.
    pub thumbnails: Vec<Str>,
    /// The `media:group` of the entry that it is in, counted from 1.
    pub group: Option<u32>,
}

/// Podcast fields of a feed or an episode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Itunes {
    /// The duration in seconds.
    pub duration: Option<u32>,
    /// The episode number.
    pub episode: Option<u32>,
    /// The season number.
    pub season: Option<u32>,
    /// `full`, `trailer` or `bonus`; for a podcast `episodic` or `serial`.
    pub kind: Option<Cow<'static, str>>,
    /// The URL of the cover image.
    pub image: Option<Str>,
    /// Whether the content is explicit.
    pub explicit: Option<bool>,
    /// The subtitle.
    pub subtitle: Option<Str>,
    /// The summary, if it differs from the entry's own.
    pub summary: Option<Str>,
    /// The transcript's URL (`podcast:transcript`).
    pub transcript: Option<Str>,
    /// The chapters' URL (`podcast:chapters`).
    pub chapters: Option<Str>,
    /// The podcast's new feed URL.
    pub new_feed_url: Option<Str>,
    /// The owner of the podcast.
    pub owner: Option<Person>,
}

/// The feed that an entry was copied from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// The identifier.
    pub id: Option<Str>,
    /// The title.
    pub title: Option<Str>,
    /// The URL: of the feed for RSS, of the page for Atom.
    pub url: Option<Str>,
    /// When it last changed.
    pub updated: Option<i64>,
}

/// A geographic location.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}
