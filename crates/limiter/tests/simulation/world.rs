//! Puts a run together: one store, its nodes, their callers, and the time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::sleep;
use tollgate::Act;

use crate::limits::Rule;
use crate::node::{Node, World};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::sabotage::Sabotage;
use crate::server::Server;
use crate::timeline::Timeline;
use crate::trace::{Call, End, Operation, Run};

/// How often each node asks the store when the faults are over. Two are enough if the breaker lets a probe
/// through every 250 ms; another is for charges that failed with the last fault.
const LAST_ROUNDS: usize = 3;
const LAST_PAUSE: Duration = Duration::from_millis(260);
/// After this time nodes have written all that they admitted, and given back what they did not spend.
const QUIET: Duration = Duration::from_secs(2);
/// Greatest number of checks that are made then.
const MAX_DEMAND: u64 = 200;

/// Runs a plan in virtual time.
pub(crate) fn run(plan: Plan, sabotage: Sabotage) -> Run {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (plan, calls, (bookings, forgets), end) = runtime.block_on(simulate(plan, sabotage));
    // Ends what is still under way, and with it all that shares the plan.
    drop(runtime);
    let plan = Arc::try_unwrap(plan).unwrap();
    Run { plan, calls, bookings, forgets, end }
}

type Seen = (Arc<Plan>, Vec<Call>, (Vec<crate::trace::Booking>, Vec<u64>), End);

async fn simulate(plan: Plan, sabotage: Sabotage) -> Seen {
    let timeline = Timeline::start();
    let mut rng = Rng::new(!plan.seed);
    let server = Arc::new(Server::new(&plan, timeline.clock(), sabotage));
    let world = World { plan: Arc::new(plan), server, timeline, sabotage, calls: Arc::default() };
    let nodes = (0..world.plan.nodes.len()).map(|index| Node::new(index, &world, rng.fork()));
    let nodes: Vec<Arc<Node>> = nodes.map(Arc::new).collect();
    tokio::spawn(forget(Arc::clone(&world.plan), Arc::clone(&world.server), timeline));
    let mut callers = Vec::new();
    for (node, planned) in nodes.iter().zip(&world.plan.nodes) {
        for caller in 0..planned.pauses.len() {
            let calls = Arc::clone(node).call_until_over(caller, rng.fork(), timeline);
            callers.push(tokio::spawn(calls));
        }
    }
    for wave in &world.plan.waves {
        for (_, node) in nodes.iter().enumerate().filter(|(index, _)| wave.includes(*index)) {
            callers.push(tokio::spawn(Arc::clone(node).call_together(*wave, timeline)));
        }
    }
    for caller in callers {
        caller.await.unwrap();
    }
    sleep(world.plan.length.saturating_sub(timeline.elapsed())).await;
    let end = finish(&world, &nodes).await;
    let calls = take(&world.calls);
    (Arc::clone(&world.plan), calls, world.server.finish(), end)
}

async fn forget(plan: Arc<Plan>, server: Arc<Server>, timeline: Timeline) {
    let mut forgets = plan.forgets.clone();
    forgets.sort();
    for instant in forgets {
        sleep(instant.saturating_sub(timeline.elapsed())).await;
        server.forget();
    }
}

/// Lets the nodes find out that the store is back, and looks at what has become of them.
async fn finish(world: &World, nodes: &[Arc<Node>]) -> End {
    let plan = &world.plan;
    // Nodes do not answer by themselves what has an id.
    let probe = Operation { id: Some(b"probe".to_vec()), ..plan.op(0, Act::Peek) };
    for _ in 0..LAST_ROUNDS {
        for node in nodes {
            node.call(&probe, None).await;
        }
        sleep(LAST_PAUSE).await;
    }
    let keys = (0..plan.keys).map(|key| plan.op(key, Act::Peek).key);
    let remaining = keys.map(|key| (key.clone(), world.server.remaining_of_each(&key)));
    let (at, remaining) = (world.server.now(), remaining.collect());
    let calls = take(&world.calls);
    for (node, key) in nodes.iter().flat_map(|node| (0..plan.keys).map(move |key| (node, key))) {
        node.call(&plan.op(key, Act::Peek), None).await;
        node.call(&plan.op(key, Act::Check), None).await;
    }
    let last_calls = take(&world.calls);
    let demand = ask_for_all(world, nodes).await;
    *world.calls.lock().unwrap() = calls;
    let is_open = |node: &Arc<Node>| node.limiter().store().layers().unwrap().stats().is_open;
    let last_error = |node: &Arc<Node>| node.limiter().store().layers().unwrap().last_error();
    End {
        at,
        is_open: nodes.iter().map(is_open).collect(),
        last_errors: nodes.iter().map(|n| last_error(n).map(|error| error.to_string())).collect(),
        calls: last_calls,
        remaining,
        demand,
    }
}

/// Waits until the state of a key is gone, and asks one node for as much as the limits allow.
async fn ask_for_all(world: &World, nodes: &[Arc<Node>]) -> Vec<Call> {
    let plan = &world.plan;
    let check = plan.op(0, Act::Check);
    let checks = plan.rules.iter().map(Rule::capacity).min().unwrap();
    if checks > MAX_DEMAND {
        return Vec::new();
    }
    sleep(QUIET).await;
    sleep(world.server.reset_after(&check.key)).await;
    for _ in 0..checks {
        nodes[checks as usize % nodes.len()].call(&check, None).await;
    }
    sleep(QUIET).await;
    take(&world.calls)
}

fn take(calls: &Mutex<Vec<Call>>) -> Vec<Call> {
    std::mem::take(&mut *calls.lock().unwrap())
}
