//! Posts to be read by people: found with the names of their sources, and their HTML made safe to show.
//!
//! What others wrote is shown as text with its structure: paragraphs, lists, tables, links to the web. Absent on
//! purpose: everything that acts, looks like a part of the page around it, or tells somebody that it was read.

use std::collections::HashMap;
use std::fmt;

use ammonia::{Builder, UrlRelative};
use dom_query::Document;
use gleaner_core::time::Time;
use url::Url;

use super::{By, Post, PostFilter, Scope, ServiceError, SourceFilter};
use crate::read::tree;
use crate::store::SourceName;

/// The longest HTML that is shown as such; of a longer one, the text is.
const LONGEST_HTML: usize = 2 << 20;
/// How much of a text is shown.
const LONGEST_TEXT: usize = 200_000;
/// So many sources are looked through, where they are named by a part of their name.
const MOST_SOURCES: u32 = 200;

/// What may stand in a text.
const TAGS: [&str; 56] = [
    "a",
    "abbr",
    "b",
    "bdi",
    "bdo",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "dd",
    "del",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "u",
    "ul",
    "var",
    "wbr",
];
/// What may stand in its tags.
const ATTRIBUTES: [(&str, &[&str]); 7] = [
    ("a", &["href"]),
    ("abbr", &["title"]),
    ("bdo", &["dir"]),
    ("ol", &["start"]),
    ("td", &["colspan", "rowspan"]),
    ("th", &["colspan", "rowspan"]),
    ("time", &["datetime"]),
];

/// HTML that was made safe to show; only this module makes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SafeHtml(String);

impl fmt::Display for SafeHtml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a post says, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// With its structure.
    Html(SafeHtml),
    /// As paragraphs of plain text.
    Text(Vec<String>),
}

/// A post to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The post itself.
    pub post: Post,
    /// What its source is called.
    pub source: String,
    /// What it says.
    pub shown: Shown,
    /// How many pictures belong to it.
    pub images: usize,
    /// The post of its source before this one.
    pub previous: Option<i64>,
    /// The post of its source after this one.
    pub next: Option<i64>,
}

/// Posts with what their sources are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The newest first, each with the beginning of its text.
    pub posts: Vec<Post>,
    /// Names by source.
    pub names: HashMap<i64, String>,
}

impl By<'_> {
    /// Posts, newest first, before that one, as a list shows them; `from` is a part of a source's name or URL.
    pub async fn find_posts(
        &self,
        filter: PostFilter,
        from: Option<&str>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Found, ServiceError> {
        self.actor.must(Scope::Read)?;
        let mut filter = PostFilter { brief: true, visibility: self.visibility().await?, ..filter };
        if let Some(text) = from.filter(|_| filter.source_ids.is_empty()) {
            let sources = SourceFilter {
                text: Some(text.to_owned()),
                collection_id: filter.collection_id,
                ..SourceFilter::default()
            };
            let sources = self.store.sources(&self.visible(&sources).await?, None, MOST_SOURCES).await?;
            if sources.is_empty() {
                return Ok(Found::default());
            }
            filter.source_ids = sources.into_iter().map(|source| source.id).collect();
        }
        let posts = self.store.posts(&filter, before, limit).await?;
        let mut ids: Vec<i64> = posts.iter().map(|post| post.source_id).chain(filter.source_ids).collect();
        ids.sort_unstable();
        ids.dedup();
        let names = self.visible_names(&ids).await?;
        let names = names.into_iter().map(|(id, name)| (id, called(name))).collect();
        Ok(Found { posts, names })
    }

    /// A post to be read, with its pictures or without.
    pub async fn read_post(&self, id: i64, images: bool) -> Result<Reading, ServiceError> {
        let post = self.post(id).await?;
        let (previous, next) = self.store.neighbours(post.source_id, id).await?;
        let name = self.visible_names(&[post.source_id]).await?.remove(&post.source_id);
        let source = name.map(called).unwrap_or_else(|| format!("source {}", post.source_id));
        // Cleaning takes its time, and is nothing for the async threads.
        let made = tokio::task::spawn_blocking(move || {
            let (shown, images) = shown(&post, images);
            Reading { post, source, shown, images, previous, next }
        });
        made.await.map_err(|_| ServiceError::conflict("interrupted", "gleaner is stopping; try again"))
    }
}

