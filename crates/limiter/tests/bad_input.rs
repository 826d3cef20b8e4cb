//! Invalid input gives a clear error, or a decision that can never be allowed, and changes nothing.

#![allow(clippy::unwrap_used, reason = "a test")]

use tollgate::{Clock, Decimal, Error, Limiter, MemoryStore, Policy};

fn limiter(lines: &[&str]) -> Limiter {
    let store = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    store.limiter("test", lines).unwrap()
}

#[track_caller]
fn assert_message(error: &Error, text: &str) {
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn keys_have_1_to_1024_bytes() {
    let limiter = limiter(&["gcra 1/s burst 5"]);
    for (key, text) in [
        (Vec::new(), "key is empty; expected 1 to 1024 bytes"),
        (vec![b'k'; 1025], "key has 1025 bytes; expected 1 to 1024"),
        (vec![b'k'; 1 << 20], "key has 1048576 bytes"),
    ] {
        let error = limiter.check(&key).unwrap_err();
        assert!(error.is_bad_key());
        assert_message(&error, text);
        assert_message(&limiter.key(&key).peek().unwrap_err(), text);
    }
    assert!(limiter.check(&[b'k'; 1024]).unwrap().allowed);
    assert_eq!(limiter.store().stats().keys, 1);
}

#[test]
fn an_invalid_key_of_many_gives_an_error_and_the_others_a_decision() {
    let limiter = limiter(&["gcra 1/s burst 1", "fixed-window 5/h"]);
    let mut decisions = vec![limiter.check("left over")];
    let keys = [b"a".to_vec(), Vec::new(), b"b".to_vec(), vec![0; 2000], b"a".to_vec()];
    limiter.check_many(&keys, &mut decisions);
    let allowed: Vec<_> = decisions.iter().map(|d| d.as_ref().ok().map(|d| d.allowed)).collect();
    assert_eq!(allowed, [Some(true), None, Some(true), None, Some(false)]);
    limiter.check_many([""; 0], &mut decisions);
    assert!(decisions.is_empty());
}

#[test]
fn a_cost_that_cannot_fit_has_no_retry_after() {
    for line in ["gcra 1/s burst 5", "fixed-window 5/h", "sliding-log 5/h", "concurrency 5 ttl 1s"]
    {
        let limiter = limiter(&[line]);
        let decision = limiter.key("a").cost(6).check().unwrap();
        assert_eq!((decision.allowed, decision.retry_after), (false, None), "{line}");
        assert_eq!(limiter.store().stats().keys, 0, "{line}: a denial is free");
        let error = limiter.key("a").cost(1 << 32).check().unwrap_err();
        assert_message(&error, "cost exceeds 4294967295");
        let error = limiter.key("a").cost(u64::MAX).charge().unwrap_err();
        assert_message(&error, "cost exceeds 4294967295");
        assert!(limiter.check("a").unwrap().allowed);
        let error = limiter.key("a").cost(1 << 32).check().unwrap_err();
        assert_message(&error, "cost exceeds 4294967295");
    }
}

#[test]
fn too_much_debt_is_an_error_and_changes_nothing() {
    let limiter = limiter(&["gcra 1/week burst 5", "fixed-window 9/h"]);
    let error = limiter.key("a").cost(u64::from(u32::MAX)).charge().unwrap_err();
    assert!(error.is_overdrawn());
    assert_message(&error, "the debt would be too large");
    assert_eq!(limiter.key("a").peek().unwrap().remaining, Some(5));
}

#[test]
fn a_store_for_no_keys_is_an_error() {
    let error = MemoryStore::builder().max_keys(0).build().unwrap_err();
    assert_eq!(error.to_string(), "max_keys is 0; expected 1 or more");
    assert!(MemoryStore::builder().max_keys(0).restore("nowhere").is_err());
}

#[test]
fn operations_that_need_an_id_fail_without_one() {
    let limiter = limiter(&["concurrency 2 ttl 1s"]);
    let request = limiter.key("a");
    for result in [request.reserve(), request.settle(), request.release(), request.renew()] {
        assert_message(&result.unwrap_err(), "missing id");
    }
    assert_message(&limiter.key("a").id("").check().unwrap_err(), "id is empty");
    assert_message(&limiter.key("a").id(&[0; 65]).check().unwrap_err(), "id has 65 bytes");
}

#[test]
fn a_subject_without_a_key_is_named_in_the_error() {
    let limiter = limiter(&["gcra 1/s per ip", "gcra 1/s"]);
    assert_message(&limiter.check("a").unwrap_err(), "missing key \"ip\": a limit counts per ip");
    assert_message(&limiter.keys(&[("ip", "a")]).check().unwrap_err(), "the nameless key");
    assert_message(&limiter.keys(&[("ip", ""), ("", "b")]).check().unwrap_err(), "key is empty");
    assert!(limiter.keys(&[("ip", "a"), ("", "b")]).check().unwrap().allowed);
    let mut decisions = Vec::new();
    limiter.check_many(["a"], &mut decisions);
    assert!(decisions[0].as_ref().unwrap_err().is_bad_key());
}

#[test]
fn factors_out_of_bounds_are_errors() {
    let limiter = limiter(&["fixed-window 4294967295/h"]);
    let factor = |text: &str| text.parse::<Decimal>().unwrap();
    assert!(limiter.key("a").factor(factor("0")).cost(4_294_967_295).check().unwrap().allowed);
    let error = limiter.key("a").factor(factor("0.000001")).check().unwrap_err();
    assert!(error.is_bad_factor(), "{error}");
}

#[test]
fn invalid_limits_and_names_are_errors() {
    let error = "gcrra 1/s".parse::<Limiter>().unwrap_err();
    assert!(error.to_string().contains("did you mean \"gcra\"?"), "{error}");
    assert!(Limiter::parse(["gcra 1/s", "gcra 0/s"]).is_err());
    let store = MemoryStore::builder().build().unwrap();
    let invalid_name = store.limiter("a b", ["gcra 1/s"]).unwrap_err();
    assert!(invalid_name.to_string().starts_with("name \"a b\" contains ' '"), "{invalid_name}");
    let invalid_limit = store.limiter("a", ["gcra 0/s"]).unwrap_err();
    assert!(invalid_limit.to_string().contains("count \"0\" is not accepted"), "{invalid_limit}");
}

#[test]
fn a_policy_of_no_limits_allows_all() {
    let limiter = Limiter::new(Policy::new(tollgate::Name::default(), Vec::new()));
    assert!(limiter.check("a").unwrap().allowed);
    let mut decisions = Vec::new();
    limiter.check_many(["a", "b"], &mut decisions);
    assert!(decisions.iter().all(|decision| decision.as_ref().unwrap().allowed));
}
