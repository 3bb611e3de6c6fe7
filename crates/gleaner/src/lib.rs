//! gleaner: everything that touches the world.

pub mod store;
