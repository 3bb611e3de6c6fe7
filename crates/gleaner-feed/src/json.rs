//! JSON Feed 1.0 and 1.1, read as it streams in: what was complete before an error is kept.
//!
//! A value of a wrong type counts as absent, never as an error.

mod loose;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::{
    Category, Content, Enclosure, Entry, Feed, Format, Itunes, Link, Media, Person, Rel, Str, Text,
};
use crate::{Limits, Options, ParseError, TextKind, date};
use loose::{Cutter, List, Object, Word};

/// An author, a hub or an attachment: few fields, so one form for all.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    name: Word,
    url: Word,
    mime_type: Word,
    title: Word,
    size_in_bytes: Word,
    duration_in_seconds: Word,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item {
    id: Word,
    url: Word,
    external_url: Word,
    title: Word,
    content_html: Word,
    content_text: Word,
    summary: Word,
    image: Word,
    banner_image: Word,
    date_published: Word,
    date_modified: Word,
    language: Word,
    author: Object<Part>,
    authors: List<Object<Part>>,
    tags: List<Word>,
    attachments: List<Object<Part>>,
}

/// What has been read so far.
struct Document<'f> {
    feed: &'f mut Feed,
    limits: Limits,
    cutter: Cutter,
    items_seen: bool,
}

pub(crate) fn read(text: &str, options: &Options<'_>) -> Result<Feed, ParseError> {
    let mut feed = Feed { format: Format::Json, ..Feed::default() };
    let cutter = Cutter::new(options.limits.field_bytes);
    let mut document = Document { feed: &mut feed, limits: options.limits, cutter, items_seen: false };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let outcome = (&mut document).deserialize(&mut deserializer);
    let (items_seen, cut) = (document.items_seen, document.cutter.cut.get());
    // With it goes the shelf, and what is on it can be read.
    drop(document);
    // Items that are no list count as absent, like everything of a wrong type.
    let no_list = outcome.as_ref().is_err_and(|error| error.is_data()) && feed.entries.is_empty();
    let versioned = feed.version.as_deref().is_some_and(|version| version.contains("jsonfeed.org"));
    if (!items_seen || no_list) && !versioned {
        return Err(ParseError::Json);
    }
    feed.repairs.fields_cut = cut;
    feed.repairs.truncated = outcome.is_err() && !feed.repairs.entries_dropped;
    feed.repairs.junk_after_root = outcome.is_ok() && deserializer.end().is_err();
    Ok(feed)
}

impl<'de> DeserializeSeed<'de> for &mut Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON Feed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            self.field(&key, &mut map)?;
        }
        Ok(())
    }
}

impl Document<'_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let cutter = &self.cutter;
        let cut = |word: Word| cutter.text(word);
        let feed = &mut *self.feed;
        match key {
            "version" => feed.version = cut(map.next_value()?),
            "title" => feed.title = cut(map.next_value()?).map(plain),
            "description" => feed.description = cut(map.next_value()?).map(plain),
            "home_page_url" => feed.link = cut(map.next_value()?),
            "feed_url" => {
                feed.links.extend(cut(map.next_value()?).map(|href| Link::new(href, Rel::SelfLink)))
            }
            "next_url" => feed.links.extend(cut(map.next_value()?).map(|href| Link::new(href, Rel::Next))),
            "icon" => feed.image = cut(map.next_value()?),
            "favicon" => feed.icon = cut(map.next_value()?),
            "language" => feed.language = cut(map.next_value()?),
            "author" => {
                feed.authors.extend(map.next_value::<Object<Part>>()?.0.and_then(|part| person(part, cutter)))
            }
            "authors" => feed.authors.extend(people(map.next_value()?, cutter)),
            "hubs" => {
                let hubs = map.next_value::<List<Object<Part>>>()?.0.into_iter();
                let addresses = hubs.filter_map(|hub| cutter.keep(hub.0?.url));
                feed.links.extend(addresses.map(|href| Link::new(href, Rel::Hub)));
            }
            "items" => {
                self.items_seen = true;
                map.next_value_seed(Items { feed, limits: self.limits, cutter })?;
            }
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The list of items, each added to the feed as soon as it is complete.
struct Items<'f> {
    feed: &'f mut Feed,
    limits: Limits,
    cutter: &'f Cutter,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while self.feed.entries.len() < self.limits.entries {
            match items.next_element::<Object<Item>>()? {
                Some(Object(Some(item))) => self.feed.entries.push(entry(item, self.cutter)),
                Some(Object(None)) => {}
                None => return Ok(()),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            self.feed.repairs.entries_dropped = true;
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

fn entry(item: Item, cutter: &Cutter) -> Entry {
    let cut = |word: Word| cutter.text(word);
    let (html, text) = (cut(item.content_html), cut(item.content_text));
    let content = html.map(|value| Text { value, kind: TextKind::Html }).or(text.map(plain));
    let mut authors = people(item.authors, cutter);
    if authors.is_empty() {
        authors.extend(item.author.0.and_then(|part| person(part, cutter)));
    }
    let seconds = item.attachments.0.iter().find_map(|part| part.0.as_ref()?.duration_in_seconds.number());
    let image = |url| Media { url: Some(url), medium: Some("image".into()), ..Media::default() };
    // The page that the entry is about is the link only if the entry has no page itself.
    let (own, about) = (cut(item.url), cut(item.external_url));
    let (link, about) = if own.is_some() { (own, about) } else { (about, None) };
    Entry {
        id: cut(item.id),
        id_is_permalink: true,
        title: cut(item.title).map(plain),
        link,
        links: about.into_iter().map(|href| Link::new(href, Rel::Related)).collect(),
        published: item.date_published.0.as_deref().and_then(date::parse),
        updated: item.date_modified.0.as_deref().and_then(date::parse),
        authors,
        categories: item.tags.0.into_iter().filter_map(cut).map(category).collect(),
        summary: cut(item.summary).map(plain),
        content: content.map(|text| Content { text, mime: None, src: None }),
        enclosures: item.attachments.0.into_iter().filter_map(|part| enclosure(part.0?, cutter)).collect(),
        media: [cut(item.image), cut(item.banner_image)].into_iter().flatten().map(image).collect(),
        itunes: seconds.map(|duration| Box::new(Itunes { duration: Some(duration), ..Itunes::default() })),
        language: cut(item.language),
        ..Entry::default()
    }
}

fn plain(value: Str) -> Text {
    Text { value, kind: TextKind::Plain }
}

fn category(term: Str) -> Category {
    Category { term, scheme: None, label: None }
}

fn person(part: Part, cutter: &Cutter) -> Option<Person> {
    let person = Person { name: cutter.keep(part.name), email: None, uri: cutter.keep(part.url) };
    (!person.is_blank()).then_some(person)
}

fn people(parts: List<Object<Part>>, cutter: &Cutter) -> Vec<Person> {
    parts.0.into_iter().filter_map(|part| person(part.0?, cutter)).collect()
}

fn enclosure(part: Part, cutter: &Cutter) -> Option<Enclosure> {
    let length = part.size_in_bytes.number();
    let (url, title) = (cutter.keep(part.url)?, cutter.keep(part.title));
    Some(Enclosure { url, mime: part.mime_type.0.map(Cow::Owned), length, title })
}
