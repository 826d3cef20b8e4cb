//! Operations on a store by its own clock, chosen by a test or at random.

use std::time::Duration;

use tollgate_core::{Act, Apply, Decision, Items, Name, Op, Policy, Request, Store, StoreError};
use tollgate_redis::RedisStore;

use super::errors::with_causes;

/// The response timeout. Long, since the machine may be busy and these tests are not about timeouts.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn connect(url: &str, prefix: &str) -> RedisStore {
    let builder = RedisStore::builder(url).prefix(prefix).response_timeout(RESPONSE_TIMEOUT);
    builder.connect().await.unwrap()
}

pub(crate) fn policy(name: &str, lines: &[&str]) -> Policy {
    Policy::parse(Name::new(name).unwrap(), lines).unwrap()
}

/// Limits that reset within a second or two.
const SHORT_LIVED: [&[&str]; 13] = [
    &["gcra 100/s burst 20"],
    &["token-bucket 100/s burst 20"],
    &["leaky-bucket size 20 drip 10 every 100ms"],
    &["fixed-window 20/1s"],
    &["request-window 20/1s"],
    &["sliding-log 20/1s"],
    &["sliding-counters 20/1s resolution 100ms"],
    &["sliding-window 20/1s"],
    &["ar1 max 20 decay 10 resolution 20ms"],
    &["concurrency 20 ttl 1s"],
    &["gcra 100/s burst 20 count-denied", "sliding-log 30/1s"],
    &["fixed-window 20/1s", "concurrency 30 ttl 1s", "ar1 max 20 decay 10 resolution 20ms"],
    &["gcra 100/s burst 9 per ip", "sliding-window 20/1s per user", "request-window 9/1s per all"],
];

/// Returns policies of limits that reset within a second or two.
pub(crate) fn short_lived_policies() -> Vec<Policy> {
    let numbered = (0..).zip(SHORT_LIVED);
    numbered.map(|(number, lines)| policy(&format!("brief-{number}"), lines)).collect()
}

/// One operation on a key under a policy.
#[derive(Debug, Clone)]
pub(crate) struct Operation<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) key: String,
    pub(crate) act: Act,
    /// The cost of each limit; the last one is also that of all further limits.
    pub(crate) costs: Vec<u64>,
    pub(crate) id: Option<String>,
}

impl<'p> Operation<'p> {
    pub(crate) fn new(policy: &'p Policy, key: &str, act: Act, cost: u64) -> Operation<'p> {
        Operation { policy, key: key.to_owned(), act, costs: vec![cost], id: None }
    }

    pub(crate) fn with_costs(self, costs: &[u64]) -> Operation<'p> {
        Operation { costs: costs.to_vec(), ..self }
    }

    pub(crate) fn with_id(mut self, id: &str) -> Operation<'p> {
        self.id = Some(id.to_owned());
        self
    }

    /// Returns the request, with the same key for all kinds of subjects.
    fn request(&self) -> Request<'_> {
        let request = Request::of(&self.key).subject("ip", &self.key).subject("user", &self.key);
        self.id.as_ref().map_or(request.clone(), |id| request.id(id))
    }

    fn items<'a>(&'a self, request: &'a Request<'_>) -> Items<'a> {
        let mut items = request.items(self.policy.limits()).unwrap();
        let last = self.costs.last().copied().unwrap();
        let costs = self.costs.iter().copied().chain(std::iter::repeat(last));
        items.iter_mut().zip(costs).for_each(|(item, cost)| item.cost = cost);
        items
    }
}

/// Applies all operations in one call.
pub(crate) async fn apply_all(
    store: &RedisStore,
    operations: &[Operation<'_>],
) -> Vec<Result<Decision, StoreError>> {
    let requests: Vec<Request<'_>> = operations.iter().map(Operation::request).collect();
    let all = || operations.iter().zip(&requests);
    let items: Vec<Items<'_>> =
        all().map(|(operation, request)| operation.items(request)).collect();
    let ops = all().zip(&items).map(|((operation, request), items)| {
        request.op(operation.policy.name(), items, operation.act).unwrap()
    });
    let ops: Vec<Op<'_>> = ops.collect();
    let mut out = vec![Err(StoreError::unanswered()); ops.len()];
    if let Apply::Pending(pending) = store.apply(&ops, None, &mut out) {
        pending.await;
    }
    out
}

/// Applies one operation, which must succeed.
pub(crate) async fn apply(store: &RedisStore, operation: Operation<'_>) -> Decision {
    let result = apply_all(store, std::slice::from_ref(&operation)).await.remove(0);
    result.unwrap_or_else(|error| panic!("{}: {operation:?}", with_causes(&error)))
}

/// A random number generator with a fixed sequence for each seed: `SplitMix64`, the smallest there is.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    pub(crate) fn one_of<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    /// Returns any of these acts on any of so many keys, with or without an id.
    pub(crate) fn operation<'p>(
        &mut self,
        policies: &'p [Policy],
        keys: u64,
        acts: &[Act],
    ) -> Operation<'p> {
        let (policy, act) = (self.one_of(policies), *self.one_of(acts));
        let key = format!("key {}", self.below(keys));
        let operation = Operation::new(policy, &key, act, self.below(4));
        let operation = if self.below(3) == 0 {
            let costs: Vec<u64> = policy.limits().iter().map(|_| self.below(4)).collect();
            operation.with_costs(&costs)
        } else {
            operation
        };
        if act.needs_id() || self.below(4) == 0 {
            let id = format!("id {}", self.below(5));
            return operation.with_id(&id);
        }
        operation
    }
}
