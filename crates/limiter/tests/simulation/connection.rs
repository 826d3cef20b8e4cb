//! The network between a node and the store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use tollgate::{Apply, Decision, Op, Store, StoreError, Time};

use crate::node::World;
use crate::plan::{FaultKind, Plan};
use crate::rng::Rng;
use crate::sabotage::Sabotage;
use crate::server::{Reply, Server};
use crate::timeline::Timeline;
use crate::trace::Operation;

/// The store as a node sees it.
pub(crate) struct Connection(Arc<Path>);

/// The way to the store and back.
struct Path {
    node: usize,
    plan: Arc<Plan>,
    server: Arc<Server>,
    timeline: Timeline,
    sabotage: Sabotage,
    rng: Mutex<Rng>,
}

/// What will happen to a message, as far as it does not depend on the faults of the moment.
struct Journey {
    request_delay: Duration,
    reply_delay: Duration,
    request_lost: bool,
    reply_lost: bool,
    /// How long it takes until a lost message is reported; `None` if it never is.
    error_after: Option<Duration>,
}

impl Connection {
    pub(crate) fn new(node: usize, world: &World, rng: Rng) -> Connection {
        let World { plan, server, timeline, sabotage, .. } = world;
        let (plan, server, rng) = (Arc::clone(plan), Arc::clone(server), Mutex::new(rng));
        Connection(Arc::new(Path {
            node,
            plan,
            server,
            timeline: *timeline,
            sabotage: *sabotage,
            rng,
        }))
    }
}

impl Path {
    fn journey(&self) -> Journey {
        let (plan, rng) = (&self.plan, &mut *self.rng.lock().unwrap());
        let network = &plan.network;
        let timeout = plan.timeout.as_millis() as u64;
        let mut journey = Journey {
            request_delay: Duration::from_millis(rng.between(0, network.max_request_delay)),
            reply_delay: Duration::from_millis(rng.between(0, network.max_reply_delay)),
            request_lost: rng.percent(network.loss),
            reply_lost: rng.percent(network.loss),
            error_after: rng
                .percent(50)
                .then(|| Duration::from_millis(rng.between(1, 2 * timeout))),
        };
        if self.timeline.is_over(plan) {
            (journey.request_lost, journey.reply_lost) = (false, false);
            journey.request_delay = journey.request_delay.min(plan.timeout / 8);
            journey.reply_delay = journey.reply_delay.min(plan.timeout / 8);
        }
        journey
    }

    /// Returns whether there is such a fault now.
    fn has(&self, kind: FaultKind) -> bool {
        self.faults().any(|fault| fault == kind)
    }

    fn faults(&self) -> impl Iterator<Item = FaultKind> {
        let now = self.timeline.elapsed();
        let is_here = move |node: Option<usize>| node.is_none_or(|node| node == self.node);
        let faults = self.plan.faults.iter();
        faults
            .filter(move |fault| is_here(fault.node) && fault.from <= now && now < fault.until)
            .map(|fault| fault.kind)
    }

    /// Returns how much longer each way takes now.
    fn slowness(&self) -> Duration {
        let slow = |kind| match kind {
            FaultKind::Slow(millis) => Duration::from_millis(millis),
            _ => Duration::ZERO,
        };
        self.faults().map(slow).sum()
    }

    /// Carries a message to the store and its reply back, whether or not a caller still waits for it.
    async fn carry(self: Arc<Path>, ops: Vec<Operation>, answer: oneshot::Sender<Vec<Reply>>) {
        let journey = self.journey();
        if journey.request_lost || self.has(FaultKind::LosesRequests) {
            return journey.lost().await;
        }
        sleep(journey.request_delay + self.slowness()).await;
        if self.has(FaultKind::LosesRequests) {
            return journey.lost().await;
        }
        let replies = ops.iter().map(|op| self.server.apply(self.node, op)).collect();
        sleep(journey.reply_delay + self.slowness()).await;
        if journey.reply_lost || self.has(FaultKind::LosesReplies) {
            return journey.lost().await;
        }
        let _ = answer.send(replies);
    }
}

impl Journey {
    /// Ends when the loss is noticed.
    async fn lost(&self) {
        match self.error_after {
            Some(after) => sleep(after).await,
            None => std::future::pending().await,
        }
    }
}

impl Store for Connection {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        assert_eq!(at, None, "the store has its own clock");
        Apply::Pending(Box::pin(async move {
            if self.0.has(FaultKind::Refuses) {
                return out.fill(Err(StoreError::refused("connection refused")));
            }
            let (answer, reply) = oneshot::channel();
            let messages = ops.iter().map(|op| self.0.sabotage.send(Operation::of(op))).collect();
            tokio::spawn(Arc::clone(&self.0).carry(messages, answer));
            let Ok(replies) = reply.await else {
                out.fill(Err(StoreError::unavailable("connection reset")));
                return;
            };
            for ((op, out), (result, statuses)) in ops.iter().zip(out).zip(replies) {
                op.report(statuses);
                *out = result;
            }
        }))
    }
}
