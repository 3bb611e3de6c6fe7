//! Feeds to read and parsers to read them with.

pub mod count;
pub mod feeds;
pub mod rivals;
