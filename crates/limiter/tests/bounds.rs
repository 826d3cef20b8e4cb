//! A store is bounded, and a flood of new keys never refills an exhausted one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;

use tollgate::{
    Clock, Limiter, MemoryShare, MemoryStore, MemoryStoreBuilder, Name, Span, StoreStats, WhenFull,
};

fn limiter(line: &str, max_keys: usize, when_full: WhenFull) -> (Limiter, Clock) {
    let clock = Clock::manual();
    let store = MemoryStore::builder().max_keys(max_keys).when_full(when_full).clock(clock.clone());
    (store.build().unwrap().limiter("test", [line]).unwrap(), clock)
}

#[test]
fn a_thousand_exhausted_keys_outlast_ten_million_new_ones() {
    const BOUND: usize = 1_000_000;
    let (limiter, clock) = limiter("gcra 1/min burst 3", BOUND, WhenFull::Deny);
    let exhausted: Vec<String> = (0..1_000).map(|key| format!("known-{key}")).collect();
    for key in &exhausted {
        (0..3).for_each(|_| assert!(limiter.check(key).unwrap().allowed));
    }
    let resets = |key: &String| limiter.key(key).peek().unwrap().reset_after;
    let before: Vec<_> = exhausted.iter().map(resets).collect();

    let bytes = || limiter.store().stats().states.bytes;
    let (mut full, mut rejected) = (None, 0_u64);
    for key in 0..10_000_000_u64 {
        if !limiter.check(key).unwrap().allowed {
            full.get_or_insert_with(bytes);
            rejected += 1;
        }
        assert!(key % 65_536 != 0 || limiter.store().stats().keys <= BOUND);
    }
    assert!(bytes() <= full.unwrap(), "more memory after the store was full");
    assert_eq!(limiter.store().stats().keys, BOUND);
    assert_eq!(limiter.store().stats().rejected, rejected);
    assert_eq!(rejected, 10_000_000 + 1_000 - BOUND as u64);

    for (key, reset) in exhausted.iter().zip(before) {
        let decision = limiter.check(key).unwrap();
        assert!(!decision.allowed, "{key}");
        assert_eq!(decision.reset_after, reset, "{key}");
    }
    // When all keys have reset, there is room again.
    clock.advance(Duration::from_secs(180));
    assert!(limiter.check("new").unwrap().allowed);
}

#[test]
fn keys_that_reset_make_room_for_new_ones() {
    const BOUND: usize = 10_000;
    let (limiter, clock) = limiter("gcra 1/s burst 2", BOUND, WhenFull::Deny);
    for key in 0..1_000_000_u64 {
        assert!(limiter.check(key).unwrap().allowed, "{key}");
        // Five thousand keys within the second that each of them lives.
        clock.advance(Duration::from_micros(200));
        assert!(limiter.store().stats().keys <= BOUND);
    }
    assert_eq!(limiter.store().stats().rejected, 0);
}

#[test]
fn a_full_store_allows_a_new_key_as_soon_as_one_has_reset() {
    let (limiter, clock) = limiter("gcra 1/s burst 1", 2, WhenFull::Deny);
    assert!(limiter.check("a").unwrap().allowed);
    clock.advance(Duration::from_millis(500));
    assert!(limiter.check("b").unwrap().allowed);
    let denied = limiter.check("c").unwrap();
    assert!(!denied.allowed);
    assert!(denied.retry_after.is_some() && denied.remaining == Some(0));
    assert!(!limiter.key("c").peek().unwrap().allowed);
    assert!(limiter.key("c").charge().unwrap_err().is_full());
    clock.advance(Duration::from_micros(499_999));
    assert!(!limiter.check("c").unwrap().allowed);
    clock.advance(Duration::from_micros(1));
    assert!(limiter.check("c").unwrap().allowed);
    assert!(!limiter.check("b").unwrap().allowed, "b is unchanged");
}

