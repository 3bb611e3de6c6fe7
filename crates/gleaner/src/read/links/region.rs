//! What sort of place an element is on a page, by its name, its role and the words of its classes and id.
//!
//! Absent on purpose: certainty. Themes call things what they like, so a word only counts against the links in
//! it, and a place that holds most of the page's text is none of these (see [`super::outline`]).

use std::ops::{BitAnd, BitOr};

use super::attributes::Attributes;
use crate::read::html::Tag;

/// A set of sorts of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Region(u16);

impl Region {
    pub(super) const NOWHERE: Self = Self(0);
    /// Menus, bread crumbs, page numbers; the head of the site.
    pub(super) const MENU: Self = Self(1);
    /// The foot of the site.
    pub(super) const FOOT: Self = Self(1 << 1);
    /// Beside the matter: side bars, widgets.
    pub(super) const SIDE: Self = Self(1 << 2);
    /// What else there is to read.
    pub(super) const RELATED: Self = Self(1 << 3);
    /// What readers say.
    pub(super) const COMMENTS: Self = Self(1 << 4);
    /// To share, follow, log in, subscribe, agree to cookies.
    pub(super) const SERVICE: Self = Self(1 << 5);
    /// Who wrote it, where it is filed.
    pub(super) const BYLINE: Self = Self(1 << 6);
    /// Something to buy or to apply for.
    pub(super) const OFFER: Self = Self(1 << 7);
    /// The matter itself: the main part of the page, or an article.
    pub(super) const MATTER: Self = Self(1 << 8);
    /// What something costs, and where to put it.
    pub(super) const PRICE: Self = Self(1 << 10);
    /// The beginning of something: of the site, unless there are many on the page.
    pub(super) const HEAD: Self = Self(1 << 9);

    /// Whether it is any of these.
    pub(super) fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Without these.
    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Menus, feet and the like: around the matter on every page of a site.
    pub(super) fn is_boilerplate(self) -> bool {
        self.is(Self::MENU | Self::FOOT | Self::SERVICE)
    }

