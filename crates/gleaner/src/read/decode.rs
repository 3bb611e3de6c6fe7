//! Decodes the bytes of a web page. In order: byte order mark, `Content-Type`, the page's own declaration,
//! detection.
//!
//! Valid UTF-8 that is not plain ASCII is decoded as UTF-8 whatever is declared, because server configurations are
//! often wrong. There are no errors: what cannot be decoded becomes U+FFFD.

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::html::{Tag, Token, Tokens};

/// Bytes searched for a declaration. Browsers stop at 1024 bytes; not all pages comply.
const DECLARATION_BYTES: usize = 4096;

/// Bytes examined to detect the encoding.
const DETECTION_BYTES: usize = 256 << 10;

/// Decodes a page with this `Content-Type`; borrowed if the bytes are valid UTF-8.
pub fn decode<'a>(bytes: &'a [u8], content_type: &[u8]) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0;
    }
    let claimed = charset(content_type).or_else(|| declared(bytes));
    match std::str::from_utf8(bytes) {
        // ISO-2022-JP and UTF-16 can look like ASCII.
        Ok(text) if claimed.is_none_or(Encoding::is_ascii_compatible) => Cow::Borrowed(text),
        _ => {
            let encoding =
                claimed.filter(|claimed| *claimed != UTF_8).unwrap_or_else(|| detect(bytes, claimed));
            encoding.decode_without_bom_handling(bytes).0
        }
    }
}

/// Detects the encoding of bytes that are not valid UTF-8.
fn detect(bytes: &[u8], claimed: Option<&'static Encoding>) -> &'static Encoding {
    // A few invalid bytes do not disprove declared UTF-8.
    let invalid = || bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let valid = || bytes.iter().filter(|byte| **byte >= 0xC0).count();
    if claimed == Some(UTF_8) && invalid() * 2 <= valid() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new();
    detector.feed(bytes.get(..DETECTION_BYTES).unwrap_or(bytes), true);
    detector.guess(None, true)
}

/// The `charset` parameter of a `Content-Type`.
fn charset(content_type: &[u8]) -> Option<&'static Encoding> {
    content_type.split(|byte| *byte == b';').skip(1).find_map(|parameter| {
        let equals = memchr::memchr(b'=', parameter)?;
        let (name, value) = parameter.split_at(equals);
        let label = value.get(1..)?.trim_ascii();
        let label = label.strip_prefix(b"\"").or_else(|| label.strip_prefix(b"'")).unwrap_or(label);
        let label = label.split(|byte| matches!(byte, b'"' | b'\'')).next()?;
        name.trim_ascii().eq_ignore_ascii_case(b"charset").then(|| Encoding::for_label(label))?
    })
}

/// The encoding that the page declares, in `<meta>` or in an XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..DECLARATION_BYTES).unwrap_or(bytes);
    let in_markup = Tokens::new(head).find_map(|token| match token {
        Token::Tag(tag) if !tag.end && tag.is("meta") => in_meta(&tag),
        _ => None,
    });
    // A declaration that is readable as ASCII cannot be in UTF-16.
    in_markup
        .or_else(|| in_xml(head))
        .map(|found| if found == UTF_16BE || found == UTF_16LE { UTF_8 } else { found })
}

fn in_meta(tag: &Tag<'_>) -> Option<&'static Encoding> {
    if let Some(label) = tag.attribute("charset") {
        return Encoding::for_label(label.trim_ascii());
    }
    let kind = tag.attribute("http-equiv")?;
    kind.trim_ascii().eq_ignore_ascii_case(b"content-type").then(|| charset(tag.attribute("content")?))?
}

fn in_xml(head: &[u8]) -> Option<&'static Encoding> {
    let declaration = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = declaration.split(|byte| *byte == b'>').next()?;
    let from = memchr::memmem::find(declaration, b"encoding")? + b"encoding".len();
    let value = declaration.get(from..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let label = value.split(|byte| matches!(byte, b'"' | b'\'')).find(|part| !part.is_empty())?;
    Encoding::for_label(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], content_type: &str, expected: &str) {
        assert_eq!(decode(bytes, content_type.as_bytes()), expected, "{content_type}: {bytes:x?}");
    }

    #[test]
    fn the_first_declaration_counts() {
        check(b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=iso-8859-1", "café");
        check(b"\xff\xfea\0b\0", "text/html", "ab");
        check(b"caf\xe9", "text/html; charset=ISO-8859-1", "café");
        check(b"caf\xe9", "text/html;charset='windows-1252'", "café");
        check(b"\xcf\xf0\xe8", "text/html; charset=\"windows-1251\"", "При");
        check(b"<meta charset=windows-1251>\xcf\xf0\xe8", "text/html", "<meta charset=windows-1251>При");
        let equiv = b"<META HTTP-EQUIV='Content-Type' content='text/html; charset=gbk'>\xc4\xe3";
        assert!(decode(equiv, b"").ends_with('你'));
        assert!(decode(b"<?xml version='1.0' encoding='iso-8859-2'?>\xb1", b"").ends_with('ą'));
    }

    #[test]
    fn valid_utf_8_is_utf_8() {
        check("café".as_bytes(), "text/html; charset=iso-8859-1", "café");
        check("<meta charset=utf-16>é".as_bytes(), "", "<meta charset=utf-16>é");
        check("caf\u{e9} \u{e0}".as_bytes(), "nonsense; charset", "café à");
        check(b"", "", "");
    }

    #[test]
    fn undeclared_encodings_are_detected() {
        let russian = "Привет, как дела? Это обычный текст на русском языке.";
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(russian);
        check(&bytes, "text/html", russian);
        check(&bytes, "text/html; charset=utf-8", russian);
        check(b"caf\xc3\xa9 \xc3\xa8 \xff", "text/html; charset=utf-8", "café è \u{fffd}");
    }

    #[test]
    fn seven_bit_encodings_are_not_ascii() {
        check(b"\x1b$B$\"\x1b(B", "text/html; charset=iso-2022-jp", "あ");
    }
}