#[test]
fn a_full_store_allows_uncounted_if_configured() {
    let (limiter, _) = limiter("gcra 1/s burst 1", 1, WhenFull::Allow);
    assert!(limiter.check("a").unwrap().allowed);
    (0..5).for_each(|_| assert!(limiter.check("b").unwrap().allowed));
    assert!(!limiter.check("a").unwrap().allowed);
    assert!(limiter.key("b").charge().unwrap().allowed);
    assert_eq!(limiter.store().stats().keys, 1);
    assert_eq!(limiter.store().stats().rejected, 6);
}

#[test]
fn a_full_store_charges_all_limits_or_none() {
    let store = MemoryStore::builder().max_keys(3).clock(Clock::manual()).build().unwrap();
    let both = store.limiter("test", ["gcra 1/s burst 9", "fixed-window 9/h"]).unwrap();
    assert!(both.check("a").unwrap().allowed);
    let one = both.with_limits(both.policy().limits()[..1].to_vec());
    assert!(one.check("b").unwrap().allowed);
    // There is no room for the second limit of b, so the first is not charged.
    assert!(!both.check("b").unwrap().allowed);
    assert_eq!(one.key("b").peek().unwrap().remaining, Some(8));
    assert_eq!(both.store().stats().keys, 3);
}

/// In each of the forms in which states are kept.
#[test]
fn a_flood_on_one_policy_leaves_the_others_their_room() {
    for line in ["gcra 1/min", "sliding-window 1/min", "sliding-counters 1/min"] {
        let clock = Clock::manual();
        let store = MemoryStore::builder().max_keys(1_000).clock(clock.clone()).build().unwrap();
        let search = Name::new("search").unwrap();
        store.set_max_keys(&search, NonZeroUsize::new(600));
        let flooded = store.limiter("search", [line]).unwrap();
        let flood =
            |keys: Range<u64>| keys.filter(|key| flooded.check(*key).unwrap().allowed).count();
        assert_eq!(flood(0..10_000), 600, "{line}");
        assert_eq!((store.keys_of(&search), store.stats().rejected), (Some(600), 9_400));
        // One key has two states there.
        let login = store.limiter("login", ["gcra 1/s", line]).unwrap();
        assert!((0..200_u64).all(|key| login.check(key).unwrap().allowed), "{line}");
        assert_eq!(store.keys_of(&Name::new("login").unwrap()), None);
        assert!(!flooded.check(0_u64).unwrap().allowed, "a known key is still counted");
        flooded.key(0_u64).reset().unwrap();
        assert_eq!(flood(20_000..20_010), 1, "{line}");
        clock.advance(Duration::from_secs(180));
        assert_eq!(flood(30_000..32_000), 600, "{line}");
        // A raised bound counts at once, and so does a lowered one, though it drops no state.
        store.set_max_keys(&search, NonZeroUsize::new(700));
        assert_eq!(flood(40_000..42_000), 100, "{line}");
        store.set_max_keys(&search, NonZeroUsize::new(10));
        assert_eq!(flood(50_000..52_000), 0, "{line}");
        store.set_max_keys(&search, None);
        assert_eq!(flood(60_000..62_000), 300, "{line}: as many as the store has room for");
    }
}

#[test]
fn states_from_before_a_bound_are_never_dropped_for_it() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    let search = Name::new("search").unwrap();
    let line = "gcra 1/min";
    let before = store.limiter("search", [line]).unwrap();
    assert!((0..100_u64).all(|key| before.check(key).unwrap().allowed));
    drop(before);
    store.set_max_keys(&search, NonZeroUsize::new(50));
    let after = store.limiter("search", [line]).unwrap();
    assert!((0..100_u64).all(|key| !after.check(key).unwrap().allowed));
    let admitted = (0..200_u64).filter(|key| after.check(1_000 + key).unwrap().allowed).count();
    assert!(admitted <= 50 && store.keys_of(&search).unwrap() >= admitted);
    clock.advance(Duration::from_secs(180));
    assert_eq!((0..200_u64).filter(|key| after.check(2_000 + key).unwrap().allowed).count(), 50);
}

