//! Which feeds a web page advertises: `<link rel="alternate" type="application/rss+xml" href="…">`.
//!
//! Reads no more of the page than it must: the head, or where that names no feed, the page up to a limit.
//! Absent on purpose: guesses. Neither ordinary links that look like feeds nor addresses such as `/feed` are
//! offered, and nothing is fetched.

use std::borrow::Cow;
use std::ops::ControlFlow;

use url::Url;

use super::html::{Tag, Token, Tokens};
use super::text::plain_text;

/// How much of a page is read. Some sites put a megabyte of script before their links.
const PAGE_LIMIT: usize = 2 << 20;

/// How many feeds are offered. A page with more is a directory, or means harm.
const FEED_LIMIT: usize = 50;

/// Longer addresses are not believed.
const URL_LIMIT: usize = 4096;

/// Titles are cut to so many characters.
const TITLE_LIMIT: usize = 200;

/// A feed that a page names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedLink {
    /// Where it is, absolute.
    pub url: Url,
    /// What the page calls it, as plain text.
    pub title: Option<String>,
    /// The format the page says it has.
    pub format: FeedFormat,
}

/// The format of a feed, as its page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedFormat {
    /// RSS, RDF included.
    Rss,
    /// Atom.
    Atom,
    /// JSON Feed.
    Json,
    /// Some XML, or not said.
    Unknown,
}

/// The feeds that `page`, found at `url`, advertises: in page order, but comments last. Each once.
pub fn feeds(page: &[u8], url: &Url) -> Vec<FeedLink> {
    let page = page.get(..PAGE_LIMIT).unwrap_or(page);
    let mut found = Found::default();
    for token in Tokens::new(page) {
        if let Token::Tag(tag) = token
            && found.take(&tag).is_break()
        {
            break;
        }
    }
    found.resolve(url)
}

/// What was found so far; addresses as written, since `<base>` may follow them.
#[derive(Default)]
struct Found<'a> {
    base: Option<&'a [u8]>,
    links: Vec<(&'a [u8], Option<String>, FeedFormat)>,
}

impl<'a> Found<'a> {
    fn take(&mut self, tag: &Tag<'a>) -> ControlFlow<()> {
        if tag.is("body") || (tag.end && tag.is("head")) {
            // Links behind the head are damage, but common; with a feed in hand there is no need to look.
            return if self.links.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        }
        if tag.end {
            return ControlFlow::Continue(());
        }
        if tag.is("base") {
            self.base = self.base.or_else(|| tag.attribute("href"));
        } else if tag.is("link") {
            self.links.extend(feed_link(tag));
        }
        if self.links.len() < FEED_LIMIT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn resolve(self, url: &Url) -> Vec<FeedLink> {
        let base = self.base.and_then(|href| absolute(href, url)).unwrap_or_else(|| url.clone());
        let mut feeds: Vec<FeedLink> = Vec::new();
        for (href, title, format) in self.links {
            if let Some(url) = absolute(href, &base)
                && feeds.iter().all(|feed| feed.url != url)
            {
                feeds.push(FeedLink { url, title, format });
            }
        }
        // Stable: otherwise the page's order stands.
        feeds.sort_by_key(FeedLink::is_of_comments);
        feeds
    }
}

/// A `<link>`, if it names a feed.
fn feed_link<'a>(tag: &Tag<'a>) -> Option<(&'a [u8], Option<String>, FeedFormat)> {
    let (mut rel, mut kind, mut href, mut title) = (None, None, None, None);
    for (name, value) in tag.attributes() {
        let slot = match name.to_ascii_lowercase().as_slice() {
            b"rel" => &mut rel,
            b"type" => &mut kind,
            b"href" => &mut href,
            b"title" => &mut title,
            _ => continue,
        };
        // As in a browser, the first of two counts.
        slot.get_or_insert(value);
    }
    let href = href.filter(|href| !href.trim_ascii().is_empty() && href.len() <= URL_LIMIT)?;
    let title = title.map(|title| title_text(&decoded(title))).filter(|title| !title.is_empty());
    let rel = decoded(rel?).to_ascii_lowercase();
    let has = |word| rel.split_ascii_whitespace().any(|found| found == word);
    let format = format(&decoded(kind.unwrap_or_default()), title.as_deref());
    let format = match format {
        Some(format) if has("alternate") || has("feed") => format,
        // The older way to say it, before types were asked for.
        None if has("feed") && kind.is_none() => FeedFormat::Unknown,
        _ => return None,
    };
    if has("stylesheet") { None } else { Some((href, title, format)) }
}

/// The format that a media type means, if a feed's. Types that say too little need a title that says more:
/// many pages name their API as alternate JSON, or an XML of another sort.
fn format(media_type: &str, title: Option<&str>) -> Option<FeedFormat> {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let titled = |words: &[&str]| {
        let title = title.unwrap_or_default().to_lowercase();
        words.iter().any(|word| title.contains(word))
    };
    match essence.as_str() {
        "application/rss+xml"
        | "application/rdf+xml"
        | "application/x-rss+xml"
        | "text/rss+xml"
        | "application/rss" => Some(FeedFormat::Rss),
        "application/atom+xml" | "application/x-atom+xml" | "application/atom" => Some(FeedFormat::Atom),
        "application/feed+json" => Some(FeedFormat::Json),
        "application/json" if titled(&["feed"]) => Some(FeedFormat::Json),
        "application/xml" | "text/xml" if titled(&["feed", "rss", "atom"]) => Some(FeedFormat::Unknown),
        _ => None,
    }
}

/// An attribute's value as text.
fn decoded(value: &[u8]) -> String {
    htmlize::unescape_attribute(String::from_utf8_lossy(value)).into_owned()
}

/// A title as plain text. Some sites put markup into theirs.
fn title_text(title: &str) -> String {
    let text = plain_text(title);
    match text.char_indices().nth(TITLE_LIMIT) {
        Some((end, _)) => text.get(..end).unwrap_or_default().trim_end().to_owned(),
        None => text,
    }
}

/// An address on the web, from an attribute's value.
fn absolute(href: &[u8], base: &Url) -> Option<Url> {
    let href = decoded(href);
    let href = href.trim();
    let href = match href.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("feed:")) {
        // `feed:https://…` wraps an address, `feed://…` stands for http.
        Some(_) => match href.get(5..).unwrap_or_default() {
            rest if rest.starts_with("//") => Cow::Owned(format!("http:{rest}")),
            rest => Cow::Borrowed(rest),
        },
        None => Cow::Borrowed(href),
    };
    let mut url = base.join(&href).ok()?;
    url.set_fragment(None);
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

impl FeedLink {
    /// Whether it seems to hold the comments on a site or a post, in the words of the common blog systems.
    pub fn is_of_comments(&self) -> bool {
        const WORDS: [&str; 6] = ["comment", "kommentar", "comentario", "comentário", "commenti", "reacties"];
        let title = self.title.as_deref().unwrap_or_default().to_lowercase();
        let in_title = WORDS.iter().any(|word| title.contains(word) && !title.contains("commentary"));
        in_title || self.url.path().to_ascii_lowercase().contains("comment")
    }
}
