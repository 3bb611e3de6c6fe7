//! What an element's `class` and `id` say it is for, word by word.

use dom_query::{Element, NodeRef};

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
}

/// What words mean; sorted.
#[rustfmt::skip]
const WORDS: &[(&str, &[Names])] = &[
    ("about", &[Names::PORTRAIT]),
    ("addthis", &[Names::FURNITURE]),
    ("addtoany", &[Names::FURNITURE]),
    ("adsbygoogle", &[Names::FURNITURE]),
    ("advert", &[Names::FURNITURE]),
    ("advertisement", &[Names::FURNITURE]),
    ("advertisements", &[Names::FURNITURE]),
    ("at", &[Names::DATE]),
    ("auteur", &[Names::AUTHOR]),
    ("author", &[Names::AUTHOR, Names::NAME]),
    ("authors", &[Names::AUTHOR]),
    ("autor", &[Names::AUTHOR]),
    ("avatar", &[Names::PORTRAIT]),
    ("bio", &[Names::PORTRAIT]),
    ("box", &[Names::PORTRAIT]),
    ("breadcrumb", &[Names::FURNITURE]),
    ("breadcrumbs", &[Names::FURNITURE]),
    ("byline", &[Names::BYLINE, Names::FURNITURE]),
    ("bylines", &[Names::BYLINE]),
    ("closed", &[Names::STATE]),
    ("comment", &[Names::ASIDE]),
    ("commentlist", &[Names::ASIDE, Names::COMMENTS, Names::FURNITURE]),
    ("comments", &[Names::ASIDE, Names::COMMENTS, Names::FURNITURE]),
    ("contributor", &[Names::BYLINE]),
    ("cookie", &[Names::FURNITURE]),
    ("cookies", &[Names::FURNITURE]),
    ("date", &[Names::DATE, Names::DAY]),
    ("dateline", &[Names::DATE, Names::DAY]),
    ("datum", &[Names::DATE, Names::DAY]),
    ("desc", &[Names::PORTRAIT]),
    ("description", &[Names::PORTRAIT]),
    ("disqus", &[Names::COMMENTS, Names::FURNITURE]),
    ("edited", &[Names::MODIFIED]),
    ("fecha", &[Names::DATE, Names::DAY]),
    ("gdpr", &[Names::FURNITURE]),
    ("has", &[Names::STATE]),
    ("image", &[Names::PORTRAIT]),
    ("img", &[Names::PORTRAIT]),
    ("lastmod", &[Names::MODIFIED]),
    ("link", &[Names::NAME]),
    ("mc4wp", &[Names::FURNITURE]),
    ("modified", &[Names::MODIFIED]),
    ("name", &[Names::NAME]),
    ("newsletter", &[Names::FURNITURE]),
    ("no", &[Names::STATE]),
    ("on", &[Names::DATE]),
    ("open", &[Names::STATE]),
    ("optin", &[Names::FURNITURE]),
    ("outbrain", &[Names::FURNITURE]),
    ("pagination", &[Names::FURNITURE]),
    ("paywall", &[Names::FURNITURE]),
    ("photo", &[Names::PORTRAIT]),
    ("posted", &[Names::PUBLISHED]),
    ("pubdate", &[Names::DATE, Names::PUBLISHED]),
    ("publication", &[Names::PUBLISHED]),
    ("publish", &[Names::PUBLISHED]),
    ("published", &[Names::DATE, Names::PUBLISHED]),
    ("recent", &[Names::ASIDE]),
    ("recommended", &[Names::ASIDE]),
    ("related", &[Names::ASIDE]),
    ("relatedposts", &[Names::FURNITURE]),
    ("respond", &[Names::COMMENTS, Names::FURNITURE]),
    ("share", &[Names::FURNITURE]),
    ("sharebar", &[Names::FURNITURE]),
    ("sharedaddy", &[Names::FURNITURE]),
    ("sharethis", &[Names::FURNITURE]),
    ("sharing", &[Names::FURNITURE]),
    ("sidebar", &[Names::ASIDE, Names::FURNITURE]),
    ("signup", &[Names::FURNITURE]),
    ("skyscraper", &[Names::FURNITURE]),
    ("social", &[Names::FURNITURE, Names::PORTRAIT]),
    ("socials", &[Names::FURNITURE]),
    ("subscribe", &[Names::FURNITURE]),
    ("taboola", &[Names::FURNITURE]),
    ("time", &[Names::DATE]),
    ("timestamp", &[Names::DATE, Names::DAY]),
    ("title", &[Names::PORTRAIT]),
    ("trending", &[Names::FURNITURE]),
    ("update", &[Names::MODIFIED]),
    ("updated", &[Names::MODIFIED]),
    ("url", &[Names::NAME]),
    ("verfasser", &[Names::AUTHOR]),
    ("widget", &[Names::ASIDE]),
    ("with", &[Names::STATE]),
    ("without", &[Names::STATE]),
    ("writer", &[Names::BYLINE]),
    ("yarpp", &[Names::FURNITURE]),
    ("zergnet", &[Names::FURNITURE]),
];

/// Pairs of words, one after the other, that are used for furniture; sorted.
#[rustfmt::skip]
const PAIRS: &[(&str, &str)] = &[
    ("about", "author"), ("also", "like"), ("also", "read"), ("article", "meta"), ("author", "bio"),
    ("author", "box"), ("author", "info"), ("entry", "meta"), ("image", "credit"), ("more", "articles"),
    ("more", "posts"), ("more", "stories"), ("most", "popular"), ("most", "read"), ("nav", "links"),
    ("photo", "credit"), ("popular", "posts"), ("post", "meta"), ("post", "navigation"), ("post", "tags"),
    ("read", "next"), ("recent", "posts"), ("recommended", "articles"), ("related", "articles"),
    ("related", "content"), ("related", "links"), ("related", "posts"), ("related", "stories"),
    ("sign", "up"), ("tag", "list"), ("tags", "links"), ("up", "next"),
];

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
        let mut before = "";
        for word in value.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            let mut rest = word;
            while let Some(end) = hump(rest) {
                before = self.add(&rest[..end], before);
                rest = &rest[end..];
            }
            before = self.add(rest, before);
        }
    }

    /// Adds what a word means; returns the word, if it can be one of a pair.
    fn add(&mut self, word: &[u8], before: &str) -> &'static str {
        let mut lower = [0; LONGEST_WORD];
        let Some(lower) = lower.get_mut(..word.len()) else { return "" };
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        let Ok(lower) = std::str::from_utf8(lower) else { return "" };
        if let Ok(at) = WORDS.binary_search_by(|(known, _)| (*known).cmp(lower)) {
            WORDS[at].1.iter().for_each(|meaning| self.0 |= meaning.0);
        }
        if !before.is_empty() && PAIRS.binary_search(&(before, lower)).is_ok() {
            self.0 |= Self::FURNITURE.0;
        }
        let first = PAIRS.partition_point(|(first, _)| *first < lower);
        PAIRS.get(first).filter(|(first, _)| *first == lower).map_or("", |(first, _)| first)
    }
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
    fn tables_are_sorted() {
        assert!(WORDS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(PAIRS.is_sorted_by(|a, b| a < b));
        assert!(WORDS.iter().all(|(word, _)| word.len() <= LONGEST_WORD));
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
        check("related posts", &[Names::ASIDE, Names::FURNITURE]);
        check("posts related", &[Names::ASIDE]);
        check("post__meta", &[Names::FURNITURE]);
        check("entryDate", &[Names::DATE, Names::DAY]);
    }
}