#[test]
fn resetting_a_key_makes_room() {
    let (limiter, _) = limiter("fixed-window 5/h", 1, WhenFull::Deny);
    assert!(limiter.check("a").unwrap().allowed);
    assert!(!limiter.check("b").unwrap().allowed);
    limiter.key("a").reset().unwrap();
    assert_eq!(limiter.store().stats().keys, 0);
    assert!(limiter.check("b").unwrap().allowed);
}

#[test]
fn an_exhausted_key_stays_exhausted_in_a_full_store_that_allows_new_keys() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().max_keys(10).when_full(WhenFull::Allow);
    let store = store.clock(clock.clone()).build().unwrap();
    let lines = ["gcra 1/s burst 5", "fixed-window 2/day per user"];
    let limiter = store.limiter("test", lines).unwrap();
    let check = |key: &str| limiter.keys(&[("", key), ("user", "42")]).check().unwrap();
    assert!(check("first").allowed && check("second").allowed);
    // Other keys fill the store; then every request of the user has a new nameless key.
    let others = limiter.store().limiter("others", ["fixed-window 1/day"]).unwrap();
    (0..20_u64).for_each(|key| assert!(others.check(key).unwrap().allowed));
    assert_eq!(limiter.store().stats().keys, 10);
    for turn in 0..20 {
        let decision = check(&format!("new-{turn}"));
        assert!(!decision.allowed, "{turn}: {decision:?}");
    }
}

#[test]
fn a_full_store_still_refunds() {
    let (one, _) = limiter("fixed-window 9/h", 1, WhenFull::Deny);
    let both = vec!["fixed-window 9/h".parse().unwrap(), "gcra 1/s burst 9".parse().unwrap()];
    let both = one.with_limits(both);
    assert!(one.key("a").cost(5).check().unwrap().allowed);
    // The second limit has no state for the key, and there is no room for one.
    assert!(!both.check("a").unwrap().allowed);
    assert_eq!(both.key("a").cost(2).refund().unwrap().remaining, Some(6));
    assert_eq!(one.key("a").peek().unwrap().remaining, Some(6));
    assert_eq!(both.key("a").reset().unwrap().remaining, Some(9));
    assert_eq!(one.store().stats().keys, 0);
}

#[test]
fn a_full_store_still_releases_leases() {
    let (one, _) = limiter("concurrency 1 ttl 1h", 1, WhenFull::Deny);
    let lines = ["concurrency 1 ttl 1h", "gcra 1/s"];
    let both = one.with_limits(lines.map(|line| line.parse().unwrap()).into());
    let held = one.key("a").id("mine").check().unwrap();
    assert!(held.allowed && !one.check("a").unwrap().allowed);
    let _ = both.key("a").id("mine").release().unwrap();
    assert!(one.check("a").unwrap().allowed);
}

#[test]
fn more_ids_than_can_be_remembered_are_done_and_say_so() {
    for when_full in [WhenFull::Deny, WhenFull::Allow] {
        let (limiter, clock) = limiter("fixed-window 100000/day", 4_000, when_full);
        let check = |id: u64| limiter.key("a").id(&id.to_le_bytes()).check().unwrap();
        let remembered = (0..2_000).filter(|id| !check(*id).not_remembered).count();
        assert_eq!(remembered, 750, "three quarters of a quarter of max_keys");
        let used = || 100_000 - limiter.key("a").peek().unwrap().remaining.unwrap();
        assert_eq!(used(), 2_000, "{when_full:?}");
        // Those that are remembered are not done again, the others are.
        assert!((0..2_000).all(|id| check(id).allowed));
        assert_eq!(used(), 2_000 + 1_250);
        let stats = limiter.store().stats();
        assert_eq!((stats.ids, stats.max_ids, stats.unremembered), (750, 1_000, 2 * 1_250));
        assert_eq!(stats.rejected, 0, "the keys have room");
        assert!(limiter.key("a").id("refund").refund().unwrap().not_remembered);
        clock.advance(Duration::from_secs(61));
        assert!(!check(2_000).not_remembered, "ids are remembered for a minute");
    }
}

