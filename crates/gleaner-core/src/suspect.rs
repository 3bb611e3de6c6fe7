//! Silent failures.
