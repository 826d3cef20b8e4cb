//! Decisions of policies with several limits, and what carries over when limits change.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use tollgate_core::{
    Act, Decimal, Decision, Item, Key, Limit, Name, Op, PlainStore, Policy, Request, Span,
    StoreError, Time,
};

const SECOND: u64 = 1_000_000;
/// A Monday at noon, UTC.
const NOON: u64 = 1_714_392_000 * SECOND;

fn limit(line: &str) -> Limit {
    line.parse().unwrap()
}

fn at(micros: u64) -> Time {
    Time::from_micros(micros).unwrap()
}

/// One key, under any limits.
#[derive(Default)]
struct TestKey {
    store: PlainStore,
}

impl TestKey {
    fn new() -> TestKey {
        TestKey::default()
    }

    fn apply(&self, limits: &[Limit], act: Act, cost: u64, micros: u64) -> Decision {
        self.request(limits, act, &Request::new().cost(cost), micros).unwrap()
    }

    fn apply_with_id(
        &self,
        limits: &[Limit],
        act: Act,
        cost: u64,
        micros: u64,
        id: &str,
    ) -> Decision {
        self.request(limits, act, &Request::new().cost(cost).id(id), micros).unwrap()
    }

    fn request(
        &self,
        limits: &[Limit],
        act: Act,
        request: &Request<'_>,
        micros: u64,
    ) -> Result<Decision, StoreError> {
        let policy = Policy::new(Name::default(), limits.to_vec());
        let request = request.clone().key("key");
        request.with_op(&policy, act, |op| self.store.apply_one(op, at(micros))).unwrap()
    }
}

fn seconds(n: u64) -> Span {
    Span::from_micros(n * SECOND)
}

#[test]
fn the_tightest_limit_binds() {
    let limits = [limit("gcra 1/s burst 5"), limit("fixed-window 3/min"), limit("unlimited")];
    let key = TestKey::new();
    let allowed = key.apply(&limits, Act::Check, 1, NOON);
    assert_eq!((allowed.bound_by, allowed.limit, allowed.remaining), (1, Some(3), Some(2)));
    assert_eq!((allowed.reset_after, allowed.bound_reset_after), (seconds(60), seconds(60)));
    // The limit that binds resets before the other one.
    let other = [limit("gcra 1/s burst 5"), limit("fixed-window 1000/day")];
    let allowed = TestKey::new().apply(&other, Act::Check, 1, NOON);
    assert_eq!((allowed.bound_by, allowed.bound_reset_after), (0, seconds(1)));
    assert!(allowed.reset_after > seconds(1));

    let _ = key.apply(&limits, Act::Check, 2, NOON);
    let denied = key.apply(&limits, Act::Check, 1, NOON);
    assert!(!denied.allowed);
    assert_eq!((denied.bound_by, denied.retry_after), (1, Some(seconds(60))));

    // Denied by both: the limit with the longest wait binds.
    let never = key.apply(&limits, Act::Check, 4, NOON);
    assert_eq!((never.bound_by, never.limit, never.retry_after), (1, Some(3), None));
}

#[test]
fn the_first_limit_binds_where_several_are_equal() {
    let limits = [limit("gcra 5/s"), limit("token-bucket 5/s"), limit("leaky-bucket size 5")];
    let key = TestKey::new();
    assert_eq!(key.apply(&limits, Act::Check, 1, NOON).bound_by, 0);
    assert_eq!(key.apply(&limits, Act::Check, 6, NOON).bound_by, 0);
}

#[test]
fn unlimited_alone_has_no_bound() {
    let key = TestKey::new();
    let decision = key.apply(&[limit("unlimited")], Act::Check, u64::from(u32::MAX), NOON);
    assert_eq!((decision.allowed, decision.limit, decision.remaining), (true, None, None));
    assert_eq!((decision.retry_after, decision.reset_after), (Some(Span::ZERO), Span::ZERO));
    assert!(key.store.is_empty());
}

#[test]
fn count_denied_counts_what_another_limit_denied() {
    let limits = [limit("fixed-window 1/min"), limit("fixed-window 5/h count-denied")];
    let key = TestKey::new();
    for _ in 0..4 {
        let _ = key.apply(&limits, Act::Check, 1, NOON);
    }
    let next_minute = key.apply(&limits, Act::Check, 1, NOON + 60 * SECOND);
    assert!(next_minute.allowed);
    assert_eq!((next_minute.bound_by, next_minute.remaining), (0, Some(0)));
    assert!(!key.apply(&limits, Act::Check, 1, NOON + 120 * SECOND).allowed);
}

