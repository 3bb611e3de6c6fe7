//! A limit on the work of one expression that a person wrote, run on a document that somebody else wrote.
//!
//! Work is counted in steps, not in time, so that the same expression on the same document always ends the same way.
//! CSS selectors use it (`selector.rs`); whatever else evaluates such expressions takes a budget of its own.

use std::cell::Cell;

/// The budget of one expression on one document: well under a second of one processor.
pub(super) const STEPS: u64 = 50_000_000;

/// Steps that are left. Shared by all parts of one evaluation.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    total: u64,
}

/// The expression took more steps than its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it takes more than {steps} steps on this page")]
pub struct OutOfSteps {
    steps: u64,
}

impl Budget {
    pub(super) const fn new(total: u64) -> Self {
        Self { left: Cell::new(total), total }
    }

    /// Takes steps off; false where none are left. From then on it stays false, so that loops end soon.
    pub(super) fn spend(&self, steps: u64) -> bool {
        let left = self.left.get().saturating_sub(steps);
        self.left.set(left);
        left > 0
    }

    /// Fails where the budget was used up: a result found until then is incomplete.
    pub(super) fn check(&self) -> Result<(), OutOfSteps> {
        if self.left.get() > 0 { Ok(()) } else { Err(OutOfSteps { steps: self.total }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_used_up_stays_so() {
        let budget = Budget::new(10);
        assert!(budget.spend(9));
        assert_eq!(budget.check(), Ok(()));
        assert!(!budget.spend(u64::MAX));
        assert!(!budget.spend(0));
        assert_eq!(budget.check().unwrap_err().to_string(), "it takes more than 10 steps on this page");
    }
}
