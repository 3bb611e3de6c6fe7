//! The string type of feeds: short strings share memory, long ones have their own.
//!
//! A feed has thousands of short values. Allocating each would cost more time and memory than parsing it, so they
//! are appended to blocks of a few kilobytes, and each value is a range of a block.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// Bytes of a block of short strings.
const BLOCK: usize = 4096;
/// Longer strings have their own allocation.
const SHORT: usize = 1024;

/// The text of a block, set when the block is full or the feed is complete.
type Block = Arc<OnceLock<Box<str>>>;

/// A string of a feed; dereferences to `&str`.
///
/// It takes two words and is cheap to clone. Short strings of a feed share blocks of at most 4 KB, and long ones
/// share the text of a document that had to be decoded. To keep a few strings without the rest of the feed, convert
/// them with [`Str::into_string`].
#[derive(Clone, Default)]
pub struct Str {
    block: Block,
    start: u32,
    end: u32,
}

impl Str {
    /// The string as a slice.
    pub fn as_str(&self) -> &str {
        self.block.get().and_then(|text| text.get(self.range())).unwrap_or("")
    }

    /// Converts to an owned string. Long strings are moved unless they were cloned; short ones are copied.
    pub fn into_string(self) -> String {
        match self.block.get() {
            Some(text) if self.range() == (0..text.len()) => match Arc::try_unwrap(self.block) {
                Ok(text) => text.into_inner().unwrap_or_default().into_string(),
                Err(block) => block.get().map(|text| text.to_string()).unwrap_or_default(),
            },
            _ => self.as_str().to_owned(),
        }
    }

    /// A part of the string that shares its memory; `None` if `value` is not a part of it.
    fn part(&self, value: &str) -> Option<Self> {
        let start = value.as_ptr().addr().checked_sub(self.as_str().as_ptr().addr())?;
        let end = start.checked_add(value.len())?;
        if end > self.len() {
            return None;
        }
        let (start, end) = (self.start + offset(start), self.start + offset(end));
        Some(Self { block: Arc::clone(&self.block), start, end })
    }

    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An offset in a text. Texts never reach 4 GB; an offset beyond that would make the string empty.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(0)
}

/// Builds strings, placing short ones in shared blocks. Its strings can be read once it is dropped.
#[derive(Default)]
pub(crate) struct StringPool {
    /// The text of the current, incomplete block.
    text: String,
    block: Block,
    /// The text of a decoded document. Long values that are part of it are not copied.
    pub document: Option<Str>,
}

impl StringPool {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes.min(BLOCK)), block: Block::default(), document: None }
    }

    /// Whether a value of this length is placed in a block.
    pub(crate) fn is_short(length: usize) -> bool {
        length <= SHORT
    }

    pub(crate) fn add(&mut self, value: &str) -> Str {
        if !Self::is_short(value.len()) {
            let shared = self.document.as_ref().and_then(|document| document.part(value));
            return shared.unwrap_or_else(|| value.into());
        }
        if self.text.len() + value.len() > BLOCK {
            self.finish_block();
        }
        let start = offset(self.text.len());
        self.text.push_str(value);
        Str { block: Arc::clone(&self.block), start, end: offset(self.text.len()) }
    }

    /// Reads a string whose block may still be incomplete.
    pub(crate) fn read<'s>(&'s self, value: &'s Str) -> &'s str {
        match Arc::ptr_eq(&value.block, &self.block) {
            true => self.text.get(value.range()).unwrap_or(""),
            false => value.as_str(),
        }
    }

    fn finish_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        // It cannot be set already: every block is finished once.
        let _ = block.set(self.text.as_str().into());
        self.text.clear();
    }
}

impl Drop for StringPool {
    fn drop(&mut self) {
        let text = std::mem::take(&mut self.text);
        let _ = self.block.set(text.into_boxed_str());
    }
}

impl Deref for Str {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Str {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Str {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<Box<str>> for Str {
    fn from(string: Box<str>) -> Self {
        let end = offset(string.len());
        Self { block: Arc::new(OnceLock::from(string)), start: 0, end }
    }
}

impl From<String> for Str {
    fn from(string: String) -> Self {
        string.into_boxed_str().into()
    }
}

impl From<&str> for Str {
    fn from(string: &str) -> Self {
        Box::<str>::from(string).into()
    }
}

impl From<Str> for String {
    fn from(string: Str) -> Self {
        string.into_string()
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Str {}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for Str {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<Str> for String {
    fn eq(&self, other: &Str) -> bool {
        self == other.as_str()
    }
}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other)
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl serde::Serialize for Str {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_outlive_their_pool() {
        let mut shelf = StringPool::with_capacity(100);
        let values: Vec<String> = (0..3000).map(|index| "\u{e9}".repeat(index)).collect();
        let kept: Vec<Str> = values.iter().map(|value| shelf.add(value)).collect();
        assert!(values.iter().zip(&kept).all(|(value, kept)| shelf.read(kept) == value));
        drop(shelf);
        assert!(values.iter().zip(&kept).all(|(value, kept)| kept == value.as_str()));
        assert!(values.iter().zip(kept).all(|(value, kept)| *value == kept.into_string()));
    }

    #[test]
    fn a_string_takes_two_words() {
        assert_eq!(size_of::<Option<Str>>(), 16);
    }

    #[test]
    fn parts_share_memory() {
        let whole = Str::from("what is whole has parts");
        let part = whole.part(&whole[8..13]).unwrap();
        assert_eq!((part.as_str(), part.as_ptr()), ("whole", whole[8..13].as_ptr()));
        assert_eq!(part.part(&part[1..]).unwrap(), "hole");
        assert_eq!(part.into_string(), "whole");
        assert_eq!(whole.part("whole"), None);
    }

    #[test]
    fn strings_round_trip() {
        let long = Str::from("a".repeat(2000));
        assert_eq!(long.clone().into_string(), long);
        assert_eq!(long.into_string().len(), 2000);
        assert_eq!(Str::default().into_string(), "");
    }
}
