//! A node takes quota ahead, and spends it without the store.

use tokio::task::JoinSet;
use tollgate::layers::Prefetch;
use tollgate::{Act, Source};

use crate::remote::{Mode, Setup, exhaust, pass, settle};

const LIMIT: [&str; 1] = ["gcra 1000/day"];

fn one(limits: &[&str]) -> Setup {
    Setup::distributed(1, limits, Prefetch::default()).remove(0)
}

/// Checks until this much is taken ahead. Returns the number of checks.
async fn warm_up(node: &Setup, unspent: u64) -> u64 {
    let mut count = 0;
    while node.stats().prefetched < unspent {
        node.check().await.into_result().unwrap();
        settle().await;
        count += 1;
        assert!(count < 500, "nothing is taken ahead");
    }
    count
}

#[tokio::test(start_paused = true)]
async fn slices_grow_with_the_rate_and_pay_for_checks() {
    let node = one(&LIMIT);
    for used in 1..=200 {
        let decision = node.check().await;
        assert_eq!((decision.allowed, decision.remaining), (true, Some(1_000 - used)));
        settle().await;
        let stats = node.stats();
        assert!(stats.prefetched <= 50);
        assert_eq!(node.remaining(), Some(1_000 - used - stats.prefetched));
    }
    assert!(node.remote.call_count() < 20, "{:?}", node.remote.calls());
    assert!(node.stats().decided_by_prefetch > 190);
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_together_need_few_calls() {
    let node = one(&["gcra 1000000/s"]);
    node.remote.set(Mode::Slow(1));
    for _ in 0..4 {
        let mut callers = JoinSet::new();
        for _ in 0..256 {
            let limiter = node.limiter.clone();
            callers.spawn(async move { limiter.check("a").await.unwrap().allowed });
        }
        assert!(callers.join_all().await.into_iter().all(|allowed| allowed));
    }
    assert!(node.remote.call_count() < 20, "{:?}", node.remote.calls());
}

#[tokio::test(start_paused = true)]
async fn all_nodes_together_are_exact() {
    for (nodes, callers, delay) in [(1, 1, 0), (1, 100, 1), (2, 10, 1), (4, 50, 3), (3, 1, 15)] {
        let all = Setup::distributed(nodes, &LIMIT, Prefetch::default());
        all[0].remote.set(Mode::Slow(delay));
        let admitted = exhaust(&all, callers).await;
        let unspent: u64 = all.iter().map(|node| node.stats().prefetched).sum();
        assert_eq!(admitted + unspent, 1_000, "{nodes} nodes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_is_not_denied_because_its_own_node_has_taken_the_rest() {
    // All at once: the slices are taken between the checks of one call.
    for checks in [4, 10, 100, 1_000] {
        let node = one(&LIMIT);
        let mut allowed = 0;
        for _ in 0..1_000 / checks {
            let (keys, mut decisions) = (vec!["a"; checks], Vec::new());
            node.limiter.check_many(keys, &mut decisions).await;
            let each = decisions.into_iter().map(Result::unwrap);
            allowed += each.filter(|decision| decision.allowed).count();
            settle().await;
        }
        assert_eq!(allowed, 1_000, "{checks} at once");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_spent_is_given_back() {
    let node = one(&LIMIT);
    let used = warm_up(&node, 16).await;
    assert!(node.remaining().unwrap() < 1_000 - used);
    pass(250).await;
    assert_eq!((node.remaining(), node.stats().prefetched), (Some(1_000 - used), 0));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_can_give_back_the_rest() {
    let node = one(&LIMIT);
    let used = warm_up(&node, 16).await;
    node.layers().flush().await;
    assert_eq!((node.remaining(), node.stats().prefetched), (Some(1_000 - used), 0));
}

#[tokio::test(start_paused = true)]
async fn a_key_cools_down_again() {
    let node = one(&LIMIT);
    warm_up(&node, 32).await;
    for _ in 0..20 {
        pass(1_000).await;
        node.check().await.into_result().unwrap();
    }
    // One check at a time: nothing is taken ahead any more.
    assert_eq!(node.stats().prefetched, 0);
    let before = node.remote.call_count();
    node.check().await.into_result().unwrap();
    assert_eq!(node.remote.call_count(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_slice_whose_reply_is_lost_is_charged_once() {
    let node = one(&LIMIT);
    let mut used = warm_up(&node, 8).await;
    node.remote.set(Mode::LosesReplies);
    // The store has counted those that fail, but they were not admitted.
    let mut lost = 0;
    for _ in 0..60 {
        match node.limiter.key("a").check().await {
            Ok(decision) => used += u64::from(decision.allowed),
            Err(_) => lost += 1,
        }
        settle().await;
    }
    assert!(lost > 0);
    node.remote.set(Mode::Answers);
    pass(2_000).await;
    let remaining = node.remaining().unwrap();
    assert_eq!(node.stats().prefetched, 0);
    assert!(
        (1_000 - used - lost..=1_000 - used).contains(&remaining),
        "{remaining}, {used}, {lost}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slice_is_spent_while_the_store_is_away() {
    let node = one(&LIMIT);
    warm_up(&node, 16).await;
    node.remote.set(Mode::Fails);
    for _ in 0..16 {
        let decision = node.check().await;
        assert_eq!((decision.source, decision.degraded), (Source::Prefetch, false));
    }
}

#[tokio::test(start_paused = true)]
async fn quota_that_is_spent_when_it_counts_no_more_is_measured() {
    let node = one(&["gcra 1000/s"]);
    // Far from the limit, whatever is spent would have been allowed in any case.
    warm_up(&node, 32).await;
    pass(90).await;
    node.check().await.into_result().unwrap();
    assert_eq!(node.stats().over_admitted, 0);

    let node = one(&["gcra 1000/s"]);
    node.limiter.key("a").cost(900).charge().await.unwrap();
    warm_up(&node, 32).await;
    let (before, mut late) = (node.stats().prefetched, 0);
    // Slowly enough that no further slice is needed, and often enough that this one is kept.
    for _ in 0..9 {
        pass(90).await;
        node.check().await.into_result().unwrap();
        late = node.stats().over_admitted;
    }
    assert_eq!((late, node.stats().prefetched), (9, before - 9));
}

#[tokio::test(start_paused = true)]
async fn a_slice_is_not_spent_in_a_later_window() {
    let node = one(&["sliding-log 1000/s"]);
    warm_up(&node, 32).await;
    for _ in 0..11 {
        pass(90).await;
        assert_eq!(node.check().await.source, Source::Prefetch);
    }
    pass(90).await;
    assert_eq!((node.check().await.source, node.stats().over_admitted), (Source::Store, 0));
}

#[tokio::test(start_paused = true)]
async fn limits_that_cannot_be_taken_ahead_are_decided_by_the_store() {
    for limit in ["ar1 max 1000 decay 2 resolution 1s", "gcra 1000/day count-denied"] {
        let node = one(&[limit]);
        for _ in 0..20 {
            assert_eq!(node.check().await.source, Source::Store);
        }
        assert_eq!(node.remote.call_count(), 20);
    }
}

/// Quota that is taken under one factor is not spent under another: it is not taken if they alternate.
#[tokio::test(start_paused = true)]
async fn limits_that_change_with_every_check_cost_one_call_each() {
    let node = one(&LIMIT);
    for _ in 0..50 {
        for factor in [1, 2] {
            let factor = tollgate::Decimal::from(factor);
            assert!(node.limiter.key("a").factor(factor).check().await.unwrap().allowed);
        }
    }
    assert_eq!(node.remote.call_count(), 100);
    assert!(node.remote.calls().iter().all(|ops| ops.len() == 1));
}

/// A check with an id is decided by the store, and takes nothing ahead for others.
#[tokio::test(start_paused = true)]
async fn checks_with_ids_take_nothing_ahead() {
    let node = one(&LIMIT);
    for used in 1..=50_u64 {
        let id = used.to_le_bytes();
        let decision = node.limiter.key("a").id(&id).check().await.unwrap();
        assert_eq!((decision.source, decision.remaining), (Source::Store, Some(1_000 - used)));
        assert_eq!(node.remaining(), Some(1_000 - used));
    }
}

/// Each of two nodes gives back all that it has not spent.
#[tokio::test(start_paused = true)]
async fn several_nodes_give_back_all_of_their_slices() {
    for limit in ["fixed-window 1000/day", "gcra 1/day burst 1000", "sliding-log 1000/day"] {
        let nodes = Setup::distributed(2, &[limit], Prefetch::default());
        for spent in [4_u64, 10, 3] {
            let before = nodes[0].remaining().unwrap();
            for node in &nodes {
                for _ in 0..spent {
                    node.check().await.into_result().unwrap();
                    settle().await;
                }
            }
            while nodes.iter().any(|node| node.stats().prefetched > 0) {
                pass(1_000).await;
            }
            assert_eq!(nodes[0].remaining(), Some(before - 2 * spent), "{limit}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn different_costs_are_paid_from_one_slice() {
    let node = one(&["gcra 10000/day"]);
    let mut used = 0;
    for cost in (1..=20).cycle().take(200) {
        let decision = node.limiter.key("a").cost(cost).check().await.unwrap();
        used += cost;
        assert!(decision.allowed);
        settle().await;
        assert_eq!(node.remaining(), Some(10_000 - used - node.stats().prefetched));
    }
    assert!(node.stats().decided_by_prefetch > 150);
}

/// As when a reload loosens or tightens a policy.
#[tokio::test(start_paused = true)]
async fn a_slice_that_was_asked_for_under_other_limits_is_given_back() {
    let node = one(&["gcra 1000/h"]);
    node.remote.set(Mode::Waits);
    // The first check asks for nothing ahead; the second for a slice, and its reply is late.
    node.remote.answer();
    assert!(node.check().await.allowed);
    let fetching = node.spawn(1);
    settle().await;
    let tighter = async { node.apply(&["gcra 100/h burst 1000"], &[Act::Check]).await };
    let answers = async {
        settle().await;
        (0..10).for_each(|_| node.remote.answer());
    };
    let (decisions, ()) = tokio::join!(tighter, answers);
    assert!(decisions[0].allowed && fetching.await.unwrap().allowed);
    assert_eq!(node.stats().prefetched, 0, "it is not spent under these limits");
    node.remote.set(Mode::Answers);
    pass(1_000).await;
    assert_eq!(node.remaining(), Some(997), "it was given back");
}

#[tokio::test(start_paused = true)]
async fn what_changes_a_key_goes_before_the_checks_that_follow_it() {
    let node = one(&["gcra 1000/h"]);
    warm_up(&node, 20).await;
    let decisions = node.apply(&["gcra 1000/h"], &[Act::Reset, Act::Check]).await;
    assert_eq!(decisions[1].remaining, Some(999));
}
