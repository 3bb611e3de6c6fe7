//! The decisions of gleaner: pure functions over values, policies as tables.
//!
//! A poll's outcome comes in, what follows from it goes out: the source's next state and next poll, what of a
//! document is new, and the words that explain it. Deliberately absent: I/O, the clock, randomness, async, SQL,
//! HTTP. `now` and chance arrive as values, so that a year of polling is a test of milliseconds.

pub mod adaptive;
pub mod backfill;
pub mod bot_wall;
pub mod classify;
pub mod elsewhere;
pub mod explain;
pub mod follow;
pub mod health;
pub mod identity;
pub mod incident;
mod judge;
pub mod judgement;
pub mod link;
pub mod network;
pub mod outcome;
pub mod overlay;
pub mod pacing;
pub mod policy;
pub mod post;
pub mod recheck;
pub mod redirect;
pub mod redraw;
pub mod replay;
pub mod schedule;
pub mod source;
pub mod suspect;
pub mod time;
pub mod visibility;
pub mod x;
