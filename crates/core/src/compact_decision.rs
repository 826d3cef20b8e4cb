//! A decision in as few bytes as a store can remember it in.

use crate::decision::{Decision, LimitStatus, Source};
use crate::time::Span;

/// The decision of an allowed operation, in 40 bytes, for stores that remember it by an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactDecision {
    retry_after: u64,
    reset_after: u64,
    bound_reset_after: u64,
    limit: u32,
    remaining: u32,
    bound_remaining: u32,
    bound_by: u16,
    /// Which of the numbers there are.
    present: u8,
    /// Whether there is a wait after which the cost fits.
    has_retry: bool,
}

const _: () = assert!(size_of::<Option<CompactDecision>>() == 40, "as small as documented");

/// Bits of [`CompactDecision::present`].
const LIMIT: u8 = 1;
const REMAINING: u8 = 1 << 1;
const BOUND_REMAINING: u8 = 1 << 2;

impl CompactDecision {
    /// Returns the compact form; `None` if a store does not have to remember such a decision: it is a
    /// denial, or was not made by a store.
    #[must_use]
    pub fn of(decision: &Decision) -> Option<CompactDecision> {
        let Decision { allowed, not_found, source, degraded, not_remembered, .. } = *decision;
        if !allowed || not_found || degraded || not_remembered || source != Source::Store {
            return None;
        }
        let mut present = 0;
        let mut number = |bit: u8, number: Option<u64>| {
            present |= if number.is_some() { bit } else { 0 };
            u32::try_from(number.unwrap_or_default()).ok()
        };
        let limit = number(LIMIT, decision.limit)?;
        let remaining = number(REMAINING, decision.remaining)?;
        let bound_remaining = number(BOUND_REMAINING, decision.bound_remaining)?;
        Some(CompactDecision {
            retry_after: decision.retry_after.unwrap_or_default().as_micros(),
            reset_after: decision.reset_after.as_micros(),
            bound_reset_after: decision.bound_reset_after.as_micros(),
            limit,
            remaining,
            bound_remaining,
            bound_by: u16::try_from(decision.bound_by).ok()?,
            present,
            has_retry: decision.retry_after.is_some(),
        })
    }

    /// Returns the decision.
    pub fn decision(&self) -> Decision {
        let number = |bit: u8, number: u32| (self.present & bit != 0).then(|| u64::from(number));
        let retry_after = Span::from_micros(self.retry_after);
        let status = LimitStatus {
            limit: number(LIMIT, self.limit),
            remaining: number(REMAINING, self.remaining),
            retry_after: self.has_retry.then_some(retry_after),
            reset_after: Span::from_micros(self.reset_after),
        };
        let mut decision = Decision::from_status(true, status);
        decision.bound_by = usize::from(self.bound_by);
        decision.bound_remaining = number(BOUND_REMAINING, self.bound_remaining);
        decision.bound_reset_after = Span::from_micros(self.bound_reset_after);
        decision
    }
}