fn called(SourceName { name, url, .. }: SourceName) -> String {
    name.filter(|name| !name.trim().is_empty()).unwrap_or(url)
}

fn shown(post: &Post, images: bool) -> (Shown, usize) {
    let content = &post.content;
    let base = content.url.as_deref().and_then(|url| Url::parse(url).ok());
    let html = content.raw_content.as_deref().filter(|html| html.len() <= LONGEST_HTML);
    match html.map(|html| safe(html, base.as_ref(), images)) {
        Some((html, count)) if !html.0.trim().is_empty() => (Shown::Html(html), count),
        _ => (Shown::Text(paragraphs(&content.body)), 0),
    }
}

fn paragraphs(text: &str) -> Vec<String> {
    let text: String = text.chars().take(LONGEST_TEXT).collect();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Makes HTML safe to show, and tells how many pictures it has. Without them a word stands where each was.
fn safe(html: &str, base: Option<&Url>, images: bool) -> (SafeHtml, usize) {
    // First made shallow, since others choose how deep it is.
    let tree = tree::parse(html);
    let count = pictures(&tree, images);
    tidy(&tree);
    let mut cleaner = Builder::empty();
    cleaner
        .tags(TAGS.into_iter().chain(images.then_some("img")).collect())
        .clean_content_tags(["script", "style", "noscript", "iframe", "object", "template", "title"].into())
        .generic_attributes(["lang"].into())
        .tag_attributes(
            ATTRIBUTES.into_iter().map(|(tag, names)| (tag, names.iter().copied().collect())).collect(),
        )
        .url_schemes(["http", "https"].into())
        .url_relative(match base.filter(|base| matches!(base.scheme(), "http" | "https")) {
            Some(base) => UrlRelative::RewriteWithBase(base.clone()),
            None => UrlRelative::Deny,
        })
        .link_rel(Some("noreferrer noopener nofollow"))
        .strip_comments(true);
    if images {
        cleaner
            .add_tag_attributes("img", ["src", "alt", "width", "height"])
            .set_tag_attribute_value("img", "referrerpolicy", "no-referrer")
            .set_tag_attribute_value("img", "loading", "lazy");
    }
    (SafeHtml(cleaner.clean(&tree.html()).to_string()), count)
}

/// Counts pictures; where they are not to be shown, puts a word in the place of each.
fn pictures(tree: &Document, images: bool) -> usize {
    let mut count = 0;
    for node in tree.select("img").nodes() {
        if node.attr("src").is_none_or(|src| src.trim().is_empty()) {
            node.remove_from_parent();
            continue;
        }
        count += 1;
        let alt = node.attr_or("alt", "");
        if images {
            // Who reads by ear hears nothing of a picture without a word.
            node.set_attr("alt", &alt);
        } else {
            let alt: String = alt.trim().chars().take(200).collect();
            let word = if alt.is_empty() { "[picture]".to_owned() } else { format!("[picture: {alt}]") };
            node.remove_all_attrs();
            node.rename("em");
            node.set_text(word);
        }
    }
    count
}

/// The page has its own first heading, and a link that says nothing leads nowhere.
fn tidy(tree: &Document) {
    for node in tree.select("h1").nodes() {
        node.rename("h2");
    }
    for node in tree.select("a").nodes() {
        if node.text().trim().is_empty() && !node.descendants_it().any(|inner| inner.has_name("img")) {
            node.rename("span");
        }
    }
}

/// When a post is from: as its publisher says, else when it was stored.
pub fn dated(post: &Post) -> Time {
    post.content.published_at.unwrap_or(post.created_at)
}

#[cfg(test)]
mod tests;
