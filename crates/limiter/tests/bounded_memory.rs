//! A store keeps no more bytes than it may, whatever a client does, and a flood of one kind leaves the others
//! their room.
//!
//! One test, since it counts the bytes of the whole process.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use tollgate::{Clock, Decision, Error, Limiter, MemoryStore, StoreStats, WhenFull};
use tollgate_core::{Item, Key, Op};
use tollgate_fixtures::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MAX_MEMORY: usize = 4 << 20;
/// What the store takes beside what it counts: its shards, the list of terms, the places of ids.
const FIXED: usize = 512 << 10;
/// Number of operations of a flood. Each would take far more than there is.
const OPERATIONS: u64 = 200_000;

/// What a client does again and again.
struct Flood {
    what: &'static str,
    limits: &'static [&'static str],
    operation: fn(&Client, u64) -> Result<Decision, Error>,
    /// The kind of memory that it fills.
    fills: fn(&StoreStats) -> tollgate::MemoryShare,
}

const FLOODS: [Flood; 10] = [
    Flood {
        what: "new keys, one word each",
        limits: &["gcra 1/day burst 5"],
        operation: |client, n| client.limiter.check(n),
        fills: |stats| stats.states,
    },
    Flood {
        what: "new keys, three words each",
        limits: &["sliding-window 5/day"],
        operation: |client, n| client.limiter.check(n),
        fills: |stats| stats.states,
    },
    Flood {
        what: "new keys, a slot each",
        limits: &["sliding-counters 5/day"],
        operation: |client, n| client.limiter.check(n),
        fills: |stats| stats.states,
    },
    Flood {
        what: "another slot for each request",
        limits: &["sliding-log 9000/day"],
        operation: |client, n| {
            client.clock.advance(Duration::from_micros(1));
            client.limiter.check(n % 50)
        },
        fills: |stats| stats.states,
    },
    Flood {
        what: "new keys of two limits, among keys of one",
        limits: &["gcra 1/day burst 5", "gcra 1/h burst 5"],
        operation: |client, n| match n % 5 {
            0 => client.other.check(n),
            _ => client.limiter.check(n),
        },
        fills: |stats| stats.states,
    },
    Flood {
        what: "reservations that are settled when other keys have taken their room",
        limits: &["gcra 1/day burst 5"],
        operation: |client, n| match n % 4 {
            0 => client.limiter.key(n).id(&n.to_le_bytes()).reserve(),
            1 | 2 => client.limiter.check(n),
            _ => {
                let reserved = n - 3;
                client.limiter.key(reserved).id(&reserved.to_le_bytes()).cost(2).settle()
            }
        },
        fills: |stats| stats.states,
    },
    Flood {
        what: "new keys, each under limits of its own",
        limits: &["gcra 1/day burst 5"],
        operation: |client, n| {
            let limit = format!("gcra {}/day burst 1", 1 + n % 5_000).parse().unwrap();
            let key = n.to_le_bytes();
            let subject = Key::new(&key).unwrap().into();
            let items = [Item { limit: &limit, subject, cost: 1 }];
            let op = Op::check(client.limiter.policy().name(), &items);
            Ok(client.limiter.store().apply_one(&op, None)?)
        },
        fills: |stats| stats.states,
    },
    Flood {
        what: "leases",
        limits: &["concurrency 9000 ttl 1h"],
        operation: |client, n| client.limiter.key(n % 50).id(&n.to_le_bytes()).check(),
        fills: |stats| stats.leases,
    },
    Flood {
        what: "reservations of nothing",
        limits: &["gcra 1/s burst 5"],
        operation: |client, n| client.limiter.key(n % 50).cost(0).id(&n.to_le_bytes()).reserve(),
        fills: |stats| stats.reservations,
    },
    Flood {
        what: "ids",
        limits: &["fixed-window 1000000/day"],
        operation: |client, n| client.limiter.key("a").id(&n.to_le_bytes()).check(),
        fills: |stats| stats.remembered,
    },
];

struct Client {
    limiter: Limiter,
    /// Another limiter on the same store.
    other: Limiter,
    clock: Clock,
}

fn store(when_full: WhenFull, clock: &Clock) -> Arc<MemoryStore> {
    let store = MemoryStore::builder().max_memory(MAX_MEMORY).when_full(when_full);
    store.clock(clock.clone()).build().unwrap()
}

fn counted(stats: &StoreStats) -> usize {
    [stats.states, stats.leases, stats.reservations, stats.remembered]
        .iter()
        .map(|share| share.bytes)
        .sum()
}

#[test]
fn no_client_fills_more_memory_than_there_may_be() {
    for (flood, when_full) in
        FLOODS.iter().flat_map(|flood| [(flood, WhenFull::Deny), (flood, WhenFull::Allow)])
    {
        let what = flood.what;
        let before = CountingAllocator::live();
        let clock = Clock::manual();
        let store = store(when_full, &clock);
        let limiter = |name, limits: &[&str]| store.limiter(name, limits).unwrap();
        let client = Client {
            limiter: limiter("flooded", flood.limits),
            other: limiter("also-flooded", &["gcra 1/week burst 5"]),
            clock,
        };
        let mut most = 0;
        for n in 0..OPERATIONS {
            let decision = (flood.operation)(&client, n).unwrap();
            let is_refused = !decision.allowed || decision.not_remembered;
            let may_be_refused = store.stats().rejected + store.stats().unremembered > 0
                || when_full == WhenFull::Allow;
            assert!(may_be_refused || !is_refused, "{what}: {n}: {decision:?}");
            if n % 64 == 0 {
                most = most.max(CountingAllocator::live() - before);
            }
        }
        let stats = store.stats();
        let filled = (flood.fills)(&stats);
        let live = CountingAllocator::live() - before;
        println!("{what}: live {live}, most {most}, {stats:?}");
        assert!(filled.bytes * 5 > filled.max * 2, "{what}: {stats:?}");
        assert!(filled.bytes <= filled.max, "{what}: {stats:?}");
        assert!(most <= MAX_MEMORY + FIXED, "{what}: {most} bytes");
        // What it says is what it takes.
        assert!(live <= counted(&stats) + FIXED, "{what}: {live} bytes, {stats:?}");
        assert!(counted(&stats) <= live, "{what}: {live} bytes, {stats:?}");
        others_have_room(&store, filled);
        // Everything ends, and then there is room again.
        client.clock.advance(Duration::from_secs(2 * 86_400));
        let other = store.limiter("other", ["sliding-counters 5/s", "gcra 1/s"]).unwrap();
        for n in 0..1_000_u64 {
            assert!(other.check(n).unwrap().allowed, "{what}: {n}: {:?}", store.stats());
        }
    }
}

/// Each of the kinds that were not filled has room.
fn others_have_room(store: &Arc<MemoryStore>, filled: tollgate::MemoryShare) {
    let stats = store.stats();
    if filled == stats.states {
        return;
    }
    let other = store.limiter("other", ["concurrency 5 ttl 1h", "gcra 1/s burst 5"]).unwrap();
    let before = stats.rejected;
    for n in 0..100_u64 {
        assert!(other.check(n).unwrap().allowed || filled == stats.leases);
    }
    let gcra = other.with_limits(vec!["gcra 1/s burst 5".parse().unwrap()]);
    for n in 200..300_u64 {
        let decision = gcra.key(n).id("mine").reserve().unwrap();
        assert!(decision.allowed || filled == stats.reservations);
        assert!(gcra.check(n).unwrap().allowed);
    }
    let rejected = store.stats().rejected - before;
    assert!(rejected == 0 || filled == stats.leases || filled == stats.reservations);
}
