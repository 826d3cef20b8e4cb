//! Subjects on different nodes of a cluster, when a node or the caller fails in the middle of an operation.

use std::time::Duration;

use tollgate_core::Act;
use tollgate_fixtures::Cluster;
use tollgate_redis::RedisStore;

use crate::client::{Client, apply_unbounded, assert_unavailable, unavailable};
use crate::cross_slot::{cluster, flush_all};
use crate::guards::Paused;
use crate::operations::{KeyedPolicy, Operation};

/// Returns a policy with two subjects on two nodes, and the node of the second.
fn on_two_nodes(cluster: &Cluster, client: &Client, lines: &[&str]) -> (KeyedPolicy, usize) {
    let node_of = |policy: &KeyedPolicy| {
        flush_all(cluster);
        let _ = client.apply(policy.check()).unwrap();
        let used = |node: &usize| cluster.nodes()[*node].cli(&["dbsize"]) != "0";
        cluster.primaries().into_iter().find(used).unwrap()
    };
    let first = node_of(&KeyedPolicy::new(&lines[..1], &[("user", "a")]));
    for number in 0.. {
        let ip = format!("x{number}");
        let second = node_of(&KeyedPolicy::new(&lines[1..], &[("ip", &ip)]));
        if second != first {
            flush_all(cluster);
            return (KeyedPolicy::new(lines, &[("user", "a"), ("ip", &ip)]), second);
        }
    }
    unreachable!("some key lies on another node")
}

const TWO: [&str; 2] = ["gcra 1/day burst 10 per user", "gcra 1/day burst 10 per ip"];
const COST: u64 = 2;
/// A response timeout that is over soon.
const SHORT: Duration = Duration::from_millis(300);

/// Runs a test with a cluster, a patient client, two subjects on two nodes, and the second of these nodes.
fn with_two_nodes(test: impl FnOnce(&Cluster, &Client, &KeyedPolicy, usize)) {
    let cluster = cluster();
    let Some(cluster) = &*cluster else { return };
    let client = Client::connect(&cluster.url());
    let (policy, second) = on_two_nodes(cluster, &client, &TWO);
    open_all(cluster, &client, &policy);
    test(cluster, &client, &policy, second);
}

/// Opens all connections of a client and loads all scripts.
fn open_all(cluster: &Cluster, client: &Client, policy: &KeyedPolicy) {
    let _ = client.apply_until_healed(policy.check());
    let _ = client.apply_until_healed(policy.check().id("warm"));
    flush_all(cluster);
}

/// Returns a client with a short timeout, for calls that a paused node does not answer. It does not count what is
/// admitted: on a busy machine other nodes are late, too.
fn impatient(cluster: &Cluster, policy: &KeyedPolicy, timeout: Duration) -> Client {
    let client = Client::build(RedisStore::builder(&cluster.url()).response_timeout(timeout));
    open_all(cluster, &client, policy);
    client
}

/// Returns how many checks are admitted from now on.
fn admitted(client: &Client, policy: &KeyedPolicy) -> u64 {
    let _ = client.apply_until_healed(policy.peek());
    let allowed = (0..20).filter(|_| client.apply(policy.check()).unwrap().allowed);
    u64::try_from(allowed.count()).unwrap()
}

/// One node replies and the other does not. Nothing is admitted, and at most the cost stays charged.
#[test]
fn one_node_does_not_reply() {
    with_two_nodes(|cluster, client, policy, second| {
        let impatient = impatient(cluster, policy, SHORT);
        let paused = Paused::new(&cluster.nodes()[second]);
        assert_unavailable(impatient.apply(policy.operation(Act::Check, COST)), "timed out");
        drop(paused);
        let admitted = admitted(client, policy);
        assert!((10 - COST..=10).contains(&admitted), "{admitted}");
    });
}

/// The same, and a retry with the same id: counted once, whatever was done the first time.
#[test]
fn one_node_does_not_reply_and_the_caller_retries() {
    with_two_nodes(|cluster, client, policy, second| {
        let impatient = impatient(cluster, policy, SHORT);
        let check = policy.operation(Act::Check, COST).id("once");
        let paused = Paused::new(&cluster.nodes()[second]);
        assert_unavailable(impatient.apply(check), "timed out");
        drop(paused);
        let (decision, _) = impatient.apply_until_healed(check);
        assert_eq!((decision.allowed, decision.remaining), (true, Some(10 - COST)));
        assert_eq!(admitted(client, policy), 10 - COST);
    });
}

