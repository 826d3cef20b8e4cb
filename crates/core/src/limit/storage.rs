//! What a store asks of a limit: the fast path of a store that keeps states in place, and whether
//! two limits count alike.

use std::hash::Hasher;

use super::{Limit, numbers};
use crate::act::MAX_COST;
use crate::decide::Outcome;
use crate::decision::{Decision, LimitStatus};
use crate::rule::{PackedOutcome, State, Terms};
use crate::sealed::Sealed;
use crate::time::Time;

/// What a store asks of a [`Limit`].
pub trait LimitStorage: Sealed {
    /// Returns whether its states may fit in [one word](crate::storage::Packed::one_word).
    #[must_use]
    fn may_fit_one_word(&self) -> bool;

    /// Returns whether its states can be packed, as those of slots and leases cannot.
    #[must_use]
    fn is_packed(&self) -> bool;

    /// Returns the terms its states are written under; `None` if they cannot be packed.
    #[must_use]
    fn terms(&self) -> Option<Terms>;

    /// Checks this limit alone over the [words](crate::storage::Packed::words) of a state that was
    /// written under its own [terms](LimitStorage::terms).
    ///
    /// This is a faster way to the decision of [`decide`](crate::storage::decide). `None` if
    /// `decide` has to be called, as for states that cannot be packed.
    ///
    /// ```
    /// use tollgate_core::storage::LimitStorage as _;
    /// use tollgate_core::{Limit, Time};
    ///
    /// let limit: Limit = "gcra 1/s burst 1".parse()?;
    /// let first = limit.check_words(None, 1, Time::EPOCH).unwrap();
    /// let second = limit.check_words(first.words, 1, Time::EPOCH).unwrap();
    /// assert!(first.decision.allowed && !second.decision.allowed);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    #[must_use]
    fn check_words(&self, words: Option<[u64; 3]>, cost: u64, now: Time) -> Option<PackedOutcome>;

    /// Checks this limit alone over a state in [one word](crate::storage::Packed::one_word),
    /// counted from `origin`; zero is no state.
    ///
    /// Returns the decision and the new word, or `None` if [`check_words`](LimitStorage::check_words) has
    /// to be called.
    ///
    /// ```
    /// use tollgate_core::storage::LimitStorage as _;
    /// use tollgate_core::{Limit, Time};
    ///
    /// let limit: Limit = "gcra 1/s burst 1".parse()?;
    /// let (first, word) = limit.check_word(0, Time::EPOCH, 1, Time::EPOCH).unwrap();
    /// let (second, same) = limit.check_word(word, Time::EPOCH, 1, Time::EPOCH).unwrap();
    /// assert!(first.allowed && !second.allowed && word == same);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    #[must_use]
    fn check_word(&self, word: u64, origin: Time, cost: u64, now: Time) -> Option<(Decision, u64)>;

    /// Returns the status that [`check_words`](LimitStorage::check_words) would have, had it taken nothing: that
    /// of a limit whose policy was denied by another limit. `None` if `decide` has to be called.
    #[must_use]
    fn peek_words(&self, words: [u64; 3], cost: u64, now: Time) -> Option<LimitStatus>;

    /// Returns the status that [`check_word`](LimitStorage::check_word) would have, had it taken nothing. `None` if
    /// `decide` has to be called.
    #[must_use]
    fn peek_word(&self, word: u64, origin: Time, cost: u64, now: Time) -> Option<LimitStatus>;

    /// Checks this limit over a state that is not packed, and changes it. Returns what
    /// [`decide`](crate::storage::decide) does for a check without an id; `None` if that has to be called. Nothing has
    /// changed then.
    #[must_use]
    fn check_in_place(&self, state: &mut State, cost: u64, now: Time) -> Option<Outcome>;

    /// Returns whether another limit counts by the same rule with the same numbers. They may differ in their line,
    /// their subject and their unit.
    ///
    /// ```
    /// use tollgate_core::Limit;
    /// use tollgate_core::storage::LimitStorage as _;
    ///
    /// let limit: Limit = "gcra 60/min burst 5".parse()?;
    /// assert!(limit.has_numbers_of(&"gcra 1/s burst 5 of tokens".parse()?));
    /// assert!(!limit.has_numbers_of(&"gcra 1/s burst 6".parse()?));
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    #[must_use]
    fn has_numbers_of(&self, other: &Limit) -> bool;

    /// Feeds the numbers it decides by to a hasher. Limits with different numbers feed different
    /// input, so that a layer can recognize the same question by a hash, without keeping the limit.
    ///
    /// ```
    /// use std::hash::{DefaultHasher, Hasher as _};
    /// use tollgate_core::Limit;
    /// use tollgate_core::storage::LimitStorage as _;
    ///
    /// let hash = |line: &str| {
    ///     let mut hasher = DefaultHasher::new();
    ///     line.parse::<Limit>().unwrap().hash_numbers(&mut hasher);
    ///     hasher.finish()
    /// };
    /// assert_eq!(hash("gcra 60/min burst 5"), hash("gcra 1/s burst 5"));
    /// assert_ne!(hash("gcra 60/min burst 5"), hash("gcra 60/min burst 6"));
    /// ```
    fn hash_numbers(&self, hasher: &mut impl Hasher);
}

impl LimitStorage for Limit {
    #[inline]
    fn may_fit_one_word(&self) -> bool {
        self.rule().may_fit_one_word()
    }

    #[inline]
    fn is_packed(&self) -> bool {
        self.rule().is_packed()
    }

    #[inline]
    fn terms(&self) -> Option<Terms> {
        self.rule().terms()
    }

    #[inline(always)]
    fn check_words(&self, words: Option<[u64; 3]>, cost: u64, now: Time) -> Option<PackedOutcome> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().check_words(words, cost, now)
    }

    #[inline(always)]
    fn check_word(&self, word: u64, origin: Time, cost: u64, now: Time) -> Option<(Decision, u64)> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().check_word(word, origin, cost, now)
    }

    #[inline]
    fn peek_words(&self, words: [u64; 3], cost: u64, now: Time) -> Option<LimitStatus> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().peek_words(words, cost, now)
    }

    #[inline]
    fn peek_word(&self, word: u64, origin: Time, cost: u64, now: Time) -> Option<LimitStatus> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().peek_word(word, origin, cost, now)
    }

    #[inline]
    fn check_in_place(&self, state: &mut State, cost: u64, now: Time) -> Option<Outcome> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().check_in_place(state, cost, now).map(Outcome::of_check)
    }

    #[inline]
    fn has_numbers_of(&self, other: &Limit) -> bool {
        self.rule == other.rule && self.counts_denied() == other.counts_denied()
    }

    fn hash_numbers(&self, hasher: &mut impl Hasher) {
        numbers::hash(self, hasher);
    }
}

impl Limit {
    /// Returns whether the fast paths do not handle a check of this cost.
    #[inline(always)]
    fn needs_decide(&self, cost: u64) -> bool {
        self.counts_denied() || cost == 0 || cost > MAX_COST
    }
}
