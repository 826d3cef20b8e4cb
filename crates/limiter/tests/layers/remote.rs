//! A remote store that does what the test says.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tollgate::layers::{Distribution, LayerStats, LayeredStore, Layers, OnFailure};
use tollgate::{
    Act, AnyStore, Apply, Clock, Decision, Limiter, MemoryStore, Op, Policy, Source, Store,
    StoreError, Time,
};
use tollgate_core::Request;

pub(crate) const TIMEOUT: Duration = Duration::from_millis(20);

/// What the store does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is done and answered.
    Answers,
    /// It is done and answered when the test [lets](Remote::answer) it.
    Waits,
    /// It is done and answered after some milliseconds.
    Slow(u64),
    /// There is no connection, so that nothing is done.
    Fails,
    /// As `Fails` for what is charged; all else is done and answered.
    FailsCharges,
    /// The server of this key is away, as one of a cluster; all else is done and answered.
    FailsFor(&'static str),
    /// What would write is refused; all else is answered.
    ReadOnly,
    /// The connection breaks after all is done.
    LosesReplies,
    /// Nothing is done, and no answer comes.
    Silent,
}

/// A store in memory behind a network of the test's making.
pub(crate) struct Remote {
    store: Arc<MemoryStore>,
    mode: Mutex<Mode>,
    /// The cost of each operation of each call.
    calls: Mutex<Vec<Vec<u64>>>,
    answers: Semaphore,
}

impl Remote {
    pub(crate) fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }

    fn mode(&self) -> Mode {
        *self.mode.lock().unwrap()
    }

    /// Lets one call be answered.
    pub(crate) fn answer(&self) {
        self.answers.add_permits(1);
    }

    /// Returns the costs of each call so far.
    pub(crate) fn calls(&self) -> Vec<Vec<u64>> {
        self.calls.lock().unwrap().clone()
    }

    pub(crate) fn call_count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    async fn respond(
        &self,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) {
        let is_charge = ops.iter().any(|op| op.act == Act::Charge);
        match self.mode() {
            Mode::Silent => return pending().await,
            Mode::Fails => return refuse(out),
            Mode::FailsCharges if is_charge => return refuse(out),
            Mode::ReadOnly => return self.respond_read_only(ops, at, out),
            Mode::Slow(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Mode::Waits => self.answers.acquire().await.unwrap().forget(),
            _ => {}
        }
        for (op, out) in ops.iter().zip(&mut *out) {
            *out = match self.mode() {
                Mode::FailsFor(key) if op.items[0].subject.key.as_bytes() == key.as_bytes() => {
                    Err(StoreError::refused("connection refused"))
                }
                _ => self.store.apply_one(op, at),
            };
        }
        if self.mode() == Mode::LosesReplies {
            out.fill(Err(StoreError::unavailable("connection reset")));
        }
    }
}

impl Remote {
    fn respond_read_only(
        &self,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) {
        for (op, out) in ops.iter().zip(out) {
            let peek = self.store.apply_one(&op.with_act(Act::Peek), at).unwrap();
            *out = match op.act {
                Act::Check if !peek.allowed => Ok(peek),
                Act::Peek => Ok(peek),
                _ => Err(StoreError::refused("READONLY")),
            };
        }
    }
}

fn refuse(out: &mut [Result<Decision, StoreError>]) {
    out.fill(Err(StoreError::refused("connection refused")));
}

impl Store for Remote {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        Apply::Pending(Box::pin(async move {
            self.calls.lock().unwrap().push(ops.iter().map(|op| op.items[0].cost).collect());
            self.respond(ops, at, out).await;
        }))
    }
}

/// A limiter with layers around a [`Remote`].
pub(crate) struct Setup {
    pub(crate) remote: Arc<Remote>,
    pub(crate) limiter: Limiter<AnyStore>,
    clock: Clock,
}

impl Setup {
    pub(crate) fn new(limits: &[&str], on_failure: OnFailure) -> Setup {
        Setup::of_nodes(1, limits, on_failure)
    }

