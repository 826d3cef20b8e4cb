//! The same work on several threads.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Runs the work on this many threads, which start together. Returns the time of the slowest thread
/// and the sum of the results.
pub(crate) fn together(threads: usize, work: impl Fn(usize) -> u64 + Sync) -> (Duration, u64) {
    let start = Barrier::new(threads);
    let timed = |thread| {
        start.wait();
        let start_time = Instant::now();
        let result = work(thread);
        (start_time.elapsed(), result)
    };
    let timed = &timed;
    let results: Vec<(Duration, u64)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|n| scope.spawn(move || timed(n))).collect();
        let first = timed(0);
        let joined = others.into_iter().map(|other| other.join().expect("no thread panics"));
        [first].into_iter().chain(joined).collect()
    });
    let slowest = results.iter().map(|(time, _)| *time).max().unwrap_or_default();
    (slowest, results.iter().map(|(_, result)| result).sum())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_thread_works_once() {
        assert_eq!(super::together(3, |thread| [1, 10, 100][thread]).1, 111);
    }
}
