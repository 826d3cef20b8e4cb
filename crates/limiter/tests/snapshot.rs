//! A restart gives no key a fresh burst, and a damaged snapshot is rejected.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tollgate::{Clock, Decision, Limiter, MemoryStore, Time};

/// Every algorithm, by itself and together with another.
const POLICIES: [&[&str]; 14] = [
    &["gcra 1/s burst 50"],
    &["gcra 333/7s burst 50"],
    &["gcra 999983/day burst 50"],
    &["token-bucket 10/s burst 50 whole"],
    &["leaky-bucket size 50 drip 3 every 2s"],
    &["fixed-window 50/h"],
    &["fixed-window 50/month tz Europe/Amsterdam"],
    &["request-window 50/min"],
    &["sliding-log 50/min"],
    &["sliding-counters 50/min resolution 7s"],
    &["sliding-window 50/min"],
    &["ar1 max 50.5 decay 1.5 resolution 3s"],
    &["concurrency 50 ttl 30s"],
    &["gcra 1/s burst 50", "sliding-window 70/h", "concurrency 60 ttl 5min"],
];

fn at(seconds: u64) -> Clock {
    let clock = Clock::manual();
    clock.set(Time::from_micros(1_700_000_000_000_000).unwrap());
    clock.advance(Duration::from_secs(seconds));
    clock
}

fn store(clock: &Clock) -> Arc<MemoryStore> {
    MemoryStore::builder().max_keys(5_000).clock(clock.clone()).build().unwrap()
}

/// Makes checks, a charge, an open reservation and one that is settled.
fn use_up(limiter: &Limiter, clock: &Clock) {
    for turn in 0..12_u64 {
        let key = format!("key{}", turn % 3);
        let _ = limiter.key(&key).cost(1 + turn % 4).check().unwrap();
        let _ = limiter.key(&key).cost(3).id(&turn.to_le_bytes()).reserve().unwrap();
        clock.advance(Duration::from_millis(170));
    }
    limiter.key("key0").cost(7).charge().unwrap();
    let _ = limiter.key("key1").cost(1).id(&10_u64.to_le_bytes()).settle().unwrap();
}

/// Returns the decisions of further operations, which also settle reservations made before.
fn afterwards(limiter: &Limiter, clock: &Clock) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for turn in 0..8_u64 {
        let key = format!("key{}", turn % 4);
        decisions.push(limiter.key(&key).cost(2).check().unwrap());
        decisions.push(limiter.key(&key).cost(1).id(&turn.to_le_bytes()).settle().unwrap());
        // An error without a concurrency limit.
        decisions.extend(limiter.key(&key).id(&turn.to_le_bytes()).renew());
        clock.advance(Duration::from_millis(900));
    }
    decisions
}

#[test]
fn a_restart_changes_no_decision() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    for lines in POLICIES {
        let clock = at(0);
        let limiter = store(&clock).limiter("test", lines).unwrap();
        use_up(&limiter, &clock);
        let saved = limiter.store().save(&path).unwrap();
        assert_eq!(saved, 3 * lines.len(), "{lines:?}");

        // Time passes meanwhile, also for the store that was not restarted.
        let later = Clock::manual();
        clock.advance(Duration::from_secs(3));
        later.set(clock.now());
        let (restored, count) = MemoryStore::builder().clock(later.clone()).restore(&path).unwrap();
        assert_eq!(count.unwrap(), saved);
        assert_eq!(restored.stats().keys, saved);
        let again = restored.limiter("test", lines).unwrap();
        assert_eq!(afterwards(&again, &later), afterwards(&limiter, &clock), "{lines:?}");
    }
}

#[test]
fn states_that_have_reset_are_not_restored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    let limiter = store(&at(0)).limiter("test", ["gcra 1/s burst 5"]).unwrap();
    assert!(limiter.key("a").cost(5).check().unwrap().allowed);
    assert_eq!(limiter.store().save(&path).unwrap(), 1);
    let (store, count) = MemoryStore::builder().clock(at(5)).restore(&path).unwrap();
    assert_eq!((count.unwrap(), store.stats().keys), (0, 0));
}

#[test]
fn a_restored_store_keeps_its_own_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    let limiter = store(&at(0)).limiter("test", ["gcra 1/h"]).unwrap();
    (0..4_000_u64).for_each(|key| assert!(limiter.check(key).unwrap().allowed));
    assert_eq!(limiter.store().save(&path).unwrap(), 4_000);
    let smaller = MemoryStore::builder().max_keys(1_000).clock(at(1));
    let (store, count) = smaller.restore(&path).unwrap();
    assert_eq!((count.unwrap(), store.stats().keys), (1_000, 1_000));
    let larger = MemoryStore::builder().max_keys(1_000_000).clock(at(1));
    let limiter = larger.restore(&path).unwrap().0.limiter("test", ["gcra 1/h"]).unwrap();
    (0..4_000_u64).for_each(|key| assert!(!limiter.check(key).unwrap().allowed));
}

