//! States of three words, for stores that keep them in place.
//!
//! Five of the seven rules need at most three numbers for a key, and slots do while there is one, next to those of the
//! limit it was written under, which many keys share. A store keeps the [words](Packed::words) with each key and
//! the [`Terms`] once.
//!
//! A check over such words is a fast path beside [`decide`](crate::storage::decide), without an
//! [`Entry`]. Tests hold it to the same decisions.

use super::drip::Drip;
use super::entry::Entry;
use super::estimate::Estimate;
use super::fade::Fade;
use super::flow::Flow;
use super::held::HeldState;
use super::pack::{Pack, Words};
use super::slots::Slots;
use super::state::{AnyEntry, RuleState, State};
use super::status::{fits, live, live_status, status};
use super::terms::{RuleTerms, Terms};
use super::window::Window;
use crate::decision::{Decision, LimitStatus};
use crate::time::Time;

/// The state of one limit and one subject in three words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packed {
    terms: Terms,
    words: Words,
}

impl Packed {
    /// Maximum bits of a state in [one word](Packed::one_word); a store can use the rest.
    pub const ONE_WORD_BITS: u32 = 56;
    /// Maximum bits of the second and the third of the [words](Packed::words).
    pub const WORD_BITS: u32 = 53;

    /// Creates a state from its terms and words.
    #[inline]
    #[must_use]
    pub const fn new(terms: Terms, words: [u64; 3]) -> Packed {
        Packed { terms, words }
    }

    /// Returns the numbers it was written under.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        self.terms
    }

    /// Returns the words. The second and the third are below 2^53.
    #[must_use]
    pub const fn words(&self) -> [u64; 3] {
        self.words
    }

    /// Returns the instant from which the state counts as absent, so that it may be dropped.
    #[must_use]
    pub fn expires(&self) -> Time {
        fn of<R: Pack>(terms: R::Terms, words: Words) -> Time {
            R::unpack(terms, words).map_or(Time::EPOCH, |state| R::resets_at(&state))
        }
        match self.terms.0 {
            RuleTerms::Flow(terms) => of::<Flow>(terms, self.words),
            RuleTerms::Drip(terms) => of::<Drip>(terms, self.words),
            RuleTerms::Slots(terms) => of::<Slots>(terms, self.words),
            RuleTerms::Window(terms) => of::<Window>(terms, self.words),
            RuleTerms::Estimate(terms) => of::<Estimate>(terms, self.words),
            RuleTerms::Fade(terms) => of::<Fade>(terms, self.words),
            RuleTerms::Lease => Time::EPOCH,
        }
    }

    /// Returns the state in one word of 56 bits, counted from `origin`; `None` if it needs more.
    ///
    /// Only gcra and token-bucket need so little, and only if the time one unit takes to drain is a
    /// fraction with a small denominator.
    #[inline]
    #[must_use]
    pub fn one_word(&self, origin: Time) -> Option<u64> {
        match self.terms.0 {
            RuleTerms::Flow(pace) => pace
                .word_since(origin, self.words)
                .filter(|word| word >> Packed::ONE_WORD_BITS == 0),
            _ => None,
        }
    }

    /// Creates the state from its [`one_word`](Packed::one_word); `None` if states under these
    /// terms never fit in one.
    #[inline]
    #[must_use]
    pub fn from_one_word(terms: Terms, origin: Time, word: u64) -> Option<Packed> {
        match terms.0 {
            RuleTerms::Flow(pace) => Some(Packed { terms, words: pace.words_at(origin, word) }),
            _ => None,
        }
    }

    /// Creates a state of ar1 whose `level` was written in the step of `since`; `None` if the level
    /// counts as zero.
    #[must_use]
    pub fn of_level(terms: Terms, level: f64, since: Time) -> Option<Packed> {
        let RuleTerms::Fade(fading) = terms.0 else { return None };
        fading.words(level, since).map(|words| Packed::new(terms, words))
    }
}

impl State {
    /// Returns the state in three words; `None` if it needs more, as open reservations, several slots and leases do.
    #[must_use]
    pub fn packed(&self) -> Option<Packed> {
        fn of<R: Pack>(entry: &Entry<R::State>) -> Option<Packed>
        where
            R::Terms: Into<RuleTerms>,
        {
            let (terms, words) = R::pack(entry.state_alone().filter(|state| R::is_small(state))?);
            Some(Packed { terms: Terms(terms.into()), words })
        }
        match &self.0 {
            AnyEntry::Flow(entry) => of::<Flow>(entry),
            AnyEntry::Drip(entry) => of::<Drip>(entry),
            AnyEntry::Window(entry) => of::<Window>(entry),
            AnyEntry::Estimate(entry) => of::<Estimate>(entry),
            AnyEntry::Fade(entry) => of::<Fade>(entry),
            AnyEntry::Slots(entry) => of::<Slots>(entry),
            AnyEntry::Held(_) => None,
        }
    }
}

