//! The small part of HTML handling that a feed parser needs: detecting HTML, and converting it to plain text.
//!
//! There is no tree and no sanitising here; the plain text is plain, but nothing makes HTML safe.

use crate::xml::names::is_html;
use crate::xml::references::{Decoder, named, unescape};
use crate::xml::token::find_tag_end;
use memchr::{memchr, memchr2, memmem, memrchr};

/// Whether text of unknown type is HTML: it has an end tag, a line break, an image or a reference, and no tag
/// unknown to HTML.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let bytes = text.as_bytes();
    let last_end = memrchr(b'>', bytes).unwrap_or(0);
    let (mut found, mut from) = (false, 0);
    while let Some(at) = memchr2(b'<', b'&', &bytes[from..]).map(|offset| from + offset) {
        let rest = &text[at + 1..];
        if bytes[at] == b'&' {
            found |= is_reference(rest);
        } else if let Some(name) = tag_name(rest) {
            if !is_html(name) {
                return false;
            }
            // A lone start tag may be what the text is about.
            found |= last_end > at && (rest.starts_with('/') || ["br", "img", "hr"].contains(&name));
        }
        from = at + 1;
        // The beginning is enough to tell, and keeps long texts cheap.
        if found && from > 4096 {
            break;
        }
    }
    found
}

fn is_reference(rest: &str) -> bool {
    let end = rest.bytes().take(32).position(|byte| byte == b';');
    let Some(name) = end.map(|end| &rest[..end]) else { return false };
    match name.strip_prefix('#') {
        Some(number) => !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        None => named(name).is_some(),
    }
}

/// The name of the tag after a `<`.
fn tag_name(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let end = rest.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
    rest[..end].starts_with(|c: char| c.is_ascii_alphabetic()).then(|| &rest[..end])
}

pub(crate) fn has_tag(text: &str) -> bool {
    memchr::memchr_iter(b'<', text.as_bytes()).any(|at| tag_name(&text[at + 1..]).is_some())
}

/// Strips the `div` that Atom requires around XHTML.
pub(crate) fn without_div(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("<div").filter(|rest| rest.starts_with(['>', ' ', '\n', '\t', '\r']));
    let Some(inside) = inside.and_then(|rest| rest.split_once('>')) else { return text };
    if inside.0.ends_with('/') {
        return text;
    }
    let Some(inside) = inside.1.strip_suffix("</div>") else { return text };
    // Only if the first `div` closes at the end.
    let mut depth = 0i32;
    for at in memmem::find_iter(inside.as_bytes(), b"div") {
        let before = &inside.as_bytes()[..at];
        if before.ends_with(b"</") {
            depth -= 1;
        } else if before.ends_with(b"<") {
            depth += 1;
        }
        if depth < 0 {
            return text;
        }
    }
    inside.trim()
}

/// Collapses white space.
pub(crate) fn collapse(text: &str) -> String {
    if is_collapsed(text.as_bytes()) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Whether a text is already collapsed, as nearly all titles are: ASCII with single spaces.
fn is_collapsed(text: &[u8]) -> bool {
    let mut after_space = true;
    for &byte in text {
        match byte {
            b' ' if after_space => return false,
            b' ' => after_space = true,
            b'!'..=b'~' => after_space = false,
            _ => return false,
        }
    }
    !after_space || text.is_empty()
}

/// Converts HTML to plain text: tags, comments, scripts and styles removed, references decoded, white space
/// collapsed. Block-level tags separate words.
pub(crate) fn to_plain(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    let mut hidden_ends = true;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = memmem::find(comment.as_bytes(), b"-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        match tag_name(&rest[1..]) {
            Some(name) => {
                let (end, _) = find_tag_end(rest.as_bytes(), 1);
                let end = end + usize::from(rest.as_bytes().get(end) == Some(&b'>'));
                let opens = !rest.starts_with("</");
                rest = &rest[end..];
                let hidden = ["script", "style"].iter().any(|hidden| name.eq_ignore_ascii_case(hidden));
                if opens && hidden && hidden_ends {
                    match after_hidden(rest, name) {
                        Some(after) => rest = after,
                        None => hidden_ends = false,
                    }
                }
                if !is_inline(name) {
                    out.push(' ');
                }
            }
            None => {
                out.push('<');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    collapse(&unescape(&out, &mut Decoder::default()))
}

/// The text after the end tag of a script or style.
fn after_hidden<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    memmem::find_iter(text.as_bytes(), b"</").map(|at| &text[at + 2..]).find_map(|close| {
        close.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name))?;
        Some(memchr(b'>', close.as_bytes()).map_or("", |end| &close[end + 1..]))
    })
}

fn is_inline(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i",
        "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u",
        "var", "wbr",
    ];
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_detected() {
        for html in ["<b>bold</b>", "AT&amp;T", "a<br>b", "caf&eacute;", "&#8217;", "<p class=\"x\">y</p>"] {
            assert!(looks_like_html(html), "{html}");
        }
        for text in [
            "a < b",
            "AT&T",
            "History of the <blink> tag",
            "All of <details>",
            "",
            "x <y> z",
            "Vec<T>",
            "&c.; &co;",
        ] {
            assert!(!looks_like_html(text), "{text}");
        }
    }

    #[test]
    fn plain_text_has_no_markup() {
        for (html, plain) in [
            ("<p>Breaking news</p><a href=\"https://example.com/\">link</a>", "Breaking news link"),
            ("a <b>bo</b>ld&nbsp;word", "a bold word"),
            ("1 < 2<br/>3", "1 < 2 3"),
            ("<style>p { color: red }</style>seen<script>hidden()</script>", "seen"),
            ("<!-- hidden -->seen<!-- open", "seen"),
            ("<img alt=\"a\"", ""),
        ] {
            assert_eq!(to_plain(html), plain, "{html}");
        }
    }

    #[test]
    fn the_outer_div_is_stripped() {
        assert_eq!(without_div("<div xmlns=\"x\"> a <div>b</div> </div>"), "a <div>b</div>");
        assert_eq!(without_div("<div>a</div><div>b</div>"), "<div>a</div><div>b</div>");
        assert_eq!(without_div("<divider>a</divider>"), "<divider>a</divider>");
    }
}
