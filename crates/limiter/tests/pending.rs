//! A limiter on a store that takes time to answer: who asks it, and what a caller that goes away
//! leaves behind.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::Semaphore;
use tollgate::{
    AnyStore, Apply, Clock, Decision, Limiter, MemoryStore, Op, Store, StoreError, Time,
};

const LONG: Duration = Duration::from_secs(60);

/// A store that does an operation when it is asked, and answers when the test lets it.
struct Gated {
    store: Arc<MemoryStore>,
    calls: AtomicUsize,
    /// One permit for each answer.
    answers: Semaphore,
    /// Whether answers get lost on their way.
    loses_answers: AtomicBool,
}

impl Store for Gated {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        Apply::Pending(Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            assert!(matches!(self.store.apply(ops, at, &mut *out), Apply::Ready));
            self.answers.acquire().await.unwrap().forget();
            if self.loses_answers.load(Ordering::SeqCst) {
                out.fill(Err(StoreError::unavailable("the answer was lost")));
            }
        }))
    }
}

/// Returns a limiter whose clock stands still, and its store.
fn gated(line: &str) -> (Limiter<AnyStore>, Arc<Gated>) {
    let store = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let gated = Arc::new(Gated {
        store,
        calls: AtomicUsize::new(0),
        answers: Semaphore::new(0),
        loses_answers: AtomicBool::new(false),
    });
    let limiter = AnyStore::new(Arc::clone(&gated) as Arc<dyn Store>).limiter("test", [line]);
    (limiter.unwrap(), gated)
}

