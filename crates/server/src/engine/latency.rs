//! How long the store takes to answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::counts::raise;

/// The upper ends of the buckets, in seconds: from what memory takes to what nobody waits for.
pub(crate) const ENDS: [f64; 14] = [
    0.000_000_5,
    0.000_001,
    0.000_005,
    0.000_025,
    0.000_1,
    0.000_25,
    0.000_5,
    0.001,
    0.002_5,
    0.005,
    0.01,
    0.025,
    0.1,
    1.0,
];

/// How long calls of the store took, for each loop.
#[derive(Debug)]
pub(crate) struct Latency(Box<[Histogram]>);

#[derive(Debug, Default)]
#[repr(align(64))]
struct Histogram {
    /// How many ended up to each end, and one for those beyond the last.
    buckets: [AtomicU64; ENDS.len() + 1],
    nanos: AtomicU64,
    /// How many calls there were, timed or not.
    calls: AtomicU64,
}

/// One in so many calls of a store in memory is timed: they take hardly longer than looking at a clock.
const TIMED: u64 = 64;

impl Latency {
    pub(crate) fn new(threads: usize) -> Latency {
        Latency((0..threads).map(|_| Histogram::default()).collect())
    }

    /// When a call begins, if it is to be timed.
    #[inline]
    pub(crate) fn begin(&self, worker_id: usize, is_remote: bool) -> Option<Instant> {
        let calls = raise(&self.0.get(worker_id)?.calls, 1);
        let is_timed = is_remote || calls.is_multiple_of(TIMED);
        is_timed.then(Instant::now)
    }

    /// A call that this loop has waited for.
    pub(crate) fn add(&self, worker_id: usize, took: Duration) {
        let Some(histogram) = self.0.get(worker_id) else { return };
        let seconds = took.as_secs_f64();
        let bucket = ENDS.iter().position(|end| seconds <= *end).unwrap_or(ENDS.len());
        if let Some(bucket) = histogram.buckets.get(bucket) {
            raise(bucket, 1);
        }
        raise(&histogram.nanos, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many calls ended in each bucket.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        let ends = ENDS.into_iter().chain([f64::INFINITY]).enumerate();
        ends.map(|(worker_id, end)| (end, self.sum(|one| one.buckets.get(worker_id)))).collect()
    }

    /// How many seconds all calls took.
    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_nanos(self.sum(|one| Some(&one.nanos))).as_secs_f64()
    }

    fn sum<'l>(&'l self, of: impl Fn(&'l Histogram) -> Option<&'l AtomicU64>) -> u64 {
        let numbers = self.0.iter().filter_map(of).map(|number| number.load(Ordering::Relaxed));
        numbers.fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_where_they_ended() {
        let latency = Latency::new(2);
        latency.add(0, Duration::from_micros(1));
        latency.add(1, Duration::from_secs(2));
        let filled: Vec<_> =
            latency.buckets().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.000_001, 1), (f64::INFINITY, 1)]);
        assert!((latency.seconds() - 2.000_001).abs() < 1e-9);
    }
}
