//! A random sequence of operations on one key: their times and kinds. It aims at the instants where
//! a decision changes.

use super::costs::Costs;
use super::limits::END_OF_TIME;
use super::policy::Policy;
use super::tally::OPERATIONS;
use super::{Answers, Rng};
use crate::{Answer, Operation, Rule, Step, Window};

/// Returns the weight of each operation, in the order of [`OPERATIONS`]. An operation that no limit of the
/// policy can have anything for is an error, and does not occur.
fn weights(policy: &Policy) -> [u64; 9] {
    let has_leases = policy.limits.iter().any(|limit| matches!(limit.rule, Rule::Held { .. }));
    let of_leases = |weight| if has_leases { weight } else { 0 };
    [60, 7, 6, 6, 1, 7, 3, of_leases(4), of_leases(5)]
}

pub(crate) struct Walk {
    t: u64,
    costs: Costs,
    /// Periods, windows and resolutions of the policy's limits.
    spans: Vec<u64>,
    last: Option<Answer>,
    /// Id of the last reservation, until a step tries to settle it.
    reserved: Option<String>,
    /// Weight of each operation, in the order of [`OPERATIONS`].
    weights: [u64; 9],
}

impl Walk {
    pub fn new(rng: &mut Rng, policy: &Policy) -> Walk {
        Walk {
            t: start(rng),
            costs: Costs::new(policy),
            spans: policy.limits.iter().flat_map(|limit| spans(&limit.rule)).collect(),
            last: None,
            reserved: None,
            weights: weights(policy),
        }
    }

    /// Returns the time of the last step.
    pub fn now(&self) -> u64 {
        self.t
    }

    pub fn next_step(&mut self, rng: &mut Rng) -> Step {
        if let Some(id) = self.reserved.take_if(|_| rng.percent(30)) {
            return self.settle_soon(rng, id);
        }
        self.move_on(rng);
        let op = OPERATIONS[rng.weighted(&self.weights)];
        let id = id(rng, op);
        if op == Operation::Reserve {
            self.reserved.clone_from(&id);
        }
        self.step(rng, op, id)
    }

    /// Returns a settle step. With independent random steps, few reservations would be settled while
    /// they still count.
    fn settle_soon(&mut self, rng: &mut Rng, id: String) -> Step {
        if rng.percent(30) {
            self.move_on(rng);
        }
        self.step(rng, Operation::Settle, Some(id))
    }

    fn step(&self, rng: &mut Rng, op: Operation, id: Option<String>) -> Step {
        Step { t: self.t, op, costs: self.costs.next(rng, op), id }
    }

    /// Records the model's answers, to choose the next steps by them.
    pub fn learn(&mut self, answers: &Answers) {
        if let Ok(answer) = &answers.policy {
            self.last = Some(answer.clone());
            self.costs.learn(answer, &answers.limits);
        }
    }

    fn move_on(&mut self, rng: &mut Rng) {
        if rng.percent(5) {
            let span = rng.pick(&self.spans);
            let back = rng.pick(&[1, 2, span / 10, span / 2, span, span + 1]);
            self.t = self.t.saturating_sub(back);
            return;
        }
        let later = self.t.saturating_add(self.pause(rng));
        if later < END_OF_TIME {
            self.t = later;
        }
    }

    fn pause(&self, rng: &mut Rng) -> u64 {
        let span = rng.pick(&self.spans);
        match rng.weighted(&[30, 8, 20, 8, 16, 6, 8, 2]) {
            0 => 0,
            1 => 1,
            2 => span / rng.between(2, 10),
            3 => rng.between(0, span),
            4 => self.near_retry(rng),
            5 => self.near_reset(rng),
            6 => span,
            _ => span.saturating_mul(rng.between(1, 4)),
        }
    }

    fn near_retry(&self, rng: &mut Rng) -> u64 {
        let wait = self.last.as_ref().and_then(|answer| answer.retry_after);
        nearby(rng, wait.unwrap_or(0))
    }

    fn near_reset(&self, rng: &mut Rng) -> u64 {
        let wait = self.last.as_ref().map(|answer| answer.reset_after);
        nearby(rng, wait.unwrap_or(0))
    }
}

/// Returns the epoch, a time soon after it, a recent time, or any time.
fn start(rng: &mut Rng) -> u64 {
    match rng.weighted(&[15, 25, 40, 20]) {
        0 => 0,
        1 => rng.of_any_size(10_000_000_000),
        2 => 1_700_000_000_000_000 + rng.between(0, 100_000_000_000_000),
        _ => rng.between(0, END_OF_TIME / 2),
    }
}

fn nearby(rng: &mut Rng, wait: u64) -> u64 {
    match rng.weighted(&[60, 25, 15]) {
        0 => wait,
        1 => wait.saturating_sub(1),
        _ => wait + 1,
    }
}

fn spans(rule: &Rule) -> Vec<u64> {
    match *rule {
        Rule::Flow { n, window, .. } => vec![window, (window / n).max(1)],
        Rule::Drip { every, .. } => vec![every],
        Rule::FixedWindow { ref window, .. } => vec![length(window)],
        Rule::RequestWindow { window, .. } | Rule::Estimate { window, .. } => vec![window],
        Rule::Slots { window, resolution, .. } => vec![window, resolution],
        Rule::Fade { resolution, .. } => vec![resolution, 3 * resolution],
        Rule::Held { ttl, .. } => vec![ttl],
        Rule::Unlimited => vec![1],
    }
}

fn length(window: &Window) -> u64 {
    match window {
        Window::Plain(length) => *length,
        Window::Boundaries(starts) => starts[1] - starts[0],
    }
}

/// Returns an id from a small pool, some more often than others, so that retries and settlements find
/// an earlier operation.
fn id(rng: &mut Rng, op: Operation) -> Option<String> {
    let named = match op {
        Operation::Reserve | Operation::Settle | Operation::Release | Operation::Renew => true,
        _ => rng.percent(15),
    };
    let id = ["a", "b", "c", "d"][rng.weighted(&[40, 30, 20, 10])];
    named.then(|| id.to_owned())
}
