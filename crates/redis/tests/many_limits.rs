//! Policies with the maximum number of limits, and with one more.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use tokio::runtime::Runtime;
use tollgate_core::{Act, LimitStatuses, Name, PlainStore, Policy, Request, Time};
use tollgate_fixtures::Server;
use tollgate_redis::{MAX_LIMITS, RedisStore};

const SUBJECTS: [&str; 5] = ["a", "b", "c", "d", "e"];
const LINES: [&str; 8] = [
    "sliding-log 30/min",
    "concurrency 20 ttl 30s",
    "sliding-counters 50/h count-denied",
    "ar1 max 12.5 decay 2 resolution 1s",
    "gcra 5/s burst 10",
    "leaky-bucket size 10 drip 2 every 1s count-denied",
    "fixed-window 1000/day",
    "sliding-window 100/min",
];

fn policy(lines: impl Iterator<Item = &'static str>, count: usize) -> Policy {
    Policy::parse(Name::default(), lines.take(count)).unwrap()
}

#[test]
fn sixteen_limits_decide_as_in_memory() {
    let of_one_kind = LINES.iter().map(|line| policy(std::iter::repeat(*line), MAX_LIMITS));
    let mixed = policy(LINES.into_iter().cycle(), MAX_LIMITS);
    decide_as_in_memory(of_one_kind.chain([mixed]));
}

/// The variables of few limits are locals of a script, of which Lua allows two hundred.
#[test]
fn a_few_limits_of_as_many_subjects_decide_as_in_memory() {
    let counts = LINES.iter().flat_map(|line| (2..=SUBJECTS.len()).map(move |count| (line, count)));
    decide_as_in_memory(counts.map(|(line, count)| {
        let lines: Vec<String> =
            SUBJECTS[..count].iter().map(|subject| format!("{line} per {subject}")).collect();
        Policy::parse(Name::default(), lines.iter().map(String::as_str)).unwrap()
    }));
}

fn decide_as_in_memory(policies: impl Iterator<Item = Policy>) {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let redis = runtime.block_on(RedisStore::connect(&server.url())).unwrap();
    let memory = PlainStore::default();
    for (number, policy) in policies.enumerate() {
        for costs in [[3, 3, 3], [3, 0, 1], [0, 2, 0]] {
            let (key, statuses) = (format!("{number} {costs:?}"), LimitStatuses::default());
            let mut request = Request::of(&key).id("id").statuses(&statuses);
            for subject in SUBJECTS {
                request = request.subject(subject, &key);
            }
            let mut items = request.items(policy.limits()).unwrap();
            for (item, cost) in items.iter_mut().zip(costs.into_iter().cycle()) {
                item.cost = cost;
            }
            for (step, act) in Act::ALL.into_iter().chain([Act::Check, Act::Reset]).enumerate() {
                let op = request.op(policy.name(), &items, act).unwrap();
                let at = Time::from_micros(1_700_000_000_000_000 + 100_000 * step as u64).unwrap();
                let decision = runtime.block_on(redis.apply_one(&op, Some(at))).unwrap();
                let reported = statuses.to_vec();
                let expected = memory.apply_one(&op, at).unwrap();
                assert_eq!(decision, expected, "{act} {costs:?} of {:?}", policy.limits());
                assert_eq!(reported, statuses.to_vec(), "{act} {costs:?} of {:?}", policy.limits());
            }
        }
    }
}

#[test]
fn seventeen_limits_are_refused() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(RedisStore::connect(&server.url())).unwrap();
    let policy = policy(LINES.into_iter().cycle(), MAX_LIMITS + 1);
    let check = Request::of("a");
    let items = check.items(policy.limits()).unwrap();
    let check = check.op(policy.name(), &items, Act::Check).unwrap();
    let refused = runtime.block_on(store.apply_one(&check, None)).unwrap_err();
    assert!(refused.is_malformed());
    assert!(refused.to_string().contains("more than 16 limits"), "{refused}");
}
