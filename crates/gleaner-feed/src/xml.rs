//! XML as it is found in feeds: a tokenizer, attributes, references, namespaces, element names.
//!
//! Deliberately absent: well-formedness. Nothing here returns an error; every byte sequence has a reading, each
//! byte is looked at a bounded number of times, and values are borrowed from the document wherever they can be.

pub(crate) mod attributes;
pub(crate) mod doctype;
pub(crate) mod names;
pub(crate) mod namespaces;
mod reference_table;
pub(crate) mod references;
pub(crate) mod token;
