//! What stands around an article and is not part of it, taken out of the tree before the article is looked for.

use dom_query::{Document, NodeRef};

use super::names::Names;

/// An element with more than this share of the page's text is no furniture, whatever it is called.
const LARGEST: f32 = 0.3;

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

/// Takes furniture out of a tree.
pub(super) fn remove(document: &Document) {
    let Some(body) = document.body() else { return };
    let limit = body.normalized_char_count() as f32 * LARGEST;
    let mut next = body.first_child();
    while let Some(node) = next {
        if is_furniture(&node) && (node.normalized_char_count() as f32) <= limit {
            next = following(&node, &body);
            node.remove_from_parent();
        } else {
            next = node.first_child().or_else(|| following(&node, &body));
        }
    }
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
