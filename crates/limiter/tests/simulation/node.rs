//! A node: the layers as they ship, around the simulated network, and its callers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tollgate::layers::Layers;
use tollgate::{Act, AnyStore, Clock, Decision, Error, Limiter, Source};

use crate::connection::Connection;
use crate::limits::Rule;
use crate::plan::{Kind, Plan, Wave};
use crate::rng::Rng;
use crate::sabotage::Sabotage;
use crate::server::{POLICY, Server};
use crate::timeline::Timeline;
use crate::trace::{Call, CallResult, Operation};

/// How often a caller repeats an operation with an id that failed.
const RETRIES: usize = 3;

pub(crate) struct Node {
    index: usize,
    plan: Arc<Plan>,
    server: Arc<Server>,
    clock: Clock,
    limiter: Limiter<AnyStore>,
    sabotage: Sabotage,
    calls: Arc<Mutex<Vec<Call>>>,
}

/// What nodes have in common.
pub(crate) struct World {
    pub(crate) plan: Arc<Plan>,
    pub(crate) server: Arc<Server>,
    pub(crate) timeline: Timeline,
    pub(crate) sabotage: Sabotage,
    pub(crate) calls: Arc<Mutex<Vec<Call>>>,
}

impl Node {
    pub(crate) fn new(index: usize, world: &World, rng: Rng) -> Node {
        let World { plan, server, timeline, sabotage, calls } = world;
        let clock = timeline.clock_of(&plan.nodes[index]);
        let connection = Connection::new(index, world, rng);
        let layers = Layers::new()
            .timeout(plan.timeout)
            .nodes(plan.nodes.len() as u32)
            .clock(clock.clone())
            .around(Arc::new(connection));
        let limits: Vec<String> = plan.rules.iter().map(Rule::line).collect();
        let limiter = AnyStore::layered(layers).limiter(POLICY, limits).unwrap();
        let distribution = plan.mode.distribution(sabotage.part(plan.mode.part));
        Node {
            index,
            plan: Arc::clone(plan),
            server: Arc::clone(server),
            clock,
            limiter: limiter.with_on_failure(plan.mode.on_failure).with_distribution(distribution),
            sabotage: *sabotage,
            calls: Arc::clone(calls),
        }
    }

    pub(crate) fn limiter(&self) -> &Limiter<AnyStore> {
        &self.limiter
    }

    /// Makes calls until the time is over.
    pub(crate) async fn call_until_over(
        self: Arc<Node>,
        caller: usize,
        mut rng: Rng,
        timeline: Timeline,
    ) {
        let pause = self.plan.nodes[self.index].pauses[caller];
        let mut number: u64 = 0;
        while !timeline.is_over(&self.plan) {
            sleep(Duration::from_millis(rng.between(0, 2 * pause))).await;
            number += 1;
            if rng.percent(self.plan.calls.batches) {
                self.call_batch(&mut rng).await;
            } else {
                let id = format!("{}-{caller}-{number}", self.index);
                self.call_one(&id, &mut rng).await;
            }
        }
    }

    /// Makes the calls of a wave, all at once.
    pub(crate) async fn call_together(self: Arc<Node>, wave: Wave, timeline: Timeline) {
        sleep(wave.at.saturating_sub(timeline.elapsed())).await;
        let mut calls = JoinSet::new();
        for number in 0..wave.checks {
            let node = Arc::clone(&self);
            let id = wave.with_ids.then(|| format!("{}-wave-{number}", self.index).into_bytes());
            let op = Operation { id, ..self.plan.op(0, Act::Check) };
            calls.spawn(async move { node.call(&op, None).await });
        }
        calls.join_all().await;
    }

    fn random_op(&self, id: &str, rng: &mut Rng) -> Operation {
        let calls = &self.plan.calls;
        let acts = [
            (Act::Refund, calls.refunds),
            (Act::Reset, calls.resets),
            (Act::Charge, calls.charges),
            (Act::Peek, calls.peeks),
        ];
        let act = acts.into_iter().find_map(|(act, percent)| rng.percent(percent).then_some(act));
        let act = act.unwrap_or(Act::Check);
        let with_id = rng.percent(calls.ids) && !matches!(act, Act::Peek | Act::Reset);
        Operation {
            act,
            key: self.random_key(rng).into_bytes(),
            costs: vec![rng.between(1, calls.max_cost); self.plan.rules.len()],
            id: with_id.then(|| id.as_bytes().to_vec()),
        }
    }

