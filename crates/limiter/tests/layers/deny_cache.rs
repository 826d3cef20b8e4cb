//! Denied keys are answered without the store.

use futures_util::future::join_all;
use tokio::time::Instant;
use tollgate::layers::OnFailure;
use tollgate::{Apply, Item, Key, Op, Source, Store as _, StoreError, Subject};

use crate::remote::{Mode, Setup, TIMEOUT, pass, settle};

#[tokio::test(start_paused = true)]
async fn an_exhausted_key_costs_few_calls() {
    let setup = Setup::new(&["gcra 1/h burst 3"], OnFailure::Deny);
    let mut allowed = 0;
    for _ in 0..1_000 {
        allowed += usize::from(setup.check().await.allowed);
    }
    assert_eq!((allowed, setup.remote.call_count()), (3, 3));
    let denied = setup.check().await;
    assert_eq!((denied.source, denied.remaining), (Source::Cache, Some(0)));
}

#[tokio::test(start_paused = true)]
async fn when_a_denial_expires_one_caller_asks() {
    let setup = Setup::new(&["gcra 1/h burst 1"], OnFailure::Deny);
    assert!(setup.check().await.allowed);
    pass(1_001).await;
    setup.remote.set(Mode::Waits);
    let checks: Vec<_> = (0..100).map(|_| setup.spawn(1)).collect();
    settle().await;
    assert_eq!(setup.remote.call_count(), 2);
    setup.remote.answer();
    let decisions = join_all(checks).await;
    assert!(decisions.into_iter().all(|decision| !decision.unwrap().allowed));
    assert_eq!(setup.remote.call_count(), 2);
}

#[tokio::test(start_paused = true)]
async fn when_a_denial_expires_one_of_many_checks_in_a_call_is_sent() {
    let setup = Setup::new(&["gcra 1/h burst 1"], OnFailure::Deny);
    assert!(setup.check().await.allowed);
    pass(1_001).await;
    setup.remote.set(Mode::Waits);
    let batch = |setup: &Setup| {
        let limiter = setup.limiter.clone();
        tokio::spawn(async move {
            let mut decisions = Vec::new();
            limiter.check_many(vec!["a"; 1_000], &mut decisions).await;
            decisions.into_iter().all(|decision| !decision.unwrap().allowed)
        })
    };
    let batches = [batch(&setup), batch(&setup), batch(&setup)];
    settle().await;
    assert_eq!(setup.remote.call_count(), 2);
    setup.remote.answer();
    for all_denied in batches {
        assert!(all_denied.await.unwrap());
    }
    assert_eq!(setup.remote.call_count(), 2);
}

#[tokio::test(start_paused = true)]
async fn checks_that_wait_in_a_call_are_decided_in_order() {
    let setup = Setup::new(&["gcra 4/s burst 2"], OnFailure::Deny);
    while setup.check().await.allowed {}
    pass(1_001).await;
    let mut decisions = Vec::new();
    setup.limiter.check_many(["a", "b", "a", "a", "b"], &mut decisions).await;
    let allowed: Vec<bool> = decisions.into_iter().map(|one| one.unwrap().allowed).collect();
    assert_eq!(allowed, [true, true, true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_while_it_asks_lets_another_ask() {
    let setup = Setup::new(&["gcra 1/h burst 1"], OnFailure::Deny);
    assert!(setup.check().await.allowed);
    pass(1_001).await;
    setup.remote.set(Mode::Waits);
    let asking = setup.spawn(1);
    settle().await;
    let waiting = setup.spawn(1);
    settle().await;
    asking.abort();
    settle().await;
    setup.remote.set(Mode::Answers);
    setup.remote.answer();
    assert!(!waiting.await.unwrap().allowed);
}

#[tokio::test(start_paused = true)]
async fn what_this_process_gives_back_shows_at_once() {
    let setup = Setup::new(&["gcra 1/h burst 1"], OnFailure::Deny);
    assert!(setup.check().await.allowed);
    assert!(!setup.check().await.allowed);
    setup.limiter.key("a").refund().await.unwrap();
    assert!(setup.check().await.allowed);
    assert!(!setup.check().await.allowed);
    setup.limiter.key("a").reset().await.unwrap();
    assert!(setup.check().await.allowed);
}

#[tokio::test(start_paused = true)]
async fn only_denials_that_were_answered_here_are_counted() {
    let setup = Setup::new(&["gcra 1/h burst 1"], OnFailure::Deny);
    assert!(setup.check().await.allowed);
    let subject = Subject { name: None, key: Key::new(b"a").unwrap() };
    let policy = setup.limiter.policy();
    let items = [2, 1].map(|cost| [Item { limit: &policy.limits()[0], subject, cost }]);
    let ops = [Op::check(policy.name(), &items[0]), Op::check(policy.name(), &items[1])];
    let mut out = [Err(StoreError::unanswered()), Err(StoreError::unanswered())];
    if let Apply::Pending(pending) = setup.layers().apply(&ops, None, &mut out) {
        pending.await;
    }
    // The first of them may change the key, so the store has to answer both.
    assert!(out.into_iter().all(|decision| decision.unwrap().source == Source::Store));
    assert_eq!(setup.stats().denied_by_cache, 0);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_second_call_of_another() {
    let setup = Setup::new(&["gcra 1/h burst 1"], OnFailure::Allow);
    assert!(setup.check().await.allowed);
    pass(1_001).await;
    setup.remote.set(Mode::Waits);
    let began = Instant::now();
    let checks: Vec<_> = (0..3).map(|_| setup.spawn(1)).collect();
    settle().await;
    // Whatever is learned from the call that is under way may be wrong after this one.
    let limiter = setup.limiter.clone();
    tokio::spawn(async move { limiter.key("a").cost(0).charge().await.map(drop) });
    settle().await;
    pass(10).await;
    setup.remote.set(Mode::Silent);
    setup.remote.answer();
    for check in checks {
        let _ = check.await.unwrap();
    }
    assert!(began.elapsed() <= 2 * TIMEOUT, "{:?}", began.elapsed());
}
