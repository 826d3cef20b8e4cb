//! Failovers. Replication is asynchronous: what a primary had not replicated when it was killed is lost, and
//! as much is admitted again. What has been replicated stays counted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_fixtures::{Cluster, Sentinels, Server, wait_until};
use tollgate_redis::{RedisStore, RedisStoreBuilder};

use crate::client::{Client, HEAL_TIMEOUT, patient, unavailable};
use crate::guards::{Paused, StopOnDrop};
use crate::operations::KeyedPolicy;

/// Maximum duration of one call while servers come and go.
const MAX_CALL_TIME: Duration = Duration::from_secs(8);

/// The response timeout of the client that is watched.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Two clients of the same servers.
struct Clients {
    /// Has a short response timeout. A call of it that timed out may have been counted.
    client: Client,
    /// A patient one, which finds out what was counted.
    counting: Client,
}

impl Clients {
    fn of(builder: RedisStoreBuilder, url: &str) -> Clients {
        let client = Client::build(builder);
        let _ = client.apply_until_healed(policy().peek());
        Clients { client, counting: Client::connect(url) }
    }

    /// Waits until both have recovered, and returns the errors of the first.
    fn heal(&self, policy: &KeyedPolicy) -> Vec<String> {
        let (_, errors) = self.client.apply_until_healed(policy.peek());
        let _ = self.counting.apply_until_healed(policy.peek());
        errors
    }
}

fn policy() -> KeyedPolicy {
    KeyedPolicy::one("gcra 1/day burst 1000", "a")
}

/// Waits until the replica of a server has all that was written.
fn wait_for_replication(primary: &Server) {
    // `WAIT` would only wait for what its own connection has written.
    wait_until("the replica has everything", HEAL_TIMEOUT, || {
        let info = primary.cli(&["info", "replication"]);
        let line = |start: &str| info.lines().find_map(|line| line.trim().strip_prefix(start));
        let written = line("master_repl_offset:").unwrap();
        let replica = line("slave0:").unwrap_or_default();
        replica.split(',').any(|field| field.strip_prefix("offset=") == Some(written))
    });
}

