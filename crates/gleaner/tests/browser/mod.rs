//! The dashboard in a real browser.

mod door;
mod driver;
mod hostile;
mod looks;
mod payloads;
mod site;
mod trouble;
