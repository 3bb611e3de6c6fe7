//! Field values: strings, texts, contents, dates, numbers.

use std::borrow::Cow;

use super::Reader;
use super::capture::{Captured, ContentModel};
use crate::model::{Content, Format, Str, StringPool, Text, TextKind};
use crate::xml::attributes::Attributes;
use crate::xml::references::{Decoder, unescape};
use crate::xml::token::Tag;
use crate::{date, html};

/// Common values of enumerated fields (media types, media, episode types), which need no allocation.
const COMMON_VALUES: &[&str] = &[
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

/// The type of a text that does not declare one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultType {
    Html,
    /// Detected from the text.
    Guess,
}

impl<'a> Reader<'a> {
    /// The non-empty attributes with these names.
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
        self.store(value)
    }

    /// An optional value, owned.
    pub(super) fn store_optional(&mut self, value: Option<Cow<'a, str>>) -> Option<Str> {
        value.and_then(|value| self.store(value))
    }

    /// Skips an element of which only the attributes matter.
    pub(super) fn skip(&mut self, tag: &Tag<'a>) {
        self.capture(tag, ContentModel::Text);
    }

    /// A plain value; `None` if blank.
    pub(super) fn string(&mut self, tag: &Tag<'a>) -> Option<Str> {
        let captured = self.capture(tag, ContentModel::Text);
        self.store(captured.value)
    }

    /// A plain value that is only inspected, not stored.
    pub(super) fn word(&mut self, tag: &Tag<'a>) -> Cow<'a, str> {
        self.capture(tag, ContentModel::Text).value
    }

    /// A plain value that is mostly one of [`COMMON_VALUES`].
    pub(super) fn common_value(&mut self, tag: &Tag<'a>) -> Option<Cow<'static, str>> {
        let word = self.word(tag);
        self.media_type(Some(word))
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, tag: &Tag<'a>) -> Option<T> {
        number(&self.word(tag))
    }

    pub(super) fn date(&mut self, tag: &Tag<'a>) -> Option<i64> {
        date::parse(&self.word(tag))
    }

    /// Trims a value and truncates it to the limit.
    pub(super) fn limited<'v>(&mut self, value: &'v str) -> &'v str {
        let trimmed = value.trim();
        let kept = trimmed[..trimmed.floor_char_boundary(self.limits.field_bytes)].trim_end();
        self.repairs.fields_cut |= kept.len() < trimmed.len();
        kept
    }

    /// Trims, truncates and stores a value; `None` if blank.
    pub(super) fn store(&mut self, value: Cow<'_, str>) -> Option<Str> {
        let kept = self.limited(&value);
        if kept.is_empty() {
            self.decoder.recycle(value);
            return None;
        }
        let (start, length) = (value.len() - value.trim_start().len(), kept.len());
        match value {
            // It has its own allocation, and is too large to copy.
            Cow::Owned(mut owned) if !StringPool::is_short(length) && !Decoder::is_spare(&owned) => {
                owned.truncate(start + length);
                owned.drain(..start);
                Some(owned.into())
            }
            value => {
                let string = self.strings.add(&value[start..start + length]);
                self.decoder.recycle(value);
                Some(string)
            }
        }
    }

    /// A media type or similar; common ones need no allocation.
    pub(super) fn media_type(&mut self, value: Option<Cow<'a, str>>) -> Option<Cow<'static, str>> {
        let value = value?;
        match COMMON_VALUES.iter().find(|usual| **usual == value) {
            Some(usual) => Some(Cow::Borrowed(usual)),
            None => {
                Some(self.limited(&value)).filter(|kept| !kept.is_empty()).map(|kept| kept.to_owned().into())
            }
        }
    }

    /// A text construct; `None` if blank.
    pub(super) fn text(&mut self, tag: &Tag<'a>, default_type: DefaultType) -> Option<Text> {
        let [declared, mode] = self.attributes(tag, ["type", "mode"]);
        self.text_of_type(tag, declared.as_deref(), mode.as_deref(), default_type)
    }

    fn text_of_type(
        &mut self,
        tag: &Tag<'a>,
        declared: Option<&str>,
        mode: Option<&str>,
        default_type: DefaultType,
    ) -> Option<Text> {
        let declared = declared.map(DeclaredType::from_attribute).unwrap_or_default();
        let base64 = match mode {
            Some(mode) => mode.eq_ignore_ascii_case("base64"),
            None => declared == DeclaredType::Binary,
        };
        let content = if declared == DeclaredType::Xhtml { ContentModel::Xhtml } else { ContentModel::Any };
        let captured = self.capture(tag, content);
        if base64 && let Some(decoded) = base64_text(&captured.value) {
            let value = self.store(Cow::Owned(decoded))?;
            let kind = guess(self.strings.read(&value));
            return Some(Text { value, kind });
        }
        let (value, kind) = self.settle(captured, declared, default_type);
        let value = self.store(value)?;
        Some(Text { value, kind })
    }

    /// Determines the type of a captured value.
    fn settle(
        &self,
        captured: Captured<'a>,
        declared: DeclaredType,
        default_type: DefaultType,
    ) -> (Cow<'a, str>, TextKind) {
        let Captured { value, markup } = captured;
        if markup && (declared != DeclaredType::Xhtml || html::has_tag(&value)) {
            let unwrapped = match value {
                Cow::Borrowed(value) if self.feed.format == Format::Atom => {
                    Cow::Borrowed(html::without_div(value))
                }
                value => value,
            };
            return (unwrapped, TextKind::Xhtml);
        }
        match declared {
            // DeclaredType as markup but without any: it is escaped HTML, or plain.
            DeclaredType::Xhtml => {
                let value = unescape_owned(value);
                let kind = guess(&value);
                (value, kind)
            }
            DeclaredType::Html => (value, TextKind::Html),
            DeclaredType::Plain => (value, TextKind::Plain),
            DeclaredType::Binary | DeclaredType::Nothing => {
                let kind = match default_type {
                    DefaultType::Html => TextKind::Html,
                    DefaultType::Guess => guess(&value),
                };
                (value, kind)
            }
        }
    }

    /// The content of an entry.
    pub(super) fn content(&mut self, tag: &Tag<'a>, default_type: DefaultType) -> Option<Content> {
        let [declared, mode, src] = self.attributes(tag, ["type", "mode", "src"]);
        let src = src.and_then(|src| self.address(src));
        let text = self.text_of_type(tag, declared.as_deref(), mode.as_deref(), default_type);
        if text.is_none() && src.is_none() {
            return None;
        }
        let mime = self.media_type(declared.filter(|declared| is_other_mime(declared)));
        Some(Content { text: text.unwrap_or_default(), mime, src })
    }
}

/// The declared type of a text, in the terms of any format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum DeclaredType {
    #[default]
    Nothing,
    Plain,
    Html,
    Xhtml,
    /// A media type that is not text; the content is base64.
    Binary,
}

impl DeclaredType {
    fn from_attribute(value: &str) -> Self {
        // The most common values, checked before lower-casing.
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

/// A number, ignoring what surrounds it.
pub(super) fn number<T: std::str::FromStr>(value: &str) -> Option<T> {
    let value = value.trim();
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..digits].parse().ok()
}

/// Decodes base64 that contains text; `None` if it does not.
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
    fn base64_is_decoded_only_to_text() {
        assert_eq!(base64_text("RXhhbXBsZSA8Yj5B\n dG9tPC9iPg==").as_deref(), Some("Example <b>Atom</b>"));
        assert_eq!(base64_text("not base64!"), None);
        assert_eq!(base64_text("/////w=="), None);
        assert_eq!(base64_text(""), None);
    }

    #[test]
    fn text_after_numbers_is_ignored() {
        assert_eq!(number::<u32>(" 60 minutes"), Some(60));
        assert_eq!(number::<u32>("-1"), None);
        assert_eq!(number::<u32>("99999999999"), None);
    }
}
