//! The gleaner binary.
fn main() {}
