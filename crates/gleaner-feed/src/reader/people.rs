//! People: elements with a name inside, or a line of text with anything in it.

use super::{Context, Reader, Role};
use crate::Limits;
use crate::model::Person;
use crate::xml::names::Element;
use crate::xml::token::Tag;

impl<'a> Reader<'a> {
    /// An author or contributor, in either form.
    pub(super) fn person(&mut self, tag: &Tag<'a>, role: Role) -> Option<Context> {
        if self.holds_elements(tag) {
            self.person = Person::default();
            return Some(Context::Person(role));
        }
        if let Some(line) = self.string(tag) {
            self.person = person_of(&line);
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

    /// Gives the person that was read to the feed or entry it belongs to.
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
        // Feeds say the same in several extensions.
        let known = list.iter().take(8).any(|known| known == &person || is_named(known, &person));
        if !known && list.len() < Limits::LIST {
            list.push(person);
        }
    }
}

/// Whether a person is known already, and nothing but the name is new.
fn is_named(known: &Person, new: &Person) -> bool {
    new.email.is_none() && new.uri.is_none() && known.name == new.name
}

/// The person in a line such as `me@example.com (Me)`, `Me <me@example.com>` or `Me`.
pub(crate) fn person_of(line: &str) -> Person {
    let line = line.trim();
    let Some(email) =
        line.split(|c: char| c.is_whitespace() || "()<>,;\"[]".contains(c)).find(|word| is_email(word))
    else {
        let name = (!line.is_empty()).then(|| line.to_owned());
        return Person { name, ..Person::default() };
    };
    let address = email.strip_prefix("mailto:").unwrap_or(email);
    let rest = line.replacen(email, "", 1).replace("()", "").replace("<>", "");
    let name = rest.trim().trim_matches(|c: char| c.is_whitespace() || "()<>,;\"".contains(c));
    Person { name: (!name.is_empty()).then(|| name.to_owned()), email: Some(address.to_owned()), uri: None }
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
    fn lines_are_taken_apart() {
        for (line, name, email) in [
            ("me@example.com (Me)", Some("Me"), Some("me@example.com")),
            ("me@example.com", None, Some("me@example.com")),
            ("Me <me@example.com>", Some("Me"), Some("me@example.com")),
            ("Me (me@example.com)", Some("Me"), Some("me@example.com")),
            ("mailto:me@example.com Me", Some("Me"), Some("me@example.com")),
            ("Me & You", Some("Me & You"), None),
            ("@me", Some("@me"), None),
            ("", None, None),
        ] {
            let person = person_of(line);
            assert_eq!((person.name.as_deref(), person.email.as_deref()), (name, email), "{line}");
        }
    }
}
