//! Lists of feeds as OPML, which every feed reader can write: read leniently, written strictly.
//!
//! Folders are told as paths, `News/Science`. Reading takes one pass, and no more memory than the document; nesting has
//! no depth that hurts. Absent on purpose: the outliner's other uses, and fetching what `type="include"` points to.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::html::{Tag, Token, Tokens};
use crate::printable::is_hidden;

/// Folders below this depth count as the one that they are in.
const DEPTH: usize = 16;
/// Names are cut to so many characters, and paths of folders, too: collections are called by them.
const NAME_CHARS: usize = 100;
/// Longer texts are not even decoded.
const VALUE_BYTES: usize = 16 << 10;

/// A feed in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The line it stands on, from 1 up.
    pub line: u64,
    /// Where it is, as written.
    pub url: String,
    /// What it is called.
    pub title: Option<String>,
    /// `rss`, or whatever else the list says it is.
    pub kind: Option<String>,
    /// The folders it is in, joined by slashes.
    pub folder: Option<String>,
}

/// The text is no OPML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no OPML: there is no <opml> in it")]
pub struct NotOpml;

/// The feeds of a list, in its order.
pub fn outlines(text: &str) -> Result<Outlines<'_>, NotOpml> {
    let mut tokens = Tokens::new(text.as_bytes());
    let is_opml = |token| match token {
        Token::Tag(tag) => Some(tag.is("opml") || tag.is("outline")),
        _ => None,
    };
    // An XML declaration and comments may come first; a page of HTML is told by its first tag.
    match tokens.find_map(is_opml) {
        Some(true) => {
            let tokens = Tokens::new(text.as_bytes());
            Ok(Outlines { text, tokens, line: 1, counted: 0, folders: Vec::new(), depth: 0 })
        }
        _ => Err(NotOpml),
    }
}

/// Walks over a list.
pub struct Outlines<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    line: u64,
    /// Up to where lines were counted.
    counted: usize,
    /// For each open outline, the path of the folders down to it.
    folders: Vec<Option<String>>,
    /// Open outlines, those that are too deep included.
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
        let named = |name| value(tag, name).map(|title| cut(&title)).filter(|title| !title.is_empty());
        let title = named("title").or_else(|| named("text"));
        let kind = value(tag, "type");
        // What is no feed is known by its page, so that other readers leave it alone.
        let url = value(tag, "xmlUrl").or_else(|| value(tag, "url").filter(|_| is_ours(kind.as_deref())));
        let folder = self.folder();
        if !tag.is_empty() {
            self.depth += 1;
            if self.folders.len() < DEPTH {
                self.folders.push(match (&url, &title) {
                    (None, Some(title)) => Some(below(folder.as_deref(), title)),
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

/// Kinds of sources that no other reader knows.
fn is_ours(kind: Option<&str>) -> bool {
    matches!(kind, Some("website" | "watchlist" | "x"))
}

/// The value of an attribute; none where it is blank.
fn value(tag: &Tag<'_>, name: &str) -> Option<String> {
    let value = tag.attribute(name).filter(|value| value.len() <= VALUE_BYTES)?;
    let text: Cow<'_, str> = htmlize::unescape_attribute(String::from_utf8_lossy(value));
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn cut(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(NAME_CHARS).collect();
    text.trim().to_owned()
}

fn below(folder: Option<&str>, title: &str) -> String {
    let path = folder.map_or_else(|| title.to_owned(), |folder| format!("{folder}/{title}"));
    cut(&path)
}

/// Writes a list, feed by feed; those in a folder must come one after another.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
    folder: Option<String>,
}

impl Writer {
    /// A list of this name.
    pub fn new(title: &str) -> Self {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n");
        let _ = writeln!(text, "  <head>\n    <title>{}</title>\n  </head>\n  <body>", escaped(title));
        Self { text, folder: None }
    }

    /// The next feed; the line is not looked at.
    pub fn feed(&mut self, feed: &Outline) {
        if self.folder != feed.folder {
            self.leave();
            if let Some(folder) = &feed.folder {
                let _ = writeln!(self.text, "    <outline text=\"{}\">", escaped(folder));
            }
            self.folder.clone_from(&feed.folder);
        }
        let indent = if self.folder.is_some() { "      " } else { "    " };
        let kind = feed.kind.as_deref();
        let url = if is_ours(kind) { "url" } else { "xmlUrl" };
        let title = escaped(feed.title.as_deref().unwrap_or(&feed.url));
        let _ = writeln!(
            self.text,
            "{indent}<outline type=\"{}\" text=\"{title}\" title=\"{title}\" {url}=\"{}\"/>",
            escaped(kind.unwrap_or("rss")),
            escaped(&feed.url)
        );
    }

    fn leave(&mut self) {
        if self.folder.take().is_some() {
            self.text.push_str("    </outline>\n");
        }
    }

    /// The list as a whole.
    pub fn finish(mut self) -> String {
        self.leave();
        self.text.push_str("  </body>\n</opml>\n");
        self.text
    }
}

/// Text as an attribute's value. XML has no way to write most control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            // Nothing hidden in a list that is printed, and nothing lost.
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
