//! The limits of a run, and how much each of them can admit.

use tollgate::Limit;

use crate::rng::Rng;

const SECOND: u64 = 1_000_000;

/// A limit by its numbers; times are in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    Gcra { rate: u64, burst: u64 },
    TokenBucket { rate: u64, burst: u64 },
    LeakyBucket { size: u64, drip: u64, every: u64 },
    FixedWindow { count: u64, window: u64 },
    RequestWindow { count: u64, window: u64 },
    SlidingLog { count: u64, window: u64 },
    SlidingCounters { count: u64, window: u64 },
    SlidingWindow { count: u64, window: u64 },
}

impl Rule {
    pub(crate) fn random(rng: &mut Rng) -> Rule {
        let (count, window) = (rng.between(1, 30), rng.between(1, 8) * SECOND / 2);
        let (rate, burst) = (rng.pick(&[1, 2, 5, 20, 60]), rng.between(1, 20));
        match rng.between(0, 8) {
            0 | 1 => Rule::Gcra { rate, burst },
            2 => Rule::TokenBucket { rate, burst },
            3 => {
                let every = rng.between(1, 10) * 100_000;
                Rule::LeakyBucket { size: count, drip: rng.between(1, 4).min(count), every }
            }
            4 => Rule::FixedWindow { count, window },
            5 => Rule::RequestWindow { count, window },
            6 => Rule::SlidingLog { count, window },
            7 => Rule::SlidingCounters { count, window },
            _ => Rule::SlidingWindow { count, window },
        }
    }

    /// Returns a limit of which a part is more than a few.
    pub(crate) fn random_large(rng: &mut Rng) -> Rule {
        let (count, window) = (rng.between(40, 200), rng.between(2, 6) * SECOND / 2);
        match rng.between(0, 5) {
            0 => Rule::Gcra { rate: rng.between(1, 20), burst: count },
            1 => Rule::TokenBucket { rate: rng.between(1, 20), burst: count },
            2 => Rule::SlidingLog { count, window },
            3 => Rule::SlidingCounters { count, window },
            4 => Rule::SlidingWindow { count, window },
            _ => Rule::FixedWindow { count, window },
        }
    }

    /// Returns a large limit with a short window.
    pub(crate) fn random_short(rng: &mut Rng) -> Rule {
        let (count, window) = (rng.between(150, 200), rng.pick(&[SECOND / 2, SECOND]));
        match rng.between(0, 1) {
            0 => Rule::FixedWindow { count, window },
            _ => Rule::SlidingLog { count, window },
        }
    }

    /// Makes room for far more at one instant.
    pub(crate) fn enlarge(&mut self) {
        match self {
            Rule::Gcra { burst, .. } | Rule::TokenBucket { burst, .. } => *burst *= 50,
            Rule::LeakyBucket { size, .. } => *size *= 50,
            Rule::FixedWindow { count, .. }
            | Rule::RequestWindow { count, .. }
            | Rule::SlidingLog { count, .. }
            | Rule::SlidingCounters { count, .. }
            | Rule::SlidingWindow { count, .. } => *count *= 50,
        }
    }

    pub(crate) fn line(&self) -> String {
        match *self {
            Rule::Gcra { rate, burst } => format!("gcra {rate}/s burst {burst}"),
            Rule::TokenBucket { rate, burst } => format!("token-bucket {rate}/s burst {burst}"),
            Rule::LeakyBucket { size, drip, every } => {
                format!("leaky-bucket size {size} drip {drip} every {every}us")
            }
            Rule::FixedWindow { count, window } => format!("fixed-window {count}/{window}us"),
            Rule::RequestWindow { count, window } => format!("request-window {count}/{window}us"),
            Rule::SlidingLog { count, window } => format!("sliding-log {count}/{window}us"),
            Rule::SlidingCounters { count, window } => {
                format!("sliding-counters {count}/{window}us resolution {}us", window / 10)
            }
            Rule::SlidingWindow { count, window } => format!("sliding-window {count}/{window}us"),
        }
    }

    pub(crate) fn limit(&self) -> Limit {
        self.line().parse().unwrap()
    }

    /// Returns the most that passes at one instant.
    pub(crate) fn capacity(&self) -> u64 {
        match *self {
            Rule::Gcra { burst, .. } | Rule::TokenBucket { burst, .. } => burst,
            Rule::LeakyBucket { size, .. } => size,
            Rule::FixedWindow { count, .. }
            | Rule::RequestWindow { count, .. }
            | Rule::SlidingLog { count, .. }
            | Rule::SlidingCounters { count, .. }
            | Rule::SlidingWindow { count, .. } => count,
        }
    }

    /// Returns its window, if it has one.
    pub(crate) fn window(&self) -> Option<u64> {
        match *self {
            Rule::FixedWindow { window, .. }
            | Rule::RequestWindow { window, .. }
            | Rule::SlidingLog { window, .. }
            | Rule::SlidingCounters { window, .. }
            | Rule::SlidingWindow { window, .. } => Some(window),
            Rule::Gcra { .. } | Rule::TokenBucket { .. } | Rule::LeakyBucket { .. } => None,
        }
    }

    /// Returns the most that can be admitted from one instant to a later one, both included, if there is a
    /// bound for them. `nodes` is 1, or the number of nodes that each have their share.
    pub(crate) fn bound(&self, from: u64, to: u64, nodes: u64) -> Option<u64> {
        let elapsed = to - from;
        let capacity = self.capacity().div_ceil(nodes).max(1);
        let within = |window: u64| (elapsed < window).then_some(capacity);
        let in_one_window = |window: u64| (from / window == to / window).then_some(capacity);
        match *self {
            Rule::Gcra { rate, .. } | Rule::TokenBucket { rate, .. } => {
                Some(capacity + rate * elapsed / SECOND / nodes)
            }
            // Drops leave at multiples of a time that the first admission need not begin.
            Rule::LeakyBucket { drip, every, .. } => {
                Some(capacity + drip * (elapsed / (every * nodes) + 1))
            }
            Rule::FixedWindow { window, .. } | Rule::SlidingWindow { window, .. } => {
                in_one_window(window)
            }
            // One window may end and another begin in between.
            Rule::RequestWindow { window, .. } => within(window).map(|capacity| 2 * capacity),
            Rule::SlidingLog { window, .. } | Rule::SlidingCounters { window, .. } => {
                within(window)
            }
        }
    }

    /// Returns whether all that was taken at one instant surely still counts at a later one.
    pub(crate) fn still_counts(&self, taken: u64, now: u64) -> bool {
        let elapsed = now - taken;
        match *self {
            Rule::Gcra { rate, .. } | Rule::TokenBucket { rate, .. } => elapsed < SECOND / rate,
            Rule::FixedWindow { window, .. } | Rule::SlidingWindow { window, .. } => {
                taken / window == now / window
            }
            Rule::SlidingLog { window, .. } | Rule::SlidingCounters { window, .. } => {
                elapsed < window
            }
            // A drop may fall at any time, and the window may have been opened long before.
            Rule::LeakyBucket { .. } | Rule::RequestWindow { .. } => false,
        }
    }

    /// Returns how much more can be admitted after a key was reset or its state forgotten.
    pub(crate) fn after_reset(&self) -> u64 {
        match *self {
            // The drops fall at other times then.
            Rule::LeakyBucket { size, drip, .. } => size + drip,
            // The request opens another window.
            Rule::RequestWindow { count, .. } => 2 * count,
            _ => self.capacity(),
        }
    }
}
