//! The quota of a limit for header fields: an amount in a number of seconds.

use tollgate_core::remote::{LimitParams as _, RuleParams};
use tollgate_core::{Limit, Span, Time};

const SECOND: Span = Span::from_micros(1_000_000);

/// The quota that a limit grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Amount granted in each window.
    pub(crate) amount: u64,
    /// Length of the window in seconds, at least 1; `None` if the quota does not return with time.
    pub(crate) window: Option<u64>,
    /// Capacity, if it is not the amount.
    pub(crate) burst: Option<u64>,
    /// Whether the limit counts leases, which are returned, rather than cost.
    pub(crate) is_concurrency: bool,
}

impl Quota {
    /// Returns the quota at this instant, on which the length of a calendar window depends; `None`
    /// if the limit is unlimited.
    pub(crate) fn of(limit: &Limit, now: Time) -> Option<Quota> {
        let capacity = limit.capacity()?;
        let Some((amount, period)) = rate(limit, capacity, now) else {
            let is_concurrency = matches!(limit.params(), RuleParams::Held { .. });
            return Some(Quota { amount: capacity, window: None, burst: None, is_concurrency });
        };
        let (amount, window) = in_seconds(amount, period);
        let burst = Some(capacity).filter(|capacity| *capacity != amount);
        Some(Quota { amount, window: Some(window), burst, is_concurrency: false })
    }
}

/// Returns an amount and its period; `None` if the limit has no fixed rate.
///
/// Leases end when their holders release them. The level of ar1 decays by a fraction of itself:
/// fastest when full and never to zero, so any period would promise too much or too little.
fn rate(limit: &Limit, capacity: u64, now: Time) -> Option<(u64, Span)> {
    match limit.params() {
        RuleParams::Held { .. } | RuleParams::Fade { .. } | RuleParams::Unlimited => None,
        RuleParams::Aligned { window, .. } => Some((capacity, window)),
        RuleParams::Calendar { .. } => {
            let [_, start, end, _] = limit.windows_around(now)?;
            Some((capacity, end.since(start)))
        }
        // A drip can be larger than the bucket, but no more than the bucket's content can leak.
        RuleParams::Drip { size, drip, every } => Some((drip.min(size), every)),
        // As written: 60/min is 60 in 60 seconds, though 1 in 1 second is the same rate.
        _ => limit.rate().map(|rate| (u64::from(rate.count), rate.period)),
    }
}

/// Converts a rate to whole seconds.
///
/// A period of a second or more is rounded up, with the same amount. A shorter period becomes the
/// amount of one second, rounded down. Either way the result is no more than the limit grants.
fn in_seconds(amount: u64, period: Span) -> (u64, u64) {
    if period >= SECOND {
        return (amount, period.as_secs_ceil());
    }
    let per_second = u128::from(amount).saturating_mul(u128::from(SECOND.as_micros()));
    let amount = per_second.checked_div(u128::from(period.as_micros())).unwrap_or(per_second);
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
        assert_eq!(quota.is_concurrency, line.starts_with("concurrency"));
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
    fn calendar_windows_have_the_length_of_the_current_one() {
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
    fn periods_below_a_second_become_one_second_rounded_down() {
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
    fn unlimited_has_no_quota() {
        for line in ["unlimited", "gcra 1/s factor 0"] {
            let limit = line.parse().unwrap();
            assert_eq!(Quota::of(&limit, Time::EPOCH), None, "{line}");
        }
    }
}
