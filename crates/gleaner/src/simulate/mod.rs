//! Half a year of thousands of sources in seconds: gleaner's decisions in a world with ground truth.
//!
//! `world` draws it from a seed, `truth` answers polls and measures, `run` drives the decision code of
//! `gleaner-core` through it. Absent on purpose: databases, HTTP and the clock; nothing of this touches the world
//! outside. The rules of other readers run in the same world, from `bench/rivals`.

pub mod measure;
pub mod run;
pub mod truth;
pub mod world;
