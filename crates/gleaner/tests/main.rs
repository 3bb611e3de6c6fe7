//! All tests that need more than one module: real databases, real processes, real time limits.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod api;
mod attack;
mod book;
mod browser;
mod claim_cost;
mod cli;
mod crash;
mod dashboard;
mod demo;
mod dependencies;
mod direction;
mod faults;
mod fetch;
mod hostile;
#[cfg(feature = "test-faults")]
mod kill;
mod ledger;
mod links;
mod long_run;
mod readme;
mod scale;
mod scenarios;
mod sign_in;
mod store_contract;
mod support;
