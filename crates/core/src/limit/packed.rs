//! Checks of one limit over a packed state: the fast path of a store that keeps states in place.

use super::Limit;
use crate::act::MAX_COST;
use crate::decision::Decision;
use crate::rule::{PackedOutcome, Terms};
use crate::time::Time;

impl Terms {
    /// Returns whether these are the terms of this limit.
    #[inline(always)]
    #[must_use]
    pub fn matches(&self, limit: &Limit) -> bool {
        limit.rule().has_terms(self)
    }
}

impl Limit {
    /// Returns whether its states may fit in [one word](crate::storage::Packed::one_word).
    #[inline]
    #[must_use]
    pub fn may_fit_one_word(&self) -> bool {
        self.rule().may_fit_one_word()
    }

    /// Returns the terms its states are written under; `None` if they cannot be packed.
    #[inline]
    #[must_use]
    pub fn terms(&self) -> Option<Terms> {
        self.rule().terms()
    }

    /// Checks this limit alone over the [words](crate::storage::Packed::words) of a state that was
    /// written under its own [terms](Limit::terms).
    ///
    /// This is a faster way to the decision of [`decide`](crate::storage::decide). `None` if
    /// `decide` has to be called, as for states that cannot be packed.
    ///
    /// ```
    /// use tollgate_core::{Limit, Time};
    ///
    /// let limit: Limit = "gcra 1/s burst 1".parse()?;
    /// let first = limit.check_words(None, 1, Time::EPOCH).unwrap();
    /// let second = limit.check_words(first.words, 1, Time::EPOCH).unwrap();
    /// assert!(first.decision.allowed && !second.decision.allowed);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn check_words(
        &self,
        words: Option<[u64; 3]>,
        cost: u64,
        now: Time,
    ) -> Option<PackedOutcome> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().check_words(words, cost, now)
    }

    /// Checks this limit alone over a state in [one word](crate::storage::Packed::one_word),
    /// counted from `origin`; zero is no state.
    ///
    /// Returns the decision and the new word, or `None` if [`check_words`](Limit::check_words) has
    /// to be called.
    ///
    /// ```
    /// use tollgate_core::{Limit, Time};
    ///
    /// let limit: Limit = "gcra 1/s burst 1".parse()?;
    /// let (first, word) = limit.check_word(0, Time::EPOCH, 1, Time::EPOCH).unwrap();
    /// let (second, same) = limit.check_word(word, Time::EPOCH, 1, Time::EPOCH).unwrap();
    /// assert!(first.allowed && !second.allowed && word == same);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn check_word(
        &self,
        word: u64,
        origin: Time,
        cost: u64,
        now: Time,
    ) -> Option<(Decision, u64)> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().check_word(word, origin, cost, now)
    }

    /// Returns whether the fast paths do not handle a check of this cost.
    #[inline(always)]
    fn needs_decide(&self, cost: u64) -> bool {
        self.counts_denied() || cost == 0 || cost > MAX_COST
    }
}
