//! What is answered while the store is away.

use tollgate::layers::OnFailure;
use tollgate::{AnyStore, Limiter, Source};

use crate::remote::{Mode, Setup, pass, source};

#[tokio::test(start_paused = true)]
async fn the_breaker_opens_probes_and_closes() {
    let setup = Setup::new(&["gcra 1/h burst 100"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for _ in 0..4 {
        assert!(setup.check().await.degraded);
        assert!(!setup.stats().is_open);
        pass(30).await;
    }
    assert!(setup.check().await.degraded && setup.stats().is_open);
    assert!(setup.layers().last_error().unwrap().is_unavailable());
    let calls = setup.remote.call_count();
    for _ in 0..100 {
        assert!(setup.check().await.degraded);
    }
    assert_eq!(setup.remote.call_count(), calls, "the store is left alone");
    for probes in 1..=2 {
        pass(251).await;
        assert!(setup.check().await.degraded && setup.check().await.degraded);
        assert_eq!(setup.remote.call_count(), calls + probes);
    }
    setup.remote.set(Mode::Answers);
    assert!(setup.check().await.degraded, "until the next probe");
    pass(251).await;
    assert_eq!(source(&setup.check().await), (Source::Store, false));
    assert!(!setup.stats().is_open && setup.layers().last_error().is_none());
}

#[tokio::test(start_paused = true)]
async fn many_that_wait_for_one_slow_answer_do_not_open_the_breaker() {
    let setup = Setup::new(&["gcra 1/h burst 100"], OnFailure::Allow);
    setup.remote.set(Mode::Silent);
    let checks: Vec<_> = (0..50).map(|_| setup.spawn(1)).collect();
    for check in checks {
        assert!(check.await.unwrap().degraded);
    }
    assert!(!setup.stats().is_open);
}

#[tokio::test(start_paused = true)]
async fn deny_is_an_error() {
    let setup = Setup::new(&["gcra 1/h burst 100"], OnFailure::Deny);
    for mode in [Mode::Fails, Mode::Silent, Mode::LosesReplies] {
        setup.remote.set(mode);
        assert!(setup.limiter.check("a").await.unwrap_err().is_unavailable(), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn allow_lets_everything_pass_that_could_ever_pass() {
    let setup = Setup::new(&["gcra 1/h burst 2", "fixed-window 5/h"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for _ in 0..20 {
        let decision = setup.check().await;
        assert!(decision.allowed);
        assert_eq!(source(&decision), (Source::FailureMode, true));
        let too_much = setup.limiter.key("a").cost(3).check().await.unwrap();
        assert!(!too_much.allowed && too_much.retry_after.is_none() && too_much.degraded);
    }
}

#[tokio::test(start_paused = true)]
async fn local_allows_the_share_of_the_node() {
    for (nodes, expected) in [(1, 10), (2, 5), (3, 4), (100, 1)] {
        let setup = Setup::of_nodes(nodes, &["sliding-log 10/h"], OnFailure::Local);
        setup.remote.set(Mode::Fails);
        let mut allowed = 0;
        for _ in 0..20 {
            let decision = setup.check().await;
            assert_eq!(source(&decision), (Source::Local, true));
            allowed += usize::from(decision.allowed);
        }
        assert_eq!(allowed, expected, "{nodes} nodes");
    }
}

#[tokio::test(start_paused = true)]
async fn ids_are_not_remembered_without_the_store() {
    for on_failure in [OnFailure::Allow, OnFailure::Local] {
        let setup = Setup::new(&["sliding-log 10/h"], on_failure);
        setup.remote.set(Mode::Fails);
        let key = || setup.limiter.key("a").id("request");
        assert!(key().check().await.unwrap().not_remembered, "{on_failure:?}");
        assert!(!key().peek().await.unwrap().not_remembered, "a peek never is");
        assert!(!key().cost(11).check().await.unwrap().not_remembered, "a denial never is");
        assert!(!setup.check().await.not_remembered, "there is no id");
    }
}

#[tokio::test(start_paused = true)]
async fn local_begins_with_what_was_used_before() {
    let setup = Setup::of_nodes(2, &["sliding-log 10/h"], OnFailure::Local);
    for _ in 0..8 {
        assert!(setup.check().await.allowed);
    }
    setup.remote.set(Mode::Fails);
    // Its share is 5, and half of the 8 counts for this node.
    assert_eq!([setup.check().await.allowed, setup.check().await.allowed], [true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_and_goes_does_not_renew_the_share() {
    let setup = Setup::of_nodes(2, &["sliding-log 10/h"], OnFailure::Local);
    let mut allowed = 0;
    for _ in 0..5 {
        setup.remote.set(Mode::Fails);
        for _ in 0..10 {
            allowed += usize::from(setup.check().await.allowed);
        }
        setup.remote.set(Mode::Answers);
        pass(300).await;
        let _ = setup.limiter.key("b").check().await.unwrap();
        pass(1).await;
    }
    assert_eq!(allowed, 5);
    assert_eq!(setup.remaining(), Some(5), "each of them was charged once");
}

#[tokio::test(start_paused = true)]
async fn what_was_used_before_is_counted_once() {
    let setup = Setup::new(&["gcra 1/h burst 2"], OnFailure::Local);
    assert!(setup.check().await.allowed && setup.check().await.allowed);
    for _ in 0..5 {
        // The denial is repeated for a second, whatever the store does.
        setup.remote.set(Mode::Answers);
        pass(1_001).await;
        assert_eq!(setup.check().await.source, Source::Store);
        pass(1_001).await;
        setup.remote.set(Mode::Fails);
        let denied = setup.check().await;
        assert_eq!((denied.allowed, denied.source), (false, Source::Local));
        assert!(denied.retry_after.unwrap().as_micros() <= 3_600_000_000, "{denied:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_subject_in_common_is_warmed_up_once() {
    let limits = ["gcra 1/h burst 12 per all", "gcra 1/h burst 1000 per user"];
    let setup = Setup::new(&limits, OnFailure::Local);
    let check = async |limiter: &Limiter<AnyStore>, user: u64| {
        limiter.subject("user", user).check().await.unwrap()
    };
    for user in 1..=5 {
        assert!(check(&setup.limiter, user).await.allowed);
    }
    setup.remote.set(Mode::Fails);
    for user in 1..=5 {
        assert!(check(&setup.limiter, user).await.allowed, "user {user}: 5 of 12 are used");
    }
}

#[tokio::test(start_paused = true)]
async fn only_checks_and_peeks_are_decided_without_the_store() {
    for on_failure in [OnFailure::Allow, OnFailure::Local] {
        let setup = Setup::new(&["gcra 1/h burst 10"], on_failure);
        setup.remote.set(Mode::Fails);
        let request = setup.limiter.key("a").id("id");
        assert!(request.check().await.unwrap().degraded);
        assert!(request.peek().await.unwrap().degraded);
        let errors = [
            request.charge().await.map(drop),
            request.refund().await.map(drop),
            request.reset().await.map(drop),
            request.reserve().await.map(drop),
            request.settle().await.map(drop),
        ];
        for (index, result) in errors.into_iter().enumerate() {
            assert!(result.unwrap_err().is_unavailable(), "{on_failure}: operation {index}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn leases_are_not_given_without_the_store() {
    for on_failure in OnFailure::ALL {
        let limits = ["gcra 1/h burst 10", "concurrency 5 ttl 1h"];
        let setup = Setup::new(&limits, on_failure);
        setup.remote.set(Mode::Fails);
        let request = setup.limiter.key("a").id("id");
        assert!(request.check().await.unwrap_err().is_unavailable(), "{on_failure}");
        assert!(request.release().await.unwrap_err().is_unavailable(), "{on_failure}");
        assert!(request.renew().await.unwrap_err().is_unavailable(), "{on_failure}");
    }
}
