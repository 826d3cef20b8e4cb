//! What a store asks of a limit: the fast path of a store that keeps states in place, and whether
//! two limits count alike.

use std::hash::Hasher;

use super::{Limit, numbers};
use crate::act::MAX_COST;
use crate::decision::{Decision, LimitStatus};
use crate::rule::{Handle, PackedOutcome, State, Terms};
use crate::sealed::Sealed;
use crate::time::Time;

/// What a store asks of a [`Limit`].
pub trait LimitStorage: Sealed {
    /// Returns whether its states may fit in [one word](crate::storage::Packed::one_word).
    #[must_use]
    fn may_fit_one_word(&self) -> bool;

    /// Returns whether all of its states can be packed, as those of slots and leases cannot.
    #[must_use]
    fn is_packed(&self) -> bool;

    /// Returns whether some of its states can be packed, as those of one slot can.
    #[must_use]
    fn may_be_packed(&self) -> bool;

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

    /// Returns whether [`check_words`](LimitStorage::check_words) would allow it: for a policy of several limits, of
    /// which none takes anything unless all allow it. `None` if `decide` has to be called.
    #[must_use]
    fn fits_words(&self, words: [u64; 3], cost: u64, now: Time) -> Option<bool>;

    /// Takes a cost that [fits](LimitStorage::fits_words), if it `takes` anything. Returns the status of this limit,
    /// and the new words. `None` if `decide` has to be called.
    #[must_use]
    fn update_words(
        &self,
        words: [u64; 3],
        cost: u64,
        now: Time,
        takes: bool,
    ) -> Option<(LimitStatus, [u64; 3])>;

    /// As [`fits_words`](LimitStorage::fits_words), over a state in one word, counted from `origin`.
    #[must_use]
    fn fits_word(&self, word: u64, origin: Time, cost: u64, now: Time) -> Option<bool>;

    /// As [`update_words`](LimitStorage::update_words), over a state in one word, counted from `origin`.
    #[must_use]
    fn update_word(
        &self,
        word: u64,
        origin: Time,
        cost: u64,
        now: Time,
        takes: bool,
    ) -> Option<(LimitStatus, u64)>;

    /// Returns whether leases for the whole cost are held under the handle. True for limits that give none. See
    /// [`OpStorage::takes_leases`](crate::storage::OpStorage::takes_leases).
    #[must_use]
    fn still_holds(&self, state: Option<&State>, cost: u64, handle: Handle, now: Time) -> bool;

    /// Checks this limit alone over a state that is not packed, and changes it. `handle` is that of the id, if there
    /// is one. This is a faster way to the decision of [`decide`](crate::storage::decide). `None` if that has to be
    /// called. Nothing has changed then.
    #[must_use]
    fn check_in_place(
        &self,
        state: &mut State,
        cost: u64,
        handle: Option<Handle>,
        now: Time,
    ) -> Option<Decision>;

    /// As [`check_in_place`](LimitStorage::check_in_place), for a new key. Returns the state too, if the check is
    /// allowed.
    #[must_use]
    fn check_new_in_place(
        &self,
        cost: u64,
        handle: Option<Handle>,
        now: Time,
    ) -> Option<(Decision, Option<State>)>;

    /// Releases the leases of this limit under a handle, and changes the state. This is a faster way to the decision of
    /// [`decide`](crate::storage::decide). `None` if that has to be called. Nothing has changed then.
    #[must_use]
    fn release_in_place(
        &self,
        state: &mut Option<State>,
        handle: Handle,
        cost: u64,
        now: Time,
    ) -> Option<Decision>;

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
    fn may_be_packed(&self) -> bool {
        self.rule().may_be_packed()
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
    fn fits_words(&self, words: [u64; 3], cost: u64, now: Time) -> Option<bool> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().fits_words(words, cost, now)
    }

    #[inline]
    fn update_words(
        &self,
        words: [u64; 3],
        cost: u64,
        now: Time,
        takes: bool,
    ) -> Option<(LimitStatus, [u64; 3])> {
        self.rule().update_words(words, cost, now, takes)
    }

    #[inline(always)]
    fn fits_word(&self, word: u64, origin: Time, cost: u64, now: Time) -> Option<bool> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().fits_word(word, origin, cost, now)
    }

    #[inline(always)]
    fn update_word(
        &self,
        word: u64,
        origin: Time,
        cost: u64,
        now: Time,
        takes: bool,
    ) -> Option<(LimitStatus, u64)> {
        self.rule().update_word(word, origin, cost, now, takes)
    }

    #[inline]
    fn still_holds(&self, state: Option<&State>, cost: u64, handle: Handle, now: Time) -> bool {
        self.rule().still_holds(state, now, cost, handle)
    }

    fn check_in_place(
        &self,
        state: &mut State,
        cost: u64,
        handle: Option<Handle>,
        now: Time,
    ) -> Option<Decision> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().check_in_place(state, cost, handle, now)
    }

    #[inline]
    fn check_new_in_place(
        &self,
        cost: u64,
        handle: Option<Handle>,
        now: Time,
    ) -> Option<(Decision, Option<State>)> {
        if self.needs_decide(cost) {
            return None;
        }
        self.rule().check_new_in_place(cost, handle, now)
    }

    #[inline]
    fn release_in_place(
        &self,
        state: &mut Option<State>,
        handle: Handle,
        cost: u64,
        now: Time,
    ) -> Option<Decision> {
        self.rule().release_in_place(state, handle, cost, now)
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
