//! The interval `auto`.
use crate::time::Span;

/// How the interval is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The switch.
    pub on: bool,
    /// Never more often.
    pub shortest: Span,
    /// Never more rarely.
    pub longest: Span,
}

impl Default for Rules {
    fn default() -> Self {
        Self { on: true, shortest: Span::from_mins(5), longest: Span::from_hours(24) }
    }
}
