//! What a limit grants, in the words of header fields: so much in so many seconds.

use tollgate_core::remote::RuleParams;
use tollgate_core::{Limit, Span, Time};

const SECOND: Span = Span::from_micros(1_000_000);

/// What a limit grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    /// How much.
    pub(crate) amount: u64,
    /// In how many seconds, one at least; `None` where no time makes it whole again.
    pub(crate) window: Option<u64>,
    /// The most at one instant, where that is not the amount.
    pub(crate) burst: Option<u64>,
    /// Whether it is held for a while rather than spent.
    pub(crate) is_held: bool,
}

impl Quota {
    /// What the limit grants at this instant, which matters to windows of the calendar; `None` if
    /// it bounds nothing.
    pub(crate) fn of(limit: &Limit, now: Time) -> Option<Quota> {
        let capacity = limit.capacity()?;
        let Some((amount, period)) = pace(limit, capacity, now) else {
            let is_held = matches!(limit.params(), RuleParams::Held { .. });
            return Some(Quota { amount: capacity, window: None, burst: None, is_held });
        };
        let (amount, window) = in_seconds(amount, period);
        let burst = Some(capacity).filter(|capacity| *capacity != amount);
        Some(Quota { amount, window: Some(window), burst, is_held: false })
    }
}

/// How much in how long; `None` for what has no such pace.
///
/// Leases end when their holders say so. A level that fades (ar1) sinks by a share of what is
/// there: it is at its fastest when full and never quite done, so that any length of time would
/// promise too much or too little.
fn pace(limit: &Limit, capacity: u64, now: Time) -> Option<(u64, Span)> {
    match limit.params() {
        RuleParams::Held { .. } | RuleParams::Fade { .. } | RuleParams::Unlimited => None,
        RuleParams::Aligned { window, .. } => Some((capacity, window)),
        RuleParams::Calendar { .. } => {
            let [_, start, end, _] = limit.windows_around(now)?;
            Some((capacity, end.since(start)))
        }
        // A drop can be greater than the bucket, but no more than the bucket held can leak.
        RuleParams::Drip { size, drip, every } => Some((drip.min(size), every)),
        // As written: 60/min is told as 60 in 60 seconds, though one a second is the same.
        _ => limit.rate().map(|rate| (u64::from(rate.count), rate.period)),
    }
}

/// The amount in whole seconds.
///
/// A period of more than a second becomes a little longer, with the same amount. What is shorter
/// than a second becomes the amount of a second, rounded down. Either way it is no more than was
/// granted.
fn in_seconds(amount: u64, period: Span) -> (u64, u64) {
    if period >= SECOND {
        return (amount, period.as_secs_ceil());
    }
    let a_second = u128::from(amount).saturating_mul(u128::from(SECOND.as_micros()));
    let amount = a_second.checked_div(u128::from(period.as_micros())).unwrap_or(a_second);
    (u64::try_from(amount).unwrap_or(u64::MAX), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon on 2024-02-15, in a month of 29 days.
    const NOON: u64 = 1_707_998_400_000_000;

    fn quota(line: &str) -> (u64, Option<u64>, Option<u64>) {
        let limit: Limit = line.parse().unwrap();
        let quota = Quota::of(&limit, Time::from_micros(NOON).unwrap()).unwrap();
        assert_eq!(quota.is_held, line.starts_with("concurrency"));
        (quota.amount, quota.window, quota.burst)
    }

    #[test]
    fn amounts_windows_and_bursts() {
        for (line, amount, window, burst) in [
            ("gcra 30/min", 30, Some(60), None),
            ("gcra 30/min burst 16", 30, Some(60), Some(16)),
            ("gcra 60/min burst 10 factor 2", 60, Some(120), Some(5)),
            ("gcra 10/1500ms", 10, Some(2), None),
            ("token-bucket 100/s burst 200", 100, Some(1), Some(200)),
            ("token-bucket 5/10s burst 20 whole", 5, Some(10), Some(20)),
            ("leaky-bucket size 10 drip 2 every 1s", 2, Some(1), Some(10)),
            ("leaky-bucket size 2 drip 10 every 1s", 2, Some(1), None),
            ("legacy max 30 duration 1min", 1, Some(2), Some(30)),
            ("legacy min-interval 500ms", 2, Some(1), Some(1)),
            ("fixed-window 1000/h", 1000, Some(3600), None),
            ("fixed-window 1000/h factor 3", 334, Some(3600), None),
            ("request-window 10/5s", 10, Some(5), None),
            ("sliding-log 5/min", 5, Some(60), None),
            ("sliding-counters 100/min resolution 1s", 100, Some(60), None),
            ("sliding-window 100/min", 100, Some(60), None),
            ("ar1 max 12.5 decay 2 resolution 1min", 12, None, None),
            ("concurrency 20 ttl 30s", 20, None, None),
        ] {
            assert_eq!(quota(line), (amount, window, burst), "{line}");
        }
    }

    #[test]
    fn windows_of_the_calendar_are_as_long_as_the_one_at_hand() {
        for (line, window) in [
            ("fixed-window 5/day", 86_400),
            ("fixed-window 5/week", 604_800),
            ("fixed-window 5/month", 29 * 86_400),
            ("fixed-window 5/year", 366 * 86_400),
            ("fixed-window 5/year tz Europe/Amsterdam", 366 * 86_400),
        ] {
            assert_eq!(quota(line), (5, Some(window), None), "{line}");
        }
    }

    #[test]
    fn less_than_a_second_is_told_as_a_second_rounded_down() {
        for (line, amount, burst) in [
            ("gcra 10/100ms", 100, Some(10)),
            ("gcra 10/300ms", 33, Some(10)),
            ("gcra 1/999ms", 1, None),
            ("fixed-window 10/100ms", 100, Some(10)),
            ("sliding-window 7/300ms", 23, Some(7)),
            ("leaky-bucket size 10 drip 1 every 100ms", 10, None),
            ("gcra 4294967295/us", 4_294_967_295_000_000, Some(4_294_967_295)),
        ] {
            assert_eq!(quota(line), (amount, Some(1), burst), "{line}");
        }
    }

    #[test]
    fn nothing_is_granted_by_what_bounds_nothing() {
        for line in ["unlimited", "gcra 1/s factor 0"] {
            let limit = line.parse().unwrap();
            assert_eq!(Quota::of(&limit, Time::EPOCH), None, "{line}");
        }
    }
}
