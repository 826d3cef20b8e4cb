//! While a key's slot moves between the nodes of a cluster, every check is counted exactly once.
//!
//! Three runs for each policy, twenty with `TOLLGATE_LONG=1`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::calendar::wait_for_a_quiet_week;
use support::errors::with_causes;
use support::operations::{Operation, apply_all, connect};
use support::workers::{
    Job, Workers, apply_times, parse_limits, policy_name, print_line, run_worker, runs,
};
use tokio::runtime::Runtime;
use tollgate_core::{Act, Decision, Policy, StoreError};
use tollgate_fixtures::{Cluster, Server};
use tollgate_redis::RedisStore;

const LIMIT: u64 = 1_000;

const POLICIES: [&[&str]; 5] = [
    &["gcra 1/7day burst 1000"],
    &["fixed-window 1000/7day"],
    &["sliding-log 1000/7day"],
    &["concurrency 1000 ttl 1h"],
    &["gcra 1/7day burst 3000", "sliding-window 1000/7day"],
];

/// Not a test of its own: what the worker processes run.
#[test]
fn worker() {
    run_worker();
}

#[test]
fn nothing_is_lost_or_counted_twice_while_a_slot_moves() {
    let Some(cluster) = Cluster::start() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&cluster.url(), "tg"));
    let mut workers = Workers::start(&cluster.url());
    for policy in POLICIES {
        let (started, before) = (Instant::now(), redirections(&cluster));
        let mut moves = 0;
        for run in 1..=runs() {
            wait_for_a_quiet_week();
            let job = Job::new(policy, run);
            let slot = runtime.block_on(slot_of(&store, &cluster, &job));
            let tally = while_moving(&cluster, slot, &mut moves, || workers.run(&job));
            assert_eq!(tally, job.expected(LIMIT), "{policy:?}, run {run}");
            let limits = parse_limits(&job.limits);
            let first = &limits[..1];
            let peek =
                runtime.block_on(apply_times(&store, (&job.key, first), Act::Peek, 1)).remove(0);
            let left = first[0].capacity().unwrap() - LIMIT;
            assert_eq!(peek.unwrap().remaining, Some(left), "{policy:?}, run {run}");
        }
        let after = redirections(&cluster);
        let (moved, asked) = (after.moved - before.moved, after.asked - before.asked);
        print_line(&format!(
            "{policy:?}: {} runs in {:?}, {moves} moves, {moved} MOVED, {asked} ASK",
            runs(),
            started.elapsed(),
        ));
        assert!(moved > 0, "{policy:?}: no call was sent to a node that had lost the slot");
        assert!(asked > 0, "{policy:?}: no call met a slot on the move");
    }
}

/// The replies of an id have a key of their own beside the state's. While one of the two keys has moved and
/// the other has not, no node has both, and the call waits.
#[test]
fn ids_move_with_their_key() {
    const TASKS: u32 = 64;
    const TURNS: u32 = 40;
    let Some(cluster) = Cluster::start() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&cluster.url(), "tg"));
    let lines = ["gcra 1/7day burst 1000", "sliding-log 2000/7day"];
    let job = Job::new(&lines, 1);
    let policy = Policy::parse(policy_name(), lines).unwrap();
    let slot = runtime.block_on(slot_of(&store, &cluster, &job));
    let task = async |task: u32| {
        let mut admitted = 0;
        for turn in 0..TURNS {
            let check = Operation::new(&policy, &job.key, Act::Check, 1);
            let check = check.with_id(&format!("{task}/{turn}"));
            // A retry with the same id, in the same call and in the next.
            let results = apply_all(&store, &[check.clone(), check.clone()]).await;
            let again = apply_all(&store, &[check]).await;
            let allowed = |result: &Result<Decision, StoreError>| match result {
                Ok(decision) => decision.allowed,
                Err(error) => panic!("{}", with_causes(error)),
            };
            admitted += u32::from(results.iter().chain(&again).any(allowed));
        }
        admitted
    };
    let (before, mut moves) = (redirections(&cluster), 0);
    let admitted: u32 = while_moving(&cluster, slot, &mut moves, || {
        let tasks = async { futures_util::future::join_all((0..TASKS).map(task)).await };
        runtime.block_on(tasks).iter().sum()
    });
    let after = redirections(&cluster);
    let waits = after.waits - before.waits;
    print_line(&format!("with ids: {moves} moves, {waits} TRYAGAIN"));
    assert_eq!(u64::from(admitted), LIMIT);
    assert!(after.moved > before.moved && after.asked > before.asked && waits > 0);
}

