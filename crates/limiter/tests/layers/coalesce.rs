//! Checks of one key that wait together become one call.

use futures_util::future::join_all;
use tollgate::Source;
use tollgate::layers::{MAX_COALESCED, OnFailure};

use crate::remote::{Mode, Setup, TIMEOUT, settle};

const LIMIT: [&str; 1] = ["gcra 1/h burst 100000"];

#[tokio::test(start_paused = true)]
async fn waiting_checks_are_sent_together_in_order() {
    let setup = Setup::new(&LIMIT, OnFailure::Deny);
    setup.remote.set(Mode::Waits);
    let checks: Vec<_> = (1..=101).map(|cost| setup.spawn(cost)).collect();
    for _ in 0..3 {
        settle().await;
        setup.remote.answer();
    }
    let mut used = 0;
    for (cost, check) in (1..).zip(checks) {
        used += cost;
        assert_eq!(check.await.unwrap().remaining, Some(100_000 - used));
    }
    let first = MAX_COALESCED as u64 + 1;
    let expected = [vec![1], (2..=first).collect(), (first + 1..=101).collect()];
    assert_eq!(setup.remote.calls(), expected);
    assert_eq!(setup.stats().coalesced, 100);
}

#[tokio::test(start_paused = true)]
async fn a_check_whose_caller_has_gone_is_not_sent() {
    let setup = Setup::new(&LIMIT, OnFailure::Deny);
    setup.remote.set(Mode::Waits);
    let checks: Vec<_> = (1..=4).map(|cost| setup.spawn(cost)).collect();
    settle().await;
    checks[2].abort();
    settle().await;
    setup.remote.set(Mode::Answers);
    setup.remote.answer();
    let results = join_all(checks).await;
    assert_eq!(results.into_iter().filter(Result::is_ok).count(), 3);
    assert_eq!(setup.remote.calls(), [vec![1], vec![2, 4]]);
}

#[tokio::test(start_paused = true)]
async fn a_hot_key_does_not_make_the_store_seem_slow() {
    // Not the cost less one remains, so that no denial is repeated without the store.
    let setup = Setup::new(&["gcra 1/h burst 4"], OnFailure::Allow);
    setup.remote.set(Mode::Slow(4));
    let callers = (0..1_000).map(async |_| {
        let mut allowed = 0;
        for _ in 0..20 {
            let decision = setup.limiter.key("a").cost(3).check().await.unwrap();
            allowed += usize::from(decision.allowed);
        }
        allowed
    });
    let allowed: usize = join_all(callers).await.into_iter().sum();
    assert_eq!((allowed, setup.stats().failures), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_does_not_stop_the_others() {
    let setup = Setup::new(&LIMIT, OnFailure::Deny);
    setup.remote.set(Mode::Waits);
    let first = setup.spawn(1);
    settle().await;
    let second = setup.spawn(2);
    settle().await;
    first.abort();
    setup.remote.set(Mode::Answers);
    assert!(second.await.unwrap().allowed);
    assert_eq!(setup.remote.calls(), [vec![1], vec![2]]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_answered_does_not_block_the_key() {
    let setup = Setup::new(&LIMIT, OnFailure::Allow);
    setup.remote.set(Mode::Waits);
    let checks: Vec<_> = (1..=3).map(|cost| setup.spawn(cost)).collect();
    settle().await;
    // The first is answered, and the others are sent.
    setup.remote.set(Mode::Silent);
    setup.remote.answer();
    let decisions = join_all(checks).await;
    assert!(decisions[1].as_ref().unwrap().degraded);
    setup.remote.set(Mode::Answers);
    tokio::time::sleep(TIMEOUT).await;
    assert_eq!(setup.check().await.source, Source::Store);
}
