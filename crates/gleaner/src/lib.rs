//! gleaner: everything that touches the world, as a library behind one thin binary.
//!
//! Uses point one way, from the core outwards to the command line. Absent on purpose: decisions. What a poll's
//! outcome means for its source is `gleaner-core`'s business.

pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod engine;
pub mod event_payload;
pub mod fetch;
mod hex;
pub mod log;
pub mod metrics;
mod printable;
pub mod read;
pub mod service;
#[cfg(feature = "simulate")]
pub mod simulate;
pub mod source_fields;
pub mod store;
mod truncate;
pub mod vault;
pub mod web;
