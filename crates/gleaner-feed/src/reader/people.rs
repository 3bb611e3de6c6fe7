//! People: elements with a `name` child, or a line of free text.

use std::borrow::Cow;

use super::{Context, Reader, Role};
use crate::Limits;
use crate::model::{Person, Str, StringPool};
use crate::xml::names::Element;
use crate::xml::token::Tag;

impl<'a> Reader<'a> {
    /// An author or contributor, in either form.
    pub(super) fn person(&mut self, tag: &Tag<'a>, role: Role) -> Option<Context> {
        if self.holds_elements(tag) {
            self.person = Person::default();
            return Some(Context::Person(role));
        }
        let line = self.word(tag);
        let line = self.limited(&line);
        if !line.is_empty() {
            let (name, email) = split_name_and_email(line);
            let name = name.map(|name| self.strings.add(&name));
            let email = email.map(|email| self.strings.add(email));
            self.person = Person { name, email, uri: None };
            self.finish_person(role, self.context);
        }
        None
    }

    pub(super) fn person_field(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match element {
            Element::Name => self.person.name = self.string(tag).or(self.person.name.take()),
            Element::Email => self.person.email = self.string(tag).or(self.person.email.take()),
            Element::Uri | Element::Url => {
                self.person.uri = self.address_text(tag).or(self.person.uri.take())
            }
            Element::Unknown => return Some(self.context),
            _ => return self.field_outside(tag, element),
        }
        None
    }

    /// Adds the current person to the feed or entry that it belongs to.
    pub(super) fn finish_person(&mut self, role: Role, owner: Context) {
        let person = std::mem::take(&mut self.person);
        if person.is_blank() {
            return;
        }
        let list = match (role, owner) {
            (Role::Author, Context::Entry) => &mut self.entry.authors,
            (Role::Contributor, Context::Entry) => &mut self.entry.contributors,
            (Role::Author, _) => &mut self.feed.authors,
            (Role::Owner, _) => {
                self.feed.itunes.get_or_insert_default().owner = Some(person);
                return;
            }
            (Role::Contributor, _) => return,
        };
        // Feeds repeat the same person in several extensions.
        let known = list.iter().take(8).any(|known| is_known(known, &person, &self.strings));
        if !known && list.len() < Limits::LIST {
            list.push(person);
        }
    }
}

/// Whether a person is already listed: equal, or only a name that is already listed.
fn is_known(known: &Person, new: &Person, strings: &StringPool) -> bool {
    let same = |known: &Option<Str>, new: &Option<Str>| {
        known.as_ref().map(|known| strings.read(known)) == new.as_ref().map(|new| strings.read(new))
    };
    let only_named = new.email.is_none() && new.uri.is_none();
    same(&known.name, &new.name)
        && (only_named || same(&known.email, &new.email) && same(&known.uri, &new.uri))
}

/// Splits a line such as `me@example.com (Me)`, `Me <me@example.com>` or `Me` into name and email address.
fn split_name_and_email(line: &str) -> (Option<Cow<'_, str>>, Option<&str>) {
    let line = line.trim();
    let Some(email) =
        line.split(|c: char| c.is_whitespace() || "()<>,;\"[]".contains(c)).find(|word| is_email(word))
    else {
        return ((!line.is_empty()).then_some(Cow::Borrowed(line)), None);
    };
    let (before, after) = line.split_once(email).unwrap_or_default();
    let name = match (trim_punctuation(before), trim_punctuation(after)) {
        (name, "") | ("", name) if !name.contains("()") && !name.contains("<>") => Cow::Borrowed(name),
        _ => {
            let rest = [before, after].concat().replace("()", "").replace("<>", "");
            Cow::Owned(trim_punctuation(&rest).to_owned())
        }
    };
    let address = email.strip_prefix("mailto:").unwrap_or(email);
    (Some(name).filter(|name| !name.is_empty()), Some(address))
}

/// Removes the punctuation between a name and an email address.
fn trim_punctuation(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || "()<>,;\"".contains(c))
}

fn is_email(word: &str) -> bool {
    let Some((local, domain)) = word.split_once('@') else { return false };
    let plain = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    !local.is_empty()
        && local.trim_start_matches("mailto:").chars().all(plain)
        && domain.contains('.')
        && !domain.ends_with('.')
        && domain.chars().all(|c| c.is_alphanumeric() || ".-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_email_are_split() {
        for (line, name, email) in [
            ("me@example.com (Me)", Some("Me"), Some("me@example.com")),
            ("me@example.com", None, Some("me@example.com")),
            ("Me <me@example.com>", Some("Me"), Some("me@example.com")),
            ("Me (me@example.com)", Some("Me"), Some("me@example.com")),
            ("mailto:me@example.com Me", Some("Me"), Some("me@example.com")),
            ("Me & You", Some("Me & You"), None),
            ("Me (me@example.com) <>, Inc.", Some("Me  , Inc."), Some("me@example.com")),
            ("@me", Some("@me"), None),
            ("", None, None),
        ] {
            let (found, address) = split_name_and_email(line);
            assert_eq!((found.as_deref(), address), (name, email), "{line}");
        }
    }
}
