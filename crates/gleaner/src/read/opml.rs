//! Reads and writes OPML lists of feeds: read leniently, written strictly.
//!
//! Folders become paths such as `News/Science`. Reading takes one pass and linear memory, whatever the nesting.
//! Other uses of OPML are ignored, and `type="include"` is not followed.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::html::{Tag, Token, Tokens};
use crate::printable::is_hidden;

/// Deeper folders count as the one that they are in.
const MAX_DEPTH: usize = 16;
/// Maximum characters of names and folder paths, since collections are named after them.
const MAX_NAME_CHARS: usize = 100;
/// Longer attribute values are ignored.
const MAX_VALUE_BYTES: usize = 16 << 10;

/// A feed in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Line number, from 1.
    pub line: u64,
    /// As written.
    pub url: String,
    pub title: Option<String>,
    /// The `type` attribute: usually `rss`.
    pub kind: Option<String>,
    /// The folders it is in, joined by slashes.
    pub folder: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not OPML: it has no <opml> element")]
pub struct NotOpml;

/// Iterates over the feeds of a list, in order.
pub fn outlines(text: &str) -> Result<Outlines<'_>, NotOpml> {
    let mut tokens = Tokens::new(text.as_bytes());
    let is_opml = |token| match token {
        Token::Tag(tag) => Some(tag.is("opml") || tag.is("outline")),
        _ => None,
    };
    // An XML declaration and comments may come first; an HTML page is recognised by its first tag.
    match tokens.find_map(is_opml) {
        Some(true) => {
            let tokens = Tokens::new(text.as_bytes());
            Ok(Outlines { text, tokens, line: 1, counted: 0, folders: Vec::new(), depth: 0 })
        }
        _ => Err(NotOpml),
    }
}

pub struct Outlines<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    line: u64,
    /// Offset up to which lines were counted.
    counted: usize,
    /// For each open outline, the folder path down to it.
    folders: Vec<Option<String>>,
    /// The number of open outlines, including those that are too deep.
    depth: usize,
}

impl Outlines<'_> {
    fn line_at(&mut self, at: usize) -> u64 {
        let passed = self.text.as_bytes().get(self.counted..at).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.counted = at.max(self.counted);
        self.line
    }

    fn folder(&self) -> Option<String> {
        self.folders.last().cloned().flatten()
    }

    fn open(&mut self, tag: &Tag<'_>) -> Option<Outline> {
        let named = |name| value(tag, name).map(|title| clean_name(&title)).filter(|title| !title.is_empty());
        let title = named("title").or_else(|| named("text"));
        let kind = value(tag, "type");
        // Sources that are not feeds have `url` instead of `xmlUrl`, so that other readers ignore them.
        let url =
            value(tag, "xmlUrl").or_else(|| value(tag, "url").filter(|_| is_gleaner_kind(kind.as_deref())));
        let folder = self.folder();
        if !tag.is_empty() {
            self.depth += 1;
            if self.folders.len() < MAX_DEPTH {
                self.folders.push(match (&url, &title) {
                    (None, Some(title)) => Some(join_folder(folder.as_deref(), title)),
                    _ => folder.clone(),
                });
            }
        }
        let line = self.line_at(tag.at);
        Some(Outline { line, url: url?, title, kind, folder })
    }

    fn close(&mut self) {
        if self.depth == self.folders.len() {
            self.folders.pop();
        }
        self.depth = self.depth.saturating_sub(1);
    }
}

impl Iterator for Outlines<'_> {
    type Item = Outline;

    fn next(&mut self) -> Option<Outline> {
        loop {
            let Token::Tag(tag) = self.tokens.next()? else { continue };
            if !tag.is("outline") {
                continue;
            }
            if tag.end {
                self.close();
            } else if let Some(outline) = self.open(&tag) {
                return Some(outline);
            }
        }
    }
}

/// Kinds of sources that other readers do not know.
fn is_gleaner_kind(kind: Option<&str>) -> bool {
    matches!(kind, Some("website" | "watchlist" | "x"))
}

/// The value of an attribute; `None` if blank.
fn value(tag: &Tag<'_>, name: &str) -> Option<String> {
    let value = tag.attribute(name).filter(|value| value.len() <= MAX_VALUE_BYTES)?;
    let text: Cow<'_, str> = htmlize::unescape_attribute(String::from_utf8_lossy(value));
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn clean_name(text: &str) -> String {
    let text: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_NAME_CHARS).collect();
    text.trim().to_owned()
}

fn join_folder(folder: Option<&str>, title: &str) -> String {
    let path = folder.map_or_else(|| title.to_owned(), |folder| format!("{folder}/{title}"));
    clean_name(&path)
}

/// Writes a list; feeds of one folder must be consecutive.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
    folder: Option<String>,
}

impl Writer {
    pub fn new(title: &str) -> Self {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n");
        let _ = writeln!(text, "  <head>\n    <title>{}</title>\n  </head>\n  <body>", escape(title));
        Self { text, folder: None }
    }

    /// Adds a feed; its `line` is ignored.
    pub fn feed(&mut self, feed: &Outline) {
        if self.folder != feed.folder {
            self.close_folder();
            if let Some(folder) = &feed.folder {
                let _ = writeln!(self.text, "    <outline text=\"{}\">", escape(folder));
            }
            self.folder.clone_from(&feed.folder);
        }
        let indent = if self.folder.is_some() { "      " } else { "    " };
        let kind = feed.kind.as_deref();
        let url = if is_gleaner_kind(kind) { "url" } else { "xmlUrl" };
        let title = escape(feed.title.as_deref().unwrap_or(&feed.url));
        let _ = writeln!(
            self.text,
            "{indent}<outline type=\"{}\" text=\"{title}\" title=\"{title}\" {url}=\"{}\"/>",
            escape(kind.unwrap_or("rss")),
            escape(&feed.url)
        );
    }

    fn close_folder(&mut self) {
        if self.folder.take().is_some() {
            self.text.push_str("    </outline>\n");
        }
    }

    pub fn finish(mut self) -> String {
        self.close_folder();
        self.text.push_str("  </body>\n</opml>\n");
        self.text
    }
}

/// Escapes an attribute value. XML cannot represent most control characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            // Hidden characters are escaped, so that a printed list hides nothing and loses nothing.
            c if is_hidden(c) => {
                let _ = write!(out, "&#x{:x};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
#[path = "opml_tests.rs"]
mod tests;
