//! Traffic that comes as close as possible to the bounds of a distribution: many checks of one key by many
//! nodes at the same instant.

use std::time::Duration;

use super::{Calls, Kind, Plan};
use crate::limits::Rule;
use crate::rng::Rng;
use crate::timeline::START;

/// Checks of the first key that begin together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wave {
    pub(crate) at: Duration,
    /// The node that makes them; `None` if each node makes as many.
    pub(crate) node: Option<usize>,
    pub(crate) checks: u64,
    /// Whether each check has an id, so that only the store can decide it.
    pub(crate) with_ids: bool,
}

impl Wave {
    fn new(at: u64, node: Option<usize>, checks: u64) -> Wave {
        Wave { at: Duration::from_millis(at), node, checks, with_ids: false }
    }

    pub(crate) fn includes(&self, node: usize) -> bool {
        self.node.is_none_or(|of| of == node)
    }
}

/// Time before the end of a window in which nodes take their slices, in milliseconds.
const APPROACH: u64 = 400;
/// Time between checks that keep a slice in use, in milliseconds.
const TRICKLE: usize = 90;

impl Plan {
    /// Replaces the traffic by waves.
    pub(super) fn make_waves(&mut self, rng: &mut Rng) {
        let hoards = self.mode.kind == Kind::Prefetch && self.nodes.len() > 2 && rng.percent(50);
        let rule = if hoards { Rule::random_short(rng) } else { Rule::random_large(rng) };
        self.rules = vec![rule];
        if rng.percent(20) && !hoards {
            self.rules.push(Rule::random_large(rng));
        }
        self.calls = Calls::checks_only();
        for node in &mut self.nodes {
            node.pauses.clear();
        }
        let boundary = first_boundary(&rule, APPROACH + 100);
        self.waves = match self.mode.kind {
            Kind::Strict => Vec::new(),
            Kind::WriteBehind => self.behind(rng, &rule, boundary),
            Kind::Prefetch if hoards => self.hoard(&rule, boundary),
            Kind::Prefetch => self.ahead(rng, &rule, boundary),
        };
        let last = self.waves.iter().map(|wave| wave.at).max().unwrap_or_default();
        self.length = last + Duration::from_secs(1);
        if rng.percent(70) {
            self.faults.clear();
        }
        for fault in &mut self.faults {
            fault.until = fault.until.min(self.length);
        }
        self.forgets.retain(|forget| *forget < last && rng.percent(30));
    }

    /// One node spends nearly all, every node learns what remains, and all spend that at the same instant. It
    /// may be that the store is deciding checks of all nodes about the rest right then.
    fn behind(&self, rng: &mut Rng, rule: &Rule, start: u64) -> Vec<Wave> {
        let (nodes, cap) = (self.nodes.len() as u64, self.mode.share(rule));
        let rest = cap + rng.between(0, cap);
        let spent = rule.capacity().saturating_sub(rest + nodes);
        let at_store = if rng.percent(50) { rest.div_ceil(nodes) } else { 0 };
        vec![
            Wave::new(start + 5, Some(0), spent),
            Wave::new(start + 250, None, 1),
            Wave { with_ids: true, ..Wave::new(start + 399, None, at_store) },
            Wave::new(start + 400, None, 2 * cap + 2),
        ]
    }

    /// Every node takes slices until a window ends, and spends all it can get when the next has begun.
    fn ahead(&self, rng: &mut Rng, rule: &Rule, boundary: u64) -> Vec<Wave> {
        let nodes = self.nodes.len() as u64;
        let steps = (rule.capacity() * rng.between(30, 90) / 100 / nodes).max(1);
        let start = boundary - APPROACH;
        let approach = (0..steps).map(|step| Wave::new(start + APPROACH * step / steps, None, 1));
        approach.chain([Wave::new(boundary + 1, None, rule.capacity())]).collect()
    }

    /// Each node takes slices in a window of its own, and keeps them by spending a little of them all the time.
    /// Then all nodes spend all they can get.
    fn hoard(&mut self, rule: &Rule, start: u64) -> Vec<Wave> {
        self.mode.part = 100;
        let (nodes, window) = (self.nodes.len(), rule.window().unwrap() / 1_000);
        let end = start + window * nodes as u64;
        let by_node = (0..nodes).flat_map(|node| {
            let start = start + window * node as u64;
            let taken = (0..rule.capacity() / 3).map(move |step| start + 2 * step);
            let spent = (start..end).step_by(TRICKLE).skip(1);
            taken.chain(spent).map(move |at| Wave::new(at, Some(node), 1))
        });
        by_node.chain([Wave::new(end, None, rule.capacity())]).collect()
    }
}

/// Returns when the first window begins that is this far away, in milliseconds since the start.
fn first_boundary(rule: &Rule, least: u64) -> u64 {
    let Some(window) = rule.window() else { return least };
    let after = START + least * 1_000;
    (after.next_multiple_of(window) - START).div_ceil(1_000)
}