impl From<Packed> for State {
    fn from(packed: Packed) -> State {
        fn of<R: Pack>(terms: R::Terms, words: Words) -> State
        where
            R::State: RuleState,
        {
            R::State::into_state(Entry::new(R::unpack(terms, words), Vec::new()))
        }
        match packed.terms.0 {
            RuleTerms::Flow(terms) => of::<Flow>(terms, packed.words),
            RuleTerms::Drip(terms) => of::<Drip>(terms, packed.words),
            RuleTerms::Slots(terms) => of::<Slots>(terms, packed.words),
            RuleTerms::Window(terms) => of::<Window>(terms, packed.words),
            RuleTerms::Estimate(terms) => of::<Estimate>(terms, packed.words),
            RuleTerms::Fade(terms) => of::<Fade>(terms, packed.words),
            // A lease takes four words: these are invalid.
            RuleTerms::Lease => HeldState::into_state(Entry::new(None, Vec::new())),
        }
    }
}

/// The outcome of a check of one limit over a packed state.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PackedOutcome {
    /// The decision.
    pub decision: Decision,
    /// The words of the new state, under the limit's own [terms](crate::storage::LimitStorage::terms); `None` if
    /// the state is unchanged.
    pub words: Option<[u64; 3]>,
}

/// Checks one limit over the words of a state that was written under its own terms.
#[inline(always)]
pub(super) fn check_words<R: Pack>(
    rule: &R,
    words: Option<Words>,
    cost: u64,
    now: Time,
) -> Option<PackedOutcome> {
    let mut state = words.and_then(|words| R::unpack(rule.terms(), words));
    let (live, at) = live::<R>(state.as_ref(), now);
    let room = live.map_or(Some(rule.capacity()), |state| rule.headroom(state, at));
    let Some(before) = room.filter(|room| cost <= *room) else {
        let status = live_status(rule, live, now, at, room, cost);
        return Some(PackedOutcome { decision: Decision::from_status(false, status), words: None });
    };
    if live.is_none() {
        state = None;
    }
    rule.take(&mut state, at, cost, None).ok()?;
    let state = state.filter(R::is_small)?;
    let at = now.max(R::instant(&state));
    let left = rule.room_left(before, cost, &state, at);
    let status = live_status(rule, Some(&state), now, at, left, cost);
    Some(PackedOutcome {
        decision: Decision::from_status(true, status),
        words: Some(R::pack(&state).1),
    })
}

/// Checks a limit over a state in one word, counted from `origin`.
#[inline(always)]
pub(super) fn check_word(
    flow: &Flow,
    word: u64,
    origin: Time,
    cost: u64,
    now: Time,
) -> Option<(Decision, u64)> {
    if now < origin {
        return None;
    }
    let (allowed, status, word) = flow.check_word(word, now.since(origin), cost)?;
    (word >> Packed::ONE_WORD_BITS == 0).then(|| (Decision::from_status(allowed, status), word))
}

/// Returns whether a cost fits over a state in one word, counted from `origin`.
#[inline(always)]
pub(super) fn fits_word(
    flow: &Flow,
    word: u64,
    origin: Time,
    cost: u64,
    now: Time,
) -> Option<bool> {
    if now < origin {
        return None;
    }
    flow.fits_word(word, now.since(origin), cost)
}

/// Takes a cost that fits, if it `takes` anything. Returns the status of the limit, and the new word.
#[inline(always)]
pub(super) fn update_word(
    flow: &Flow,
    word: u64,
    origin: Time,
    cost: u64,
    now: Time,
    takes: bool,
) -> Option<(LimitStatus, u64)> {
    let (status, word) = flow.update_word(word, now.since(origin), cost, takes)?;
    (word >> Packed::ONE_WORD_BITS == 0).then_some((status, word))
}

/// Returns whether a cost fits over the words of a state that was written under the rule's own terms.
#[inline]
pub(super) fn fits_words<R: Pack>(rule: &R, words: Words, cost: u64, now: Time) -> bool {
    fits(rule, R::unpack(rule.terms(), words).as_ref(), now, cost)
}

/// Takes a cost that fits, if it `takes` anything. Returns the status of the limit, and the new words.
#[inline]
pub(super) fn update_words<R: Pack>(
    rule: &R,
    words: Words,
    cost: u64,
    now: Time,
    takes: bool,
) -> Option<(LimitStatus, Words)> {
    if !takes {
        return Some((status(rule, R::unpack(rule.terms(), words).as_ref(), now, cost), words));
    }
    let checked = check_words(rule, Some(words), cost, now)?;
    Some((checked.decision.only_status(), checked.words?))
}
