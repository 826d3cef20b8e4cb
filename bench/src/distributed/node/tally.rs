//! What one caller has counted, and all of them together.

use std::time::Duration;

use crate::distributed::judge::Admission;
use crate::distributed::pass::Pass;

#[derive(Default)]
pub(super) struct Tally {
    pub(super) checks: u64,
    pub(super) allowed: u64,
    pub(super) latencies: Vec<Duration>,
    pub(super) admissions: Vec<Admission>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.checks += other.checks;
        self.allowed += other.allowed;
        self.latencies.extend(other.latencies);
        self.admissions.extend(other.admissions);
    }

    pub(super) fn into_pass(mut self, time: Duration) -> Pass {
        self.latencies.sort_unstable();
        Pass {
            checks: self.checks,
            allowed: self.allowed,
            seconds: time.as_secs_f64(),
            p50: self.within(0.5),
            p99: self.within(0.99),
            p999: self.within(0.999),
            admissions: self.admissions,
        }
    }

    /// Returns the microseconds within which this share of the checks was answered.
    fn within(&self, share: f64) -> f64 {
        let below = (self.latencies.len() as f64 * share).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length")]
        let index = (below as usize).saturating_sub(1);
        self.latencies.get(index).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_all_callers() {
        let of = |micros: std::ops::RangeInclusive<u64>| Tally {
            checks: 500,
            allowed: 1,
            latencies: micros.map(Duration::from_micros).collect(),
            admissions: vec![[1, 2]],
        };
        let mut all = of(501..=1000);
        all.add(of(1..=500));
        let pass = all.into_pass(Duration::from_millis(500));
        assert_eq!((pass.checks, pass.allowed, pass.seconds), (1000, 2, 0.5));
        assert_eq!([pass.p50, pass.p99, pass.p999].map(f64::round), [500.0, 990.0, 999.0]);
        assert_eq!(pass.admissions.len(), 2);
    }

    #[test]
    fn a_tally_without_checks_has_percentiles_of_zero() {
        assert_eq!(Tally::default().into_pass(Duration::ZERO).p99, 0.0);
    }
}
