//! The feed model, common to all formats.
//!
//! Values are owned and as the feed has them: trimmed, decoded once, links made absolute, HTML neither sanitised
//! nor rewritten. Times are milliseconds since the Unix epoch, UTC.

use std::borrow::Cow;

mod entry;
mod schedule;
mod string;
mod text;

pub use entry::{Category, Content, Enclosure, Entry, Itunes, Media, Person, Place, Source};
pub use schedule::{Hours, Period, Schedule, Weekdays};
pub use string::Str;
pub(crate) use string::StringPool;
pub use text::{Text, TextKind};

/// A feed and its entries, in document order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Feed {
    /// The document's format.
    pub format: Format,
    /// The version that the document declares, for example `2.0`.
    pub version: Option<Str>,
    /// The encoding the document was decoded from, by its name in the WHATWG Encoding Standard.
    pub encoding: &'static str,
    /// The identifier: Atom's `id`, or `rdf:about` of the RDF channel.
    pub id: Option<Str>,
    /// The title.
    pub title: Option<Text>,
    /// The description, subtitle or tagline.
    pub description: Option<Text>,
    /// The web page that the feed belongs to.
    pub link: Option<Str>,
    /// All other links, in document order; see also [`Feed::self_link`] and similar methods.
    pub links: Vec<Link>,
    /// The language, as written.
    pub language: Option<Str>,
    /// A small square image.
    pub icon: Option<Str>,
    /// A larger image: Atom's `logo`, RSS's `image`, the podcast cover.
    pub image: Option<Str>,
    /// The copyright notice.
    pub rights: Option<Text>,
    /// The software that wrote the feed.
    pub generator: Option<Str>,
    /// When the feed was published.
    pub published: Option<i64>,
    /// When the feed last changed, according to the feed.
    pub updated: Option<i64>,
    /// The feed's authors.
    pub authors: Vec<Person>,
    /// The feed's categories.
    pub categories: Vec<Category>,
    /// The polling hints of the feed.
    pub schedule: Schedule,
    /// Podcast fields.
    pub itunes: Option<Box<Itunes>>,
    /// The complete entries, in document order.
    pub entries: Vec<Entry>,
    /// The entry in which the document ended early. Its last fields are missing or truncated, so it is not among
    /// [`Feed::entries`].
    pub cut_entry: Option<Box<Entry>>,
    /// What was wrong with the document.
    pub repairs: Repairs,
}

impl Feed {
    /// The feed's own URL.
    pub fn self_link(&self) -> Option<&str> {
        self.link_with(&Rel::SelfLink)
    }

    /// The WebSub hubs that announce changes.
    pub fn hubs(&self) -> impl Iterator<Item = &str> {
        self.links.iter().filter(|link| link.rel == Rel::Hub).map(|link| link.href.as_str())
    }

    /// The next page of a paged feed (RFC 5005).
    pub fn next_link(&self) -> Option<&str> {
        self.link_with(&Rel::Next)
    }

    /// The archive document before this one (RFC 5005).
    pub fn prev_archive(&self) -> Option<&str> {
        self.link_with(&Rel::PrevArchive)
    }

    /// The first link of the given relation.
    pub fn link_with(&self, rel: &Rel) -> Option<&str> {
        self.links.iter().find(|link| link.rel == *rel).map(|link| link.href.as_str())
    }
}

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Format {
    /// RSS 0.91 to 2.0.
    #[default]
    Rss,
    /// RSS 0.90 and 1.0, which are RDF.
    Rdf,
    /// Atom 1.0.
    Atom,
    /// Atom 0.3 and its predecessors.
    Atom03,
    /// JSON Feed.
    Json,
}

/// A link of a feed or an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    /// The URL, absolute if a base is known.
    pub href: Str,
    /// The link relation.
    pub rel: Rel,
    /// The media type.
    pub mime: Option<Cow<'static, str>>,
    /// The link's title.
    pub title: Option<Str>,
    /// The language of the target.
    pub hreflang: Option<Str>,
}

