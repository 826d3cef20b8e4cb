//! The latency of the store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::counts::add_unshared;

/// The upper bounds of the histogram buckets in seconds, from the time of a call in memory to a time that no
/// client waits for.
pub(crate) const BUCKET_BOUNDS: [f64; 14] = [
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

/// The durations of calls of the store, counted per worker.
#[derive(Debug)]
pub(crate) struct Latency(Box<[Histogram]>);

#[derive(Debug, Default)]
#[repr(align(64))]
struct Histogram {
    /// Number of calls in each bucket; the last one counts the calls beyond all bounds.
    buckets: [AtomicU64; BUCKET_BOUNDS.len() + 1],
    nanos: AtomicU64,
    /// Number of calls, timed or not.
    calls: AtomicU64,
}

/// One of this many calls of a store in memory is timed: such a call takes hardly longer than reading the
/// clock.
const MEMORY_SAMPLE_INTERVAL: u64 = 64;

impl Latency {
    pub(crate) fn new(threads: usize) -> Latency {
        Latency((0..threads).map(|_| Histogram::default()).collect())
    }

    /// Counts a call. Returns the time at which it starts if it is to be timed.
    #[inline]
    pub(crate) fn begin(&self, worker_id: usize, is_remote: bool) -> Option<Instant> {
        let calls = add_unshared(&self.0.get(worker_id)?.calls, 1);
        let is_timed = is_remote || calls.is_multiple_of(MEMORY_SAMPLE_INTERVAL);
        is_timed.then(Instant::now)
    }

    /// Records the duration of a call that this worker has timed.
    pub(crate) fn add(&self, worker_id: usize, duration: Duration) {
        let Some(histogram) = self.0.get(worker_id) else { return };
        let seconds = duration.as_secs_f64();
        let bucket =
            BUCKET_BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BUCKET_BOUNDS.len());
        if let Some(bucket) = histogram.buckets.get(bucket) {
            add_unshared(bucket, 1);
        }
        add_unshared(&histogram.nanos, u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns the upper bound and the number of calls of each bucket.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = BUCKET_BOUNDS.into_iter().chain([f64::INFINITY]).enumerate();
        let count = |bucket| self.sum(move |histogram| histogram.buckets.get(bucket));
        bounds.map(|(bucket, bound)| (bound, count(bucket))).collect()
    }

    /// Returns the total duration of all timed calls in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_nanos(self.sum(|histogram| Some(&histogram.nanos))).as_secs_f64()
    }

    /// Sums one counter over all workers.
    fn sum<'l>(&'l self, counter: impl Fn(&'l Histogram) -> Option<&'l AtomicU64>) -> u64 {
        let counters = self.0.iter().filter_map(counter);
        counters.map(|counter| counter.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_in_their_bucket() {
        let latency = Latency::new(2);
        latency.add(0, Duration::from_micros(1));
        latency.add(1, Duration::from_secs(2));
        let filled: Vec<_> =
            latency.buckets().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.000_001, 1), (f64::INFINITY, 1)]);
        assert!((latency.seconds() - 2.000_001).abs() < 1e-9);
    }
}
