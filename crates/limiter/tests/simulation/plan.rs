//! What happens in a run, as far as it is known before: all of it comes from the seed.

mod mode;
mod waves;

use std::time::Duration;

use tollgate::Act;

use crate::limits::Rule;
use crate::rng::Rng;
use crate::trace::Operation;

pub(crate) use mode::{Kind, Mode};
pub(crate) use waves::Wave;

/// A run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) mode: Mode,
    pub(crate) rules: Vec<Rule>,
    pub(crate) timeout: Duration,
    /// Whether the store answers every call, and so fast that two calls in a row fit into the timeout.
    pub(crate) is_calm: bool,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) keys: usize,
    /// How long callers make calls and faults happen. A time without faults follows.
    pub(crate) length: Duration,
    pub(crate) network: Network,
    pub(crate) faults: Vec<Fault>,
    /// When the store loses its state.
    pub(crate) forgets: Vec<Duration>,
    pub(crate) calls: Calls,
    pub(crate) waves: Vec<Wave>,
}

#[derive(Debug)]
pub(crate) struct NodePlan {
    /// How fast its clock is, in millionths of the true time.
    pub(crate) rate: u64,
    /// How far its clock is ahead, in microseconds.
    pub(crate) offset: i64,
    /// How long each of its callers pauses between calls on average, in milliseconds.
    pub(crate) pauses: Vec<u64>,
}

/// How messages travel when nothing is broken; delays are in milliseconds.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) max_request_delay: u64,
    pub(crate) max_reply_delay: u64,
    /// How many messages in a hundred get lost.
    pub(crate) loss: u64,
}

/// A time of trouble.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// The node that is cut off; `None` if the store is away for all.
    pub(crate) node: Option<usize>,
    pub(crate) from: Duration,
    pub(crate) until: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Connections are refused, so that nothing is sent.
    Refuses,
    /// Requests do not arrive.
    LosesRequests,
    /// Requests are done, and their replies do not arrive.
    LosesReplies,
    /// Everything takes longer by some milliseconds.
    Slow(u64),
}

/// What callers do besides checks, in percent of their calls.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) max_cost: u64,
    pub(crate) refunds: u64,
    pub(crate) resets: u64,
    pub(crate) charges: u64,
    pub(crate) peeks: u64,
    pub(crate) batches: u64,
    pub(crate) ids: u64,
    /// Calls whose caller goes away before the answer.
    pub(crate) cancelled: u64,
}

impl Plan {
    pub(crate) fn random(seed: u64, kind: Kind) -> Plan {
        let rng = &mut Rng::new(seed);
        let timeout = Duration::from_millis(rng.pick(&[20, 20, 40, 100]));
        let length = Duration::from_millis(rng.between(1_500, 5_000));
        let node_count = rng.pick(&[1, 1, 2, 2, 3, 4]);
        let skewed = rng.percent(50);
        let is_calm = rng.percent(20);
        let limits = rng.pick(&[1, 1, 2]);
        let mut plan = Plan {
            seed,
            mode: Mode::random(rng, kind),
            rules: (0..limits).map(|_| Rule::random(rng)).collect(),
            timeout,
            is_calm,
            nodes: (0..node_count).map(|_| NodePlan::random(rng, skewed)).collect(),
            keys: rng.pick(&[1, 2, 3]),
            length,
            network: Network::random(rng, timeout, is_calm),
            faults: if is_calm { Vec::new() } else { faults(rng, length, node_count) },
            forgets: if rng.percent(20) { instants(rng, length) } else { Vec::new() },
            calls: Calls::random(rng),
            waves: Vec::new(),
        };
        if rng.percent(15) {
            plan.make_roomy();
        }
        if kind != Kind::Strict && rng.percent(40) {
            plan.make_waves(rng);
        }
        plan
    }

    /// Returns an operation of cost 1 on a key.
    pub(crate) fn op(&self, key: usize, act: Act) -> Operation {
        let key = format!("key-{key}").into_bytes();
        Operation { act, key, costs: vec![1; self.rules.len()], id: None }
    }