#[test]
fn a_debt_that_is_too_large_is_an_error_and_changes_no_limit() {
    let limits = [limit("fixed-window 10/h"), limit("gcra 1/week burst 1")];
    let key = TestKey::new();
    let before = key.apply(&limits, Act::Peek, 1, NOON);
    let error = key.request(&limits, Act::Charge, &Request::new().cost(4000), NOON).unwrap_err();
    assert!(error.is_overdrawn());
    assert_eq!(key.apply(&limits, Act::Peek, 1, NOON), before);
}

/// Raising a limit helps at once, and lowering it gives no key a fresh burst.
#[test]
fn used_cost_stays_used_when_a_limit_changes() {
    let changes = [
        ("gcra 10/s burst 10", "gcra 10/s burst 20", 15),
        ("gcra 10/s burst 10", "gcra 5/s burst 10", 5),
        ("gcra 10/s burst 10", "gcra 10/s burst 4", 0),
        ("leaky-bucket size 10", "leaky-bucket size 20 drip 2 every 7s", 15),
        ("fixed-window 10/h", "fixed-window 20/h", 15),
        ("fixed-window 10/h", "fixed-window 20/day tz Asia/Kolkata", 15),
        ("request-window 10/h", "request-window 20/min", 15),
        ("sliding-log 10/h", "sliding-log 20/min", 15),
        ("sliding-counters 10/h", "sliding-counters 20/h resolution 1s edge lenient", 15),
        ("sliding-window 10/h", "sliding-window 20/7min", 15),
        ("ar1 max 10 decay 2 resolution 1h", "ar1 max 20 decay 3 resolution 1min", 15),
        ("concurrency 10 ttl 1h", "concurrency 20 ttl 1min", 15),
    ];
    for (old, new, left) in changes {
        let key = TestKey::new();
        assert!(key.apply(&[limit(old)], Act::Check, 5, NOON).allowed);
        let peeked = key.apply(&[limit(new)], Act::Peek, 1, NOON);
        assert_eq!(peeked.remaining, Some(left), "{old} -> {new}");
        // It is the same after a write has converted the state.
        if left > 0 {
            let checked = key.apply(&[limit(new)], Act::Check, 1, NOON);
            assert_eq!(checked.remaining, Some(left - 1), "{old} -> {new}");
        }
    }
}

#[test]
fn a_changed_rule_starts_afresh_and_a_peek_does_not_change_it() {
    let (old, new) = ([limit("gcra 1/h burst 5")], [limit("fixed-window 5/h")]);
    let key = TestKey::new();
    let _ = key.apply(&old, Act::Check, 5, NOON);
    assert_eq!(key.apply(&new, Act::Peek, 1, NOON).remaining, Some(5));
    assert_eq!(key.apply(&old, Act::Peek, 1, NOON).remaining, Some(0));
    let _ = key.apply(&new, Act::Check, 1, NOON);
    assert_eq!(key.apply(&old, Act::Peek, 1, NOON).remaining, Some(5));
}

#[test]
fn switching_a_drip_back_and_forth_neither_delays_leaks_nor_brings_them_forward() {
    let [slow, fast] =
        [limit("leaky-bucket size 1000 every 10s"), limit("leaky-bucket size 1000 every 5s")];
    let key = TestKey::new();
    let _ = key.apply(std::slice::from_ref(&slow), Act::Check, 500, NOON);
    // A write each second, in turns: over 60 s between 6 and 12 units leak.
    for second in 1..=60 {
        let current = if second % 2 == 0 { &slow } else { &fast };
        let _ = key.apply(std::slice::from_ref(current), Act::Check, 1, NOON + second * SECOND);
    }
    let used = 1000 - key.apply(&[slow], Act::Peek, 1, NOON + 60 * SECOND).remaining.unwrap();
    assert!((548..=554).contains(&used), "{used}");
}

