//! Asking a store by its own clock, and what to ask at random.

use std::error::Error as _;
use std::time::Duration;

use tollgate_core::{Act, Apply, Decision, Id, Item, Key, Name, Op, Policy, Store, StoreError};
use tollgate_redis::RedisStore;

/// Waiting for an answer is not what these tests are about, and the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) async fn connect(url: &str, prefix: &str) -> RedisStore {
    RedisStore::builder(url).prefix(prefix).response_timeout(DEADLINE).connect().await.unwrap()
}

pub(crate) fn policy(name: &str, lines: &[&str]) -> Policy {
    Policy::parse(Name::new(name).unwrap(), lines).unwrap()
}

/// Limits that are as new after a second or two.
const BRIEF: [&[&str]; 13] = [
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

/// Policies of these limits.
pub(crate) fn brief() -> Vec<Policy> {
    (0..).zip(BRIEF).map(|(number, lines)| policy(&format!("brief-{number}"), lines)).collect()
}

/// What to do with a key under a policy.
#[derive(Debug, Clone)]
pub(crate) struct Wish<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) key: String,
    pub(crate) act: Act,
    pub(crate) cost: u64,
    pub(crate) id: Option<String>,
}

impl<'p> Wish<'p> {
    pub(crate) fn new(policy: &'p Policy, key: &str, act: Act, cost: u64) -> Wish<'p> {
        Wish { policy, key: key.to_owned(), act, cost, id: None }
    }

    pub(crate) fn with_id(mut self, id: &str) -> Wish<'p> {
        self.id = Some(id.to_owned());
        self
    }

    fn items(&self) -> Vec<Item<'_>> {
        self.policy.items(|_| Key::new(self.key.as_bytes()).ok()).unwrap()
    }

    fn op<'a>(&'a self, items: &'a [Item<'a>]) -> Op<'a> {
        let id = self.id.as_ref().map(|id| Id::new(id.as_bytes()).unwrap());
        Op { policy: self.policy.name(), items, act: self.act, cost: self.cost, id }
    }
}

/// Asks for all of them in one call.
pub(crate) async fn ask_all(
    store: &RedisStore,
    wishes: &[Wish<'_>],
) -> Vec<Result<Decision, StoreError>> {
    let items: Vec<Vec<Item<'_>>> = wishes.iter().map(Wish::items).collect();
    let ops: Vec<Op<'_>> = wishes.iter().zip(&items).map(|(wish, items)| wish.op(items)).collect();
    let mut out = vec![Err(StoreError::unanswered()); ops.len()];
    if let Apply::Pending(later) = store.apply(&ops, None, &mut out) {
        later.await;
    }
    out
}

/// Asks for one, which must be answered.
pub(crate) async fn ask(store: &RedisStore, wish: Wish<'_>) -> Decision {
    let answer = ask_all(store, std::slice::from_ref(&wish)).await.remove(0);
    answer.unwrap_or_else(|error| panic!("{}: {wish:?}", in_words(&error)))
}

/// An error with its cause.
pub(crate) fn in_words(error: &StoreError) -> String {
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}

/// Random numbers that are the same in every run: `SplitMix64`, as small as a generator can be.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    pub(crate) fn one_of<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    /// Any of these acts on any key, with or without an id.
    pub(crate) fn wish<'p>(&mut self, policies: &'p [Policy], keys: u64, acts: &[Act]) -> Wish<'p> {
        let (policy, act) = (self.one_of(policies), *self.one_of(acts));
        let key = format!("key {}", self.below(keys));
        let wish = Wish::new(policy, &key, act, self.below(4));
        if act.needs_id() || self.below(4) == 0 {
            let id = format!("id {}", self.below(5));
            return wish.with_id(&id);
        }
        wish
    }
}
