//! Resolves relative links: against `xml:base`, then the feed's own link, then its URL.

use std::borrow::Cow;

use memchr::{memchr, memchr3};
use url::Url;

use crate::model::{Feed, Rel, Str};

/// Whether a link has a scheme, and needs no base.
pub(crate) fn is_absolute(link: &str) -> bool {
    let bytes = link.as_bytes();
    let scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let end = bytes.iter().take(32).position(|byte| !scheme(byte));
    bytes.first().is_some_and(u8::is_ascii_alphabetic) && end.is_some_and(|end| bytes[end] == b':')
}

/// Repairs a link: removes line breaks and one level of surplus escaping.
pub(crate) fn clean(link: Cow<'_, str>) -> Cow<'_, str> {
    let link = match memchr3(b'\n', b'\r', b'\t', link.as_bytes()) {
        Some(_) => Cow::Owned(link.replace(['\n', '\r', '\t'], "")),
        None => link,
    };
    match memchr(b'&', link.as_bytes()).is_some_and(|at| link[at..].contains("&amp;")) {
        true => Cow::Owned(link.replace("&amp;", "&")),
        false => link,
    }
}

/// Resolves the remaining relative links once the whole feed is known.
pub(crate) fn finish(feed: &mut Feed, url: Option<&str>) {
    let url = url.and_then(|url| Url::parse(url).ok());
    let own = feed
        .link_with(&Rel::SelfLink)
        .filter(|link| is_absolute(link))
        .and_then(|link| Url::parse(link).ok());
    let document = url.or(own);
    // The feed's own links first, because the entries' links are relative to one of them.
    for link in feed.link.iter_mut().chain(feed.links.iter_mut().map(|link| &mut link.href)) {
        absolute(link, document.as_ref());
    }
    let page = feed.link.as_deref().filter(|link| is_absolute(link)).and_then(|link| Url::parse(link).ok());
    let Some(base) = page.or(document) else { return };
    for field in [&mut feed.icon, &mut feed.image].into_iter().flatten() {
        absolute(field, Some(&base));
    }
    for entry in feed.entries.iter_mut().chain(feed.cut_entry.as_deref_mut()) {
        entry_links(entry, &base);
    }
}

fn entry_links(entry: &mut crate::Entry, base: &Url) {
    for link in entry.link.iter_mut().chain(entry.links.iter_mut().map(|link| &mut link.href)) {
        absolute(link, Some(base));
    }
    for enclosure in &mut entry.enclosures {
        absolute(&mut enclosure.url, Some(base));
    }
    for media in &mut entry.media {
        for link in media.url.iter_mut().chain(&mut media.thumbnails) {
            absolute(link, Some(base));
        }
    }
    for field in [&mut entry.comments, &mut entry.comments_feed].into_iter().flatten() {
        absolute(field, Some(base));
    }
    if let Some(src) = entry.content.as_mut().and_then(|content| content.src.as_mut()) {
        absolute(src, Some(base));
    }
    if let Some(image) = entry.itunes.as_mut().and_then(|itunes| itunes.image.as_mut()) {
        absolute(image, Some(base));
    }
}

fn absolute(link: &mut Str, base: Option<&Url>) {
    if let Some(base) = base.filter(|_| !is_absolute(link))
        && let Ok(joined) = base.join(link)
    {
        *link = String::from(joined).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_recognised() {
        for link in ["http://example.com/", "mailto:me@example.com", "tag:example.com,2024:1", "urn:uuid:1"] {
            assert!(is_absolute(link), "{link}");
        }
        for link in ["/a", "a/b:c", "//example.com/", "", "?a=b:c", "#x", "1:2"] {
            assert!(!is_absolute(link), "{link}");
        }
    }

    #[test]
    fn links_are_cleaned() {
        assert_eq!(clean("http://example.com/\n ?a=1&amp;b=2".into()), "http://example.com/ ?a=1&b=2");
    }
}
