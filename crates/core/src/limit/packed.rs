//! A limit over states that are a few numbers: what a store needs to keep them in place.

use super::Limit;
use crate::decision::Decision;
use crate::operation::MAX_COST;
use crate::rule::{Checked, Terms};
use crate::time::Time;

impl Terms {
    /// Whether they are those of this limit.
    #[inline(always)]
    #[must_use]
    pub fn are_of(&self, limit: &Limit) -> bool {
        limit.rule().has(self)
    }
}

impl Limit {
    /// Whether its states may fit in [one word](crate::Packed::one_word).
    #[inline]
    #[must_use]
    pub fn may_fit_one_word(&self) -> bool {
        self.rule().may_fit_one_word()
    }

    /// What its states are written under; `None` if they cannot be packed.
    #[inline]
    #[must_use]
    pub fn terms(&self) -> Option<Terms> {
        self.rule().terms()
    }

    /// A check of this limit alone over the [words](crate::Packed::words) of a state that was
    /// written under its own [terms](Limit::terms): the shortest way to what
    /// [`decide`](crate::decide) says. `None` if that has to be asked, as for states that cannot be
    /// packed.
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
    pub fn check_words(&self, kept: Option<[u64; 3]>, cost: u64, now: Time) -> Option<Checked> {
        if self.is_long_way(cost) {
            return None;
        }
        self.rule().check_words(kept, cost, now)
    }

    /// The same check over a state in [one word](crate::Packed::one_word), counted from `origin`;
    /// zero for none. Answers the decision and the word it leaves. `None` if
    /// [`check_words`](Limit::check_words) has to be asked.
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
        if self.is_long_way(cost) {
            return None;
        }
        self.rule().check_word(word, origin, cost, now)
    }

    /// Whether a check has more to it than the short ways know.
    #[inline(always)]
    fn is_long_way(&self, cost: u64) -> bool {
        self.counts_denied() || cost == 0 || cost > MAX_COST
    }
}
