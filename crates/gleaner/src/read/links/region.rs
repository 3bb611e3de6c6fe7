//! The region of a page that an element belongs to, by its name, role, and the words of its classes and id.
//!
//! This is uncertain, since themes choose their class names freely: a region only counts against the links in it,
//! and an element with most of the page's text belongs to none (see [`super::outline`]).

use std::ops::{BitAnd, BitOr};

use super::attributes::Attributes;
use crate::read::html::Tag;

/// A set of regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Region(u16);

impl Region {
    pub(super) const NONE: Self = Self(0);
    /// Menus, breadcrumbs, pagination, and the site header.
    pub(super) const MENU: Self = Self(1);
    /// The site footer.
    pub(super) const FOOTER: Self = Self(1 << 1);
    /// Sidebars and widgets.
    pub(super) const SIDEBAR: Self = Self(1 << 2);
    /// Related articles.
    pub(super) const RELATED: Self = Self(1 << 3);
    pub(super) const COMMENTS: Self = Self(1 << 4);
    /// Sharing, login, subscription, cookie consent.
    pub(super) const SERVICE: Self = Self(1 << 5);
    /// Author and categories of an article.
    pub(super) const BYLINE: Self = Self(1 << 6);
    /// Products and jobs.
    pub(super) const OFFER: Self = Self(1 << 7);
    /// The main content, or an article.
    pub(super) const MAIN: Self = Self(1 << 8);
    /// Prices and shopping carts.
    pub(super) const PRICE: Self = Self(1 << 10);
    /// A header: of the site, unless there are many on the page.
    pub(super) const HEADER: Self = Self(1 << 9);

    pub(super) fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether it repeats on every page of a site.
    pub(super) fn is_boilerplate(self) -> bool {
        self.is(Self::MENU | Self::FOOTER | Self::SERVICE)
    }

    /// The region of an element inside `around`.
    pub(super) fn of(tag: &Tag<'_>, attributes: &Attributes<'_>, around: Self) -> Self {
        let or_none = |value: Option<&[u8]>, read: fn(&[u8]) -> Self| value.map_or(Self::NONE, read);
        let mut found = by_name(tag)
            | or_none(attributes.role, by_role)
            | or_none(attributes.kind, by_type)
            | or_none(attributes.class, by_words)
            | or_none(attributes.id, by_id);
        // Articles have headers and footers of their own, with their titles.
        if around.is(Self::MAIN) {
            found = found.without(Self::HEADER);
            if tag.is("footer") {
                found = found.without(Self::FOOTER);
            }
        }
        found
    }
}

