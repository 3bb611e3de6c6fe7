//! The fields of an entry.

use std::sync::Arc;

use super::values::DefaultType;
use super::{Context, Reader, Role, Slot};
use crate::Limits;
use crate::model::{Category, Content, Entry, Media, Place, Str, Text, TextKind};
use crate::xml::names::Element;
use crate::xml::token::Tag;

impl<'a> Reader<'a> {
    pub(super) fn begin_entry(&mut self, tag: &Tag<'a>) {
        self.entry.id_is_permalink = true;
        self.weak[1] = 0;
        (self.groups, self.group, self.latitude) = (0, None, None);
        if !tag.attributes.is_empty() {
            let [about, language] = self.attributes(tag, ["about", "lang"]);
            self.entry.id = self.store_optional(about);
            self.entry.language = self.store_optional(language);
        }
    }

    pub(super) fn entry_field(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match element {
            Element::Title => {
                let title = self.text(tag, DefaultType::Guess);
                if title.is_some() && self.admits(Slot::Title, self.entry.title.is_some(), false) {
                    self.entry.title = title;
                }
            }
            Element::Link => self.link(tag),
            Element::Guid | Element::Id => self.entry_id(tag),
            Element::Description => self.entry_summary(tag, DefaultType::Html),
            Element::Summary | Element::Subtitle => self.entry_summary(tag, DefaultType::Guess),
            Element::Encoded => self.entry_content(tag, DefaultType::Html),
            Element::Content | Element::Body => self.entry_content(tag, DefaultType::Guess),
            Element::Published | Element::Updated | Element::Created | Element::Date => {
                self.entry_date(tag, element)
            }
            Element::Author | Element::Creator | Element::ItunesAuthor => {
                return self.person(tag, Role::Author);
            }
            Element::Contributor => return self.person(tag, Role::Contributor),
            Element::Category | Element::ItunesCategory => self.category(tag, element),
            Element::Keywords => self.keywords(tag),
            Element::Enclosure => self.enclosure(tag),
            Element::Source => return self.source(tag),
            Element::Rights => self.entry.rights = self.text(tag, DefaultType::Guess),
            Element::Language => self.entry.language = self.string(tag),
            Element::Image => return self.image(tag),
            Element::Unknown => return Some(Context::Entry),
            _ => return self.entry_extension(tag, element),
        }
        None
    }

    fn entry_extension(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match element {
            Element::Comments => self.entry.comments = self.address_text(tag).or(self.entry.comments.take()),
            Element::CommentsFeed => self.entry.comments_feed = self.address_text(tag),
            Element::CommentCount => self.entry.comment_count = self.number(tag),
            Element::Point => {
                let point = self.word(tag);
                self.entry.place = place_of(&point).map(Box::new).or(self.entry.place.take());
            }
            Element::Latitude => self.latitude = degrees(&self.word(tag), 90.0),
            Element::Longitude => {
                let longitude = degrees(&self.word(tag), 180.0);
                if let (Some(latitude), Some(longitude)) = (self.latitude, longitude) {
                    self.entry.place = Some(Box::new(Place { latitude, longitude }));
                }
            }
            Element::MediaGroup
            | Element::MediaContent
            | Element::MediaThumbnail
            | Element::MediaTitle
            | Element::MediaDescription
            | Element::MediaPlayer
            | Element::MediaOther => return self.media_field(tag, element),
            _ => {
                if let Some(value) = self.itunes_value(tag, element) {
                    value.store(self.entry.itunes.get_or_insert_default());
                }
            }
        }
        None
    }

    fn entry_id(&mut self, tag: &Tag<'a>) {
        let permalink =
            self.attribute(tag, "isPermaLink").is_none_or(|value| !value.eq_ignore_ascii_case("false"));
        let id = self.string(tag);
        if id.is_some() && self.admits(Slot::Id, self.entry.id.is_some(), true) {
            self.entry.id = id;
            self.entry.id_is_permalink = permalink;
        }
    }

    fn entry_date(&mut self, tag: &Tag<'a>, element: Element) {
        let Some(date) = self.date(tag) else { return };
        match element {
            Element::Published => {
                if self.admits(Slot::Published, self.entry.published.is_some(), true) {
                    self.entry.published = Some(date);
                }
            }
            // Dublin Core does not say what the date means; mostly it is the publication date.
            Element::Date => {
                if self.entry.published.is_none() {
                    self.weak[1] |= Slot::Published as u8;
                    self.entry.published = Some(date);
                }
            }
            Element::Updated => {
                if self.admits(Slot::Updated, self.entry.updated.is_some(), true) {
                    self.entry.updated = Some(date);
                }
            }
            _ => self.entry.created = Some(date),
        }
    }

    /// A summary. A second one is taken as the content.
    fn entry_summary(&mut self, tag: &Tag<'a>, default_type: DefaultType) {
        let Some(text) = self.text(tag, default_type) else { return };
        if self.admits(Slot::Summary, self.entry.summary.is_some(), false) {
            self.entry.summary = Some(text);
        } else if self.unknown == 0 && self.entry.content.is_none() {
            self.entry.content = Some(Content { text, mime: None, src: None });
        }
    }