/// They lie in many places, each of which is looked at only now and then.
#[test]
fn ids_that_have_expired_leave_room_for_all_that_come() {
    let (limiter, clock) = limiter("fixed-window 1000000/day", 200_000, WhenFull::Deny);
    let check = |id: u64| limiter.key("a").id(&id.to_le_bytes()).check().unwrap();
    assert!((0..50_000).any(|id| check(id).not_remembered), "their memory is full");
    clock.advance(Duration::from_secs(62));
    assert!((50_000..70_000).all(|id| !check(id).not_remembered));
}

#[test]
fn the_ids_of_one_policy_leave_room_for_those_of_another() {
    let (flooded, _) = limiter("fixed-window 100000/day", 4_000, WhenFull::Deny);
    let other = flooded.store().limiter("other", ["fixed-window 100000/day"]).unwrap();
    for id in 0..5_000_u64 {
        let _ = flooded.key("a").id(&id.to_le_bytes()).check().unwrap();
    }
    let check = |id: u64| other.key("a").id(&id.to_le_bytes()).check().unwrap();
    let first: Vec<_> = (0..100).map(check).collect();
    assert!(first.iter().all(|decision| !decision.not_remembered));
    assert_eq!((0..100).map(check).collect::<Vec<_>>(), first);
}

#[test]
fn a_released_lease_gives_the_room_of_its_id_back() {
    let (limiter, _) = limiter("concurrency 10 ttl 1h", 4_000, WhenFull::Deny);
    for id in 0..5_000_u64 {
        let id = id.to_le_bytes();
        let lease = limiter.key("a").id(&id);
        assert!(!lease.check().unwrap().not_remembered);
        assert!(lease.release().unwrap().allowed);
    }
    assert_eq!(limiter.store().stats().ids, 0);
}

#[test]
fn a_reset_forgets_ids_also_when_their_memory_is_full() {
    let (limiter, _) = limiter("fixed-window 100000/day", 4_000, WhenFull::Deny);
    let check = |key: u64, id: u64| {
        let decision = limiter.key(key).id(&id.to_le_bytes()).check().unwrap();
        decision.remaining.unwrap()
    };
    assert_eq!(check(7, 0), 99_999);
    assert_eq!(check(7, 1), 99_998);
    (0..5_000).for_each(|id| {
        check(8, id);
    });
    for key in (0..3_000).chain([7]) {
        limiter.key(key).reset().unwrap();
    }
    assert_eq!(check(7, 1), 99_999, "done again");
    assert!(limiter.store().stats().ids <= 1_100);
}

#[test]
fn a_clock_that_steps_back_within_the_slack_finds_ids_again() {
    let clock = Clock::manual();
    let slack = Span::from_micros(3_600_000_000);
    let store = MemoryStore::builder().slack(slack).clock(clock.clone()).build().unwrap();
    let limiter = store.limiter("test", ["gcra 1/day burst 10000"]).unwrap();
    let (first, start) = (limiter.key("a").id("mine").check().unwrap(), clock.now());
    clock.advance(Duration::from_secs(600));
    for id in 0..5_000_u64 {
        assert!(limiter.key("a").id(&id.to_le_bytes()).check().unwrap().allowed);
    }
    clock.set(start);
    assert_eq!(limiter.key("a").id("mine").check().unwrap(), first);
}

