//! Builds a feed from XML tokens: the meaning of each element depends on its context.
//!
//! One reader for RSS, RDF and Atom, because real feeds mix them. It tracks open elements, so that a missing or
//! wrong end tag loses at most what it encloses, and goes through the document once.

mod capture;
mod entry_fields;
mod feed_fields;
mod links;
mod media;
mod people;
mod values;

use std::sync::Arc;

use crate::model::{Entry, Feed, Format, Person, Repairs, Source, Str, StringPool};
use crate::xml::attributes::Attributes;
use crate::xml::names::{Element, is_html};
use crate::xml::namespaces::{Namespace, Namespaces};
use crate::xml::references::{Decoder, unescape};
use crate::xml::token::{Tag, Token, Tokenizer};
use crate::{Limits, Options, ParseError};
use url::Url;

/// What the current elements describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Before or after the root element.
    Outside,
    Feed,
    Entry,
    Image,
    Source,
    Person(Role),
    Media,
    /// An element whose content is ignored.
    Foreign,
}

/// The role of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Author,
    Contributor,
    Owner,
}

/// An open element, and the state to restore when it closes.
#[derive(Debug)]
struct Frame<'a> {
    name: &'a str,
    element: Element,
    context: Context,
    default_namespace: Namespace,
    has_base: bool,
}

/// Fields that may occur more than once, or in the wrong place first.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Title = 1,
    Id = 2,
    Summary = 4,
    Content = 8,
    Published = 16,
    Updated = 32,
    Link = 64,
}

struct Reader<'a> {
    tokens: Tokenizer<'a>,
    names: Namespaces<'a>,
    decoder: Decoder<'a>,
    strings: StringPool,
    limits: Limits,
    url: Option<&'a str>,
    frames: Vec<Frame<'a>>,
    context: Context,
    /// `xml:base` of the open elements that have one.
    bases: Vec<Url>,
    feed: Feed,
    entry: Entry,
    /// The number of open unknown elements.
    unknown: usize,
    /// The slots of the feed and the entry that were filled from inside an unknown element.
    weak: [u8; 2],
    person: Person,
    source: Source,
    latitude: Option<f64>,
    /// The scheme of the last category.
    scheme: Option<Arc<str>>,
    groups: u32,
    group: Option<u32>,
    repairs: Repairs,
}

