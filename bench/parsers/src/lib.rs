//! Documents and parsers for the comparison.

pub mod count;
pub mod feeds;
pub mod rivals;
