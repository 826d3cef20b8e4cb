//! Tests that look into the queues: that no waiter is left behind, and the order of threads.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use tollgate_core::{Apply, Decision, Op, Store, StoreError, Time};

use super::timer::VirtualTime;
use super::*;
use crate::any_store::AnyStore;
use crate::clock::Clock;
use crate::limiter::Limiter;

const LONG: Duration = Duration::from_secs(60);

type Waiting = Pin<Box<dyn Future<Output = Result<Allowed, Error>> + Send>>;

fn limiter() -> Limiter {
    "concurrency 64 ttl 1h".parse().unwrap()
}

fn poll(waiting: &mut Waiting) -> Poll<Result<Allowed, Error>> {
    waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns `count` waiting futures, each polled once.
fn queue(limiter: &Limiter, count: usize) -> Vec<Waiting> {
    let wait = |_| {
        let mut waiting: Waiting = Box::pin(limiter.key("a").check_within(LONG));
        assert!(poll(&mut waiting).is_pending());
        waiting
    };
    (0..count).map(wait).collect()
}

#[test]
fn no_waiter_is_left_behind() {
    let limiter = limiter();
    let all = limiter.key("a").cost(64).lease().unwrap();
    let mut waiting = queue(&limiter, 6);
    assert_eq!(limiter.queues().len(), 6);

    // One from the middle, the first, and one whose timeout passes at once.
    drop(waiting.remove(3));
    drop(waiting.remove(0));
    assert!(limiter.key("a").blocking_check_within(Duration::ZERO).unwrap_err().is_timeout());
    assert_eq!(limiter.queues().len(), 4);

    drop(all);
    for mut waiting in waiting {
        assert!(matches!(poll(&mut waiting), Poll::Ready(Ok(decision)) if decision.allowed));
    }
    assert!(limiter.queues().is_empty());
}

#[test]
fn dropping_waiters_leaves_other_queues_alone() {
    let limiter = limiter();
    let _all = ["a", "b"].map(|key| limiter.key(key).cost(64).lease().unwrap());
    let on_a = queue(&limiter, 2);
    let mut on_b: Waiting = Box::pin(limiter.key("b").check_within(LONG));
    assert!(poll(&mut on_b).is_pending());
    drop(on_a);
    assert_eq!(limiter.queues().len(), 1);
    drop(on_b);
    assert!(limiter.queues().is_empty());
}

#[test]
fn threads_are_served_in_the_order_of_arrival() {
    let limiter = limiter();
    let all = limiter.key("a").cost(64).lease().unwrap();
    let left = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for arrival in 0..16 {
            let (limiter, left) = (&limiter, &left);
            let thread = scope.spawn(move || {
                let decision = limiter.key("a").blocking_check_within(LONG).unwrap();
                left.lock().unwrap().insert(arrival, decision.remaining);
            });
            while limiter.queues().len() <= arrival && !thread.is_finished() {
                thread::yield_now();
            }
        }
        drop(all);
    });
    // The earlier a thread was served, the more was left.
    let left: Vec<_> = left.into_inner().unwrap().into_values().collect();
    let expected: Vec<_> = (48..64).rev().map(Some).collect();
    assert_eq!(left, expected);
    assert!(limiter.queues().is_empty());
}

#[test]
fn limiters_of_one_store_share_its_queues() {
    let limiter = limiter();
    let all = limiter.key("a").cost(64).lease().unwrap();
    let raised = limiter.with_limits(vec!["concurrency 65 ttl 1h".parse().unwrap()]);
    let first = queue(&limiter, 1);
    // There is room for it, but it came later.
    let mut second: Waiting = Box::pin(raised.key("a").check_within(LONG));
    assert!(poll(&mut second).is_pending());
    // Another name is another count.
    let other = limiter.store().limiter("other", ["concurrency 64 ttl 1h"]).unwrap();
    assert!(other.key("a").blocking_check_within(LONG).unwrap().allowed);

    drop((first, all));
    assert!(matches!(poll(&mut second), Poll::Ready(Ok(decision)) if decision.allowed));
    assert!(limiter.queues().is_empty());
}