impl Link {
    pub(crate) fn new(href: Str, rel: Rel) -> Self {
        Self { href, rel, mime: None, title: None, hreflang: None }
    }

    /// Whether it links to the page itself rather than to another representation.
    pub(crate) fn is_page(&self) -> bool {
        let pages = ["text/html", "application/xhtml+xml", "html", "xhtml"];
        let mime = self.mime.as_deref().map(|mime| mime.split(';').next().unwrap_or(mime).trim());
        self.rel == Rel::Alternate
            && mime.is_none_or(|mime| pages.iter().any(|page| mime.eq_ignore_ascii_case(page)))
    }
}

/// A link relation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Rel {
    /// The page itself; the default relation.
    #[default]
    Alternate,
    /// The document's own URL.
    SelfLink,
    /// A WebSub hub.
    Hub,
    /// The next page (RFC 5005).
    Next,
    /// The previous page (RFC 5005).
    Previous,
    /// The first page (RFC 5005).
    First,
    /// The last page (RFC 5005).
    Last,
    /// The archive document before this one (RFC 5005).
    PrevArchive,
    /// The archive document after this one (RFC 5005).
    NextArchive,
    /// The current document of an archived feed (RFC 5005).
    Current,
    /// A related resource.
    Related,
    /// The source of the information.
    Via,
    /// Comments on the entry (RFC 4685).
    Replies,
    /// Any other relation, as written.
    Other(Box<str>),
}

impl Rel {
    pub(crate) fn from_attribute(value: &str) -> Self {
        let value = value.trim();
        // Relations may be written as URLs of the IANA registry.
        let short = value.strip_prefix("http://www.iana.org/assignments/relation/").unwrap_or(value);
        if short.is_empty() {
            return Self::Alternate;
        }
        let known = RELATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(short));
        known.map_or_else(|| Self::Other(short.into()), |(_, rel)| rel.clone())
    }
}

/// Link relations by name, the most common first.
const RELATIONS: &[(&str, Rel)] = &[
    ("alternate", Rel::Alternate),
    ("self", Rel::SelfLink),
    ("replies", Rel::Replies),
    ("related", Rel::Related),
    ("via", Rel::Via),
    ("hub", Rel::Hub),
    ("next", Rel::Next),
    ("previous", Rel::Previous),
    ("prev", Rel::Previous),
    ("first", Rel::First),
    ("last", Rel::Last),
    ("prev-archive", Rel::PrevArchive),
    ("next-archive", Rel::NextArchive),
    ("current", Rel::Current),
];

/// What was wrong with a document and was repaired. All `false` for a valid document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Repairs {
    /// The document ended early: elements were still open, or the JSON was incomplete. Complete entries are kept.
    pub truncated: bool,
    /// Some bytes were not valid in the encoding that the document or its server claims.
    pub bad_encoding: bool,
    /// Control characters were removed.
    pub control_characters: bool,
    /// There was something other than XML before the root element.
    pub junk_before_root: bool,
    /// There was something after the root element.
    pub junk_after_root: bool,
    /// The root element is missing.
    pub no_root: bool,
    /// Ampersands that start no known reference were taken literally.
    pub bad_references: bool,
    /// End tags were missing, misspelt or misplaced.
    pub bad_nesting: bool,
    /// CDATA sections were nested or unclosed.
    pub bad_cdata: bool,
    /// Undeclared namespace prefixes were given their usual meaning.
    pub undeclared_prefixes: bool,
    /// Tags or attributes were malformed, for example without quotes or `>`.
    pub bad_tags: bool,
    /// There were more entries than [`Limits::entries`](crate::Limits::entries); the first ones were kept.
    pub entries_dropped: bool,
    /// A text was longer than [`Limits::field_bytes`](crate::Limits::field_bytes) and was truncated.
    pub fields_cut: bool,
}

impl Repairs {
    /// Whether anything was wrong.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}
