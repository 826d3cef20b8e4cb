//! How the states of a store are packed into records.

use std::sync::Arc;

use tollgate_core::storage::{Packed, State, Terms};
use tollgate_core::{Span, Time};

use super::quota::{self, Quota, QuotaRef, count_dropped};
use super::record::{
    CompactState, Form, LeaseRecord, OneWordRecord, ThreeWordRecord, fits_one_word, join_lease,
    join_one_word, join_three_words, split_lease, split_one_word, split_three_words,
};
use super::terms::TermsList;

/// What all shards of a store need to read their records.
pub(crate) struct Layout {
    pub(crate) terms: TermsList,
    /// The time that states of one word count from.
    pub(crate) origin: Time,
    /// How long a state is kept past its reset.
    pub(crate) slack: Span,
}

impl Layout {
    /// Returns the time before which a state must have reset to be dropped by a sweep.
    pub(crate) fn horizon(&self, now: Time) -> Time {
        let micros = now.as_micros().saturating_sub(self.slack.as_micros());
        Time::from_micros(micros).unwrap_or(now)
    }

    pub(crate) fn unpack_one_word(&self, record: OneWordRecord) -> Option<Packed> {
        let (terms_index, word) = split_one_word(record);
        Packed::from_one_word(self.terms.get(terms_index)?, self.origin, word)
    }

    /// Returns whether a state of one word had not reset by the horizon.
    #[inline]
    pub(crate) fn one_word_is_live(&self, record: OneWordRecord, horizon: Time) -> bool {
        let (terms_index, word) = split_one_word(record);
        let terms = self.terms.get(terms_index);
        terms.is_some_and(|terms| terms.word_lasts(word, self.origin, horizon))
    }

    /// Returns the quota that a state of one word counts in.
    pub(crate) fn quota_of_one_word(&self, record: OneWordRecord) -> QuotaRef {
        self.terms.quota(split_one_word(record).0)
    }

    /// Returns the quota that a state of three words counts in.
    pub(crate) fn quota_of_three_words(&self, record: ThreeWordRecord) -> QuotaRef {
        self.terms.quota(split_three_words(record).0)
    }

    /// Returns the quota that a lone lease counts in.
    pub(crate) fn quota_of_lease(&self, record: LeaseRecord) -> QuotaRef {
        self.terms.quota(split_lease(record).0)
    }

    pub(crate) fn unpack_three_words(&self, record: ThreeWordRecord) -> Option<Packed> {
        let (terms_index, words) = split_three_words(record);
        Some(Packed::new(self.terms.get(terms_index)?, words))
    }

    /// Returns whether a state of three words had not reset by the horizon.
    pub(crate) fn three_words_are_live(&self, record: ThreeWordRecord, horizon: Time) -> bool {
        self.unpack_three_words(record).is_some_and(|state| horizon < state.expires())
    }

    /// Returns whether a state of one word is kept by a sweep, which counts it as dropped if not.
    pub(super) fn keep_one_word(&self, horizon: Time) -> impl FnMut(&OneWordRecord) -> bool {
        move |record| {
            let is_live = self.one_word_is_live(*record, horizon);
            if !is_live {
                count_dropped(self.quota_of_one_word(*record).as_ref());
            }
            is_live
        }
    }

    /// Returns whether a state of three words is kept by a sweep, which counts it as dropped if not.
    pub(super) fn keep_three_words(&self, horizon: Time) -> impl FnMut(&ThreeWordRecord) -> bool {
        move |record| {
            let is_live = self.three_words_are_live(*record, horizon);
            if !is_live {
                count_dropped(self.quota_of_three_words(*record).as_ref());
            }
            is_live
        }
    }

    /// Returns whether a lone lease is kept by a sweep, which counts it as dropped if not.
    pub(super) fn keep_lease(&self, horizon: Time) -> impl FnMut(&LeaseRecord) -> bool {
        move |record| {
            let is_live = State::lone_lease_lasts(split_lease(*record).1, horizon);
            if !is_live {
                count_dropped(self.quota_of_lease(*record).as_ref());
            }
            is_live
        }
    }

    /// Returns in which collection a new state is going to be.
    pub(crate) fn form_of(&self, state: &State, quota: Option<&Arc<Quota>>) -> Form {
        match self.pack(state, quota) {
            Some(packed) => packed.form(),
            None if state.is_of_leases() => Form::Leases,
            None => Form::Whole,
        }
    }

    /// Returns whether a lone lease counts in this quota.
    pub(crate) fn lease_counts_in(&self, record: LeaseRecord, quota: Option<&Arc<Quota>>) -> bool {
        quota::is_same(self.quota_of_lease(record).as_ref(), quota)
    }

    /// Packs a state into a record; `None` if it does not fit.
    pub(crate) fn pack(&self, state: &State, quota: Option<&Arc<Quota>>) -> Option<CompactState> {
        if let Some(lease) = state.lone_lease() {
            let terms_index = self.terms.index_of(&Terms::LEASE, quota)?;
            return Some(CompactState::LoneLease(join_lease(terms_index, lease)));
        }
        let packed = state.packed()?;
        let terms_index = self.terms.index_of(&packed.terms(), quota)?;
        let one_word = packed.one_word(self.origin).filter(|_| fits_one_word(terms_index));
        Some(match one_word {
            Some(word) => CompactState::OneWord(join_one_word(terms_index, word)),
            None => CompactState::ThreeWords(join_three_words(terms_index, packed.words())),
        })
    }
}