#[test]
fn a_factor_makes_a_limit_tighter_or_looser() {
    let capacity = |line: &str| limit(line).capacity();
    assert_eq!(capacity("gcra 10/s burst 15 factor 2"), Some(8));
    assert_eq!(capacity("gcra 10/s burst 15 factor 0.5"), Some(30));
    assert_eq!(capacity("fixed-window 10/h factor 1000"), Some(1));
    assert_eq!(capacity("ar1 max 1.2 decay 2 resolution 1s factor 0.1"), Some(12));
    assert_eq!(capacity("concurrency 10 ttl 1s factor 0"), None);
    assert_eq!(limit("gcra 10/s factor 2").full_reset_after(), Some(seconds(1)));
    assert_eq!(limit("sliding-log 10/h factor 2").full_reset_after(), Some(seconds(3600)));

    let half: Decimal = "0.5".parse().unwrap();
    assert_eq!(limit("gcra 10/s factor 2").scaled(half).unwrap().to_string(), "gcra 10/s");
    let error = limit("gcra 10/s").scaled("0.000000001".parse().unwrap()).unwrap_err();
    assert_eq!(error.field(), "factor");
}

/// A model's response of up to 1000 tokens, of which 300 were used.
#[test]
fn settling_corrects_a_reservation_to_its_actual_cost() {
    let limits = [limit("token-bucket 1000/min burst 2000")];
    let key = TestKey::new();
    let reserved = key.apply_with_id(&limits, Act::Reserve, 1000, NOON, "answer-1");
    assert_eq!(reserved.remaining, Some(1000));
    let settled = key.apply_with_id(&limits, Act::Settle, 300, NOON + 6 * SECOND, "answer-1");
    assert_eq!(settled.remaining, Some(1800));
    let again = key.apply_with_id(&limits, Act::Settle, 300, NOON + 7 * SECOND, "answer-1");
    assert_eq!(again, settled, "a retry returns the first decision and is not applied");
}

#[test]
fn cost_that_left_its_window_is_not_refunded() {
    let limits = [limit("fixed-window 10/min")];
    let key = TestKey::new();
    let _ = key.apply_with_id(&limits, Act::Reserve, 8, NOON + 59 * SECOND, "late");
    let _ = key.apply(&limits, Act::Check, 5, NOON + 60 * SECOND);
    let settled = key.apply_with_id(&limits, Act::Settle, 1, NOON + 61 * SECOND, "late");
    assert_eq!(settled.remaining, Some(5));
}

#[test]
fn each_limit_counts_its_own_subject() {
    let policy = Policy::parse(
        Name::default(),
        ["gcra 1/h burst 2 per user", "gcra 1/h burst 3 per ip", "gcra 1/h burst 4 per all"],
    )
    .unwrap();
    let store = PlainStore::default();
    let check = |user: &str, ip: u32| {
        let request = Request::new().subject("user", user).subject("ip", ip);
        let check = request.with_op(&policy, Act::Check, |op| store.apply_one(op, at(NOON)));
        let decision = check.unwrap().unwrap();
        (decision.allowed, decision.bound_by)
    };
    assert_eq!(check("ann", 1), (true, 0));
    assert_eq!(check("ann", 1), (true, 0));
    assert_eq!(check("ann", 2), (false, 0), "ann has no quota left");
    assert_eq!(check("bob", 1), (true, 1), "the address has none left");
    assert_eq!(check("bob", 1), (false, 1));
    assert_eq!(check("eve", 3), (true, 2), "the last of per all");
    assert_eq!(check("kim", 4), (false, 2));
}

/// Two users may choose the same id, and share the state of `per all`.
#[test]
fn an_id_belongs_to_its_subjects() {
    let lines = ["concurrency 5 ttl 30s per user", "concurrency 2 ttl 30s per all"];
    let policy = Policy::parse(Name::default(), lines).unwrap();
    let store = PlainStore::default();
    let apply = |user: &str, act: Act| {
        let request = Request::new().subject("user", user).id("1");
        let applied = request.with_op(&policy, act, |op| store.apply_one(op, at(NOON)));
        applied.unwrap().unwrap().remaining
    };
    assert_eq!(apply("ann", Act::Check), Some(1));
    assert_eq!(apply("bob", Act::Check), Some(0));
    assert_eq!(apply("ann", Act::Release), Some(1), "bob still holds his");
    assert_eq!(apply("bob", Act::Release), Some(2));
}