impl Gated {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Lets everything be answered from now on.
    fn open(&self) {
        self.answers.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Waits until the store was asked this often.
    async fn asked(&self, calls: usize) {
        while self.calls() < calls {
            tokio::task::yield_now().await;
        }
    }
}

async fn remaining(limiter: &Limiter<AnyStore>) -> Option<u64> {
    limiter.key("a").peek().await.unwrap().remaining
}

/// Waits until this much is left.
async fn until_remaining(limiter: &Limiter<AnyStore>, expected: u64) {
    while remaining(limiter).await != Some(expected) {
        tokio::task::yield_now().await;
    }
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[tokio::test]
async fn a_dropped_wait_gives_back_what_its_check_takes() {
    for line in ["gcra 1/h burst 2", "fixed-window 2/h", "concurrency 2 ttl 1h"] {
        let (limiter, store) = gated(line);
        let mut wait = Box::pin(limiter.key("a").check_within(LONG));
        assert!(!poll_once(wait.as_mut()));
        assert_eq!(store.calls(), 1, "{line}");
        drop(wait);
        store.open();
        until_remaining(&limiter, 2).await;
    }
}

#[tokio::test]
async fn a_dropped_lease_future_releases_what_it_takes() {
    let (limiter, store) = gated("concurrency 2 ttl 1h");
    let request = limiter.key("a");
    let mut now = Box::pin(request.lease());
    let mut within = Box::pin(limiter.key("a").lease_within(LONG));
    assert!(!poll_once(now.as_mut()) && !poll_once(within.as_mut()));
    store.asked(2).await;
    drop((now, within));
    store.open();
    until_remaining(&limiter, 2).await;
}

#[tokio::test]
async fn an_admission_under_an_id_is_kept_for_the_retry() {
    let (limiter, store) = gated("gcra 1/h burst 2");
    let mut wait = Box::pin(limiter.key("a").id("order-7").check_within(LONG));
    assert!(!poll_once(wait.as_mut()));
    drop(wait);
    store.open();
    let retry = limiter.key("a").id("order-7").check_within(LONG).await.unwrap();
    assert_eq!(retry.remaining, Some(1));
    assert_eq!(remaining(&limiter).await, Some(1));
}

#[tokio::test]
async fn dropping_a_lease_does_not_block_and_releases_it() {
    let (limiter, store) = gated("concurrency 2 ttl 1h");
    store.answers.add_permits(1);
    let lease = limiter.key("a").lease().await.unwrap();
    drop(lease);
    // The release is on its way, and the store has not answered it.
    store.asked(2).await;
    store.open();
    until_remaining(&limiter, 2).await;
}

#[tokio::test]
async fn a_lease_may_be_dropped_outside_the_runtime() {
    let (limiter, store) = gated("concurrency 2 ttl 1h");
    store.open();
    let lease = limiter.key("a").lease().await.unwrap();
    std::thread::spawn(move || drop(lease)).join().unwrap();
    until_remaining(&limiter, 2).await;
}

#[tokio::test]
async fn a_dropped_release_goes_on() {
    let (limiter, store) = gated("concurrency 2 ttl 1h");
    store.answers.add_permits(1);
    let lease = limiter.key("a").lease().await.unwrap();
    let mut release = Box::pin(lease.release());
    assert!(!poll_once(release.as_mut()));
    drop(release);
    store.open();
    until_remaining(&limiter, 2).await;
}

#[tokio::test]
async fn only_the_first_of_a_queue_asks() {
    let (limiter, store) = gated("gcra 1/h burst 1");
    store.open();
    assert!(limiter.check("a").await.unwrap().allowed);
    let day = Duration::from_secs(86_400);
    let mut first = Box::pin(limiter.key("a").check_within(day));
    assert!(!poll_once(first.as_mut()));
    // Once before it queued, and once as the first.
    assert_eq!(store.calls(), 3);
    let mut others: Vec<_> =
        (0..10).map(|_| Box::pin(limiter.key("a").check_within(day))).collect();
    assert!(!others.iter_mut().any(|other| poll_once(other.as_mut())));
    assert_eq!(store.calls(), 3);
}

#[tokio::test]
async fn waiters_are_served_in_the_order_of_arrival() {
    let (limiter, store) = gated("concurrency 10 ttl 1h");
    store.open();
    let all = limiter.key("a").cost(10).lease().await.unwrap();
    let mut waiting: Vec<_> =
        (0..10).map(|_| Box::pin(limiter.key("a").check_within(LONG))).collect();
    for wait in &mut waiting {
        assert!(!poll_once(wait.as_mut()));
    }
    assert_eq!(all.release().await.unwrap().remaining, Some(10));
    let served = futures_util::future::join_all(waiting.into_iter().rev()).await;
    let left: Vec<_> =
        served.into_iter().rev().map(|decision| decision.unwrap().remaining).collect();
    assert_eq!(left, (0..10).rev().map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_lease_is_renewed_while_work_goes_on() {
    let (limiter, store) = gated("concurrency 1 ttl 2s");
    store.open();
    let lease = limiter.key("a").lease().await.unwrap();
    let before = store.calls();
    let work = async {
        while store.calls() < before + 3 {
            tokio::task::yield_now().await;
        }
    };
    lease.renew_while(work).await.unwrap();
    assert_eq!(lease.release().await.unwrap().remaining, Some(1));
}

#[test]
fn the_futures_can_be_sent_and_kept() {
    fn is_kept<T: Send + 'static>(_: T) {}
    let (limiter, _) = gated("concurrency 1 ttl 1h");
    is_kept(limiter.key("a").check_within(LONG));
    is_kept(limiter.key("a").lease_within(LONG));
    let request = limiter.key("a");
    fn is_sent<T: Send>(_: T) {}
    is_sent(request.check());
    is_sent(request.lease());
    is_sent(limiter.check("a"));
}

#[tokio::test]
async fn a_retry_under_its_own_id_keeps_the_lease() {
    let (limiter, store) = gated("concurrency 2 ttl 1h");
    let request = limiter.key("a").id("job-7");
    let mut first = Box::pin(request.lease());
    assert!(!poll_once(first.as_mut()));
    drop(first);
    store.open();
    // The retry returns the lease of the dropped one, which must not be released behind its back.
    let lease = limiter.key("a").id("job-7").lease().await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(remaining(&limiter).await, Some(1));
    assert_eq!(lease.release().await.unwrap().remaining, Some(2));
}

#[tokio::test]
async fn a_dropped_wait_ends_no_lease_of_another() {
    let (limiter, store) = gated("concurrency 2 ttl 1h");
    let mut wait = Box::pin(limiter.key("a").check_within(LONG));
    assert!(!poll_once(wait.as_mut()));
    store.answers.add_permits(1);
    let mut other = Box::pin(limiter.key("a").lease_within(LONG));
    assert!(!poll_once(other.as_mut()));
    drop(wait);
    store.open();
    let lease = other.await.unwrap();
    until_remaining(&limiter, 1).await;
    assert_eq!(lease.release().await.unwrap().remaining, Some(2));
}

#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_released() {
    let (limiter, store) = gated("concurrency 2 ttl 1h");
    store.open();
    store.loses_answers.store(true, Ordering::SeqCst);
    assert!(limiter.key("a").lease().await.unwrap_err().is_unavailable());
    store.loses_answers.store(false, Ordering::SeqCst);
    until_remaining(&limiter, 2).await;
}