/// An operation with an id has to wait where one without could be done at once. Those behind it must not
/// overtake it.
#[test]
fn a_batch_keeps_its_order_while_its_slot_moves() {
    let Some(cluster) = Cluster::start() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&cluster.url(), "tg"));
    let job = Job::new(&["gcra 1/7day burst 1000"], 1);
    let policy = Policy::parse(policy_name(), &job.limits).unwrap();
    let slot = runtime.block_on(slot_of(&store, &cluster, &job));
    let operation = |act, cost| Operation::new(&policy, &job.key, act, cost);
    let _ = runtime.block_on(apply_all(&store, &[operation(Act::Charge, 1)])).remove(0).unwrap();

    let from = cluster.owner_of(slot);
    let to = cluster.primaries().into_iter().find(|primary| *primary != from).unwrap();
    cluster.begin_move(slot, from, to);
    let results = thread::scope(|scope| {
        let mover = scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            cluster.move_keys(slot, from, to);
            cluster.finish_move(slot, to);
        });
        let batch = [operation(Act::Charge, 5).with_id("id"), operation(Act::Peek, 1)];
        let results = runtime.block_on(apply_all(&store, &batch));
        mover.join().unwrap();
        results
    });
    let left = results.into_iter().map(|result| result.unwrap().remaining.unwrap());
    assert_eq!(left.collect::<Vec<_>>(), [LIMIT - 6, LIMIT - 6]);
}

/// The key of a subject becomes a hash by a deletion and a new value. A node whose slot is on the move writes no key
/// that it has not: the operation has to wait until the key has moved, and nothing may be lost.
#[test]
fn a_key_becomes_a_hash_while_its_slot_moves() {
    let Some(cluster) = Cluster::start() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&cluster.url(), "tg"));
    let job = Job::new(&["sliding-log 1000/7day"], 1);
    let policy = Policy::parse(policy_name(), &job.limits).unwrap();
    let slot = runtime.block_on(slot_of(&store, &cluster, &job));
    let apply = |act, cost, count: usize| {
        let operation = Operation::new(&policy, &job.key, act, cost);
        let results = runtime.block_on(apply_all(&store, &vec![operation; count]));
        let left = results.into_iter().map(|result| match result {
            Ok(decision) => decision.remaining.unwrap(),
            Err(error) => panic!("{}", with_causes(&error)),
        });
        left.last().unwrap()
    };
    assert_eq!(apply(Act::Charge, 1, 100), LIMIT - 100);

    let from = cluster.owner_of(slot);
    let to = cluster.primaries().into_iter().find(|primary| *primary != from).unwrap();
    cluster.begin_move(slot, from, to);
    thread::scope(|scope| {
        let mover = scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            cluster.move_keys(slot, from, to);
            cluster.finish_move(slot, to);
        });
        // Where a part becomes a block, and the key a hash.
        assert_eq!(apply(Act::Charge, 1, 100), LIMIT - 200);
        mover.join().unwrap();
    });
    assert_eq!(apply(Act::Peek, 1, 1), LIMIT - 200);
}

