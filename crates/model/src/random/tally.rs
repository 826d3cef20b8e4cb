//! What a comparison has seen, and whether that was enough to mean something.

use crate::key::asks;
use crate::{Answer, Operation, Step, TooMuch};

/// Counts of the steps of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// All steps.
    pub steps: u64,
    /// Checks, peeks and reserves.
    pub asked: u64,
    /// Those of `asked` that were denied.
    pub denied: u64,
    /// Steps earlier than the one before them in the same key.
    pub backward: u64,
    /// Those of `asked` whose cost can never fit.
    pub never_fits: u64,
    /// Steps answered with [`TooMuch`].
    pub too_much: u64,
    /// Steps of each operation, in the order of [`Operation`].
    pub by_op: [u64; 9],
}

impl Tally {
    pub(crate) fn count(&mut self, before: u64, step: &Step, answer: &Result<Answer, TooMuch>) {
        self.steps += 1;
        self.backward += u64::from(step.t < before);
        self.by_op[step.op as usize] += 1;
        match answer {
            Ok(answer) if asks(step.op) => self.count_asked(answer),
            Ok(_) => {}
            Err(TooMuch) => self.too_much += 1,
        }
    }

    fn count_asked(&mut self, answer: &Answer) {
        self.asked += 1;
        self.denied += u64::from(!answer.allowed);
        self.never_fits += u64::from(answer.retry_after.is_none());
    }

    /// Makes sure that the comparison was not an idle one.
    ///
    /// # Panics
    ///
    /// If too few steps were denied, went back in time or asked for what never fits, or if an
    /// operation was never seen.
    pub fn assert_covers(&self) {
        assert!(self.denied * 5 >= self.asked, "too few denied: {self:?}");
        let hundredth = self.steps / 100;
        assert!(self.backward >= hundredth, "too few backward: {self:?}");
        assert!(self.never_fits >= hundredth, "too few that never fit: {self:?}");
        assert!(self.by_op.iter().all(|&seen| seen > 0), "not every operation: {self:?}");
    }
}

/// All operations, in the order of their declaration.
pub(crate) const OPERATIONS: [Operation; 9] = [
    Operation::Check,
    Operation::Peek,
    Operation::Refund,
    Operation::Charge,
    Operation::Reset,
    Operation::Reserve,
    Operation::Settle,
    Operation::Release,
    Operation::Renew,
];
