//! Reads an index page: each link is an entry, whose content is on its own page.

use gleaner_core::classify::Fault;
use gleaner_core::link;
use gleaner_core::post::Entry;

use super::links::{self, Link};
use super::{Document, MissingEntries, Page, ReadOptions, page_summary};

/// Reads the links that `article_selector` selects, or else those that look like articles.
pub fn read(page: &Page<'_>, rules: &ReadOptions<'_>) -> Result<Document, Fault> {
    page.html()?;
    if let Some(wall) = page_summary::bot_wall(page) {
        return Err(Fault::Unreadable(wall.message("page")));
    }
    let links = match rules.article_selector {
        Some(selector) => links::select(page, selector).map_err(|why| Fault::Unreadable(why.to_string()))?,
        None => links::guess(page),
    };
    let missing_entries = links.is_empty().then_some(match rules.article_selector {
        Some(_) => MissingEntries::SelectorMatchedNothing,
        None => MissingEntries::NoArticleLinks,
    });
    Ok(Document { missing_entries, entries: links.into_iter().map(entry).collect(), ..Document::default() })
}

fn entry(link: Link) -> Entry {
    let Link { url, title, published_at } = link;
    // The URL identifies the entry, since an index may rename its links.
    let guid = Some(link::canonical(url.as_str()));
    Entry { guid, url: Some(url.into()), title, published_at, ..Entry::default() }
}
