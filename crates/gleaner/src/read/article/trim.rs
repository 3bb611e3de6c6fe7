//! Removes what is left around and between the paragraphs of an article: bylines above, links to other articles
//! within, appeals below.

use std::collections::HashSet;

use dom_query::NodeRef;

use super::dates::in_text;
use super::metadata::{attribute, collapse};
use super::word_overlap::same_words;

/// Longer lines are text, whatever they start with.
const MAX_LINE_BYTES: usize = 200;

/// Longer paragraphs are kept only once.
const MIN_REPEATED_BYTES: usize = 100;

/// Maximum number of blocks above the text that are checked.
const MAX_BLOCKS_ABOVE: usize = 6;

/// Lines that are never text.
#[rustfmt::skip]
const NEVER_TEXT: &[&str] = &[
    "ad", "ads", "advertisement", "advertisements", "article continues after advertisement", "close",
    "comment", "comments", "continue reading", "copy link", "email", "facebook", "follow us",
    "leave a comment", "linkedin", "loading", "loading...", "pinterest", "print", "read more", "read next",
    "save", "share", "share on facebook", "share on twitter", "share this", "share this article",
    "share this post", "share this story", "share this:", "share:", "sign up", "skip to content",
    "sponsored", "story continues below advertisement", "subscribe", "subscribe now", "tweet", "twitter",
    "whatsapp", "anzeige", "werbung", "publicité", "publicidad", "pubblicità", "reklama", "реклама",
    "mehr zum thema", "lire aussi", "leer más", "leggi anche", "leia mais", "lees ook", "weiterlesen",
    "advertisement - continue reading below",
];

/// How lines start that point to other pages, if they are links.
#[rustfmt::skip]
const POINTERS: &[&str] = &[
    "also read", "also see", "check out", "click here", "don't miss", "explore more", "for more",
    "further reading", "learn more", "more:", "more from", "more on", "more about", "must read", "next:",
    "previous:", "read:", "read also", "read more", "read next", "read our", "read the", "recommended",
    "related", "see also", "see more", "view all", "watch:", "watch now", "you may also", "you might also",
    "lesen sie auch", "mehr zum thema", "siehe auch", "à lire", "lire aussi", "voir aussi", "lea también",
    "lee también", "te puede interesar", "leggi anche", "leia também", "veja também", "lees ook",
    "czytaj też", "читайте также",
];

/// What lines contain that ask for something, if they are below the text.
#[rustfmt::skip]
const APPEALS: &[&str] = &[
    "all rights reserved", "copyright ©", "follow us on", "get our newsletter", "join our newsletter",
    "leave a reply", "newsletter", "sign up for", "subscribe to", "share this", "contact us", "posted in",
    "filed under", "tagged with", "tags:", "categories:", "follow him on", "follow her on", "follow me on",
    "©", "click here to subscribe",
];

/// How image credits start.
#[rustfmt::skip]
const CREDITS: &[&str] = &[
    "photo:", "photo by", "photo credit", "photograph:", "photograph by", "image:", "image credit",
    "image via", "image source", "picture:", "(photo by", "(image credit", "foto:", "credit:",
    "photo courtesy", "photos by", "photos:",
];

/// How image credits end.
#[rustfmt::skip]
const AGENCIES: &[&str] = &[
    "/getty images", "/ getty images", "via getty images", "(getty images)", "/afp", "/reuters",
    "/ap photo",
];

/// Block elements.
#[rustfmt::skip]
const BLOCKS: &[&str] = &[
    "p", "div", "li", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "tr", "td", "th", "section",
    "article", "blockquote", "pre", "dl", "dt", "dd", "figure", "header", "footer", "aside", "main",
    "tbody",
];

pub(super) fn trim(root: &NodeRef<'_>, title: Option<&str>) {
    let leaves = leaves(root);
    let mut kept = Vec::with_capacity(leaves.len());
    let mut read = HashSet::new();
    for leaf in leaves {
        // Nobody writes a long paragraph twice; layouts repeat them.
        let again = leaf.text.len() > MIN_REPEATED_BYTES && !read.insert(leaf.text.clone());
        if again || is_boilerplate(&leaf) {
            leaf.node.remove_from_parent();
        } else {
            kept.push(leaf);
        }
    }
    let above = kept.iter().take(MAX_BLOCKS_ABOVE).take_while(|leaf| !leaf.is_prose());
    above
        .filter(|leaf| leaf.is_byline() || leaf.is_title(title))
        .for_each(|leaf| leaf.node.remove_from_parent());
    let trailing = kept.iter().rev().take_while(|leaf| leaf.is_trailing());
    trailing.for_each(|leaf| leaf.node.remove_from_parent());
}