    pub(crate) fn of_nodes(nodes: u32, limits: &[&str], on_failure: OnFailure) -> Setup {
        let start = Instant::now();
        let elapsed = move || u64::try_from(start.elapsed().as_micros()).unwrap();
        let clock = Clock::from_fn(move || Time::from_micros(1_000_000_007 + elapsed()).unwrap());
        let remote = Arc::new(Remote {
            store: MemoryStore::builder().clock(clock.clone()).build().unwrap(),
            mode: Mutex::new(Mode::Answers),
            calls: Mutex::default(),
            answers: Semaphore::new(0),
        });
        let layers = Layers::new().timeout(TIMEOUT).nodes(nodes).clock(clock.clone());
        let store = AnyStore::layered(layers.around(Arc::clone(&remote) as Arc<dyn Store>));
        let limiter = store.limiter("test", limits).unwrap().with_on_failure(on_failure);
        Setup { remote, limiter, clock }
    }

    /// Creates some nodes on one store, whose checks are decided so.
    pub(crate) fn distributed(
        nodes: u32,
        limits: &[&str],
        distribution: impl Into<Distribution>,
    ) -> Vec<Setup> {
        let (first, distribution) =
            (Setup::of_nodes(nodes, limits, OnFailure::Deny), distribution.into());
        let node = |_| first.another(Layers::new().nodes(nodes), distribution);
        (0..nodes).map(node).collect()
    }

    /// Creates another node on the same store.
    pub(crate) fn another(&self, layers: Layers, distribution: Distribution) -> Setup {
        self.with_layers(layers.timeout(TIMEOUT), distribution)
    }

    /// Creates another node on the same store, which waits for ever.
    pub(crate) fn patient(&self, layers: Layers, distribution: Distribution) -> Setup {
        self.with_layers(layers.timeout(Duration::MAX), distribution)
    }

    fn with_layers(&self, layers: Layers, distribution: Distribution) -> Setup {
        let (remote, clock) = (Arc::clone(&self.remote), self.clock.clone());
        let layers = layers.clock(clock.clone());
        let store = AnyStore::layered(layers.around(Arc::clone(&remote) as Arc<dyn Store>));
        let limiter = store.limiter("test", self.limiter.policy().limits().to_vec()).unwrap();
        let limiter = limiter.with_on_failure(OnFailure::Deny).with_distribution(distribution);
        Setup { remote, limiter, clock }
    }

    pub(crate) fn layers(&self) -> &LayeredStore {
        self.limiter.store().layers().unwrap()
    }

    pub(crate) fn stats(&self) -> LayerStats {
        self.layers().stats()
    }

    /// Applies some operations on the key in one call, under these limits instead of the limiter's, as after a
    /// reload.
    pub(crate) async fn apply(&self, limits: &[&str], acts: &[Act]) -> Vec<Decision> {
        let policy = Policy::parse(self.limiter.policy().name().clone(), limits).unwrap();
        let request = Request::of("a");
        let items = request.items(policy.limits()).unwrap();
        let op = |act: &Act| request.op(policy.name(), &items, *act).unwrap();
        let ops: Vec<Op<'_>> = acts.iter().map(op).collect();
        let mut out = vec![Err(StoreError::unanswered()); ops.len()];
        if let Apply::Pending(pending) = self.layers().apply(&ops, None, &mut out) {
            pending.await;
        }
        out.into_iter().map(Result::unwrap).collect()
    }

    /// Starts a check.
    pub(crate) fn spawn(&self, cost: u64) -> tokio::task::JoinHandle<Decision> {
        let limiter = self.limiter.clone();
        tokio::spawn(async move { limiter.key("a").cost(cost).check().await.unwrap() })
    }

    pub(crate) async fn check(&self) -> Decision {
        self.limiter.key("a").check().await.unwrap()
    }

    /// Returns how much of the key remains by the store alone.
    pub(crate) fn remaining(&self) -> Option<u64> {
        let alone = self.remote.store.limiter("test", self.limiter.policy().limits().to_vec());
        alone.unwrap().key("a").peek().unwrap().remaining
    }
}

/// Lets everything happen that can at this instant.
pub(crate) async fn settle() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

/// Returns who decided.
pub(crate) fn source(decision: &Decision) -> (Source, bool) {
    (decision.source, decision.degraded)
}

/// Checks a key from all nodes with some callers each, until all of them were denied. Returns the number of
/// admissions.
pub(crate) async fn exhaust(nodes: &[Setup], callers: usize) -> u64 {
    let callers = nodes.iter().flat_map(|node| std::iter::repeat_n(node, callers));
    let admitted = callers.map(async |node| {
        let mut admitted = 0;
        while node.check().await.allowed {
            admitted += 1;
            tokio::task::yield_now().await;
        }
        admitted
    });
    futures_util::future::join_all(admitted).await.into_iter().sum()
}

/// Lets some time pass.
pub(crate) async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    settle().await;
}