/// Behind some proxies a node names only the port of another: it is on the same host.
#[test]
fn nodes_that_do_not_say_their_host() {
    let Some(cluster) = Cluster::start() else { return };
    for node in cluster.nodes() {
        node.order(&["config", "set", "cluster-preferred-endpoint-type", "unknown-endpoint"]);
    }
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&cluster.url(), "tg"));
    let job = Job::new(&["gcra 1/7day burst 1000"], 1);
    let slot = runtime.block_on(slot_of(&store, &cluster, &job));
    let limits = parse_limits(&job.limits);
    let left = || {
        let result =
            runtime.block_on(apply_times(&store, (&job.key, &limits), Act::Check, 1)).remove(0);
        result.map_err(|error| with_causes(&error)).unwrap().remaining
    };
    let (from, before) = (cluster.owner_of(slot), redirections(&cluster));
    let to = cluster.primaries().into_iter().find(|primary| *primary != from).unwrap();
    cluster.begin_move(slot, from, to);
    assert_eq!(left(), Some(LIMIT - 1), "after an ASK redirection");
    cluster.move_keys(slot, from, to);
    cluster.finish_move(slot, to);
    assert_eq!(left(), Some(LIMIT - 2), "after a MOVED redirection");
    let after = redirections(&cluster);
    assert!(after.moved > before.moved && after.asked > before.asked);
}

/// Runs `work` while a slot moves from one primary to the next, over and over.
fn while_moving<T>(cluster: &Cluster, slot: u16, moves: &mut u32, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    let primaries = cluster.primaries();
    let owner = cluster.owner_of(slot);
    let mut from = primaries.iter().position(|primary| *primary == owner).unwrap();
    // The first move begins before the work: so the key, which is new, is created on the other node.
    let next = (from + 1) % primaries.len();
    cluster.begin_move(slot, owner, primaries[next]);
    thread::scope(|scope| {
        let mover = scope.spawn(|| {
            loop {
                let to = (from + 1) % primaries.len();
                cluster.move_keys(slot, primaries[from], primaries[to]);
                cluster.finish_move(slot, primaries[to]);
                (from, *moves) = (to, *moves + 1);
                if done.load(Ordering::Relaxed) {
                    return;
                }
                cluster.begin_move(slot, primaries[from], primaries[(from + 1) % primaries.len()]);
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        mover.join().unwrap();
        result
    })
}

/// Returns the slot of a job's key, which is left as if it had never been used.
async fn slot_of(store: &RedisStore, cluster: &Cluster, job: &Job) -> u16 {
    let limits = parse_limits(&job.limits);
    let before = all_keys(cluster);
    let apply = async |act| {
        let result = apply_times(store, (&job.key, &limits), act, 1).await.remove(0);
        assert!(result.unwrap().allowed);
    };
    apply(Act::Check).await;
    let key = all_keys(cluster).into_iter().find(|key| !before.contains(key)).unwrap();
    apply(Act::Reset).await;
    cluster.nodes()[0].cli(&["cluster", "keyslot", &key]).parse().unwrap()
}

fn all_keys(cluster: &Cluster) -> Vec<String> {
    let keys = |node: &usize| cluster.nodes()[*node].cli(&["keys", "*"]);
    let all: Vec<String> = cluster.primaries().iter().map(keys).collect();
    all.iter().flat_map(|keys| keys.lines().map(str::to_owned)).collect()
}

struct Redirections {
    moved: u64,
    asked: u64,
    waits: u64,
}

/// Counts how often the nodes have redirected a call.
fn redirections(cluster: &Cluster) -> Redirections {
    let sum = |name| cluster.nodes().iter().map(|node| errors(node, name)).sum();
    Redirections { moved: sum("MOVED"), asked: sum("ASK"), waits: sum("TRYAGAIN") }
}

fn errors(node: &Server, name: &str) -> u64 {
    let stats = node.cli(&["info", "errorstats"]);
    let start = format!("errorstat_{name}:count=");
    let count = stats.lines().find_map(|line| line.trim().strip_prefix(&start));
    count.map_or(0, |count| count.parse().unwrap())
}