    fn entry_content(&mut self, tag: &Tag<'a>, default_type: DefaultType) {
        if self.entry.base.is_none() {
            self.entry.base = self.bases.last().map(|base| self.strings.add(base.as_str()));
        }
        let content = self.content(tag, default_type);
        if content.is_some() && self.admits(Slot::Content, self.entry.content.is_some(), false) {
            self.entry.content = content;
        }
    }

    /// A category of the feed or the entry.
    pub(super) fn category(&mut self, tag: &Tag<'a>, element: Element) {
        let [term, scheme, domain, label, podcast] = match tag.attributes.is_empty() {
            true => Default::default(),
            false => self.attributes(tag, ["term", "scheme", "domain", "label", "text"]),
        };
        let term = self.store_optional(term.or(podcast.filter(|_| element == Element::ItunesCategory)));
        let scheme = scheme.or(domain).and_then(|scheme| self.shared_scheme(&scheme));
        let label = self.store_optional(label);
        let text = match element {
            // Podcast categories contain subcategories.
            Element::ItunesCategory => None,
            _ => self.string(tag),
        };
        if let Some(term) = term.or(text).or_else(|| label.clone()) {
            self.push_category(Category { term, scheme, label });
        }
    }

    /// Comma-separated categories.
    pub(super) fn keywords(&mut self, tag: &Tag<'a>) {
        let line = self.word(tag);
        let words = self.limited(&line).split(',').map(str::trim).filter(|word| !word.is_empty());
        for word in words.take(Limits::LIST) {
            let term = self.strings.add(word);
            self.push_category(Category { term, scheme: None, label: None });
        }
    }

    fn push_category(&mut self, category: Category) {
        let list = match self.context {
            Context::Feed => &mut self.feed.categories,
            _ => &mut self.entry.categories,
        };
        if list.len() < Limits::LIST {
            list.push(category);
        }
    }

    fn shared_scheme(&mut self, scheme: &str) -> Option<Arc<str>> {
        if self.scheme.as_deref() != Some(scheme) {
            self.scheme = Some(self.limited(scheme)).filter(|scheme| !scheme.is_empty()).map(Arc::from);
        }
        self.scheme.clone()
    }

    /// Completes the current entry and adds it to the feed; `cut` if the document ended inside it.
    pub(super) fn finish_entry(&mut self, cut: bool) {
        let mut entry = take_tight(&mut self.entry);
        if entry.summary.is_none() {
            let itunes = entry.itunes.as_mut().and_then(|itunes| itunes.summary.take());
            let described = || entry.media.iter().find_map(|media| media.description.clone());
            let value = itunes.or_else(described);
            entry.summary = value.map(|value| Text { value, kind: TextKind::Html });
        }
        if entry.title.is_none() {
            let value = entry.media.iter().find_map(|media| media.title.clone());
            entry.title = value.map(|value| Text { value, kind: TextKind::Plain });
        }
        if !cut {
            self.reserve_entry();
            self.feed.entries.push(entry);
        } else if !entry.is_blank() {
            self.feed.cut_entry = Some(Box::new(entry));
        }
    }

    /// Reserves memory for as many entries as the document is likely to have, extrapolating from the entries so
    /// far.
    fn reserve_entry(&mut self) {
        let entries = &mut self.feed.entries;
        if entries.len() == entries.capacity() {
            let (read, whole) = (self.tokens.position().max(1), self.tokens.source().len());
            let expected = (entries.len() + 1).saturating_mul(whole) / read;
            let more =
                expected.saturating_sub(entries.len()).clamp(1 + entries.len() / 8, 16 + entries.len());
            entries.reserve_exact(more);
        }
    }

    /// An image of the entry: a URL, or an element that contains one.
    fn image(&mut self, tag: &Tag<'a>) -> Option<Context> {
        if self.holds_elements(tag) {
            return Some(Context::Image);
        }
        let url = self.address_in(tag, &["href", "url", "resource"]);
        self.entry_image(url);
        None
    }

    pub(super) fn entry_image(&mut self, url: Option<Str>) {
        if url.is_some() && self.entry.media.len() < Limits::LIST {
            self.entry.media.push(Media { url, medium: Some("image".into()), ..Media::default() });
        }
    }
}

/// Moves the entry out with exactly sized lists, and leaves its spare capacity to the next entry.
fn take_tight(entry: &mut Entry) -> Entry {
    fn tighten<T>(list: &mut Vec<T>) -> Vec<T> {
        let mut roomy = std::mem::take(list);
        list.reserve_exact(roomy.len());
        list.append(&mut roomy);
        roomy
    }
    let mut taken = std::mem::take(entry);
    entry.links = tighten(&mut taken.links);
    entry.authors = tighten(&mut taken.authors);
    entry.contributors = tighten(&mut taken.contributors);
    entry.categories = tighten(&mut taken.categories);
    entry.enclosures = tighten(&mut taken.enclosures);
    entry.media = tighten(&mut taken.media);
    taken
}

fn degrees(value: &str, most: f64) -> Option<f64> {
    value.trim().parse().ok().filter(|degrees: &f64| degrees.abs() <= most)
}

/// A point in GeoRSS notation: latitude, then longitude.
fn place_of(value: &str) -> Option<Place> {
    let mut parts = value.split(|c: char| c.is_whitespace() || c == ',').filter(|part| !part.is_empty());
    let latitude = degrees(parts.next()?, 90.0)?;
    let longitude = degrees(parts.next()?, 180.0)?;
    Some(Place { latitude, longitude })
}
