//! A node answers by what it knows, and tells the store afterwards.

use std::time::Duration;

use tollgate::layers::{FirstRead, WriteBehind};
use tollgate::{Act, LimitStatuses, Source};

use crate::remote::{Mode, Setup, exhaust, pass, settle};

const LIMIT: [&str; 1] = ["gcra 1000/day"];

fn one(limits: &[&str], settings: WriteBehind) -> Setup {
    Setup::distributed(1, limits, settings).remove(0)
}

#[tokio::test(start_paused = true)]
async fn known_keys_are_answered_here_and_written_afterwards() {
    let node = one(&LIMIT, WriteBehind::default());
    let first = node.check().await;
    assert_eq!((first.source, first.remaining), (Source::Store, Some(999)));
    for used in 2..=30 {
        let decision = node.check().await;
        assert_eq!((decision.source, decision.remaining), (Source::Local, Some(1_000 - used)));
        assert_eq!((decision.limit, decision.degraded), (Some(1_000), false));
    }
    assert_eq!((node.remaining(), node.stats().unwritten), (Some(999), 29));
    pass(11).await;
    assert_eq!((node.remaining(), node.stats().unwritten), (Some(970), 0));
    assert_eq!(node.remote.calls(), [vec![1], vec![29]]);
    assert_eq!(node.stats().decided_locally, 29);
}

