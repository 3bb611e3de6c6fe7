//! A lenient feed parser: bytes in, feed out, even from damaged documents.
//!
//! Reads RSS 0.90 to 2.0, RDF (RSS 1.0), Atom 0.3 and 1.0, and JSON Feed 1.0 and 1.1, with the extensions that
//! feeds use in practice. One pass over the document, with a tokenizer that has no fatal errors: everything
//! complete is kept, and [`Repairs`] reports what was wrong.
//!
//! ```
//! let bytes = b"<rss><channel><title>News & views</title><item><title>One</title></item>";
//! let feed = gleaner_feed::parse(bytes, &gleaner_feed::Options::default())?;
//! assert_eq!(feed.title.as_ref().map(|title| title.value.as_str()), Some("News & views"));
//! assert_eq!(feed.entries.len(), 1);
//! assert!(feed.repairs.truncated);
//! # Ok::<(), gleaner_feed::ParseError>(())
//! ```
//!
//! Not included: fetching, sanitising HTML (values are as the feed has them; treat them as untrusted), writing
//! feeds, and a document tree.

#![warn(missing_docs)]

use std::borrow::Cow;

pub mod date;
pub mod encoding;
mod error;
mod html;
mod json;
mod limits;
mod model;
mod reader;
mod resolve;
mod xml;

pub use error::ParseError;
pub use limits::Limits;
pub use model::{
    Category, Content, Enclosure, Entry, Feed, Format, Hours, Itunes, Link, Media, Period, Person, Place,
    Rel, Repairs, Schedule, Source, Str, Text, TextKind, Weekdays,
};

/// What is known about a document besides its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The `Content-Type` header; only its `charset` parameter is used.
    pub content_type: Option<&'a str>,
    /// The URL the document was fetched from, used last for resolving relative links.
    pub url: Option<&'a str>,
    /// Limits on what is read.
    pub limits: Limits,
}

/// Parses a feed.
///
/// # Errors
///
/// Only if the bytes contain no feed at all; [`ParseError`] says what they are instead. Damage is not an error, see
/// [`Feed::repairs`].
pub fn parse(bytes: &[u8], options: &Options<'_>) -> Result<Feed, ParseError> {
    if bytes.len() > options.limits.total_bytes {
        return Err(ParseError::TooLarge { size: bytes.len(), limit: options.limits.total_bytes });
    }
    let mut decoded = encoding::decode(bytes, options.content_type);
    // Values can share the memory of a decoded copy.
    let shared = match &mut decoded.text {
        Cow::Owned(text) if u32::try_from(text.len()).is_ok() => Some(Str::from(std::mem::take(text))),
        _ => None,
    };
    let text =
        shared.as_deref().unwrap_or(&decoded.text).trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let mut feed = if text.is_empty() {
        return Err(ParseError::Empty);
    } else if text.starts_with(['{', '[']) {
        // Junk before an XML root may start with a bracket too.
        json::read(text, options)
            .or_else(|error| reader::read(text, options, shared.clone()).map_err(|_| error))?
    } else {
        reader::read(text, options, shared.clone())?
    };
    feed.encoding = decoded.encoding;
    feed.repairs.bad_encoding = decoded.repaired;
    feed.repairs.control_characters = decoded.control_characters;
    resolve::finish(&mut feed, options.url);
    Ok(feed)
}
