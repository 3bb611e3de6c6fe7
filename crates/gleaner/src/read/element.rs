//! What the elements of HTML mean to the text around and inside them, as a table.
//!
//! Absent on purpose: inline elements. Whatever is not listed is one.

/// What an element means to its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Part of the line, and all unknown elements.
    Inline,
    /// Set apart from what is around it.
    Block,
    /// Markup that is not shown: `template`.
    Inert,
    /// Content is text without markup, and shown: `title`, `textarea`.
    Shown(Raw),
    /// Content is no markup and not shown: `script`, `style` and the like.
    Hidden(Raw),
}

/// Elements whose content is not markup, or is skipped whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Raw {
    Iframe,
    Noembed,
    Noframes,
    Script,
    Style,
    Textarea,
    Title,
    Xmp,
}

/// The blocks of HTML: where words on both sides would otherwise run together.
#[rustfmt::skip]
const BLOCKS: &[&[u8]] = &[
    b"address", b"applet", b"article", b"aside", b"audio", b"blockquote", b"body", b"br", b"button",
    b"canvas", b"caption", b"center", b"col", b"colgroup", b"dd", b"del", b"details", b"dialog",
    b"dir", b"div", b"dl", b"dt", b"fieldset", b"figcaption", b"figure", b"footer", b"form",
    b"frame", b"frameset", b"h1", b"h2", b"h3", b"h4", b"h5", b"h6", b"head", b"header", b"hgroup",
    b"hr", b"html", b"ins", b"legend", b"li", b"link", b"listing", b"main", b"marquee", b"math",
    b"menu", b"meta", b"nav", b"noscript", b"ol", b"optgroup", b"option", b"p", b"plaintext",
    b"pre", b"search", b"section", b"summary", b"svg", b"table", b"tbody", b"td", b"tfoot", b"th",
    b"thead", b"tr", b"ul", b"video",
];

/// The rest of what is told apart.
const OTHERS: &[(&[u8], Kind)] = &[
    (b"iframe", Kind::Hidden(Raw::Iframe)),
    (b"noembed", Kind::Hidden(Raw::Noembed)),
    (b"noframes", Kind::Hidden(Raw::Noframes)),
    (b"script", Kind::Hidden(Raw::Script)),
    (b"style", Kind::Hidden(Raw::Style)),
    (b"template", Kind::Inert),
    (b"textarea", Kind::Shown(Raw::Textarea)),
    (b"title", Kind::Shown(Raw::Title)),
    (b"xmp", Kind::Hidden(Raw::Xmp)),
];

const KINDS: usize = BLOCKS.len() + OTHERS.len();

/// All that is told apart, by key: sorted when compiled, so that a look-up is a handful of comparisons.
static BY_KEY: [(u128, Kind); KINDS] = by_key();

const fn by_key() -> [(u128, Kind); KINDS] {
    let mut table = [(0, Kind::Block); KINDS];
    let mut i = 0;
    while i < KINDS {
        let mut entry = if i < BLOCKS.len() {
            (key(BLOCKS[i]), Kind::Block)
        } else {
            let (name, kind) = OTHERS[i - BLOCKS.len()];
            (key(name), kind)
        };
        let mut j = 0;
        while j < i {
            if entry.0 < table[j].0 {
                (entry, table[j]) = (table[j], entry);
            }
            j += 1;
        }
        table[i] = entry;
        i += 1;
    }
    table
}

/// A name of up to 16 bytes in lower case, as a number.
pub(super) const fn key(name: &[u8]) -> u128 {
    let mut key = 0;
    let mut i = 0;
    while i < name.len() {
        key = key << 8 | name[i].to_ascii_lowercase() as u128;
        i += 1;
    }
    key
}

impl Kind {
    /// By name, in any case.
    pub(super) fn of(name: &[u8]) -> Self {
        if name.len() > 10 {
            return Self::Inline;
        }
        let key = key(name);
        BY_KEY.binary_search_by_key(&key, |entry| entry.0).map_or(Self::Inline, |at| BY_KEY[at].1)
    }
}

impl Raw {
    /// One bit for each, to keep sets of them.
    pub(super) const fn bit(self) -> u16 {
        1 << self as u16
    }
}
