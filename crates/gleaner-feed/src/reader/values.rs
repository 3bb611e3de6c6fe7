//! Values of fields: strings, texts, contents, dates, numbers.

use std::borrow::Cow;

use super::Reader;
use super::capture::{Captured, Inside};
use crate::model::{Content, Format, Shelf, Str, Text, TextKind};
use crate::xml::attributes::Attributes;
use crate::xml::references::{Decoder, unescape};
use crate::xml::token::Tag;
use crate::{date, html};

/// Values of short lists that nearly all feeds choose from: media types, media, kinds of episodes.
const USUAL: &[&str] = &[
    "text/html",
    "application/atom+xml",
    "application/rss+xml",
    "audio/mpeg",
    "image",
    "full",
    "image/jpeg",
    "image/png",
    "image/webp",
    "image/jpg",
    "image/gif",
    "video/mp4",
    "audio/x-m4a",
    "audio/mp4",
    "audio/mp3",
    "video",
    "audio",
    "episodic",
    "serial",
    "trailer",
    "bonus",
    "application/x-shockwave-flash",
    "application/json",
    "application/feed+json",
    "application/pdf",
];

/// What a text is if nothing says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assumed {
    Html,
    /// What it looks like.
    Guess,
}

impl<'a> Reader<'a> {
    /// The non-empty attributes of these names.
    pub(super) fn attributes<const N: usize>(
        &mut self,
        tag: &Tag<'a>,
        names: [&str; N],
    ) -> [Option<Cow<'a, str>>; N] {
        Attributes::new(tag.attributes).pick(names, &mut self.decoder)
    }

