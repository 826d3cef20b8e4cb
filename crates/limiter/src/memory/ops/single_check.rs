//! A check of one limit of one key, which is nearly every operation, and how it is decided in a
//! record.

use std::num::NonZeroU32;
use std::sync::Arc;

use tollgate_core::storage::LimitStorage as _;
use tollgate_core::{Act, Decision, Item, Limit, LimitStatus, Op, Subject, Time};

use crate::memory::table::layout::Layout;
use crate::memory::table::quota::Quota;
use crate::memory::table::record::{
    CompactState, OneWordRecord, ThreeWordRecord, fits_one_word, join_one_word, join_three_words,
    replace_one_word, replace_three_words, split_one_word, split_three_words,
};
use crate::memory::table::shard::Shard;

/// A check of one limit, without an id.
#[derive(Clone, Copy)]
pub(crate) struct SingleCheck<'a> {
    pub(crate) limit: &'a Limit,
    /// Index of the limit's terms, if it is known already.
    pub(crate) terms_index: Option<NonZeroU32>,
    pub(crate) cost: u64,
}

impl<'a> SingleCheck<'a> {
    /// Returns the check and its subject if the operation is a check of one limit without an id,
    /// whose status is not asked for.
    #[inline]
    pub(crate) fn of(op: &'a Op<'_>) -> Option<(SingleCheck<'a>, Subject<'a>)> {
        match op.items {
            [item] if op.act == Act::Check && op.id.is_none() && op.statuses.is_none() => {
                Some((SingleCheck::of_item(item), item.subject))
            }
            _ => None,
        }
    }

    /// Returns the check of one of several limits.
    #[inline(always)]
    pub(super) fn of_item(item: &Item<'a>) -> SingleCheck<'a> {
        SingleCheck { limit: item.limit, terms_index: None, cost: item.cost }
    }

    /// Returns the check of this subject as an item of an operation.
    pub(crate) fn item(&self, subject: Subject<'a>) -> Item<'a> {
        Item { limit: self.limit, subject, cost: self.cost }
    }

    /// Returns whether the limit has the terms with this index.
    #[inline(always)]
    fn has_terms(&self, index: u32, layout: &Layout) -> bool {
        match self.terms_index {
            Some(own) => own.get() == index,
            None => layout.terms.are_of(index, self.limit),
        }
    }

    /// Checks a new key. Returns the decision and the state to insert, if any, or `None` if this
    /// needs the general path.
    pub(super) fn check_new(
        &self,
        layout: &Layout,
        quota: Option<&Arc<Quota>>,
        now: Time,
    ) -> Option<(Decision, Option<CompactState>)> {
        let SingleCheck { limit, cost, .. } = *self;
        let terms_index = match (self.terms_index, quota) {
            (Some(index), None) => index.get(),
            _ => layout.terms.index_of(&limit.terms()?, quota)?,
        };
        if fits_one_word(terms_index)
            && let Some((decision, word)) = limit.check_word(0, layout.origin, cost, now)
        {
            let state =
                decision.allowed.then(|| CompactState::OneWord(join_one_word(terms_index, word)));
            return Some((decision, state));
        }
        let checked = limit.check_words(None, cost, now)?;
        Some((
            checked.decision,
            checked
                .words
                .map(|words| CompactState::ThreeWords(join_three_words(terms_index, words))),
        ))
    }
}

/// A record that can be checked in place.
///
/// All of this is always inlined: each time a decision is copied, the processor waits for its last
/// byte to reach the cache.
pub(super) trait Record: Copy {
    /// Finds the record with this fingerprint.
    fn find(shard: &Shard, fingerprint: u64) -> Option<&Self>;
    /// Finds the record with this fingerprint, to change it.
    fn find_mut(shard: &mut Shard, fingerprint: u64) -> Option<&mut Self>;
    /// Checks a state that was written under the limit's own terms. Returns `None` if this needs the
    /// general path.
    fn check(&mut self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<Decision>;
    /// Returns whether such a check would be allowed, for a check of several limits.
    fn fits(&self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<bool>;
    /// Takes a cost that [fits](Record::fits), if it `takes` anything. Returns the status of the limit.
    fn update(
        &mut self,
        check: &SingleCheck<'_>,
        layout: &Layout,
        now: Time,
        takes: bool,
    ) -> Option<LimitStatus>;
}

impl Record for OneWordRecord {
    #[inline(always)]
    fn find(shard: &Shard, fingerprint: u64) -> Option<&OneWordRecord> {
        shard.one_word(fingerprint)
    }

    #[inline(always)]
    fn find_mut(shard: &mut Shard, fingerprint: u64) -> Option<&mut OneWordRecord> {
        shard.one_word_mut(fingerprint)
    }

    #[inline(always)]
    fn check(&mut self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<Decision> {
        let (terms_index, word) = split_one_word(*self);
        if !check.has_terms(terms_index, layout) {
            return None;
        }
        let (decision, word) = check.limit.check_word(word, layout.origin, check.cost, now)?;
        *self = replace_one_word(*self, word);
        Some(decision)
    }

    #[inline(always)]
    fn fits(&self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<bool> {
        let (terms_index, word) = split_one_word(*self);
        if !check.has_terms(terms_index, layout) {
            return None;
        }
        check.limit.fits_word(word, layout.origin, check.cost, now)
    }

    #[inline(always)]
    fn update(
        &mut self,
        check: &SingleCheck<'_>,
        layout: &Layout,
        now: Time,
        takes: bool,
    ) -> Option<LimitStatus> {
        let (_, word) = split_one_word(*self);
        let (status, word) =
            check.limit.update_word(word, layout.origin, check.cost, now, takes)?;
        *self = replace_one_word(*self, word);
        Some(status)
    }
}

impl Record for ThreeWordRecord {
    #[inline(always)]
    fn find(shard: &Shard, fingerprint: u64) -> Option<&ThreeWordRecord> {
        shard.three_words(fingerprint)
    }

    #[inline(always)]
    fn find_mut(shard: &mut Shard, fingerprint: u64) -> Option<&mut ThreeWordRecord> {
        shard.three_words_mut(fingerprint)
    }

    #[inline(always)]
    fn check(&mut self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<Decision> {
        let (terms_index, words) = split_three_words(*self);
        if !check.has_terms(terms_index, layout) {
            return None;
        }
        let checked = check.limit.check_words(Some(words), check.cost, now)?;
        if let Some(words) = checked.words {
            *self = replace_three_words(*self, words);
        }
        Some(checked.decision)
    }

    #[inline]
    fn fits(&self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<bool> {
        let (terms_index, words) = split_three_words(*self);
        if !check.has_terms(terms_index, layout) {
            return None;
        }
        check.limit.fits_words(words, check.cost, now)
    }

    #[inline]
    fn update(
        &mut self,
        check: &SingleCheck<'_>,
        _: &Layout,
        now: Time,
        takes: bool,
    ) -> Option<LimitStatus> {
        let (_, words) = split_three_words(*self);
        let (status, words) = check.limit.update_words(words, check.cost, now, takes)?;
        *self = replace_three_words(*self, words);
        Some(status)
    }
}
