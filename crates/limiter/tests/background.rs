//! How many dropped leases are released in the background at once. It is alone in its process, which the
//! bound is for.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tollgate::{
    Act, AnyStore, Apply, Clock, Decision, Lease, Limiter, MemoryStore, Op, Store, StoreError, Time,
};

/// Maximum number of releases in the background.
const MAX_RELEASES: usize = 4_096;
/// More leases than can be released at once.
const LEASES: usize = MAX_RELEASES + 10;
const LIMIT: &str = "concurrency 5000 ttl 1h";
const CAPACITY: usize = 5_000;

/// A store that answers releases only when the test lets it.
struct SlowReleases {
    store: Arc<MemoryStore>,
    releases: AtomicUsize,
    answers: Semaphore,
}

impl Store for SlowReleases {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        if ops.iter().all(|op| op.act != Act::Release) {
            return self.store.apply(ops, at, out);
        }
        Apply::Pending(Box::pin(async move {
            self.releases.fetch_add(ops.len(), Ordering::SeqCst);
            self.answers.acquire().await.unwrap().forget();
            assert!(matches!(self.store.apply(ops, at, out), Apply::Ready));
        }))
    }
}

/// Lets every task run that can.
async fn settle() {
    for _ in 0..2 * LEASES {
        tokio::task::yield_now().await;
    }
}

async fn held(limiter: &Limiter<AnyStore>) -> usize {
    let left = limiter.key("a").peek().await.unwrap().remaining.unwrap();
    CAPACITY - usize::try_from(left).unwrap()
}

#[tokio::test]
async fn at_most_4096_leases_are_released_at_once() {
    let clock = Clock::manual();
    let slow = Arc::new(SlowReleases {
        store: MemoryStore::builder().clock(clock.clone()).build().unwrap(),
        releases: AtomicUsize::new(0),
        answers: Semaphore::new(0),
    });
    let store = AnyStore::new(Arc::clone(&slow) as Arc<dyn Store>);
    let limiter = store.limiter("test", [LIMIT]).unwrap();
    let mut leases: Vec<Lease<AnyStore>> = Vec::new();
    for _ in 0..LEASES {
        leases.push(limiter.key("a").lease().await.unwrap());
    }
    drop(leases);
    settle().await;
    assert_eq!(slow.releases.load(Ordering::SeqCst), MAX_RELEASES);
    assert_eq!(held(&limiter).await, LEASES);

    slow.answers.add_permits(LEASES);
    settle().await;
    assert_eq!(held(&limiter).await, LEASES - MAX_RELEASES);
    // There is room again for a release.
    drop(limiter.key("a").lease().await.unwrap());
    settle().await;
    assert_eq!(slow.releases.load(Ordering::SeqCst), MAX_RELEASES + 1);
    // The leases that were not released end after their `ttl`.
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(held(&limiter).await, 0);
}
