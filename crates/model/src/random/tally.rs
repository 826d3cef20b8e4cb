//! Statistics of a comparison, and whether it covered enough to be meaningful.

use crate::key::{can_be_denied, is_follow_up};
use crate::{Answer, Operation, Step, TooMuch};

/// Numbers of steps of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of steps.
    pub steps: u64,
    /// Number of checks, peeks and reserves.
    pub asked: u64,
    /// Number of those that were denied.
    pub denied: u64,
    /// Number of settlements, releases and renewals.
    pub follow_ups: u64,
    /// Number of those that found nothing to act on.
    pub not_found: u64,
    /// Number of steps whose time is before that of the previous step of the same key.
    pub backward: u64,
    /// Number of checks, peeks and reserves whose cost can never fit.
    pub never_fits: u64,
    /// Number of steps whose limits take different costs.
    pub different_costs: u64,
    /// Number of those in which a limit takes nothing.
    pub one_takes_nothing: u64,
    /// Number of steps that failed with [`TooMuch`].
    pub too_much: u64,
    /// Number of steps of each operation, in the order of [`Operation`].
    pub by_op: [u64; 9],
}

impl Tally {
    pub(crate) fn count(&mut self, before: u64, step: &Step, answer: &Result<Answer, TooMuch>) {
        self.steps += 1;
        self.backward += u64::from(step.t < before);
        self.by_op[step.op as usize] += 1;
        let different = step.costs.windows(2).any(|pair| pair[0] != pair[1]);
        self.different_costs += u64::from(different);
        self.one_takes_nothing += u64::from(different && step.costs.contains(&0));
        match answer {
            Ok(answer) if can_be_denied(step.op) => self.count_asked(answer),
            Ok(answer) if is_follow_up(step.op) => {
                self.follow_ups += 1;
                self.not_found += u64::from(!answer.allowed);
            }
            Ok(_) => {}
            Err(TooMuch) => self.too_much += 1,
        }
    }

    fn count_asked(&mut self, answer: &Answer) {
        self.asked += 1;
        self.denied += u64::from(!answer.allowed);
        self.never_fits += u64::from(answer.retry_after.is_none());
    }

    /// Asserts that the comparison covered denials, operations that find nothing, backward steps, every
    /// operation, and limits that take different costs.
    ///
    /// # Panics
    ///
    /// Panics if too few steps were denied, found something or nothing to act on, went back in time, had
    /// a cost that never fits or different costs for their limits, or if an operation never occurred.
    pub fn assert_covers(&self) {
        assert!(self.denied * 5 >= self.asked, "too few denied: {self:?}");
        let tenth = self.follow_ups / 10;
        assert!(self.not_found >= tenth, "too few that find nothing: {self:?}");
        assert!(self.not_found <= 9 * tenth, "too few that find something: {self:?}");
        let hundredth = self.steps / 100;
        assert!(self.backward >= hundredth, "too few backward: {self:?}");
        assert!(self.never_fits >= hundredth, "too few that never fit: {self:?}");
        assert!(self.different_costs >= hundredth * 3, "too few different costs: {self:?}");
        assert!(self.one_takes_nothing >= hundredth, "too few that take nothing: {self:?}");
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
