//! The numbers of a decision, searched for by the laws.

use crate::counting::Counting;

/// The answer of one limit of a policy, as if it were the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitAnswer {
    /// Capacity; `None` is unlimited.
    pub limit: Option<u64>,
    /// `None` is unlimited.
    pub remaining: Option<u64>,
    /// `None` if the cost that this limit takes can never fit.
    pub retry_after: Option<u64>,
    pub reset_after: u64,
}

/// Returns the instant at which a decision at `t` is made: never before the instant that the state
/// implies. (A state past its reset instant is past that one too.)
pub(crate) fn deciding_instant(counting: &dyn Counting, t: u64) -> u64 {
    t.max(counting.instant())
}

/// Returns the answer of this limit at `t` to a check of `cost`.
pub(crate) fn limit_answer(
    counting: &dyn Counting,
    capacity: Option<u64>,
    t: u64,
    cost: u64,
) -> LimitAnswer {
    let te = deciding_instant(counting, t);
    let reset = first_from(te, |later| counting.empty(later));
    let fitting = first_between(te, reset, |later| counting.fits(later, cost));
    LimitAnswer {
        limit: capacity,
        remaining: capacity.map(|max| remaining(counting, max, te)),
        // If the cost fits at once there is no wait, even if the clock is behind the deciding instant.
        retry_after: fitting.map(|first| if first == te { 0 } else { first - t }),
        reset_after: if reset == te { 0 } else { reset - t },
    }
}

/// Returns the greatest cost that fits at `te` (law 3); 0 if in debt.
fn remaining(counting: &dyn Counting, max: u64, te: u64) -> u64 {
    let first_denied = first_between(0, max + 1, |n| n > max || !counting.fits(te, n));
    first_denied.map_or(0, |n| n.saturating_sub(1))
}

/// Returns the least number from `from` on for which `holds`, which once true stays true.
fn first_from(from: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let mut reach = 0;
    while !holds(from + reach) {
        // Debts are bounded, so the search ends long before this overflows.
        reach = (reach * 2).max(1);
    }
    first_between(from + reach / 2, from + reach, holds).unwrap_or(from + reach)
}

/// Returns the least number from `low` to `high` for which `holds`, if it holds for any.
fn first_between(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_from_finds_every_threshold() {
        for from in 0..20 {
            for threshold in 0..100 {
                let found = first_from(from, |x| x >= threshold);
                assert_eq!(found, threshold.max(from));
            }
        }
    }

    #[test]
    fn first_between_may_find_none() {
        assert_eq!(first_between(3, 9, |x| x >= 9), Some(9));
        assert_eq!(first_between(3, 9, |x| x >= 10), None);
    }
}
