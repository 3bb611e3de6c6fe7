//! Finds the links of an index page that lead to articles: by a CSS selector, or by heuristics.
//!
//! The heuristics consider all links of the page together: their texts, their URLs, their position, and which lists
//! they form. There are no rules for particular sites, and nothing is fetched.

mod address;
mod attributes;
mod build;
mod candidate;
mod classes;
mod data;
mod dates;
mod items;
mod open;
mod outline;
mod path_words;
mod products;
mod region;
mod score;
mod select;
mod title;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use gleaner_core::time::Time;
use url::Url;

use self::address::IndexPage;
use self::candidate::Candidate;
use self::data::ListedItem;
use self::items::Item;
use self::outline::Outline;
use self::score::LinkEvidence;
use self::title::Title;
use super::selector::{Selector, SelectorError};
use super::{Page, decode, tree};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Absolute, without a fragment.
    pub url: Url,
    /// The heading or text of the link.
    pub title: Option<String>,
    /// From a date beside the link or in its URL.
    pub published_at: Option<Time>,
}

/// Minimum number of links in JSON-LD to count as a list.
const MIN_LIST_LENGTH: usize = 3;

/// Checks whether a selector is valid; returns what is wrong if not.
pub fn check_selector(selector: &str) -> Result<(), String> {
    Selector::parse(selector).map(drop).map_err(|bad| bad.to_string())
}

/// The links that a CSS selector selects, in page order, each once. It may match anchors, their ancestors or their
/// descendants.
pub fn select(page: &Page<'_>, selector: &str) -> Result<Vec<Link>, SelectorError> {
    let selector = Selector::parse(selector)?;
    let html = text(page);
    let urls = select::addresses(&tree::parse(&html), &selector, page.url)?;
    let selected: HashSet<String> = urls.iter().map(address::key).collect();
    let is_selected = |candidate: &Candidate| selected.contains(&candidate.address.key);
    let found = PageLinks::collect(page, &html, |candidates| candidates.iter().map(is_selected).collect());
    let mut described: HashMap<String, Link> = HashMap::new();
    for (candidate, item) in found.candidates.into_iter().zip(&found.items) {
        if selected.contains(&candidate.address.key) {
            described.insert(candidate.address.key.clone(), link(candidate, item));
        }
    }
    let links = urls.into_iter().map(|url| {
        let (title, published_at) = match described.remove(&address::key(&url)) {
            Some(link) => (link.title, link.published_at),
            None => (None, None),
        };
        Link { url, title, published_at }
    });
    Ok(links.collect())
}

/// The links that look like articles, in page order, each once; empty if none do.
pub fn guess(page: &Page<'_>) -> Vec<Link> {
    let html = text(page);
    let found = PageLinks::collect(page, &html, may_be_articles);
    let listed = data::lists(&found.outline.data);
    let chosen = choose(&found, &listed);
    if !chosen.contains(&true) {
        return from_data(&found.index_page, &listed);
    }
    let all = found.candidates.into_iter().zip(&found.items).zip(chosen);
    all.filter_map(|((candidate, item), chosen)| chosen.then(|| link(candidate, item))).collect()
}

/// Decodes the page.
fn text<'a>(page: &Page<'a>) -> Cow<'a, str> {
    decode::decode(page.body, page.content_type)
}

/// The links of a page, and what is around them.
struct PageLinks<'a> {
    outline: Outline<'a>,
    index_page: IndexPage<'a>,
    candidates: Vec<Candidate>,
    items: Vec<Item>,
}

impl<'a> PageLinks<'a> {
    /// Only the candidates selected by `which` separate items.
    fn collect(page: &Page<'a>, html: &'a str, which: impl Fn(&[Candidate]) -> Vec<bool>) -> Self {
        let outline = Outline::build(html);
        let index_page = IndexPage::new(page.url, outline.base.as_deref());
        let (mut candidates, candidate_of_anchor) = candidate::all(&outline, &index_page);
        let items = items::find(&outline, &candidates, &candidate_of_anchor, &which(&candidates));
        for (candidate, item) in candidates.iter_mut().zip(&items) {
            if let Some(heading) = item.heading.filter(|_| candidate.title.is_empty()) {
                candidate.title = Title::from_heading(&outline.headings[heading].text);
            }
        }
        Self { outline, index_page, candidates, items }
    }
}

/// Which links may be the subject of a list item: those with a title, and similar ones.
fn may_be_articles(candidates: &[Candidate]) -> Vec<bool> {
    let mut kinds: HashMap<u64, (usize, usize)> = HashMap::new();
    for candidate in candidates {
        let (all, titled) = kinds.entry(candidate.kind).or_default();
        *all += 1;
        *titled += usize::from(is_titled(candidate));
    }
    let alike = |candidate: &Candidate| {
        let (all, titled) = kinds.get(&candidate.kind).copied().unwrap_or_default();
        titled * 3 >= all
    };
    let may_be = |candidate: &Candidate| {
        (is_titled(candidate) || alike(candidate)) && !candidate.is_listing() && !candidate.prose
    };
    candidates.iter().map(may_be).collect()
}

/// Whether a link has a title, or may have one beside it.
fn is_titled(candidate: &Candidate) -> bool {
    let title = &candidate.title;
    let wordless = title.is_empty() && (candidate.image || candidate.bare);
    title.is_likely() || wordless
}

/// Which of the candidates look like articles.
fn choose(found: &PageLinks<'_>, listed: &[ListedItem]) -> Vec<bool> {
    let mut in_data: HashMap<String, bool> = HashMap::new();
    for entry in listed {
        if let Some(address) = found.index_page.address(&entry.href) {
            in_data.insert(address.key, entry.is_other_type);
        }
    }
    let mut evidence = Vec::with_capacity(found.candidates.len());
    for (candidate, item) in found.candidates.iter().zip(&found.items) {
        let other = in_data.get(&candidate.address.key).copied();
        evidence.push(LinkEvidence {
            candidate,
            item,
            listed: other == Some(false),
            listed_as_other: other == Some(true),
        });
    }
    score::choose(&evidence, found.index_page.is_offer())
}

fn link(candidate: Candidate, item: &Item) -> Link {
    let date = item.date.or_else(|| dates::of_url(&candidate.address.url));
    Link {
        title: Some(title::without_date(&candidate.title.text).to_owned()).filter(|title| !title.is_empty()),
        published_at: date.map(Time::from_millis),
        url: candidate.address.url,
    }
}

/// The articles of the page's own site that its JSON-LD lists.
fn from_data(index_page: &IndexPage<'_>, listed: &[ListedItem]) -> Vec<Link> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for entry in listed.iter().filter(|entry| !entry.is_other_type) {
        if let Some(address) = index_page.address(&entry.href)
            && address.same_site
            && !address.listing
            && !address.offer
            && seen.insert(address.key)
        {
            let published_at = dates::of_url(&address.url).map(Time::from_millis);
            found.push(Link { url: address.url, title: entry.title.clone(), published_at });
        }
    }
    if found.len() < MIN_LIST_LENGTH { Vec::new() } else { found }
}

#[cfg(test)]
mod tests;
