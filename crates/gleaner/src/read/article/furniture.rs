//! What stands around an article and is not part of it, taken out of the tree before the article is looked for.

use dom_query::{Document, NodeRef};

use super::facts::attribute;
use super::names::Names;

/// An element with more than this share of the page's text is no furniture, whatever it is called.
const LARGEST: f32 = 0.3;

/// Shorter paragraphs are captions, labels and the like.
const PARAGRAPH: usize = 80;

/// Words in `class` or `id` that are only used for furniture.
const WORDS: &[&str] = &[
    "addthis",
    "addtoany",
    "adsbygoogle",
    "advert",
    "advertisement",
    "advertisements",
    "breadcrumb",
    "breadcrumbs",
    "byline",
    "commentlist",
    "comments",
    "cookie",
    "cookies",
    "disqus",
    "gdpr",
    "mc4wp",
    "newsletter",
    "optin",
    "outbrain",
    "pagination",
    "paywall",
    "relatedposts",
    "respond",
    "share",
    "sharebar",
    "sharedaddy",
    "sharethis",
    "sharing",
    "signup",
    "sidebar",
    "skyscraper",
    "social",
    "socials",
    "subscribe",
    "taboola",
    "trending",
    "yarpp",
    "zergnet",
];

/// Pairs of words that are, one after the other.
const PAIRS: &[(&str, &str)] = &[
    ("about", "author"),
    ("also", "like"),
    ("also", "read"),
    ("author", "bio"),
    ("author", "box"),
    ("author", "info"),
    ("entry", "meta"),
    ("image", "credit"),
    ("more", "articles"),
    ("more", "posts"),
    ("more", "stories"),
    ("most", "popular"),
    ("most", "read"),
    ("nav", "links"),
    ("photo", "credit"),
    ("popular", "posts"),
    ("post", "meta"),
    ("post", "navigation"),
    ("article", "meta"),
    ("post", "tags"),
    ("read", "next"),
    ("recent", "posts"),
    ("recommended", "articles"),
    ("related", "articles"),
    ("related", "content"),
    ("related", "posts"),
    ("related", "stories"),
    ("related", "links"),
    ("sign", "up"),
    ("tag", "list"),
    ("tags", "links"),
    ("up", "next"),
];

/// How much prose there is.
#[derive(Default)]
pub(super) struct Prose {
    /// In the whole page.
    pub page: usize,
    /// In what it says is its article.
    pub article: usize,
}

/// What the page says is its article: the only one it has, or the one that holds nearly all prose.
pub(super) fn article<'a>(body: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let is_article = |node: &NodeRef<'_>| {
        node.element_ref().is_some_and(|element| {
            &*element.name.local == "article" || attribute(&element, "itemprop") == Some("articleBody")
        })
    };
    let mut articles = body.descendants_it().filter(is_article);
    let first = articles.next()?;
    let lengths = articles.map(|node| node.normalized_char_count()).max().unwrap_or(0);
    (first.normalized_char_count() > lengths).then_some(first)
}

/// Takes furniture out of a tree; returns how much prose is left.
pub(super) fn remove(document: &Document) -> Prose {
    let Some(body) = document.body() else { return Prose::default() };
    let limit = body.normalized_char_count() as f32 * LARGEST;
    let is_small = |node: &NodeRef<'_>| (node.normalized_char_count() as f32) <= limit;
    let is_not_all = |node: &NodeRef<'_>| node.normalized_char_count() as f32 * LARGEST <= limit * 0.75;
    let mut found = 0;
    let mut next = body.first_child();
    while let Some(node) = next {
        if (is_furniture(&node) && is_small(&node)) || (holds_comments(&node) && is_not_all(&node)) {
            next = following(&node, &body);
            node.remove_from_parent();
            continue;
        }
        if is_hidden(&node) && !is_small(&node) {
            // What holds most of a page is hidden only until a script shows it.
            node.remove_attrs(&["hidden", "style", "aria-hidden"]);
        }
        if node.has_name("p") {
            found += prose(&node);
        }
        next = node.first_child().or_else(|| following(&node, &body));
    }
    let in_article = |node: &NodeRef<'_>| -> usize {
        node.descendants_it().filter(|inner| inner.has_name("p")).map(|paragraph| prose(&paragraph)).sum()
    };
    Prose { page: found, article: article(&body).map_or(0, |node| in_article(&node)) }
}

/// Whether an element holds what readers say. That may be more than the article.
fn holds_comments(node: &NodeRef<'_>) -> bool {
    let Some(element) = node.element_ref() else { return false };
    if !matches!(&*element.name.local, "div" | "section" | "ol" | "ul" | "aside") {
        return false;
    }
    let names = Names::of(&element);
    names.has(&["comments", "commentlist", "disqus", "respond"]) && !names.has(&["no", "open", "closed", "has", "with", "without"])
}

/// How much prose a paragraph holds: all of it, or nothing where it is short or made of links.
pub(super) fn prose(paragraph: &NodeRef<'_>) -> usize {
    let length = paragraph.normalized_char_count();
    if length < PARAGRAPH {
        return 0;
    }
    let links = paragraph.descendants_it().filter(|node| node.has_name("a"));
    let linked: usize = links.map(|link| link.normalized_char_count()).sum();
    if linked * 2 > length { 0 } else { length }
}

fn is_hidden(node: &NodeRef<'_>) -> bool {
    let Some(element) = node.element_ref() else { return false };
    element.attrs.iter().any(|attribute| match &*attribute.name.local {
        "hidden" => true,
        "aria-hidden" => &*attribute.value == "true",
        "style" => ["display", "visibility"].iter().any(|property| attribute.value.contains(property)),
        _ => false,
    })
}

/// The next node in page order that is not inside of this one.
fn following<'a>(node: &NodeRef<'a>, root: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let mut node = *node;
    loop {
        if let Some(sibling) = node.next_sibling() {
            return Some(sibling);
        }
        node = node.parent().filter(|parent| parent.id != root.id)?;
    }
}

fn is_furniture(node: &NodeRef<'_>) -> bool {
    let Some(element) = node.element_ref() else { return false };
    match element.name.local.as_ref() {
        "nav" | "figcaption" | "dialog" | "button" => return true,
        "article" | "main" | "body" | "html" | "table" | "tbody" | "tr" | "td" | "code" | "pre" => {
            return false;
        }
        _ => {}
    }
    let names = Names::of(&element);
    if names.is_empty() {
        return false;
    }
    let mut before = "";
    names.words().any(|word| {
        let found = WORDS.contains(&word) || PAIRS.contains(&(before, word));
        before = word;
        found
    })
}