/// A block without nested blocks.
struct LeafBlock<'a> {
    node: NodeRef<'a>,
    text: String,
    /// Bytes of its text that are links.
    linked: usize,
    heading: bool,
    item: bool,
}

fn leaves<'a>(root: &NodeRef<'a>) -> Vec<LeafBlock<'a>> {
    let mut leaves: Vec<LeafBlock<'a>> = Vec::new();
    for node in root.descendants_it() {
        let Some(element) = node.element_ref() else { continue };
        let name = &*element.name.local;
        if !is_block(name)
            || node.descendants_it().any(|inner| inner.element_ref().is_some_and(|e| is_block(&e.name.local)))
        {
            continue;
        }
        let linked = node
            .descendants_it()
            .filter(|inner| inner.has_name("a"))
            .map(|link| collapse(&link.text()).len())
            .sum();
        let heading = matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
        leaves.push(LeafBlock { node, text: collapse(&node.text()), linked, heading, item: name == "li" });
    }
    leaves.retain(|leaf| !leaf.text.is_empty());
    leaves
}

fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name)
}

fn is_boilerplate(leaf: &LeafBlock<'_>) -> bool {
    if leaf.text.len() > MAX_LINE_BYTES {
        return false;
    }
    let lower = leaf.text.to_lowercase();
    if NEVER_TEXT.contains(&lower.as_str()) && !leaf.heading {
        return true;
    }
    let points = POINTERS.iter().any(|pointer| lower.starts_with(pointer));
    if points && leaf.linked * 2 > leaf.text.len() && !leaf.item {
        return true;
    }
    is_credit(&lower)
}

fn is_credit(lower: &str) -> bool {
    lower.len() < 150
        && (CREDITS.iter().any(|credit| lower.starts_with(credit))
            || AGENCIES.iter().any(|name| lower.ends_with(name)))
}

impl LeafBlock<'_> {
    fn is_prose(&self) -> bool {
        self.text.len() > 120 && self.linked * 2 < self.text.len()
    }

    /// Whether it repeats the title above the text.
    fn is_title(&self, title: Option<&str>) -> bool {
        self.heading && title.is_some_and(|title| same_words(title, &self.text))
    }

    /// Whether it is a line above the text with author, date or reading time.
    fn is_byline(&self) -> bool {
        if self.text.len() > 100 || self.text.ends_with(['.', '!', '?']) && !self.text.ends_with("min.") {
            return false;
        }
        let lower = self.text.to_lowercase();
        let begins = [
            "by ",
            "written by",
            "posted by",
            "posted on",
            "published",
            "updated",
            "last updated",
            "von ",
            "par ",
            "por ",
        ];
        begins.iter().any(|b| lower.starts_with(b))
            || lower.ends_with("min read")
            || lower.ends_with("minute read")
            || (in_text(&self.text, None).is_some() && self.text.len() < 60)
    }

    /// Whether it is below the text and not part of it.
    fn is_trailing(&self) -> bool {
        if self.heading {
            return true;
        }
        let lower = self.text.to_lowercase();
        let appeals =
            self.text.len() <= MAX_LINE_BYTES && APPEALS.iter().any(|appeal| lower.contains(appeal));
        appeals || (self.linked * 10 > self.text.len() * 8 && self.text.len() <= MAX_LINE_BYTES)
    }
}

/// Removes tables of contents: lists whose items all link into the page.
pub(super) fn remove_tables_of_contents(root: &NodeRef<'_>) {
    let is_list = |node: &NodeRef<'_>| node.has_name("ul") || node.has_name("ol");
    // Only the outermost lists, so that each is examined once.
    let is_outermost =
        |node: &NodeRef<'_>| is_list(node) && !node.ancestors_it(None).any(|outer| is_list(&outer));
    let lists: Vec<_> = root.descendants_it().filter(is_outermost).collect();
    for list in lists {
        let links: Vec<_> = list.descendants_it().filter(|node| node.has_name("a")).collect();
        let inside = |link: &&NodeRef<'_>| {
            link.element_ref()
                .is_some_and(|element| attribute(&element, "href").is_some_and(|href| href.contains('#')))
        };
        let linked: usize = links.iter().filter(inside).map(|link| collapse(&link.text()).len()).sum();
        if links.len() >= 3 && linked * 10 > collapse(&list.text()).len() * 8 {
            list.remove_from_parent();
        }
    }
}
