//! All tests that need more than one module: real databases, real processes, real time limits.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod api;
mod book;
mod browser;
mod claim_cost;
mod cli;
mod crash;
mod dashboard;
mod database_faults;
mod demo;
mod direction;
mod fetch;
mod hostile;
mod links;
mod long_run;
mod readme;
mod scenarios;
mod store_contract;
mod support;
