//! A full store decides as one with room would, or refuses, and then changes nothing.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tollgate::{Clock, Decision, Error, Limiter, MemoryStore, Name, WhenFull};
use tollgate_model::random::Rng;

/// Limits of each of the forms in which states are kept.
const POLICIES: [&[&str]; 6] = [
    &["gcra 10/s burst 50"],
    &["sliding-window 30/min", "gcra 5/s burst 20"],
    &["sliding-log 200/min"],
    &["sliding-counters 100/min resolution 1s", "fixed-window 500/h"],
    &["concurrency 40 ttl 30s"],
    &["ar1 max 50 decay 2 resolution 1s", "concurrency 30 ttl 10s"],
];
const KEYS: u64 = 60;
const OPERATIONS: u64 = 60_000;

/// A store, and a limiter on it for each of the policies.
struct Side {
    store: Arc<MemoryStore>,
    limiters: Vec<Limiter>,
}

fn name(index: usize) -> Name {
    Name::new(&format!("policy-{index}")).unwrap()
}

impl Side {
    /// Creates a side where each policy has a bound of its own.
    fn bounded(store: Arc<MemoryStore>, max_keys: usize) -> Side {
        (0..POLICIES.len())
            .for_each(|index| store.set_max_keys(&name(index), NonZeroUsize::new(max_keys)));
        Side::new(store)
    }

    /// Asserts that the states of all policies together are those of the store.
    fn assert_counts(&self) {
        let keys = (0..POLICIES.len()).filter_map(|index| self.store.keys_of(&name(index)));
        let keys: Vec<usize> = keys.collect();
        assert_eq!(keys.iter().sum::<usize>(), self.store.stats().keys, "{keys:?}");
    }

    fn new(store: Arc<MemoryStore>) -> Side {
        let limiter = |(index, lines): (usize, &&[&str])| {
            store.limiter(name(index).as_str(), lines.iter().copied()).unwrap()
        };
        Side { limiters: POLICIES.iter().enumerate().map(limiter).collect(), store }
    }

    /// Returns how many operations found no room.
    fn refused(&self) -> u64 {
        self.store.stats().rejected
    }

    fn apply(&self, step: &Step) -> Result<Decision, Error> {
        let key = self.limiters[step.policy].key(step.key);
        let id = step.id.to_le_bytes();
        let with_id = || self.limiters[step.policy].key(step.key).id(&id);
        match step.act {
            0..=3 => key.cost(step.cost).check(),
            4 => with_id().cost(step.cost).check(),
            5 | 6 => with_id().cost(step.cost).reserve(),
            7 => with_id().cost(step.cost).settle(),
            8 => with_id().renew(),
            9 => with_id().release(),
            10 => key.cost(step.cost).charge().map(|it| *it),
            11 => key.cost(step.cost).refund().map(|it| *it),
            12 => key.peek(),
            _ => key.reset().map(|it| *it),
        }
    }
}

#[derive(Debug)]
struct Step {
    policy: usize,
    key: u64,
    act: u64,
    cost: u64,
    id: u64,
}

/// What was taken under ids: the policy, the key, and whether it can still be settled.
type Taken = BTreeMap<u64, (usize, u64)>;

fn step(rng: &mut Rng, n: u64, taken: &mut Taken) -> Step {
    let mut step = Step {
        policy: usize::try_from(rng.between(0, 5)).unwrap(),
        key: rng.between(1, KEYS),
        act: if rng.between(1, 200) == 1 { 13 } else { rng.between(0, 12) },
        cost: rng.between(1, 3),
        id: n,
    };
    if (7..=9).contains(&step.act)
        && let Some((&id, &(policy, key))) = taken.range(rng.between(0, n)..).next()
    {
        (step.id, step.policy, step.key) = (id, policy, key);
        if step.act != 8 {
            taken.remove(&id);
        }
    }
    if (4..=6).contains(&step.act) {
        taken.insert(n, (step.policy, step.key));
    }
    step
}

/// Returns how many operations were refused.
fn hold(max_keys: usize, max_memory: usize, of_policy: usize, seed: u64) -> u64 {
    let clock = Clock::manual();
    let builder = || MemoryStore::builder().clock(clock.clone());
    let full = builder().max_keys(max_keys).max_memory(max_memory).when_full(WhenFull::Deny);
    let full = Side::bounded(full.build().unwrap(), of_policy);
    let roomy = Side::new(builder().build().unwrap());
    let (mut rng, mut taken) = (Rng::new(seed), Taken::new());
    for n in 0..OPERATIONS {
        // Mostly many operations a second, and now and then a while in which much ends.
        let pause = if rng.between(1, 2_000) == 1 { 20_000_000 } else { 1 << rng.between(0, 15) };
        clock.advance(Duration::from_micros(pause));
        let step = step(&mut rng, n, &mut taken);
        let before = full.refused();
        let mut decided = full.apply(&step);
        full.assert_counts();
        if full.refused() > before {
            match &decided {
                Ok(decision) => assert!(!decision.allowed, "{n}: {step:?}: {decision:?}"),
                Err(error) => assert!(error.is_full(), "{n}: {step:?}: {error}"),
            }
            taken.remove(&n);
            continue;
        }
        if let Ok(decision) = &mut decided {
            // It remembers fewer ids, and none of them is used twice.
            decision.not_remembered = false;
        }
        let expected = roomy.apply(&step);
        assert_eq!(decided.is_ok(), expected.is_ok(), "{n}: {step:?}");
        if let (Ok(decided), Ok(expected)) = (decided, expected) {
            assert_eq!(decided, expected, "{n}: {step:?}");
        }
    }
    full.refused()
}

#[test]
fn a_store_without_room_for_keys_refuses_or_decides_exactly() {
    for seed in 0..4 {
        let refused = hold(200, 1 << 30, usize::MAX, seed);
        assert!((1_000..OPERATIONS / 2).contains(&refused), "{refused}");
    }
}

#[test]
fn a_store_without_memory_refuses_or_decides_exactly() {
    for seed in 0..4 {
        let refused = hold(1_000_000, 80 << 10, usize::MAX, seed);
        assert!((1_000..OPERATIONS / 2).contains(&refused), "{refused}");
    }
}

#[test]
fn a_policy_without_room_for_keys_refuses_or_decides_exactly() {
    for seed in 0..4 {
        let refused = hold(1_000_000, 1 << 30, 40, seed);
        assert!((1_000..OPERATIONS / 2).contains(&refused), "{refused}");
    }
}
