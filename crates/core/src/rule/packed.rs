//! States that are a few numbers, for stores that keep them in place.
//!
//! Five of the seven rules need at most three numbers for a key, beside those of the limit it was
//! written under, which many keys share. A store keeps the [words](Packed::words) with each key and
//! the [`Terms`] once.

use super::entry::{alive, answer_of};
use super::{Counting, Drip, Entry, Estimate, Fade, Flow, Rule, State, Window};
use super::{drip, fade, flow};
use crate::decision::Decision;
use crate::time::Time;

/// The numbers of a limit that a state was written under and goes on by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms(pub(super) Under);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Under {
    Flow(flow::Pace),
    Drip(drip::Leak),
    /// A window's state has its bounds in it.
    Window,
    Estimate(crate::time::Span),
    Fade(fade::Fading),
}

impl Terms {
    /// Whether a state in [one word](Packed::one_word) is of use after that instant, until it
    /// [expires](Packed::expires).
    #[inline]
    #[must_use]
    pub fn word_lasts(&self, word: u64, origin: Time, past: Time) -> bool {
        match self.0 {
            Under::Flow(pace) => past < origin || pace.word_lasts(word, past.since(origin)),
            _ => false,
        }
    }
}

/// The state of one limit and one subject, in three words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packed {
    terms: Terms,
    words: Words,
}

/// The second and the third are below 2^53, so that a store has room beside them.
pub(super) type Words = [u64; 3];

/// A rule whose state can be packed.
pub(super) trait Pack: Counting {
    /// The numbers a state is written under.
    fn terms(&self) -> Under;
    /// The body and what it was written under.
    fn pack(body: &Self::Body) -> (Under, Words);
    /// The body again; `None` if it is of another rule.
    fn unpack(under: Under, words: Words) -> Option<Self::Body>;
    /// What is left of so much room once `cost` was taken from it, which made the body what it is.
    #[inline(always)]
    fn room_left(&self, room: u64, cost: u64, _: &Self::Body, _: Time) -> Option<u64> {
        room.checked_sub(cost)
    }
}

/// Does the same with whichever rule it is, if its states can be packed.
macro_rules! each_packed {
    ($rule:expr, $one:ident => $do:expr, others => $others:expr) => {
        match $rule {
            Rule::Flow($one) => $do,
            Rule::Drip($one) => $do,
            Rule::Window($one) => $do,
            Rule::Estimate($one) => $do,
            Rule::Fade($one) => $do,
            Rule::Slots(_) | Rule::Held(_) | Rule::Unlimited => $others,
        }
    };
}

impl Packed {
    /// How long a state in [one word](Packed::one_word) is; a store has the rest for itself.
    pub const ONE_WORD_BITS: u32 = 56;
    /// How long the second and the third of the [words](Packed::words) are at most.
    pub const WORD_BITS: u32 = 53;

    /// The state that was taken apart into these.
    #[inline]
    #[must_use]
    pub const fn new(terms: Terms, words: [u64; 3]) -> Packed {
        Packed { terms, words }
    }

    /// The numbers it was written under.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        self.terms
    }

    /// What it says beside them. The second and the third are below 2^53.
    #[must_use]
    pub const fn words(&self) -> [u64; 3] {
        self.words
    }

    /// From when on nothing can tell this state from none, so that it may be dropped.
    #[must_use]
    pub fn expires(&self) -> Time {
        fn of<R: Pack>(packed: &Packed) -> Time {
            R::unpack(packed.terms.0, packed.words).map_or(Time::EPOCH, |body| R::resets(&body))
        }
        match self.terms.0 {
            Under::Flow(_) => of::<Flow>(self),
            Under::Drip(_) => of::<Drip>(self),
            Under::Window => of::<Window>(self),
            Under::Estimate(_) => of::<Estimate>(self),
            Under::Fade(_) => of::<Fade>(self),
        }
    }

    /// The state in one word of 56 bits, counted from `origin`; `None` if it takes more.
    ///
    /// Only gcra and token-bucket have so little to say, and only if the time one unit takes to
    /// sink is a fraction with a small denominator.
    #[inline]
    #[must_use]
    pub fn one_word(&self, origin: Time) -> Option<u64> {
        match self.terms.0 {
            Under::Flow(pace) => pace
                .word_since(origin, self.words)
                .filter(|word| word >> Packed::ONE_WORD_BITS == 0),
            _ => None,
        }
    }

    /// The state that [`one_word`](Packed::one_word) gave, if the terms are of that kind.
    #[inline]
    #[must_use]
    pub fn from_one_word(terms: Terms, origin: Time, word: u64) -> Option<Packed> {
        match terms.0 {
            Under::Flow(pace) => Some(Packed { terms, words: pace.words_at(origin, word) }),
            _ => None,
        }
    }
}

