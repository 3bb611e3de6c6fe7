//! How deep the tree will be, told from its tags: never less than a browser's parser will make it, so an end tag
//! closes here only what it surely closes there.

use crate::read::element::Kind;
use crate::read::html::Tag;

/// Elements nested more deeply are left out; their text stays. Real pages rarely pass 60.
pub(super) const DEEPEST: usize = 250;

/// So many elements such as `<b>` may wait to be closed. Parsers open all of them again in every new paragraph.
const MOST_FORMATS: usize = 20;

/// What a parser opens again where it was closed by accident. `<a>` closes the one before, and is not counted.
const FORMATS: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Never have content.
const VOID: [&str; 17] = [
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "wbr",
];

/// End tags do not reach out of these.
const WALLS: [&str; 9] = ["applet", "caption", "html", "marquee", "object", "select", "table", "td", "th"];

/// Parts of a table, whose end tags reach out of anything but their table.
const TABLE: [&str; 9] = ["caption", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr"];

/// What an element closes by being opened, where nothing but inline elements are between.
const CLOSES: [(&str, &[&str]); 9] = [
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

/// The elements that are open.
#[derive(Default)]
pub(super) struct Nesting<'a> {
    open: Vec<Open<'a>>,
    formats: usize,
}

struct Open<'a> {
    name: &'a [u8],
    block: bool,
}

impl Open<'_> {
    fn is_one_of(&self, names: &[&str]) -> bool {
        is_one_of(self.name, names)
    }
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

impl<'a> Nesting<'a> {
    /// Opens an element; whether there is room for it.
    pub(super) fn open(&mut self, tag: &Tag<'a>) -> bool {
        if is_one_of(tag.name, &VOID) {
            return true;
        }
        let block = tag.kind == Kind::Block;
        let format = !block && is_one_of(tag.name, &FORMATS);
        if block {
            self.close_before(tag.name);
        }
        if self.open.len() >= DEEPEST || (format && self.formats >= MOST_FORMATS) {
            return false;
        }
        self.formats += usize::from(format);
        self.open.push(Open { name: tag.name, block });
        true
    }

    /// Closes what a block closes by being opened.
    fn close_before(&mut self, name: &[u8]) {
        let known = CLOSES.iter().find(|(opened, _)| name.eq_ignore_ascii_case(opened.as_bytes()));
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

    /// Closes what an end tag closes.
    pub(super) fn close(&mut self, tag: &Tag<'a>) {
        let format = is_one_of(tag.name, &FORMATS);
        self.formats -= usize::from(format && self.formats > 0);
        let block = tag.kind == Kind::Block;
        let of_table = block && is_one_of(tag.name, &TABLE);
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
                (false, true) => open.is_one_of(&WALLS),
                (false, false) => open.block,
            };
            if wall {
                return;
            }
            blocks |= open.block;
        }
    }
}
