//! A limiter for one's own calls to someone else: `cargo run --example outgoing`.
//!
//! A partner allows 50 calls per second and 10 at once, and refuses more. Twenty workers have sixty
//! calls to make, and wait for their turn instead of being refused.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{Error, Limiter};

const WORKERS: u32 = 20;
const CALLS_EACH: u32 = 3;
/// Rather than wait longer than this, a worker gives a call up.
const LONGEST: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The ttl is longer than any call takes: a worker that dies blocks its place no longer.
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
    println!("{} at once at most", partner.most_at_once.load(Ordering::Relaxed));
    println!("{} refused", partner.refused.load(Ordering::Relaxed));
    Ok(())
}

fn work(worker: u32, limiter: &Limiter, partner: &Partner) -> Result<(), Error> {
    for call in 0..CALLS_EACH {
        let id = format!("{worker}.{call}");
        let request = limiter.key("partner").id(&id);
        if !request.wait(LONGEST)?.allowed {
            println!("call {id} given up");
            continue;
        }
        // The same id: this takes nothing more, it makes a guard of what was taken just now.
        let lease = request.lease()?;
        partner.call();
        // The place is free for the next, also if the call had panicked.
        drop(lease);
    }
    Ok(())
}

/// Someone else's service, which counts how it is treated.
#[derive(Default)]
struct Partner {
    calls: AtomicU32,
    at_once: AtomicU32,
    most_at_once: AtomicU32,
    refused: AtomicU32,
}

impl Partner {
    fn call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let at_once = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::Relaxed);
        if at_once > 10 {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        thread::sleep(Duration::from_millis(250));
        self.at_once.fetch_sub(1, Ordering::Relaxed);
    }
}