    /// What an element is that stands in `around`.
    pub(super) fn of(tag: &Tag<'_>, attributes: &Attributes<'_>, around: Self) -> Self {
        let or_nothing = |value: Option<&[u8]>, read: fn(&[u8]) -> Self| value.map_or(Self::NOWHERE, read);
        let mut found = by_name(tag)
            | or_nothing(attributes.role, by_role)
            | or_nothing(attributes.kind, by_type)
            | or_nothing(attributes.class, by_words)
            | or_nothing(attributes.id, by_id);
        // Articles have heads and feet of their own, with their titles.
        if around.is(Self::MATTER) {
            found = found.without(Self::HEAD);
            if tag.is("footer") {
                found = found.without(Self::FOOT);
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
        ("header", Region::HEAD),
        ("footer", Region::FOOT),
        ("aside", Region::SIDE),
        ("main", Region::MATTER),
        ("article", Region::MATTER),
        ("dialog", Region::SERVICE),
    ];
    NAMES.iter().find(|(name, _)| tag.is(name)).map_or(Region::NOWHERE, |(_, region)| *region)
}

fn by_role(role: &[u8]) -> Region {
    match role.to_ascii_lowercase().trim_ascii() {
        b"navigation" | b"menu" | b"menubar" | b"banner" | b"search" | b"toolbar" | b"tablist" => {
            Region::MENU
        }
        b"contentinfo" => Region::FOOT,
        b"complementary" => Region::SIDE,
        b"main" | b"article" => Region::MATTER,
        b"dialog" | b"alertdialog" => Region::SERVICE,
        _ => Region::NOWHERE,
    }
}

/// By a type of schema.org.
fn by_type(value: &[u8]) -> Region {
    match value.rsplit(|b| *b == b'/').next().unwrap_or_default() {
        b"Product" | b"Offer" | b"JobPosting" => Region::OFFER,
        b"Article" | b"BlogPosting" | b"NewsArticle" => Region::MATTER,
        b"SiteNavigationElement" | b"WPHeader" | b"BreadcrumbList" => Region::MENU,
        b"WPFooter" => Region::FOOT,
        b"WPSideBar" => Region::SIDE,
        _ => Region::NOWHERE,
    }
}

/// Words of classes and ids. Sorted, to be looked up.
#[rustfmt::skip]
const WORDS: &[(&str, Region)] = &[
    ("aside", Region::SIDE), ("author", Region::BYLINE), ("authors", Region::BYLINE),
    ("basket", Region::PRICE), ("breadcrumb", Region::MENU), ("breadcrumbs", Region::MENU),
    ("byline", Region::BYLINE), ("cart", Region::PRICE), ("categories", Region::BYLINE),
    ("checkout", Region::PRICE), ("colophon", Region::FOOT), ("comment", Region::COMMENTS),
    ("comments", Region::COMMENTS), ("consent", Region::SERVICE), ("cookie", Region::SERVICE),
    ("copyright", Region::FOOT), ("disqus", Region::COMMENTS), ("drawer", Region::MENU),
    ("dropdown", Region::MENU), ("follow", Region::SERVICE), ("footer", Region::FOOT),
    ("hamburger", Region::MENU), ("job", Region::OFFER), ("jobs", Region::OFFER),
    ("login", Region::SERVICE), ("masthead", Region::MENU), ("megamenu", Region::MENU),
    ("menu", Region::MENU), ("meta", Region::BYLINE), ("modal", Region::SERVICE),
    ("nav", Region::MENU), ("navbar", Region::MENU), ("navigation", Region::MENU),
    ("newsletter", Region::SERVICE), ("offcanvas", Region::MENU), ("pager", Region::MENU),
    ("pagination", Region::MENU), ("paging", Region::MENU), ("popular", Region::RELATED),
    ("popup", Region::SERVICE), ("price", Region::PRICE), ("product", Region::OFFER),
    ("products", Region::OFFER), ("promoted", Region::RELATED), ("rail", Region::SIDE),
    ("recommended", Region::RELATED), ("related", Region::RELATED), ("salary", Region::OFFER),
    ("share", Region::SERVICE), ("sharing", Region::SERVICE), ("sidebar", Region::SIDE),
    ("signup", Region::SERVICE), ("sku", Region::PRICE), ("social", Region::SERVICE),
    ("sponsor", Region::RELATED), ("sponsored", Region::RELATED), ("submenu", Region::MENU),
    ("subscribe", Region::SERVICE), ("taglist", Region::BYLINE), ("tags", Region::BYLINE),
    ("toolbar", Region::MENU), ("topbar", Region::MENU), ("trending", Region::RELATED),
    ("vacancy", Region::OFFER), ("wishlist", Region::PRICE),
];

/// Pairs of words that mean what neither does alone.
const PAIRS: [(&str, &str, Region); 9] = [
    ("site", "header", Region::MENU),
    ("global", "header", Region::MENU),
    ("main", "header", Region::MENU),
    ("top", "header", Region::MENU),
    ("side", "bar", Region::SIDE),
    ("most", "read", Region::RELATED),
    ("most", "viewed", Region::RELATED),
    ("read", "next", Region::RELATED),
    ("may", "like", Region::RELATED),
];

/// Words after which the next says what the element has, not what it is.
const HAVING: [&str; 4] = ["has", "with", "no", "not"];

/// Classes by which posts tell what they are filed under, which may be anything.
const FILING: [&[u8]; 5] = [b"category-", b"tag-", b"author-", b"term-", b"topic-"];

/// Words for an item of a list.
const CARDS: [&str; 7] = ["article", "card", "entry", "item", "post", "story", "teaser"];

/// No list of classes is longer.
const VALUE_LIMIT: usize = 2000;

fn by_id(value: &[u8]) -> Region {
    // What two of the commonest themes call the column beside the posts.
    if value.eq_ignore_ascii_case(b"secondary") { Region::SIDE } else { by_words(value) }
}

fn by_words(value: &[u8]) -> Region {
    let value = value.get(..VALUE_LIMIT).unwrap_or(value);
    let mut found = Region::NOWHERE;
    let is_filing = |class: &&[u8]| FILING.iter().any(|prefix| class.starts_with(prefix));
    for class in value.split(u8::is_ascii_whitespace).filter(|class| !is_filing(class)) {
        let (mut before, mut having) = (String::new(), false);
        each_word(class, |word| {
            if !having {
                match WORDS.binary_search_by_key(&word, |entry| entry.0) {
                    // The foot of a card has its "read more".
                    Ok(_) if word == "footer" && CARDS.contains(&before.as_str()) => {}
                    Ok(at) => found = found | WORDS[at].1,
                    Err(_) => {}
                }
                let pair = PAIRS.iter().find(|pair| pair.0 == before && pair.1 == word);
                found = pair.map_or(found, |pair| found | pair.2);
            }
            having |= HAVING.contains(&word);
            word.clone_into(&mut before);
        });
    }
    found
}

/// Whether classes say that an element is the title of an item: `post-title`, `cardHeadline`.
pub(super) fn is_title(classes: &[u8]) -> bool {
    const NOT: [&str; 9] = ["block", "menu", "nav", "page", "section", "sidebar", "site", "sub", "widget"];
    let classes = classes.get(..VALUE_LIMIT).unwrap_or(classes);
    classes.split(u8::is_ascii_whitespace).any(|class| {
        let (mut title, mut other) = (false, false);
        each_word(class, |word| {
            title |= matches!(word, "title" | "headline");
            other |= NOT.contains(&word);
        });
        title && !other
    })
}

/// The words of a class in lower case: `siteHeader`, `site-header`, `site__header`.
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
    fn words_can_be_looked_up() {
        assert!(WORDS.is_sorted_by_key(|entry| entry.0));
    }

    #[test]
    fn classes_are_read_by_their_words() {
        let check = |classes: &str, expected| assert_eq!(by_words(classes.as_bytes()), expected, "{classes}");
        check("main-nav", Region::MENU);
        check("siteFooter wide", Region::FOOT);
        check("side-bar", Region::SIDE);
        check("site__header", Region::MENU);
        check("entry-header", Region::NOWHERE);
        check("card-footer", Region::NOWHERE);
        check("has-sidebar no-menu", Region::NOWHERE);
        check("category-jobs tag-comments author-login", Region::NOWHERE);
        check("navigate canvas footing", Region::NOWHERE);
        check("related products", Region::RELATED | Region::OFFER);
    }

    #[test]
    fn titles_are_known_by_their_class() {
        for classes in ["post-title", "x card__title-text", "storyHeadline"] {
            assert!(is_title(classes.as_bytes()), "{classes}");
        }
        for classes in ["site-title", "subtitle", "widget-title", "untitled", "section-title", ""] {
            assert!(!is_title(classes.as_bytes()), "{classes}");
        }
    }
}
