//! Whether an element shows who wrote the article, or when.

use dom_query::Element;

use super::names::Names;

/// What an element's attributes say it is, read in one pass.
#[derive(Default)]
pub(super) struct Marks<'a> {
    names: Names,
    /// `itemprop`.
    pub property: &'a str,
    /// `rel`.
    relation: &'a str,
    /// It is a `<time>`.
    time: bool,
    /// `author` is a word for a name too; alone it does not say twice what it is.
    named: bool,
    /// It has `pubdate`.
    published: bool,
}

impl<'a> Marks<'a> {
    pub(super) fn of(element: &'a Element) -> Self {
        let mut marks = Self { time: &*element.name.local == "time", ..Self::default() };
        for attribute in &element.attrs {
            let value = &*attribute.value;
            match &*attribute.name.local {
                "class" | "id" => {
                    marks.names.add_all(value);
                    marks.named |= ["name", "link", "url"].iter().any(|word| value.contains(word));
                }
                "itemprop" => marks.property = value,
                "rel" => marks.relation = value,
                "pubdate" => marks.published = true,
                _ => {}
            }
        }
        marks
    }

    /// How sure it is that an element names the author: 0 is surest.
    pub(super) fn byline_rank(&self) -> Option<u8> {
        let has = |words: &str| words.split_ascii_whitespace().any(|word| word == "author");
        let (author, byline) = (self.names.any(&[Names::AUTHOR]), self.names.any(&[Names::BYLINE]));
        if has(self.property) || has(self.relation) {
            Some(0)
        } else if (author || byline) && self.names.any(&[Names::NAME]) && (byline || self.named) {
            Some(1)
        } else if byline {
            Some(2)
        } else {
            (author && !self.names.any(&[Names::PORTRAIT])).then_some(3)
        }
    }

    /// How sure it is that an element shows when the page was published: 0 is surest.
    pub(super) fn time_rank(&self) -> Option<u8> {
        if self.property.eq_ignore_ascii_case("datePublished") || self.published {
            return Some(0);
        }
        let modified =
            self.property.eq_ignore_ascii_case("dateModified") || self.names.any(&[Names::MODIFIED]);
        let published = self.names.any(&[Names::PUBLISHED]);
        match (self.time, modified) {
            (true, _) if published => Some(1),
            (true, false) => Some(2),
            (true, true) => Some(4),
            (false, false) if published && self.names.any(&[Names::DATE]) => Some(2),
            (false, false) if self.names.any(&[Names::DAY]) => Some(3),
            _ => None,
        }
    }
}
