//! Recognises elements that display the author or the publication date.

use dom_query::Element;

use super::class_meanings::ClassMeanings;

/// What the attributes of an element say about it.
#[derive(Default)]
pub(super) struct ElementHints<'a> {
    meanings: ClassMeanings,
    /// `itemprop`.
    pub property: &'a str,
    /// `rel`.
    relation: &'a str,
    /// Whether it is a `<time>`.
    time: bool,
    /// Whether its class or id contains a word for a name or link besides `author`.
    named: bool,
    /// Whether it has the attribute `pubdate`.
    published: bool,
}

impl<'a> ElementHints<'a> {
    pub(super) fn from_element(element: &'a Element) -> Self {
        let mut hints = Self { time: &*element.name.local == "time", ..Self::default() };
        for attribute in &element.attrs {
            let value = &*attribute.value;
            match &*attribute.name.local {
                "class" | "id" => {
                    hints.meanings.add_all(value);
                    hints.named |= ["name", "link", "url"].iter().any(|word| value.contains(word));
                }
                "itemprop" => hints.property = value,
                "rel" => hints.relation = value,
                "pubdate" => hints.published = true,
                _ => {}
            }
        }
        hints
    }

    /// How reliably an element names the author: 0 is most reliable.
    pub(super) fn byline_rank(&self) -> Option<u8> {
        let is_author = |words: &str| words.split_ascii_whitespace().any(|word| word == "author");
        let (author, byline) =
            (self.meanings.any(&[ClassMeanings::AUTHOR]), self.meanings.any(&[ClassMeanings::BYLINE]));
        if is_author(self.property) || is_author(self.relation) {
            Some(0)
        } else if (author || byline) && self.meanings.any(&[ClassMeanings::NAME]) && (byline || self.named) {
            Some(1)
        } else if byline {
            Some(2)
        } else {
            (author && !self.meanings.any(&[ClassMeanings::PORTRAIT])).then_some(3)
        }
    }

    /// How reliably an element displays the publication date: 0 is most reliable.
    pub(super) fn time_rank(&self) -> Option<u8> {
        if self.property.eq_ignore_ascii_case("datePublished") || self.published {
            return Some(0);
        }
        let modified = self.property.eq_ignore_ascii_case("dateModified")
            || self.meanings.any(&[ClassMeanings::MODIFIED]);
        let published = self.meanings.any(&[ClassMeanings::PUBLISHED]);
        match (self.time, modified) {
            (true, _) if published => Some(1),
            (true, false) => Some(2),
            (true, true) => Some(4),
            (false, false) if published && self.meanings.any(&[ClassMeanings::DATE]) => Some(2),
            (false, false) if self.meanings.any(&[ClassMeanings::DAY]) => Some(3),
            _ => None,
        }
    }
}
