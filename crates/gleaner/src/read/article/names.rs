//! What an element's `class` and `id` say it is for, word by word.

use dom_query::{Element, NodeRef};

use crate::read::element::key;

/// Longer lists of names are styling, not meaning, and cut.
const LONGEST: usize = 400;

/// No word that means something is longer.
const LONGEST_WORD: usize = 16;

/// Declares what names may mean, a bit each.
macro_rules! meanings {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Names { $($(#[$doc])* pub(super) const $name: Self = Self(1 << $bit);)* }
    };
}

meanings! {
    /// Who wrote it.
    AUTHOR = 0;
    /// The line that says who wrote it.
    BYLINE = 1;
    /// Somebody's name.
    NAME = 2;
    /// Something about the author that is not the name.
    PORTRAIT = 3;
    /// Something about publication.
    PUBLISHED = 4;
    /// Something about changes.
    MODIFIED = 5;
    /// A point in time, beside a word for publication.
    DATE = 6;
    /// A date, by itself.
    DAY = 7;
    /// What is inside is not about the article.
    ASIDE = 8;
    /// What is inside is not part of the article.
    FURNITURE = 9;
    /// What readers say.
    COMMENTS = 10;
    /// Beside a word for comments: whether there are any.
    STATE = 11;
    /// The first of a pair of words.
    FIRST = 12;
    /// What is written below a picture.
    CAPTION = 13;
}

/// The words that mean something, by what they mean. A word may mean several things.
#[rustfmt::skip]
const WORDS: &[(Names, &[&str])] = &[
    (Names::AUTHOR, &["auteur", "author", "authors", "autor", "verfasser"]),
    (Names::BYLINE, &["byline", "bylines", "contributor", "writer"]),
    (Names::NAME, &["author", "link", "name", "url"]),
    (Names::PORTRAIT, &[
        "about", "avatar", "bio", "box", "desc", "description", "image", "img", "photo", "social",
        "title",
    ]),
    (Names::PUBLISHED, &["posted", "pubdate", "publication", "publish", "published"]),
    (Names::MODIFIED, &["edited", "lastmod", "modified", "update", "updated"]),
    (Names::DATE, &["at", "date", "dateline", "datum", "fecha", "on", "pubdate", "published", "time", "timestamp"]),
    (Names::DAY, &["date", "dateline", "datum", "fecha", "timestamp"]),
    (Names::ASIDE, &["comment", "commentlist", "comments", "recent", "recommended", "related", "sidebar", "widget"]),
    (Names::FURNITURE, &[
        "addthis", "addtoany", "adsbygoogle", "advert", "advertisement", "advertisements",
        "breadcrumb", "breadcrumbs", "byline", "commentlist", "comments", "copyright", "disqus",
        "gdpr", "mc4wp", "newsletter", "optin", "outbrain", "pagination", "promo",
        "promos", "pullquote", "recirc", "recirculation", "relatedposts", "respond",
        "share", "sharebar", "sharedaddy", "sharethis", "sharing", "sidebar", "signup", "skyscraper",
        "social", "socials", "sponsored", "subscribe", "taboola", "trending",
        "yarpp", "zergnet",
    ]),
    (Names::COMMENTS, &["commentlist", "comments", "disqus", "respond"]),
    (Names::STATE, &["closed", "has", "no", "open", "with", "without"]),
    (Names::CAPTION, &["caption", "captions", "credit", "credits"]),
    (Names::FIRST, &[
        "about", "also", "article", "author", "cookie", "cookies", "entry", "image", "more", "most",
        "nav", "photo", "popular", "post", "pull", "read", "recent", "recommended", "related", "sign",
        "tag", "tags", "up",
    ]),
];

/// Pairs of words, one after the other, that are used for furniture.
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

/// All words by key, each as often as it has meanings: sorted when compiled, so that a look-up compares numbers.
static BY_KEY: [(u128, Names); COUNT] = by_key();

const fn by_key() -> [(u128, Names); COUNT] {
    let mut table = [(0, Names(0)); COUNT];
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

/// What the words of an element's `class` and `id` mean together; `relatedPosts` and `related-posts` are two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Names(u16);

impl Names {
    pub(super) fn of(element: &Element) -> Self {
        let mut names = Self::default();
        for attribute in &element.attrs {
            if matches!(&*attribute.name.local, "class" | "id") {
                names.add_all(&attribute.value);
            }
        }
        names
    }

    /// Adds what the words of a `class` or an `id` mean.
    pub(super) fn add_all(&mut self, value: &str) {
        self.read(value.as_bytes().get(..LONGEST).unwrap_or(value.as_bytes()));
    }

    /// Whether they mean one of these at least.
    pub(super) fn any(self, of: &[Self]) -> bool {
        of.iter().any(|meaning| self.0 & meaning.0 != 0)
    }

    fn read(&mut self, value: &[u8]) {
        for name in value.split(u8::is_ascii_whitespace) {
            // What a post is about, not what it is.
            let topic = name.starts_with(b"category-") || name.starts_with(b"tag-");
            if !topic || name.starts_with(b"tag-li") {
                self.read_name(name);
            }
            // In longer names the word may mean anything.
            if name.eq_ignore_ascii_case(b"related") {
                self.0 |= Self::FURNITURE.0;
            }
        }
    }

    fn read_name(&mut self, name: &[u8]) {
        let mut before = None;
        for word in name.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            let mut rest = word;
            while let Some(end) = hump(rest) {
                before = self.add(&rest[..end], before);
                rest = &rest[end..];
            }
            before = self.add(rest, before);
        }
    }

    /// Adds what a word means; returns the word, if it may be the first of a pair.
    fn add(&mut self, word: &[u8], before: Option<u128>) -> Option<u128> {
        if word.len() > LONGEST_WORD {
            return None;
        }
        let key = key(word);
        if before.is_some_and(|before| is_pair(before, key)) {
            self.0 |= Self::FURNITURE.0;
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

/// Where the next word begins in `relatedPosts`.
fn hump(word: &[u8]) -> Option<usize> {
    let starts = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    word.windows(2).position(starts).map(|at| at + 1)
}

/// Whether an element stands among comments, other articles or the page's frame, so that what it says is not about
/// the article.
pub(super) fn is_aside(node: &NodeRef<'_>) -> bool {
    for ancestor in node.ancestors_it(Some(12)) {
        let Some(element) = ancestor.element_ref() else { continue };
        match &*element.name.local {
            "nav" | "footer" | "aside" => return true,
            "body" | "html" | "main" => return false,
            _ if Names::of(&element).any(&[Names::ASIDE]) => return true,
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
    fn tables_agree() {
        assert!(BY_KEY.is_sorted_by(|a, b| a.0 <= b.0));
        assert!(WORDS.iter().flat_map(|(_, words)| *words).all(|word| word.len() <= LONGEST_WORD));
        let firsts = WORDS.iter().find(|(meaning, _)| *meaning == Names::FIRST).unwrap().1;
        assert!(PAIRS.iter().all(|(first, _)| firsts.contains(first)));
    }

    #[test]
    fn words_are_told_apart() {
        let check = |class: &str, expected: &[Names]| {
            let document = Document::from(format!("<p class='{class}'>").as_str());
            let names = Names::of(&document.select_single("p").nodes()[0].element_ref().unwrap());
            assert_eq!(names.0, expected.iter().map(|meaning| meaning.0).fold(0, |a, b| a | b), "{class}");
        };
        check("", &[]);
        check("shareholder unrelated", &[]);
        check("post-share", &[Names::FURNITURE]);
        check("x-relatedPosts y", &[Names::ASIDE, Names::FURNITURE]);
        check("related", &[Names::ASIDE, Names::FURNITURE]);
        check("map-and-related", &[Names::ASIDE]);
        check("most read", &[]);
        check("most-read", &[Names::FURNITURE]);
        check("read-most", &[]);
        check("post category-related tag-share", &[]);
        check("post__meta", &[Names::FURNITURE]);
        check("entryDate", &[Names::DATE, Names::DAY]);
    }
}
