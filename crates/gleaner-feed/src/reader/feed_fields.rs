//! The fields of a feed, and the podcast fields of feeds and entries.

use std::borrow::Cow;

use super::values::DefaultType;
use super::{Context, Reader, Role, Slot};
use crate::date;
use crate::model::{Format, Itunes, Period, Str};
use crate::xml::attributes::Attributes;
use crate::xml::names::Element;
use crate::xml::token::Tag;

/// A podcast field.
pub(super) enum ItunesValue {
    Duration(u32),
    Episode(u32),
    Season(u32),
    Kind(Cow<'static, str>),
    Image(Str),
    Explicit(bool),
    Subtitle(Str),
    Summary(Str),
    Transcript(Str),
    Chapters(Str),
    NewFeedUrl(Str),
}

impl ItunesValue {
    pub(super) fn store(self, itunes: &mut Itunes) {
        match self {
            Self::Duration(seconds) => itunes.duration = Some(seconds),
            Self::Episode(number) => itunes.episode = Some(number),
            Self::Season(number) => itunes.season = Some(number),
            Self::Kind(kind) => itunes.kind = Some(kind),
            Self::Image(url) => itunes.image = Some(url),
            Self::Explicit(explicit) => itunes.explicit = Some(explicit),
            Self::Subtitle(text) => itunes.subtitle = Some(text),
            Self::Summary(text) => itunes.summary = Some(text),
            Self::Transcript(url) => itunes.transcript = Some(url),
            Self::Chapters(url) => itunes.chapters = Some(url),
            Self::NewFeedUrl(url) => itunes.new_feed_url = Some(url),
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads the attributes of the root element.
    pub(super) fn begin_feed(&mut self, tag: &Tag<'a>, element: Element) {
        let version = match element {
            Element::Rss | Element::Feed => self.attribute(tag, "version"),
            _ => None,
        };
        match element {
            Element::Rss => self.feed.format = Format::Rss,
            Element::Rdf => self.feed.format = Format::Rdf,
            Element::Feed => {
                let old = version.as_deref().is_some_and(|version| version.starts_with("0."))
                    || Attributes::new(tag.attributes)
                        .any(|(name, value)| name.starts_with("xmlns") && value.contains("purl.org/atom/ns"));
                self.feed.format = if old { Format::Atom03 } else { Format::Atom };
            }
            _ => {}
        }
        self.feed.version = self.store_optional(version).or(self.feed.version.take());
        if element == Element::Channel {
            self.feed.id = self.attribute_string(tag, "about");
        }
        self.feed.language = self.attribute_string(tag, "lang").or(self.feed.language.take());
    }

    pub(super) fn feed_field(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match element {
            Element::Title => {
                let title = self.text(tag, DefaultType::Guess);
                if title.is_some() && self.admits(Slot::Title, self.feed.title.is_some(), false) {
                    self.feed.title = title;
                }
            }
            Element::Link => self.link(tag),
            Element::Description | Element::Subtitle | Element::Summary => {
                let default_type =
                    if element == Element::Description { DefaultType::Html } else { DefaultType::Guess };
                let text = self.text(tag, default_type);
                if text.is_some() && self.admits(Slot::Summary, self.feed.description.is_some(), false) {
                    self.feed.description = text;
                }
            }
            Element::Id | Element::Guid => self.feed.id = self.string(tag).or(self.feed.id.take()),
            Element::Language => self.feed.language = self.string(tag).or(self.feed.language.take()),
            Element::Published => self.feed.published = self.date(tag).or(self.feed.published),
            Element::Updated | Element::Date => self.feed.updated = self.date(tag).or(self.feed.updated),
            Element::Author | Element::Creator | Element::ItunesAuthor => {
                return self.person(tag, Role::Author);
            }
            Element::Contributor => return self.person(tag, Role::Contributor),
            Element::ItunesOwner => return self.person(tag, Role::Owner),
            Element::Category => self.category(tag, element),
            Element::Keywords => self.keywords(tag),
            Element::ItunesCategory => {
                self.category(tag, element);
                return Some(Context::Feed);
            }
            Element::Rights => self.feed.rights = self.text(tag, DefaultType::Guess),
            Element::Generator => self.feed.generator = self.string(tag),
            Element::Icon => self.feed.icon = self.address_text(tag),
            Element::Logo => self.feed.image = self.address_text(tag),
            Element::Image => return self.feed_image(tag),
            Element::Unknown | Element::SkipHours | Element::SkipDays => return Some(Context::Feed),
            Element::MediaGroup | Element::MediaContent | Element::Source => return Some(Context::Foreign),
            _ => self.feed_hint(tag, element),
        }
        None
    }

    fn feed_hint(&mut self, tag: &Tag<'a>, element: Element) {
        let schedule = self.feed.schedule;
        match element {
            Element::Ttl => self.feed.schedule.ttl_minutes = self.number(tag).or(schedule.ttl_minutes),
            Element::Hour => {
                if let Some(hour) = self.number(tag) {
                    self.feed.schedule.skip_hours.insert(hour);
                }
            }
            Element::Day => {
                let day = self.word(tag);
                self.feed.schedule.skip_days.insert_name(&day);
            }
            Element::UpdatePeriod => self.feed.schedule.period = Period::from_name(&self.word(tag)),
            Element::UpdateFrequency => self.feed.schedule.frequency = self.number(tag),
            Element::UpdateBase => self.feed.schedule.base = self.date(tag),
            Element::MediaThumbnail => {
                let url = self.address_in(tag, &["url"]);
                self.feed.image = self.feed.image.take().or(url);
            }
            _ => {
                if let Some(value) = self.itunes_value(tag, element) {
                    if let ItunesValue::Image(url) = &value {
                        self.feed.image.get_or_insert_with(|| url.clone());
                    }
                    value.store(self.feed.itunes.get_or_insert_default());
                }
            }
        }
    }

    /// Reads a podcast field; other podcast elements are skipped.
    pub(super) fn itunes_value(&mut self, tag: &Tag<'a>, element: Element) -> Option<ItunesValue> {
        Some(match element {
            Element::ItunesDuration => ItunesValue::Duration(date::duration(&self.word(tag))?),
            Element::ItunesEpisode => ItunesValue::Episode(self.number(tag)?),
            Element::ItunesSeason => ItunesValue::Season(self.number(tag)?),
            Element::ItunesKind => ItunesValue::Kind(self.common_value(tag)?),
            Element::ItunesImage => ItunesValue::Image(self.address_in(tag, &["href", "url"])?),
            Element::ItunesExplicit => ItunesValue::Explicit(explicit(&self.word(tag))?),
            Element::ItunesSubtitle => ItunesValue::Subtitle(self.text(tag, DefaultType::Guess)?.value),
            Element::ItunesSummary => ItunesValue::Summary(self.text(tag, DefaultType::Guess)?.value),
            Element::ItunesNewFeed => ItunesValue::NewFeedUrl(self.address_text(tag)?),
            Element::Transcript => ItunesValue::Transcript(self.address_in(tag, &["url"])?),
            Element::Chapters => ItunesValue::Chapters(self.address_in(tag, &["url"])?),
            _ => {
                self.skip(tag);
                return None;
            }
        })
    }

    fn feed_image(&mut self, tag: &Tag<'a>) -> Option<Context> {
        if self.holds_elements(tag) {
            return Some(Context::Image);
        }
        let url = self.address_in(tag, &["href", "url"]);
        self.feed.image = self.feed.image.take().or(url);
        None
    }

    /// A child of an `image` element.
    pub(super) fn image_field(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match element {
            Element::Url => {
                let url = self.address_text(tag);
                if self.is_open(Element::Item) {
                    self.entry_image(url);
                } else {
                    self.feed.image = url.or(self.feed.image.take());
                }
            }
            Element::Title | Element::Link | Element::Description => self.skip(tag),
            Element::Unknown => return Some(Context::Image),
            _ => return self.field_outside(tag, element),
        }
        None
    }
}

fn explicit(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "yes" | "true" | "explicit" => Some(true),
        "no" | "false" | "clean" => Some(false),
        _ => None,
    }
}
