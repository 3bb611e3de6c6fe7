//! Links of an index page that lead to articles: by a selector, or by what they look like.
//!
//! The guess looks at all links of the page's site at once: what they are called, where they lead, where they
//! stand, and with which others they form a list. Absent on purpose: fetching what they lead to, and rules for
//! particular sites.

mod address;
mod attributes;
mod build;
mod candidate;
mod classes;
mod data;
mod dates;
mod items;
mod offers;
mod open;
mod outline;
mod region;
mod score;
mod select;
mod title;
mod words;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use gleaner_core::time::Time;
use url::Url;

use self::address::Home;
use self::candidate::Candidate;
use self::data::Listed;
use self::items::Item;
use self::outline::Outline;
use self::score::Signs;
use self::title::Title;
use super::selector::{Selector, SelectorError};
use super::{Page, decode, tree};

/// A link to an article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, absolute, without a fragment.
    pub url: Url,
    /// What the page calls it: the heading or the text of the link.
    pub title: Option<String>,
    /// When that was published, if it stands beside it or in its address.
    pub published_at: Option<Time>,
}

/// So many links in a page's data are a list.
const LIST: usize = 3;

/// Whether a selector can be used; what is wrong where it cannot.
pub fn check_selector(selector: &str) -> Result<(), String> {
    Selector::parse(selector).map(drop).map_err(|bad| bad.to_string())
}

/// Links by a CSS selector, in page order, each once. It may match anchors, what has one in it, or what is in one.
pub fn select(page: &Page<'_>, selector: &str) -> Result<Vec<Link>, SelectorError> {
    let selector = Selector::parse(selector)?;
    let html = text(page);
    let urls = select::addresses(&tree::parse(&html), &selector, page.url)?;
    let selected: HashSet<String> = urls.iter().map(address::key).collect();
    let is_selected = |candidate: &Candidate| selected.contains(&candidate.address.key);
    let found = Found::on(page, &html, |candidates| candidates.iter().map(is_selected).collect());
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

/// Links that look like articles, in page order, each once; none where nothing looks like one.
pub fn guess(page: &Page<'_>) -> Vec<Link> {
    let html = text(page);
    let found = Found::on(page, &html, may_be_articles);
    let listed = data::lists(&found.outline.data);
    let chosen = choose(&found, &listed);
    if !chosen.contains(&true) {
        return from_data(&found.home, &listed);
    }
    let all = found.candidates.into_iter().zip(&found.items).zip(chosen);
    all.filter_map(|((candidate, item), chosen)| chosen.then(|| link(candidate, item))).collect()
}

/// The page as text.
fn text<'a>(page: &Page<'a>) -> Cow<'a, str> {
    decode::decode(page.body, page.content_type)
}

/// What there is on a page.
struct Found<'a> {
    outline: Outline<'a>,
    home: Home<'a>,
    candidates: Vec<Candidate>,
    items: Vec<Item>,
}

impl<'a> Found<'a> {
    /// Items are told apart by the candidates that `which` tells.
    fn on(page: &Page<'a>, html: &'a str, which: impl Fn(&[Candidate]) -> Vec<bool>) -> Self {
        let outline = Outline::of(html);
        let home = Home::new(page.url, outline.base.as_deref());
        let (mut candidates, leads) = candidate::all(&outline, &home);
        let items = items::of(&outline, &candidates, &leads, &which(&candidates));
        for (candidate, item) in candidates.iter_mut().zip(&items) {
            if let Some(heading) = item.heading.filter(|_| candidate.title.is_empty()) {
                candidate.title = Title::beside(&outline.headings[heading].text);
            }
        }
        Self { outline, home, candidates, items }
    }
}

/// Which links may be what the items of a list are about: those with a title, and their like.
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
fn choose(found: &Found<'_>, listed: &[Listed]) -> Vec<bool> {
    let mut in_data: HashMap<String, bool> = HashMap::new();
    for entry in listed {
        if let Some(address) = found.home.address(&entry.href) {
            in_data.insert(address.key, entry.other);
        }
    }
    let mut signs = Vec::with_capacity(found.candidates.len());
    for (candidate, item) in found.candidates.iter().zip(&found.items) {
        let other = in_data.get(&candidate.address.key).copied();
        signs.push(Signs { candidate, item, listed: other == Some(false), offered: other == Some(true) });
    }
    score::choose(&signs, found.home.is_offer())
}

fn link(candidate: Candidate, item: &Item) -> Link {
    let date = item.date.or_else(|| dates::of_url(&candidate.address.url));
    Link {
        title: Some(title::without_date(&candidate.title.text).to_owned()).filter(|title| !title.is_empty()),
        published_at: date.map(Time::from_millis),
        url: candidate.address.url,
    }
}

/// The articles of the page's own site that its data lists.
fn from_data(home: &Home<'_>, listed: &[Listed]) -> Vec<Link> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for entry in listed.iter().filter(|entry| !entry.other) {
        if let Some(address) = home.address(&entry.href)
            && address.same_site
            && !address.listing
            && !address.offer
            && seen.insert(address.key)
        {
            let published_at = dates::of_url(&address.url).map(Time::from_millis);
            found.push(Link { url: address.url, title: entry.title.clone(), published_at });
        }
    }
    if found.len() < LIST { Vec::new() } else { found }
}

#[cfg(test)]
mod tests;
