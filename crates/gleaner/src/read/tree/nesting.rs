//! Estimates the depth of the tree from the tags: never less than a browser's parser will make it, so an end tag
//! closes here only what it certainly closes there.

use crate::read::element::ElementKind;
use crate::read::html::Tag;

/// Deeper elements are removed; their text stays. Real pages rarely exceed 60.
pub(super) const MAX_DEPTH: usize = 250;

/// Maximum open formatting elements such as `<b>`: parsers reopen all of them in every new paragraph.
const MAX_FORMATTING: usize = 20;

/// Elements that a parser reopens. `<a>` closes the previous one, and is not counted.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Elements without content.
const VOID: [&str; 17] = [
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "wbr",
];

/// End tags do not close elements beyond these.
const SCOPE_BOUNDARIES: [&str; 9] =
    ["applet", "caption", "html", "marquee", "object", "select", "table", "td", "th"];

/// Parts of a table, whose end tags close anything up to their table.
const TABLE_PARTS: [&str; 9] = ["caption", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr"];

/// The elements that each element closes when it opens, if there are only inline elements between.
const IMPLIED_END_TAGS: [(&str, &[&str]); 9] = [
    ("li", &["li", "p"]),
    ("dd", &["dd", "dt", "p"]),
    ("dt", &["dd", "dt", "p"]),
    ("td", &["td", "th"]),
    ("th", &["td", "th"]),
    ("tr", &["td", "th", "tr"]),
    ("tbody", &["td", "th", "tr", "tbody", "thead", "tfoot"]),
    ("option", &["option"]),
    ("rt", &["rt", "rp"]),
];

#[derive(Default)]
pub(super) struct Nesting<'a> {
    open: Vec<OpenElement<'a>>,
    formats: usize,
}

struct OpenElement<'a> {
    name: &'a [u8],
    block: bool,
}

impl OpenElement<'_> {
    fn is_one_of(&self, names: &[&str]) -> bool {
        is_one_of(self.name, names)
    }
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

impl<'a> Nesting<'a> {
    /// Opens an element; returns false if it would be too deep.
    pub(super) fn open(&mut self, tag: &Tag<'a>) -> bool {
        if is_one_of(tag.name, &VOID) {
            return true;
        }
        let block = tag.kind == ElementKind::Block;
        let format = !block && is_one_of(tag.name, &FORMATTING);
        if block {
            self.close_before(tag.name);
        }
        if self.open.len() >= MAX_DEPTH || (format && self.formats >= MAX_FORMATTING) {
            return false;
        }
        self.formats += usize::from(format);
        self.open.push(OpenElement { name: tag.name, block });
        true
    }

    /// Closes what a block closes when it opens.
    fn close_before(&mut self, name: &[u8]) {
        let known = IMPLIED_END_TAGS.iter().find(|(opened, _)| name.eq_ignore_ascii_case(opened.as_bytes()));
        let closed = known.map_or(&["p"][..], |(_, closed)| closed);
        let mut at = self.open.len();
        while let Some(open) = at.checked_sub(1).and_then(|at| self.open.get(at)) {
            at -= 1;
            if open.is_one_of(closed) {
                self.open.truncate(at);
            } else if open.block {
                break;
            }
        }
    }

    pub(super) fn close(&mut self, tag: &Tag<'a>) {
        let format = is_one_of(tag.name, &FORMATTING);
        self.formats -= usize::from(format && self.formats > 0);
        let block = tag.kind == ElementKind::Block;
        let of_table = block && is_one_of(tag.name, &TABLE_PARTS);
        let misnests = format || tag.is("a");
        let mut blocks = false;
        for at in (0..self.open.len()).rev() {
            let open = &self.open[at];
            if open.name.eq_ignore_ascii_case(tag.name) {
                if misnests && blocks {
                    self.open.remove(at);
                } else {
                    self.open.truncate(at);
                }
                return;
            }
            let wall = match (of_table, block || misnests) {
                (true, _) => open.is_one_of(&["table"]),
                (false, true) => open.is_one_of(&SCOPE_BOUNDARIES),
                (false, false) => open.block,
            };
            if wall {
                return;
            }
            blocks |= open.block;
        }
    }
}
