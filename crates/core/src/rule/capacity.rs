//! The exact capacity of a limit, and what it says of a packed state.

use super::drip::Drip;
use super::estimate::Estimate;
use super::fade::{Fade, float, whole};
use super::flow::Flow;
use super::pack::{Pack, Words};
use super::packed::Packed;
use super::slots::Slots;
use super::status::status;
use super::terms::RuleTerms;
use super::window::{Alignment, Window};
use crate::decision::LimitStatus;
use crate::time::{Span, Time};

/// The capacity of a limit: the most that can be used at one instant. With a state it is all that a
/// decision needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity(Value);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Unlimited,
    Whole(u64),
    /// The capacity of ar1, which need not be whole.
    Level(f64),
}

impl Capacity {
    /// Creates the capacity of a limit; `None` is unlimited.
    pub(super) fn of_count(capacity: Option<u64>) -> Capacity {
        Capacity(capacity.map_or(Value::Unlimited, Value::Whole))
    }

    pub(super) fn of_level(max: f64) -> Capacity {
        Capacity(Value::Level(max))
    }

    /// Returns the capacity as a tag and a word, so that it can be stored.
    #[must_use]
    pub fn to_words(self) -> (u8, u64) {
        match self.0 {
            Value::Unlimited => (0, 0),
            Value::Whole(capacity) => (1, capacity),
            Value::Level(max) => (2, max.to_bits()),
        }
    }

    /// Creates the capacity from the result of [`to_words`](Capacity::to_words); `None` if it is
    /// invalid.
    #[must_use]
    pub fn from_words(tag: u8, word: u64) -> Option<Capacity> {
        match tag {
            0 => Some(Capacity(Value::Unlimited)),
            1 => Some(Capacity(Value::Whole(word))),
            2 => {
                let max = Some(f64::from_bits(word)).filter(|max| max.is_finite());
                max.map(Capacity::of_level)
            }
            _ => None,
        }
    }

    /// Returns the capacity rounded down; `None` if unlimited.
    pub(crate) fn whole(self) -> Option<u64> {
        match self.0 {
            Value::Unlimited => None,
            Value::Whole(capacity) => Some(capacity),
            Value::Level(max) => Some(whole(max)),
        }
    }

    fn level(self) -> f64 {
        match self.0 {
            Value::Level(max) => max,
            Value::Whole(capacity) => float(capacity),
            Value::Unlimited => f64::MAX,
        }
    }
}

impl Packed {
    /// Returns the numbers that a limit of this capacity reports for the state. All other numbers
    /// of the limit are in the state itself.
    pub(crate) fn status(&self, capacity: Capacity, now: Time, cost: u64) -> LimitStatus {
        fn of<R: Pack>(rule: &R, words: Words, now: Time, cost: u64) -> LimitStatus {
            status(rule, R::unpack(rule.terms(), words).as_ref(), now, cost)
        }
        let (words, max) = (self.words(), capacity.whole().unwrap_or(u64::MAX));
        match self.terms().0 {
            RuleTerms::Flow(pace) => of(&Flow::at(pace, max), words, now, cost),
            RuleTerms::Drip(leak) => of(&Drip::new(max, leak.drip, leak.every), words, now, cost),
            RuleTerms::Slots(timing) => of(&Slots::with(timing, max), words, now, cost),
            // The bounds of the window are in the state, so the alignment is not used.
            RuleTerms::Window(_) => {
                of(&Window::new(max, Alignment::Request(Span::ZERO)), words, now, cost)
            }
            RuleTerms::Estimate(window) => of(&Estimate::new(max, window), words, now, cost),
            RuleTerms::Fade(fading) => of(&Fade::with(fading, capacity.level()), words, now, cost),
            // Only a layer asks, and only of what a remote store has sent: never of a lease.
            RuleTerms::Lease => LimitStatus::UNLIMITED,
        }
    }
}
