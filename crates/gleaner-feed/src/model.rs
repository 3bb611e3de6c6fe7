//! What a feed says, in one form for all formats.
//!
//! Values are owned and as the feed has them: trimmed, decoded once, links made absolute, HTML neither cleaned nor
//! rewritten. Times are milliseconds since the Unix epoch, UTC.

use std::borrow::Cow;

mod entry;
mod schedule;
mod string;
mod text;

pub use entry::{Category, Content, Enclosure, Entry, Itunes, Media, Person, Place, Source};
pub use schedule::{Hours, Period, Schedule, Weekdays};
pub(crate) use string::Shelf;
pub use string::Str;
pub use text::{Text, TextKind};

/// A feed and its entries, in document order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Feed {
    /// The format that the document is written in.
    pub format: Format,
    /// The version that the document gives itself, for example `2.0`.
    pub version: Option<Str>,
    /// The encoding that the document was decoded from, by its name in the WHATWG Encoding Standard.
    pub encoding: &'static str,
    /// The identifier (Atom), or what the RDF channel is about.
    pub id: Option<Str>,
    /// The title.
    pub title: Option<Text>,
    /// The description, subtitle or tagline.
    pub description: Option<Text>,
    /// The page that the feed is about.
    pub link: Option<Str>,
    /// All other links, in document order; see also [`Feed::self_link`] and its kin.
    pub links: Vec<Link>,
    /// The language, as given.
    pub language: Option<Str>,
    /// A small square image.
    pub icon: Option<Str>,
    /// A larger image: Atom's `logo`, RSS's `image`, the podcast's cover.
    pub image: Option<Str>,
    /// Copyright.
    pub rights: Option<Text>,
    /// The software that wrote the feed.
    pub generator: Option<Str>,
    /// When the feed was published.
    pub published: Option<i64>,
    /// When the feed last changed, by its own account.
    pub updated: Option<i64>,
    /// Who writes it.
    pub authors: Vec<Person>,
    /// What it is about.
    pub categories: Vec<Category>,
    /// How often it wants to be asked.
    pub schedule: Schedule,
    /// Podcast fields.
    pub itunes: Option<Box<Itunes>>,
    /// The complete entries, in document order.
    pub entries: Vec<Entry>,
    /// The entry in which the document ended early: its last fields are missing or cut, so it is not among
    /// [`Feed::entries`].
    pub cut_entry: Option<Box<Entry>>,
    /// What was wrong with the document.
    pub repairs: Repairs,
}

impl Feed {
    /// The feed's own address.
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

    /// The archive that precedes this document (RFC 5005).
    pub fn prev_archive(&self) -> Option<&str> {
        self.link_with(&Rel::PrevArchive)
    }

    /// The first link of the given relation.
    pub fn link_with(&self, rel: &Rel) -> Option<&str> {
        self.links.iter().find(|link| link.rel == *rel).map(|link| link.href.as_str())
    }
}

/// The family of formats that a document belongs to.
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
    /// The address, absolute wherever a base is known.
    pub href: Str,
    /// What the address is to the feed or entry.
    pub rel: Rel,
    /// Its media type.
    pub mime: Option<Cow<'static, str>>,
    /// Its title.
    pub title: Option<Str>,
    /// The language of what it leads to.
    pub hreflang: Option<Str>,
}

impl Link {
    pub(crate) fn new(href: Str, rel: Rel) -> Self {
        Self { href, rel, mime: None, title: None, hreflang: None }
    }

    /// Whether it leads to the page itself, not to another form of it.
    pub(crate) fn is_page(&self) -> bool {
        let pages = ["text/html", "application/xhtml+xml", "html", "xhtml"];
        let mime = self.mime.as_deref().map(|mime| mime.split(';').next().unwrap_or(mime).trim());
        self.rel == Rel::Alternate
            && mime.is_none_or(|mime| pages.iter().any(|page| mime.eq_ignore_ascii_case(page)))
    }
}

/// What a link is to the feed or entry that has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Rel {
    /// The page itself; what a link without relation means.
    #[default]
    Alternate,
    /// The document's own address.
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
    /// The preceding archive (RFC 5005).
    PrevArchive,
    /// The following archive (RFC 5005).
    NextArchive,
    /// The current document of an archived feed (RFC 5005).
    Current,
    /// Something related.
    Related,
    /// Where the information came from.
    Via,
    /// Comments on the entry (RFC 4685).
    Replies,
    /// Any other relation, as given.
    Other(Box<str>),
}

impl Rel {
    pub(crate) fn from_attribute(value: &str) -> Self {
        let value = value.trim();
        // Relations may be written as addresses in the registry they are from.
        let short = value.strip_prefix("http://www.iana.org/assignments/relation/").unwrap_or(value);
        if short.is_empty() {
            return Self::Alternate;
        }
        let known = RELATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(short));
        known.map_or_else(|| Self::Other(short.into()), |(_, rel)| rel.clone())
    }
}

/// The relations by their names, the usual ones first.
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

/// What was wrong with a document, and made good. All `false` for a sound one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Repairs {
    /// The document ended early: elements were still open, or the JSON stopped. Its complete entries are kept.
    pub truncated: bool,
    /// The bytes were not in the encoding that the document or its server claims.
    pub bad_encoding: bool,
    /// Control characters were taken out.
    pub control_characters: bool,
    /// Something that is no XML came before the root element.
    pub junk_before_root: bool,
    /// Something came after the root element.
    pub junk_after_root: bool,
    /// The root element is missing.
    pub no_root: bool,
    /// Ampersands that begin no known reference were taken literally.
    pub bad_references: bool,
    /// End tags were missing, misspelt or in the wrong place.
    pub bad_nesting: bool,
    /// CDATA sections were nested or not closed.
    pub bad_cdata: bool,
    /// Prefixes without declaration were understood by their usual meaning.
    pub undeclared_prefixes: bool,
    /// Tags or attributes were malformed: no quotes, no `>`.
    pub bad_tags: bool,
    /// There were more entries than [`Limits::entries`](crate::Limits::entries); the first ones are kept.
    pub entries_dropped: bool,
    /// A text was longer than [`Limits::field_bytes`](crate::Limits::field_bytes) and was cut.
    pub fields_cut: bool,
}

impl Repairs {
    /// Whether anything was wrong.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}
