//! Subjects on different nodes of a cluster, when one of the nodes, or whoever asks, fails in between.

use std::time::Duration;

use tollgate_core::Act;
use tollgate_fixtures::Cluster;
use tollgate_redis::RedisStore;

use crate::client::{Client, answers_if_any, assert_unavailable, unavailable};
use crate::cross_slot::{cluster, forget_all};
use crate::guards::Paused;
use crate::plan::{Ask, Plan};

/// Two subjects on two nodes, and the node of the second.
fn on_two_nodes(cluster: &Cluster, client: &Client, lines: &[&str]) -> (Plan, usize) {
    let node_of = |plan: &Plan| {
        forget_all(cluster);
        client.ask(plan.check()).unwrap();
        let used = |node: &usize| cluster.nodes()[*node].cli(&["dbsize"]) != "0";
        cluster.primaries().into_iter().find(used).unwrap()
    };
    let first = node_of(&Plan::new(&lines[..1], &[("user", "a")]));
    for number in 0.. {
        let ip = format!("x{number}");
        let second = node_of(&Plan::new(&lines[1..], &[("ip", &ip)]));
        if second != first {
            forget_all(cluster);
            return (Plan::new(lines, &[("user", "a"), ("ip", &ip)]), second);
        }
    }
    unreachable!("some number lies on another node")
}

const TWO: [&str; 2] = ["gcra 1/day burst 10 per user", "gcra 1/day burst 10 per ip"];
const COST: u64 = 2;

/// A cluster, a client with a short deadline, two subjects on two nodes, and the second of these.
fn with_two_nodes(test: impl FnOnce(&Cluster, &Client, &Plan, usize)) {
    let cluster = cluster();
    let Some(cluster) = &*cluster else { return };
    let builder = RedisStore::builder(&cluster.url()).response_timeout(Duration::from_millis(300));
    let client = Client::try_connect(builder).unwrap();
    let (plan, second) = on_two_nodes(cluster, &client, &TWO);
    // With all connections made, and all scripts known.
    client.ask(plan.check()).unwrap();
    client.ask(plan.check().id("warm")).unwrap();
    forget_all(cluster);
    test(cluster, &client, &plan, second);
}

/// How many checks of one are admitted from now on.
fn admitted(client: &Client, plan: &Plan) -> u64 {
    client.ask_until_healed(plan.peek());
    let allowed = (0..20).filter(|_| client.ask(plan.check()).unwrap().allowed);
    u64::try_from(allowed.count()).unwrap()
}

/// One place answers and the other does not. Nothing is admitted, and at most its cost stays charged.
#[test]
fn one_place_does_not_answer() {
    with_two_nodes(|cluster, client, plan, second| {
        let paused = Paused::new(&cluster.nodes()[second]);
        assert_unavailable(client.ask(plan.ask(Act::Check, COST)), "timed out");
        drop(paused);
        let admitted = admitted(client, plan);
        assert!((10 - COST..=10).contains(&admitted), "{admitted}");
    });
}

/// The same, and asked again with its id: counted once, whatever was done the first time.
#[test]
fn one_place_does_not_answer_and_is_asked_again() {
    with_two_nodes(|cluster, client, plan, second| {
        let check = plan.ask(Act::Check, COST).id("once");
        let paused = Paused::new(&cluster.nodes()[second]);
        assert_unavailable(client.ask(check), "timed out");
        drop(paused);
        let (decision, _) = client.ask_until_healed(check);
        assert_eq!((decision.allowed, decision.remaining), (true, Some(10 - COST)));
        assert_eq!(admitted(client, plan), 10 - COST);
    });
}

/// A slow node is no reason to fail on one that would have answered, had it been asked again: here because
/// it had forgotten the script.
#[test]
fn a_slow_node_does_not_fail_the_calls_to_others() {
    with_two_nodes(|cluster, client, plan, second| {
        let ip = plan.of_kind("ip");
        let slow = Plan::new(&TWO[1..], &[("ip", &ip)]);
        let fast = Plan::new(&TWO[..1], &[("user", "a")]);
        for primary in cluster.primaries() {
            cluster.nodes()[primary].cli(&["script", "flush"]);
        }
        let paused = Paused::new(&cluster.nodes()[second]);
        let answers = client.ask_all(&[slow.check(), fast.check()], None);
        drop(paused);
        let [slow, fast] = <[_; 2]>::try_from(answers).unwrap();
        assert_unavailable(slow, "timed out");
        assert_eq!(fast.map_err(|error| unavailable(&error)).unwrap().remaining, Some(9));
    });
}

/// Asks, and is gone before the second place answers.
fn dies_in_between(cluster: &Cluster, client: &Client, ask: Ask<'_>, second: usize) {
    let paused = Paused::new(&cluster.nodes()[second]);
    let given_up = client.runtime.block_on(async {
        let asks = [ask];
        let answering = answers_if_any(&client.store, &asks, None);
        tokio::time::timeout(Duration::from_millis(100), answering).await.is_err()
    });
    drop(paused);
    assert!(given_up);
}

#[test]
fn whoever_asks_dies_in_between() {
    with_two_nodes(|cluster, client, plan, second| {
        let mut left = 10;
        for _ in 0..3 {
            dies_in_between(cluster, client, plan.ask(Act::Check, COST), second);
            let now = client.ask_until_healed(plan.peek()).0.remaining.unwrap();
            assert!((left - COST..=left).contains(&now), "{left} {now}");
            left = now;
        }
        assert_eq!(admitted(client, plan), left);
    });
}

#[test]
fn whoever_asks_dies_in_between_and_asks_again() {
    with_two_nodes(|cluster, client, plan, second| {
        let check = plan.ask(Act::Check, COST).id("once");
        dies_in_between(cluster, client, check, second);
        let (decision, _) = client.ask_until_healed(check);
        assert_eq!((decision.allowed, decision.remaining), (true, Some(10 - COST)));
        assert_eq!(admitted(client, plan), 10 - COST);
    });
}

/// A node that is refused, not late: what the others took is given back at once.
#[test]
fn one_place_has_no_memory() {
    with_two_nodes(|cluster, client, plan, second| {
        let node = &cluster.nodes()[second];
        node.cli(&["config", "set", "maxmemory", "1"]);
        for ask in [plan.ask(Act::Check, COST), plan.ask(Act::Charge, COST)] {
            let with_id = ask.id("some");
            for ask in [ask, with_id] {
                let error = unavailable(&client.ask(ask).expect_err("no memory"));
                assert!(error.contains("OOM"), "{error}");
            }
        }
        node.cli(&["config", "set", "maxmemory", "0"]);
        // What has meanwhile begun to sink is given back in whole units.
        assert!((9..=10).contains(&client.left(plan.peek())));
        assert_eq!(client.left(plan.ask(Act::Reset, 0)), 10);
        let check = plan.ask(Act::Check, COST).id("some");
        assert_eq!((client.left(check), client.left(check)), (10 - COST, 10 - COST));
        let charge = plan.ask(Act::Charge, COST).id("some");
        assert_eq!(client.left(charge), 10 - 2 * COST);
        assert_eq!(client.left(plan.peek()), 10 - 2 * COST);
        assert_eq!(admitted(client, plan), 10 - 2 * COST);
    });
}
