//! Links of an index page that lead to articles: by a selector, or by what they look like.
//!
//! The guess looks at all links of the page's site at once: what they are called, where they lead, where they
//! stand, and with which others they form a list. Absent on purpose: fetching what they lead to, and rules for
//! particular sites.

mod address;
mod build;
mod candidate;
mod classes;
mod data;
mod dates;
mod items;
mod offers;
mod outline;
mod region;
mod score;
mod title;

use std::collections::HashMap;

use gleaner_core::time::Time;
use url::Url;

use self::address::Home;
use self::candidate::Candidate;
use self::data::Listed;
use self::items::Item;
use self::outline::Outline;
use self::score::Signs;
use self::title::Title;
use super::Page;

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

/// Links that look like articles, in page order, each once; none where nothing looks like one.
pub fn guess(page: &Page<'_>) -> Vec<Link> {
    let html = String::from_utf8_lossy(page.body);
    let outline = Outline::of(&html);
    let home = Home::new(page.url, outline.base);
    let (mut candidates, leads) = candidate::all(&outline, &home);
    let items = items::of(&outline, &candidates, &leads, may_be_article);
    for (candidate, item) in candidates.iter_mut().zip(&items) {
        if let Some(heading) = item.heading.filter(|_| candidate.title.is_empty()) {
            candidate.title = Title::beside(&outline.headings[heading].text);
        }
    }
    let listed = data::lists(&outline.data);
    let chosen = choose(&home, &candidates, &items, &listed);
    let found: Vec<Link> = candidates
        .into_iter()
        .zip(items)
        .zip(chosen)
        .filter_map(|((candidate, item), chosen)| chosen.then(|| link(candidate, &item)))
        .collect();
    if found.is_empty() { from_data(&home, &listed) } else { found }
}

/// Whether a link may be what an item of a list is about.
fn may_be_article(candidate: &Candidate) -> bool {
    let title = &candidate.title;
    let named = title.width() >= 20 || title.is_heading() || (title.is_empty() && candidate.image);
    named && !candidate.address.listing && !candidate.prose
}

fn choose(
    home: &Home<'_>,
    candidates: &[Candidate],
    items: &[Item],
    listed: &[Listed],
) -> Vec<bool> {
    let mut in_data: HashMap<String, bool> = HashMap::new();
    for entry in listed {
        if let Some(address) = home.address(entry.href.as_bytes()) {
            in_data.insert(address.key, entry.other);
        }
    }
    let signs: Vec<Signs<'_>> = candidates
        .iter()
        .zip(items)
        .map(|(candidate, item)| {
            let other = in_data.get(&candidate.address.key).copied();
            Signs { candidate, item, listed: other == Some(false), offered: other == Some(true) }
        })
        .collect();
    score::choose(&signs, home.is_offer())
}

fn link(candidate: Candidate, item: &Item) -> Link {
    let date = item.date.or_else(|| dates::of_url(&candidate.address.url));
    Link {
        title: Some(candidate.title.text).filter(|title| !title.is_empty()),
        published_at: date.map(Time::from_millis),
        url: candidate.address.url,
    }
}

/// The articles of the page's own site that its data lists.
fn from_data(home: &Home<'_>, listed: &[Listed]) -> Vec<Link> {
    let mut seen = std::collections::HashSet::new();
    let mut found = Vec::new();
    for entry in listed.iter().filter(|entry| !entry.other) {
        if let Some(address) = home.address(entry.href.as_bytes())
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