impl State {
    /// The state in three words; `None` if it takes more: reservations that are still open, slots,
    /// and leases.
    #[must_use]
    pub fn packed(&self) -> Option<Packed> {
        fn of<R: Pack>(entry: &Entry<R::Body>) -> Option<Packed> {
            let (under, words) = R::pack(entry.body_alone()?);
            Some(Packed { terms: Terms(under), words })
        }
        match &self.0 {
            super::AnyEntry::Flow(entry) => of::<Flow>(entry),
            super::AnyEntry::Drip(entry) => of::<Drip>(entry),
            super::AnyEntry::Window(entry) => of::<Window>(entry),
            super::AnyEntry::Estimate(entry) => of::<Estimate>(entry),
            super::AnyEntry::Fade(entry) => of::<Fade>(entry),
            super::AnyEntry::Slots(_) | super::AnyEntry::Held(_) => None,
        }
    }
}

impl From<Packed> for State {
    fn from(packed: Packed) -> State {
        fn of<R: Pack>(packed: Packed) -> State {
            use super::RuleState;
            R::Body::into_state(Entry::with_reservations(
                R::unpack(packed.terms.0, packed.words),
                Vec::new(),
            ))
        }
        match packed.terms.0 {
            Under::Flow(_) => of::<Flow>(packed),
            Under::Drip(_) => of::<Drip>(packed),
            Under::Window => of::<Window>(packed),
            Under::Estimate(_) => of::<Estimate>(packed),
            Under::Fade(_) => of::<Fade>(packed),
        }
    }
}

/// What a check of one limit came to.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Checked {
    /// The answer.
    pub decision: Decision,
    /// The words of the state it leaves, under the limit's own [terms](crate::Limit::terms); `None` if
    /// that is as it was.
    pub words: Option<[u64; 3]>,
}

impl Rule {
    #[inline]
    pub(crate) fn may_fit_one_word(&self) -> bool {
        matches!(self, Rule::Flow(_))
    }

    #[inline]
    pub(crate) fn terms(&self) -> Option<Terms> {
        each_packed!(self, rule => Some(Terms(rule.terms())), others => None)
    }

    #[inline(always)]
    pub(crate) fn has(&self, terms: &Terms) -> bool {
        if let (Rule::Flow(flow), Under::Flow(pace)) = (self, terms.0) {
            return flow.has(pace);
        }
        self.terms() == Some(*terms)
    }

    #[inline(always)]
    pub(crate) fn check_words(&self, kept: Option<Words>, cost: u64, now: Time) -> Option<Checked> {
        each_packed!(self, rule => check(rule, kept, cost, now), others => None)
    }

    #[inline(always)]
    pub(crate) fn check_word(
        &self,
        word: u64,
        origin: Time,
        cost: u64,
        now: Time,
    ) -> Option<(Decision, u64)> {
        let Rule::Flow(flow) = self else { return None };
        if now < origin {
            return None;
        }
        let (allowed, answer, word) = flow.check_word(word, now.since(origin), cost)?;
        (word >> Packed::ONE_WORD_BITS == 0).then(|| (Decision::of(allowed, answer), word))
    }
}

#[inline(always)]
fn check<R: Pack>(rule: &R, kept: Option<Words>, cost: u64, now: Time) -> Option<Checked> {
    let mut body = kept.and_then(|kept| R::unpack(rule.terms(), kept));
    let (living, at) = alive::<R>(body.as_ref(), now);
    let room = living.map_or(Some(rule.capacity()), |body| rule.headroom(body, at));
    let Some(before) = room.filter(|room| cost <= *room) else {
        let answer = answer_of(rule, living, now, at, room, cost);
        return Some(Checked { decision: Decision::of(false, answer), words: None });
    };
    if living.is_none() {
        body = None;
    }
    rule.take(&mut body, at, cost, None).ok()?;
    let body = body?;
    let at = now.max(R::instant(&body));
    let left = rule.room_left(before, cost, &body, at);
    let answer = answer_of(rule, Some(&body), now, at, left, cost);
    Some(Checked { decision: Decision::of(true, answer), words: Some(R::pack(&body).1) })
}
