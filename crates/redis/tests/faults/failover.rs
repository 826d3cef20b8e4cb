//! Servers that others take over from. Replication is asynchronous: what a primary had not passed on when
//! it was killed is lost, and as much is admitted again. What has been passed on stays counted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_fixtures::{Cluster, Sentinels, Server, wait_until};
use tollgate_redis::RedisStore;

use crate::client::{Client, HEALS, unavailable};
use crate::guards::{Paused, StopAtEnd};
use crate::plan::Plan;

/// How long one call may take while servers come and go.
const BOUND: Duration = Duration::from_secs(8);

fn plan() -> Plan {
    Plan::one("gcra 1/day burst 1000", "a")
}

/// Waits until the replica of a server has all that was written.
fn pass_on(primary: &Server) {
    // Not by `WAIT`, which waits for what its own connection has written.
    wait_until("the replica has everything", HEALS, || {
        let info = primary.cli(&["info", "replication"]);
        let line = |start: &str| info.lines().find_map(|line| line.trim().strip_prefix(start));
        let written = line("master_repl_offset:").unwrap();
        let replica = line("slave0:").unwrap_or_default();
        replica.split(',').any(|field| field.strip_prefix("offset=") == Some(written))
    });
}

/// Asks again and again while something happens; the number of those who were admitted. Each call must
/// end in time, and each error must say that the store is unavailable.
fn admitted_meanwhile(client: &Client, plan: &Plan, happens: impl FnOnce()) -> usize {
    let (admitted, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let ask = || {
        while !stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            match client.ask(plan.check()) {
                Ok(decision) if decision.allowed => {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => {}
                Err(error) => drop(unavailable(&error)),
            }
            assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
        }
    };
    thread::scope(|scope| {
        scope.spawn(ask);
        scope.spawn(ask);
        let stop_at_end = StopAtEnd(&stop);
        happens();
        drop(stop_at_end);
    });
    admitted.into_inner()
}

#[test]
fn sentinels_name_another_primary() {
    let Some(sentinels) = Sentinels::start() else { return };
    let builder =
        RedisStore::builder(&sentinels.url()).response_timeout(Duration::from_millis(500));
    let (client, plan) = (Client::try_connect(builder).unwrap(), plan());
    for _ in 0..3 {
        client.ask(plan.check()).unwrap();
    }
    demoted(&sentinels, &client, &plan);
    killed(&sentinels, &client, &plan);
    a_sentinel_that_is_paused(&sentinels, &plan);
}

/// The old primary is there, but is a replica now.
fn demoted(sentinels: &Sentinels, client: &Client, plan: &Plan) {
    let [old, new] = sentinels.servers() else { panic!("two servers") };
    let left = client.left(plan.peek());
    wait_until("the replica has it", HEALS, || has_left(new, plan, left));
    assert_eq!(sentinels.sentinels()[0].cli(&["sentinel", "failover", "main"]), "OK");
    let replica = || old.cli(&["role"]).starts_with("slave");
    wait_until("the old primary is a replica", HEALS, || sentinels.primary_port() != old.port());
    wait_until("the old primary is told so", HEALS, replica);
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(left - 1));
    wait_until("the new replica has it", HEALS, || has_left(old, plan, left - 1));
    let linked = || old.cli(&["info", "replication"]).contains("master_link_status:up");
    wait_until("it follows the new primary", HEALS, linked);
}

/// Whether so much is left by what one server knows.
fn has_left(server: &Server, plan: &Plan, left: u64) -> bool {
    let client = Client::make(RedisStore::builder(&server.url()));
    client.ask(plan.peek()).is_ok_and(|now| now.remaining == Some(left))
}

fn killed(sentinels: &Sentinels, client: &Client, plan: &Plan) {
    let left = client.left(plan.peek());
    let small = Plan::one("gcra 1/day burst 200", "small");
    let admitted = admitted_meanwhile(client, &small, || {
        let counted = || client.ask(small.peek()).is_ok_and(|now| now.remaining < Some(200));
        wait_until("some are admitted", HEALS, counted);
        sentinels.fail_over();
        client.ask_until_healed(small.peek());
    });
    // At most all of it twice: by the primary that died, and by the one that followed.
    assert!((1..=400).contains(&admitted), "{admitted}");
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(left - 1));
}

fn a_sentinel_that_is_paused(sentinels: &Sentinels, plan: &Plan) {
    let paused = Paused::new(&sentinels.sentinels()[0]);
    let start = Instant::now();
    let client = Client::connect(&sentinels.url());
    assert!(client.ask(plan.check()).unwrap().allowed);
    assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
    drop(paused);
}

