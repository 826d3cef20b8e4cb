//! The numbers of a limit as input of a hash.

use std::hash::{Hash as _, Hasher};

use super::{Limit, Spec};
use crate::remote::LimitParams as _;
use crate::rule::RuleParams;
use crate::time::Span;

/// Feeds the numbers of a limit to a hasher.
pub(super) fn hash(limit: &Limit, hasher: &mut impl Hasher) {
    let mut put = |kind: u64, numbers: [u64; 3]| {
        let [a, b, c] = numbers;
        let kind = kind << 1 | u64::from(limit.counts_denied());
        for [high, low] in [[kind, a], [b, c]] {
            hasher.write_u128(u128::from(high) << u64::BITS | u128::from(low));
        }
    };
    match limit.params() {
        RuleParams::Flow { capacity, ticks, parts } => put(1, [capacity, ticks, parts]),
        RuleParams::Drip { size, drip, every } => put(2, [size, drip, every.as_micros()]),
        RuleParams::Aligned { capacity, window } => put(3, [capacity, window.as_micros(), 0]),
        RuleParams::Request { capacity, window } => put(4, [capacity, window.as_micros(), 0]),
        RuleParams::Slots { capacity, width, life } => {
            put(5, [capacity, width.as_micros(), life.as_micros()]);
        }
        RuleParams::Estimate { capacity, window } => put(6, [capacity, window.as_micros(), 0]),
        RuleParams::Held { capacity, ttl } => put(7, [capacity, ttl.as_micros(), 0]),
        RuleParams::Unlimited => put(8, [0; 3]),
        RuleParams::Fade { max, decay, resolution, .. } => {
            put(9, [max.to_bits(), decay.to_bits(), resolution.as_micros()]);
        }
        RuleParams::Calendar { capacity } => {
            let length = limit.full_reset_after().map_or(0, Span::as_micros);
            put(10, [capacity, length, 0]);
            if let Spec::FixedWindow { zone, .. } = limit.spec() {
                zone.name().hash(hasher);
            }
        }
    }
}
