//! What was allowed without the store is charged to it afterwards.

use tollgate::Source;
use tollgate::layers::OnFailure;

use crate::remote::{Mode, Setup, pass, settle};

#[tokio::test(start_paused = true)]
async fn what_was_allowed_is_charged_once() {
    for on_failure in [OnFailure::Allow, OnFailure::Local] {
        let setup = Setup::new(&["gcra 1/h burst 10"], on_failure);
        setup.remote.set(Mode::Fails);
        for _ in 0..3 {
            assert!(setup.check().await.degraded);
        }
        setup.remote.set(Mode::Answers);
        assert_eq!(setup.check().await.source, Source::Store);
        pass(1).await;
        assert_eq!(setup.remaining(), Some(6), "{on_failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_and_not_answered_is_not_charged() {
    for on_failure in [OnFailure::Allow, OnFailure::Local] {
        let setup = Setup::new(&["gcra 1/h burst 10"], on_failure);
        setup.remote.set(Mode::LosesReplies);
        for _ in 0..3 {
            assert!(setup.check().await.degraded);
        }
        setup.remote.set(Mode::Answers);
        assert_eq!(setup.check().await.source, Source::Store);
        pass(500).await;
        assert_eq!(setup.remaining(), Some(6), "{on_failure}: the store has counted them");
        assert_eq!(setup.stats().unanswered, 3);
    }
}

/// While the breaker is open no check is sent, so that each of them is charged.
#[tokio::test(start_paused = true)]
async fn a_long_outage_loses_only_what_was_sent_when_it_began() {
    let setup = Setup::new(&["gcra 1/h burst 100000"], OnFailure::Allow);
    setup.remote.set(Mode::Silent);
    let mut allowed = 0;
    while !setup.stats().is_open {
        assert!(setup.check().await.allowed);
        allowed += 1;
    }
    let unanswered = setup.stats().unanswered;
    assert_eq!(unanswered, allowed);
    for _ in 0..100 {
        let mut decisions = Vec::new();
        setup.limiter.check_many(vec!["a"; 100], &mut decisions).await;
        pass(40).await;
    }
    assert_eq!(setup.stats().unanswered, unanswered);
    setup.remote.set(Mode::Answers);
    pass(600).await;
    assert_eq!(setup.remaining(), Some(100_000 - 100 * 100));
}

/// What it need not write it answers: a peek, a denial. That does not make it available.
#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_write_is_unavailable_until_it_can() {
    for on_failure in OnFailure::ALL {
        let setup = Setup::new(&["gcra 1/h burst 10"], on_failure);
        let _ = setup.limiter.key("denied").cost(10).check().await.unwrap();
        setup.remote.set(Mode::ReadOnly);
        for _ in 0..20 {
            let _ = setup.limiter.key("a").check().await;
            let _ = setup.limiter.key("a").peek().await;
            let _ = setup.limiter.key("denied").check().await;
            assert!(setup.layers().last_error().is_some(), "{on_failure}");
            pass(60).await;
        }
        assert!(setup.stats().is_open, "{on_failure}");
        setup.remote.set(Mode::Answers);
        pass(501).await;
        assert!(!setup.stats().is_open && setup.layers().last_error().is_none(), "{on_failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_is_found_to_be_back_without_calls() {
    for on_failure in OnFailure::ALL {
        let setup = Setup::new(&["gcra 1/h burst 10"], on_failure);
        setup.remote.set(Mode::Fails);
        for _ in 0..10 {
            let _ = setup.limiter.key("a").check().await;
            pass(20).await;
        }
        assert!(setup.stats().is_open);
        pass(1_000).await;
        assert!(setup.layers().last_error().is_some());
        setup.remote.set(Mode::Answers);
        pass(501).await;
        assert!(!setup.stats().is_open && setup.layers().last_error().is_none(), "{on_failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_charge_that_fails_is_tried_again() {
    for mode in [Mode::FailsCharges, Mode::LosesReplies] {
        let setup = Setup::new(&["gcra 1/h burst 10"], OnFailure::Allow);
        setup.remote.set(Mode::Fails);
        for _ in 0..3 {
            assert!(setup.check().await.degraded);
        }
        setup.remote.set(Mode::FailsCharges);
        assert_eq!(setup.check().await.source, Source::Store);
        setup.remote.set(mode);
        pass(1).await;
        assert_eq!(setup.stats().failures, 3, "no caller has seen it fail");
        setup.remote.set(Mode::Answers);
        assert_eq!(setup.check().await.source, Source::Store);
        pass(1).await;
        assert_eq!(setup.remaining(), Some(5), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_still_counts_is_charged() {
    let setup = Setup::new(&["gcra 10/s burst 10"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for _ in 0..50 {
        assert!(setup.check().await.allowed);
    }
    pass(499).await;
    setup.remote.set(Mode::Answers);
    // There is no check that would find out that the store is back.
    pass(1).await;
    // The key was exhausted, and half of it has drained meanwhile.
    assert_eq!(setup.remaining(), Some(5));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_can_charge_the_rest() {
    let setup = Setup::new(&["gcra 1/h burst 10"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for _ in 0..3 {
        assert!(setup.check().await.degraded);
    }
    setup.remote.set(Mode::Answers);
    setup.layers().flush().await;
    assert_eq!(setup.remaining(), Some(7));
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_when_all_is_charged() {
    let setup = Setup::new(&["gcra 1/h burst 10"], OnFailure::Allow);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    setup.remote.set(Mode::Fails);
    assert!(setup.check().await.degraded);
    assert_eq!(tasks(), 1);
    pass(10_000).await;
    setup.remote.set(Mode::Answers);
    pass(1_000).await;
    assert_eq!((setup.remaining(), tasks()), (Some(9), 0));
}

/// Lets some keys pass while the store is away.
async fn outage(keys: u64) -> Setup {
    let setup = Setup::new(&["gcra 1/h burst 10"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for key in 0..keys {
        assert!(setup.limiter.key(key).check().await.unwrap().degraded);
    }
    setup
}

#[tokio::test(start_paused = true)]
async fn many_keys_are_charged_in_few_calls() {
    let setup = outage(1_000).await;
    let calls = setup.remote.call_count();
    setup.remote.set(Mode::Slow(1));
    setup.layers().flush().await;
    assert_eq!(setup.stats().uncharged_keys, 0);
    assert_eq!(setup.remote.call_count() - calls, 1_000_usize.div_ceil(64));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_cannot_be_charged_does_not_hold_up_the_others() {
    let setup = outage(200).await;
    setup.remote.set(Mode::FailsFor("7"));
    pass(600).await;
    assert_eq!(setup.stats().uncharged_keys, 1);
    setup.remote.set(Mode::Answers);
    pass(600).await;
    assert_eq!(setup.stats().uncharged_keys, 0);
    for key in 0..200_u64 {
        let peek = setup.limiter.key(key).peek().await.unwrap();
        assert_eq!(peek.remaining, Some(9), "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_waits_for_the_charges_under_way() {
    let setup = outage(100).await;
    setup.remote.set(Mode::Slow(15));
    // The task has begun.
    pass(290).await;
    setup.layers().flush().await;
    assert_eq!((setup.stats().uncharged_keys, setup.stats().lost), (0, 0));
}

/// What the store has refused shrinks like everything that is counted here.
#[tokio::test(start_paused = true)]
async fn a_charge_that_was_refused_is_charged_by_what_still_counts() {
    let setup = Setup::new(&["gcra 1/s burst 10"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for _ in 0..9 {
        assert!(setup.check().await.degraded);
    }
    setup.remote.set(Mode::FailsCharges);
    assert_eq!(setup.limiter.key("b").check().await.unwrap().source, Source::Store);
    pass(5_000).await;
    assert_eq!(setup.stats().uncharged_keys, 1);
    setup.remote.set(Mode::Answers);
    pass(600).await;
    let remaining = setup.remaining().unwrap();
    assert!((5..=7).contains(&remaining), "{remaining}");
}

/// It may be done, although the second attempt certainly is not.
#[tokio::test(start_paused = true)]
async fn a_charge_without_a_reply_that_is_then_refused_is_charged_once() {
    let setup = Setup::new(&["gcra 1/h burst 10"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for _ in 0..3 {
        assert!(setup.check().await.degraded);
    }
    setup.remote.set(Mode::LosesReplies);
    setup.layers().flush().await;
    setup.remote.set(Mode::Fails);
    setup.layers().flush().await;
    setup.remote.set(Mode::Answers);
    setup.layers().flush().await;
    assert_eq!((setup.remaining(), setup.stats().uncharged_keys), (Some(7), 0));
}

/// Its id is forgotten by then, so that it could be done twice.
#[tokio::test(start_paused = true)]
async fn a_charge_without_a_reply_is_not_repeated_for_ever() {
    let setup = Setup::new(&["gcra 1/h burst 10"], OnFailure::Allow);
    setup.remote.set(Mode::Fails);
    for _ in 0..3 {
        assert!(setup.check().await.degraded);
    }
    setup.remote.set(Mode::Answers);
    let check = setup.limiter.key("b").check().await.unwrap();
    assert_eq!(check.source, Source::Store);
    // The charge is done, and its reply is lost.
    setup.remote.set(Mode::LosesReplies);
    settle().await;
    assert_eq!(setup.remaining(), Some(7));
    pass(120_000).await;
    setup.remote.set(Mode::Answers);
    pass(600).await;
    assert_eq!((setup.remaining(), setup.stats().uncharged_keys), (Some(7), 0));
    assert_eq!(setup.stats().lost, 1);
}