    /// A non-empty attribute.
    pub(super) fn attribute(&mut self, tag: &Tag<'a>, name: &str) -> Option<Cow<'a, str>> {
        let [value] = self.attributes(tag, [name]);
        value
    }

    /// A non-empty attribute, owned.
    pub(super) fn attribute_string(&mut self, tag: &Tag<'a>, name: &str) -> Option<Str> {
        let value = self.attribute(tag, name)?;
        self.keep(value)
    }

    /// A value that may be absent, owned.
    pub(super) fn keep_some(&mut self, value: Option<Cow<'a, str>>) -> Option<Str> {
        value.and_then(|value| self.keep(value))
    }

    /// Reads over an element whose attributes say it all.
    pub(super) fn skip(&mut self, tag: &Tag<'a>) {
        self.capture(tag, Inside::Text);
    }

    /// A plain value; none, if it is blank.
    pub(super) fn string(&mut self, tag: &Tag<'a>) -> Option<Str> {
        let captured = self.capture(tag, Inside::Text);
        self.keep(captured.value)
    }

    /// A plain value that is only looked at.
    pub(super) fn word(&mut self, tag: &Tag<'a>) -> Cow<'a, str> {
        self.capture(tag, Inside::Text).value
    }

    /// A plain value that is mostly one of a few.
    pub(super) fn usual_word(&mut self, tag: &Tag<'a>) -> Option<Cow<'static, str>> {
        let word = self.word(tag);
        self.media_type(Some(word))
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, tag: &Tag<'a>) -> Option<T> {
        number(&self.word(tag))
    }

    pub(super) fn date(&mut self, tag: &Tag<'a>) -> Option<i64> {
        date::parse(&self.word(tag))
    }

    /// A value, trimmed and held to the limit.
    pub(super) fn limited<'v>(&mut self, value: &'v str) -> &'v str {
        let trimmed = value.trim();
        let kept = trimmed[..trimmed.floor_char_boundary(self.limits.field_bytes)].trim_end();
        self.repairs.fields_cut |= kept.len() < trimmed.len();
        kept
    }

    /// Trims a value, holds it to the limit and takes it over; none, if it is blank.
    pub(super) fn keep(&mut self, value: Cow<'_, str>) -> Option<Str> {
        let kept = self.limited(&value);
        if kept.is_empty() {
            self.decoder.recycle(value);
            return None;
        }
        let (start, length) = (value.len() - value.trim_start().len(), kept.len());
        match value {
            // It has memory of its own, and too much of it to be copied.
            Cow::Owned(mut owned) if !Shelf::is_short(length) && !Decoder::is_spare(&owned) => {
                owned.truncate(start + length);
                owned.drain(..start);
                Some(owned.into())
            }
            value => {
                let string = self.shelf.keep(&value[start..start + length]);
                self.decoder.recycle(value);
                Some(string)
            }
        }
    }

    /// A media type or the like; the usual ones need no memory of their own.
    pub(super) fn media_type(&mut self, value: Option<Cow<'a, str>>) -> Option<Cow<'static, str>> {
        let value = value?;
        match USUAL.iter().find(|usual| **usual == value) {
            Some(usual) => Some(Cow::Borrowed(usual)),
            None => {
                Some(self.limited(&value)).filter(|kept| !kept.is_empty()).map(|kept| kept.to_owned().into())
            }
        }
    }

    /// A text construct; none, if it is blank.
    pub(super) fn text(&mut self, tag: &Tag<'a>, assumed: Assumed) -> Option<Text> {
        let [declared, mode] = self.attributes(tag, ["type", "mode"]);
        self.text_of_type(tag, declared.as_deref(), mode.as_deref(), assumed)
    }

    fn text_of_type(
        &mut self,
        tag: &Tag<'a>,
        declared: Option<&str>,
        mode: Option<&str>,
        assumed: Assumed,
    ) -> Option<Text> {
        let declared = declared.map(Declared::from_attribute).unwrap_or_default();
        let base64 = match mode {
            Some(mode) => mode.eq_ignore_ascii_case("base64"),
            None => declared == Declared::Binary,
        };
        let inside = if declared == Declared::Xhtml { Inside::Xhtml } else { Inside::Any };
        let captured = self.capture(tag, inside);
        if base64 && let Some(decoded) = base64_text(&captured.value) {
            let value = self.keep(Cow::Owned(decoded))?;
            let kind = guess(self.shelf.read(&value));
            return Some(Text { value, kind });
        }
        let (value, kind) = self.settle(captured, declared, assumed);
        let value = self.keep(value)?;
        Some(Text { value, kind })
    }

    /// What a captured value is.
    fn settle(
        &self,
        captured: Captured<'a>,
        declared: Declared,
        assumed: Assumed,
    ) -> (Cow<'a, str>, TextKind) {
        let Captured { value, markup } = captured;
        if markup && (declared != Declared::Xhtml || html::has_tag(&value)) {
            let unwrapped = match value {
                Cow::Borrowed(value) if self.feed.format == Format::Atom => {
                    Cow::Borrowed(html::without_div(value))
                }
                value => value,
            };
            return (unwrapped, TextKind::Xhtml);
        }
        match declared {
            // Declared as markup, but there is none: it is escaped, as if it were HTML, or plain.
            Declared::Xhtml => {
                let value = unescape_owned(value);
                let kind = guess(&value);
                (value, kind)
            }
            Declared::Html => (value, TextKind::Html),
            Declared::Plain => (value, TextKind::Plain),
            Declared::Binary | Declared::Nothing => {
                let kind = match assumed {
                    Assumed::Html => TextKind::Html,
                    Assumed::Guess => guess(&value),
                };
                (value, kind)
            }
        }
    }

    /// The content of an entry.
    pub(super) fn content(&mut self, tag: &Tag<'a>, assumed: Assumed) -> Option<Content> {
        let [declared, mode, src] = self.attributes(tag, ["type", "mode", "src"]);
        let src = src.and_then(|src| self.address(src));
        let text = self.text_of_type(tag, declared.as_deref(), mode.as_deref(), assumed);
        if text.is_none() && src.is_none() {
            return None;
        }
        let mime = self.media_type(declared.filter(|declared| is_other_mime(declared)));
        Some(Content { text: text.unwrap_or_default(), mime, src })
    }
}

/// What a `type` attribute says, in the words of any format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Declared {
    #[default]
    Nothing,
    Plain,
    Html,
    Xhtml,
    /// A media type that is not text: such content is in base64.
    Binary,
}

impl Declared {
    fn from_attribute(value: &str) -> Self {
        // What nearly every feed says, before anything is put into lower case.
        match value {
            "html" | "text/html" => return Self::Html,
            "text" | "text/plain" => return Self::Plain,
            "xhtml" => return Self::Xhtml,
            _ => {}
        }
        let lower = value.to_ascii_lowercase();
        match lower.split(';').next().unwrap_or("").trim() {
            "text" | "plain" | "text/plain" => Self::Plain,
            "html" | "text/html" => Self::Html,
            "xhtml" | "application/xhtml+xml" => Self::Xhtml,
            other if other.ends_with("+xml") || other.ends_with("/xml") => Self::Xhtml,
            other if other.starts_with("text/") || !other.contains('/') => Self::Nothing,
            _ => Self::Binary,
        }
    }
}

fn is_other_mime(declared: &str) -> bool {
    let known = ["text/plain", "text/html", "application/xhtml+xml"];
    declared.contains('/') && !known.iter().any(|known| declared.eq_ignore_ascii_case(known))
}

fn guess(value: &str) -> TextKind {
    if html::looks_like_html(value) { TextKind::Html } else { TextKind::Plain }
}

fn unescape_owned(value: Cow<'_, str>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(value) => unescape(value, &mut Decoder::default()),
        Cow::Owned(value) => Cow::Owned(unescape(&value, &mut Decoder::default()).into_owned()),
    }
}

/// A number with whatever stands around it.
pub(super) fn number<T: std::str::FromStr>(value: &str) -> Option<T> {
    let value = value.trim();
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..digits].parse().ok()
}

/// Base64 whose inside is text; none, if it is not.
fn base64_text(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in value.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(sextet);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_text_or_nothing() {
        assert_eq!(base64_text("RXhhbXBsZSA8Yj5B\n dG9tPC9iPg==").as_deref(), Some("Example <b>Atom</b>"));
        assert_eq!(base64_text("not base64!"), None);
        assert_eq!(base64_text("/////w=="), None);
        assert_eq!(base64_text(""), None);
    }

    #[test]
    fn numbers_lose_what_follows() {
        assert_eq!(number::<u32>(" 60 minutes"), Some(60));
        assert_eq!(number::<u32>("-1"), None);
        assert_eq!(number::<u32>("99999999999"), None);
    }
}
