//! JSON Feed 1.0 and 1.1, parsed as a stream: what is complete before an error is kept.
//!
//! A value of the wrong type counts as absent, never as an error.

mod loose;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::{
    Category, Content, Enclosure, Entry, Feed, Format, Itunes, Link, Media, Person, Rel, Str, Text,
};
use crate::{Limits, Options, ParseError, TextKind, date};
use loose::{List, LooseString, Object, Truncator};

/// An author, a hub or an attachment; they share one struct because they have few fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    name: LooseString,
    url: LooseString,
    mime_type: LooseString,
    title: LooseString,
    size_in_bytes: LooseString,
    duration_in_seconds: LooseString,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item {
    id: LooseString,
    url: LooseString,
    external_url: LooseString,
    title: LooseString,
    content_html: LooseString,
    content_text: LooseString,
    summary: LooseString,
    image: LooseString,
    banner_image: LooseString,
    date_published: LooseString,
    date_modified: LooseString,
    language: LooseString,
    author: Object<Part>,
    authors: List<Object<Part>>,
    tags: List<LooseString>,
    attachments: List<Object<Part>>,
}

/// The feed as parsed so far.
struct Document<'f> {
    feed: &'f mut Feed,
    limits: Limits,
    truncator: Truncator,
    items_seen: bool,
}

pub(crate) fn read(text: &str, options: &Options<'_>) -> Result<Feed, ParseError> {
    let mut feed = Feed { format: Format::Json, ..Feed::default() };
    let truncator = Truncator::new(options.limits.field_bytes);
    let mut document = Document { feed: &mut feed, limits: options.limits, truncator, items_seen: false };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let outcome = (&mut document).deserialize(&mut deserializer);
    let (items_seen, truncated) = (document.items_seen, document.truncator.truncated.get());
    // Dropping it also drops the string pool, which makes its strings readable.
    drop(document);
    // `items` that is not a list counts as absent, like any value of the wrong type.
    let no_list = outcome.as_ref().is_err_and(|error| error.is_data()) && feed.entries.is_empty();
    let versioned = feed.version.as_deref().is_some_and(|version| version.contains("jsonfeed.org"));
    if (!items_seen || no_list) && !versioned {
        return Err(ParseError::Json);
    }
    feed.repairs.fields_cut = truncated;
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
        let truncator = &self.truncator;
        let text_of = |word: LooseString| truncator.text(word);
        let feed = &mut *self.feed;
        match key {
            "version" => feed.version = text_of(map.next_value()?),
            "title" => feed.title = text_of(map.next_value()?).map(plain),
            "description" => feed.description = text_of(map.next_value()?).map(plain),
            "home_page_url" => feed.link = text_of(map.next_value()?),
            "feed_url" => {
                feed.links.extend(text_of(map.next_value()?).map(|href| Link::new(href, Rel::SelfLink)))
            }
            "next_url" => {
                feed.links.extend(text_of(map.next_value()?).map(|href| Link::new(href, Rel::Next)))
            }
            "icon" => feed.image = text_of(map.next_value()?),
            "favicon" => feed.icon = text_of(map.next_value()?),
            "language" => feed.language = text_of(map.next_value()?),
            "author" => feed
                .authors
                .extend(map.next_value::<Object<Part>>()?.0.and_then(|part| person(part, truncator))),
            "authors" => feed.authors.extend(people(map.next_value()?, truncator)),
            "hubs" => {
                let hubs = map.next_value::<List<Object<Part>>>()?.0.into_iter();
                let addresses = hubs.filter_map(|hub| truncator.store(hub.0?.url));
                feed.links.extend(addresses.map(|href| Link::new(href, Rel::Hub)));
            }
            "items" => {
                self.items_seen = true;
                map.next_value_seed(Items { feed, limits: self.limits, truncator })?;
            }
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The list of items; each is added to the feed as soon as it is complete.
struct Items<'f> {
    feed: &'f mut Feed,
    limits: Limits,
    truncator: &'f Truncator,
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
                Some(Object(Some(item))) => self.feed.entries.push(entry(item, self.truncator)),
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

fn entry(item: Item, truncator: &Truncator) -> Entry {
    let text_of = |word: LooseString| truncator.text(word);
    let (html, text) = (text_of(item.content_html), text_of(item.content_text));
    let content = html.map(|value| Text { value, kind: TextKind::Html }).or(text.map(plain));
    let mut authors = people(item.authors, truncator);
    if authors.is_empty() {
        authors.extend(item.author.0.and_then(|part| person(part, truncator)));
    }
    let seconds = item.attachments.0.iter().find_map(|part| part.0.as_ref()?.duration_in_seconds.number());
    let image = |url| Media { url: Some(url), medium: Some("image".into()), ..Media::default() };
    // An external page is the link only if the entry has no page of its own.
    let (own, about) = (text_of(item.url), text_of(item.external_url));
    let (link, about) = if own.is_some() { (own, about) } else { (about, None) };
    Entry {
        id: text_of(item.id),
        id_is_permalink: true,
        title: text_of(item.title).map(plain),
        link,
        links: about.into_iter().map(|href| Link::new(href, Rel::Related)).collect(),
        published: item.date_published.0.as_deref().and_then(date::parse),
        updated: item.date_modified.0.as_deref().and_then(date::parse),
        authors,
        categories: item.tags.0.into_iter().filter_map(text_of).map(category).collect(),
        summary: text_of(item.summary).map(plain),
        content: content.map(|text| Content { text, mime: None, src: None }),
        enclosures: item.attachments.0.into_iter().filter_map(|part| enclosure(part.0?, truncator)).collect(),
        media: [text_of(item.image), text_of(item.banner_image)].into_iter().flatten().map(image).collect(),
        itunes: seconds.map(|duration| Box::new(Itunes { duration: Some(duration), ..Itunes::default() })),
        language: text_of(item.language),
        ..Entry::default()
    }
}

fn plain(value: Str) -> Text {
    Text { value, kind: TextKind::Plain }
}

fn category(term: Str) -> Category {
    Category { term, scheme: None, label: None }
}

fn person(part: Part, truncator: &Truncator) -> Option<Person> {
    let person = Person { name: truncator.store(part.name), email: None, uri: truncator.store(part.url) };
    (!person.is_blank()).then_some(person)
}

fn people(parts: List<Object<Part>>, truncator: &Truncator) -> Vec<Person> {
    parts.0.into_iter().filter_map(|part| person(part.0?, truncator)).collect()
}

fn enclosure(part: Part, truncator: &Truncator) -> Option<Enclosure> {
    let length = part.size_in_bytes.number();
    let (url, title) = (truncator.store(part.url)?, truncator.store(part.title));
    Some(Enclosure { url, mime: part.mime_type.0.map(Cow::Owned), length, title })
}