/// The primary that a new key lives on.
fn primary_of(cluster: &Cluster, client: &Client, plan: &Plan) -> usize {
    let count = |node: usize| cluster.nodes()[node].cli(&["dbsize"]).parse::<u32>().unwrap();
    let before: Vec<(usize, u32)> =
        cluster.primaries().into_iter().map(|node| (node, count(node))).collect();
    client.ask(plan.check()).unwrap();
    let more = before.into_iter().find(|(node, before)| count(*node) > *before);
    more.expect("a key that is new").0
}

#[test]
fn replicas_of_a_cluster_take_over() {
    let Some(cluster) = Cluster::start() else { return };
    let builder = RedisStore::builder(&cluster.url()).response_timeout(Duration::from_millis(500));
    let (client, plan) = (Client::try_connect(builder).unwrap(), plan());
    let primary = primary_of(&cluster, &client, &plan);
    let primary = taken_over_in_order(&cluster, &client, &plan, primary);
    killed_and_taken_over(&cluster, &client, &plan, primary);
}

/// Makes a replica the primary. Under load a server may give that up after five seconds, so it is told
/// again.
fn hand_over(cluster: &Cluster, replica: usize) {
    let mut told = None;
    wait_until("the replica becomes a primary", Duration::from_secs(30), || {
        if told.is_none_or(|when: Instant| when.elapsed() > Duration::from_secs(7)) {
            cluster.nodes()[replica].cli(&["cluster", "failover"]);
            told = Some(Instant::now());
        }
        cluster.primaries().contains(&replica) && cluster.replica_of(replica).is_some()
    });
}

/// Nothing is lost when a primary hands over, not even while others ask. Answers the new one.
fn taken_over_in_order(cluster: &Cluster, client: &Client, plan: &Plan, primary: usize) -> usize {
    let left = client.left(plan.peek());
    let small = (0..).map(|number| Plan::one("gcra 1/day burst 300", &format!("small{number}")));
    let mut small = small.filter(|small| primary_of(cluster, client, small) == primary);
    let (small, replica) = (small.next().unwrap(), cluster.replica_of(primary).unwrap());
    let admitted = admitted_meanwhile(client, &small, || {
        hand_over(cluster, replica);
        let used_up = || client.ask(small.check()).is_ok_and(|now| !now.allowed);
        wait_until("all is used up", HEALS, used_up);
    });
    // One more was admitted to find the node, and some by the waiting.
    assert!(admitted < 300, "{admitted}");
    assert_eq!(client.left(small.peek()), 0);
    assert_eq!(client.ask_until_healed(plan.check()).0.remaining, Some(left - 1));
    replica
}

fn killed_and_taken_over(cluster: &Cluster, client: &Client, plan: &Plan, primary: usize) {
    pass_on(&cluster.nodes()[primary]);
    let left = client.left(plan.peek());
    let replica = cluster.replica_of(primary).unwrap();
    cluster.nodes()[primary].kill();
    let (decision, errors) = client.ask_until_healed(plan.check());
    assert!(!errors.is_empty());
    assert_eq!(decision.remaining, Some(left - 1));
    assert!(cluster.primaries().contains(&replica));
}

/// A node that is paused is no matter for the keys of others.
#[test]
fn a_node_that_is_paused() {
    let Some(cluster) = Cluster::start() else { return };
    for node in cluster.nodes() {
        // Nobody is to take over from it.
        node.cli(&["config", "set", "cluster-node-timeout", "60000"]);
    }
    let builder = RedisStore::builder(&cluster.url()).response_timeout(Duration::from_millis(200));
    let client = Client::try_connect(builder).unwrap();
    let plans = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let plans = plans.map(|key| Plan::one("gcra 1/day burst 1000", key));
    let placed = plans.each_ref().map(|plan| primary_of(&cluster, &client, plan));
    let paused = placed[0];
    let pause = Paused::new(&cluster.nodes()[paused]);
    for _ in 0..2 {
        for (plan, node) in plans.iter().zip(placed) {
            let start = Instant::now();
            match client.ask(plan.check()) {
                Ok(_) => assert_ne!(node, paused),
                Err(error) => {
                    let error = unavailable(&error);
                    assert_eq!(node, paused, "{error}");
                    assert!(error.contains("timed out"), "{error}");
                }
            }
            assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
        }
    }
    // One that knows nothing yet finds its way past the node.
    let stranger = RedisStore::builder(&cluster.url()).response_timeout(Duration::from_millis(200));
    let other = plans.iter().zip(placed).find(|(_, node)| *node != paused).unwrap().0;
    Client::try_connect(stranger).unwrap().ask(other.check()).unwrap();
    drop(pause);
    client.ask_until_healed(plans[0].check());
}
