//! Leases: how many are given, and what ends them.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{Clock, Lease, Limiter, MemoryStore};

fn limiter(line: &str) -> Limiter {
    line.parse().unwrap()
}

/// Creates a limiter with a manual clock.
fn manual(lines: &[&str]) -> (Limiter, Clock) {
    let clock = Clock::manual();
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    (store.limiter("test", lines).unwrap(), clock)
}

fn lease(limiter: &Limiter) -> Option<Lease> {
    limiter.key("a").lease().ok()
}

fn remaining(limiter: &Limiter) -> Option<u64> {
    limiter.key("a").peek().unwrap().remaining
}

#[test]
fn a_lease_can_go_to_another_thread() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Lease>();
}

#[test]
fn threads_hold_as_many_leases_as_allowed() {
    let limiter = limiter("concurrency 5 ttl 1h");
    let all_tried = Barrier::new(12);
    let held = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let lease = lease(&limiter);
                held.fetch_add(usize::from(lease.is_some()), Ordering::SeqCst);
                all_tried.wait();
            });
        }
    });
    assert_eq!(held.into_inner(), 5);
    assert_eq!(remaining(&limiter), Some(5));
}

#[test]
fn threads_never_hold_more_than_allowed() {
    let limiter = limiter("concurrency 3 ttl 1h");
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let Some(lease) = lease(&limiter) else { continue };
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(lease);
                }
            });
        }
    });
    assert_eq!(remaining(&limiter), Some(3));
}

#[test]
fn a_denied_check_gives_no_lease() {
    let limiter = limiter("concurrency 1 ttl 1h");
    let _held = lease(&limiter).unwrap();
    let error = limiter.key("a").lease().unwrap_err();
    assert_eq!(error.denied().unwrap().decision().remaining, Some(0));
    assert!(limiter.key("").lease().unwrap_err().is_bad_key());
}

#[test]
fn a_lease_is_released_when_dropped() {
    let limiter = limiter("concurrency 2 ttl 1h");
    let (first, second) = (lease(&limiter), lease(&limiter).unwrap());
    assert_eq!(remaining(&limiter), Some(0));
    drop(first);
    assert_eq!(remaining(&limiter), Some(1));
    assert_eq!(second.release().unwrap().remaining, Some(2));
}

#[test]
fn a_cost_of_n_takes_n_leases() {
    let limiter = limiter("concurrency 5 ttl 1h");
    let lease = limiter.key("a").cost(3).lease().unwrap();
    assert_eq!(lease.decision().remaining, Some(2));
    drop(lease);
    assert_eq!(remaining(&limiter), Some(5));
}

#[test]
fn each_lease_has_its_own_id() {
    let limiter = limiter("concurrency 2 ttl 1h");
    let (first, second) = (lease(&limiter).unwrap(), lease(&limiter).unwrap());
    assert_ne!(first.id(), second.id());
    assert!(limiter.key("a").id(first.id()).release().unwrap().allowed);
    assert_eq!(remaining(&limiter), Some(1));
}

#[test]
fn the_same_id_is_the_same_lease() {
    let limiter = limiter("concurrency 2 ttl 1h");
    let first = limiter.key("a").id("job-7").lease().unwrap();
    let again = limiter.key("a").id("job-7").lease().unwrap();
    assert_eq!((first.id(), again.id()), (&b"job-7"[..], &b"job-7"[..]));
    assert_eq!(remaining(&limiter), Some(1));
    drop(first);
    assert_eq!(remaining(&limiter), Some(2));
}

#[test]
fn an_id_can_be_used_again_after_release() {
    let limiter = limiter("concurrency 2 ttl 1h");
    let first = limiter.key("a").id("job-7").lease().unwrap();
    assert!(first.release().unwrap().allowed);
    let _next = limiter.key("a").id("job-7").lease().unwrap();
    assert_eq!(remaining(&limiter), Some(1));
}

#[test]
fn a_leaked_lease_ends_after_its_ttl() {
    let (limiter, clock) = manual(&["concurrency 1 ttl 30s"]);
    std::mem::forget(lease(&limiter));
    clock.advance(Duration::from_micros(29_999_999));
    assert!(lease(&limiter).is_none());
    clock.advance(Duration::from_micros(1));
    assert!(lease(&limiter).is_some());
}

#[test]
fn a_renewed_lease_lives_on() {
    let (limiter, clock) = manual(&["concurrency 1 ttl 30s"]);
    let held = lease(&limiter).unwrap();
    for _ in 0..5 {
        clock.advance(Duration::from_secs(29));
        assert_eq!(held.renew().unwrap().remaining, Some(0));
    }
    // It was not renewed in time, so another holder can take it.
    clock.advance(Duration::from_secs(30));
    let other = lease(&limiter).unwrap();
    assert!(held.renew().unwrap_err().is_lease_lost());
    drop(held);
    assert!(lease(&limiter).is_none());
    drop(other);
    assert!(lease(&limiter).is_some());
}

#[test]
fn only_the_lease_is_released() {
    let (limiter, _) = manual(&["gcra 1/s burst 7", "concurrency 5 ttl 30s"]);
    let held = limiter.key("a").cost(3).lease().unwrap();
    assert_eq!((held.decision().remaining, held.decision().bound_by), (Some(2), 1));
    drop(held);
    let after = limiter.key("a").peek().unwrap();
    assert_eq!((after.remaining, after.bound_by), (Some(4), 0));
}

#[test]
fn a_lease_keeps_keys_and_factor() {
    let limiter = Limiter::parse(["concurrency 4 ttl 1h per user"]).unwrap();
    let user = String::from("42");
    let keys = [("user", user.as_str())];
    let twice = "2".parse().unwrap();
    let held = limiter.keys(&keys).factor(twice).cost(2).lease().unwrap();
    assert_eq!(held.decision().remaining, Some(0));
    drop(held);
    assert_eq!(limiter.keys(&keys).factor(twice).peek().unwrap().remaining, Some(2));
}

#[test]
fn a_thread_that_panics_releases_its_lease() {
    let limiter = limiter("concurrency 1 ttl 1h");
    let worker = limiter.clone();
    let work = move || {
        let _lease = lease(&worker).unwrap();
        std::panic::resume_unwind(Box::new("a panic in the test"));
    };
    assert!(thread::spawn(work).join().is_err());
    assert!(lease(&limiter).is_some());
}
