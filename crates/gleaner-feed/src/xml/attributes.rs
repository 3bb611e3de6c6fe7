//! The attributes of a start tag, quoted or not.

use std::borrow::Cow;

use memchr::memchr;

use super::references::{Decoder, unescape};

/// Iterates over names and raw values, in order.
#[derive(Debug, Clone)]
pub(crate) struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(rest: &'a str) -> Self {
        Self { rest }
    }

    /// The decoded, non-empty values of the attributes with these names, ignoring case and prefix. The first of
    /// several with the same name counts.
    pub(crate) fn pick<const N: usize>(
        self,
        names: [&str; N],
        decoder: &mut Decoder<'a>,
    ) -> [Option<Cow<'a, str>>; N] {
        let mut found = [const { None }; N];
        for (name, value) in self {
            if let Some(index) = names.iter().position(|wanted| is_named(name, wanted))
                && found[index].is_none()
            {
                found[index] = Some(unescape(value.trim(), decoder)).filter(|value| !value.is_empty());
            }
        }
        found
    }
}

/// Compares names ignoring case and prefix.
fn is_named(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (name.as_bytes(), wanted.as_bytes());
    let Some(prefix) = name.len().checked_sub(wanted.len()) else { return false };
    (prefix == 0 || name[prefix - 1] == b':') && name[prefix..].eq_ignore_ascii_case(wanted)
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (text, bytes) = (self.rest, self.rest.as_bytes());
        let dirt = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'=');
        let start = bytes.iter().position(|byte| !dirt(byte))?;
        let end = find(bytes, start, |byte| byte == b'=' || byte.is_ascii_whitespace());
        let name = &text[start..end];
        let equals = find(bytes, end, |byte| !byte.is_ascii_whitespace());
        if bytes.get(equals) != Some(&b'=') {
            self.rest = &text[equals..];
            return Some((name, ""));
        }
        let value = find(bytes, equals + 1, |byte| !byte.is_ascii_whitespace());
        let (from, to, after) = match bytes.get(value) {
            Some(&quote @ (b'"' | b'\'')) => {
                let from = value + 1;
                let to = memchr(quote, &bytes[from..]).map_or(bytes.len(), |offset| from + offset);
                (from, to, (to + 1).min(bytes.len()))
            }
            _ => {
                let to = find(bytes, value, |byte| byte.is_ascii_whitespace());
                (value, to, to)
            }
        };
        self.rest = &text[after..];
        Some((name, &text[from..to]))
    }
}

/// The first matching byte from `from` on, or the end.
fn find(bytes: &[u8], from: usize, kind: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|byte| kind(*byte)).map_or(bytes.len(), |offset| from + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(attributes: &str, expected: &[(&str, &str)]) {
        assert_eq!(Attributes::new(attributes).collect::<Vec<_>>(), expected, "{attributes}");
    }

    #[test]
    fn attributes_in_all_forms() {
        check(" a=\"1\" b='2'", &[("a", "1"), ("b", "2")]);
        check(" a = \"1\"b=\"2\"", &[("a", "1"), ("b", "2")]);
        check(" a=http://example.com/x b", &[("a", "http://example.com/x"), ("b", "")]);
        check(" a=\"it's\" b=\"open", &[("a", "it's"), ("b", "open")]);
        check(" = \" / ", &[]);
        check(" a=", &[("a", "")]);
        check("\u{e9}=\u{e9} x", &[("\u{e9}", "\u{e9}"), ("x", "")]);
    }

    #[test]
    fn values_are_picked_by_name() {
        let attributes = Attributes::new(" rdf:About=\"a&amp;b\" href='' HREF=c about=d");
        let picked = attributes.pick(["about", "href"], &mut Decoder::default());
        assert_eq!(picked, [Some("a&b".into()), Some("c".into())]);
    }
}