#[test]
fn reserving_nothing_fills_no_memory() {
    let (limiter, _) = limiter("gcra 1/s burst 5", 10, WhenFull::Deny);
    for id in 0..5_000_u64 {
        assert!(limiter.key("a").cost(0).id(&id.to_le_bytes()).reserve().unwrap().allowed);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    limiter.store().save(&path).unwrap();
    assert!(std::fs::metadata(path).unwrap().len() < 100_000);
}

#[test]
fn a_small_store_finds_all_states_that_have_reset() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().max_keys(12).clock(clock.clone()).build().unwrap();
    let lines = ["gcra 1/s burst 1", "fixed-window 9/s", "gcra 2/s burst 1"];
    let limiter = store.limiter("test", lines).unwrap();
    for key in 0..4_000_u64 {
        assert!(limiter.check(key).unwrap().allowed, "{key}");
        if key % 4 == 3 {
            clock.advance(Duration::from_secs(100));
        }
    }
}

/// Limits whose states lie in different collections, the first of which is full of the keys of others: a known key finds
/// its places again, so that it is counted by all of them, and what it holds can be renewed and released.
#[test]
fn a_known_key_of_several_limits_keeps_its_places_in_a_full_store() {
    let policies: [&[&str]; 4] = [
        &["gcra 1/h burst 3", "concurrency 30 ttl 1h"],
        &["concurrency 30 ttl 1h", "gcra 1/h burst 3"],
        &["gcra 1/h burst 3", "sliding-counters 30/h", "concurrency 30 ttl 1h"],
        &["gcra 1/h burst 3", "fixed-window 30/day", "concurrency 30 ttl 1h"],
    ];
    for when_full in [WhenFull::Deny, WhenFull::Allow] {
        for lines in policies {
            let clock = Clock::manual();
            let store = store_of_a_megabyte(&clock).when_full(when_full).build().unwrap();
            let flood = store.limiter("flood", ["gcra 1/h burst 3"]).unwrap();
            let known = store.limiter("known", lines.iter().copied()).unwrap();
            for key in 0..50_u64 {
                assert!(known.key(key).id(b"lease").check().unwrap().allowed);
            }
            for key in 0..30_000_u64 {
                let _ = flood.check(key).unwrap();
            }
            for key in 0..50_u64 {
                let allowed = (0..6).filter(|_| known.check(key).unwrap().allowed).count();
                assert_eq!(allowed, 2, "{lines:?} {when_full:?} key {key}");
                assert!(known.key(key).id(b"lease").renew().unwrap().allowed, "{lines:?}");
                assert!(known.key(key).id(b"lease").release().unwrap().allowed, "{lines:?}");
            }
        }
    }
}

/// Most keys that hold a lease hold one.
#[test]
fn a_key_with_one_lease_takes_no_list() {
    let (limiter, clock) = limiter("concurrency 3 ttl 1h", 1_000_000, WhenFull::Deny);
    let stats = || limiter.store().stats();
    for key in 0..100_000_u64 {
        assert!(limiter.key(key).id(b"mine").check().unwrap().allowed);
    }
    assert_eq!(stats().leases.bytes, 0);
    // A record of 40 bytes, and a table that is at least three eighths full.
    assert!(stats().states.bytes < 100_000 * 107, "{:?}", stats());
    assert!(limiter.key(7).id(b"second").check().unwrap().allowed);
    assert!(stats().leases.bytes > 0);
    assert!(limiter.key(7).id(b"mine").release().unwrap().allowed);
    assert!(limiter.key(7).id(b"second").renew().unwrap().allowed);
    assert_eq!(limiter.key(7).peek().unwrap().remaining, Some(2));
    // The record of a lease that was released is used again, and finds no lease meanwhile.
    let keys = stats().keys;
    assert!(limiter.key(8).id(b"mine").release().unwrap().allowed);
    assert!(!limiter.key(8).id(b"mine").release().unwrap().allowed);
    assert_eq!(limiter.key(8).peek().unwrap().remaining, Some(3));
    assert!(limiter.key(8).id(b"mine").check().unwrap().allowed);
    assert_eq!((limiter.key(8).peek().unwrap().remaining, stats().keys), (Some(2), keys));
    // Everything ends, and what is left makes room.
    clock.advance(Duration::from_secs(3_600 + 60));
    for key in 0..400_000_u64 {
        assert!(limiter.key(1_000_000 + key).id(b"mine").check().unwrap().allowed);
    }
    assert!(stats().keys < 430_000, "{:?}", stats());
}

