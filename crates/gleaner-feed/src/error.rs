//! The error of a document that is not a feed. Damaged feeds are not errors: see [`Repairs`](crate::Repairs).

use std::fmt;

/// What a document is, if it is not a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// Only white space.
    Empty,
    /// An HTML page, such as an error page or a login form.
    Html,
    /// Some other XML, for example a sitemap or OPML.
    Xml {
        /// The name of its root element.
        root: String,
    },
    /// JSON that is not a JSON Feed.
    Json,
    /// Neither markup nor JSON.
    NotAFeed,
    /// More bytes than [`Limits::total_bytes`](crate::Limits::total_bytes).
    TooLarge {
        /// The document's size in bytes.
        size: usize,
        /// The limit that was exceeded.
        limit: usize,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the document is empty"),
            Self::Html => f.write_str("the document is an HTML page, not a feed"),
            Self::Xml { root } => write!(f, "the document is XML of another kind (<{root}>), not a feed"),
            Self::Json => f.write_str("the document is JSON, but not a JSON Feed"),
            Self::NotAFeed => f.write_str("the document is not a feed"),
            Self::TooLarge { size, limit } => {
                write!(f, "the document has {size} bytes, more than the limit of {limit}")
            }
        }
    }
}

impl std::error::Error for ParseError {}
