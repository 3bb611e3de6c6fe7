//! The dashboard in a real browser.

mod door;
mod driver;
mod flows;
mod hostile;
mod looks;
mod payloads;
mod site;
mod source;
mod trouble;
