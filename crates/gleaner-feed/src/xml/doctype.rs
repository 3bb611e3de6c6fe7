//! DOCTYPE declarations: skipped, except for the simple entities that they define.
//!
//! Not supported: external subsets, parameter entities and entities that reference other entities. No feed needs
//! them, and each is an attack vector.

use memchr::{memchr, memchr2};

/// Longer entities are ignored; total expansion is limited where entities are used.
const MAX_ENTITY_BYTES: usize = 256;
const MAX_ENTITIES: usize = 64;

/// The entities that the document defines, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doctype<'a> {
    entities: Vec<(&'a str, &'a str)>,
    /// Whether it declares an HTML document.
    pub html: bool,
}

impl<'a> Doctype<'a> {
    /// Reads the declaration at a `<!` and returns its end. `endless` records that no later subset is closed.
    pub(super) fn read(&mut self, source: &'a str, at: usize, endless: &mut bool) -> usize {
        let bytes = source.as_bytes();
        let from = at + 2;
        let Some(stop) = memchr2(b'>', b'[', &bytes[from..]).map(|offset| from + offset) else {
            return bytes.len();
        };
        self.html |=
            source[from..stop].get(..12).is_some_and(|head| head.eq_ignore_ascii_case("doctype html"));
        if bytes[stop] == b'>' {
            return stop + 1;
        }
        let close = if *endless { None } else { memchr(b']', &bytes[stop..]).map(|offset| stop + offset) };
        // An unclosed subset would hide the whole feed, so only its declarations are skipped.
        let Some(close) = close else {
            *endless = true;
            return stop + 1;
        };
        self.subset(&source[stop + 1..close]);
        memchr(b'>', &bytes[close..]).map_or(bytes.len(), |offset| close + offset + 1)
    }

    fn subset(&mut self, subset: &'a str) {
        for declaration in subset.split("<!ENTITY").skip(1).take(MAX_ENTITIES) {
            let declaration = declaration.trim_start();
            let Some((name, rest)) = declaration.split_once(|c: char| c.is_ascii_whitespace()) else {
                continue;
            };
            let rest = rest.trim_start();
            let Some(quote @ ('"' | '\'')) = rest.chars().next() else { continue };
            let Some(text) = rest[1..].split(quote).next().filter(|text| text.len() <= MAX_ENTITY_BYTES)
            else {
                continue;
            };
            let plain = !text.contains(['<', '&', '%']) || text.starts_with("&#");
            if plain && !name.is_empty() && name != "%" && self.entities.len() < MAX_ENTITIES {
                self.entities.push((name, text));
            }
        }
    }

    /// The text of an entity that the document defines.
    pub(crate) fn entity(&self, name: &str) -> Option<&'a str> {
        self.entities.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}