/// A waker that owns a waiting future, and drops it when woken or dropped.
struct OwningWaker(Mutex<Option<Waiting>>);

impl Wake for OwningWaker {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

#[test]
fn wakers_may_call_back_into_the_queues() {
    let limiter = limiter();
    let _all = limiter.key("a").cost(64).lease().unwrap();
    let join = || limiter.key("a").with_op(Act::Check, |op| limiter.queues().join(op)).unwrap();
    let (first, second) = (join(), join());
    let held: [Waiting; 2] = queue(&limiter, 2).try_into().ok().unwrap();
    let [woken, dropped] =
        held.map(|held| Waker::from(Arc::new(OwningWaker(Mutex::new(Some(held))))));

    assert!(second.poll_first(&Context::from_waker(&dropped)).is_pending());
    drop(dropped);
    // Replacing the last waker drops it, and the waiter that it owns.
    assert!(second.poll_first(&Context::from_waker(&woken)).is_pending());
    assert_eq!(limiter.queues().len(), 3);
    // The first leaves, and wakes the second.
    drop(first);
    assert_eq!(limiter.queues().len(), 1);
}

/// A store that two processes share. It counts their checks.
struct Counted {
    store: Arc<MemoryStore>,
    checks: AtomicUsize,
}

impl Store for Counted {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let checks = ops.iter().filter(|op| op.act == Act::Check).count();
        self.checks.fetch_add(checks, Ordering::Relaxed);
        self.store.apply(ops, at, out)
    }
}

impl Counted {
    fn new() -> Arc<Counted> {
        let store = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
        Arc::new(Counted { store, checks: AtomicUsize::new(0) })
    }

    /// Returns a limiter of another process.
    fn process(self: &Arc<Counted>) -> Limiter<AnyStore> {
        let store = AnyStore::new(Arc::clone(self) as Arc<dyn Store>);
        store.limiter("leases", ["concurrency 1 ttl 1h"]).unwrap()
    }
}

#[test]
fn a_lease_that_another_process_releases_is_noticed_within_50_ms() {
    const MILLISECOND: Duration = Duration::from_millis(1);
    let (time, store) = (VirtualTime::start(), Counted::new());
    let (own, other) = (store.process(), store.process());
    // Released at any time between two polls.
    for passed in 0..60 {
        let held = block_on(other.key("a").lease()).unwrap();
        let mut waiting: Waiting = Box::pin(own.key("a").check_within(LONG));
        for _ in 0..passed {
            assert!(poll(&mut waiting).is_pending());
            time.advance(MILLISECOND);
        }
        block_on(held.release()).unwrap().into_result().unwrap();
        let mut turns = 0..50;
        let is_noticed = turns.any(|_| {
            time.advance(MILLISECOND);
            matches!(poll(&mut waiting), Poll::Ready(Ok(decision)) if decision.allowed)
        });
        assert!(is_noticed, "not within 50 ms if released after {passed} ms");
        block_on(own.key("a").reset()).unwrap().into_result().unwrap();
    }
}

#[test]
fn only_a_check_every_25_ms_asks_for_a_lease_of_another_process() {
    let (time, store) = (VirtualTime::start(), Counted::new());
    let (own, other) = (store.process(), store.process());
    let _held = block_on(other.key("a").lease()).unwrap();
    let before = store.checks.load(Ordering::Relaxed);
    let mut waiting = [own.key("a"), own.key("a")]
        .map(|request| -> Waiting { Box::pin(request.check_within(LONG)) });
    for _ in 0..1_000 {
        assert!(waiting.iter_mut().all(|waiting| poll(waiting).is_pending()));
        time.advance(Duration::from_millis(1));
    }
    // The first caller asks before it queues, and then as the first of its queue. The second does not ask.
    let asked = store.checks.load(Ordering::Relaxed) - before;
    assert_eq!(asked, 2 + 999 / 25);
}
