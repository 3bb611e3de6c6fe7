//! The meaning of an element's `class` and `id`, word by word.

use dom_query::{Element, NodeRef};

use crate::read::element::key;

/// Longer values are styling, and are truncated.
const MAX_VALUE_BYTES: usize = 400;

/// No word in the table is longer.
const MAX_WORD_BYTES: usize = 16;

/// Declares the meanings, one bit each.
macro_rules! meanings {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl ClassMeanings { $($(#[$doc])* pub(super) const $name: Self = Self(1 << $bit);)* }
    };
}

meanings! {
    AUTHOR = 0;
    BYLINE = 1;
    NAME = 2;
    /// Something about the author other than the name.
    PORTRAIT = 3;
    PUBLISHED = 4;
    MODIFIED = 5;
    /// A point in time, in combination with a word for publication.
    DATE = 6;
    /// A date by itself.
    DAY = 7;
    /// The content is not about the article.
    NOT_ARTICLE = 8;
    /// The content is not part of the article.
    BOILERPLATE = 9;
    COMMENTS = 10;
    /// In combination with a word for comments: whether there are any.
    STATE = 11;
    /// The first word of a pair.
    FIRST = 12;
    CAPTION = 13;
}

/// Words by meaning. A word may have several meanings.
#[rustfmt::skip]
const WORDS: &[(ClassMeanings, &[&str])] = &[
    (ClassMeanings::AUTHOR, &["auteur", "author", "authors", "autor", "verfasser"]),
    (ClassMeanings::BYLINE, &["byline", "bylines", "contributor", "writer"]),
    (ClassMeanings::NAME, &["author", "link", "name", "url"]),
    (ClassMeanings::PORTRAIT, &[
        "about", "avatar", "bio", "box", "desc", "description", "image", "img", "photo", "social",
        "title",
    ]),
    (ClassMeanings::PUBLISHED, &["posted", "pubdate", "publication", "publish", "published"]),
    (ClassMeanings::MODIFIED, &["edited", "lastmod", "modified", "update", "updated"]),
    (ClassMeanings::DATE, &["at", "date", "dateline", "datum", "fecha", "on", "pubdate", "published", "time", "timestamp"]),
    (ClassMeanings::DAY, &["date", "dateline", "datum", "fecha", "timestamp"]),
    (ClassMeanings::NOT_ARTICLE, &["comment", "commentlist", "comments", "recent", "recommended", "related", "sidebar", "widget"]),
    (ClassMeanings::BOILERPLATE, &[
        "addthis", "addtoany", "adsbygoogle", "advert", "advertisement", "advertisements",
        "breadcrumb", "breadcrumbs", "byline", "commentlist", "comments", "copyright", "disqus",
        "gdpr", "mc4wp", "newsletter", "optin", "outbrain", "pagination", "promo",
        "promos", "pullquote", "recirc", "recirculation", "relatedposts", "respond",
        "share", "sharebar", "sharedaddy", "sharethis", "sharing", "sidebar", "signup", "skyscraper",
        "social", "socials", "sponsored", "subscribe", "taboola", "trending",
        "yarpp", "zergnet",
    ]),
    (ClassMeanings::COMMENTS, &["commentlist", "comments", "disqus", "respond"]),
    (ClassMeanings::STATE, &["closed", "has", "no", "open", "with", "without"]),
    (ClassMeanings::CAPTION, &["caption", "captions", "credit", "credits"]),
    (ClassMeanings::FIRST, &[
        "about", "also", "article", "author", "cookie", "cookies", "entry", "image", "more", "most",
        "nav", "photo", "popular", "post", "pull", "read", "recent", "recommended", "related", "sign",
        "tag", "tags", "up",
    ]),
];

/// Pairs of consecutive words that mean boilerplate.
#[rustfmt::skip]
const PAIRS: &[(&str, &str)] = &[
    ("about", "author"), ("also", "like"), ("also", "read"), ("article", "meta"), ("author", "bio"),
    ("author", "box"), ("author", "info"), ("cookie", "banner"), ("cookie", "bar"), ("cookie", "consent"),
    ("cookie", "notice"), ("cookies", "consent"), ("entry", "meta"), ("image", "credit"),
    ("more", "articles"), ("more", "posts"), ("more", "stories"), ("most", "popular"), ("most", "read"),
    ("nav", "links"), ("photo", "credit"), ("popular", "posts"), ("post", "meta"), ("post", "navigation"),
    ("post", "tags"), ("pull", "quote"), ("read", "next"), ("recent", "posts"), ("recommended", "articles"),
    ("related", "articles"), ("related", "content"), ("related", "links"), ("related", "posts"),
    ("related", "stories"), ("sign", "up"), ("tag", "list"), ("tags", "links"), ("up", "next"),
];

const COUNT: usize = {
    let (mut count, mut i) = (0, 0);
    while i < WORDS.len() {
        count += WORDS[i].1.len();
        i += 1;
    }
    count
};

/// All words by key, once per meaning, sorted at compile time so that a lookup compares numbers.
static BY_KEY: [(u128, ClassMeanings); COUNT] = by_key();

const fn by_key() -> [(u128, ClassMeanings); COUNT] {
    let mut table = [(0, ClassMeanings(0)); COUNT];
    let (mut filled, mut i) = (0, 0);
    while i < WORDS.len() {
        let (meaning, words) = WORDS[i];
        let mut j = 0;
        while j < words.len() {
            let mut entry = (key(words[j].as_bytes()), meaning);
            let mut at = 0;
            while at < filled {
                if entry.0 < table[at].0 {
                    (entry, table[at]) = (table[at], entry);
                }
                at += 1;
            }
            table[filled] = entry;
            filled += 1;
            j += 1;
        }
        i += 1;
    }
    table
}

/// The combined meaning of an element's `class` and `id`; `relatedPosts` and `related-posts` are two words each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ClassMeanings(u16);

impl ClassMeanings {
    pub(super) fn from_element(element: &Element) -> Self {
        let mut meanings = Self::default();
        for attribute in &element.attrs {
            if matches!(&*attribute.name.local, "class" | "id") {
                meanings.add_all(&attribute.value);
            }
        }
        meanings
    }

    pub(super) fn add_all(&mut self, value: &str) {
        self.read(value.as_bytes().get(..MAX_VALUE_BYTES).unwrap_or(value.as_bytes()));
    }

    /// Whether they include at least one of these.
    pub(super) fn any(self, from_element: &[Self]) -> bool {
        from_element.iter().any(|meaning| self.0 & meaning.0 != 0)
    }

    fn read(&mut self, value: &[u8]) {
        for name in value.split(u8::is_ascii_whitespace) {
            // These classes say what a post is about, not what the element is.
            let topic = name.starts_with(b"category-") || name.starts_with(b"tag-");
            if !topic || name.starts_with(b"tag-li") {
                self.read_name(name);
            }
            // In longer names the word may mean anything.
            if name.eq_ignore_ascii_case(b"related") {
                self.0 |= Self::BOILERPLATE.0;
            }
        }
    }

    fn read_name(&mut self, name: &[u8]) {
        let mut before = None;
        for word in name.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            let mut rest = word;
            while let Some(end) = camel_case_boundary(rest) {
                before = self.add(&rest[..end], before);
                rest = &rest[end..];
            }
            before = self.add(rest, before);
        }
    }

    /// Adds the meaning of a word; returns its key if it may be the first of a pair.
    fn add(&mut self, word: &[u8], before: Option<u128>) -> Option<u128> {
        if word.len() > MAX_WORD_BYTES {
            return None;
        }
        let key = key(word);
        if before.is_some_and(|before| is_pair(before, key)) {
            self.0 |= Self::BOILERPLATE.0;
        }
        let from = BY_KEY.partition_point(|(known, _)| *known < key);
        let same = BY_KEY[from..].iter().take_while(|(known, _)| *known == key);
        let meaning = Self(same.fold(0, |all, (_, meaning)| all | meaning.0));
        self.0 |= meaning.0 & !Self::FIRST.0;
        meaning.any(&[Self::FIRST]).then_some(key)
    }
}

fn is_pair(first: u128, second: u128) -> bool {
    PAIRS.iter().any(|(a, b)| key(a.as_bytes()) == first && key(b.as_bytes()) == second)
}

/// The position of the next word in a camel-case name such as `relatedPosts`.
fn camel_case_boundary(word: &[u8]) -> Option<usize> {
    let starts = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    word.windows(2).position(starts).map(|at| at + 1)
}

/// Whether an element is among comments, other articles or navigation, so that it is not about the article.
pub(super) fn is_outside_article(node: &NodeRef<'_>) -> bool {
    for ancestor in node.ancestors_it(Some(12)) {
        let Some(element) = ancestor.element_ref() else { continue };
        match &*element.name.local {
            "nav" | "footer" | "aside" => return true,
            "body" | "html" | "main" => return false,
            _ if ClassMeanings::from_element(&element).any(&[ClassMeanings::NOT_ARTICLE]) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::*;

    #[test]
    fn tables_are_consistent() {
        assert!(BY_KEY.is_sorted_by(|a, b| a.0 <= b.0));
        assert!(WORDS.iter().flat_map(|(_, words)| *words).all(|word| word.len() <= MAX_WORD_BYTES));
        let firsts = WORDS.iter().find(|(meaning, _)| *meaning == ClassMeanings::FIRST).unwrap().1;
        assert!(PAIRS.iter().all(|(first, _)| firsts.contains(first)));
    }

    #[test]
    fn class_names_are_split_into_words() {
        let check = |class: &str, expected: &[ClassMeanings]| {
            let document = Document::from(format!("<p class='{class}'>").as_str());
            let meanings =
                ClassMeanings::from_element(&document.select_single("p").nodes()[0].element_ref().unwrap());
            assert_eq!(meanings.0, expected.iter().map(|meaning| meaning.0).fold(0, |a, b| a | b), "{class}");
        };
        check("", &[]);
        check("shareholder unrelated", &[]);
        check("post-share", &[ClassMeanings::BOILERPLATE]);
        check("x-relatedPosts y", &[ClassMeanings::NOT_ARTICLE, ClassMeanings::BOILERPLATE]);
        check("related", &[ClassMeanings::NOT_ARTICLE, ClassMeanings::BOILERPLATE]);
        check("map-and-related", &[ClassMeanings::NOT_ARTICLE]);
        check("most read", &[]);
        check("most-read", &[ClassMeanings::BOILERPLATE]);
        check("read-most", &[]);
        check("post category-related tag-share", &[]);
        check("post__meta", &[ClassMeanings::BOILERPLATE]);
        check("entryDate", &[ClassMeanings::DATE, ClassMeanings::DAY]);
    }
}
