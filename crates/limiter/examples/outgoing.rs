//! Limiting outgoing calls: `cargo run --example outgoing`.
//!
//! A partner's API allows 50 calls per second and 10 concurrent ones, and refuses more. Twenty workers
//! have sixty calls to make, and wait instead of being refused.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{Error, Limiter};

const WORKERS: u32 = 20;
const CALLS_EACH: u32 = 3;
/// How long a worker waits before it gives up a call.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The ttl is longer than any call takes. The lease of a worker that dies ends after it.
    let limiter = Limiter::parse(["gcra 50/s burst 5", "concurrency 10 ttl 30s"])?;
    let partner = Partner::default();
    let start = Instant::now();

    thread::scope(|scope| {
        let work = |worker| work(worker, &limiter, &partner);
        let workers: Vec<_> = (0..WORKERS).map(|n| scope.spawn(move || work(n))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;

    let calls = partner.calls.load(Ordering::Relaxed);
    println!("{calls} calls in {:.1} s", start.elapsed().as_secs_f64());
    println!("at most {} at once", partner.max_concurrent.load(Ordering::Relaxed));
    println!("{} refused", partner.refused.load(Ordering::Relaxed));
    Ok(())
}

fn work(worker: u32, limiter: &Limiter, partner: &Partner) -> Result<(), Error> {
    for call in 0..CALLS_EACH {
        let lease = match limiter.key("partner").blocking_lease_within(WAIT_TIMEOUT) {
            Ok(lease) => lease,
            Err(error) if error.is_timeout() => {
                println!("call {call} of worker {worker}: {error}");
                continue;
            }
            Err(error) => return Err(error),
        };
        partner.call();
        // The lease is released, also if the call panics.
        drop(lease);
    }
    Ok(())
}

/// A stand-in for the partner's API, which counts its calls.
#[derive(Default)]
struct Partner {
    calls: AtomicU32,
    concurrent: AtomicU32,
    max_concurrent: AtomicU32,
    refused: AtomicU32,
}

impl Partner {
    fn call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let concurrent = self.concurrent.fetch_add(1, Ordering::Relaxed) + 1;
        self.max_concurrent.fetch_max(concurrent, Ordering::Relaxed);
        if concurrent > 10 {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        thread::sleep(Duration::from_millis(250));
        self.concurrent.fetch_sub(1, Ordering::Relaxed);
    }
}
