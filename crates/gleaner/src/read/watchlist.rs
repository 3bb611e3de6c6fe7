//! Reads an index page: each link is an entry, whose content is on its own page.

use gleaner_core::classify::Fault;
use gleaner_core::link;
use gleaner_core::post::Entry;

use super::links::{self, Link};
use super::{Document, Lack, Page, Rules, glance};

/// Reads the links that `article_selector` selects, or else those that look like articles.
pub fn read(page: &Page<'_>, rules: &Rules<'_>) -> Result<Document, Fault> {
    page.html()?;
    if let Some(wall) = glance::bot_wall(page) {
        return Err(Fault::Unreadable(wall.message("page")));
    }
    let links = match rules.article_selector {
        Some(selector) => links::select(page, selector).map_err(|why| Fault::Unreadable(why.to_string()))?,
        None => links::guess(page),
    };
    let lacks = links.is_empty().then_some(match rules.article_selector {
        Some(_) => Lack::NothingSelected,
        None => Lack::NoLinks,
    });
    Ok(Document { lacks, entries: links.into_iter().map(entry).collect(), ..Document::default() })
}

fn entry(link: Link) -> Entry {
    let Link { url, title, published_at } = link;
    // The URL identifies the entry, since an index may rename its links.
    let guid = Some(link::canonical(url.as_str()));
    Entry { guid, url: Some(url.into()), title, published_at, ..Entry::default() }
}