    /// Returns a key; the first is asked for most.
    fn random_key(&self, rng: &mut Rng) -> String {
        let number = if rng.percent(60) { 0 } else { rng.index(self.plan.keys) };
        format!("key-{number}")
    }

    async fn call_one(&self, id: &str, rng: &mut Rng) {
        let op = self.random_op(id, rng);
        if rng.percent(self.plan.calls.cancelled) {
            let call_timeout = rng.between(0, self.plan.timeout.as_millis() as u64);
            self.call(&op, Some(Duration::from_millis(call_timeout))).await;
            return;
        }
        let mut result = self.call(&op, None).await;
        for _ in 0..RETRIES {
            if op.id.is_none() || result != CallResult::Unavailable {
                return;
            }
            sleep(Duration::from_millis(rng.between(0, 100))).await;
            result = self.call(&op, None).await;
        }
    }

    /// Makes a call, and records what became of it. A caller may give up earlier than the layers.
    pub(crate) async fn call(&self, op: &Operation, call_timeout: Option<Duration>) -> CallResult {
        let began = self.server.now();
        let result = self.within(call_timeout, self.request(op)).await;
        let result = result.map_or_else(|result| result, to_result);
        self.record(op, began, result.clone(), false);
        result
    }

    async fn call_batch(&self, rng: &mut Rng) {
        let keys: Vec<String> = (0..rng.between(2, 5)).map(|_| self.random_key(rng)).collect();
        let began = self.server.now();
        let mut decisions = Vec::new();
        let checks = self.limiter.check_many(keys.iter().map(String::as_str), &mut decisions);
        let result = self.within(None, checks).await;
        if result.is_err() {
            decisions.clear();
        }
        let mut decisions = decisions.into_iter();
        for key in keys {
            let op = Operation { key: key.into_bytes(), ..self.plan.op(0, Act::Check) };
            let result = decisions.next().map_or(CallResult::Hung, to_result);
            self.record(&op, began, result, true);
        }
    }

    /// Waits for an answer, but not for ever.
    async fn within<T>(
        &self,
        call_timeout: Option<Duration>,
        answer: impl Future<Output = T>,
    ) -> Result<T, CallResult> {
        let answer = async {
            let answer = answer.await;
            if self.sabotage == Sabotage::AnswersLate {
                sleep(self.plan.timeout * 3).await;
            }
            answer
        };
        let far_too_long = self.plan.timeout * 20;
        let otherwise =
            if call_timeout.is_some() { CallResult::Cancelled } else { CallResult::Hung };
        timeout(call_timeout.unwrap_or(far_too_long), answer).await.map_err(|_| otherwise)
    }

    async fn request(&self, op: &Operation) -> Result<Decision, Error> {
        let request = self.limiter.key(op.key.as_slice()).cost(op.cost());
        let request = match &op.id {
            Some(id) => request.id(id),
            None => request,
        };
        match op.act {
            Act::Check => request.check().await,
            Act::Peek => request.peek().await,
            Act::Refund => request.refund().await.map(|allowed| *allowed),
            Act::Charge => request.charge().await.map(|allowed| *allowed),
            Act::Reset => request.reset().await.map(|allowed| *allowed),
            _ => unreachable!("callers use no reservations"),
        }
    }

    fn record(&self, op: &Operation, began: u64, mut result: CallResult, in_batch: bool) {
        let ended = self.server.now();
        if let CallResult::Decided(decision) = &mut result
            && self.sabotage == Sabotage::ForgetsLocalCounts
        {
            decision.allowed |= decision.source == Source::Local;
        }
        let is_cached = matches!(&result, CallResult::Decided(of) if of.source == Source::Cache);
        // In a call with others, what the node knows is decided when the call begins. Checks are alone in
        // their calls if the store decides all of them.
        let is_alone = !in_batch && self.plan.mode.kind == Kind::Strict;
        let is_now = is_alone || began == ended;
        self.calls.lock().unwrap().push(Call {
            node: self.index,
            op: op.clone(),
            in_batch,
            began,
            ended,
            ended_at_node: self.clock.now().as_micros(),
            result,
            truth: (is_cached && is_now).then(|| self.server.peek(op)),
        });
    }
}

fn to_result(result: Result<Decision, Error>) -> CallResult {
    match result {
        Ok(decision) => CallResult::Decided(decision),
        Err(error) if error.is_unavailable() => CallResult::Unavailable,
        Err(error) => CallResult::Failed(error.to_string()),
    }
}