    /// Returns whether clocks differ. A node with another clock has other windows, and drains faster or slower.
    pub(crate) fn is_skewed(&self) -> bool {
        self.nodes.iter().any(|node| node.rate != 1_000_000 || node.offset != 0)
    }

    /// Leaves out all that could hide a missing charge: limits that are exhausted anyway, what is given back,
    /// clocks that differ.
    fn make_roomy(&mut self) {
        self.rules.iter_mut().for_each(Rule::enlarge);
        (self.calls.refunds, self.calls.resets) = (0, 0);
        self.forgets.clear();
        for node in &mut self.nodes {
            (node.rate, node.offset) = (1_000_000, 0);
        }
    }
}

impl NodePlan {
    fn random(rng: &mut Rng, skewed: bool) -> NodePlan {
        let callers = rng.pick(&[1, 2, 3, 5, 8]);
        let pauses = (0..callers).map(|_| rng.pick(&[2, 8, 30, 100, 400])).collect();
        if !skewed {
            return NodePlan { rate: 1_000_000, offset: 0, pauses };
        }
        let rate = rng.between(900_000, 1_100_000);
        let offset = rng.between(0, 7_200_000_000) as i64 - 3_600_000_000;
        NodePlan { rate, offset, pauses }
    }

    /// Returns how much longer a time by its clock is than the true time, in microseconds; zero if its clock
    /// is not slow.
    pub(crate) fn excess(&self, micros: u64) -> u64 {
        (micros * 1_000_000 / self.rate).saturating_sub(micros) + 1
    }
}

impl Network {
    fn random(rng: &mut Rng, timeout: Duration, is_calm: bool) -> Network {
        let timeout = timeout.as_millis() as u64;
        let max = if is_calm { timeout / 10 } else { rng.pick(&[timeout / 8, timeout / 2]) };
        Network {
            max_request_delay: rng.between(0, max),
            max_reply_delay: rng.between(0, max),
            loss: if is_calm { 0 } else { rng.pick(&[0, 1, 5, 30]) },
        }
    }
}

impl Calls {
    fn checks_only() -> Calls {
        Calls {
            max_cost: 1,
            refunds: 0,
            resets: 0,
            charges: 0,
            peeks: 0,
            batches: 0,
            ids: 0,
            cancelled: 0,
        }
    }

    fn random(rng: &mut Rng) -> Calls {
        let gives = rng.percent(40);
        Calls {
            max_cost: rng.pick(&[1, 1, 2, 3]),
            refunds: if gives { 3 } else { 0 },
            resets: if gives { 1 } else { 0 },
            charges: rng.pick(&[0, 0, 2]),
            peeks: rng.pick(&[0, 5]),
            batches: rng.pick(&[0, 5]),
            ids: rng.pick(&[0, 0, 10, 50]),
            cancelled: rng.pick(&[0, 0, 5]),
        }
    }
}

fn faults(rng: &mut Rng, length: Duration, nodes: usize) -> Vec<Fault> {
    let length = length.as_millis() as u64;
    let fault = |rng: &mut Rng| {
        let from = rng.between(0, length);
        let until = (from + rng.pick(&[30, 300, 1_000, 3_000])).min(length);
        let slow = FaultKind::Slow(rng.pick(&[5, 15, 50, 500]));
        let kinds = [FaultKind::Refuses, FaultKind::LosesRequests, FaultKind::LosesReplies, slow];
        Fault {
            kind: rng.pick(&kinds),
            node: rng.percent(70).then(|| rng.index(nodes)),
            from: Duration::from_millis(from),
            until: Duration::from_millis(until),
        }
    };
    (0..rng.between(0, 4)).map(|_| fault(rng)).collect()
}

fn instants(rng: &mut Rng, length: Duration) -> Vec<Duration> {
    let length = length.as_millis() as u64;
    (0..rng.between(1, 3)).map(|_| Duration::from_millis(rng.between(0, length))).collect()
}
