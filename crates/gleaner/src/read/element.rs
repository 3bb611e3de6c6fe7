//! How HTML elements affect the text in and around them, as a table. Elements that are not listed are inline.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementKind {
    /// Inline, including unknown elements.
    Inline,
    /// Separated from the text around it.
    Block,
    /// Markup that is not displayed: `template`.
    Inert,
    /// Content is text without markup, and displayed: `title`, `textarea`.
    Shown(RawElement),
    /// Content is not markup and not displayed: `script`, `style` and similar.
    Hidden(RawElement),
}

/// Elements whose content is not markup, or is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawElement {
    Iframe,
    Noembed,
    Noframes,
    Script,
    Style,
    Textarea,
    Title,
    Xmp,
}

/// Block elements: they separate the words before and after them.
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

/// The other elements in the table.
const OTHERS: &[(&[u8], ElementKind)] = &[
    (b"iframe", ElementKind::Hidden(RawElement::Iframe)),
    (b"noembed", ElementKind::Hidden(RawElement::Noembed)),
    (b"noframes", ElementKind::Hidden(RawElement::Noframes)),
    (b"script", ElementKind::Hidden(RawElement::Script)),
    (b"style", ElementKind::Hidden(RawElement::Style)),
    (b"template", ElementKind::Inert),
    (b"textarea", ElementKind::Shown(RawElement::Textarea)),
    (b"title", ElementKind::Shown(RawElement::Title)),
    (b"xmp", ElementKind::Hidden(RawElement::Xmp)),
];

const KINDS: usize = BLOCKS.len() + OTHERS.len();

/// All listed elements by key, sorted at compile time so that a lookup is a few comparisons.
static BY_KEY: [(u128, ElementKind); KINDS] = by_key();

const fn by_key() -> [(u128, ElementKind); KINDS] {
    let mut table = [(0, ElementKind::Block); KINDS];
    let mut i = 0;
    while i < KINDS {
        let mut entry = if i < BLOCKS.len() {
            (key(BLOCKS[i]), ElementKind::Block)
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

/// Packs a lower-cased name of up to 16 bytes into a number.
pub(super) const fn key(name: &[u8]) -> u128 {
    let mut key = 0;
    let mut i = 0;
    while i < name.len() {
        key = key << 8 | name[i].to_ascii_lowercase() as u128;
        i += 1;
    }
    key
}

impl ElementKind {
    pub(super) fn of(name: &[u8]) -> Self {
        if name.len() > 10 {
            return Self::Inline;
        }
        let key = key(name);
        BY_KEY.binary_search_by_key(&key, |entry| entry.0).map_or(Self::Inline, |at| BY_KEY[at].1)
    }
}

impl RawElement {
    /// One bit for each, for use in sets.
    pub(super) const fn bit(self) -> u16 {
        1 << self as u16
    }
}
