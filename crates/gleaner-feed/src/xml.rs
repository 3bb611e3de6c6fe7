//! XML as found in feeds: tokenizer, attributes, references, namespaces, element names.
//!
//! Well-formedness is not required. Nothing here returns an error; every input has a reading, each byte is examined
//! a bounded number of times, and values are borrowed from the document where possible.

pub(crate) mod attributes;
pub(crate) mod doctype;
pub(crate) mod names;
pub(crate) mod namespaces;
mod reference_table;
pub(crate) mod references;
pub(crate) mod token;
