//! Waiting for one's turn: who is served when, and who is sent away.

#![cfg(feature = "wait")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use tollgate::{Clock, Decision, Error, Limiter, MemoryStore};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

type Output = Result<Decision, Error>;

/// One who waits, and whether there is a reason to look at it.
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

    /// Looks whether it is done, as a runtime would: only if it was woken.
    fn look(&mut self) -> Option<Output> {
        if !self.woken.0.swap(false, Ordering::SeqCst) {
            return None;
        }
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn is_admitted(&mut self) -> bool {
        self.look().is_some_and(|output| output.unwrap().allowed)
    }

    /// Waits for it.
    fn output(&mut self) -> Output {
        loop {
            match self.look() {
                Some(output) => return output,
                None => thread::yield_now(),
            }
        }
    }
}

/// A limiter of so many leases, all of them taken.
fn held(count: u64) -> (Limiter, tollgate::Lease) {
    let limiter: Limiter = format!("concurrency {count} ttl 1h").parse().unwrap();
    let lease = limiter.key("a").cost(count).lease().unwrap().lease.unwrap();
    (limiter, lease)
}

/// So many who wait, queued in this order.
fn queue<const N: usize>(limiter: &Limiter) -> [Waiting; N] {
    std::array::from_fn(|_| {
        let mut waiting = Waiting::new(limiter.key("a").until_ready(LONG));
        assert!(waiting.look().is_none());
        waiting
    })
}

#[test]
fn who_finds_room_does_not_wait() {
    let limiter: Limiter = "gcra 1/h burst 2".parse().unwrap();
    assert_eq!(limiter.key("a").wait(Duration::ZERO).unwrap().remaining, Some(1));
    assert!(Waiting::new(limiter.key("a").until_ready(LONG)).is_admitted());
    assert_eq!(limiter.key("a").peek().unwrap().remaining, Some(0));
}

#[test]
fn first_come_first_served() {
    let limiter: Limiter = "gcra 1000/s burst 1".parse().unwrap();
    limiter.key("a").cost(2).charge().unwrap();
    let mut waiting: Vec<_> =
        (0..20).map(|came| (came, Waiting::new(limiter.key("a").until_ready(LONG)))).collect();
    let mut served = Vec::new();
    for (came, waiting) in &mut waiting {
        // If this takes long enough, the first may be through.
        if waiting.is_admitted() {
            served.push(*came);
        }
    }
    while served.len() < 20 {
        // Backwards, so that nothing but the queue makes them come in order.
        for (came, waiting) in waiting.iter_mut().rev() {
            if waiting.is_admitted() {
                served.push(*came);
            }
        }
        thread::yield_now();
    }
    assert_eq!(served, (0..20).collect::<Vec<_>>());
}

#[test]
fn futures_in_threads_are_served_in_order() {
    let (limiter, lease) = held(40);
    let waiting: [Waiting; 40] = queue(&limiter);
    let (send, left) = mpsc::channel();
    thread::scope(|scope| {
        for (came, mut waiting) in waiting.into_iter().enumerate() {
            let send = send.clone();
            scope.spawn(move || {
                let decision = waiting.output().unwrap();
                send.send((came as u64, decision.remaining)).unwrap();
            });
        }
        drop(lease);
    });
    drop(send);
    // The sooner, the more was left.
    assert!(left.iter().all(|(came, left)| left == Some(39 - came)));
}

#[test]
fn the_next_is_woken_when_the_first_gives_up() {
    let (limiter, lease) = held(1);
    let [first, mut second, mut third] = queue(&limiter);
    drop(first);
    // Its turn now, but there is nothing yet.
    assert!(second.woken.0.load(Ordering::SeqCst));
    assert!(second.look().is_none());
    lease.release().unwrap();
    assert!(third.look().is_none());
    assert!(second.is_admitted());
}

#[test]
fn who_never_looks_again_loses_nothing_for_the_others() {
    let (limiter, lease) = held(1);
    let [first, mut second] = queue(&limiter);
    // The first is woken, but dropped before it looks.
    drop(lease);
    assert!(first.woken.0.load(Ordering::SeqCst));
    drop(first);
    assert!(second.is_admitted());
}

#[test]
fn one_in_the_middle_gives_up() {
    let (limiter, lease) = held(2);
    let [mut first, second, mut third] = queue(&limiter);
    drop(second);
    assert!(!third.woken.0.load(Ordering::SeqCst));
    drop(lease);
    assert!(third.look().is_none());
    assert!(first.is_admitted());
    assert!(third.is_admitted());
}

#[test]
fn who_would_wait_too_long_is_told_at_once() {
    let limiter: Limiter = "request-window 1/day".parse().unwrap();
    assert!(limiter.check("a").unwrap().allowed);
    let denied = Waiting::new(limiter.key("a").until_ready(LONG)).look().unwrap().unwrap();
    assert!(!denied.allowed);
    assert!(denied.retry_after > Some(tollgate::Span::from_micros(3_600_000_000)));
    assert_eq!(limiter.key("a").peek().unwrap().remaining, Some(0));
    // Also if it could only queue.
    let week = Duration::from_secs(7 * 86_400);
    let mut patient = Waiting::new(limiter.key("a").until_ready(week));
    assert!(patient.look().is_none());
    assert!(!Waiting::new(limiter.key("a").until_ready(LONG)).look().unwrap().unwrap().allowed);
}

