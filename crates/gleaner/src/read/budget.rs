//! A limit on the work of evaluating one expression that a user wrote on a document that somebody else wrote.
//!
//! Work is counted in steps rather than time, so that the result is reproducible. Used for CSS selectors
//! (`selector.rs`).

use std::cell::Cell;

/// The budget of one expression on one document: well under a second of CPU time.
pub(super) const STEPS: u64 = 50_000_000;

/// The remaining steps, shared by all parts of one evaluation.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it takes more than {steps} steps on this page")]
pub struct OutOfSteps {
    steps: u64,
}

impl Budget {
    pub(super) const fn new(total: u64) -> Self {
        Self { left: Cell::new(total), total }
    }

    /// Spends steps; returns false once none are left, so that loops end.
    pub(super) fn spend(&self, steps: u64) -> bool {
        let left = self.left.get().saturating_sub(steps);
        self.left.set(left);
        left > 0
    }

    /// Fails if the budget was used up: the result is then incomplete.
    pub(super) fn check(&self) -> Result<(), OutOfSteps> {
        if self.left.get() > 0 { Ok(()) } else { Err(OutOfSteps { steps: self.total }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_budget_stays_exhausted() {
        let budget = Budget::new(10);
        assert!(budget.spend(9));
        assert_eq!(budget.check(), Ok(()));
        assert!(!budget.spend(u64::MAX));
        assert!(!budget.spend(0));
        assert_eq!(budget.check().unwrap_err().to_string(), "it takes more than 10 steps on this page");
    }
}
