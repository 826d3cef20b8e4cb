//! While a key's slot moves between the nodes of a cluster, nothing is counted twice or not at all.
//!
//! Three runs for each policy, twenty with `TOLLGATE_LONG=1`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[allow(dead_code, reason = "other tests need the rest of it")]
mod asking;
mod crew;
mod quiet;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use asking::{Wish, ask_all, in_words};
use crew::{Crew, Job, ask, parse, runs, say};
use quiet::wait_for_a_quiet_week;
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

/// Not a test of its own: what the processes of the crew run.
#[test]
fn worker() {
    crew::work_if_told();
}

#[test]
fn nothing_is_lost_or_counted_twice_while_a_slot_moves() {
    let Some(cluster) = Cluster::start() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(crew::connect(&cluster.url()));
    let mut crew = Crew::new(&cluster.url());
    for policy in POLICIES {
        let (started, before) = (Instant::now(), redirections(&cluster));
        let mut moves = 0;
        for run in 1..=runs() {
            wait_for_a_quiet_week();
            let job = Job::new(policy, run);
            let slot = runtime.block_on(slot_of(&store, &cluster, &job));
            let tally = while_moving(&cluster, slot, &mut moves, || crew.do_together(&job));
            assert_eq!(tally, job.expected(LIMIT), "{policy:?}, run {run}");
            let limits = parse(&job.limits);
            let first = &limits[..1];
            let peek = runtime.block_on(ask(&store, (&job.key, first), Act::Peek, 1)).remove(0);
            let left = first[0].capacity().unwrap() - LIMIT;
            assert_eq!(peek.unwrap().remaining, Some(left), "{policy:?}, run {run}");
        }
        let after = redirections(&cluster);
        let (moved, asked) = (after.moved - before.moved, after.asked - before.asked);
        say(&format!(
            "{policy:?}: {} runs in {:?}, {moves} moves, {moved} MOVED, {asked} ASK",
            runs(),
            started.elapsed(),
        ));
        assert!(moved > 0, "{policy:?}: no call was sent to a node that had lost the slot");
        assert!(asked > 0, "{policy:?}: no call met a slot on the move");
    }
}

/// What an id remembers lies beside the state, under a key of its own. While one of the two has moved
/// and the other has not, nobody can have both, and the call waits.
#[test]
fn ids_move_with_their_key() {
    const TASKS: u32 = 64;
    const TURNS: u32 = 40;
    let Some(cluster) = Cluster::start() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(crew::connect(&cluster.url()));
    let lines = ["gcra 1/7day burst 1000", "sliding-log 2000/7day"];
    let job = Job::new(&lines, 1);
    let policy = Policy::parse(crew::policy(), lines).unwrap();
    let slot = runtime.block_on(slot_of(&store, &cluster, &job));
    let task = async |task: u32| {
        let mut admitted = 0;
        for turn in 0..TURNS {
            let check = Wish::new(&policy, &job.key, Act::Check, 1);
            let check = check.with_id(&format!("{task}/{turn}"));
            // A retry with the same id, in the same call and in the next.
            let answers = ask_all(&store, &[check.clone(), check.clone()]).await;
            let again = ask_all(&store, &[check]).await;
            let allowed = |answer: &Result<Decision, StoreError>| match answer {
                Ok(decision) => decision.allowed,
                Err(error) => panic!("{}", in_words(error)),
            };
            admitted += u32::from(answers.iter().chain(&again).any(allowed));
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
    say(&format!("with ids: {moves} moves, {waits} TRYAGAIN"));
    assert_eq!(u64::from(admitted), LIMIT);
    assert!(after.moved > before.moved && after.asked > before.asked && waits > 0);
}

/// An operation with an id has to wait where one without could be done at once: it must not be
/// overtaken by those behind it.
#[test]
fn a_batch_keeps_its_order_while_its_slot_moves() {
    let Some(cluster) = Cluster::start() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(crew::connect(&cluster.url()));
    let job = Job::new(&["gcra 1/7day burst 1000"], 1);
    let policy = Policy::parse(crew::policy(), &job.limits).unwrap();
    let slot = runtime.block_on(slot_of(&store, &cluster, &job));
    let wish = |act, cost| Wish::new(&policy, &job.key, act, cost);
    runtime.block_on(ask_all(&store, &[wish(Act::Charge, 1)])).remove(0).unwrap();

    let from = cluster.owner_of(slot);
    let to = cluster.primaries().into_iter().find(|primary| *primary != from).unwrap();
    cluster.begin_move(slot, from, to);
    let answers = thread::scope(|scope| {
        let mover = scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            cluster.move_keys(slot, from, to);
            cluster.finish_move(slot, to);
        });
        let batch = [wish(Act::Charge, 5).with_id("id"), wish(Act::Peek, 1)];
        let answers = runtime.block_on(ask_all(&store, &batch));
        mover.join().unwrap();
        answers
    });
    let left = answers.into_iter().map(|answer| answer.unwrap().remaining.unwrap());
    assert_eq!(left.collect::<Vec<_>>(), [LIMIT - 6, LIMIT - 6]);
}

/// Behind some proxies a node names only the port of another: it is on the same host.
#[test]
fn nodes_that_do_not_say_their_host() {
    let Some(cluster) = Cluster::start() else { return };
    for node in cluster.nodes() {
        node.order(&["config", "set", "cluster-preferred-endpoint-type", "unknown-endpoint"]);
    }
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(crew::connect(&cluster.url()));
    let job = Job::new(&["gcra 1/7day burst 1000"], 1);
    let slot = runtime.block_on(slot_of(&store, &cluster, &job));
    let limits = parse(&job.limits);
    let left = || {
        let answer = runtime.block_on(ask(&store, (&job.key, &limits), Act::Check, 1)).remove(0);
        answer.map_err(|error| in_words(&error)).unwrap().remaining
    };
    let (from, before) = (cluster.owner_of(slot), redirections(&cluster));
    let to = cluster.primaries().into_iter().find(|primary| *primary != from).unwrap();
    cluster.begin_move(slot, from, to);
    assert_eq!(left(), Some(LIMIT - 1), "told to ask elsewhere");
    cluster.move_keys(slot, from, to);
    cluster.finish_move(slot, to);
    assert_eq!(left(), Some(LIMIT - 2), "told that it has moved");
    let after = redirections(&cluster);
    assert!(after.moved > before.moved && after.asked > before.asked);
}

/// Does something while a slot moves from one primary to the next, over and over.
fn while_moving<T>(cluster: &Cluster, slot: u16, moves: &mut u32, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    let primaries = cluster.primaries();
    let owner = cluster.owner_of(slot);
    let mut from = primaries.iter().position(|primary| *primary == owner).unwrap();
    // Already under way when the work begins: the key is new, and comes to be on the other side.
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

/// The slot of a job's key, which is left as if it had never been used.
async fn slot_of(store: &RedisStore, cluster: &Cluster, job: &Job) -> u16 {
    let limits = parse(&job.limits);
    let before = all_keys(cluster);
    let ask = async |act| {
        let answer = ask(store, (&job.key, &limits), act, 1).await.remove(0);
        assert!(answer.unwrap().allowed);
    };
    ask(Act::Check).await;
    let key = all_keys(cluster).into_iter().find(|key| !before.contains(key)).unwrap();
    ask(Act::Reset).await;
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

/// How often any node has sent a call elsewhere.
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
