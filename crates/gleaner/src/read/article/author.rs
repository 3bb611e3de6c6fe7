//! Who wrote an article: what the page declares, then what it shows.

use super::facts::{Facts, folded};
use super::wording::{is_month, same_words, words};

/// A name is shorter.
const LONGEST: usize = 80;

/// Words before a name.
#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "written by", "posted by", "published by", "reviewed by", "words by", "story by", "text by",
    "article by", "by", "author", "authors", "von", "par", "por", "di", "door", "przez", "autor", "auteur",
    "автор", "text",
];

/// `<meta>` names that give the author, in the order in which they are believed.
#[rustfmt::skip]
const DECLARED: &[&str] = &[
    "author", "article:author", "article:author_name", "parsely-author", "sailthru.author", "dc.creator",
    "dcterms.creator", "dc:creator", "byl", "citation_author", "twitter:data1",
];

/// Words that stand where a name would.
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "author", "authors", "by", "about the author", "share", "follow", "posted", "published", "updated",
    "written by", "read more", "more", "view all posts", "author bio", "all posts", "linkedin", "twitter",
    "facebook", "minute read", "min read", "date", "category", "contributor", "contributors",
    "view profile", "about", "staff writer", "editor", "name", "table of contents", "bio", "website",
    "email", "see all posts", "reviewed by", "fact checked", "last updated", "edited by", "undefined",
    "null",
];

/// Names that say nothing.
#[rustfmt::skip]
const NOBODY: &[&str] = &[
    "admin", "administrator", "editor", "staff", "webmaster", "user", "guest", "root", "wpadmin", "anonymous",
];

/// The author of a page.
pub(super) fn of(facts: &Facts) -> Option<String> {
    let declared = declared(facts);
    let linked = linked(facts);
    let is_somebody = |name: &&String| !is_site(name, facts) && !is_nobody(name);
    let first =
        declared.as_ref().filter(is_somebody).or_else(|| linked.as_ref().filter(is_somebody)).cloned();
    first.or_else(|| shown(facts)).or(linked).or(declared)
}

/// Whether a name is the site's own: where there is another, that is the author.
fn is_site(name: &str, facts: &Facts) -> bool {
    let joined = words(name).concat();
    let host = facts.host.trim_start_matches("www.");
    let label = host.split('.').next().unwrap_or_default();
    facts.site_name.as_ref().is_some_and(|site| same_words(site, name))
        || joined == words(host).concat()
        || joined == words(label).concat()
}

fn declared(facts: &Facts) -> Option<String> {
    DECLARED.iter().find_map(|wanted| {
        // `twitter:data1` is anything, unless its label says so.
        let label = facts.meta_of(&["twitter:label1"]).unwrap_or_default().to_lowercase();
        if *wanted == "twitter:data1" && !label.contains("by") && !label.contains("author") {
            return None;
        }
        facts.metas_of(wanted).find_map(|text| name(text).or_else(|| as_stated(text)))
    })
}

/// What is declared is believed, whatever it looks like, unless it is an address.
fn as_stated(text: &str) -> Option<String> {
    let sound = !text.trim().is_empty() && text.len() <= LONGEST && !text.contains("://") && !is_label(text);
    sound.then(|| folded(text))
}

fn linked(facts: &Facts) -> Option<String> {
    let names: Vec<String> = facts.linked_data.authors().iter().filter_map(|author| name(author)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn shown(facts: &Facts) -> Option<String> {
    let mut bylines: Vec<_> = facts.bylines.iter().collect();
    bylines.sort_by_key(|byline| byline.rank);
    bylines.into_iter().find_map(|byline| first_name(&byline.text)).or_else(|| near(&facts.near))
}

/// A name that a line of its own right behind the heading gives: `By Jane Doe`.
fn near(text: &str) -> Option<String> {
    let mut lines = text.lines().map(folded).filter(|line| !line.is_empty()).take(20);
    while let Some(line) = lines.next() {
        let lower = line.to_lowercase();
        if ["by", "written by", "author:", "by:", "author", "posted by", "von"].contains(&lower.as_str()) {
            return name(&lines.next()?).filter(|name| looks_like_a_person(name));
        }
        let by = ["by ", "written by ", "posted by ", "von "].iter().find(|by| lower.starts_with(*by));
        if by.is_some()
            && let Some(found) = name(&line).filter(|name| looks_like_a_person(name))
        {
            return Some(found);
        }
    }
    None
}

fn first_name(lines: &str) -> Option<String> {
    lines.lines().find_map(|line| name(line).filter(|name| !is_sentence(name)))
}

/// Whether most words are such as names do not have.
fn is_sentence(name: &str) -> bool {
    let lower = name.split_whitespace().filter(|word| word.starts_with(char::is_lowercase)).count();
    let all = name.split_whitespace().count();
    all > 2 && lower * 2 > all
}

/// Two to four words, each with a capital.
fn looks_like_a_person(name: &str) -> bool {
    let words = name.split_whitespace().count();
    (2..=4).contains(&words)
        && name.split_whitespace().all(|word| word.len() < 4 || word.starts_with(char::is_uppercase))
}

/// A name out of what is around it; none where there is none.
fn name(text: &str) -> Option<String> {
    let mut text = folded(text);
    if text.contains("://") || text.contains("www.") || text.starts_with('@') || text.contains("{{") {
        return None;
    }
    while let Some(rest) = BEFORE.iter().find_map(|before| without(&text, before)) {
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
    let sound = !text.is_empty()
        && text.len() <= LONGEST
        && text.chars().any(char::is_alphabetic)
        && !text.chars().any(|c| c.is_ascii_digit())
        && text.split_whitespace().count() <= 10
        && !text.split_whitespace().any(is_month)
        && !is_label(text);
    sound.then(|| text.to_owned())
}

/// What follows `before` as a word, whatever its case.
fn without(text: &str, before: &str) -> Option<String> {
    let head = text.get(..before.len())?;
    let rest = text.get(before.len()..)?;
    let ends = rest.starts_with(|c: char| c == ':' || c.is_whitespace());
    (head.to_lowercase() == before && ends).then(|| rest.trim_start_matches([':', ' ']).to_owned())
}

/// Words that stand where a name would.
fn is_label(text: &str) -> bool {
    LABELS.contains(&text.to_lowercase().trim_end_matches(':'))
}

/// Names that say nothing.
fn is_nobody(name: &str) -> bool {
    NOBODY.contains(&name.to_lowercase().as_str())
}
