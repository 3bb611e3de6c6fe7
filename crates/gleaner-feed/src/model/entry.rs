//! An entry and what hangs on it.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Link, Rel, Str, Text};

/// One entry of a feed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// The identifier: RSS's `guid`, Atom's `id`, what an RDF item is about.
    pub id: Option<Str>,
    /// Whether the identifier may serve as the entry's address (RSS's `isPermaLink`, which defaults to true).
    pub id_is_permalink: bool,
    /// The title, as written; [`Text::plain`] gives it without markup.
    pub title: Option<Text>,
    /// The page of the entry; see also [`Entry::url`].
    pub link: Option<Str>,
    /// All other links but enclosures and comments, in document order.
    pub links: Vec<Link>,
    /// When it was published.
    pub published: Option<i64>,
    /// When it last changed.
    pub updated: Option<i64>,
    /// When it was created (Atom 0.3, Dublin Core).
    pub created: Option<i64>,
    /// Who wrote it, in document order.
    pub authors: Vec<Person>,
    /// Who else had a part in it.
    pub contributors: Vec<Person>,
    /// What it is about.
    pub categories: Vec<Category>,
    /// The summary, or RSS's `description`.
    pub summary: Option<Text>,
    /// The whole text.
    pub content: Option<Content>,
    /// Files that belong to it.
    pub enclosures: Vec<Enclosure>,
    /// Media RSS: contents and thumbnails, in document order.
    pub media: Vec<Media>,
    /// Podcast fields.
    pub itunes: Option<Box<Itunes>>,
    /// The page with its comments.
    pub comments: Option<Str>,
    /// The feed of its comments.
    pub comments_feed: Option<Str>,
    /// How many comments it has.
    pub comment_count: Option<u32>,
    /// The feed that it was taken from.
    pub source: Option<Box<Source>>,
    /// Where it is.
    pub place: Option<Box<Place>>,
    /// Copyright.
    pub rights: Option<Text>,
    /// Its language, where given by itself.
    pub language: Option<Str>,
    /// The base of relative links within its texts, where the document gives one (`xml:base`).
    pub base: Option<Str>,
}

impl Entry {
    /// The address of the entry: its page, else its identifier where that is an address, else another form of it.
    pub fn url(&self) -> Option<&str> {
        let id = self.id.as_deref().filter(|id| self.id_is_permalink && is_web_address(id));
        let other = || self.links.iter().find(|link| matches!(link.rel, Rel::Alternate | Rel::SelfLink));
        self.link.as_deref().or(id).or_else(|| other().map(|link| link.href.as_str()))
    }

    /// The author to show: the first that has a name.
    pub fn author(&self) -> Option<&str> {
        self.authors.iter().find_map(|person| person.name.as_deref())
    }

    /// Whether nothing in it could be shown or told apart.
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

/// A person, or whoever signs as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Person {
    /// The name.
    pub name: Option<Str>,
    /// The mail address.
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
    /// The category itself.
    pub term: Str,
    /// The scheme or domain it belongs to; shared, because a feed has few of them and names them all the time.
    pub scheme: Option<Arc<str>>,
    /// A form of it for people.
    pub label: Option<Str>,
}

/// The whole text of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// The text; empty where the content is elsewhere.
    pub text: Text,
    /// Its media type, where it is neither text nor HTML.
    pub mime: Option<Cow<'static, str>>,
    /// Where the content is, if it is not here.
    pub src: Option<Str>,
}

/// A file that belongs to an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enclosure {
    /// Its address.
    pub url: Str,
    /// Its media type.
    pub mime: Option<Cow<'static, str>>,
    /// Its size in bytes.
    pub length: Option<u64>,
    /// Its title.
    pub title: Option<Str>,
}

/// A picture, sound or film by Media RSS. Those of one `media:group` are forms of the same thing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Media {
    /// The address of the file, if it is not only described.
    pub url: Option<Str>,
    /// Its media type.
    pub mime: Option<Cow<'static, str>>,
    /// `image`, `audio`, `video`, `document` or `executable`.
    pub medium: Option<Cow<'static, str>>,
    /// Its size in bytes.
    pub length: Option<u64>,
    /// Its duration in seconds.
    pub duration: Option<u32>,
    /// Its width in pixels.
    pub width: Option<u32>,
    /// Its height in pixels.
    pub height: Option<u32>,
    /// Its title.
    pub title: Option<Str>,
    /// Its description.
    pub description: Option<Str>,
    /// Pictures that stand for it, best first.
    pub thumbnails: Vec<Str>,
    /// Which group of the entry it belongs to, counted from 1.
    pub group: Option<u32>,
}

/// What a podcast says of itself or of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Itunes {
    /// The duration in seconds.
    pub duration: Option<u32>,
    /// The number of the episode.
    pub episode: Option<u32>,
    /// The number of the season.
    pub season: Option<u32>,
    /// `full`, `trailer` or `bonus`; of a podcast `episodic` or `serial`.
    pub kind: Option<Cow<'static, str>>,
    /// The cover.
    pub image: Option<Str>,
    /// Whether it is explicit.
    pub explicit: Option<bool>,
    /// The subtitle.
    pub subtitle: Option<Str>,
    /// The summary, where it is not the entry's own.
    pub summary: Option<Str>,
    /// The transcript's address (`podcast:transcript`).
    pub transcript: Option<Str>,
    /// The chapters' address (`podcast:chapters`).
    pub chapters: Option<Str>,
    /// Where the podcast has moved.
    pub new_feed_url: Option<Str>,
    /// Who owns the podcast.
    pub owner: Option<Person>,
}

/// The feed that an entry was taken from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// Its identifier.
    pub id: Option<Str>,
    /// Its title.
    pub title: Option<Str>,
    /// Its address: of the feed for RSS, of the page for Atom.
    pub url: Option<Str>,
    /// When it last changed.
    pub updated: Option<i64>,
}

/// A point on earth.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}
