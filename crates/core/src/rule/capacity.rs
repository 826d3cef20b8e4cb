//! What a limit is measured by: all that an answer needs to know of it beside a state.

use super::entry::answer;
use super::packed::{Pack, Under};
use super::{Alignment, Drip, Estimate, Fade, Flow, Packed, Rule, Terms, Window};
use crate::decision::LimitStatus;
use crate::time::{Span, Time};

/// The most a limit lets through at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity(Kind);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Unlimited,
    Whole(u64),
    /// Of ar1, which need not be whole.
    Level(f64),
}

impl Capacity {
    /// As two numbers, so that it can be kept.
    #[must_use]
    pub fn to_words(self) -> (u8, u64) {
        match self.0 {
            Kind::Unlimited => (0, 0),
            Kind::Whole(capacity) => (1, capacity),
            Kind::Level(max) => (2, max.to_bits()),
        }
    }

    /// What [`to_words`](Capacity::to_words) gave; `None` if it cannot have been these.
    #[must_use]
    pub fn from_words(kind: u8, word: u64) -> Option<Capacity> {
        match kind {
            0 => Some(Capacity(Kind::Unlimited)),
            1 => Some(Capacity(Kind::Whole(word))),
            2 => {
                let max = Some(f64::from_bits(word)).filter(|max| max.is_finite());
                max.map(|max| Capacity(Kind::Level(max)))
            }
            _ => None,
        }
    }

    /// Rounded down; `None` if there is none.
    pub(crate) fn whole(self) -> Option<u64> {
        match self.0 {
            Kind::Unlimited => None,
            Kind::Whole(capacity) => Some(capacity),
            Kind::Level(max) => Some(super::fade::whole(max)),
        }
    }

    fn level(self) -> f64 {
        match self.0 {
            Kind::Level(max) => max,
            Kind::Whole(capacity) => super::fade::float(capacity),
            Kind::Unlimited => f64::MAX,
        }
    }
}

impl Rule {
    pub(crate) fn measure(&self) -> Capacity {
        Capacity(match self {
            Rule::Fade(fade) => Kind::Level(fade.max()),
            other => other.capacity().map_or(Kind::Unlimited, Kind::Whole),
        })
    }
}

impl Packed {
    /// The state of ar1 with this level, written in the step of `since`; `None` if it is nothing.
    #[must_use]
    pub fn of_level(terms: Terms, level: f64, since: Time) -> Option<Packed> {
        let Under::Fade(fading) = terms.0 else { return None };
        fading.words(level, since).map(|words| Packed::new(terms, words))
    }

    /// What a limit of that capacity says of this state: the rest it carries itself.
    pub(crate) fn answer(&self, capacity: Capacity, now: Time, cost: u64) -> LimitStatus {
        let most = capacity.whole().unwrap_or(u64::MAX);
        match self.terms().0 {
            Under::Flow(pace) => self.answer_by(&Flow::at(pace, most), now, cost),
            Under::Drip(leak) => self.answer_by(&Drip::new(most, leak.drip, leak.every), now, cost),
            // The bounds of the window are in the state: the alignment is not asked.
            Under::Window => {
                self.answer_by(&Window::new(most, Alignment::Request(Span::ZERO)), now, cost)
            }
            Under::Estimate(window) => self.answer_by(&Estimate::new(most, window), now, cost),
            Under::Fade(fading) => self.answer_by(&Fade::with(fading, capacity.level()), now, cost),
        }
    }

    fn answer_by<R: Pack>(&self, rule: &R, now: Time, cost: u64) -> LimitStatus {
        let body = R::unpack(self.terms().0, self.words());
        answer(rule, body.as_ref(), now, cost)
    }
}