/// What a denial has learned must not hide the room that holders of leases leave afterwards.
#[test]
fn a_lease_that_is_given_back_in_a_full_store_leaves_its_room_at_once() {
    for max_keys in [1, 10, 500, 10_000] {
        for (of_policy, reset) in [(false, false), (false, true), (true, false)] {
            let bound = if of_policy { 1_000_000 } else { max_keys };
            let (limiter, _) = limiter("concurrency 1 ttl 1h", bound, WhenFull::Deny);
            if of_policy {
                let name = Name::new("test").unwrap();
                limiter.store().set_max_keys(&name, NonZeroUsize::new(max_keys));
            }
            let holds = |key: usize| limiter.key(key as u64).id(b"mine").check().unwrap().allowed;
            assert!((0..max_keys).all(holds));
            assert!(!holds(max_keys), "{max_keys}");
            for key in 0..max_keys {
                let key = limiter.key(key as u64).id(b"mine");
                assert!(if reset { key.reset().is_ok() } else { key.release().unwrap().allowed });
            }
            assert!((max_keys..2 * max_keys).all(holds), "{max_keys} {of_policy} {reset}");
        }
    }
}

#[test]
fn what_a_full_store_denies_was_not_done_and_needs_no_id() {
    let (limiter, _) = limiter("fixed-window 9/h", 1, WhenFull::Deny);
    assert!(limiter.check("a").unwrap().allowed);
    for decision in
        [limiter.key("b").id("mine").check().unwrap(), limiter.key("b").id("mine").peek().unwrap()]
    {
        assert!(!decision.allowed && !decision.not_remembered);
    }
    assert_eq!(limiter.store().stats().unremembered, 0);
}

/// A limiter on a store whose share for leases a few keys have filled.
fn full_of_leases() -> (Limiter, Clock) {
    let clock = Clock::manual();
    // Of an eighth of it one policy may have three quarters.
    let store = MemoryStore::builder().max_memory((4 << 20) / 3).clock(clock.clone()).build();
    let limiter = store.unwrap().limiter("test", ["concurrency 9000 ttl 1min"]).unwrap();
    let held = (0..20_000_u64)
        .filter(|n| limiter.key(n % 50).id(&n.to_le_bytes()).check().unwrap().allowed);
    assert!((500..10_000).contains(&held.count()));
    (limiter, clock)
}

#[test]
fn a_peek_in_a_full_store_says_what_a_check_would() {
    let (limiter, _) = full_of_leases();
    for key in 0..60_u64 {
        let peek = limiter.key(key).peek().unwrap();
        assert_eq!(peek.allowed, limiter.check(key).unwrap().allowed, "{key}");
    }
}

/// Also when they belong to other keys.
#[test]
fn leases_that_have_ended_make_room_for_those_of_a_known_key() {
    let (limiter, clock) = full_of_leases();
    let known = 7_u64;
    clock.advance(Duration::from_secs(50));
    let renewed = (0..20_000_u64).filter(|n| n % 50 == known);
    for n in renewed {
        let _ = limiter.key(known).id(&n.to_le_bytes()).renew().unwrap();
    }
    clock.advance(Duration::from_secs(20));
    // An operation looks for room in about 64 KiB of states. A list that doubles may need more, and then the next
    // operation finds the rest: at most one is denied each time.
    const DOUBLINGS: usize = 5;
    let held = (0..1_500_u64)
        .filter(|n| limiter.key(known).id(&(n + 100_000).to_le_bytes()).check().unwrap().allowed);
    assert!(held.count() >= 1_500 - DOUBLINGS);
}

