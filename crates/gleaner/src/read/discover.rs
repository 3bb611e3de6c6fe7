//! Finds the feeds that a page advertises: `<link rel="alternate" type="application/rss+xml" href="…">`.
//!
//! Reads only the head, or if that names no feed, the page up to a limit. It does not guess: neither ordinary links
//! that look like feeds nor paths such as `/feed` are returned, and nothing is fetched.

use std::borrow::Cow;
use std::ops::ControlFlow;

use url::Url;

use super::html::{Tag, Token, Tokens};
use super::text::plain_text;
use crate::truncate::truncate_chars;

/// Maximum bytes that are read. Some sites have a megabyte of scripts before their links.
const PAGE_LIMIT: usize = 2 << 20;

/// Maximum number of feeds. A page with more is a directory, or hostile.
const FEED_LIMIT: usize = 50;

/// Longer URLs are ignored.
const URL_LIMIT: usize = 4096;

/// Maximum characters of a title.
const TITLE_LIMIT: usize = 200;

/// A feed that a page advertises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedLink {
    pub url: Url,
    /// As plain text.
    pub title: Option<String>,
    /// The declared format.
    pub format: FeedFormat,
}

/// The declared format of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedFormat {
    /// RSS or RDF.
    Rss,
    Atom,
    Json,
    /// Some XML, or not declared.
    Unknown,
}

/// The feeds that `page`, fetched from `url`, advertises: in page order, but feeds of comments last. Each once.
pub fn feeds(page: &[u8], url: &Url) -> Vec<FeedLink> {
    let page = page.get(..PAGE_LIMIT).unwrap_or(page);
    let mut links_found = FeedLinks::default();
    for token in Tokens::new(page) {
        if let Token::Tag(tag) = token
            && links_found.add(&tag).is_break()
        {
            break;
        }
    }
    links_found.resolve(url)
}

/// The links found so far; URLs as written, since `<base>` may follow them.
#[derive(Default)]
struct FeedLinks<'a> {
    base: Option<&'a [u8]>,
    links: Vec<(&'a [u8], Option<String>, FeedFormat)>,
}

impl<'a> FeedLinks<'a> {
    fn add(&mut self, tag: &Tag<'a>) -> ControlFlow<()> {
        if tag.is("body") || (tag.end && tag.is("head")) {
            // Links after the head are invalid but common; if a feed was found there is no need to look.
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
        // Stable, so that the page's order is kept otherwise.
        feeds.sort_by_key(FeedLink::is_of_comments);
        feeds
    }
}

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
        // As in browsers, the first of duplicate attributes counts.
        slot.get_or_insert(value);
    }
    let href = href.filter(|href| !href.trim_ascii().is_empty() && href.len() <= URL_LIMIT)?;
    let title = title.map(|title| title_text(&decoded(title))).filter(|title| !title.is_empty());
    let rel = decoded(rel?).to_ascii_lowercase();
    let has = |word| rel.split_ascii_whitespace().any(|found| found == word);
    let format = format(&decoded(kind.unwrap_or_default()), title.as_deref());
    let format = match format {
        Some(format) if has("alternate") || has("feed") => format,
        // The older form, without a media type.
        None if has("feed") && kind.is_none() => FeedFormat::Unknown,
        _ => return None,
    };
    if has("stylesheet") { None } else { Some((href, title, format)) }
}

/// The feed format of a media type. Generic types need a title that says more: many pages list their API as
/// alternate JSON, or some other XML.
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

/// Decodes an attribute value.
fn decoded(value: &[u8]) -> String {
    htmlize::unescape_attribute(String::from_utf8_lossy(value)).into_owned()
}

/// A title as plain text, since some sites put markup into it.
fn title_text(title: &str) -> String {
    let text = plain_text(title);
    truncate_chars(&text, TITLE_LIMIT).trim_end().to_owned()
}

/// An absolute http or https URL.
fn absolute(href: &[u8], base: &Url) -> Option<Url> {
    let href = decoded(href);
    let href = href.trim();
    let href = match href.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("feed:")) {
        // `feed:https://…` wraps a URL, `feed://…` stands for http.
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
    /// Whether it seems to be a feed of comments, by the words of common blog systems.
    pub fn is_of_comments(&self) -> bool {
        const WORDS: [&str; 6] = ["comment", "kommentar", "comentario", "comentário", "commenti", "reacties"];
        let title = self.title.as_deref().unwrap_or_default().to_lowercase();
        let in_title = WORDS.iter().any(|word| title.contains(word) && !title.contains("commentary"));
        in_title || self.url.path().to_ascii_lowercase().contains("comment")
    }
}
