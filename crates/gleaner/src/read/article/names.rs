//! What an element's `class` and `id` say it is for, word by word.

use dom_query::{Element, NodeRef};

use super::facts::attribute;

/// Longer lists of names are styling, not meaning, and cut.
const LONGEST: usize = 400;

/// The words of an element's `class` and `id`, in lower case; `relatedPosts` and `related-posts` are two words.
pub(super) struct Names(String);

impl Names {
    pub(super) fn of(element: &Element) -> Self {
        let mut words = String::new();
        for name in ["class", "id"] {
            if let Some(value) = attribute(element, name) {
                split(&value[..value.floor_char_boundary(LONGEST)], &mut words);
            }
        }
        Self(words)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split_ascii_whitespace()
    }

    /// Whether one of these words is among them.
    pub(super) fn has(&self, wanted: &[&str]) -> bool {
        self.words().any(|word| wanted.contains(&word))
    }
}

fn split(value: &str, words: &mut String) {
    let mut lower = false;
    for char in value.chars() {
        if !char.is_alphanumeric() {
            words.push(' ');
            lower = false;
            continue;
        }
        if char.is_uppercase() && lower {
            words.push(' ');
        }
        lower = char.is_lowercase();
        words.extend(char.to_lowercase());
    }
    words.push(' ');
}

/// Whether an element stands among comments, other articles or the page's frame, so that what it says is not about
/// the article.
pub(super) fn is_furniture_around(node: &NodeRef<'_>) -> bool {
    node.ancestors_it(Some(12)).any(|ancestor| {
        let Some(element) = ancestor.element_ref() else { return false };
        match element.name.local.as_ref() {
            "nav" | "footer" | "aside" => return true,
            "body" | "html" | "main" => return false,
            _ => {}
        }
        let names = Names::of(&element);
        names.has(&[
            "comment",
            "comments",
            "commentlist",
            "related",
            "sidebar",
            "widget",
            "recommended",
            "recent",
        ])
    })
}
