//! From bytes to what they say: plain text, and the feeds that a page advertises.
//!
//! Everything here is a function of its arguments, takes time in proportion to its input, and never panics.
//! Absent on purpose: a document tree. Trees are built only where an article is to be found in a page.

pub mod discover;
mod element;
mod html;
pub mod text;

#[cfg(test)]
mod discover_tests;
#[cfg(test)]
mod text_tests;
