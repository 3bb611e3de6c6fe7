//! The author of an article: as declared, or else as displayed.

use super::metadata::{PageMetadata, collapse};
use super::word_overlap::{is_month, same_words, words};

/// Longer texts are not names.
const MAX_NAME_BYTES: usize = 80;

/// Words that precede a name.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    "written by", "posted by", "published by", "reviewed by", "words by", "story by", "text by",
    "article by", "by", "author", "authors", "von", "par", "por", "di", "door", "przez", "autor", "auteur",
    "автор", "text",
];

/// `<meta>` names for the author, most reliable first.
#[rustfmt::skip]
const META_NAMES: &[&str] = &[
    "author", "article:author", "article:author_name", "parsely-author", "sailthru.author", "dc.creator",
    "dcterms.creator", "dc:creator", "byl", "citation_author", "twitter:data1",
];

/// Labels that stand in the place of a name.
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "author", "authors", "by", "about the author", "share", "follow", "posted", "published", "updated",
    "written by", "read more", "more", "view all posts", "author bio", "all posts", "linkedin", "twitter",
    "facebook", "minute read", "min read", "date", "category", "contributor", "contributors",
    "view profile", "about", "staff writer", "editor", "name", "table of contents", "bio", "website",
    "email", "see all posts", "reviewed by", "fact checked", "last updated", "edited by", "undefined",
    "null",
];

/// Names that identify nobody.
#[rustfmt::skip]
const PLACEHOLDER_NAMES: &[&str] = &[
    "admin", "administrator", "editor", "staff", "webmaster", "user", "guest", "root", "wpadmin", "anonymous",
];

pub(super) fn find(metadata: &PageMetadata) -> Option<String> {
    let declared = declared(metadata);
    let from_linked_data = from_linked_data(metadata);
    let is_somebody = |name: &&String| !is_site(name, metadata) && !is_placeholder(name);
    let first = declared
        .as_ref()
        .filter(is_somebody)
        .or_else(|| from_linked_data.as_ref().filter(is_somebody))
        .cloned();
    first.or_else(|| displayed(metadata)).or(from_linked_data).or(declared)
}

/// Whether a name is the site's own: any other name is preferred.
fn is_site(name: &str, metadata: &PageMetadata) -> bool {
    let joined = words(name).concat();
    let host = metadata.host.trim_start_matches("www.");
    let label = host.split('.').next().unwrap_or_default();
    metadata.site_name.as_ref().is_some_and(|site| same_words(site, name))
        || joined == words(host).concat()
        || joined == words(label).concat()
}

fn declared(metadata: &PageMetadata) -> Option<String> {
    META_NAMES.iter().find_map(|wanted| {
        // `twitter:data1` can be anything, unless its label says that it is the author.
        let label = metadata.first_meta(&["twitter:label1"]).unwrap_or_default().to_lowercase();
        if *wanted == "twitter:data1" && !label.contains("by") && !label.contains("author") {
            return None;
        }
        metadata.metas_named(wanted).find_map(|text| extract_name(text).or_else(|| as_declared(text)))
    })
}

/// A declared value is used whatever it looks like, unless it is a URL.
fn as_declared(text: &str) -> Option<String> {
    let valid =
        !text.trim().is_empty() && text.len() <= MAX_NAME_BYTES && !text.contains("://") && !is_label(text);
    valid.then(|| collapse(text))
}

fn from_linked_data(metadata: &PageMetadata) -> Option<String> {
    let names: Vec<String> =
        metadata.linked_data.authors().iter().filter_map(|author| extract_name(author)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn displayed(metadata: &PageMetadata) -> Option<String> {
    let mut bylines: Vec<_> = metadata.bylines.iter().collect();
    bylines.sort_by_key(|byline| byline.rank);
    bylines
        .into_iter()
        .find_map(|byline| first_name(&byline.text))
        .or_else(|| after_heading(&metadata.after_heading))
}

/// A name in a line directly after the heading: `By Jane Doe`.
fn after_heading(text: &str) -> Option<String> {
    let mut lines = text.lines().map(collapse).filter(|line| !line.is_empty()).take(20);
    while let Some(line) = lines.next() {
        let lower = line.to_lowercase();
        if ["by", "written by", "author:", "by:", "author", "posted by", "von"].contains(&lower.as_str()) {
            return extract_name(&lines.next()?).filter(|name| looks_like_a_person(name));
        }
        let by = ["by ", "written by ", "posted by ", "von "].iter().find(|by| lower.starts_with(*by));
        if by.is_some()
            && let Some(found) = extract_name(&line).filter(|name| looks_like_a_person(name))
        {
            return Some(found);
        }
    }
    None
}

fn first_name(lines: &str) -> Option<String> {
    lines.lines().find_map(|line| extract_name(line).filter(|name| !is_sentence(name)))
}

/// Whether most words are not capitalised, unlike in names.
fn is_sentence(name: &str) -> bool {
    let lower = name.split_whitespace().filter(|word| word.starts_with(char::is_lowercase)).count();
    let all = name.split_whitespace().count();
    all > 2 && lower * 2 > all
}

/// Two to four capitalised words.
fn looks_like_a_person(name: &str) -> bool {
    let words = name.split_whitespace().count();
    (2..=4).contains(&words)
        && name.split_whitespace().all(|word| word.len() < 4 || word.starts_with(char::is_uppercase))
}

/// Extracts a name from surrounding text; `None` if there is none.
fn extract_name(text: &str) -> Option<String> {
    let mut text = collapse(text);
    if text.contains("://") || text.contains("www.") || text.starts_with('@') || text.contains("{{") {
        return None;
    }
    while let Some(rest) = PREFIXES.iter().find_map(|before| strip_word(&text, before)) {
        text = rest;
    }
    for mark in
        ["|", "•", "·", " – ", " — ", " - ", "\u{200b}", " on ", " in ", " Updated", " Published", "("]
    {
        if let Some(at) = text.find(mark).filter(|at| *at > 0) {
            text.truncate(at);
        }
    }
    let text = text.trim_matches(|c: char| c.is_whitespace() || ",.:;-–—|/".contains(c));
    let valid = !text.is_empty()
        && text.len() <= MAX_NAME_BYTES
        && text.chars().any(char::is_alphabetic)
        && !text.chars().any(|c| c.is_ascii_digit())
        && text.split_whitespace().count() <= 10
        && !text.split_whitespace().any(is_month)
        && !is_label(text);
    valid.then(|| text.to_owned())
}

/// The text after the word `before`, ignoring case.
fn strip_word(text: &str, before: &str) -> Option<String> {
    let head = text.get(..before.len())?;
    let rest = text.get(before.len()..)?;
    let ends = rest.starts_with(|c: char| c == ':' || c.is_whitespace());
    (head.to_lowercase() == before && ends).then(|| rest.trim_start_matches([':', ' ']).to_owned())
}

fn is_label(text: &str) -> bool {
    LABELS.contains(&text.to_lowercase().trim_end_matches(':'))
}

fn is_placeholder(name: &str) -> bool {
    PLACEHOLDER_NAMES.contains(&name.to_lowercase().as_str())
}
