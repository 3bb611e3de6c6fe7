//! The decisions of gleaner: pure functions over values.