/// A slow node must not fail calls to another node which have to be sent again, here because that node does
/// not know the script.
#[test]
fn a_slow_node_does_not_fail_the_calls_to_others() {
    /// Enough for a node that is only slow because the machine is busy.
    const TIMEOUT: Duration = Duration::from_secs(5);
    with_two_nodes(|cluster, _, policy, second| {
        let client = impatient(cluster, policy, TIMEOUT);
        let ip = policy.key_of("ip");
        let slow = KeyedPolicy::new(&TWO[1..], &[("ip", &ip)]);
        let fast = KeyedPolicy::new(&TWO[..1], &[("user", "a")]);
        for primary in cluster.primaries() {
            cluster.nodes()[primary].cli(&["script", "flush"]);
        }
        let paused = Paused::new(&cluster.nodes()[second]);
        let results = client.apply_all(&[slow.check(), fast.check()], None);
        drop(paused);
        let [slow, fast] = <[_; 2]>::try_from(results).unwrap();
        assert_unavailable(slow, "timed out");
        assert_eq!(fast.map_err(|error| unavailable(&error)).unwrap().remaining, Some(9));
    });
}

/// Starts an operation, and drops it before the second node replies.
fn drop_in_between(cluster: &Cluster, client: &Client, operation: Operation<'_>, second: usize) {
    let paused = Paused::new(&cluster.nodes()[second]);
    let dropped = client.runtime.block_on(async {
        let operations = [operation];
        let applying = apply_unbounded(&client.store, &operations, None);
        tokio::time::timeout(Duration::from_millis(100), applying).await.is_err()
    });
    drop(paused);
    assert!(dropped);
}

#[test]
fn the_caller_dies_in_between() {
    with_two_nodes(|cluster, client, policy, second| {
        let mut left = 10;
        for _ in 0..3 {
            drop_in_between(cluster, client, policy.operation(Act::Check, COST), second);
            let now = client.apply_until_healed(policy.peek()).0.remaining.unwrap();
            assert!((left - COST..=left).contains(&now), "{left} {now}");
            left = now;
        }
        assert_eq!(admitted(client, policy), left);
    });
}

#[test]
fn the_caller_dies_in_between_and_retries() {
    with_two_nodes(|cluster, client, policy, second| {
        let check = policy.operation(Act::Check, COST).id("once");
        drop_in_between(cluster, client, check, second);
        let (decision, _) = client.apply_until_healed(check);
        assert_eq!((decision.allowed, decision.remaining), (true, Some(10 - COST)));
        assert_eq!(admitted(client, policy), 10 - COST);
    });
}

/// A node without memory is no obstacle where nothing has to be written.
#[test]
fn one_node_has_no_memory_and_no_cost() {
    with_two_nodes(|cluster, client, policy, second| {
        let node = &cluster.nodes()[second];
        node.cli(&["config", "set", "maxmemory", "1"]);
        for act in [Act::Check, Act::Charge, Act::Refund] {
            assert!(client.apply(policy.operation(act, 0).costs(&[COST])).unwrap().allowed);
        }
        node.cli(&["config", "set", "maxmemory", "0"]);
        assert_eq!(client.remaining(policy.peek()), 10 - COST);
    });
}

/// A node rejects the call: what the others took is given back at once.
#[test]
fn one_node_has_no_memory() {
    with_two_nodes(|cluster, client, policy, second| {
        let node = &cluster.nodes()[second];
        node.cli(&["config", "set", "maxmemory", "1"]);
        for operation in [policy.operation(Act::Check, COST), policy.operation(Act::Charge, COST)] {
            let with_id = operation.id("some");
            for operation in [operation, with_id] {
                let error = unavailable(&client.apply(operation).expect_err("no memory"));
                assert!(error.contains("OOM"), "{error}");
            }
        }
        node.cli(&["config", "set", "maxmemory", "0"]);
        // Of what has begun to drain meanwhile, whole units are given back.
        assert!((9..=10).contains(&client.remaining(policy.peek())));
        assert_eq!(client.remaining(policy.operation(Act::Reset, 0)), 10);
        let check = policy.operation(Act::Check, COST).id("some");
        assert_eq!((client.remaining(check), client.remaining(check)), (10 - COST, 10 - COST));
        let charge = policy.operation(Act::Charge, COST).id("some");
        assert_eq!(client.remaining(charge), 10 - 2 * COST);
        assert_eq!(client.remaining(policy.peek()), 10 - 2 * COST);
        assert_eq!(admitted(client, policy), 10 - 2 * COST);
    });
}