#[test]
fn a_damaged_snapshot_is_rejected_and_the_store_starts_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    let clock = at(0);
    let limiter = store(&clock).limiter("test", POLICIES[13]).unwrap();
    use_up(&limiter, &clock);
    limiter.store().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();

    let is_rejected = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        let (store, restored) = MemoryStore::builder().clock(at(1)).restore(&path).unwrap();
        let error = restored.unwrap_err();
        assert!(error.is_damaged() && !error.is_missing(), "{what}: {error}");
        assert!(error.to_string().contains("start empty"), "{error}");
        assert_eq!(store.stats().keys, 0);
        let fresh = store.limiter("test", ["gcra 1/s burst 1"]).unwrap();
        assert!(fresh.check("a").unwrap().allowed);
    };
    is_rejected(b"", "an empty file");
    is_rejected(b"hello, I am a text file\n", "a text file");
    for cut in (0..whole.len()).step_by(41) {
        is_rejected(&whole[..cut], "a truncated file");
    }
    for index in (0..whole.len()).step_by(37) {
        let mut bytes = whole.clone();
        bytes[index] ^= 0x10;
        is_rejected(&bytes, "a flipped bit");
    }
}

#[test]
fn a_missing_snapshot_is_not_a_damaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none");
    let (store, restored) = MemoryStore::builder().restore(&path).unwrap();
    let error = restored.unwrap_err();
    assert!(error.is_missing() && !error.is_damaged());
    assert!(error.to_string().contains("none"));
    assert_eq!(store.stats().keys, 0);
}

#[test]
fn saving_replaces_the_file_atomically_and_only_its_owner_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    fs::write(&path, "an older file").unwrap();
    let limiter = Limiter::parse(["gcra 1/h"]).unwrap();
    let _ = limiter.check("a").unwrap();
    assert_eq!(limiter.store().save(&path).unwrap(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let error = limiter.store().save(folder.path().join("no/such/folder")).unwrap_err();
    assert!(error.to_string().contains("no/such/folder"), "{error}");
}

#[test]
fn threads_may_save_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("states");
    let limiter = Limiter::parse(["gcra 1/h"]).unwrap();
    (0..500_u64).for_each(|key| assert!(limiter.check(key).unwrap().allowed));
    std::thread::scope(|scope| {
        let save = || (0..20).for_each(|_| assert_eq!(limiter.store().save(&path).unwrap(), 500));
        (0..2).for_each(|_| drop(scope.spawn(save)));
    });
    let (_, restored) = MemoryStore::builder().restore(&path).unwrap();
    assert_eq!(restored.unwrap(), 500);
}

#[test]
fn nothing_that_a_client_chose_is_in_a_snapshot() {
    let (clock, folder) = (at(0), tempfile::tempdir().unwrap());
    let store = store(&clock);
    let lines = ["concurrency 9 ttl 1h per user", "gcra 1/h burst 9 per ip", "fixed-window 9/day"];
    let limiter = store.limiter("private", lines).unwrap();
    let keys = [("user", "alice@example.com"), ("ip", "203.0.113.9"), ("", "alice")];
    assert!(limiter.keys(&keys).id("order-of-alice").reserve().unwrap().allowed);
    let path = folder.path().join("snapshot");
    assert_eq!(store.save(&path).unwrap(), 3);
    let saved = fs::read(&path).unwrap();
    for chosen in ["alice", "203.0.113.9", "order", "private"] {
        assert!(!saved.windows(chosen.len()).any(|bytes| bytes == chosen.as_bytes()), "{chosen}");
    }
    // The reservation is found by its hash.
    let restored = MemoryStore::builder().clock(clock).restore(&path).unwrap().0;
    let limiter = restored.limiter("private", lines).unwrap();
    assert!(limiter.keys(&keys).id("order-of-alice").cost(0).settle().unwrap().allowed);
}

/// A reservation outlives its leases, and a full store has dropped those.
#[test]
fn a_reservation_without_leases_survives_a_restart() {
    let clock = at(0);
    let store = MemoryStore::builder().max_keys(1).clock(clock.clone()).build().unwrap();
    let limiter = store.limiter("test", ["concurrency 5 ttl 30s"]).unwrap();
    assert!(limiter.key("a").id("mine").reserve().unwrap().allowed);
    clock.advance(Duration::from_secs(31));
    assert!(!limiter.check("b").unwrap().allowed, "there is room for one key");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("snapshot");
    assert_eq!(store.save(&path).unwrap(), 1);
    let (restored, count) = MemoryStore::builder().clock(clock).restore(&path).unwrap();
    assert_eq!(count.unwrap(), 1);
    let limiter = restored.limiter("test", ["concurrency 5 ttl 30s"]).unwrap();
    assert!(!limiter.key("a").id("mine").settle().unwrap().not_found);
}