impl BitAnd for Region {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Region {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

fn by_name(tag: &Tag<'_>) -> Region {
    const NAMES: [(&str, Region); 8] = [
        ("nav", Region::MENU),
        ("menu", Region::MENU),
        ("header", Region::HEADER),
        ("footer", Region::FOOTER),
        ("aside", Region::SIDEBAR),
        ("main", Region::MAIN),
        ("article", Region::MAIN),
        ("dialog", Region::SERVICE),
    ];
    NAMES.iter().find(|(name, _)| tag.is(name)).map_or(Region::NONE, |(_, region)| *region)
}

fn by_role(role: &[u8]) -> Region {
    match role.to_ascii_lowercase().trim_ascii() {
        b"navigation" | b"menu" | b"menubar" | b"banner" | b"search" | b"toolbar" | b"tablist" => {
            Region::MENU
        }
        b"contentinfo" => Region::FOOTER,
        b"complementary" => Region::SIDEBAR,
        b"main" | b"article" => Region::MAIN,
        b"dialog" | b"alertdialog" => Region::SERVICE,
        _ => Region::NONE,
    }
}

/// By a schema.org type.
fn by_type(value: &[u8]) -> Region {
    match value.rsplit(|b| *b == b'/').next().unwrap_or_default() {
        b"Product" | b"Offer" | b"JobPosting" => Region::OFFER,
        b"Article" | b"BlogPosting" | b"NewsArticle" => Region::MAIN,
        b"SiteNavigationElement" | b"WPHeader" | b"BreadcrumbList" => Region::MENU,
        b"WPFooter" => Region::FOOTER,
        b"WPSideBar" => Region::SIDEBAR,
        _ => Region::NONE,
    }
}

/// Words of classes and ids, sorted for lookup.
#[rustfmt::skip]
const WORDS: &[(&str, Region)] = &[
    ("aside", Region::SIDEBAR), ("author", Region::BYLINE), ("authors", Region::BYLINE),
    ("basket", Region::PRICE), ("breadcrumb", Region::MENU), ("breadcrumbs", Region::MENU),
    ("byline", Region::BYLINE), ("cart", Region::PRICE), ("categories", Region::BYLINE),
    ("checkout", Region::PRICE), ("colophon", Region::FOOTER), ("comment", Region::COMMENTS),
    ("comments", Region::COMMENTS), ("consent", Region::SERVICE), ("cookie", Region::SERVICE),
    ("copyright", Region::FOOTER), ("disqus", Region::COMMENTS), ("drawer", Region::MENU),
    ("dropdown", Region::MENU), ("follow", Region::SERVICE), ("footer", Region::FOOTER),
    ("hamburger", Region::MENU), ("job", Region::OFFER), ("jobs", Region::OFFER),
    ("login", Region::SERVICE), ("masthead", Region::MENU), ("megamenu", Region::MENU),
    ("menu", Region::MENU), ("meta", Region::BYLINE), ("modal", Region::SERVICE),
    ("nav", Region::MENU), ("navbar", Region::MENU), ("navigation", Region::MENU),
    ("newsletter", Region::SERVICE), ("offcanvas", Region::MENU), ("pager", Region::MENU),
    ("pagination", Region::MENU), ("paging", Region::MENU), ("popular", Region::RELATED),
    ("popup", Region::SERVICE), ("price", Region::PRICE), ("product", Region::OFFER),
    ("products", Region::OFFER), ("promoted", Region::RELATED), ("rail", Region::SIDEBAR),
    ("recommended", Region::RELATED), ("related", Region::RELATED), ("salary", Region::OFFER),
    ("share", Region::SERVICE), ("sharing", Region::SERVICE), ("sidebar", Region::SIDEBAR),
    ("signup", Region::SERVICE), ("sku", Region::PRICE), ("social", Region::SERVICE),
    ("sponsor", Region::RELATED), ("sponsored", Region::RELATED), ("submenu", Region::MENU),
    ("subscribe", Region::SERVICE), ("taglist", Region::BYLINE), ("tags", Region::BYLINE),
    ("toolbar", Region::MENU), ("topbar", Region::MENU), ("trending", Region::RELATED),
    ("vacancy", Region::OFFER), ("wishlist", Region::PRICE),
];

/// Pairs of words with a meaning of their own.
const PAIRS: [(&str, &str, Region); 9] = [
    ("site", "header", Region::MENU),
    ("global", "header", Region::MENU),
    ("main", "header", Region::MENU),
    ("top", "header", Region::MENU),
    ("side", "bar", Region::SIDEBAR),
    ("most", "read", Region::RELATED),
    ("most", "viewed", Region::RELATED),
    ("read", "next", Region::RELATED),
    ("may", "like", Region::RELATED),
];

/// After these words, the next word says what the element has, not what it is.
const HAS_WORDS: [&str; 4] = ["has", "with", "no", "not"];

/// Prefixes of classes that name a post's categories, which may be anything.
const CATEGORY_PREFIXES: [&[u8]; 5] = [b"category-", b"tag-", b"author-", b"term-", b"topic-"];

/// Words for a list item.
const ITEM_WORDS: [&str; 7] = ["article", "card", "entry", "item", "post", "story", "teaser"];

/// Longer values are truncated.
const MAX_VALUE_BYTES: usize = 2000;

fn by_id(value: &[u8]) -> Region {
    // The name of the sidebar in two of the most common themes.
    if value.eq_ignore_ascii_case(b"secondary") { Region::SIDEBAR } else { by_words(value) }
}

fn by_words(value: &[u8]) -> Region {
    let value = value.get(..MAX_VALUE_BYTES).unwrap_or(value);
    let mut found = Region::NONE;
    let is_filing = |class: &&[u8]| CATEGORY_PREFIXES.iter().any(|prefix| class.starts_with(prefix));
    for class in value.split(u8::is_ascii_whitespace).filter(|class| !is_filing(class)) {
        let (mut before, mut having) = (String::new(), false);
        each_word(class, |word| {
            if !having {
                match WORDS.binary_search_by_key(&word, |entry| entry.0) {
                    // The footer of a card contains its "read more" link.
                    Ok(_) if word == "footer" && ITEM_WORDS.contains(&before.as_str()) => {}
                    Ok(at) => found = found | WORDS[at].1,
                    Err(_) => {}
                }
                let pair = PAIRS.iter().find(|pair| pair.0 == before && pair.1 == word);
                found = pair.map_or(found, |pair| found | pair.2);
            }
            having |= HAS_WORDS.contains(&word);
            word.clone_into(&mut before);
        });
    }
    found
}

/// Whether classes say that an element is the title of an item: `post-title`, `cardHeadline`.
pub(super) fn is_title(classes: &[u8]) -> bool {
    const NOT: [&str; 9] = ["block", "menu", "nav", "page", "section", "sidebar", "site", "sub", "widget"];
    let classes = classes.get(..MAX_VALUE_BYTES).unwrap_or(classes);
    classes.split(u8::is_ascii_whitespace).any(|class| {
        let (mut title, mut other) = (false, false);
        each_word(class, |word| {
            title |= matches!(word, "title" | "headline");
            other |= NOT.contains(&word);
        });
        title && !other
    })
}

/// Calls `each` for the lower-case words of a class: `siteHeader`, `site-header`, `site__header`.
fn each_word(class: &[u8], mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut lower = false;
    for byte in class {
        let starts = byte.is_ascii_uppercase() && lower;
        if (starts || !byte.is_ascii_alphabetic()) && !word.is_empty() {
            each(&word);
            word.clear();
        }
        if byte.is_ascii_alphabetic() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        lower = byte.is_ascii_lowercase();
    }
    if !word.is_empty() {
        each(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted_by_key(|entry| entry.0));
    }

    #[test]
    fn regions_of_class_names() {
        let check = |classes: &str, expected| assert_eq!(by_words(classes.as_bytes()), expected, "{classes}");
        check("main-nav", Region::MENU);
        check("siteFooter wide", Region::FOOTER);
        check("side-bar", Region::SIDEBAR);
        check("site__header", Region::MENU);
        check("entry-header", Region::NONE);
        check("card-footer", Region::NONE);
        check("has-sidebar no-menu", Region::NONE);
        check("category-jobs tag-comments author-login", Region::NONE);
        check("navigate canvas footing", Region::NONE);
        check("related products", Region::RELATED | Region::OFFER);
    }

    #[test]
    fn titles_are_recognised_by_class() {
        for classes in ["post-title", "x card__title-text", "storyHeadline"] {
            assert!(is_title(classes.as_bytes()), "{classes}");
        }
        for classes in ["site-title", "subtitle", "widget-title", "untitled", "section-title", ""] {
            assert!(!is_title(classes.as_bytes()), "{classes}");
        }
    }
}
