//! The title of an article: the displayed heading, if it agrees with the declared title.

use super::metadata::PageMetadata;
use super::word_overlap::{overlap, words};

/// Separators between a title and the site's name.
#[rustfmt::skip]
const SEPARATORS: &[&str] = &[
    " | ", " - ", " – ", " — ", " » ", " « ", " · ", " • ", " :: ", " / ", " ‹ ", " ~ ", "｜",
];

/// `<meta>` names for the title, most reliable first.
#[rustfmt::skip]
const META_NAMES: &[&str] = &[
    "og:title", "twitter:title", "dc.title", "dcterms.title", "parsely-title", "sailthru.title", "title",
];

/// Titles are truncated to this length.
const MAX_TITLE_BYTES: usize = 500;

pub(super) fn find(metadata: &PageMetadata) -> Option<String> {
    let declared = declared(metadata).filter(|declared| !is_only_site_name(declared, metadata));
    let displayed = displayed(metadata, declared.as_deref());
    let mut title = displayed.or(declared).or_else(|| metadata.headings.first().cloned())?;
    title.truncate(title.floor_char_boundary(MAX_TITLE_BYTES));
    Some(title).filter(|title| !title.is_empty())
}

/// The declared title, without the site's name.
fn declared(metadata: &PageMetadata) -> Option<String> {
    let stated = metadata.linked_data.headline().or_else(|| metadata.first_meta(META_NAMES));
    let stated = stated.map(|title| without_site(&title, metadata));
    let from_tag = Some(without_site(&metadata.title, metadata)).filter(|title| !title.is_empty());
    match (stated, from_tag) {
        // A home page's title that was declared on all pages.
        (Some(stated), Some(tag)) if is_site(&stated, metadata) && !is_site(&tag, metadata) => Some(tag),
        (stated, from_tag) => stated.filter(|title| !title.is_empty()).or(from_tag),
    }
}

/// Whether a declared title is only the site's name while a heading says more.
fn is_only_site_name(declared: &str, metadata: &PageMetadata) -> bool {
    is_site(declared, metadata) && metadata.headings.iter().any(|heading| !is_site(heading, metadata))
}

/// The heading that best matches the declared title.
fn displayed(metadata: &PageMetadata, declared: Option<&str>) -> Option<String> {
    let mut headings = metadata
        .headings
        .iter()
        .filter(|heading| !is_site(heading, metadata) && heading.len() < MAX_TITLE_BYTES);
    let Some(declared) = declared else { return headings.next().cloned() };
    let agreement = |heading: &str| {
        // Most of the `<title>` must match: it may contain the site's name, which may be a heading.
        let tag = overlap(heading, &metadata.title) + overlap(&metadata.title, heading).min(0.6);
        let both = overlap(heading, declared) + overlap(declared, heading);
        if tag >= 1.6 { both.max(tag) } else { both }
    };
    let best =
        headings.map(|heading| (agreement(heading), heading)).reduce(|a, b| if b.0 > a.0 { b } else { a });
    best.filter(|(agreement, _)| *agreement >= 0.8).map(|(_, heading)| heading.clone())
}

/// Removes the site's name at the start or end of a title.
fn without_site(title: &str, metadata: &PageMetadata) -> String {
    let mut title = title.trim();
    for _ in 0..3 {
        let last = SEPARATORS.iter().filter_map(|mark| Some((title.rfind(mark)?, mark.len()))).max();
        let first = SEPARATORS.iter().filter_map(|mark| Some((title.find(mark)?, mark.len()))).min();
        if let Some((at, length)) = last
            && let Some((before, after)) = title.split_at_checked(at)
            && is_named_as_site(after.get(length..).unwrap_or_default(), before, metadata)
        {
            title = before.trim_end();
        } else if let Some((at, length)) = first
            && let Some((before, after)) = title.split_at_checked(at)
            && is_site(before, metadata)
        {
            title = after.get(length..).unwrap_or_default().trim_start();
        } else {
            break;
        }
    }
    title.to_owned()
}

/// Whether the part after the last separator is the site's name: by its words, or because no heading contains it.
fn is_named_as_site(part: &str, before: &str, metadata: &PageMetadata) -> bool {
    if is_site(part, metadata) {
        return true;
    }
    let in_heading = metadata.headings.iter().any(|heading| overlap(part, heading) > 0.6);
    !in_heading && words(part).len() <= 4 && words(before).len() >= words(part).len().max(2)
}

/// Whether a text is the name of the site or of its host.
fn is_site(part: &str, metadata: &PageMetadata) -> bool {
    let plain = |text: &str| words(text).concat();
    let part = plain(part);
    if part.is_empty() {
        return true;
    }
    let site = metadata.site_name.as_deref().map(plain).unwrap_or_default();
    let host = metadata.host.trim_start_matches("www.");
    let labels = host.split('.').next().unwrap_or_default();
    part == site || part == plain(host) || (part.len() > 2 && part == plain(labels))
}
