//! A request for one limit is built, and decided over a packed state, without an allocation.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::net::IpAddr;

use tollgate_core::storage::{LimitStorage as _, decide};
use tollgate_core::{Act, LimitStatuses, Name, Op, Policy, Request, Time};
use tollgate_fixtures::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn allocations_are_counted() {
    assert_eq!(CountingAllocator::count_during(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn a_single_limit_allocates_nothing() {
    let policy = Policy::parse(Name::new("api").unwrap(), ["gcra 1/s burst 5 per ip"]).unwrap();
    let address: IpAddr = "203.0.113.9".parse().unwrap();
    let each = LimitStatuses::default();
    let mut words = None;
    let by_words = CountingAllocator::count_during(|| {
        for _ in 0..6 {
            let request = Request::new().subject("ip", address).cost(1);
            let check = |op: &Op<'_>| {
                let [item] = op.items else { return };
                let outcome = item.limit.check_words(words, item.cost, Time::EPOCH).unwrap();
                op.report([outcome.decision.only_status()]);
                words = outcome.words;
            };
            request.statuses(&each).with_op(&policy, Act::Check, check).unwrap();
        }
    });
    let mut states = [None];
    let by_state = CountingAllocator::count_during(|| {
        for _ in 0..6 {
            let request = Request::new().subject("ip", address).statuses(&each).id("1");
            let check = |op: &Op<'_>| decide(op, None, &mut states, Time::EPOCH).unwrap();
            let _ = request.with_op(&policy, Act::Check, check).unwrap().decision;
        }
    });
    assert_eq!((by_words, by_state), (0, 0));
    assert_eq!(each.get(0).unwrap().remaining, Some(0));
}

/// Two keys and two limits fit without an allocation as well.
#[test]
fn a_few_limits_of_a_few_subjects_allocate_no_items() {
    let lines = ["gcra 1/s per ip", "gcra 9/s of tokens per ip"];
    let policy = Policy::parse(Name::new("api").unwrap(), lines).unwrap();
    let count = CountingAllocator::count_during(|| {
        let request = Request::new().subject("ip", 7).cost_of("tokens", 3);
        let items = |op: &Op<'_>| assert_eq!(op.items.len(), 2);
        request.with_op(&policy, Act::Check, items).unwrap();
    });
    assert_eq!(count, 0);
}