#[tokio::test(start_paused = true)]
async fn the_reset_of_an_admission_counts_what_it_took() {
    let limits = [
        ("gcra 600/h burst 2000", 6),
        ("token-bucket 600/h burst 2000", 6),
        ("request-window 2000/h", 0),
        ("sliding-log 2000/h", 0),
    ];
    for (limit, each) in limits {
        let node = one(&[limit], WriteBehind::default());
        let first = node.check().await.reset_after.as_micros();
        for used in 1..=20 {
            let decision = node.check().await;
            assert_eq!(decision.source, Source::Local);
            let later = decision.reset_after.as_micros().abs_diff(first);
            assert_eq!(later.div_ceil(1_000_000), used * each, "{limit}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_cap_checks_wait_for_the_write() {
    let node = one(&LIMIT, WriteBehind::default());
    node.check().await.into_result().unwrap();
    for _ in 0..50 {
        assert_eq!(node.check().await.source, Source::Local);
    }
    let decision = node.check().await;
    assert_eq!((decision.source, decision.remaining), (Source::Store, Some(948)));
    assert_eq!(node.remote.calls(), [vec![1], vec![50, 1]]);
}

/// Beyond the cap the checks of one call follow one write, not each of them a write of its own.
#[tokio::test(start_paused = true)]
async fn checks_of_one_call_share_a_write() {
    let node = one(&LIMIT, WriteBehind::default());
    assert!(node.check().await.allowed);
    let mut decisions = Vec::new();
    for used in [201, 401, 601] {
        node.limiter.check_many(vec!["a"; 200], &mut decisions).await;
        assert!(decisions.iter().all(|decision| decision.as_ref().unwrap().allowed));
        assert_eq!(node.remaining(), Some(1_000 - used));
    }
    // What was admitted here, and each check that the store decided.
    assert_eq!(node.remote.calls()[1].len(), 1 + 150);
    node.limiter.check_many(vec!["a"; 500], &mut decisions).await;
    let allowed = decisions.iter().filter(|decision| decision.as_ref().unwrap().allowed).count();
    assert_eq!((allowed, node.remaining()), (399, Some(0)));
}

#[tokio::test(start_paused = true)]
async fn waiting_checks_share_a_write() {
    let node = one(&LIMIT, WriteBehind::default());
    node.check().await.into_result().unwrap();
    node.remote.set(Mode::Waits);
    let checks: Vec<_> = (0..60).map(|_| node.spawn(1)).collect();
    settle().await;
    node.remote.answer();
    let mut sources = Vec::new();
    for check in checks {
        sources.push(check.await.unwrap().source);
    }
    // 50 at once, one with the write, and the rest after it.
    assert_eq!(sources.iter().filter(|source| **source == Source::Store).count(), 1);
    assert_eq!(node.remote.calls(), [vec![1], vec![50, 1]]);
}

#[tokio::test(start_paused = true)]
async fn a_node_alone_is_exact() {
    for callers in [1, 7, 100] {
        let node = Setup::distributed(1, &LIMIT, WriteBehind::default());
        assert_eq!(exhaust(&node, callers).await, 1_000);
        assert_eq!(node[0].stats().over_admitted, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_exceed_a_limit_by_one_cap_for_each_other_at_most() {
    for (nodes, callers, delay) in [(2, 10, 1), (4, 50, 3), (3, 1, 15)] {
        let all = Setup::distributed(nodes, &LIMIT, WriteBehind::default());
        all[0].remote.set(Mode::Slow(delay));
        let admitted = exhaust(&all, callers).await;
        let most = 1_000 + (u64::from(nodes) - 1) * 50;
        assert!((1_000..=most).contains(&admitted), "{admitted} with {nodes} nodes");
        pass(50).await;
        let over: u64 = all.iter().map(|node| node.stats().over_admitted).sum();
        assert!(over <= admitted - 1_000, "{over} of {admitted}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_admitted_beyond_the_limit_is_measured() {
    let nodes = Setup::distributed(2, &LIMIT, WriteBehind::default());
    for node in &nodes {
        node.limiter.key("a").cost(450).check().await.unwrap().into_result().unwrap();
        // The store decided it, as it is beyond the cap.
        assert_eq!(node.stats().unwritten, 0);
    }
    // Both know that 50 and 100 remain, and take 49 of them at the same instant.
    nodes[0].limiter.key("a").cost(0).check().await.unwrap().into_result().unwrap();
    for node in &nodes {
        node.limiter.key("a").cost(40).check().await.unwrap().into_result().unwrap();
    }
    pass(11).await;
    assert_eq!(node_sum(&nodes, |node| node.stats().unwritten), 0);
    assert_eq!(nodes[0].remaining(), Some(20));
    for _ in 0..19 {
        for node in &nodes {
            node.check().await.into_result().unwrap();
        }
    }
    pass(11).await;
    assert_eq!(node_sum(&nodes, |node| node.stats().over_admitted), 18);
}

fn node_sum(nodes: &[Setup], of: impl Fn(&Setup) -> u64) -> u64 {
    nodes.iter().map(of).sum()
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_reply_is_lost_is_repeated_and_counts_once() {
    let node = one(&LIMIT, WriteBehind::default());
    node.check().await.into_result().unwrap();
    for _ in 0..10 {
        node.check().await.into_result().unwrap();
    }
    node.remote.set(Mode::LosesReplies);
    pass(11).await;
    assert_eq!((node.remaining(), node.stats().unwritten), (Some(989), 10));
    node.remote.set(Mode::Answers);
    pass(1_000).await;
    assert_eq!((node.remaining(), node.stats().unwritten), (Some(989), 0));
    // What the answer to a repeated write says is old: the store decides the next check.
    let decision = node.check().await;
    assert_eq!((decision.source, decision.remaining), (Source::Store, Some(988)));
}

#[tokio::test(start_paused = true)]
async fn without_the_store_the_failure_mode_decides_and_nothing_is_lost() {
    let node = one(&LIMIT, WriteBehind::default());
    for _ in 0..11 {
        node.check().await.into_result().unwrap();
    }
    node.remote.set(Mode::Fails);
    pass(15).await;
    assert!(node.limiter.key("a").check().await.unwrap_err().is_unavailable());
    assert_eq!(node.stats().unwritten, 10);
    node.remote.set(Mode::Answers);
    pass(2_000).await;
    assert_eq!((node.remaining(), node.stats().unwritten), (Some(989), 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_does_not_count_any_more_is_forgotten() {
    let node = one(&["fixed-window 1000/s"], WriteBehind::default());
    for _ in 0..11 {
        node.check().await.into_result().unwrap();
    }
    node.remote.set(Mode::Silent);
    pass(5_000).await;
    assert_eq!(node.stats().unwritten, 0);
}

#[tokio::test(start_paused = true)]
async fn other_operations_go_straight_to_the_store_after_what_is_unwritten() {
    let node = one(&LIMIT, WriteBehind::default());
    let key = || node.limiter.key("a");
    for _ in 0..11 {
        node.check().await.into_result().unwrap();
    }
    let by_id = key().id("x").check().await.unwrap();
    assert_eq!((by_id.source, by_id.remaining), (Source::Store, Some(988)));
    node.check().await.into_result().unwrap();
    assert_eq!(node.check().await.source, Source::Local);
    let large = key().cost(51).check().await.unwrap();
    assert_eq!((large.source, large.remaining), (Source::Store, Some(935)));
    assert_eq!(node.check().await.source, Source::Local);
    assert_eq!(key().reset().await.unwrap().remaining, Some(1_000));
    assert_eq!((node.check().await.remaining, node.stats().unwritten), (Some(999), 0));
    let peek = key().peek().await.unwrap();
    assert_eq!((peek.source, peek.remaining), (Source::Local, Some(999)));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_can_be_taken_for_a_fresh_one() {
    let node = one(&LIMIT, WriteBehind::default().with_read(FirstRead::None));
    let decision = node.check().await;
    assert_eq!((decision.source, decision.remaining), (Source::Local, Some(999)));
    assert_eq!(node.remote.call_count(), 0);
    pass(11).await;
    assert_eq!(node.remaining(), Some(999));
}

#[tokio::test(start_paused = true)]
async fn all_limits_of_a_policy_count() {
    let limits = ["gcra 1000/day", "gcra 90000/day of tokens"];
    let node = one(&limits, WriteBehind::default());
    let check = async |tokens| {
        let each = LimitStatuses::default();
        let request = node.limiter.key("a").cost_of("tokens", tokens).statuses(&each);
        let decision = request.check().await.unwrap();
        (
            decision.source,
            each.to_vec().iter().map(|one| one.remaining.unwrap()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(check(1_000).await, (Source::Store, vec![999, 89_000]));
    assert_eq!(check(500).await, (Source::Local, vec![998, 88_500]));
    pass(11).await;
    assert_eq!(check(500).await, (Source::Local, vec![997, 88_000]));
    // 4,500 tokens may be unwritten.
    assert_eq!(check(4_001).await, (Source::Store, vec![996, 83_999]));
}

#[tokio::test(start_paused = true)]
async fn limits_of_different_subjects_are_decided_by_the_store() {
    let node = one(&["gcra 1000/day per ip", "gcra 1000/day per user"], WriteBehind::default());
    for _ in 0..3 {
        let keys = node.limiter.keys(&[("ip", "a"), ("user", "b")]);
        assert_eq!(keys.check().await.unwrap().source, Source::Store);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_can_write_the_rest() {
    let node = one(&LIMIT, WriteBehind::default().with_flush(Duration::from_secs(1)));
    for _ in 0..11 {
        node.check().await.into_result().unwrap();
    }
    node.layers().flush().await;
    assert_eq!((node.remaining(), node.stats().unwritten), (Some(989), 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_leaves_nothing_behind() {
    let node = one(&LIMIT, WriteBehind::default());
    for _ in 0..51 {
        node.check().await.into_result().unwrap();
    }
    node.remote.set(Mode::Waits);
    let check = node.spawn(1);
    settle().await;
    check.abort();
    settle().await;
    node.remote.set(Mode::Answers);
    pass(1_000).await;
    assert_eq!((node.remaining(), node.stats().unwritten), (Some(949), 0));
}

/// As after a reload.
#[tokio::test(start_paused = true)]
async fn a_policy_that_has_another_number_of_limits_is_answered_here_again() {
    let node = one(&LIMIT, WriteBehind::default());
    node.check().await.into_result().unwrap();
    assert_eq!(node.check().await.source, Source::Local);
    pass(20).await;
    let limits = ["gcra 1000/day", "fixed-window 500/day"];
    let mut sources = Vec::new();
    for _ in 0..3 {
        sources.push(node.apply(&limits, &[Act::Check]).await[0].source);
        pass(20).await;
    }
    assert_eq!(sources, [Source::Store, Source::Local, Source::Local]);
}
