//! Callers that go away, or stop polling their checks, do not keep others from an answer.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};
use tollgate::Source;
use tollgate::layers::{Distribution, OnFailure, Prefetch, WriteBehind};

use crate::remote::{Mode, Setup, TIMEOUT, pass, settle};

/// Polls a future once, as a stream does whose consumer is slow.
async fn poll_once(mut future: std::pin::Pin<&mut impl Future>) {
    poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Checks that others of the same key are answered by the store while the first is not polled.
async fn others_are_answered(setup: &Setup) {
    let begin = Instant::now();
    let request = setup.limiter.key("a");
    let mut first = pin!(request.check());
    poll_once(first.as_mut()).await;
    let others = join_all((0..3).map(|_| setup.spawn(1))).await;
    for decision in others {
        let decision = decision.unwrap();
        assert!(!decision.degraded && decision.source == Source::Store, "{decision:?}");
    }
    assert!(begin.elapsed() < TIMEOUT * 2);
    assert_eq!(setup.stats().failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_not_polled_does_not_hold_up_its_key() {
    let setup = Setup::new(&["gcra 1/h burst 100"], OnFailure::Allow);
    setup.remote.set(Mode::Slow(1));
    others_are_answered(&setup).await;
    // A second time, while the first is still there.
    let decision = setup.check().await;
    assert_eq!((decision.source, decision.degraded), (Source::Store, false));
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_not_polled_does_not_hold_up_a_denied_key() {
    let setup = Setup::new(&["gcra 1/h burst 1"], OnFailure::Allow);
    assert!(setup.check().await.allowed);
    assert_eq!(setup.check().await.source, Source::Cache);
    setup.remote.set(Mode::Slow(1));
    pass(1_001).await;
    others_are_answered(&setup).await;
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_not_polled_does_not_hold_up_a_distributed_key() {
    for distribution in
        [Distribution::from(WriteBehind::default()), Distribution::from(Prefetch::default())]
    {
        let setup = Setup::distributed(1, &["gcra 1/h burst 10"], distribution).remove(0);
        setup.remote.set(Mode::Slow(1));
        others_are_answered(&setup).await;
    }
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_for_less_than_the_timeout_notice_an_outage() {
    for on_failure in [OnFailure::Allow, OnFailure::Local] {
        let setup = Setup::new(&["gcra 1/h burst 10"], on_failure);
        setup.remote.set(Mode::Silent);
        for _ in 0..300 {
            let _ = timeout(Duration::from_millis(5), setup.limiter.key("a").check()).await;
            pass(5).await;
        }
        assert!(setup.stats().is_open && setup.check().await.degraded, "{on_failure}");
        setup.remote.set(Mode::Answers);
        pass(501).await;
        assert!(!setup.stats().is_open, "{on_failure}");
    }
}

/// A store that answers is not asked again for long after a caller has gone away.
#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_costs_one_probe() {
    let setup = Setup::new(&["gcra 1/h burst 10"], OnFailure::Allow);
    setup.remote.set(Mode::Slow(10));
    assert!(timeout(Duration::from_millis(5), setup.limiter.key("a").check()).await.is_err());
    pass(10_000).await;
    assert_eq!(setup.remote.call_count(), 2, "{:?}", setup.remote.calls());
    assert!(!setup.stats().is_open && setup.layers().last_error().is_none());
}

/// A call that is spawned without a runtime, or whose runtime ends, is finished all the same.
#[test]
fn a_runtime_that_ends_leaves_no_call_under_way() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let setup = runtime().unwrap().block_on(async {
        let setup = Setup::distributed(1, &["gcra 1000/h"], Prefetch::default()).remove(0);
        for _ in 0..20 {
            assert!(setup.check().await.allowed);
        }
        setup
    });
    for _ in 0..5 {
        let decision = runtime().unwrap().block_on(async {
            let decision = timeout(Duration::from_secs(1), setup.check()).await.unwrap();
            settle().await;
            decision
        });
        assert!(decision.allowed && !decision.degraded);
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_may_be_of_any_length() {
    let first = Setup::new(&["gcra 1/h burst 10"], OnFailure::Deny);
    let mut distribution = WriteBehind::default();
    distribution.flush = Duration::MAX;
    let layers = tollgate::layers::Layers::new();
    for distribution in [Distribution::Strict, distribution.into()] {
        let setup = first.patient(layers.clone(), distribution);
        for _ in 0..3 {
            assert!(setup.check().await.allowed);
        }
    }
}