/// Parses the text of a document; `shared` is the same text, if values may share its memory.
pub(crate) fn read(text: &str, options: &Options<'_>, shared: Option<Str>) -> Result<Feed, ParseError> {
    let mut reader = Reader::new(text, options);
    reader.strings.document = shared;
    let root = reader.find_root()?;
    reader.decoder = Decoder::new(std::mem::take(&mut reader.tokens.doctype), text.len());
    reader.start(root);
    reader.run();
    Ok(reader.finish())
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, options: &Options<'a>) -> Self {
        Self {
            tokens: Tokenizer::new(text),
            names: Namespaces::new(),
            decoder: Decoder::default(),
            strings: StringPool::with_capacity(text.len()),
            limits: options.limits,
            url: options.url,
            frames: Vec::with_capacity(16),
            context: Context::Outside,
            bases: Vec::new(),
            feed: Feed::default(),
            entry: Entry::default(),
            unknown: 0,
            weak: [0; 2],
            person: Person::default(),
            source: Source::default(),
            latitude: None,
            scheme: None,
            groups: 0,
            group: None,
            repairs: Repairs::default(),
        }
    }

    /// Skips everything before the feed's first element.
    fn find_root(&mut self) -> Result<Tag<'a>, ParseError> {
        let mut first: Option<&'a str> = None;
        loop {
            match self.tokens.next() {
                Token::Eof => return Err(self.not_a_feed(first)),
                Token::Start(tag) => {
                    self.names.declare(tag.attributes);
                    let (namespace, local) = self.names.split(tag.name);
                    if self.is_root(Element::of(namespace, local), local, first) {
                        return Ok(tag);
                    }
                    first = first.or(Some(tag.name));
                    self.repairs.junk_before_root = true;
                }
                Token::Text(text) => self.repairs.junk_before_root |= !text.trim().is_empty(),
                Token::CData(..) | Token::End(..) => self.repairs.junk_before_root = true,
            }
        }
    }

    /// Whether this element starts a feed; `first` is the name of the document's first element, if this is not it.
    fn is_root(&mut self, element: Element, local: &str, first: Option<&str>) -> bool {
        match element {
            Element::Rss | Element::Rdf | Element::Feed => true,
            Element::Channel | Element::Item => {
                // A feed without its root; but other formats have channels and items too.
                let foreign = first.is_some_and(|name| !is_html(name)) || self.is_page(first);
                self.repairs.no_root = !foreign && !local.eq_ignore_ascii_case("entry");
                !foreign
            }
            _ => false,
        }
    }

    fn is_page(&self, first: Option<&str>) -> bool {
        self.tokens.doctype.html || first.is_some_and(|name| name.eq_ignore_ascii_case("html"))
    }

    fn not_a_feed(&self, first: Option<&str>) -> ParseError {
        match first {
            _ if self.is_page(first) => ParseError::Html,
            Some(name) if is_html(name) => ParseError::Html,
            Some(name) => ParseError::Xml { root: name.chars().take(64).collect() },
            None => ParseError::NotAFeed,
        }
    }

    fn run(&mut self) {
        loop {
            let token = match self.frames.is_empty() {
                false => self.tokens.next_markup(),
                true => self.tokens.next(),
            };
            match token {
                Token::Start(tag) => {
                    self.repairs.junk_after_root |= self.frames.is_empty();
                    if !self.start(tag) {
                        return;
                    }
                }
                Token::End(name, _) => self.end(name),
                Token::Text(text) => self.repairs.junk_after_root |= !text.trim().is_empty(),
                Token::CData(..) => self.repairs.junk_after_root = true,
                Token::Eof => return,
            }
        }
    }

    /// Handles a start tag; returns false when reading should stop.
    fn start(&mut self, tag: Tag<'a>) -> bool {
        let default_namespace = self.names.default;
        let has_base = self.declarations(&tag);
        let (namespace, local) = self.names.split(tag.name);
        let element = Element::of(namespace, local);
        let inside = match element.is_structure() {
            true => self.structure(&tag, element),
            false => self.field(&tag, element),
        };
        if self.repairs.entries_dropped {
            return false;
        }
        // An element that was read completely, or is too deep to track.
        let Some(context) =
            inside.filter(|_| element.is_structure() || self.frames.len() < self.limits.depth)
        else {
            self.names.default = default_namespace;
            if has_base {
                self.bases.pop();
            }
            return true;
        };
        self.unknown += usize::from(element == Element::Unknown);
        self.frames.push(Frame {
            name: tag.name,
            element,
            context: self.context,
            default_namespace,
            has_base,
        });
        self.context = context;
        if tag.self_closing {
            self.close();
        }
        true
    }

    /// Applies namespace declarations and `xml:base`; returns whether there is an `xml:base`.
    fn declarations(&mut self, tag: &Tag<'a>) -> bool {
        let attributes = tag.attributes.as_bytes();
        if !memchr::memchr_iter(b'x', attributes).any(|at| attributes[at..].starts_with(b"xml")) {
            return false;
        }
        self.names.declare(tag.attributes);
        let Some((_, base)) = Attributes::new(tag.attributes).find(|(name, _)| *name == "xml:base") else {
            return false;
        };
        let base = unescape(base.trim(), &mut self.decoder);
        let joined = match (self.bases.last(), self.url.and_then(|url| Url::parse(url).ok())) {
            (Some(outer), _) => outer.join(&base).ok(),
            (None, Some(document)) => document.join(&base).ok(),
            (None, None) => Url::parse(&base).ok(),
        };
        let found = joined.is_some();
        self.bases.extend(joined);
        found
    }

    /// Opens a structural element.
    fn structure(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        let holds_items = |frame: &Frame<'_>| frame.element.is_structure() && frame.element != Element::Item;
        match element {
            Element::Item => {
                let keep = self.frames.iter().rposition(holds_items).map_or(0, |at| at + 1);
                self.close_to(keep);
                if self.feed.entries.len() >= self.limits.entries {
                    self.repairs.entries_dropped = true;
                    return None;
                }
                if self.frames.is_empty() && tag.name.ends_with("entry") {
                    self.feed.format = Format::Atom;
                }
                self.begin_entry(tag);
                Some(Context::Entry)
            }
            Element::Channel => {
                let keep = self
                    .frames
                    .iter()
                    .rposition(|frame| frame.element != Element::Channel && holds_items(frame));
                self.close_to(keep.map_or(0, |at| at + 1));
                self.begin_feed(tag, element);
                Some(Context::Feed)
            }
            // A nested root does not belong to the feed.
            _ if !self.frames.is_empty() => Some(Context::Foreign),
            _ => {
                self.begin_feed(tag, element);
                Some(Context::Feed)
            }
        }
    }

    /// Reads a field; returns the context of its content, unless it was read completely.
    fn field(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        match self.context {
            Context::Outside => None,
            Context::Foreign => Some(Context::Foreign),
            _ if element == Element::Foreign => Some(Context::Foreign),
            Context::Feed => self.feed_field(tag, element),
            Context::Entry => self.entry_field(tag, element),
            Context::Image => self.image_field(tag, element),
            Context::Source => self.source_field(tag, element),
            Context::Person(_) => self.person_field(tag, element),
            Context::Media => self.media_field(tag, element),
        }
    }

    /// Reads a field that does not fit the innermost element, which was not closed.
    fn field_outside(&mut self, tag: &Tag<'a>, element: Element) -> Option<Context> {
        let owner = self.frames.iter().rposition(|frame| frame.context != self.context);
        self.close_to(owner.unwrap_or(0));
        self.repairs.bad_nesting = true;
        self.field(tag, element)
    }

    fn end(&mut self, name: &str) {
        if self.frames.last().is_some_and(|frame| frame.name == name) {
            self.close();
            return;
        }
        self.repairs.bad_nesting = true;
        let (namespace, local) = self.names.split(name);
        let element = Element::of(namespace, local);
        let found = match element.is_structure() {
            true => self.frames.iter().rposition(|frame| frame.element == element),
            false => self
                .frames
                .iter()
                .enumerate()
                .rev()
                .take_while(|(_, frame)| !frame.element.is_structure())
                .find(|(_, frame)| frame.name.eq_ignore_ascii_case(name))
                .map(|(at, _)| at),
        };
        if let Some(at) = found {
            self.close_to(at);
        }
    }

    fn is_open(&self, element: Element) -> bool {
        self.frames.iter().any(|frame| frame.element == element)
    }

    /// Closes elements until `keep` are left.
    fn close_to(&mut self, keep: usize) {
        while self.frames.len() > keep {
            self.close();
        }
    }

    /// Closes the innermost element.
    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        match frame.element {
            Element::Item => self.finish_entry(false),
            Element::MediaGroup => self.group = None,
            Element::Unknown => self.unknown -= 1,
            _ if self.context == frame.context => {}
            _ => match self.context {
                Context::Person(role) => self.finish_person(role, frame.context),
                Context::Source => self.finish_source(),
                _ => {}
            },
        }
        self.context = frame.context;
        self.names.default = frame.default_namespace;
        if frame.has_base {
            self.bases.pop();
        }
    }

    /// Whether a value may be stored in a slot. A value in the right place replaces one from the wrong place;
    /// otherwise `last` says whether the last or the first one counts.
    fn admits(&mut self, slot: Slot, filled: bool, last: bool) -> bool {
        let weak = &mut self.weak[usize::from(self.context == Context::Entry)];
        let bit = slot as u8;
        if self.unknown > 0 {
            if !filled {
                *weak |= bit;
            }
            return !filled;
        }
        let was_weak = *weak & bit != 0;
        *weak &= !bit;
        was_weak || last || !filled
    }

    fn finish(mut self) -> Feed {
        // If reading stopped at a limit, the end of the document is unknown.
        let read_whole = !self.repairs.entries_dropped;
        self.repairs.truncated = read_whole && (!self.frames.is_empty() || self.tokens.faults.open_at_end);
        while let Some(frame) = self.frames.last() {
            if frame.element == Element::Item {
                self.finish_entry(true);
                self.frames.clear();
            } else {
                self.close();
            }
        }
        let faults = self.tokens.faults;
        self.repairs.bad_tags |= faults.bad_tags;
        self.repairs.bad_cdata |= faults.bad_cdata;
        self.repairs.bad_references |= self.decoder.bad;
        self.repairs.undeclared_prefixes |= self.names.undeclared;
        self.feed.repairs = self.repairs;
        self.feed
    }
}