/// What a client can take without bound within a few keys.
struct Flood {
    limit: &'static str,
    operation: fn(&Limiter, u64) -> bool,
    /// The kind of memory that it fills.
    fills: fn(&StoreStats) -> MemoryShare,
}

const FLOODS: [Flood; 3] = [
    Flood {
        limit: "gcra 1/s burst 5",
        operation: |limiter, n| {
            let id = n.to_le_bytes();
            limiter.key(n % 50).cost(0).id(&id).reserve().unwrap().allowed
        },
        fills: |stats| stats.reservations,
    },
    Flood {
        limit: "concurrency 9000 ttl 1h",
        operation: |limiter, n| limiter.key(n % 50).id(&n.to_le_bytes()).check().unwrap().allowed,
        fills: |stats| stats.leases,
    },
    Flood {
        limit: "sliding-log 9000/day",
        operation: |limiter, n| limiter.check(n % 50).unwrap().allowed,
        fills: |stats| stats.states,
    },
];

impl Flood {
    /// Goes on until it is refused again and again.
    fn run(&self, limiter: &Limiter, clock: &Clock) {
        let mut refused = 0;
        for n in 0..200_000_u64 {
            clock.advance(Duration::from_micros(1));
            refused += u64::from(!(self.operation)(limiter, n));
            if refused == 5_000 {
                return;
            }
        }
        panic!("{}: refused {refused} times", self.limit);
    }
}

fn store_of_a_megabyte(clock: &Clock) -> MemoryStoreBuilder {
    MemoryStore::builder().max_memory(1 << 20).clock(clock.clone())
}

/// Does everything that needs room, for a policy that has none yet.
fn use_all_kinds(limiter: &Limiter, keys: Range<u64>) {
    for key in keys {
        let request = || limiter.key(key).id("mine");
        for cost in [2, 1] {
            assert!(request().cost(cost).reserve().unwrap().allowed, "{key}");
            assert!(request().renew().unwrap().allowed, "{key}");
            assert!(request().cost(1).settle().unwrap().allowed, "{key}");
            assert!(request().release().unwrap().allowed, "{key}");
        }
        assert!(limiter.key(key).id("other").check().unwrap().allowed, "{key}");
    }
}

#[test]
fn no_policy_takes_the_room_of_the_others_for_slots_leases_or_reservations() {
    let lines = ["sliding-log 9/h", "concurrency 9 ttl 1h", "gcra 9/h burst 9"];
    for flood in FLOODS {
        let clock = Clock::manual();
        let store = store_of_a_megabyte(&clock).build().unwrap();
        let flooded = store.limiter("flooded", [flood.limit]).unwrap();
        let other = store.limiter("other", lines).unwrap();
        let known = |limiter: &Limiter| limiter.key("known").id("mine").reserve().unwrap().allowed;
        assert!(known(&flooded) && known(&other));
        flood.run(&flooded, &clock);
        let (full, rejected) = ((flood.fills)(&store.stats()), store.stats().rejected);
        assert!((full.max / 3..full.max).contains(&full.bytes), "{}: {full:?}", flood.limit);
        use_all_kinds(&other, 0..20);
        assert_eq!(store.stats().rejected, rejected, "{}", flood.limit);
        for limiter in [&flooded, &other] {
            let request = || limiter.key("known").id("mine");
            if limiter.policy().name().as_str() == "other" || flood.limit.starts_with("concurrency")
            {
                assert!(request().renew().unwrap().allowed);
                assert!(request().settle().unwrap().allowed);
                assert!(request().release().unwrap().allowed);
            } else {
                assert!(request().settle().unwrap().allowed);
            }
        }
        assert!((flood.fills)(&store.stats()).bytes <= full.max);
        // What has ended leaves its room.
        clock.advance(Duration::from_secs(2 * 86_400));
        flood.run(&other.with_limits(vec![flood.limit.parse().unwrap()]), &clock);
        use_all_kinds(&store.limiter("third", lines).unwrap(), 0..20);
    }
}