#[test]
fn decide_requires_one_state_for_each_limit() {
    let (limit, name) = (limit("gcra 1/s burst 1"), Name::default());
    let items = [Item { limit: &limit, subject: Key::new(b"key").unwrap().into(), cost: 1 }];
    let op = Op::check(&name, &items);
    let error = tollgate_core::storage::decide(&op, None, &mut [], Time::EPOCH).unwrap_err();
    assert!(error.is_malformed(), "{error}");
}

#[test]
fn a_limit_that_is_switched_off_can_still_be_reset() {
    let key = TestKey::new();
    let _ = key.apply(&[limit("gcra 1/h burst 1")], Act::Check, 1, NOON);
    let _ = key.apply(&[limit("gcra 1/h burst 1 factor 0")], Act::Reset, 1, NOON);
    assert_eq!(key.apply(&[limit("gcra 1/h burst 1")], Act::Peek, 1, NOON).remaining, Some(1));
}

/// Cost drains only once, however many reservations it was taken for.
#[test]
fn several_reservations_do_not_refund_the_same_cost() {
    for line in
        ["gcra 1/s burst 100", "leaky-bucket size 100", "token-bucket 25/25s burst 100 whole"]
    {
        let (limits, key) = ([limit(line)], TestKey::new());
        for id in ["a", "b"] {
            assert!(key.apply_with_id(&limits, Act::Reserve, 25, NOON, id).allowed);
        }
        let later = NOON + 25 * SECOND;
        assert!(key.apply(&limits, Act::Check, 75, later).allowed);
        for id in ["a", "b"] {
            let _ = key.apply_with_id(&limits, Act::Settle, 0, later, id);
        }
        let left = key.apply(&limits, Act::Peek, 1, later).remaining.unwrap();
        assert!(left <= 25, "{line}: 75 were taken just now, and {left} are left");
    }
}

#[test]
fn a_reservation_can_be_settled_for_an_hour() {
    let limits = [limit("fixed-window 10/day")];
    for (minutes, left) in [(1, 1), (59, 1), (60, 5)] {
        let key = TestKey::new();
        let _ = key.apply_with_id(&limits, Act::Reserve, 5, NOON, "download");
        let then = NOON + minutes * 60 * SECOND;
        let settled = key.apply_with_id(&limits, Act::Settle, 9, then, "download");
        assert_eq!(settled.remaining, Some(left), "after {minutes} minutes");
    }
}

/// A caller that does not know the cost reserves zero, and is charged when it is known.
#[test]
fn a_reservation_of_zero_can_be_settled_with_more() {
    let (limits, key) = ([limit("gcra 10/h")], TestKey::new());
    let reserved = key.apply_with_id(&limits, Act::Reserve, 0, NOON, "x");
    assert_eq!((reserved.remaining, reserved.reset_after), (Some(10), Span::ZERO));
    assert_eq!(key.apply_with_id(&limits, Act::Settle, 4, NOON, "x").remaining, Some(6));
}

/// A remembered decision must not outlive its lease.
#[test]
fn a_lease_that_has_ended_is_not_remembered() {
    let (limits, key) = ([limit("concurrency 1 ttl 30s")], TestKey::new());
    assert!(key.apply_with_id(&limits, Act::Check, 1, NOON, "a").allowed);
    assert!(key.apply_with_id(&limits, Act::Check, 1, NOON + 29 * SECOND, "a").allowed);
    assert!(key.apply_with_id(&limits, Act::Check, 1, NOON + 40 * SECOND, "b").allowed);
    assert!(!key.apply_with_id(&limits, Act::Check, 1, NOON + 41 * SECOND, "a").allowed);
}

/// A write must not drop what still counts if the clock steps back: slots of 5 s do not fit a
/// window of 7 s evenly, so one ends in the middle of another.
#[test]
fn a_slot_that_ended_in_the_newest_slot_counts_when_the_clock_steps_back() {
    let (limits, key) =
        ([limit("sliding-counters 10/7s resolution 5s edge lenient")], TestKey::new());
    for (cost, second) in [(4, 5), (3, 10), (1, 13)] {
        assert!(key.apply(&limits, Act::Check, cost, second * SECOND).allowed);
    }
    let remaining = |second| key.apply(&limits, Act::Peek, 1, second * SECOND).remaining;
    assert_eq!([remaining(13), remaining(9), remaining(13)], [Some(6), Some(2), Some(6)]);
}
