//! The dashboard over real HTTP, as a browser without script uses it, on both databases. `tests/browser` has the rest.

mod lists;
mod rest;
mod source;

use crate::api::on_both;