#[test]
fn after_a_restart_no_policy_takes_the_room_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    for flood in FLOODS {
        let clock = Clock::manual();
        let store = store_of_a_megabyte(&clock).build().unwrap();
        flood.run(&store.limiter("flooded", [flood.limit]).unwrap(), &clock);
        store.save(&path).unwrap();
        let (store, restored) = store_of_a_megabyte(&clock).restore(&path).unwrap();
        assert!(restored.unwrap() >= 50);
        flood.run(&store.limiter("flooded", [flood.limit]).unwrap(), &clock);
        use_all_kinds(
            &store.limiter("other", ["sliding-log 9/h", "concurrency 9 ttl 1h"]).unwrap(),
            0..10,
        );
        let filled = (flood.fills)(&store.stats());
        assert!(filled.bytes <= filled.max, "{filled:?}");
        // All of it counts where it was counted.
        clock.advance(Duration::from_secs(2 * 86_400));
        flood.run(&store.limiter("third", [flood.limit]).unwrap(), &clock);
    }
}

/// What needs no room must take none, whatever the capacity of the list: here it is just above a power of two.
#[test]
fn renewing_a_lease_takes_no_memory() {
    const LEFT: u64 = 513;
    let clock = Clock::manual();
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    let limiter = store.limiter("test", ["concurrency 9000 ttl 1h"]).unwrap();
    let take = |n: u64| limiter.key("a").id(&n.to_le_bytes()).check().unwrap().allowed;
    let renew = |n: u64| limiter.key("a").id(&n.to_le_bytes()).renew().unwrap().allowed;
    assert!((0..4_096).all(take));
    clock.advance(Duration::from_secs(1_800));
    assert!((0..LEFT).all(renew));
    clock.advance(Duration::from_secs(1_801));
    // The others have ended, and the list has room for twice those that are left.
    assert!((10_000..10_000 + LEFT).all(take));
    let before = store.stats().leases.bytes;
    for n in [0, LEFT - 1, 10_000, 7] {
        clock.advance(Duration::from_secs(1));
        assert!(renew(n));
        assert_eq!(store.stats().leases.bytes, before);
    }
}

#[test]
fn a_settlement_that_fails_takes_no_memory() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    let limiter = store.limiter("test", ["sliding-log 9000/day"]).unwrap();
    for n in 0..1_024_u64 {
        assert!(limiter.key("a").cost(0).id(&n.to_le_bytes()).reserve().unwrap().allowed);
    }
    loop {
        clock.advance(Duration::from_micros(1));
        if limiter.key("a").charge().is_err() {
            break;
        }
    }
    let before = store.stats().reservations.bytes;
    for n in 0..10_u64 {
        assert!(
            limiter.key("a").cost(5).id(&n.to_le_bytes()).settle().is_err(),
            "it has all its slots"
        );
        assert!(store.stats().reservations.bytes <= before);
    }
}

/// What a settlement gives back never needs room, also if others have taken that of the record.
#[test]
fn a_flood_never_makes_a_settlement_fail() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().max_memory(1 << 20).clock(clock).build().unwrap();
    let limiter = store.limiter("test", ["gcra 60/h burst 60", "gcra 90/h burst 90"]).unwrap();
    let reserve = |key: &u64| {
        let reserved = limiter.key(*key).cost(9).id(&key.to_le_bytes()).reserve().unwrap();
        reserved.allowed && !reserved.not_remembered
    };
    let reserved: Vec<u64> = (0..500_u64).filter(reserve).collect();
    assert!(reserved.len() > 100);
    let refused = (1_000..60_000_u64).filter(|key| !limiter.check(*key).unwrap().allowed).count();
    assert!(refused > 0);
    for key in reserved {
        let settled = limiter.key(key).cost(2).id(&key.to_le_bytes()).settle().unwrap();
        assert_eq!(settled.remaining, Some(58), "{key}");
        let _ = limiter.check(60_000 + key).unwrap();
    }
}