#[test]
fn what_never_fits_is_told_at_once() {
    for line in ["gcra 1/s burst 2", "concurrency 2 ttl 1s"] {
        let limiter: Limiter = line.parse().unwrap();
        let request = limiter.key("a").cost(3);
        let denied = Waiting::new(request.until_ready(Duration::MAX)).look().unwrap().unwrap();
        assert_eq!((denied.allowed, denied.retry_after), (false, None), "{line}");
        assert_eq!(request.wait(Duration::MAX).unwrap().retry_after, None, "{line}");
    }
}

#[test]
fn errors_are_passed_on() {
    let limiter = Limiter::parse(["gcra 1/s burst 1 per ip"]).unwrap();
    assert!(limiter.key("a").wait(LONG).unwrap_err().is_bad_key());
    let empty = limiter.keys(&[("ip", "")]).until_ready(LONG);
    assert!(Waiting::new(empty).look().unwrap().unwrap_err().is_bad_key());
}

#[test]
fn time_is_up_for_the_first() {
    let (limiter, _lease) = held(1);
    let denied = limiter.key("a").wait(SHORT).unwrap();
    assert!(!denied.allowed);
    assert_eq!(denied.remaining, Some(0));
}

#[test]
fn time_is_up_in_the_queue() {
    let (limiter, lease) = held(1);
    let [mut first] = queue(&limiter);
    assert!(!limiter.key("a").wait(SHORT).unwrap().allowed);
    assert!(!Waiting::new(limiter.key("a").until_ready(SHORT)).output().unwrap().allowed);
    // There is room, but it is the turn of one who has not looked yet.
    drop(lease);
    let denied = limiter.key("a").wait(SHORT).unwrap();
    assert_eq!((denied.allowed, denied.remaining), (false, Some(1)));
    assert!(first.is_admitted());
}

#[test]
fn what_is_given_back_is_noticed() {
    let limiter: Limiter = "gcra 1/h burst 4".parse().unwrap();
    let day = Duration::from_secs(86_400);
    let gives: [fn(&Limiter) -> Output; 3] = [
        |limiter| limiter.key("a").cost(4).refund(),
        |limiter| limiter.key("a").id("x").cost(0).settle(),
        |limiter| limiter.key("a").reset(),
    ];
    for give in gives {
        limiter.key("a").reset().unwrap();
        assert!(limiter.key("a").id("x").cost(4).reserve().unwrap().allowed);
        let mut waiting = Waiting::new(limiter.key("a").until_ready(day));
        assert!(waiting.look().is_none());
        give(&limiter).unwrap();
        assert!(waiting.is_admitted());
    }
}

#[test]
fn a_lease_is_noticed_also_by_those_who_share_only_that_subject() {
    let lines = ["concurrency 1 ttl 1h per all", "gcra 100/s burst 100 per user"];
    let limiter = Limiter::parse(lines).unwrap();
    let lease = limiter.keys(&[("user", "1")]).lease().unwrap().lease;
    let mut other = Waiting::new(limiter.keys(&[("user", "2")]).until_ready(LONG));
    assert!(other.look().is_none());
    drop(lease);
    assert!(other.is_admitted());
}

#[test]
fn a_clock_that_is_set_by_hand_is_asked_again() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    let limiter = Limiter::parse(["gcra 1000/s burst 1"]).unwrap().with_store(store);
    assert!(limiter.check("a").unwrap().allowed);
    assert!(!limiter.key("a").wait(SHORT).unwrap().allowed);
    let mut waiting = Waiting::new(limiter.key("a").until_ready(LONG));
    assert!(waiting.look().is_none());
    clock.advance(Duration::from_millis(1));
    assert!(waiting.output().unwrap().allowed);
}

/// Threads that wait, hold and give up: none waits forever, and never are more in than allowed.
#[test]
fn many_threads_come_and_go() {
    let limiter: Limiter = "concurrency 3 ttl 1h".parse().unwrap();
    let inside = AtomicUsize::new(0);
    let visit = |id: &str| {
        let request = limiter.key("a").id(id);
        assert!(request.wait(LONG).unwrap().allowed);
        let lease = request.lease().unwrap().lease;
        assert!(lease.is_some() && inside.fetch_add(1, Ordering::SeqCst) < 3);
        thread::yield_now();
        inside.fetch_sub(1, Ordering::SeqCst);
    };
    // Looks once and leaves.
    let look_in = |id: &str| {
        if Waiting::new(limiter.key("a").id(id).until_ready(LONG)).is_admitted() {
            limiter.key("a").id(id).release().unwrap();
        }
    };
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for turn in 0..200 {
                    let id = format!("{thread}.{turn}");
                    if (thread + turn) % 5 == 0 { look_in(&id) } else { visit(&id) }
                }
            });
        }
    });
    assert_eq!(limiter.key("a").peek().unwrap().remaining, Some(3));
}
