//! Waiting until a check passes: the order of callers, timeouts, and wake-ups.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use tollgate::{Allowed, Clock, Error, Limiter, MemoryStore};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

type Output = Result<Allowed, Error>;

/// A waiting future, and whether it was woken.
struct Waiting {
    future: Pin<Box<dyn Future<Output = Output> + Send>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Waiting {
    fn new(future: impl Future<Output = Output> + Send + 'static) -> Waiting {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        Waiting { future: Box::pin(future), woken }
    }

    /// Polls the future as a runtime would: only if it was woken.
    fn poll(&mut self) -> Option<Output> {
        if !self.woken.0.swap(false, Ordering::SeqCst) {
            return None;
        }
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn is_allowed(&mut self) -> bool {
        self.poll().is_some_and(|output| output.unwrap().allowed)
    }

    /// Polls until the future is ready.
    fn output(&mut self) -> Output {
        loop {
            match self.poll() {
                Some(output) => return output,
                None => thread::yield_now(),
            }
        }
    }
}

/// Returns a limiter of `count` leases, all of them taken.
fn exhausted(count: u64) -> (Limiter, tollgate::Lease) {
    let limiter: Limiter = format!("concurrency {count} ttl 1h").parse().unwrap();
    let lease = limiter.key("a").cost(count).lease().unwrap();
    (limiter, lease)
}

/// Returns `N` waiting futures, queued in this order.
fn queue<const N: usize>(limiter: &Limiter) -> [Waiting; N] {
    std::array::from_fn(|_| {
        let mut waiting = Waiting::new(limiter.key("a").check_within(LONG));
        assert!(waiting.poll().is_none());
        waiting
    })
}

#[test]
fn a_caller_that_finds_room_does_not_wait() {
    let limiter: Limiter = "gcra 1/h burst 2".parse().unwrap();
    assert_eq!(limiter.key("a").blocking_check_within(Duration::ZERO).unwrap().remaining, Some(1));
    assert!(Waiting::new(limiter.key("a").check_within(LONG)).is_allowed());
    assert_eq!(limiter.key("a").peek().unwrap().remaining, Some(0));
}

#[test]
fn first_come_first_served() {
    let limiter: Limiter = "gcra 1000/s burst 1".parse().unwrap();
    limiter.key("a").cost(2).charge().unwrap();
    let mut waiting: Vec<_> = (0..20)
        .map(|arrival| (arrival, Waiting::new(limiter.key("a").check_within(LONG))))
        .collect();
    let mut served = Vec::new();
    for (arrival, waiting) in &mut waiting {
        // If this takes long enough, the first may be allowed already.
        if waiting.is_allowed() {
            served.push(*arrival);
        }
    }
    while served.len() < 20 {
        // Backwards, so that only the queue can put them in order.
        for (arrival, waiting) in waiting.iter_mut().rev() {
            if waiting.is_allowed() {
                served.push(*arrival);
            }
        }
        thread::yield_now();
    }
    assert_eq!(served, (0..20).collect::<Vec<_>>());
}

#[test]
fn futures_in_threads_are_served_in_order() {
    let (limiter, lease) = exhausted(40);
    let waiting: [Waiting; 40] = queue(&limiter);
    let (send, left) = mpsc::channel();
    thread::scope(|scope| {
        for (arrival, mut waiting) in waiting.into_iter().enumerate() {
            let send = send.clone();
            scope.spawn(move || {
                let decision = waiting.output().unwrap();
                send.send((arrival as u64, decision.remaining)).unwrap();
            });
        }
        drop(lease);
    });
    drop(send);
    // The earlier a caller was served, the more was left.
    assert!(left.iter().all(|(arrival, left)| left == Some(39 - arrival)));
}

#[test]
fn the_next_is_woken_when_the_first_gives_up() {
    let (limiter, lease) = exhausted(1);
    let [first, mut second, mut third] = queue(&limiter);
    drop(first);
    // It is first now, but there is no room yet.
    assert!(second.woken.0.load(Ordering::SeqCst));
    assert!(second.poll().is_none());
    let _ = lease.release().unwrap();
    assert!(third.poll().is_none());
    assert!(second.is_allowed());
}

#[test]
fn a_woken_future_that_is_dropped_wakes_the_next() {
    let (limiter, lease) = exhausted(1);
    let [first, mut second] = queue(&limiter);
    // The first is woken, but dropped before it is polled.
    drop(lease);
    assert!(first.woken.0.load(Ordering::SeqCst));
    drop(first);
    assert!(second.is_allowed());
}

#[test]
fn a_caller_in_the_middle_may_give_up() {
    let (limiter, lease) = exhausted(2);
    let [mut first, second, mut third] = queue(&limiter);
    drop(second);
    assert!(!third.woken.0.load(Ordering::SeqCst));
    drop(lease);
    assert!(third.poll().is_none());
    assert!(first.is_allowed());
    assert!(third.is_allowed());
}

#[test]
fn a_caller_that_would_wait_too_long_is_denied_at_once() {
    let limiter: Limiter = "request-window 1/day".parse().unwrap();
    assert!(limiter.check("a").unwrap().allowed);
    let error = Waiting::new(limiter.key("a").check_within(LONG)).poll().unwrap().unwrap_err();
    assert!(error.is_timeout());
    let denied = error.denied().unwrap();
    assert!(denied.retry_after() > Some(tollgate::Span::from_micros(3_600_000_000)));
    assert_eq!(limiter.key("a").peek().unwrap().remaining, Some(0));
    // Also if another caller is in the queue.
    let week = Duration::from_secs(7 * 86_400);
    let mut patient = Waiting::new(limiter.key("a").check_within(week));
    assert!(patient.poll().is_none());
    let too_long = Waiting::new(limiter.key("a").check_within(LONG)).poll().unwrap();
    assert!(too_long.unwrap_err().is_timeout());
}

#[test]
fn a_cost_that_never_fits_is_denied_at_once() {
    for line in ["gcra 1/s burst 2", "concurrency 2 ttl 1s"] {
        let limiter: Limiter = line.parse().unwrap();
        let request = limiter.key("a").cost(3);
        let error = Waiting::new(request.check_within(Duration::MAX)).poll().unwrap().unwrap_err();
        assert_eq!(error.denied().unwrap().retry_after(), None, "{line}");
        assert_eq!(error.to_string(), "denied: the cost exceeds the limit of 2", "{line}");
        assert!(request.blocking_check_within(Duration::MAX).unwrap_err().denied().is_some());
    }
}

#[test]
fn errors_are_returned() {
    let limiter = Limiter::parse(["gcra 1/s burst 1 per ip"]).unwrap();
    assert!(limiter.key("a").blocking_check_within(LONG).unwrap_err().is_bad_key());
    let empty = limiter.keys(&[("ip", "")]).check_within(LONG);
    assert!(Waiting::new(empty).poll().unwrap().unwrap_err().is_bad_key());
}

#[test]
fn the_first_caller_times_out() {
    let (limiter, _lease) = exhausted(1);
    let error = limiter.key("a").blocking_check_within(SHORT).unwrap_err();
    assert!(error.is_timeout());
    assert_eq!(error.denied().unwrap().decision().remaining, Some(0));
    assert!(
        error.to_string().starts_with("not admitted within 5ms: denied: retry after"),
        "{error}"
    );
}

#[test]
fn a_queued_caller_times_out() {
    let (limiter, lease) = exhausted(1);
    let [mut first] = queue(&limiter);
    assert!(limiter.key("a").blocking_check_within(SHORT).unwrap_err().is_timeout());
    let queued = Waiting::new(limiter.key("a").check_within(SHORT)).output();
    assert!(queued.unwrap_err().is_timeout());
    // There is room, but the first caller has not been polled yet.
    drop(lease);
    let error = limiter.key("a").blocking_check_within(SHORT).unwrap_err();
    assert_eq!(error.to_string(), "not admitted within 5ms: others wait for the same keys");
    assert!(first.is_allowed());
}

#[test]
fn operations_that_give_back_wake_the_waiter() {
    type Give = fn(&Limiter) -> Result<bool, Error>;
    let limiter: Limiter = "gcra 1/h burst 4".parse().unwrap();
    let day = Duration::from_secs(86_400);
    let gives: [Give; 3] = [
        |limiter| Ok(limiter.key("a").cost(4).refund()?.allowed),
        |limiter| Ok(limiter.key("a").id("x").cost(0).settle()?.allowed),
        |limiter| Ok(limiter.key("a").reset()?.allowed),
    ];
    for give in gives {
        limiter.key("a").reset().unwrap();
        assert!(limiter.key("a").id("x").cost(4).reserve().unwrap().allowed);
        let mut waiting = Waiting::new(limiter.key("a").check_within(day));
        assert!(waiting.poll().is_none());
        assert!(give(&limiter).unwrap());
        assert!(waiting.is_allowed());
    }
}

#[test]
fn a_release_wakes_waiters_that_share_only_one_subject() {
    let lines = ["concurrency 1 ttl 1h per all", "gcra 100/s burst 100 per user"];
    let limiter = Limiter::parse(lines).unwrap();
    let lease = limiter.keys(&[("user", "1")]).lease().unwrap();
    let mut other = Waiting::new(limiter.keys(&[("user", "2")]).check_within(LONG));
    assert!(other.poll().is_none());
    drop(lease);
    assert!(other.is_allowed());
}

#[test]
fn a_manual_clock_is_read_again() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    let limiter = store.limiter("test", ["gcra 1000/s burst 1"]).unwrap();
    assert!(limiter.check("a").unwrap().allowed);
    assert!(limiter.key("a").blocking_check_within(SHORT).unwrap_err().is_timeout());
    let mut waiting = Waiting::new(limiter.key("a").check_within(LONG));
    assert!(waiting.poll().is_none());
    clock.advance(Duration::from_millis(1));
    assert!(waiting.output().unwrap().allowed);
}

/// Threads that wait, hold and give up: none waits forever, and no more hold a lease than allowed.
#[test]
fn many_threads_come_and_go() {
    let limiter: Limiter = "concurrency 3 ttl 1h".parse().unwrap();
    let inside = AtomicUsize::new(0);
    let hold = |id: &str| {
        let _lease = limiter.key("a").id(id).blocking_lease_within(LONG).unwrap();
        assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
        thread::yield_now();
        inside.fetch_sub(1, Ordering::SeqCst);
    };
    // Polls once and leaves.
    let poll_once = |id: &str| {
        if Waiting::new(limiter.key("a").id(id).check_within(LONG)).is_allowed() {
            let _ = limiter.key("a").id(id).release().unwrap();
        }
    };
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for turn in 0..200 {
                    let id = format!("{thread}.{turn}");
                    if (thread + turn) % 5 == 0 { poll_once(&id) } else { hold(&id) }
                }
            });
        }
    });
    assert_eq!(limiter.key("a").peek().unwrap().remaining, Some(3));
}
