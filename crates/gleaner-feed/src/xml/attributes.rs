//! The attributes of a start tag, quoted or not.

use super::references::{Decoder, unescape};
use std::borrow::Cow;

/// Names and raw values, in order.
#[derive(Debug, Clone)]
pub(crate) struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(rest: &'a str) -> Self {
        Self { rest }
    }

    /// The decoded value of the first attribute of that name, whatever its case and prefix.
    pub(crate) fn get(&self, name: &str, decoder: &mut Decoder<'a>) -> Option<Cow<'a, str>> {
        let (_, value) = self.clone().find(|(known, _)| local(known).eq_ignore_ascii_case(name))?;
        Some(trimmed(unescape(value, decoder)))
    }
}

/// A name without its prefix.
pub(crate) fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

pub(crate) fn trimmed(value: Cow<'_, str>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(value.trim()),
        Cow::Owned(value) if value.trim().len() == value.len() => Cow::Owned(value),
        Cow::Owned(value) => Cow::Owned(value.trim().to_owned()),
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || "/\"'=".contains(c));
        if rest.is_empty() {
            return None;
        }
        let name_end = rest.find(|c: char| c == '=' || c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        let Some(value) = after.trim_ascii_start().strip_prefix('=') else {
            self.rest = after;
            return Some((name, ""));
        };
        let value = value.trim_ascii_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inside = &value[1..];
                inside.split_once(quote).unwrap_or((inside, ""))
            }
            _ => value.split_at(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len())),
        };
        self.rest = after;
        Some((name, value))
    }
}
