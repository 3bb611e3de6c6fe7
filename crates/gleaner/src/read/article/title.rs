//! The title of an article: what the page shows above it, if what it declares agrees.

use super::facts::Facts;
use super::wording::{overlap, words};

/// What sites put between a title and their name.
#[rustfmt::skip]
const SEPARATORS: &[&str] = &[
    " | ", " - ", " – ", " — ", " » ", " « ", " · ", " • ", " :: ", " / ", " ‹ ", " ~ ", "｜",
];

/// `<meta>` names that give the title, in the order in which they are believed.
#[rustfmt::skip]
const DECLARED: &[&str] = &[
    "og:title", "twitter:title", "dc.title", "dcterms.title", "parsely-title", "sailthru.title", "title",
];

/// Titles are cut to so many bytes.
const LONGEST: usize = 500;

/// The title of a page.
pub(super) fn of(facts: &Facts) -> Option<String> {
    let declared = declared(facts).filter(|declared| !says_nothing(declared, facts));
    let shown = shown(facts, declared.as_deref());
    let mut title = shown.or(declared).or_else(|| facts.headings.first().cloned())?;
    title.truncate(title.floor_char_boundary(LONGEST));
    Some(title).filter(|title| !title.is_empty())
}

/// What the page declares, without the site's name.
fn declared(facts: &Facts) -> Option<String> {
    let stated = facts.linked_data.headline().or_else(|| facts.meta_of(DECLARED));
    let stated = stated.map(|title| without_site(&title, facts));
    let from_tag = Some(without_site(&facts.title, facts)).filter(|title| !title.is_empty());
    match (stated, from_tag) {
        // A home page's title, put on all pages.
        (Some(stated), Some(tag)) if is_site(&stated, facts) && !is_site(&tag, facts) => Some(tag),
        (stated, from_tag) => stated.filter(|title| !title.is_empty()).or(from_tag),
    }
}

/// A declared title that says no more than where one is, where the page shows another.
fn says_nothing(declared: &str, facts: &Facts) -> bool {
    is_site(declared, facts) && facts.headings.iter().any(|heading| !is_site(heading, facts))
}

/// The heading that shows what is declared, in perhaps other words.
fn shown(facts: &Facts, declared: Option<&str>) -> Option<String> {
    let mut headings =
        facts.headings.iter().filter(|heading| !is_site(heading, facts) && heading.len() < LONGEST);
    let Some(declared) = declared else { return headings.next().cloned() };
    let agreement = |heading: &str| {
        // Of the tag, nearly all has to be there: it may hold the site's name, which may be a heading.
        let tag = overlap(heading, &facts.title) + overlap(&facts.title, heading).min(0.6);
        let both = overlap(heading, declared) + overlap(declared, heading);
        if tag >= 1.6 { both.max(tag) } else { both }
    };
    let best =
        headings.map(|heading| (agreement(heading), heading)).reduce(|a, b| if b.0 > a.0 { b } else { a });
    best.filter(|(agreement, _)| *agreement >= 0.8).map(|(_, heading)| heading.clone())
}

/// A title without the name of the site before or behind it.
fn without_site(title: &str, facts: &Facts) -> String {
    let mut title = title.trim();
    for _ in 0..3 {
        let last = SEPARATORS.iter().filter_map(|mark| Some((title.rfind(mark)?, mark.len()))).max();
        let first = SEPARATORS.iter().filter_map(|mark| Some((title.find(mark)?, mark.len()))).min();
        if let Some((at, length)) = last
            && let Some((before, after)) = title.split_at_checked(at)
            && is_named_as_site(after.get(length..).unwrap_or_default(), before, facts)
        {
            title = before.trim_end();
        } else if let Some((at, length)) = first
            && let Some((before, after)) = title.split_at_checked(at)
            && is_site(before, facts)
        {
            title = after.get(length..).unwrap_or_default().trim_start();
        } else {
            break;
        }
    }
    title.to_owned()
}

/// Whether what stands behind the last separator is the site's name: by its words, or because no heading has it.
fn is_named_as_site(part: &str, before: &str, facts: &Facts) -> bool {
    if is_site(part, facts) {
        return true;
    }
    let in_heading = facts.headings.iter().any(|heading| overlap(part, heading) > 0.6);
    !in_heading && words(part).len() <= 4 && words(before).len() >= words(part).len().max(2)
}

/// Whether a text is the site's name or its host's.
fn is_site(part: &str, facts: &Facts) -> bool {
    let plain = |text: &str| words(text).concat();
    let part = plain(part);
    if part.is_empty() {
        return true;
    }
    let site = facts.site_name.as_deref().map(plain).unwrap_or_default();
    let host = facts.host.trim_start_matches("www.");
    let labels = host.split('.').next().unwrap_or_default();
    part == site || part == plain(host) || (part.len() > 2 && part == plain(labels))
}
