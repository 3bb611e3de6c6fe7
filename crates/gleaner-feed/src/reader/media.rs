//! Media RSS: groups, contents, thumbnails and their descriptions.

use super::values::number;
use super::{Context, Reader};
use crate::Limits;
use crate::model::Media;
use crate::xml::names::Element;
use crate::xml::token::Tag;

impl<'a> Reader<'a> {
    /// A Media RSS element in an entry, a group or a content.
    pub(super) fn media_field(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match element {
            Element::MediaGroup => {
                self.groups += 1;
                self.group = Some(self.groups);
                return Some(Context::Media);
            }
            Element::MediaContent => {
                self.media_content(tag);
                return Some(Context::Media);
            }
            Element::MediaThumbnail => {
                if let Some(url) = self.address_in(tag, &["url"])
                    && let Some(media) = self.media()
                    && media.thumbnails.len() < Limits::LIST
                {
                    media.thumbnails.push(url);
                }
            }
            Element::MediaPlayer => {
                let url = self.address_in(tag, &["url"]);
                if let Some(media) = self.media() {
                    media.url = media.url.take().or(url);
                }
            }
            Element::MediaTitle => {
                let title = self.string(tag);
                if let Some(media) = self.media() {
                    media.title = media.title.take().or(title);
                }
            }
            Element::MediaDescription => {
                let description = self.text(tag, super::values::DefaultType::Html).map(|text| text.value);
                if let Some(media) = self.media() {
                    media.description = media.description.take().or(description);
                }
            }
            Element::MediaOther => self.skip(tag),
            Element::Category => self.category(tag, element),
            Element::Keywords => self.keywords(tag),
            Element::Unknown => return Some(Context::Media),
            _ => return self.field_outside(tag, element),
        }
        None
    }

    fn media_content(&mut self, tag: &Tag<'a>) {
        let group = self.group;
        let names = ["url", "type", "medium", "fileSize", "duration", "width", "height"];
        let [url, mime, medium, length, duration, width, height] = self.attributes(tag, names);
        let media = Media {
            url: url.and_then(|url| self.address(url)),
            mime: self.media_type(mime),
            medium: self.media_type(medium),
            length: length.and_then(|length| number(&length)),
            duration: duration.and_then(|duration| number(&duration)),
            width: width.and_then(|width| number(&width)),
            height: height.and_then(|height| number(&height)),
            group,
            ..Media::default()
        };
        let room = self.entry.media.len() < Limits::LIST;
        match self.entry.media.last_mut() {
            // A group's title and thumbnail may precede its content.
            Some(last) if group.is_some() && last.group == group && last.url.is_none() => {
                let Media { title, description, thumbnails, .. } = std::mem::replace(last, media);
                (last.title, last.description, last.thumbnails) = (title, description, thumbnails);
            }
            _ if room => self.entry.media.push(media),
            _ => {}
        }
    }

    /// The medium that a title or thumbnail belongs to: the last one of the same group, or a new one.
    fn media(&mut self) -> Option<&mut Media> {
        let group = self.group;
        if self.entry.media.last().is_none_or(|last| last.group != group) {
            if self.entry.media.len() >= Limits::LIST {
                return None;
            }
            self.entry.media.push(Media { group, ..Media::default() });
        }
        self.entry.media.last_mut()
    }
}
