//! The attributes of an element that matter for its links, read in one pass.

use std::borrow::Cow;

use crate::read::html::Tag;

/// Raw values; `None` if absent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes<'a> {
    pub href: Option<&'a [u8]>,
    pub class: Option<&'a [u8]>,
    pub id: Option<&'a [u8]>,
    pub role: Option<&'a [u8]>,
    pub rel: Option<&'a [u8]>,
    /// `itemtype`.
    pub kind: Option<&'a [u8]>,
    /// `datetime`.
    pub time: Option<&'a [u8]>,
    /// `aria-label`.
    pub label: Option<&'a [u8]>,
    /// `title`.
    pub tip: Option<&'a [u8]>,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(tag: &Tag<'a>) -> Self {
        let mut found = Self::default();
        for (name, value) in tag.attributes() {
            let slot = match name {
                name if name.eq_ignore_ascii_case(b"href") => &mut found.href,
                name if name.eq_ignore_ascii_case(b"class") => &mut found.class,
                name if name.eq_ignore_ascii_case(b"id") => &mut found.id,
                name if name.eq_ignore_ascii_case(b"role") => &mut found.role,
                name if name.eq_ignore_ascii_case(b"rel") => &mut found.rel,
                name if name.eq_ignore_ascii_case(b"itemtype") => &mut found.kind,
                name if name.eq_ignore_ascii_case(b"datetime") => &mut found.time,
                name if name.eq_ignore_ascii_case(b"aria-label") => &mut found.label,
                name if name.eq_ignore_ascii_case(b"title") => &mut found.tip,
                _ => continue,
            };
            // As in browsers, the first of duplicates counts.
            slot.get_or_insert(value);
        }
        found
    }
}

/// Decodes an attribute value.
pub(super) fn decoded(value: &[u8]) -> Cow<'_, str> {
    htmlize::unescape_attribute(String::from_utf8_lossy(value))
}
