//! The random costs of an operation: mostly one for all limits, sometimes one for each. They aim at
//! the costs where a decision changes.

use super::Rng;
use super::policy::Policy;
use crate::counting::capacity;
use crate::{Answer, LimitAnswer, Operation};

const GREATEST_COST: u64 = (1 << 32) - 1;

/// What fits in the policy as a whole, and in each of its limits.
pub(crate) struct Costs {
    policy: Headroom,
    limits: Vec<Headroom>,
}

/// What fits in a limit, or in all limits of a policy.
#[derive(Clone, Copy)]
struct Headroom {
    capacity: u64,
    /// What remained after the last operation.
    remaining: u64,
}

impl Costs {
    pub fn new(policy: &Policy) -> Costs {
        let capacities = || policy.limits.iter().map(|limit| capacity(&limit.rule));
        Costs {
            policy: Headroom::new(capacities().flatten().min()),
            limits: capacities().map(Headroom::new).collect(),
        }
    }

    /// Records what is left.
    pub fn learn(&mut self, policy: &Answer, limits: &[LimitAnswer]) {
        self.policy.learn(policy.remaining);
        for (headroom, limit) in self.limits.iter_mut().zip(limits) {
            headroom.learn(limit.remaining);
        }
    }

    /// Returns the cost of each limit.
    pub fn next(&self, rng: &mut Rng, op: Operation) -> Vec<u64> {
        if self.limits.len() == 1 || rng.percent(60) {
            return vec![self.policy.cost(rng, op); self.limits.len()];
        }
        let of_one = |headroom: &Headroom| if rng.percent(30) { 0 } else { headroom.cost(rng, op) };
        self.limits.iter().map(of_one).collect()
    }
}

impl Headroom {
    fn new(capacity: Option<u64>) -> Headroom {
        let capacity = capacity.unwrap_or(1);
        Headroom { capacity, remaining: capacity }
    }

    fn learn(&mut self, remaining: Option<u64>) {
        self.remaining = remaining.unwrap_or(self.capacity);
    }

    fn cost(&self, rng: &mut Rng, op: Operation) -> u64 {
        let cost = match op {
            Operation::Charge => self.charged(rng),
            Operation::Settle => self.settled(rng),
            _ => self.asked(rng),
        };
        cost.min(GREATEST_COST)
    }

    fn asked(&self, rng: &mut Rng) -> u64 {
        match rng.weighted(&[50, 5, 14, 9, 12, 6, 4]) {
            0 => self.usual(rng),
            1 => 0,
            2 => rng.between(1, self.capacity),
            3 => self.remaining,
            4 => self.remaining + 1,
            5 => self.capacity,
            _ => self.capacity + rng.pick(&[1, 1, 2, self.capacity, GREATEST_COST]),
        }
    }

    /// Returns 1, or if hundreds fit, sometimes a larger share of them.
    fn usual(&self, rng: &mut Rng) -> u64 {
        if self.capacity > 30 && rng.percent(50) {
            return self.capacity / rng.between(2, 12);
        }
        1
    }

    fn charged(&self, rng: &mut Rng) -> u64 {
        match rng.weighted(&[50, 5, 30, 12, 3]) {
            0 => self.usual(rng),
            1 => 0,
            2 => rng.between(1, self.capacity),
            3 => self.capacity + rng.between(1, self.capacity),
            _ => rng.of_any_size(GREATEST_COST),
        }
    }

    fn settled(&self, rng: &mut Rng) -> u64 {
        match rng.weighted(&[30, 20, 45, 5]) {
            0 => 0,
            1 => self.usual(rng),
            2 => rng.between(1, self.capacity),
            _ => self.capacity + rng.between(1, self.capacity),
        }
    }
}