/// Checks again and again while `event` runs. Returns how many were admitted. Each call must end in time, and
/// each error must say that the store is unavailable.
fn admitted_during(client: &Client, policy: &KeyedPolicy, event: impl FnOnce()) -> usize {
    let (admitted, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let check = || {
        while !stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            match client.apply(policy.check()) {
                Ok(decision) if decision.allowed => {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => {}
                Err(error) => drop(unavailable(&error)),
            }
            assert!(start.elapsed() < MAX_CALL_TIME, "{:?}", start.elapsed());
        }
    };
    thread::scope(|scope| {
        scope.spawn(check);
        scope.spawn(check);
        let stop_on_drop = StopOnDrop(&stop);
        event();
        drop(stop_on_drop);
    });
    admitted.into_inner()
}

#[test]
fn sentinels_name_another_primary() {
    let Some(sentinels) = Sentinels::start() else { return };
    let builder = RedisStore::builder(&sentinels.url()).response_timeout(RESPONSE_TIMEOUT);
    let clients = Clients::of(builder, &sentinels.url());
    let policy = policy();
    for _ in 0..3 {
        let _ = clients.counting.apply(policy.check()).unwrap();
    }
    primary_is_demoted(&sentinels, &clients, &policy);
    primary_is_killed(&sentinels, &clients, &policy);
    sentinel_is_paused(&sentinels, &policy);
}

/// The old primary still runs, but is a replica now.
fn primary_is_demoted(sentinels: &Sentinels, clients: &Clients, policy: &KeyedPolicy) {
    let [old, new] = sentinels.servers() else { panic!("two servers") };
    let left = clients.counting.remaining(policy.peek());
    wait_until("the replica has it", HEAL_TIMEOUT, || has_remaining(new, policy, left));
    assert_eq!(sentinels.sentinels()[0].cli(&["sentinel", "failover", "main"]), "OK");
    let replica = || old.cli(&["role"]).starts_with("slave");
    wait_until("the old primary is a replica", HEAL_TIMEOUT, || {
        sentinels.primary_port() != old.port()
    });
    wait_until("the old primary knows it", HEAL_TIMEOUT, replica);
    // A peek would be answered by the old primary.
    let (decision, _) = clients.counting.apply_until_healed(policy.check());
    assert_eq!(decision.remaining, Some(left - 1));
    wait_until("the new replica has it", HEAL_TIMEOUT, || has_remaining(old, policy, left - 1));
    let linked = || old.cli(&["info", "replication"]).contains("master_link_status:up");
    wait_until("it follows the new primary", HEAL_TIMEOUT, linked);
}

/// Whether so much remains by the state of one server.
fn has_remaining(server: &Server, policy: &KeyedPolicy, left: u64) -> bool {
    let client = Client::build(patient(&server.url()));
    client.apply(policy.peek()).is_ok_and(|now| now.remaining == Some(left))
}

fn primary_is_killed(sentinels: &Sentinels, clients: &Clients, policy: &KeyedPolicy) {
    let Clients { client, counting } = clients;
    let left = counting.remaining(policy.peek());
    let small = KeyedPolicy::one("gcra 1/day burst 200", "small");
    let admitted = admitted_during(client, &small, || {
        let counted = || counting.remaining(small.peek()) < 200;
        wait_until("some are admitted", HEAL_TIMEOUT, counted);
        sentinels.fail_over();
        clients.heal(&small);
    });
    // At most all of it twice: by the primary that died, and by the one that followed.
    assert!((1..=400).contains(&admitted), "{admitted}");
    assert_eq!(counting.remaining(policy.check()), left - 1);
}

fn sentinel_is_paused(sentinels: &Sentinels, policy: &KeyedPolicy) {
    let paused = Paused::new(&sentinels.sentinels()[0]);
    let start = Instant::now();
    let client = Client::try_connect(RedisStore::builder(&sentinels.url())).unwrap();
    assert!(client.apply(policy.check()).unwrap().allowed);
    assert!(start.elapsed() < MAX_CALL_TIME, "{:?}", start.elapsed());
    drop(paused);
}

/// Returns the primary that a new key lives on.
fn primary_of(cluster: &Cluster, client: &Client, policy: &KeyedPolicy) -> usize {
    let count = |node: usize| cluster.nodes()[node].cli(&["dbsize"]).parse::<u32>().unwrap();
    let before: Vec<(usize, u32)> =
        cluster.primaries().into_iter().map(|node| (node, count(node))).collect();
    let _ = client.apply(policy.check()).unwrap();
    let more = before.into_iter().find(|(node, before)| count(*node) > *before);
    more.expect("a key that is new").0
}

#[test]
fn replicas_of_a_cluster_take_over() {
    let Some(cluster) = Cluster::start() else { return };
    let builder = RedisStore::builder(&cluster.url()).response_timeout(RESPONSE_TIMEOUT);
    let (clients, policy) = (Clients::of(builder, &cluster.url()), policy());
    let primary = primary_of(&cluster, &clients.counting, &policy);
    let primary = replica_takes_over(&cluster, &clients, &policy, primary);
    primary_of_cluster_is_killed(&cluster, &clients, &policy, primary);
}

/// Makes a replica the primary. Under load a server may give up after five seconds, so the command is
/// repeated.
fn hand_over(cluster: &Cluster, replica: usize) {
    let mut sent = None;
    wait_until("the replica becomes a primary", Duration::from_secs(30), || {
        if sent.is_none_or(|when: Instant| when.elapsed() > Duration::from_secs(7)) {
            cluster.nodes()[replica].cli(&["cluster", "failover"]);
            sent = Some(Instant::now());
        }
        cluster.primaries().contains(&replica) && cluster.replica_of(replica).is_some()
    });
}

/// Nothing is lost when a primary hands over, not even under load. Returns the new primary.
fn replica_takes_over(
    cluster: &Cluster,
    clients: &Clients,
    policy: &KeyedPolicy,
    primary: usize,
) -> usize {
    let Clients { client, counting } = clients;
    let left = counting.remaining(policy.peek());
    let small =
        (0..).map(|number| KeyedPolicy::one("gcra 1/day burst 300", &format!("small{number}")));
    let mut small = small.filter(|small| primary_of(cluster, counting, small) == primary);
    let (small, replica) = (small.next().unwrap(), cluster.replica_of(primary).unwrap());
    let admitted = admitted_during(client, &small, || {
        hand_over(cluster, replica);
        let used_up = || client.apply(small.check()).is_ok_and(|now| !now.allowed);
        wait_until("all is used up", HEAL_TIMEOUT, used_up);
    });
    // One more was admitted while the node was looked for, and some by the wait below.
    assert!(admitted < 300, "{admitted}");
    clients.heal(policy);
    assert_eq!(counting.remaining(small.peek()), 0);
    assert_eq!(counting.remaining(policy.check()), left - 1);
    replica
}

fn primary_of_cluster_is_killed(
    cluster: &Cluster,
    clients: &Clients,
    policy: &KeyedPolicy,
    primary: usize,
) {
    wait_for_replication(&cluster.nodes()[primary]);
    let left = clients.counting.remaining(policy.peek());
    let replica = cluster.replica_of(primary).unwrap();
    cluster.nodes()[primary].kill();
    assert!(!clients.heal(policy).is_empty());
    assert_eq!(clients.counting.remaining(policy.check()), left - 1);
    assert!(cluster.primaries().contains(&replica));
}

/// A paused node does not affect the keys of other nodes.
#[test]
fn a_paused_node_of_a_cluster() {
    /// Enough for a node that is only slow because the machine is busy.
    const TIMEOUT: Duration = Duration::from_secs(2);
    let Some(cluster) = Cluster::start() else { return };
    for node in cluster.nodes() {
        // No replica may take over from it.
        node.cli(&["config", "set", "cluster-node-timeout", "60000"]);
    }
    let builder = || RedisStore::builder(&cluster.url()).response_timeout(TIMEOUT);
    let client = Client::build(builder());
    let policies = ["a", "b", "c", "d", "e", "f"];
    let policies = policies.map(|key| KeyedPolicy::one("gcra 1/day burst 1000", key));
    let counting = Client::connect(&cluster.url());
    let placed = policies.each_ref().map(|policy| primary_of(&cluster, &counting, policy));
    // Opens all connections.
    for policy in &policies {
        let _ = client.apply_until_healed(policy.check());
    }
    let paused = placed[0];
    let pause = Paused::new(&cluster.nodes()[paused]);
    for _ in 0..2 {
        for (policy, node) in policies.iter().zip(placed) {
            let start = Instant::now();
            match client.apply(policy.check()) {
                Ok(_) => assert_ne!(node, paused),
                Err(error) => {
                    let error = unavailable(&error);
                    assert_eq!(node, paused, "{error}");
                    assert!(error.contains("timed out"), "{error}");
                }
            }
            assert!(start.elapsed() < MAX_CALL_TIME, "{:?}", start.elapsed());
        }
    }
    // A new store connects in spite of the paused node.
    let other = policies.iter().zip(placed).find(|(_, node)| *node != paused).unwrap().0;
    let _ = Client::try_connect(builder()).unwrap().apply(other.check()).unwrap();
    drop(pause);
    let _ = client.apply_until_healed(policies[0].check());
}
