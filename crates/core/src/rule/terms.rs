//! The numbers of a limit that a packed state was written under.

use super::drip::Leak;
use super::fade::Fading;
use super::flow::Pace;
use super::slots::SlotTiming;
use super::window::WindowTerms;
use crate::time::{Span, Time};

/// The numbers of a limit that a state was written under, and by which it goes on draining or
/// sliding. Many keys share them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms(pub(super) RuleTerms);

/// Declares the terms of the rules whose states can be packed, and the conversions.
macro_rules! rule_terms {
    ($($rule:ident($terms:ty)),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub(super) enum RuleTerms {
            $($rule($terms),)*
            /// Those of a [lone lease](crate::storage::State::lone_lease), which needs none.
            Lease,
        }

        $(impl From<$terms> for RuleTerms {
            #[inline]
            fn from(terms: $terms) -> RuleTerms {
                RuleTerms::$rule(terms)
            }
        }

        impl TryFrom<RuleTerms> for $terms {
            type Error = ();

            #[inline]
            fn try_from(terms: RuleTerms) -> Result<$terms, ()> {
                if let RuleTerms::$rule(terms) = terms { Ok(terms) } else { Err(()) }
            }
        })*
    };
}

rule_terms! {
    Flow(Pace),
    Drip(Leak),
    Slots(SlotTiming),
    Window(WindowTerms),
    Estimate(Span),
    Fade(Fading),
}

impl Terms {
    /// The terms of a [lone lease](crate::storage::State::lone_lease), which has no numbers of its limit.
    pub const LEASE: Terms = Terms(RuleTerms::Lease);

    /// Returns whether a state in [one word](crate::storage::Packed::one_word), counted from
    /// `origin`, still counts at the instant `past`: whether it
    /// [expires](crate::storage::Packed::expires) later.
    #[inline]
    #[must_use]
    pub fn word_lasts(&self, word: u64, origin: Time, past: Time) -> bool {
        match self.0 {
            RuleTerms::Flow(pace) => past < origin || pace.word_lasts(word, past.since(origin)),
            _ => false,
        }
    }

    /// Returns the numbers as words.
    #[inline]
    #[must_use]
    pub fn to_words(self) -> [u64; 4] {
        match self.0 {
            RuleTerms::Flow(pace) => [0, pace.ticks, pace.parts, 0],
            RuleTerms::Drip(leak) => [1, leak.drip, leak.every.as_micros(), 0],
            RuleTerms::Window(WindowTerms) => [2, 0, 0, 0],
            RuleTerms::Estimate(window) => [3, window.as_micros(), 0, 0],
            RuleTerms::Fade(fading) => {
                let (decay, resolution, floor) = fading.params();
                [4, decay.to_bits(), resolution.as_micros(), floor.to_bits()]
            }
            RuleTerms::Slots(timing) => [5, timing.width.as_micros(), timing.life.as_micros(), 0],
            RuleTerms::Lease => [6, 0, 0, 0],
        }
    }

    /// Creates the terms from the words of [`to_words`](Terms::to_words); `None` if they are
    /// invalid.
    #[inline]
    #[must_use]
    pub fn from_words([tag, a, b, c]: [u64; 4]) -> Option<Terms> {
        let span = |micros| Some(Span::from_micros(micros)).filter(|s| *s > Span::ZERO);
        Some(Terms(match tag {
            0 if a > 0 && b > 0 => RuleTerms::Flow(Pace { ticks: a, parts: b }),
            1 if a > 0 => RuleTerms::Drip(Leak { drip: a, every: span(b)? }),
            2 => RuleTerms::Window(WindowTerms),
            3 => RuleTerms::Estimate(span(a)?),
            4 => {
                let (decay, floor) = (f64::from_bits(a), f64::from_bits(c));
                RuleTerms::Fade(Fading::new(decay, span(b)?, floor)?)
            }
            5 => RuleTerms::Slots(SlotTiming { width: span(a)?, life: span(b)? }),
            6 => RuleTerms::Lease,
            _ => return None,
        }))
    }
}
